"""Filters as decision diagrams that share their nodes: a routing table that covers and merges.

`MBD` keeps filters of the language under numbers. Matching gives every variable its truth value
from the index of predicates, once for an event; of the nodes, only those above true ones are looked
at, each once. Covering does the same with the values that another filter gives (`covering`).
Merging puts outputs of one diagram together (`merging`): then the table holds mergers, under
negative numbers, in the place of their members.

The paper is Li, Hou and Jacobsen, "A Unified Approach to Routing, Covering and Merging in
Publish/Subscribe Systems based on Modified Binary Decision Diagrams" (2005).

Invariant: `match` is exact; `containing` and `contained` may miss, and `overlapping` may claim, and
never the other way round. The same history leads to the same diagrams.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.algebra.distribution import Distribution
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.papers.limit import DEFAULT_LIMIT
from tidegate.papers.mbd.covering import ALTERNATIVES, Alternative, Question, full, left_sides
from tidegate.papers.mbd.dependencies import Dependencies
from tidegate.papers.mbd.formula import MOST_NODES
from tidegate.papers.mbd.mergers import Merger, Mergers, MergeRule
from tidegate.papers.mbd.node_kernels import FALSE, TRUE
from tidegate.papers.mbd.order import Criterion, Order
from tidegate.papers.mbd.table import Table
from tidegate.papers.predicates import Predicates

_EVENTS: Final = 64  # that are matched together
_GROWTH: Final = 1.25  # by which the table has to grow before it is merged by itself again


class Relations(NamedTuple):
    """How a new filter stands to a table."""

    covered: bool
    """Whether a filter of the table covers it."""
    covers: list[int]
    """The filters of the table that it covers; none, if it is covered."""


class MBD:
    """Filters as outputs of shared decision diagrams.

    `order` says by what attributes are ordered, and `seed` shuffles them where that is `RANDOM`;
    `cache` keeps the dependencies between predicates; a filter whose diagram would take more than
    `nodes` nodes is kept aside, and so are those that come when `limit` bytes are used; `merging`
    merges by itself.

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
    >>> [merger] = flights.merge()
    >>> print(merger.filter, merger.members, len(flights))
    price <= 150 AND time = '2004-07-20' AND destination = 'Ottawa' (1, 2) 1
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
        merging: MergeRule | None = None,
    ) -> None:
        self.schema: Final = schema
        self._table = Table(schema, limit, order, seed, cache, nodes)
        self._mergers = Mergers(self._table)
        self._rule = merging
        self._merged = 0  # how many filters there were when they were last merged
        self._truths = np.zeros(1, np.uint8)  # of the variables, for an event

    def __len__(self) -> int:
        """How many filters are in the table, mergers in the place of their members."""
        return len(self._table)

    def __contains__(self, number: int) -> bool:
        return number in self._table

    def __iter__(self) -> Iterator[int]:
        return iter(self._table)

    def get(self, number: int) -> Filter:
        """The filter with this number in the table; KeyError if there is none."""
        return self._table.get(number)

    def members(self, number: int) -> list[int]:
        """The filters that a merger stands for; KeyError if this is no merger."""
        return list(self._mergers.members(number))

    # -- what it is made of

    @property
    def nbytes(self) -> int:
        """The memory of diagrams, predicates and dependencies, about; not that of the filters."""
        return self._table.nbytes + self._truths.nbytes

    @property
    def aside(self) -> int:
        """How many filters are in no diagram, and asked one by one."""
        return len(self._table.aside)

    @property
    def mergers(self) -> int:
        """How many of the filters are mergers."""
        return len(self._mergers)

    @property
    def diagrams(self) -> int:
        """How many diagrams there are: different pairs of child nodes under outputs."""
        return len(self._table.over)

    @property
    def outputs_per_diagram(self) -> float:
        """How many outputs a diagram has on average; 0 if there is none."""
        return len(self._table.entries) / self.diagrams if self.diagrams else 0.0

    @property
    def nodes(self) -> int:
        """How many nodes there are in all diagrams, true and false not counted."""
        return len(self._table.diagram)

    @property
    def predicates(self) -> Predicates:
        """The distinct predicates; to be looked at only."""
        return self._table.predicates

    @property
    def dependencies(self) -> Dependencies | None:
        """The table of dependencies, if it is kept; to be looked at only."""
        return self._table.dependencies

    @property
    def attributes(self) -> list[str]:
        """The attributes that filters ask for, from the bottom of the diagrams up."""
        return self._table.attributes

    def output(self, number: int) -> int:
        """The node of a filter that is in a diagram; 0 is false, 1 is true."""
        return self._table.diagram.output(self._table.entries[number].slot)

    def node(self, node: int) -> tuple[int, int, int]:
        """The variable, the low and the high child of a node that is neither true nor false."""
        if node in (FALSE, TRUE):
            raise ValueError(f"node {node} is {node == TRUE}, and has no children")
        return self._table.diagram.ends(node)

    # -- changes

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        if number in self._table or number in self._mergers:
            raise ValueError(f"there is a filter with the number {number} already")
        self._table.check(f)
        self._table.add(number, f)
        if self._rule is not None and self._is_due(self._rule):
            self.merge(self._rule)

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number."""
        self._table.check(f)
        self.remove(number)
        self.add(number, f)

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number; KeyError if there is none.

        If it is a member of a merger, that is undone, and the other members are in the table again.
        If it is a merger, as when something new covers it, its members go with it.
        """
        if not self._mergers.remove(number):
            self._table.remove(number)

    def rebuild(self) -> None:
        """Order attributes by what the table holds now, and build all diagrams anew.

        This happens by itself whenever the table is twice as large as the last time.
        """
        self._table.rebuild()

    def subscribe(self, number: int, f: Filter) -> Relations:
        """Take in a filter unless it is covered, and forget those that it covers."""
        found = self.relations(f)
        if not found.covered:
            for gone in found.covers:
                self.remove(gone)
            self.add(number, f)
        return found

    # -- merging

    def merge(
        self,
        rule: MergeRule | None = None,
        *,
        imt: float = 0.0,
        distribution: Distribution | None = None,
        advertised: Iterable[Filter] | None = None,
        concise: bool = True,
    ) -> list[Merger]:
        """Put outputs of one diagram together where a rule allows it: see `merging`.

        Perfectly; and, if there is a distribution, also imperfectly, up to this IMT, counting only
        what is advertised if that is given. `MeasureError` for an IMT above 0 without a
        distribution. Not `concise`, a perfect merger may be a list of values. What was merged
        before stays merged.
        """
        if rule is None:
            known = None if advertised is None else list(advertised)
            rule = MergeRule(0.0, imt, distribution, known, concise)
        for f in rule.advertised or ():
            self._table.check(f)
        made = self._mergers.merge(rule, self.contained)
        self._merged = len(self._table)
        return made

    def _is_due(self, rule: MergeRule) -> bool:
        grown = len(self._table) > _GROWTH * self._merged
        return grown and self.outputs_per_diagram >= rule.outputs

    # -- matching

    def match(self, event: Mapping[str, Any], /) -> list[int]:
        """The filters that match an event."""
        found: list[int] = self.match_numbers(event).tolist()
        aside = self._table.aside
        return found + aside.match(event) if aside.filters else found

    def match_numbers(self, event: Mapping[str, Any]) -> NDArray[np.int64]:
        """The filters in diagrams that match an event, as an array."""
        if self._table.predicates.width > len(self._truths):
            self._truths = np.zeros(2 * self._table.predicates.width, np.uint8)
        holding = self._table.predicates.holding(event)
        self._truths[holding] = 1
        slots = self._table.diagram.reach_once(self._truths)
        self._truths[holding] = 0
        return self._table.numbers[slots]

    def match_batch(self, events: Sequence[Mapping[str, Any]]) -> list[list[int]]:
        """The filters that match each of several events: nodes are evaluated for 64 at once."""
        table = self._table
        found: list[list[int]] = []
        for start in range(0, len(events), _EVENTS):
            some = events[start : start + _EVENTS]
            held = np.zeros(table.predicates.width, np.uint64)
            for bit, event in enumerate(some):
                held[table.predicates.holding(event)] |= np.uint64(1 << bit)
            slots, words = table.diagram.reach(held, full(some))
            numbers = table.numbers[slots]
            for bit, event in enumerate(some):
                mine: list[int] = numbers[(words >> np.uint64(bit)) & np.uint64(1) == 1].tolist()
                found.append(mine + table.aside.match(event) if table.aside.filters else mine)
        return found

    # -- covering

    def containing(self, f: Filter, /) -> list[int]:
        """The filters that are found to cover this one."""
        question = self._question(f)
        alternatives = question.alternatives()
        if alternatives is None:
            return self._table.same(f) + self._table.aside.containing(f)
        if not alternatives:
            return [*self._table.entries, *self._table.aside.containing(f)]
        slots: NDArray[np.int32] | None = None
        for some in _portions(alternatives, ALTERNATIVES):
            found, words = self._table.diagram.reach(question.covering(some), full(some))
            mine = found[words == np.uint64(full(some))]
            slots = mine if slots is None else np.intersect1d(slots, mine)
        assert slots is not None
        return self._table.named(slots) + self._table.aside.containing(f)

    def contained(self, f: Filter, /) -> list[int]:
        """The filters that this one is found to cover."""
        table = self._table
        question = self._question(f)
        clauses = question.clauses()
        beside = table.aside.contained(f)
        if clauses is None:
            return [*dict.fromkeys((*table.impossible, *table.same(f))), *beside]
        sides = left_sides(question, clauses, table.diagram, table.predicates.width)
        slots: NDArray[np.int32] | None = None
        for certain, limits in sides or ():
            mine = table.diagram.relate(
                certain, 0, certain, limits, right=False, left=True, exits=False
            )
            assert mine is not None
            slots = mine.copy() if slots is None else np.intersect1d(slots, mine)
        found = [] if slots is None else table.named(slots)
        return [*dict.fromkeys((*table.impossible, *found)), *beside]

    def overlapping(self, f: Filter, /) -> list[int]:
        """The filters that may overlap this one; all that do are among them."""
        table = self._table
        question = self._question(f)
        alternatives = question.alternatives()
        found: Iterable[int] = table.entries
        if alternatives is not None:
            slots = [np.empty(0, np.int32)]
            for some in _portions(alternatives, ALTERNATIVES):
                slots.append(table.diagram.reach(question.overlapping(some), full(some))[0].copy())
            found = table.named(np.unique(np.concatenate(slots)))
        possible = [number for number in found if number not in table.impossible]
        return possible + table.aside.overlapping(f)

    def relations(self, f: Filter, *, phases: int = 1) -> Relations:
        """Whether a filter of the table covers this one, and otherwise which of them it covers.

        The table must be an antichain, as a covering table is: none of its filters covers another.
        In one phase, diagrams are evaluated for both sides on the way, and a side is given up as
        soon as it can no longer matter; in two, the second question is put after the first.
        """
        table = self._table
        question = self._question(f)
        alternatives, clauses = question.alternatives(), question.clauses()
        if alternatives == []:
            return Relations(bool(len(self)), [])
        if table.aside.containing(f) or (alternatives is None and table.same(f)):
            return Relations(True, [])
        beside = table.aside.contained(f)
        portions = list(_portions(alternatives or [], ALTERNATIVES))
        sides = None
        if clauses is not None:
            sides = left_sides(question, clauses, table.diagram, table.predicates.width)
        if len(portions) > 1 or len(sides or ()) > 1 or alternatives is None:
            covered = alternatives is not None and bool(self.containing(f))
            return Relations(covered, [] if covered else self.contained(f))
        truths = question.covering(portions[0])
        certain, limits = sides[0] if sides else (truths, np.empty(0, np.int64))
        covers: list[int] = []
        for right, left in ((True, True),) if phases == 1 else ((True, False), (False, True)):
            slots = table.diagram.relate(
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
        found = dict.fromkeys((*table.impossible, *table.named(covers)))
        return Relations(False, [*found, *beside])

    def _question(self, f: Filter) -> Question:
        self._table.check(f)
        return Question(f.tree, self.schema, self.predicates, self.dependencies)


def _portions(alternatives: list[Alternative], size: int) -> Iterator[list[Alternative]]:
    """The alternatives, so many together."""
    for start in range(0, len(alternatives), size):
        yield alternatives[start : start + size]
