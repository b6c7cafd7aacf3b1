"""Which output stands for which filter, and what happens to the diagrams when filters come and go?

A `Table` has an output for every filter, under the number that the caller chose. It knows which
variables a filter uses, keeps statistics of the attributes, gives variables their levels, and
builds all diagrams anew in another order when it has doubled. A filter whose diagram would be too
large, or for which there is no memory, is kept **aside**, and asked by itself.

A diagram, in the words of Li, Hou and Jacobsen (2005), is a set of outputs over the same child
nodes: a new filter joins the one whose outputs have the children that its own has, and starts one
of its own if there is none (their Fig. 4, whose line 7 must read so). Here all diagrams are in one
`Diagram`, because nodes are shared between them too; one of theirs is no more than a pair of
children, and how many outputs are over it.

Invariant: every variable has one use for each filter in the diagrams that it occurs in, and every
node is under an output.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tidegate.errors import SchemaError
from tidegate.filters.expression import Predicate, predicates
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.papers.limit import warn_of_limit
from tidegate.papers.mbd.covering import Question
from tidegate.papers.mbd.dependencies import Dependencies
from tidegate.papers.mbd.diagram import Diagram
from tidegate.papers.mbd.formula import (
    Formula,
    TooLargeError,
    attributes_of,
    formula,
    install,
    locate,
    variables_of,
)
from tidegate.papers.mbd.node_kernels import FALSE, TRUE
from tidegate.papers.mbd.order import Criterion, Order, Statistics, ranked
from tidegate.papers.predicates import Predicates
from tidegate.papers.scan import Scan

_FEWEST_REORDERED: Final = 64  # filters, below which the order of attributes is left alone
_ENTRY: Final = 400  # bytes of a filter's objects, about
_ATTRIBUTE: Final = 16  # bytes of each of its attributes
_NEW_PREDICATE: Final = 2_000  # bytes of a predicate in the index and among dependencies, at most
_INSTEAD: Final = "further filters are kept aside and asked one by one"


class Entry:
    """A filter in the diagrams."""

    __slots__ = ("attributes", "filter", "formula", "slot")

    def __init__(self, f: Filter, wanted: Formula, attributes: tuple[str, ...], slot: int) -> None:
        self.filter = f
        self.formula = wanted
        self.attributes = attributes
        self.slot = slot


class Table:
    """Filters, and the outputs that stand for them."""

    def __init__(
        self, schema: Schema | None, limit: int, order: Order, seed: int, cache: bool, nodes: int
    ) -> None:
        self.schema: Final = schema
        self.order = order
        self.predicates: Final = Predicates(schema)
        self.dependencies = Dependencies(self.predicates) if cache else None
        self.diagram = Diagram()
        self.entries: dict[int, Entry] = {}
        self.numbers = np.zeros(64, np.int64)  # of the outputs
        self.aside = Scan()
        self.impossible: dict[int, None] = {}  # filters that no event can match
        self.over: dict[tuple[int, int], int] = {}  # outputs over each pair of children
        self.rebuilt = 0  # how many filters there were then
        self._limit = limit
        self._warned = False
        self._seed = seed
        self._most_nodes = nodes
        self._statistics = Statistics()
        self._ranks: dict[str, int] = {}
        if not isinstance(order, Criterion):
            self._ranks = {name: rank for rank, name in enumerate(dict.fromkeys(order))}
        self._free: list[int] = []  # slots of outputs
        self._bytes = 0

    def __len__(self) -> int:
        return len(self.entries) + len(self.aside)

    def __contains__(self, number: int) -> bool:
        return number in self.entries or number in self.aside

    def __iter__(self) -> Iterator[int]:
        yield from self.entries
        yield from self.aside.filters

    @property
    def nbytes(self) -> int:
        """The memory of diagrams, predicates and dependencies, about."""
        table = 0 if self.dependencies is None else self.dependencies.nbytes
        own = self.numbers.nbytes + self._bytes
        return self.diagram.nbytes + self.predicates.nbytes + table + own

    @property
    def attributes(self) -> list[str]:
        """The attributes that filters ask for, from the bottom of the diagrams up."""
        return sorted(self.predicates.attributes, key=lambda name: self._ranks[name])

    def get(self, number: int) -> Filter:
        """The filter with this number; KeyError if there is none."""
        entry = self.entries.get(number)
        return self.aside.filters[number] if entry is None else entry.filter

    def named(self, slots: NDArray[np.int32] | list[int]) -> list[int]:
        """The numbers of some outputs."""
        found: list[int] = self.numbers[slots].tolist() if len(slots) else []
        return found

    def same(self, f: Filter) -> list[int]:
        """The filters whose output is the very node that this one would have."""
        try:
            wanted = formula(f.tree, self._known)
        except KeyError:
            return []
        node = locate(wanted, self.diagram, self._most_nodes)
        return [] if node is None else self.named(self.diagram.slots(node))

    def check(self, f: Filter) -> None:
        """Refuse a filter that cannot be asked about."""
        f.require_bound()
        if f.schema is not self.schema and f.schema != self.schema:
            raise SchemaError("the filter was read under another schema than the table's")

    # -- changes

    def add(self, number: int, f: Filter) -> None:
        """Take in a filter under a number that is free."""
        self._put(number, f)
        if len(self.entries) >= max(_FEWEST_REORDERED, 2 * self.rebuilt):
            self.rebuild()

    def remove(self, number: int) -> None:
        """Forget the filter with this number; KeyError if there is none."""
        if number in self.aside:
            self.aside.remove(number)
            return
        entry = self.entries.pop(number)
        self.impossible.pop(number, None)
        self._count(self.diagram.output(entry.slot), -1)
        self.diagram.detach(entry.slot)
        self._free.append(entry.slot)
        self._statistics.remove(entry.attributes)
        self._release(dict.fromkeys(variables_of(entry.formula)))
        self._bytes -= _ENTRY + _ATTRIBUTE * len(entry.attributes)
        if len(self.entries) < self.rebuilt // 4 and self.rebuilt > _FEWEST_REORDERED:
            self.rebuild()

    def rebuild(self) -> None:
        """Order attributes by what the table holds now, and build all diagrams anew.

        Filters that were put aside are tried again.
        """
        known = [name for name in self._ranks if self.predicates.of(name)]
        names = ranked(self.order, known, self._statistics, self._uses, self._seed)
        self._ranks = {name: rank for rank, name in enumerate(names)}
        self.diagram = Diagram()
        for name in known:
            for variable in self.predicates.of(name):
                self.diagram.put_level(variable, self._level(variable, name))
        self.over = {}
        self._free = []
        self.rebuilt = len(self.entries)
        self.numbers = np.zeros(max(64, 2 * self.rebuilt), np.int64)
        again = list(self.aside.filters.items())
        for slot, number in enumerate(self._neighbours_together()):
            entry = self.entries[number]
            try:
                node = install(entry.formula, self.diagram, self._most_nodes)
            except TooLargeError:
                again.append((number, entry.filter))
                node = FALSE
            entry.slot = slot
            self._attach(slot, number, node)
        self.diagram.pack()
        for number, f in again:
            self.remove(number)
            self._put(number, f)

    def _neighbours_together(self) -> list[int]:
        """The numbers of the filters, in an order in which those that share nodes are neighbours.

        Nodes are then made in the order in which evaluation meets them.
        """
        level = self.diagram.level
        paths = {
            number: sorted(map(level, variables_of(entry.formula)))
            for number, entry in self.entries.items()
        }
        return sorted(paths, key=paths.__getitem__)

    def _put(self, number: int, f: Filter) -> None:
        """Take in a filter; aside, if there is no room or it is too large."""
        if self._too_full(f):
            self.aside.add(number, f)
            return
        wanted, variables = self._formula(f)
        try:
            node = install(wanted, self.diagram, self._most_nodes)
        except TooLargeError:
            self._release(variables)
            self.aside.add(number, f)
            return
        slot = self._free.pop() if self._free else len(self.entries)
        attributes = attributes_of(variables, self.predicates.attribute)
        self.entries[number] = Entry(f, wanted, attributes, slot)
        self._statistics.add(attributes)
        self._bytes += _ENTRY + _ATTRIBUTE * len(attributes)
        self._attach(slot, number, node)
        if (wanted.parts or len(attributes) < len(variables)) and self._is_impossible(f):
            self.impossible[number] = None

    def _is_impossible(self, f: Filter) -> bool:
        """Whether what a filter asks for contradicts itself: diagrams do not see that."""
        question = Question(f.tree, self.schema, self.predicates, self.dependencies)
        return question.alternatives() == []

    def _too_full(self, f: Filter) -> bool:
        size = sum(1 for _ in predicates(f.tree))
        more = self.diagram.would_take(size) + _ENTRY + size * _NEW_PREDICATE
        if self.nbytes + more <= self._limit:
            return False
        if not self._warned:
            self._warned = True
            warn_of_limit("the table of decision diagrams", self._limit, _INSTEAD)
        return True

    def _attach(self, slot: int, number: int, node: int) -> None:
        while slot >= len(self.numbers):
            self.numbers = np.concatenate([self.numbers, np.zeros_like(self.numbers)])
        self.numbers[slot] = number
        self.diagram.attach(slot, node)
        self._count(node, 1)

    def _count(self, node: int, change: int) -> None:
        """Count an output over its children."""
        key = (node, node) if node in (FALSE, TRUE) else self.diagram.ends(node)[1:]
        self.over[key] = self.over.get(key, 0) + change
        if not self.over[key]:
            del self.over[key]

    # -- variables

    def _formula(self, f: Filter) -> tuple[Formula, dict[int, None]]:
        """A filter in variables, each of which has one use more."""
        taken: dict[int, None] = {}

        def variable(predicate: Predicate) -> int:
            found = self._take(predicate)
            if found in taken:
                self.predicates.release(found)
            taken[found] = None
            return found

        return formula(f.tree, variable), taken

    def _take(self, predicate: Predicate) -> int:
        known = len(self.predicates)
        variable = self.predicates.take(predicate)
        if len(self.predicates) > known:
            name = predicate.attribute
            if name not in self._ranks:
                self._ranks[name] = max(self._ranks.values(), default=-1) + 1
            self.diagram.put_level(variable, self._level(variable, name))
            if self.dependencies is not None:
                self.dependencies.add(variable)
        return variable

    def _known(self, predicate: Predicate) -> int:
        variable = self.predicates.find(predicate)
        if variable is None:
            raise KeyError(predicate)
        return variable

    def _release(self, variables: Mapping[int, None]) -> None:
        for variable in variables:
            if self.dependencies is not None and self.predicates.uses(variable) == 1:
                self.dependencies.remove(variable)
            self.predicates.release(variable)

    def _level(self, variable: int, attribute: str) -> int:
        """Attributes by their ranks, and the predicates of one as they came."""
        return (self._ranks[attribute] + 1 << 32) + variable

    def _uses(self, attribute: str) -> list[int]:
        return [self.predicates.uses(variable) for variable in self.predicates.of(attribute)]
