"""Which version did a micro-batch use?

A micro-batch of a stream may be run more than once: tasks are retried, and after a crash the whole
batch is. All of its runs must match the same subscriptions, so its version is **pinned**: the first
that asks, a driver or a task (`matching.run` says which), creates an object with it (`objects`),
which succeeds only once, and everybody else reads that one. A pin is there as a whole or not at
all.

A version can be matched by any base that is not newer, but all tasks of a batch have to use the
same one, because shards of one are not shards of another. So a base is chosen in the same way, for
each schema of events that the batch has.

Spark runs one batch of a query after the other, so only the newest pin of a query can belong to a
batch that is not committed; older ones are removed as new ones come. Versions that are pinned are
never vacuumed.
"""

import json
from collections.abc import Callable
from typing import Final

from tidegate.errors import StoreError
from tidegate.pipeline.store.objects import Objects, beside

_PINS_KEPT: Final = 8  # pins of a query
_DIGITS: Final = 20  # of the number of a batch
_SUFFIX: Final = ".json"
_CHOICE: Final = ".base"


def pin(store: str, query: str, batch: int, version: int) -> int:
    """The version that a batch of a query uses: this one, if nobody was faster."""
    place, name = _kept(store), _name(query, batch)
    found = _read(place, name)
    if found is None:
        place.create(name, json.dumps({"version": version}).encode())
        _forget_old(place, query, batch)
        found = _read(place, name)
    if found is None:
        raise StoreError(
            f"the pin {place.where(name)} was removed as soon as it was there: the query has been "
            "unpinned, or another one runs with its checkpoint; start it again when that has ended"
        )
    return found


def known(store: str, query: str, batch: int) -> int | None:
    """The version that a batch of a query uses, if that is pinned already."""
    return _read(_kept(store), _name(query, batch))


def pinned(store: str) -> dict[tuple[str, int], int]:
    """The version of each batch whose pin is still there, by query and batch."""
    place = _kept(store)
    found = {}
    for each in place.list():
        query, _, name = each.name.rpartition("/")
        batch = _batch(name)
        if batch is not None:
            version = _read(place, each.name)
            if version is not None:
                found[query, batch] = version
    return found


def choose(store: str, query: str, batch: int, events: str, base: Callable[[], str]) -> str:
    """The base that a batch of a query uses for these events: this one, if nobody was faster."""
    place, name = _kept(store), f"{query}/{batch:0{_DIGITS}d}-{events}{_CHOICE}"
    found = place.get(name)
    if found is None:
        place.create(name, base().encode())
        found = place.get(name)
    if found is None:
        raise StoreError(
            f"the choice {place.where(name)} was removed as soon as it was there: the query has "
            "been unpinned; start it again"
        )
    return found.decode()


def chosen(store: str) -> set[str]:
    """The bases that batches whose pins are still there may use."""
    place = _kept(store)
    found = [place.get(each.name) for each in place.list() if each.name.endswith(_CHOICE)]
    return {content.decode() for content in found if content is not None}


def unpin(store: str, query: str) -> None:
    """Forget a query that will not be run again."""
    place = _kept(store)
    for each in place.list(query):
        place.delete(each.name)


def _kept(store: str) -> Objects:
    return beside(store, "pins")


def _name(query: str, batch: int) -> str:
    return f"{query}/{batch:0{_DIGITS}d}{_SUFFIX}"


def _batch(name: str) -> int | None:
    """The batch of a pin, by the last part of its name; None if it is a draft."""
    number = name.removesuffix(_SUFFIX)
    return int(number) if name.endswith(_SUFFIX) and number.isdecimal() else None


def _read(place: Objects, name: str) -> int | None:
    content = place.get(name)
    if content is None:
        return None
    try:
        return int(json.loads(content)["version"])
    except (ValueError, KeyError, TypeError):
        raise StoreError(
            f'the pin {place.where(name)} is damaged: write {{"version": N}} into it, with the '
            "version N that the notifications of this batch have; or remove it, if there are none"
        ) from None


def _forget_old(place: Objects, query: str, batch: int) -> None:
    for each in place.list(query):
        number = each.name.rpartition("/")[2][:_DIGITS]
        if number.isdecimal() and int(number) <= batch - _PINS_KEPT:
            place.delete(each.name)
