"""Which Boolean filters match an event, found by counting fulfilled predicates?

The counting algorithm with subscription trees of Bittner, Hinze, "Subscription Tree Pruning: A
Structure-Independent Routing Optimization for General-Purpose Publish/Subscribe Systems" (OTM
2006), section 4.4, with the structures of its Fig. 2. An event is matched in two steps. First, the
index of predicates says which of them it fulfils. Second, these are counted for each subscription
through the association table, and the trees of those that reach their minimum are evaluated.

The same structures serve **pruning**: matching counts how selective predicates are, the queue knows
whose tree can be made simpler at the least cost, and a pruning takes away associations and bytes. A
pruned filter covers the one it was made from, so a pruned table matches the same subscriptions and
some more: it is for a broker that forwards events, not for one that delivers them.

Invariant: `match` gives the numbers of the filters, as they are after pruning, that match.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.errors import SchemaError
from tidegate.filters.expression import Node, Predicate, predicates
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.papers.counting import relations
from tidegate.papers.counting.associations import Associations, longer
from tidegate.papers.counting.counting_kernels import UNCOUNTED, Variables, count, settle
from tidegate.papers.counting.pruning_queue import Changes, PruningQueue
from tidegate.papers.counting.selectivity_table import Counts, Prior, SelectivityTable
from tidegate.papers.counting.tree_bytes import (
    AND,
    LEAF,
    MOST_LEAVES,
    MOST_VARIABLES,
    OR,
    node_of,
    normal,
    tokens_of,
)
from tidegate.papers.counting.trees import FREE, Trees
from tidegate.papers.limit import DEFAULT_LIMIT, warn_of_limit
from tidegate.papers.predicates import Predicates
from tidegate.papers.scan import Scan

Slots: TypeAlias = NDArray[np.int32]

_EVERY_TIME: Final = 2**62  # more prunings than there can be
_FIRST_ROOM: Final = 16


class CountingTable:
    """Boolean filters under numbers of the caller's, by the counting algorithm.

    Filters with more than 1,023 predicates, and those that come when the limit is met, are kept
    aside and asked one by one; they are never pruned. Memory of removed filters is used again for
    others. One thread at a time, asking included.

    >>> from tidegate import parse
    >>> table = CountingTable()
    >>> table.add(1, parse("title = 'Emma' AND (price < 5 OR format = 'paperback')"))
    >>> table.add(2, parse("price < 5"))
    >>> table.match({"title": "Emma", "price": 7, "format": "paperback"})
    [1]
    >>> table.associations, table.minimum(1)
    (4, 2)
    >>> table.prune(steps=1)
    1
    >>> print(table.filter(1))
    title = 'Emma'
    """

    def __init__(
        self,
        schema: Schema | None = None,
        *,
        limit: int = DEFAULT_LIMIT,
        prior: Prior | None = None,
    ) -> None:
        self.schema: Final = schema
        self.limit: Final = limit
        self._predicates = Predicates(schema)
        self._trees = Trees()
        self._associations = Associations()
        self._selectivities = SelectivityTable(self._predicates, prior)
        self._queue = PruningQueue()
        self._slots: dict[int, int] = {}
        self._numbers = np.zeros(_FIRST_ROOM, np.int64)
        self._originals: dict[int, Filter] = {}
        self._free: list[int] = []  # slots
        self._uncounted = np.empty(0, np.int32)  # slots
        self._unrated: dict[int, None] = {}  # slots that the queue has not heard of
        self._aside = Scan()
        self._warned = False
        self._around = np.empty((2, 16), np.int64)  # operators that a node can be inside
        self._bits = np.zeros(1, np.uint64)
        self._candidates = np.empty(_FIRST_ROOM, np.int32)
        self._weighed = (0, 0)  # how many predicates there were, and what they took

    def __len__(self) -> int:
        return len(self._slots) + len(self._aside)

    def __contains__(self, number: int) -> bool:
        return number in self._slots or number in self._aside

    @property
    def aside(self) -> int:
        """How many filters are asked one by one."""
        return len(self._aside)

    @property
    def associations(self) -> int:
        """How many associations of predicates with subscriptions there are."""
        return len(self._associations)

    @property
    def nbytes(self) -> int:
        """The memory of the structure, about; the filters that were given are not counted."""
        return self._predicates.nbytes + self._own_bytes()

    @property
    def tree_bytes(self) -> int:
        """The bytes of all trees, without what is kept free between and behind them."""
        return int(self._trees.ends[1])

    # -- what is in it

    def add(self, number: int, f: Filter) -> None:
        """Add a filter under a number that is not in use; ValueError if it is."""
        if number in self:
            raise ValueError(f"the number {number} is in use")
        if not -(2**63) <= number < 2**63:
            raise ValueError(f"the number {number} does not have 64 bits")
        self._put(number, f, self._normal(f))

    def update(self, number: int, f: Filter) -> None:
        """Replace a filter, what was pruned of it included; KeyError if there is none."""
        if number not in self:
            raise KeyError(number)
        tree = self._normal(f)
        self.remove(number)
        self._put(number, f, tree)

    def remove(self, number: int) -> None:
        """Remove a filter; KeyError if there is none."""
        if number in self._aside:
            self._aside.remove(number)
            return
        slot = self._slots.pop(number)
        variables = self._variables(self._trees.tokens(slot))
        self._associations.remove(slot, variables)
        self._trees.drop(slot)
        self._queue.forget(slot)
        self._release(variables)
        del self._originals[number]
        self._unrated.pop(slot, None)
        self._uncounted = self._uncounted[self._uncounted != slot]
        self._free.append(slot)

    def original(self, number: int) -> Filter:
        """The filter as it was given; KeyError if there is none."""
        return self._aside.filters[number] if number in self._aside else self._originals[number]

    def filter(self, number: int) -> Filter:
        """The filter as it is after pruning; KeyError if there is none."""
        slot = self._slots.get(number)
        if slot is None or not self._queue.pruned[slot]:
            return self.original(number)
        tree = node_of(self._trees.tokens(slot), self._predicates.__getitem__)
        return Filter.of(tree, self.schema)

    def minimum(self, number: int) -> int | None:
        """How many predicates must be fulfilled at least; None of FALSE, and of what is aside."""
        slot = self._slots.get(number)
        return None if slot is None else self._trees.minimum(slot)

    def _normal(self, f: Filter) -> Node:
        if f.schema is not self.schema and f.schema != self.schema:
            raise SchemaError("the filter was read under another schema than the table's")
        f.require_bound()
        return normal(f.tree)

    def _put(self, number: int, f: Filter, tree: Node) -> None:
        leaves = sum(1 for _ in predicates(tree))
        slot = self._free[-1] if self._free else len(self._slots)
        if leaves > MOST_LEAVES or not self._fits(leaves, slot):
            self._aside.add(number, f)
            return
        tokens = tokens_of(tree, self._predicates.take)
        variables = self._variables(tokens)
        if self._free:
            self._free.pop()
        self._make_room(slot, leaves)
        self._selectivities.begin(variables[self._associations.length[variables] == 0])
        self._associations.add(slot, variables)
        self._trees.put(slot, tokens)
        self._numbers[slot] = number
        self._slots[number] = slot
        self._originals[number] = f
        self._unrated[slot] = None
        if self._trees.fate[slot] == UNCOUNTED:
            self._uncounted = np.append(self._uncounted, np.int32(slot))

    def _make_room(self, slot: int, leaves: int) -> None:
        self._associations.make_room(self._predicates.width)
        self._queue.make_room(slot)
        if slot >= len(self._numbers):
            self._numbers = longer(self._numbers, 2 * len(self._numbers))
        if leaves > len(self._around[0]):
            self._around = np.empty((2, leaves), np.int64)

    @staticmethod
    def _variables(tokens: Iterable[int]) -> Variables:
        return np.array([token >> 2 for token in tokens if token & 3 == LEAF], np.int32)

    def _release(self, variables: Variables) -> None:
        for variable in variables.tolist():
            self._predicates.release(variable)

    # -- memory

    def _own_bytes(self) -> int:
        arrays = (self._trees, self._associations, self._selectivities, self._queue)
        held = self._numbers.nbytes + self._bits.nbytes + self._candidates.nbytes
        return sum(array.nbytes for array in arrays) + held

    def _fits(self, leaves: int, slot: int) -> bool:
        """Whether a tree of so many predicates has room within the limit."""
        width = self._predicates.width + leaves
        growth = (
            self._trees.growth(2 * leaves, slot)
            + self._associations.growth(leaves, width)
            + self._selectivities.growth(width)
            + self._queue.growth(slot)
            + self._predicate_bytes(leaves)
        )
        if width < MOST_VARIABLES and self._own_bytes() + growth <= self.limit:
            return True
        if not self._warned:
            self._warned = True
            warn_of_limit("a counting table", self.limit, "further filters are asked one by one")
        return False

    def _predicate_bytes(self, more: int) -> int:
        """About what the index of predicates takes with some more; it is not weighed each time."""
        size = len(self._predicates)
        before, taken = self._weighed
        if abs(size - before) * 64 > size:
            before, taken = self._weighed = size, self._predicates.nbytes
        return taken + (size - before + more) * 1000

    # -- questions

    def match(self, event: Mapping[str, Any]) -> list[int]:
        """The filters that match an event."""
        return [*self.matching(event).tolist(), *self._aside.match(event)]

    def matching(self, event: Mapping[str, Any]) -> NDArray[np.int64]:
        """The same as an array, without those that are kept aside."""
        held = self._predicates.holding(event)
        self._selectivities.feed(held)
        return self._numbers[self._found(held)]

    def containing(self, f: Filter) -> list[int]:
        """Filters that cover this one; not always all of them."""
        self._normal(f)
        alternatives = relations.following(f, self._predicates)
        return [*self._named(self._in_all(alternatives)), *self._aside.containing(f)]

    def contained(self, f: Filter) -> list[int]:
        """Filters that this one covers; not always all of them."""
        self._normal(f)
        clauses = relations.implying(f, self._predicates)
        return [*self._named(self._in_all(clauses, opposite=True)), *self._aside.contained(f)]

    def overlapping(self, f: Filter) -> list[int]:
        """The filters that overlap this one, and perhaps some that do not."""
        self._normal(f)
        apart = self._in_all(relations.excluded(f, self._predicates), opposite=True)
        found = np.setdiff1d(self._all(), apart)
        return [*self._named(found), *self._aside.overlapping(f)]

    def _in_all(self, sets: Iterable[Variables], *, opposite: bool = False) -> Slots:
        """The slots whose trees, or opposite trees, hold for each of these sets of variables."""
        found: Slots | None = None
        for held in sets:
            slots = self._found(held, opposite=opposite)
            found = slots if found is None else np.intersect1d(found, slots)
            if not len(found):
                break
        return self._all() if found is None else found

    def _all(self) -> Slots:
        return np.flatnonzero(self._trees.location != FREE).astype(np.int32)

    def _named(self, slots: Slots) -> list[int]:
        found: list[int] = self._numbers[slots].tolist()
        return found

    def _found(self, held: Variables, *, opposite: bool = False) -> Slots:
        """The slots whose trees hold if these variables do; or whose opposite trees do."""
        trees, table = self._trees, self._associations
        if len(self._candidates) <= len(trees.location):
            self._candidates = np.empty(len(trees.location) + 1, np.int32)
        words = (self._predicates.width >> 6) + 1
        if len(self._bits) < words:
            self._bits = np.zeros(2 * words, np.uint64)
        candidates = self._candidates
        minima = trees.opposites if opposite else trees.minima
        ends, kinds = self._around
        found = count(
            held, table.first, table.length, table.entries, trees.counters, minima, candidates
        )
        found = settle(
            held, candidates, found, self._uncounted, trees.fate, trees.tree, trees.location,
            OR if opposite else AND, self._bits, ends, kinds,
        )  # fmt: skip
        return candidates[:found].copy()

    # -- pruning

    def selectivity(self, predicate: Predicate) -> float:
        """The share of events that fulfil a predicate, as far as is known: see `selectivity_table`.

        >>> from tidegate import parse
        >>> table = CountingTable()
        >>> table.add(1, parse("price < 5 AND price < 20"))
        >>> [table.match({"price": price}) for price in (4, 10, 15, 30)]
        [[1], [], [], []]
        >>> table.selectivity(parse("price < 20").tree), table.selectivity(parse("price < 7").tree)
        (0.75, 0.5)
        """
        return self._selectivities.share(predicate)

    @property
    def counts(self) -> Counts:
        """What was counted of the events that were matched."""
        return Counts(self._selectivities.seen, self._selectivities.fulfilled.copy())

    @counts.setter
    def counts(self, counts: Counts) -> None:
        """Go by other counts from now on, which have room for all predicates."""
        if len(counts.fulfilled) < self._predicates.width:
            raise ValueError("there is a count for each predicate")
        self._selectivities.seen, self._selectivities.fulfilled = counts.seen, counts.fulfilled

    def predicates(self) -> Iterator[tuple[int, Predicate]]:
        """The predicates of all filters, each with its place among the counts."""
        for variable in range(self._predicates.width):
            if self._predicates.uses(variable):
                yield variable, self._predicates[variable]

    def times_pruned(self, numbers: Iterable[int]) -> NDArray[np.int32]:
        """How often each of these filters was pruned; KeyError if there is none, or it is aside."""
        return self._queue.pruned[[self._slots[number] for number in numbers]]

    def degradation(self, number: int) -> float | None:
        """What the best pruning of a filter costs now; None if it cannot be pruned."""
        slot = self._slots.get(number)
        if slot is None:
            return None
        return self._queue.best(slot, self._trees, self._selectivities.shares())

    def rate(self, *, again: bool = False) -> None:
        """Put filters that are new into the queue; with `again`, all of them by what is known now.

        Pruning does so with those that are new. To rate them as they come, as the paper does, call
        this after each addition.
        """
        self._rate(self._selectivities.shares(), again=again)

    def _rate(self, shares: NDArray[np.float64], *, again: bool) -> None:
        slots = self._slots.values() if again else self._unrated
        self._queue.rate(slots, self._trees, shares)
        self._unrated = {}

    def prune(
        self,
        steps: int | None = None,
        *,
        changes: Changes = Changes.ALWAYS,
        tolerance: float = 0.0,
    ) -> int:
        """Prune so many times, each time where it costs least; how often it was done.

        It ends when no filter can be pruned without becoming TRUE, and without `steps`, only then.
        """
        shares = self._selectivities.shares()
        self._rate(shares, again=False)
        return self._prune(_EVERY_TIME if steps is None else steps, shares, changes, tolerance)

    def prune_share(
        self, share: float, *, changes: Changes = Changes.ALWAYS, tolerance: float = 0.0
    ) -> int:
        """Prune until this share of all prunings is done, from the filters as given; how often.

        With 1, the next pruning would remove a whole subscription.
        """
        shares = self._selectivities.shares()
        self._rate(shares, again=False)
        done = self.pruned
        every = done + self._queue.left(self._trees, shares)
        return self._prune(max(0, round(share * every) - done), shares, changes, tolerance)

    @property
    def pruned(self) -> int:
        """How many prunings were done on the filters that are in the table."""
        return int(self._queue.pruned.sum())

    @property
    def prunings_left(self) -> int:
        """How many prunings are left, each the best one of its filter by what is known now."""
        shares = self._selectivities.shares()
        self._rate(shares, again=False)
        return self._queue.left(self._trees, shares)

    def _prune(
        self, steps: int, shares: NDArray[np.float64], changes: Changes, tolerance: float
    ) -> int:
        done = 0
        while done < steps and len(self._queue):
            more, slots, variables = self._queue.prune(
                steps - done, self._trees, shares, changes, tolerance
            )
            self._associations.remove_pairs(slots, variables)
            self._release(variables)
            done += more
        self._associations.tidy()
        self._trees.tidy()
        fate = self._trees.fate[self._uncounted]
        self._uncounted = self._uncounted[fate == UNCOUNTED]
        return done
