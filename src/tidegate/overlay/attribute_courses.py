"""How are many filters on attributes pruned to their end?

All at once, in arrays. Predicates that occur are numbered, each with its selectivity and with the
events of a sample that fulfil it; a filter is a tree of these numbers, as the counting algorithm
writes it down (`papers.counting.tree_bytes`). One kernel finds the best prunings of all trees, one
after the other, and another one which events match when they are done in some order. A filter as it
is after some of its prunings is made only if somebody asks for it: of all those that a queue thinks
about in a round, only the last one of each course is.

Invariant: a course is what `algebra.prune.best_pruning` gives again and again, degradations to the
last bit.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.algebra.event_sample import EventSample, told_apart
from tidegate.filters import filter as language
from tidegate.filters.expression import Node, Predicate, Truth
from tidegate.filters.schema import Schema
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.filter import Filter
from tidegate.papers.counting.course_kernels import Places, Rows, after, courses, growth
from tidegate.papers.counting.pruning_kernels import Scratch, Shares, scratch
from tidegate.papers.counting.tree_bytes import LEAF, Integers, node_of, normal, tokens_of

MOST_PREDICATES: Final = 128  # of a filter that is pruned
_REMEMBERED: Final = 2**18  # filters whose tokens are
_ALL: Final = 2**31
_WORD: Final = 64


class Numbering:
    """The predicates that occur in filters, by number, and what was seen of each."""

    def __init__(
        self, share: Callable[[Predicate], float], sample: EventSample, schema: Schema | None
    ) -> None:
        self.sample: Final = sample
        self.schema: Final = schema
        self._share = share
        self._numbers: dict[object, int] = {}
        self._predicates: list[Predicate] = []
        self._shares: Shares = np.empty(_WORD)
        self._rated = 0  # predicates whose shares are known
        self._rows: Rows = np.empty((_WORD, -(-len(sample) // _WORD)), np.uint64)
        self._rowed = 0
        # By identity, as to hash a filter takes longer than to write it down; filters are kept, so
        # that no other one can have the same identity.
        self._tokens: dict[int, tuple[Filter, list[int]]] = {}

    @cached_property
    def scratch(self) -> Scratch:
        """Room for kernels, made when the first tree is looked at."""
        return scratch()

    def number(self, predicate: Predicate) -> int:
        """The number of a predicate."""
        key = told_apart(predicate)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._predicates)
            self._predicates.append(predicate)
        return found

    def tokens(self, f: Filter) -> list[int]:
        """The tree of a filter, as numbers."""
        known = self._tokens.get(id(f))
        if known is None:
            assert isinstance(f, AttributeFilter)
            known = self.remember(f, self.written(f.filter.tree))
        return known[1]

    def written(self, tree: Node) -> list[int]:
        """A tree as numbers."""
        return tokens_of(normal(tree), self.number)

    def remember(self, f: Filter, tokens: list[int]) -> tuple[Filter, list[int]]:
        """Know the numbers of a filter from now on."""
        if len(self._tokens) >= _REMEMBERED:
            self._tokens.clear()
        known = self._tokens[id(f)] = f, tokens
        return known

    def tree(self, tokens: Sequence[int]) -> Node:
        """The tree that was written so."""
        return node_of(tokens, self._predicates.__getitem__)

    def share(self, predicate: Predicate) -> float:
        """The selectivity of a predicate."""
        number = self.number(predicate)
        return float(self.shares()[number])

    def shares(self) -> Shares:
        """The selectivity of each predicate."""
        if len(self._shares) < len(self._predicates):
            self._shares = _longer(self._shares, len(self._predicates))
        for number in range(self._rated, len(self._predicates)):
            self._shares[number] = self._share(self._predicates[number])
        self._rated = len(self._predicates)
        return self._shares

    def rows(self) -> Rows:
        """Which events of the sample fulfil each predicate."""
        if len(self._rows) < len(self._predicates):
            self._rows = _longer(self._rows, len(self._predicates))
        for number in range(self._rowed, len(self._predicates)):
            self._rows[number] = self.row(self._predicates[number])
        self._rowed = len(self._predicates)
        return self._rows

    def row(self, tree: Node) -> NDArray[np.uint64]:
        """Which events of the sample match a tree."""
        width = self._rows.shape[1]
        return np.frombuffer(self.sample.met(tree).to_bytes(8 * width, "little"), "<u8")


class _Found(NamedTuple):
    """Courses one behind the other: where each begins, and how many prunings it has."""

    firsts: Integers
    lengths: Integers
    costs: Shares
    places: Places


class AttributeCourses:
    """`Courses` of filters on attributes, in arrays; of each, not more than `most` prunings."""

    def __init__(self, numbering: Numbering, trees: Iterable[list[int]], most: int = _ALL) -> None:
        self._numbering = numbering
        written = list(trees)
        self._starts: Integers = np.array([0, *accumulate(map(len, written))], np.int64)
        flat = chain.from_iterable(written)
        self._tokens: Integers = np.fromiter(flat, np.int64, int(self._starts[-1]))
        leaves = np.concatenate(([0], np.cumsum(self._tokens & 3 == LEAF)))[self._starts]
        self._leaves: Integers = np.diff(leaves)
        self._most = most

    @cached_property
    def _found(self) -> _Found:
        most = np.minimum(np.maximum(self._leaves - 1, 0), self._most)
        most[self._leaves > MOST_PREDICATES] = 0
        firsts = np.concatenate(([0], np.cumsum(most)))
        room, lengths = int(firsts[-1]), np.zeros_like(most)
        found = _Found(firsts, lengths, np.empty(room), np.empty((2, room), np.int32))
        courses(
            self._tokens, self._starts, self._numbering.shares(),
            found.firsts, found.costs, found.places, found.lengths, self._numbering.scratch,
        )  # fmt: skip
        return found

    @property
    def sample(self) -> int:
        """How many events there are to match."""
        return len(self._numbering.sample)

    @property
    def lengths(self) -> Integers:
        """How many prunings each filter has."""
        return self._found.lengths

    @cached_property
    def degradations(self) -> Shares:
        """What they cost, those of one filter behind those of another."""
        firsts, lengths, costs, _ = self._found
        behind = np.repeat(firsts[:-1] - np.cumsum(lengths) + lengths, lengths)
        return costs[behind + np.arange(len(behind))]

    def pruned(self, place: int, steps: int) -> AttributeFilter:
        """The filter at a place after so many of its prunings."""
        start, end = self._starts[place : place + 2].tolist()
        tokens = self._tokens[start:end]
        if steps:
            own, first = self._numbering.scratch, int(self._found.firsts[place])
            tokens = own.tokens[: after(tokens, self._found.places, first, steps, own)]
        written = tokens.tolist()
        f = AttributeFilter(
            language.Filter.of(self._numbering.tree(written), self._numbering.schema)
        )
        self._numbering.remember(f, written)
        return f

    def matched(self, order: Integers) -> list[int]:
        """How many events of the sample match, before and after each pruning of places in order."""
        rows = self._numbering.rows()
        every = self._numbering.row(Truth(True))
        curve = np.empty(len(order) + 1, np.int64)
        found = self._found
        growth(
            self._tokens.copy(), self._starts, found.firsts, found.places,
            order, np.diff(self._starts), np.zeros_like(found.lengths),
            rows, every, np.empty((int(self._leaves.max(initial=1)), len(every)), np.uint64),
            np.zeros(len(every), np.uint64), curve, self._numbering.scratch,
        )  # fmt: skip
        return curve.tolist()


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The same with more room behind."""
    longer = np.empty((2 * size, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
