"""Which of many filters are worth merging?

Trying all pairs is hopeless, and mergers are good where filters have most in common: the same
attributes, and the same values allowed in all but one of them. So each filter that is one box is
filed under the box *without one attribute*, once for each attribute, and only filters in one file
are tried together. This is the grouping of the merging algorithm (Fig. 10) of Li, Hou, Jacobsen, "A
Unified Approach to Routing, Covering and Merging in Publish/Subscribe Systems based on Modified
Binary Decision Diagrams" (ICDCS 2005), in whose diagrams such filters have the same child nodes.
Where imperfect merging is allowed, boxes without two attributes are files too. New mergers are
filed again, until nothing changes; what a new merger covers is dropped into it.

Invariant: every filter given is covered by the one it ends up in, and a merger's degree is measured
against the filters given, never against earlier mergers.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from tidegate.algebra.distribution import Distribution
from tidegate.algebra.express import constants
from tidegate.algebra.merge import (
    Merger,
    assess,
    assess_perfect,
    imperfect_candidates,
    perfect_merger,
    require,
)
from tidegate.algebra.normal import Box, boxes
from tidegate.algebra.relate import covers, shared_schema
from tidegate.algebra.subtract import Budget
from tidegate.errors import MeasureError
from tidegate.filters.filter import Filter


def merge_all(
    filters: Iterable[Filter],
    distribution: Distribution | None = None,
    imt: float = 0.0,
    advertisements: Iterable[Filter] | None = None,
    *,
    concise: bool = False,
    tried: "Tried | None" = None,
) -> list[Merger | Filter]:
    """Merge what is worth it: perfectly, and imperfectly up to that IMT. The rest stays.

    What the distribution cannot measure is merged only perfectly; without a distribution an `imt`
    above 0 is a `MeasureError`. `concise` is that of `merge.best_merger`. Who merges again and
    again what is nearly the same, under one distribution, gives the same `Tried` each time.

    >>> from tidegate.filters.filter import parse
    >>> texts = ("a = 1 AND b < 5", "a = 2 AND b < 9", "a = 1 AND b >= 5", "a = 1 AND b = 'x'")
    >>> for each in merge_all([parse(text) for text in texts], concise=True):
    ...     print(each.filter if isinstance(each, Merger) else each)
    a = 1 AND b < 5
    a = 2 AND b < 9
    a = 1 AND b >= 5
    a = 1 AND b = 'x'
    >>> for each in merge_all([parse(text) for text in texts]):
    ...     print(each.filter if isinstance(each, Merger) else each)
    a = 1 AND (b < 5 OR b >= 5 OR b = 'x')
    a = 2 AND b < 9
    """
    if imt > 0:
        require(distribution)
    known = None if advertisements is None else list(advertisements)
    merging = _Merging(distribution, imt, known, concise, Tried() if tried is None else tried)
    entries = [_Entry(i, f, (f,), _single(f)) for i, f in enumerate(filters)]
    for entry in entries[1:]:
        shared_schema(entries[0].filter, entry.filter)
    new = entries
    while new:
        entries, new = merging.round(entries, new)
        entries = _absorbed(entries, new)
    return [merging.result(entry) for entry in sorted(entries, key=lambda entry: entry.place)]


_ANY_LENGTH: Final = Budget(10**9)
_MOST_TRIED: Final = 50_000  # filters, each as often as it was tried


class Tried:
    """What came of trying to merge filters; for one distribution.

    It is forgotten, all of it, when that was 50,000 filters: they are kept, wherever else they are
    gone.
    """

    def __init__(self) -> None:
        self.found: dict[Hashable, tuple[Filter, bool] | None] = {}
        self._filters = 0

    def put(self, key: Hashable, found: tuple[Filter, bool] | None, filters: int) -> None:
        """Remember what was found: a merger, and whether it is perfect; or that there is none."""
        if self._filters + filters > _MOST_TRIED:
            self.found.clear()
            self._filters = 0
        self._filters += filters
        self.found[key] = found


@dataclass(eq=False, slots=True)
class _Entry:
    """A filter at work: one given, or a merger of those given (`members`)."""

    place: int
    filter: Filter
    members: tuple[Filter, ...]
    box: Box | None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class _Merging:
    distribution: Distribution | None
    imt: float
    advertisements: list[Filter] | None
    concise: bool
    tried: Tried

    def round(
        self, entries: list[_Entry], untried: Iterable[_Entry]
    ) -> tuple[list[_Entry], list[_Entry]]:
        """Try each file that has something new. All entries afterwards, and the new ones."""
        fresh = set(untried)
        gone: set[_Entry] = set()
        new: list[_Entry] = []
        for group in _files(entries, two=self.distribution is not None):
            left = [entry for entry in group if entry not in gone]
            if fresh.isdisjoint(left):
                continue
            for cluster, made in self._clusters(left):
                gone.update(cluster)
                new.append(made)
        return [entry for entry in entries if entry not in gone] + new, new

    def result(self, entry: _Entry) -> Merger | Filter:
        """What the caller gets for an entry."""
        if len(entry.members) == 1:
            return entry.filter
        if entry.exact:
            return assess_perfect(entry.filter, entry.members, self.distribution)
        # It could be measured when it was made; what it absorbed since makes it a longer sum.
        return assess(
            entry.filter, entry.members, self.distribution, self.advertisements, _ANY_LENGTH
        )

    def _clusters(self, group: list[_Entry]) -> Iterator[tuple[list[_Entry], _Entry]]:
        """The whole group merged, or else runs of it, neighbours first."""
        whole = self._merged(group) if len(group) > 1 else None
        if whole is not None:
            yield group, whole
            return
        if len(group) < 3:
            return
        first, *others = sorted(group, key=_position)
        cluster, made = [first], first
        for entry in others:
            longer = self._merged([made, entry])
            if longer is not None:
                cluster, made = [*cluster, entry], longer
                continue
            if len(cluster) > 1:
                yield cluster, made
            cluster, made = [entry], entry
        if len(cluster) > 1:
            yield cluster, made

    def _merged(self, entries: Sequence[_Entry]) -> _Entry | None:
        filters = [entry.filter for entry in entries]
        members = tuple(f for entry in entries for f in entry.members)
        announced = None if self.advertisements is None else tuple(self.advertisements)
        exact = all(entry.exact for entry in entries)
        key = tuple(filters), members, exact, self.imt, announced, self.concise
        if key not in self.tried.found:
            named = len(filters) + len(members)
            self.tried.put(key, self._merger(filters, members, exact), named)
        found = self.tried.found[key]
        if found is None:
            return None
        place = min(entry.place for entry in entries)
        return _Entry(place, found[0], members, _single(found[0]), found[1])

    def _merger(
        self, filters: list[Filter], members: tuple[Filter, ...], exact: bool
    ) -> tuple[Filter, bool] | None:
        """The best merger of filters that stand for these members, and whether it is perfect."""
        longest = max(constants(f.tree) for f in filters)
        perfect = perfect_merger(filters)
        candidates = [] if perfect is None else [perfect]
        if perfect is not None and exact and self._fits(perfect, longest):
            return perfect, True
        if self.distribution is not None:
            candidates += imperfect_candidates(filters)
        rated: list[Merger] = []
        for candidate in candidates if self.distribution is not None else []:
            if self._fits(candidate, longest):
                try:
                    rated.append(assess(candidate, members, self.distribution, self.advertisements))
                except MeasureError:
                    continue  # it cannot be measured, so it is not made
        best = min(rated, key=lambda m: (m.imt, constants(m.filter.tree)), default=None)
        if best is None or best.imt > self.imt:
            return None
        return best.filter, False

    def _fits(self, f: Filter, longest: int) -> bool:
        return not self.concise or constants(f.tree) <= longest


def _single(f: Filter) -> Box | None:
    found = boxes(f)
    return found[0] if found is not None and len(found) == 1 else None


def _files(entries: Sequence[_Entry], *, two: bool) -> list[list[_Entry]]:
    """Entries that are equal but for one attribute; behind them, if asked for, but for two."""
    files: dict[Hashable, list[_Entry]] = {}
    for left_out in (1, 2) if two else (1,):
        for entry in entries:
            if entry.box is not None:
                items = list(entry.box.sets.items())
                for names in combinations(sorted(entry.box.sets), left_out):
                    rest = frozenset(item for item in items if item[0] not in names)
                    files.setdefault((names, rest), []).append(entry)
    return [group for group in files.values() if len(group) > 1]


def _position(entry: _Entry) -> list[tuple[str, str, Any]]:
    """Something to sort by, so that neighbouring ranges come one after the other."""
    assert entry.box is not None
    return [
        (name, line, bounds[0])
        for name, allowed in sorted(entry.box.sets.items(), key=lambda item: item[0])
        for line, bounds in sorted(allowed.spans.items())
    ]


def _absorbed(entries: list[_Entry], new: Sequence[_Entry]) -> list[_Entry]:
    """The entries without those that a new one covers; it takes over their members."""
    for merger in new:
        if merger not in entries:
            continue  # another new one covers it
        kept: list[_Entry] = []
        for entry in entries:
            if entry is not merger and _covers(merger, entry):
                merger.members += entry.members
                merger.place = min(merger.place, entry.place)
            else:
                kept.append(entry)
        entries = kept
    return entries


def _covers(merger: _Entry, entry: _Entry) -> bool:
    if merger.box is not None and entry.box is not None:
        return entry.box.within(merger.box) is True
    return covers(merger.filter, entry.filter)
