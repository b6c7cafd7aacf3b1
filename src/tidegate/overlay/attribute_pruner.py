"""What can be left out of filters on attributes, by what was seen of events?

The `Pruner` of attribute filters. Selectivities of predicates are shares of the events that were
counted (`algebra.value_counts`), and of half an event where none has fulfilled them: a value that
nobody has seen yet is not one that never comes. Those of filters follow from them, with the least,
the average and the greatest that is possible (`algebra.selectivity`). All prunings of a tree
(`algebra.prune` says what they are) are tried in one walk: each node knows its own selectivity, and
what it would be without each of the parts that could be left out below it. Of equal ones, the
pruning that leaves fewest predicates is best, then the one that comes first.

How many events match is looked up in a sample: the last few thousand events that were counted.

Invariant: degradations are those of `algebra.prune.best_pruning`, but for rounding.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from tidegate.algebra.event_sample import EventSample, told_apart
from tidegate.algebra.prune import merge_by_pruning
from tidegate.algebra.selectivity import Selectivities, Selectivity, degradation, estimate
from tidegate.algebra.value_counts import ValueCounts
from tidegate.filters import filter as language
from tidegate.filters.expression import (
    And,
    Node,
    Or,
    Predicate,
    Truth,
    conjunction,
    conjuncts,
    disjunction,
    map_predicates,
    predicates,
)
from tidegate.filters.meaning import allowed
from tidegate.filters.schema import Schema
from tidegate.overlay.attribute_events import plain_event, read_event
from tidegate.overlay.attributes import AttributeFilter
from tidegate.overlay.filter import Event, Filter, Merger, Plain, Pruning
from tidegate.papers.counting.tree_bytes import normal

SAMPLE: Final = 4_096  # events
MOST_PREDICATES: Final = 128  # of a filter that is pruned
_MERGED: Final = 8  # filters in one disjunction, at most
_TRIED: Final = 32  # predicates that are tried in the place of one
_RARE: Final = 0.5  # of an event: what no event has fulfilled yet, one may
_REMEMBERED: Final = 2**18  # filters whose best prunings are

_Triple: TypeAlias = tuple[float, float, float]


class _Option(NamedTuple):
    """What a node would be without a part: its selectivity, how many predicates go, and which."""

    selectivity: _Triple
    gone: int
    path: tuple[int, ...]


class AttributePruner:
    """A `Pruner` of attribute filters under one schema.

    >>> from tidegate.overlay.attributes import Attributes
    >>> kind = Attributes()
    >>> pruner = kind.pruner()
    >>> for price in range(8):
    ...     pruner.count({"symbol": "IBM" if price % 4 else "SAP", "price": price})
    >>> pruner.learn(pruner.summary())
    >>> best = pruner.best(kind.parse("symbol = 'IBM' AND price < 2"))
    >>> print(best.filter, best.degradation)
    price < 2 0.25
    """

    def __init__(self, schema: Schema | None) -> None:
        self._schema = schema
        self._counts = ValueCounts(schema)
        self._recent: deque[Event] = deque(maxlen=SAMPLE)
        self.counted = 0
        self.learned: Plain = None
        self._known = ValueCounts(schema)  # what was learned
        self._sample = EventSample([], schema)
        self._shares: dict[object, float] = {}  # of predicates
        # By identity, as to hash a filter takes longer than to prune it; filters are kept, so that
        # no other one can have the same identity.
        self._bests: dict[int, tuple[Filter, Pruning | None]] = {}

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
        self._sample = EventSample(events, self._schema)
        self._shares.clear()
        self._bests.clear()
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

    def best(self, f: Filter, /) -> Pruning | None:
        """The filter with one part of one AND left out, where that costs least."""
        known = self._bests.get(id(f))
        if known is None:
            if len(self._bests) >= _REMEMBERED:
                self._bests.clear()
            known = self._bests[id(f)] = f, self._best(f)
        return known[1]

    def _best(self, f: Filter) -> Pruning | None:
        return None if self.learned is None else self._least(_tree(f))

    def _least(self, given: Node) -> Pruning | None:
        """The tree with one part left out, where that costs least; None if it is too large."""
        tree = normal(given)
        if sum(1 for _ in islice(predicates(tree), MOST_PREDICATES + 1)) > MOST_PREDICATES:
            return None
        before, _, options = self._options(tree)
        if not options:
            return None
        costs = [_degradation(before, option.selectivity) for option in options]
        place = min(range(len(options)), key=lambda i: (costs[i], -options[i].gone, i))
        pruned = _without(tree, options[place].path)
        return Pruning(self._filter(pruned), max(0.0, costs[place]))

    def _options(self, node: Node) -> tuple[_Triple, int, list[_Option]]:
        """The selectivity of a tree, its predicates, and what can be left out of it."""
        if isinstance(node, Predicate):
            share = self._share(node)
            return (share, share, share), 1, []
        if isinstance(node, Truth):
            share = float(node.value)
            return (share, share, share), 0, []
        parts = [self._options(part) for part in node.parts]
        own = [selectivity for selectivity, _, _ in parts]
        size = sum(count for _, count, _ in parts)
        together = _all if isinstance(node, And) else _any
        found: list[_Option] = []
        if isinstance(node, And):
            for i in range(len(parts)):
                found.append(_Option(_all(own[:i] + own[i + 1 :]), parts[i][1], (i,)))
        for i, (_, _, options) in enumerate(parts):
            for option in options:
                changed = together([*own[:i], option.selectivity, *own[i + 1 :]])
                found.append(_Option(changed, option.gone, (i, *option.path)))
        return together(own), size, found

    def _share(self, predicate: Predicate) -> float:
        key = told_apart(predicate)
        share = self._shares.get(key)
        if share is None:
            rare = _RARE / max(1, self._known.seen)
            share = self._shares[key] = max(self._known.share(predicate), min(1.0, rare))
        return share

    def _filter(self, tree: Node) -> AttributeFilter:
        return AttributeFilter(language.Filter.of(tree, self._schema))

    # -- the sample

    def met(self, f: Filter, /) -> int:
        """Which events of the sample match, a bit for each."""
        return self._sample.met(_tree(f))

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
        first, _, _ = self._options(done.tree)
        while (following := self._least(done.tree)) is not None:
            alone = language.Filter.of(_tree(following.filter), self._schema)
            tidied = merge_by_pruning([alone], shares, steps=0).filter
            if _degradation(first, self._options(tidied.tree)[0]) > limit:
                break
            done = tidied
        return self._filter(done.tree)

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


def _all(parts: Sequence[_Triple]) -> _Triple:
    """Algorithm 1 of Bittner and Hinze."""
    least, average, most = 1.0, 1.0, 1.0
    for low, middle, high in parts:
        least += low - 1.0
        average *= middle
        most = min(most, high)
    return max(0.0, least), average, most


def _any(parts: Sequence[_Triple]) -> _Triple:
    """Algorithm 2 of Bittner and Hinze."""
    least, average, most = 0.0, 0.0, 0.0
    for low, middle, high in parts:
        least = max(least, low)
        average += middle - average * middle
        most += high
    return least, average, min(1.0, most)


def _degradation(before: _Triple, after: _Triple) -> float:
    return degradation(Selectivity(*before), Selectivity(*after))


def _without(node: Node, path: tuple[int, ...]) -> Node:
    """The tree without the part at the end of a path."""
    assert isinstance(node, And | Or)
    i, *rest = path
    if not rest:
        return conjunction([*node.parts[:i], *node.parts[i + 1 :]])
    joined = conjunction if isinstance(node, And) else disjunction
    changed = _without(node.parts[i], tuple(rest))
    return joined([*node.parts[:i], changed, *node.parts[i + 1 :]])
