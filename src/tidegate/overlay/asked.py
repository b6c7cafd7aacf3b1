"""What does a message ask for, and can that be done?

A `Change` or `Advertise` says what is to be added, updated and removed, or all there is. Here it
becomes a change by ids of what the link had before, or a **refusal**: the reason why it cannot be
made, and then nothing of it is.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from tidegate.overlay.counts import Counts
from tidegate.overlay.filter import Filter, Kind
from tidegate.overlay.messages import Advertise, Change, Entry

Filters: TypeAlias = dict[int, Filter]


class Asked(NamedTuple):
    """A change that came in on a link, by ids."""

    add: Filters
    update: Filters
    remove: Iterable[int]
    counts: Mapping[int, Counts] = {}  # of entries that are new or stay, where that is counted


def asked(came: Change | Advertise, before: Filters, *, counted: bool = False) -> Asked:
    """What a message asks for; a whole is compared with what was there."""
    add = {entry.id: entry.filter for entry in came.add}
    counts = _counts(came) if counted and isinstance(came, Change) else {}
    if not came.whole:
        return Asked(add, {entry.id: entry.filter for entry in came.update}, came.remove, counts)
    update = {own: f for own, f in add.items() if own in before and _differs(f, before[own])}
    new = {own: f for own, f in add.items() if own not in before}
    return Asked(new, update, [own for own in before if own not in add], counts)


def _counts(came: Change) -> dict[int, Counts]:
    """What entries count: those that are added, and those that are recounted."""
    added = {entry.id: entry.counts for entry in came.add}
    return added | {each.id: each.counts for each in came.recount}


def _differs(f: Filter, before: Filter) -> bool:
    """Whether a filter is another one; equal ones differ if updates of one do not fit the other."""
    return f != before or f.shape != before.shape


def refusal(
    came: Change | Advertise, before: Filters, kind: Kind, *, largest: int, client: bool
) -> str | None:
    """Why a change cannot be made, if it cannot; `largest` is a limit to filters, in bytes."""
    recounted = came.recount if isinstance(came, Change) else ()
    if client and (recounted or any(entry.counted for entry in came.add)):
        return "a client's subscription counts once"
    for entry in (*came.add, *came.update):
        reason = _filter_refusal(entry, kind, largest)
        if reason is not None:
            return f"the filter with id {entry.id} cannot be taken: {reason}"
    told = [entry.id for entry in came.add]
    known = [*(entry.id for entry in came.update), *came.remove]
    more = [each.id for each in recounted]
    if _twice([*told, *known]) or _twice([*told, *came.remove, *more]):
        return "an id is named twice"
    if came.whole:
        needless = came.update or came.remove or recounted
        return "what is told as a whole has nothing to update or remove" if needless else None
    for own in told:
        if own in before:
            return f"the id {own} is taken"
    for own in (*known, *more):
        if own not in before:
            return f"the id {own} is not known"
    for entry in came.update:
        if entry.filter.shape != before[entry.id].shape:
            return f"the update of {entry.id} is another filter: remove one and add the other"
    return None


def _filter_refusal(entry: Entry, kind: Kind, largest: int) -> str | None:
    found = kind.filter_refusal(entry.filter)
    if found is None and entry.filter.size > largest:
        return f"it is larger than {largest:,} bytes"
    return found


def _twice(ids: list[int]) -> bool:
    return len(set(ids)) < len(ids)
