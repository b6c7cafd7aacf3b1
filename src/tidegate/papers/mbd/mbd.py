"""Filters as decision diagrams that share their nodes: a routing table that covers and merges.

`MBD` keeps filters of the language under numbers. A **diagram** in the words of Li, Hou and
Jacobsen (2005) is a set of outputs over the same child nodes: a new filter joins the one whose
outputs have the children that its own output has, and starts one of its own if there is none (their
Fig. 4, whose line 7 must read so). Here all diagrams are in one `Diagram`, because nodes are shared
between them too, and a diagram is no more than a pair of children and how many outputs are over it.

Matching gives every variable its truth value from the index of predicates, once for an event; of
the nodes, only those above true ones are looked at, each once. Covering does the same with the
values that another filter gives (`covering`). Merging puts outputs of one diagram together
(`merging`); then the table holds mergers, under negative numbers, in the place of their members.

Invariant: `match` is exact; `containing` and `contained` may miss, and `overlapping` may claim, and
never the other way round. The same history leads to the same diagrams.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.errors import SchemaError
from tidegate.filters.expression import Predicate, predicates
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.papers.limit import DEFAULT_LIMIT, warn_of_limit
from tidegate.papers.mbd.covering import ALTERNATIVES, Alternative, Question, full, left_sides
from tidegate.papers.mbd.dependencies import Dependencies
from tidegate.papers.mbd.diagram import Diagram
from tidegate.papers.mbd.formula import (
    MOST_NODES,
    Formula,
    TooLargeError,
    attributes_of,
    formula,
    install,
    locate,
    variables_of,
)
from tidegate.papers.mbd.kernels import FALSE, TRUE
from tidegate.papers.mbd.order import Criterion, Order, Statistics, ranked
from tidegate.papers.predicates import Predicates
from tidegate.papers.scan import Scan

_FEWEST: Final = 64  # filters, below which the order of attributes is left alone
_ENTRY: Final = 400  # bytes of a filter's objects, about
_VARIABLE: Final = 16  # bytes of each of its variables
_NEW_PREDICATE: Final = 2_000  # bytes of a predicate in the index and among dependencies, at most
_EVENTS: Final = 64  # that are matched together
_INSTEAD: Final = "further filters are kept aside and asked one by one"


class Relations(NamedTuple):
    """How a new filter stands to a table."""

    covered: bool
    """Whether a filter of the table covers it."""
    covers: list[int]
    """The filters of the table that it covers; none, if it is covered."""


class _Entry:
    """A filter in the diagram."""

    __slots__ = ("attributes", "filter", "formula", "slot")

    def __init__(self, f: Filter, wanted: Formula, attributes: tuple[str, ...], slot: int) -> None:
        self.filter = f
        self.formula = wanted
        self.attributes = attributes
        self.slot = slot


class MBD:
    """Filters as outputs of shared decision diagrams.

    `order` says by what attributes are ordered, and `seed` shuffles them where that is `RANDOM`;
    `cache` keeps the dependencies between predicates; a filter whose diagram would take more than
    `nodes` nodes is kept aside, and so are those that come when `limit` bytes are used.

    >>> from tidegate import parse
    >>> flights = MBD()
    >>> flights.add(1, parse("price = 150 AND time = '2004-07-20' AND destination = 'Ottawa'"))
    >>> flights.add(2, parse("price < 150 AND time = '2004-07-20' AND destination = 'Ottawa'"))
    >>> flights.rebuild()  # which a table that grows does by itself
    >>> flights.diagrams, flights.nodes, flights.attributes
    (1, 4, ['destination', 'time', 'price'])
    >>> flights.match({"price": 120, "time": "2004-07-20", "destination": "Ottawa"})
    [2]
    >>> new = parse("price = 80 AND time = '2004-07-20' AND destination = 'Ottawa'")
    >>> flights.relations(new)
    Relations(covered=True, covers=[])
    """

    def __init__(
        self,
        schema: Schema | None = None,
        *,
        limit: int = DEFAULT_LIMIT,
        order: Order = Criterion.FREQUENCY,
        seed: int = 0,
        cache: bool = True,
        nodes: int = MOST_NODES,
    ) -> None:
        self.schema: Final = schema
        self._limit = limit
        self._warned = False
        self._order = order
        self._seed = seed
        self._most_nodes = nodes
        self._predicates = Predicates(schema)
        self._table = Dependencies(self._predicates) if cache else None
        self._diagram = Diagram()
        self._statistics = Statistics()
        self._ranks: dict[str, int] = {}
        if not isinstance(order, Criterion):
            self._ranks = {name: rank for rank, name in enumerate(dict.fromkeys(order))}
        self._entries: dict[int, _Entry] = {}
        self._numbers = np.zeros(64, np.int64)  # of the outputs
        self._free: list[int] = []  # slots of outputs
        self._over: dict[tuple[int, int], int] = {}  # outputs over each pair of children
        self._aside = Scan()
        self._bytes = 0
        self._rebuilt = 0  # how many filters there were then
        self._words = np.zeros(1, np.uint64)

    def __len__(self) -> int:
        return len(self._entries) + len(self._aside)

    def __contains__(self, number: int) -> bool:
        return number in self._entries or number in self._aside

    def __iter__(self) -> Iterator[int]:
        yield from self._entries
        yield from self._aside.filters

    def get(self, number: int) -> Filter:
        """The filter with this number; KeyError if there is none."""
        entry = self._entries.get(number)
        return self._aside.filters[number] if entry is None else entry.filter

    # -- what it is made of

    @property
    def nbytes(self) -> int:
        """The memory of diagrams, predicates and dependencies, about; not that of the filters."""
        table = 0 if self._table is None else self._table.nbytes
        own = self._numbers.nbytes + self._words.nbytes + self._bytes
        return self._diagram.nbytes + self._predicates.nbytes + table + own

    @property
    def aside(self) -> int:
        """How many filters are in no diagram, and asked one by one."""
        return len(self._aside)

    @property
    def diagrams(self) -> int:
        """How many diagrams there are: different pairs of child nodes under outputs."""
        return len(self._over)

    @property
    def outputs_per_diagram(self) -> float:
        """How many outputs a diagram has on average; 0 if there is none."""
        return len(self._entries) / len(self._over) if self._over else 0.0

    @property
    def nodes(self) -> int:
        """How many nodes there are in all diagrams, true and false not counted."""
        return len(self._diagram)

    @property
    def predicates(self) -> Predicates:
        """The distinct predicates; to be looked at only."""
        return self._predicates

    @property
    def dependencies(self) -> Dependencies | None:
        """The table of dependencies, if it is kept; to be looked at only."""
        return self._table

    @property
    def attributes(self) -> list[str]:
        """The attributes that filters ask for, from the bottom of the diagrams up."""
        used = self._predicates.attributes
        return sorted(used, key=lambda name: self._ranks[name])

    def output(self, number: int) -> tuple[int, int, int] | bool:
        """The variable of a filter's output node, its low and its high child; or true or false."""
        node = self._diagram.output(self._entries[number].slot)
        return node == TRUE if node in (FALSE, TRUE) else self._diagram.ends(node)

    def node(self, node: int) -> tuple[int, int, int] | bool:
        """The same for any node under an output."""
        return node == TRUE if node in (FALSE, TRUE) else self._diagram.ends(node)

    # -- changes

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        if number in self:
            raise ValueError(f"there is a filter with the number {number} already")
        self._check(f)
        self._put(number, f)
        if len(self._entries) >= max(_FEWEST, 2 * self._rebuilt):
            self.rebuild()

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number."""
        self._check(f)
        self.remove(number)
        self.add(number, f)

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number; KeyError if there is none."""
        if number in self._aside:
            self._aside.remove(number)
            return
        entry = self._entries.pop(number)
        self._count(self._diagram.output(entry.slot), -1)
        self._diagram.detach(entry.slot)
        self._free.append(entry.slot)
        self._statistics.remove(entry.attributes)
        self._release(dict.fromkeys(variables_of(entry.formula)))
        self._bytes -= _ENTRY + _VARIABLE * len(entry.attributes)
        if len(self._entries) < self._rebuilt // 4 and self._rebuilt > _FEWEST:
            self.rebuild()

    def rebuild(self) -> None:
        """Order attributes by what the table holds now, and build all diagrams anew.

        This happens by itself whenever the table is twice as large as the last time. Filters that
        were put aside are tried again.
        """
        known = [name for name in self._ranks if self._predicates.of(name)]
        names = ranked(self._order, known, self._statistics, self._uses, self._seed)
        self._ranks = {name: rank for rank, name in enumerate(names)}
        self._diagram = Diagram()
        for name in known:
            for variable in self._predicates.of(name):
                self._diagram.put_level(variable, self._level(variable, name))
        self._over = {}
        self._free = []
        self._rebuilt = len(self._entries)
        self._numbers = np.zeros(max(64, 2 * self._rebuilt), np.int64)
        too_large = []
        for slot, number in enumerate(self._neighbours_together()):
            entry = self._entries[number]
            try:
                node = install(entry.formula, self._diagram, self._most_nodes)
            except TooLargeError:
                too_large.append(number)
                node = FALSE
            entry.slot = slot
            self._attach(slot, number, node)
        tried = list(self._aside.filters.items())
        tried += [(number, self._entries[number].filter) for number in too_large]
        for number, f in tried:
            self.remove(number)
            self._put(number, f)

    def _neighbours_together(self) -> list[int]:
        """The numbers of the filters, in an order in which those that share nodes are neighbours.

        Nodes are then made in the order in which evaluation meets them.
        """
        level = self._diagram.level
        paths = {
            number: sorted(map(level, variables_of(entry.formula)))
            for number, entry in self._entries.items()
        }
        return sorted(paths, key=paths.__getitem__)

    def _check(self, f: Filter) -> None:
        f.require_bound()
        if f.schema is not self.schema and f.schema != self.schema:
            raise SchemaError("the filter was read under another schema than the table's")

    def _put(self, number: int, f: Filter) -> None:
        """Take in a filter; aside, if there is no room or it is too large."""
        if self._too_full(f):
            self._aside.add(number, f)
            return
        wanted, variables = self._formula(f)
        try:
            node = install(wanted, self._diagram, self._most_nodes)
        except TooLargeError:
            self._release(variables)
            self._aside.add(number, f)
            return
        slot = self._free.pop() if self._free else len(self._entries)
        attributes = attributes_of(variables, self._predicates.attribute)
        self._entries[number] = _Entry(f, wanted, attributes, slot)
        self._statistics.add(attributes)
        self._bytes += _ENTRY + _VARIABLE * len(attributes)
        self._attach(slot, number, node)

    def _too_full(self, f: Filter) -> bool:
        size = sum(1 for _ in predicates(f.tree))
        more = self._diagram.would_take(size) + _ENTRY + size * _NEW_PREDICATE
        if self.nbytes + more <= self._limit:
            return False
        if not self._warned:
            self._warned = True
            warn_of_limit("the table of decision diagrams", self._limit, _INSTEAD)
        return True

    def _attach(self, slot: int, number: int, node: int) -> None:
        while slot >= len(self._numbers):
            self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)])
        self._numbers[slot] = number
        self._diagram.attach(slot, node)
        self._count(node, 1)

    def _count(self, node: int, change: int) -> None:
        """Count an output over its children."""
        key = (node, node) if node in (FALSE, TRUE) else self._diagram.ends(node)[1:]
        self._over[key] = self._over.get(key, 0) + change
        if not self._over[key]:
            del self._over[key]

    # -- variables

    def _formula(self, f: Filter) -> tuple[Formula, dict[int, None]]:
        """A filter in variables, each of which has one use more."""
        taken: dict[int, None] = {}

        def variable(predicate: Predicate) -> int:
            found = self._take(predicate)
            if found in taken:
                self._predicates.release(found)
            taken[found] = None
            return found

        return formula(f.tree, variable), taken

    def _take(self, predicate: Predicate) -> int:
        known = len(self._predicates)
        variable = self._predicates.take(predicate)
        if len(self._predicates) > known:
            name = predicate.attribute
            if name not in self._ranks:
                self._ranks[name] = max(self._ranks.values(), default=-1) + 1
            self._diagram.put_level(variable, self._level(variable, name))
            if self._table is not None:
                self._table.add(variable)
            if self._predicates.width > len(self._words):
                self._words = np.zeros(2 * self._predicates.width, np.uint64)
        return variable

    def _release(self, variables: Mapping[int, None]) -> None:
        for variable in variables:
            if self._table is not None and self._predicates.uses(variable) == 1:
                self._table.remove(variable)
            self._predicates.release(variable)

    def _level(self, variable: int, attribute: str) -> int:
        """Attributes by their ranks, and the predicates of one as they came."""
        return (self._ranks[attribute] + 1 << 32) + variable

    def _uses(self, attribute: str) -> list[int]:
        return [self._predicates.uses(variable) for variable in self._predicates.of(attribute)]

    # -- matching

    def match(self, event: Mapping[str, Any], /) -> list[int]:
        """The filters that match an event."""
        found: list[int] = self.match_numbers(event).tolist()
        return found + self._aside.match(event) if self._aside.filters else found

    def match_numbers(self, event: Mapping[str, Any]) -> NDArray[np.int64]:
        """The filters in diagrams that match an event, as an array."""
        holding = self._predicates.holding(event)
        words = self._words
        words[holding] = 1
        slots, _ = self._diagram.reach(words, 1)
        words[holding] = 0
        return self._numbers[slots]

    def match_batch(self, events: Sequence[Mapping[str, Any]]) -> list[list[int]]:
        """The filters that match each of several events: nodes are evaluated for 64 at once."""
        found: list[list[int]] = []
        for start in range(0, len(events), _EVENTS):
            some = events[start : start + _EVENTS]
            self._words[:] = 0
            for bit, event in enumerate(some):
                self._words[self._predicates.holding(event)] |= np.uint64(1 << bit)
            slots, words = self._diagram.reach(self._words, full(some))
            self._words[:] = 0
            numbers = self._numbers[slots]
            for bit, event in enumerate(some):
                mine: list[int] = numbers[(words >> np.uint64(bit)) & np.uint64(1) == 1].tolist()
                found.append(mine + self._aside.match(event) if self._aside.filters else mine)
        return found

    # -- covering

    def containing(self, f: Filter, /) -> list[int]:
        """The filters that are found to cover this one."""
        question = self._question(f)
        alternatives = question.alternatives()
        if alternatives is None:
            return self._same(f) + self._aside.containing(f)
        if not alternatives:
            return [*self._entries, *self._aside.containing(f)]
        slots: NDArray[np.int32] | None = None
        for some in _portions(alternatives, ALTERNATIVES):
            found, words = self._diagram.reach(question.covering(some), full(some))
            mine = found[words == np.uint64(full(some))]
            slots = mine if slots is None else np.intersect1d(slots, mine)
        assert slots is not None
        return self._named(slots) + self._aside.containing(f)

    def contained(self, f: Filter, /) -> list[int]:
        """The filters that this one is found to cover."""
        question = self._question(f)
        never = [*self._diagram.slots(FALSE)]
        clauses = question.clauses()
        if clauses is None:
            found = {*self._same(f), *self._numbers[never].tolist()}
            return [*found, *self._aside.contained(f)]
        sides = left_sides(question, clauses, self._diagram, self._predicates.width)
        slots: NDArray[np.int32] | None = None
        for certain, limits in sides or ():
            mine = self._diagram.relate(
                certain, 0, certain, limits, right=False, left=True, exits=False
            )
            assert mine is not None
            slots = mine.copy() if slots is None else np.intersect1d(slots, mine)
        found_slots = never if slots is None else [*never, *slots.tolist()]
        return self._named(np.array(found_slots, np.int32)) + self._aside.contained(f)

    def overlapping(self, f: Filter, /) -> list[int]:
        """The filters that may overlap this one; all that do are among them."""
        question = self._question(f)
        alternatives = question.alternatives()
        if alternatives is None:
            never = set(self._named(np.array(self._diagram.slots(FALSE), np.int32)))
            mine = [number for number in self._entries if number not in never]
            return mine + self._aside.overlapping(f)
        slots = [np.empty(0, np.int32)]
        for some in _portions(alternatives, ALTERNATIVES):
            slots.append(self._diagram.reach(question.overlapping(some), full(some))[0].copy())
        return self._named(np.unique(np.concatenate(slots))) + self._aside.overlapping(f)

    def relations(self, f: Filter, *, phases: int = 1) -> Relations:
        """Whether a filter of the table covers this one, and otherwise which of them it covers.

        The table must be an antichain, as a covering table is: none of its filters covers another.
        In one phase, diagrams are evaluated for both sides on the way, and a side is given up as
        soon as it can no longer matter; in two, the second question is put after the first.
        """
        question = self._question(f)
        alternatives, clauses = question.alternatives(), question.clauses()
        if alternatives == []:
            return Relations(bool(len(self)), [])
        if self._aside.containing(f) or (alternatives is None and self._same(f)):
            return Relations(True, [])
        beside = self._aside.contained(f)
        portions = list(_portions(alternatives or [], ALTERNATIVES))
        sides = None
        if clauses is not None:
            sides = left_sides(question, clauses, self._diagram, self._predicates.width)
        if len(portions) > 1 or len(sides or ()) > 1 or alternatives is None:
            found = [] if alternatives is None else self.containing(f)
            return Relations(True, []) if found else Relations(False, self.contained(f))
        truths = question.covering(portions[0])
        certain, limits = sides[0] if sides else (truths, np.empty(0, np.int64))
        covers: list[int] = []
        for right, left in ((True, True),) if phases == 1 else ((True, False), (False, True)):
            slots = self._diagram.relate(
                truths,
                full(portions[0]),
                certain,
                limits,
                right=right,
                left=left and sides is not None,
                exits=True,
            )
            if slots is None:
                return Relations(True, [])
            covers = slots.tolist()
        never = self._diagram.slots(FALSE)
        return Relations(False, self._named(np.array([*never, *covers], np.int32)) + beside)

    def subscribe(self, number: int, f: Filter) -> Relations:
        """Take in a filter unless it is covered, and forget those that it covers."""
        found = self.relations(f)
        if not found.covered:
            for gone in found.covers:
                self.remove(gone)
            self.add(number, f)
        return found

    def _question(self, f: Filter) -> Question:
        self._check(f)
        return Question(f.tree, self.schema, self._predicates, self._table)

    def _same(self, f: Filter) -> list[int]:
        """The filters whose output is the very node that this one would have."""
        try:
            wanted = formula(f.tree, self._known)
        except KeyError:
            return []
        node = locate(wanted, self._diagram, self._most_nodes)
        slots = [] if node is None else self._diagram.slots(node)
        return self._named(np.array(slots, np.int32))

    def _known(self, predicate: Predicate) -> int:
        variable = self._predicates.find(predicate)
        if variable is None:
            raise KeyError(predicate)
        return variable

    def _named(self, slots: NDArray[np.int32]) -> list[int]:
        found: list[int] = self._numbers[slots].tolist()
        return found


def _portions(alternatives: list[Alternative], size: int) -> Iterator[list[Alternative]]:
    """The alternatives, so many together."""
    for start in range(0, len(alternatives), size):
        yield alternatives[start : start + size]
