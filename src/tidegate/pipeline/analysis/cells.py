"""Which filters have to be compared with each other?

Where one filter covers or overlaps another, some event matches both. So the space of events is cut
into **cells**, and a filter is put into every cell that it touches: two filters that have anything
to do with each other meet in each cell that both touch, and nobody has to compare all pairs. A cut
is a comparison with a constant, such as `price < 20`: events for which it holds on the one side,
all others, those without a price included, on the other. Cuts are chosen like those of a k-d tree
(Bentley, "Multidimensional Binary Search Trees Used for Associative Searching", 1975) from a sample
of the filters, so that many filters are on one side of them only: equality attributes are cut
first, and what crowds at one value is cut along the ranges there. The largest cell is cut until all
are small enough, no cut helps any more, or filters lie in too many cells. A cut that leaves nearly
as many pairs as there were does not help: where each filter asks for a few attributes out of many,
most lie on both sides of any cut, and are compared in one cell.

Where cuts leave no value for an attribute (`y < 'b'` and then `y < 5`, of which none is both),
there is no cell.

Invariant: a filter touches every cell in which it can match an event.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from random import Random
from typing import Final, TypeAlias

from tidegate.algebra.normal import Box, boxes
from tidegate.filters.expression import Operator, Predicate, predicates
from tidegate.filters.filter import Filter
from tidegate.filters.meaning import allowed, universe
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import NOTHING, ValueSet

_TRIED: Final = 400  # filters on which a cut is tried
_ATTRIBUTES: Final = 6  # that are tried in one cell
_CONSTANTS: Final = 6  # of each of them
_MOST_CELLS: Final = 2_000
_COPIES: Final = 4.0  # cells that a filter lies in, on average, at most
_EAGER_COPIES: Final = 16.0
_LARGER_PART: Final = 0.9  # of a cell, the larger part that a cut may leave
_PAIRS: Final = 0.9  # of the pairs in a cell, those that a cut may leave

_COMPARING: Final = frozenset(
    (
        Operator.EQUAL,
        Operator.SAME,
        Operator.IN,
        Operator.LESS,
        Operator.AT_MOST,
        Operator.GREATER,
        Operator.AT_LEAST,
    )
)

_Sample: TypeAlias = list[tuple[Filter, list[Box]]]  # with the boxes that lie in a cell


@dataclass(frozen=True, slots=True)
class Cut:
    """A comparison that parts events: those for which it is true, and all others."""

    attribute: str
    below: ValueSet
    above: ValueSet

    @classmethod
    def at(cls, predicate: Predicate, schema: Schema | None) -> "Cut":
        """The cut that a comparison makes."""
        below = allowed(predicate, schema)
        rest = universe(predicate.attribute, schema).minus(below)
        return cls(predicate.attribute, below, rest[0] if rest else NOTHING)

    def sides(self, own: Iterable[Box]) -> tuple[list[Box], list[Box]]:
        """The boxes that may have an event on the one side, and on the other."""
        low: list[Box] = []
        high: list[Box] = []
        for box in own:
            values = box.sets.get(self.attribute)
            if values is None or values.meets(self.below) is not False:
                low.append(box)
            if values is None or values.meets(self.above) is not False:
                high.append(box)
        return low, high


@dataclass(slots=True)
class _Cell:
    cut: Cut | None = None
    low: int = -1
    high: int = -1
    region: Box | None = field(default_factory=lambda: Box({}))  # None: no event can be there


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells, as a tree of cuts.

    >>> from tidegate import parse
    >>> rules = [parse(f"symbol = 'S{i}' AND price < {i}") for i in range(100)]
    >>> cells = Cells.grown(rules, total=100, size=20, schema=None)
    >>> len(cells) > 5, len(cells.touched(boxes(rules[7])))
    (True, 1)
    """

    schema: Schema | None
    _nodes: list[_Cell] = field(default_factory=lambda: [_Cell()])

    @classmethod
    def grown(
        cls,
        sample: Sequence[Filter],
        total: int,
        size: int,
        schema: Schema | None,
        *,
        eager: bool = False,
    ) -> "Cells":
        """Cells of about `size` of the filters, of which there are `total` and these as a sample.

        The sample is of filters that have boxes. `eager` is for whom a cut helps that leaves nearly
        all filters on both sides, because the cells themselves are what there is work with.
        """
        cells = cls(schema)
        times = max(1, total) / max(1, len(sample))
        most = size / times
        room = (_EAGER_COPIES if eager else _COPIES) * len(sample)
        first: _Sample = [(f, list(boxes(f) or ())) for f in sample]
        heap = [(-len(first), 0)]
        inside = {0: first}
        heapify(heap)
        held = len(first)
        random = Random(0)
        while heap and -heap[0][0] > most and len(cells._nodes) < 2 * _MOST_CELLS:
            _, number = heappop(heap)
            here = inside.pop(number)
            found = _best(here, schema, random, cells.region(number) if eager else None)
            if found is None:
                continue
            low, high = _parted(found, here)
            if held + len(low) + len(high) - len(here) > room:
                continue
            held += len(low) + len(high) - len(here)
            for part, child in zip((low, high), cells._split(number, found), strict=True):
                if cells._nodes[child].region is not None:
                    inside[child] = part
                    heappush(heap, (-len(part), child))
        return cells

    def __len__(self) -> int:
        return len(self.numbers())

    def numbers(self) -> list[int]:
        """The numbers of the cells."""
        return [
            number
            for number, node in enumerate(self._nodes)
            if node.cut is None and node.region is not None
        ]

    def region(self, cell: int) -> Box:
        """The part of the space of events that a cell is."""
        region = self._nodes[cell].region
        assert region is not None, "no filter touches a cell that is not there"
        return region

    def touched(self, own: Sequence[Box]) -> list[int]:
        """The cells in which these boxes may have an event."""
        found: list[int] = []
        stack = [(0, list(own))]
        while stack:
            number, inside = stack.pop()
            node = self._nodes[number]
            if node.region is None:
                continue
            if node.cut is None:
                found.append(number)
                continue
            low, high = node.cut.sides(inside)
            if low:
                stack.append((node.low, low))
            if high:
                stack.append((node.high, high))
        return sorted(found)

    def clipped(self, f: Filter, cell: int) -> Filter:
        """A filter of which only what lies in a cell is asked about."""
        region = self.region(cell)
        inside = [shared for box in boxes(f) or () if (shared := box & region) is not None]
        part = Filter.of(f.tree, self.schema)
        part.normal_form = (tuple(inside),)  # values of some families cannot be said in a text
        return part

    def _split(self, number: int, cut: Cut) -> tuple[int, int]:
        node = self._nodes[number]
        assert node.region is not None, "what is not there is not split"
        node.cut, node.low, node.high = cut, len(self._nodes), len(self._nodes) + 1
        for side in (cut.below, cut.above):
            empty = side.is_empty()
            inside = None if empty else node.region & Box({cut.attribute: side})
            self._nodes.append(_Cell(region=inside))
        return node.low, node.high


def _parted(cut: Cut, here: _Sample) -> tuple[_Sample, _Sample]:
    low: _Sample = []
    high: _Sample = []
    for f, own in here:
        below, above = cut.sides(own)
        if below:
            low.append((f, below))
        if above:
            high.append((f, above))
    return low, high


def _best(here: _Sample, schema: Schema | None, random: Random, region: Box | None) -> Cut | None:
    """The cut that leaves the smallest parts, if one is worth it; any that parts a region is."""
    tried = here if len(here) <= _TRIED else random.sample(here, _TRIED)
    best: Cut | None = None
    least = (_PAIRS if region is None else 2.0) * len(tried) ** 2
    for predicate in _candidates(tried, random):
        cut = Cut.at(predicate, schema)
        low, high = _parted(cut, tried)
        larger = max(len(low), len(high))
        cost = len(low) ** 2 + len(high) ** 2
        if region is None:
            worth = larger <= _LARGER_PART * len(tried)
        else:
            worth = all(
                not side.is_empty() and region & Box({cut.attribute: side}) is not None
                for side in (cut.below, cut.above)
            )
        if cost < least and worth:
            best, least = cut, cost
    return best


def _candidates(tried: _Sample, random: Random) -> Iterator[Predicate]:
    """Comparisons with constants that the filters themselves have."""
    constants: dict[str, list[Predicate]] = {}
    for f, _ in tried:
        for predicate in predicates(f.tree):
            if predicate.operator in _COMPARING and predicate.constants:
                constants.setdefault(predicate.attribute, []).append(predicate)
    often = sorted(constants, key=lambda name: (-len(constants[name]), name))
    for name in often[:_ATTRIBUTES]:
        for _ in range(_CONSTANTS):
            constant = random.choice(random.choice(constants[name]).constants)
            if constant is not None:
                operator = random.choice((Operator.LESS, Operator.AT_MOST))
                yield Predicate(name, operator, (constant,))
