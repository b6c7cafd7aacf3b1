"""Would the checks notice if a relation were wrong? Each mutant is a small mistake, put in place
for one test, and must be caught by the very check that the tests of relations rely on."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.algebra.relation_checks import (
    exact,
    exact_family,
    known,
    sound,
    sound_family,
    sound_union,
)
from tests.algebra.worlds import (
    Setting,
    family,
    hidden_contradictions,
    plain,
    prefixes_as_ranges,
    texts,
    typed,
)
from tidegate.algebra import relate, subtract
from tidegate.algebra.normal import Box
from tidegate.algebra.subtract import Budget
from tidegate.filters import canonical, lines, meaning
from tidegate.filters.expression import Operator
from tidegate.filters.valueset import ValueSet

Mutate = Callable[[pytest.MonkeyPatch], None]


def _exact(place: Setting) -> None:
    rng = random.Random(10)
    for _ in range(25):
        exact_family(place, family(rng, place, 12), rng)


def unchecked() -> Setting:
    return typed("integers", checked=False, limited=True)


def exactly_without_a_schema() -> None:
    _exact(plain())


def exactly_with_an_unchecked_schema() -> None:
    _exact(unchecked())


def soundly_with_text() -> None:
    rng = random.Random(11)
    for _ in range(12):
        sound_family(texts(), family(rng, texts(), 12), rng)


def soundly_without_budget() -> None:
    rng = random.Random(12)
    for _ in range(60):
        g, *others = known(plain(), family(rng, plain(), 6))
        sound_union(g, others, Budget(0))


def exactly_predicate_by_predicate() -> None:
    members = known(plain(), plain().kinds["x"][0])
    for f in members:
        for g in members:
            exact(f, g)


def exactly_on_prefixes() -> None:
    for pair in prefixes_as_ranges():
        exact(*known(plain(), pair))


def soundly_with_hidden_contradictions() -> None:
    others = known(texts(), family(random.Random(13), texts(), 12))
    for empty in known(texts(), hidden_contradictions()):
        for other in others:
            sound(empty, other)


CHECKS = (
    exactly_without_a_schema,
    exactly_predicate_by_predicate,
    exactly_on_prefixes,
    soundly_with_hidden_contradictions,
    exactly_with_an_unchecked_schema,
    soundly_with_text,
    soundly_without_budget,
)


def no_when_unsure(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(relate, "overlaps", lambda f, g: relate.intersects(f, g) is True)


def no_when_sets_are_unsure(patch: pytest.MonkeyPatch) -> None:
    real = ValueSet.meets
    patch.setattr(ValueSet, "meets", lambda self, other: bool(real(self, other)))


def yes_when_unsure(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(relate, "covers", lambda f, g: relate.contains(f, g) is not False)


def _shifted_cut(patch: pytest.MonkeyPatch, first_by: int, after_by: int) -> None:
    real = lines.cut

    def cut(line: lines.Line, constant: Any, rounding: int | None = None) -> tuple[Any, Any]:
        first, after = real(line, constant, rounding)
        if isinstance(first, str):
            return first, after
        return first + first_by, max(first + first_by, after + after_by)

    patch.setattr(meaning, "cut", cut)


def end_one_too_late(patch: pytest.MonkeyPatch) -> None:
    _shifted_cut(patch, 0, 1)


def end_one_too_early(patch: pytest.MonkeyPatch) -> None:
    _shifted_cut(patch, 0, -1)


def start_one_too_early(patch: pytest.MonkeyPatch) -> None:
    _shifted_cut(patch, -1, 0)


def _operator_read_as(patch: pytest.MonkeyPatch, asked: Operator, answered: Operator) -> None:
    real = meaning._part

    def part(operator: Operator, line: lines.Line, first: Any, after: Any) -> tuple[Any, ...]:
        return real(answered if operator is asked else operator, line, first, after)

    patch.setattr(meaning, "_part", part)


def at_most_without_its_end(patch: pytest.MonkeyPatch) -> None:
    _operator_read_as(patch, Operator.AT_MOST, Operator.LESS)


def greater_with_its_end(patch: pytest.MonkeyPatch) -> None:
    _operator_read_as(patch, Operator.GREATER, Operator.AT_LEAST)


def prefix_that_ends_at_the_last_character(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(meaning, "prefix_bounds", lambda prefix: (prefix, prefix + "\U0010ffff"))


def double_compared_without_its_cast(patch: pytest.MonkeyPatch) -> None:
    real = lines._preimage_of_double

    def preimage(line: lines.Line, constant: float) -> tuple[int, int]:
        first, after = real(line, constant)
        if line is lines.BIGINT and constant == 2**53:
            return 2**53, 2**53 + 1
        return first, after

    patch.setattr(lines, "_preimage_of_double", preimage)


def absent_outside_every_set(patch: pytest.MonkeyPatch) -> None:
    real = ValueSet.__init__
    patch.setattr(
        ValueSet,
        "__init__",
        lambda self, absent, spans, texts=(): real(self, False, spans, texts),
    )


def absent_forgotten_by_within(patch: pytest.MonkeyPatch) -> None:
    real = ValueSet.within
    patch.setattr(
        ValueSet,
        "within",
        lambda self, other: real(ValueSet(False, self.spans, self.texts), other),
    )


def last_piece_ignored(patch: pytest.MonkeyPatch) -> None:
    real = subtract.subtract

    def pieces(box: Box, other: Box, universe: subtract.Universe) -> Iterator[Box]:
        return iter(list(real(box, other, universe))[:-1])

    patch.setattr(subtract, "subtract", pieces)


def line_dropped_by_union(patch: pytest.MonkeyPatch) -> None:
    real = ValueSet.union

    def union(self: ValueSet, other: ValueSet) -> ValueSet | None:
        found = real(self, other)
        if found is None:
            return None
        spans = {line: bounds for line, bounds in found.spans.items() if line != "decimal"}
        return ValueSet(found.absent, spans, found.texts)

    patch.setattr(ValueSet, "union", union)


def texts_forgotten_by_minus(patch: pytest.MonkeyPatch) -> None:
    real = ValueSet.minus
    patch.setattr(
        ValueSet,
        "minus",
        lambda self, other: real(self, ValueSet(other.absent, other.spans)),
    )


def every_box_certain(patch: pytest.MonkeyPatch) -> None:
    real = Box.__init__

    def certain(self: Box, sets: dict[str, ValueSet]) -> None:
        real(self, sets)
        self.certain = True

    patch.setattr(Box, "__init__", certain)


def domains_relied_on_unchecked(patch: pytest.MonkeyPatch) -> None:
    real = meaning.universe

    def universe(attribute: str, schema: Any) -> ValueSet:
        return real(attribute, None) if schema is None else schema[attribute].universe(True)

    patch.setattr(meaning, "universe", universe)
    patch.setattr(canonical, "universe", universe)


def yes_when_the_budget_is_used_up(patch: pytest.MonkeyPatch) -> None:
    real = subtract.inside
    patch.setattr(relate, "inside", lambda *question: real(*question) is not False)


MUTANTS: dict[Mutate, Callable[[], None]] = {
    no_when_unsure: soundly_with_text,
    no_when_sets_are_unsure: soundly_with_text,
    yes_when_unsure: soundly_with_text,
    end_one_too_late: exactly_without_a_schema,
    end_one_too_early: exactly_without_a_schema,
    start_one_too_early: exactly_without_a_schema,
    at_most_without_its_end: exactly_without_a_schema,
    greater_with_its_end: exactly_without_a_schema,
    prefix_that_ends_at_the_last_character: exactly_on_prefixes,
    double_compared_without_its_cast: exactly_predicate_by_predicate,
    absent_outside_every_set: exactly_without_a_schema,
    absent_forgotten_by_within: exactly_without_a_schema,
    last_piece_ignored: exactly_without_a_schema,
    line_dropped_by_union: exactly_without_a_schema,
    texts_forgotten_by_minus: soundly_with_text,
    every_box_certain: soundly_with_hidden_contradictions,
    domains_relied_on_unchecked: exactly_with_an_unchecked_schema,
    yes_when_the_budget_is_used_up: soundly_without_budget,
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_check_accepts_the_relations_as_they_are(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__)
def test_the_mutant_is_caught(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    check = MUTANTS[mutate]
    plain(), texts(), unchecked()  # what is enumerated is asked of the real code
    mutate(monkeypatch)
    with pytest.raises(AssertionError, match=r" \| "):
        check()
