"""Would the tests of the diagrams notice? Plausible mistakes, made on purpose.

Each check is a small form of one in the other tests. None of them complains about the code as it
is, and each mutant is noticed by the one that should notice it.
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tidegate as tg
from tests.papers.agreement import SCHEMAS, agree
from tests.papers.test_mbd import check_nodes, drawing
from tests.papers.test_mbd_dependencies import Both
from tidegate.filters.expression import predicates
from tidegate.filters.filter import Filter
from tidegate.lab.workloads.padres import Choices, set_a
from tidegate.papers.mbd import covering, mbd
from tidegate.papers.mbd.dependencies import Dependencies
from tidegate.papers.mbd.diagram import Diagram, Slots
from tidegate.papers.mbd.formula import Sketch
from tidegate.papers.mbd.mbd import MBD
from tidegate.papers.mbd.mergers import Mergers
from tidegate.papers.mbd.merging import Cluster, Rules
from tidegate.papers.mbd.table import Table

Patch = pytest.MonkeyPatch


# -- checks


def histories_agree() -> None:
    for seed in range(4):
        for schema in (SCHEMAS["none"], SCHEMAS["typed"]):
            agree(MBD(schema), schema, seed, 25, draw=drawing(schema))


def nothing_is_missed() -> None:
    workload = set_a(400)
    filters = list(workload.filters())
    events = workload.events(20).to_pylist()
    agree(
        MBD(workload.schema),
        workload.schema,
        3,
        120,
        exact=True,
        draw=lambda rng: rng.choice(filters),
        event=lambda rng: rng.choice(events),
    )


def shared_nodes_stay() -> None:
    table = MBD(order=["a", "b", "c"])
    for number, text in enumerate(("a = 1", "a = 1 AND b = 1", "a = 1 AND b = 1", "a = 1")):
        table.add(number, tg.parse(text))
    for gone, left in ((1, [0, 2, 3]), (0, [2, 3])):
        table.remove(gone)
        assert sorted(table.match({"a": 1, "b": 1})) == left
        check_nodes(table)


def dependencies_follow() -> None:
    rng = Random(4)
    both = Both(None)
    for _ in range(30):
        for p in predicates(drawing(None)(rng).tree):
            both.take(p)
        while both.variables and rng.random() < 0.6:
            both.drop(rng.choice(both.variables))
        both.check()


def mergers_match_their_members() -> None:
    texts = ("price < 5 AND a = 1", "price = 5 AND a = 1", "price = 5 AND a = 2", "b = 1 AND a = 1")
    filters = {number: tg.parse(text) for number, text in enumerate(texts)}
    table = MBD(order=["a", "b", "price"])
    for number, f in filters.items():
        table.add(number, f)
    table.merge()
    for price in (4, 5, 6):
        for a in (1, 2):
            event = {"price": price, "a": a, "b": 2}
            matched = set(table.match(event))
            for number in table:
                members = [number] if number in filters else table.members(number)
                assert (number in matched) is any(filters[n].matches(event) for n in members)
    assert len(table) == 3


def removing_a_member_brings_the_others_back() -> None:
    table = MBD()
    for number, text in enumerate(("price < 5", "price = 5", "price = 4")):
        table.add(number, tg.parse(text))
    table.merge()
    table.remove(0)
    assert sorted(table) == [1, 2]


def one_phase_is_right_about_an_antichain() -> None:
    workload = set_a(200, choices=Choices(fewest=1, most=2))
    table = MBD(workload.schema)
    covered = 0
    for number, f in enumerate(workload.filters()):
        found = table.relations(f)
        covered += bool(table.containing(f))
        assert found.covered is bool(table.containing(f))
        assert sorted(found.covers) == ([] if found.covered else sorted(table.contained(f)))
        table.subscribe(number, f)
    assert 20 < covered < 180


# -- mutants


def a_shared_node_is_stale(patch: Patch) -> None:
    real = Diagram.reach_once

    def reach_once(self: Diagram, truths: NDArray[np.uint8]) -> Slots:
        self._epoch = 0
        return real(self, truths)

    patch.setattr(Diagram, "reach_once", reach_once)


def a_shared_node_is_freed(patch: Patch) -> None:
    real = Diagram.attach

    def attach(self: Diagram, slot: int, node: int) -> None:
        real(self, slot, node)
        if self.references(node) > 1:
            self._cold[node, 3] -= 1

    patch.setattr(Diagram, "attach", attach)


def dependencies_are_not_bridged(patch: Patch) -> None:
    real = Dependencies.remove

    def remove(self: Dependencies, variable: int) -> None:
        tie = self._tie
        self._tie = lambda low, high: None  # type: ignore[method-assign]
        real(self, variable)
        self._tie = tie  # type: ignore[method-assign]

    patch.setattr(Dependencies, "remove", remove)


def a_dependency_is_left_behind(patch: Patch) -> None:
    def remove(self: Dependencies, variable: int) -> None:
        self._forget(self._predicates.attribute(variable))
        del self._first[variable]

    patch.setattr(Dependencies, "remove", remove)


def answers_are_remembered_too_long(patch: Patch) -> None:
    patch.setattr(Dependencies, "_forget", lambda self, attribute: None)


def only_what_the_new_variable_implies_is_added(patch: Patch) -> None:
    """Fig. 8 to the letter."""
    real = Dependencies._closed

    def closed(self: Dependencies, found: Iterable[int], variable: int, edges: Any) -> Any:
        return real(self, found if edges is self._up else [], variable, edges)

    patch.setattr(Dependencies, "_closed", closed)


def the_left_side_is_as_printed(patch: Patch) -> None:
    """A variable is true if the new filter covers its predicate, and diagrams are evaluated."""

    def contained(self: MBD, f: Filter) -> list[int]:
        clauses = self._question(f).clauses()
        words = np.zeros(self.predicates.width, np.uint64)
        for clause in clauses or ():
            words[self._question(f).inside(clause)] = 1
        slots, _ = self._table.diagram.reach(words, 1)
        return self._table.named(slots)

    patch.setattr(MBD, "contained", contained)


def one_alternative_is_enough(patch: Patch) -> None:
    real = covering.Question.alternatives

    def alternatives(self: covering.Question) -> Any:
        found = real(self)
        return found[:1] if found else found

    patch.setattr(covering.Question, "alternatives", alternatives)


def limits_are_a_level_too_low(patch: Patch) -> None:
    real = Diagram.highest
    patch.setattr(Diagram, "highest", lambda self, variables: real(self, variables) - 1)


def clauses_are_not_in_the_order_of_their_limits(patch: Patch) -> None:
    real = covering.left_sides

    def left_sides(*given: Any) -> Any:
        sides = real(*given)
        return sides and [side._replace(limits=side.limits[::-1].copy()) for side in sides]

    patch.setattr(mbd, "left_sides", left_sides)


def disjunctions_are_built_as_conjunctions(patch: Patch) -> None:
    real = Sketch._all
    patch.setattr(Sketch, "_all", lambda self, both, nodes: real(self, True, nodes))


def children_do_not_matter_to_groups(patch: Patch) -> None:
    real = Mergers._groups

    def groups(self: Mergers) -> Any:
        table = self._table
        found: dict[Any, list[int]] = {}
        for number, entry in table.entries.items():
            variable, _, _ = table.diagram.ends(table.diagram.output(entry.slot))
            found.setdefault((table.predicates.attribute(variable), 0, 0), []).append(number)
        return iter(found.items())

    assert real is not None
    patch.setattr(Mergers, "_groups", groups)


def any_enclosing_predicate_is_taken_for_perfect(patch: Patch) -> None:
    def perfect(self: Rules, one: Cluster, other: Cluster) -> Cluster | None:
        return self._joined([one, other], one.predicate, one.values)

    patch.setattr(Rules, "perfect", perfect)


def members_are_forgotten(patch: Patch) -> None:
    real = Mergers._drop
    patch.setattr(Mergers, "_drop", lambda self, merger: dict(list(real(self, merger).items())[:1]))


def levels_do_not_follow_attributes(patch: Patch) -> None:
    """Then a diagram may have a node above another one of a higher level."""
    patch.setattr(Table, "_level", lambda self, variable, attribute: 1 + variable % 2)


def the_right_side_is_given_up_at_once(patch: Patch) -> None:
    real = Diagram.relate

    def relate(self: Diagram, *given: Any, right: bool, left: bool, exits: bool) -> Slots | None:
        return real(self, *given, right=False, left=left, exits=exits)

    patch.setattr(Diagram, "relate", relate)


MUTANTS: list[tuple[Callable[[Patch], None], Callable[[], None]]] = [
    (a_shared_node_is_stale, histories_agree),
    (a_shared_node_is_freed, shared_nodes_stay),
    (dependencies_are_not_bridged, dependencies_follow),
    (a_dependency_is_left_behind, dependencies_follow),
    (answers_are_remembered_too_long, dependencies_follow),
    (only_what_the_new_variable_implies_is_added, dependencies_follow),
    (the_left_side_is_as_printed, histories_agree),
    (one_alternative_is_enough, histories_agree),
    (limits_are_a_level_too_low, nothing_is_missed),
    (clauses_are_not_in_the_order_of_their_limits, nothing_is_missed),
    (disjunctions_are_built_as_conjunctions, histories_agree),
    (children_do_not_matter_to_groups, mergers_match_their_members),
    (any_enclosing_predicate_is_taken_for_perfect, mergers_match_their_members),
    (members_are_forgotten, removing_a_member_brings_the_others_back),
    (levels_do_not_follow_attributes, histories_agree),
    (the_right_side_is_given_up_at_once, one_phase_is_right_about_an_antichain),
]


@pytest.mark.parametrize("check", dict.fromkeys(check for _, check in MUTANTS))
def test_the_code_as_it_is_passes(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize(("mutant", "check"), MUTANTS)
def test_a_mutant_is_noticed(
    mutant: Callable[[Patch], None], check: Callable[[], None], monkeypatch: Patch
) -> None:
    mutant(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        check()
