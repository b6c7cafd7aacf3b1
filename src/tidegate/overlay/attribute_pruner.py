"""What can be left out of filters on attributes, by what was seen of events?

The `Pruner` of attribute filters. Selectivities of predicates are shares of the events that were
counted (`algebra.value_counts`), and of half an event where none has fulfilled them: a value that
nobody has seen yet is not one that never comes. Those of filters follow from them, with the least,
the average and the greatest that is possible (`algebra.selectivity`). What is left of filters that
are pruned again and again is found for many of them together (`attribute_courses`).

How many events match is looked up in a sample: the last few thousand events. What is left out of
filters seems to cost less than it does if it is looked up in the events that said what to leave
out; so those of the sample are not counted, as soon as there are as many others.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from tidegate.algebra.event_sample import EventSample
from tidegate.algebra.prune import merge_by_pruning
from tidegate.algebra.selectivity import Selectivities, degradation, estimate
from tidegate.algebra.value_counts import ValueCounts
from tidegate.filters import filter as language
from tidegate.filters.expression import (
    Node,
    Predicate,
    conjuncts,
    disjunction,
    map_predicates,
    predicates,
)
from tidegate.filters.meaning import allowed
from tidegate.filters.schema import Schema
from tidegate.overlay.attribute_courses import MOST_PREDICATES, AttributeCourses, Numbering
from tidegate.overlay.attribute_events import plain_event, read_event
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.filter import Event, Filter, Merger, Plain
from tidegate.papers.counting.tree_bytes import normal

SAMPLE: Final = 4_096  # events
_MERGED: Final = 8  # filters in one disjunction, at most
_TRIED: Final = 32  # predicates that are tried in the place of one
_RARE: Final = 0.5  # of an event: what no event has fulfilled yet, one may


class AttributePruner:
    """A `Pruner` of attribute filters under one schema.

    >>> from tidegate.overlay.attributes import Attributes
    >>> kind = Attributes()
    >>> pruner = kind.pruner()
    >>> for price in range(8):
    ...     pruner.count({"symbol": "IBM" if price % 4 else "SAP", "price": price})
    >>> pruner.learn(pruner.summary())
    >>> courses = pruner.courses([kind.parse("symbol = 'IBM' AND price < 2")])
    >>> print(courses.pruned(0, 1), courses.degradations[0])
    price < 2 0.25
    """

    def __init__(self, schema: Schema | None) -> None:
        self._schema = schema
        self._counts = ValueCounts(schema)
        self._recent: deque[Event] = deque(maxlen=SAMPLE)
        self.counted = 0
        self.learned: Plain = None
        self._known = ValueCounts(schema)  # what was learned
        self._numbering = self._numbered([])

    # -- events

    @property
    def knows(self) -> bool:
        """Whether it has learned anything."""
        return self.learned is not None

    def count(self, event: Event, /) -> None:
        """Count an event."""
        self._counts.count(event)
        self._recent.append(event)
        self.counted += 1

    def summary(self) -> Plain:
        """How often each value was counted, and a sample."""
        return [self._counts.state(), [plain_event(event) for event in self._recent]]

    def learn(self, summary: Plain, /) -> None:
        """Go by a summary from now on."""
        self.learned = summary
        self.counted = 0
        counts, sample = summary
        self._known.restore(counts)
        events = [read_event(event) for event in sample]
        if self._known.seen >= 2 * len(events):
            for event in events:
                self._known.discount(event)
        self._numbering = self._numbered(events)
        if not self._counts.seen:
            self._counts.restore(counts)  # it has lost its memory
            self._recent.extend(events)

    def state(self) -> Plain:
        """What was counted since, as plain data."""
        return [self.counted, self.summary()]

    def restore(self, state: Plain, /) -> None:
        """Have counted what another one had."""
        self.counted, (counts, recent) = state
        self._counts.restore(counts)
        self._recent.clear()
        self._recent.extend(map(read_event, recent))

    # -- pruning

    def courses(self, filters: Sequence[Filter], /) -> AttributeCourses:
        """How these filters are pruned to their end; not at all as long as nothing is known."""
        most = MOST_PREDICATES if self.knows else 0
        return AttributeCourses(self._numbering, map(self._numbering.tokens, filters), most)

    def _numbered(self, events: Sequence[Event]) -> Numbering:
        return Numbering(self._counted, EventSample(events, self._schema), self._schema)

    def _share(self, predicate: Predicate) -> float:
        return self._numbering.share(predicate)

    def _counted(self, predicate: Predicate) -> float:
        rare = _RARE / max(1, self._known.seen)
        return max(self._known.share(predicate), min(1.0, rare))

    def _filter(self, tree: Node) -> AttributeFilter:
        return AttributeFilter(language.Filter.of(tree, self._schema))

    # -- replacement

    def replaced(self, filters: Mapping[int, Filter], share: float, /) -> dict[int, Filter]:
        """The filters that change when a share of the predicates that can be replaced is."""
        known: dict[str, Predicate] = {}
        uses: dict[str, dict[int, None]] = {}
        for number, f in filters.items():
            for predicate in predicates(_tree(f)):
                known.setdefault(str(predicate), predicate)
                uses.setdefault(str(predicate), {})[number] = None
        found = self._replacements(known, uses)
        chosen = dict(found[: round(share * len(found))])
        last = {old: known[_last(new, chosen)] for old, new in chosen.items()}
        return {
            number: self._filter(
                map_predicates(_tree(filters[number]), lambda p: last.get(str(p), p))
            )
            for number in sorted({number for old in last for number in uses[old]})
        }

    def _replacements(
        self, known: Mapping[str, Predicate], uses: Mapping[str, Collection[int]]
    ) -> list[tuple[str, str]]:
        """Each predicate that can be replaced, and by which, the cheapest first."""
        by_attribute: dict[str, list[tuple[float, str]]] = {}
        for text, predicate in known.items():
            by_attribute.setdefault(predicate.attribute, []).append((self._share(predicate), text))
        found: list[tuple[float, str, str]] = []
        for among in by_attribute.values():
            among.sort()
            meanings = [allowed(known[text], self._schema) for _, text in among]
            for i, (share, old) in enumerate(among):
                for j in range(i + 1, min(len(among), i + 1 + _TRIED)):
                    if meanings[i].within(meanings[j]) is True:
                        more, new = among[j]
                        found.append(((more - share) * len(uses[old]), old, new))
                        break
        return [(old, new) for _, old, new in sorted(found)]

    # -- merging

    def mergers(
        self, filters: Mapping[int, Filter], imt: float, advertised: Sequence[Filter] | None, /
    ) -> list[Merger]:
        """Disjunctions of filters that share their most selective predicate, pruned.

        One is pruned as long as that costs no more than `imt`, and is worth forwarding if it is no
        longer than the longest filter that went into it.
        """
        if self.learned is None:
            return []
        groups: dict[str, list[int]] = {}
        for number, f in filters.items():
            own = [part for part in conjuncts(normal(_tree(f))) if isinstance(part, Predicate)]
            if own:
                groups.setdefault(str(min(own, key=self._share)), []).append(number)
        found = []
        for numbers in groups.values():
            for start in range(0, len(numbers), _MERGED):
                merger = self._merger(filters, numbers[start : start + _MERGED], imt)
                if merger is not None:
                    found.append(merger)
        return found

    def _merger(self, filters: Mapping[int, Filter], own: list[int], imt: float) -> Merger | None:
        members = [filters[number] for number in own]
        trees = [language.Filter.of(normal(_tree(f)), self._schema) for f in members]
        if len(own) < 2:
            return None
        merged = self._narrowest(trees, imt)
        cost = self.cost(merged, members, None)
        if merged.size > max(f.size for f in members) or cost > imt:
            return None
        return Merger(merged, tuple(own), cost)

    def _narrowest(self, members: list[language.Filter], limit: float) -> AttributeFilter:
        """The members' disjunction, pruned again and again as `algebra.prune.prune` would do it."""
        shares = Selectivities(self._share)
        done = merge_by_pruning(members, shares, steps=0).filter
        first = estimate(done, shares)
        while (following := self._pruned_once(done)) is not None:
            tidied = merge_by_pruning([following], shares, steps=0).filter
            if degradation(first, estimate(tidied, shares)) > limit:
                break
            done = tidied
        return AttributeFilter(done)

    def _pruned_once(self, f: language.Filter) -> language.Filter | None:
        """The filter with one part left out, where that costs least."""
        courses = AttributeCourses(self._numbering, [self._numbering.written(f.tree)], 1)
        return courses.pruned(0, 1).filter if courses.lengths[0] else None

    def cost(
        self, merger: Filter, members: Iterable[Filter], advertised: Sequence[Filter] | None, /
    ) -> float:
        """How much the merger degrades the selectivity of the members' disjunction."""
        if self.learned is None:
            return float("inf")
        shares = Selectivities(self._share)
        whole = disjunction([_tree(f) for f in members])
        return max(0.0, degradation(estimate(whole, shares), estimate(_tree(merger), shares)))


def _tree(f: Filter) -> Node:
    assert isinstance(f, AttributeFilter)
    return f.filter.tree


def _last(new: str, chosen: Mapping[str, str]) -> str:
    """What stands in the end for a predicate that others may be replaced by."""
    while new in chosen:
        new = chosen[new]
    return new
