"""The table of dependencies: complete, minimal, and the same however it came about."""

from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests import families
from tests.engine.boxes.box_oracle import some_filter
from tests.papers.agreement import SCHEMAS
from tidegate.filters.expression import Predicate, predicates
from tidegate.papers.mbd.dependencies import Dependencies
from tidegate.papers.predicates import Predicates


class Both:
    """An index and its table of dependencies."""

    def __init__(self, schema: tg.Schema | None) -> None:
        self.index = Predicates(schema)
        self.table = Dependencies(self.index)

    def take(self, p: Predicate) -> None:
        known = len(self.index)
        variable = self.index.take(p)
        if len(self.index) > known:
            self.table.add(variable)
        else:
            self.index.release(variable)

    def drop(self, variable: int) -> None:
        self.table.remove(variable)
        self.index.release(variable)

    @property
    def variables(self) -> list[int]:
        return [v for name in self.index.attributes for v in self.index.of(name)]

    def check(self) -> None:
        """Walking finds what comparing all with all finds, and every edge is needed."""
        index, table = self.index, self.table
        sets = {v: (index.attribute(v), index.allowed(v)) for v in self.variables}
        known = {
            (a, b)
            for (a, (one, mine)), (b, (other, theirs)) in product(sets.items(), repeat=2)
            if one == other and mine.within(theirs) is True
        }
        found = {(a, int(b)) for a in sets for b in table.covering(a)}
        assert found == known
        assert {(int(a), b) for b in sets for a in table.covered(b)} == known
        edges = {(a, b) for a in sets for b in table.implied(a)}
        for a, b in edges:
            between = (c for c in sets if (a, c) in known and (c, b) in known)
            assert all((c, a) in known or (b, c) in known for c in between)
        assert len(table) == len({(table._first[a], b) for a, b in edges})


def predicate(text: str) -> Predicate:
    return next(predicates(tg.parse(text).tree))


def test_what_follows_from_others_is_not_kept() -> None:
    both = Both(None)
    for text in ("price >= 10", "price >= 5", "price >= 8"):
        both.take(predicate(text))
    assert [both.table.implied(v) for v in range(3)] == [[2], [], [1]]
    both.drop(2)
    assert [both.table.implied(v) for v in range(2)] == [[1], []]
    both.drop(1)
    assert len(both.table) == 0


def test_two_ways_between_the_same_need_no_third() -> None:
    both = Both(None)
    for text in ("x IN (1, 3)", "x IN (1, 3, 5)", "x IN (1, 3, 7)", "x IN (1, 3, 5, 7)"):
        both.take(predicate(text))
        both.check()
    assert len(both.table) == 4
    both.drop(1)
    both.check()
    assert len(both.table) == 2


def test_predicates_of_one_meaning_stand_for_each_other() -> None:
    both = Both(SCHEMAS["checked"])
    for text in ("x IS NOT NULL", "x >= 0", "x <= 9", "x >= 5"):
        both.take(next(predicates(tg.parse(text, SCHEMAS["checked"]).tree)))
        both.check()
    for variable in (0, 1, 2):
        assert {0, 1, 2} - set(range(variable)) == set(both.table.covering(3).tolist()) - {3}
        both.drop(variable)
        both.check()


@pytest.mark.parametrize("schema", [*SCHEMAS, "mixed"])
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32))
def test_the_table_is_complete_and_minimal_throughout_a_history(schema: str, seed: int) -> None:
    rng = Random(seed)
    own = SCHEMAS.get(schema)
    both = Both(own)
    for _ in range(25):
        f = families.mixed_filter(rng) if schema == "mixed" else some_filter(rng, own)
        for p in list(predicates(f.tree))[:4]:
            both.take(p)
        while both.variables and rng.random() < 0.6:
            both.drop(rng.choice(both.variables))
        both.check()
    for variable in both.variables:
        both.drop(variable)
    assert len(both.table) == both.table.nbytes == 0
