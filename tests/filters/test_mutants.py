"""Would the differential check notice? Two plausible mistakes, made on purpose.

The check is that of `test_spark`, with the tests' own oracle in Spark's place (which agrees with
Spark on these very generators). It finds nothing wrong with the code as it is, and something wrong
with each mutant.
"""

import math
from random import Random

import pytest

import tidegate as tg
from tests import generate, oracle
from tests.oracle import Condition, Leaf
from tidegate.filters import compare, evaluate
from tidegate.filters.evaluate import Verdict
from tidegate.filters.expression import Mode
from tidegate.filters.values import Constant


def wrong_answers() -> list[Condition]:
    """Generated conditions, some typed and some not, that as filters pass the wrong events."""
    rng = Random(4)
    events = generate.events(rng, 25)
    wrong: list[Condition] = []
    for schema in (tg.Schema(generate.TYPES), None):
        has_schema = schema is not None
        leaves = list(generate.each_operator(rng, has_schema))
        for condition in [*leaves, *generate.filters(rng, 200, has_schema)]:
            parsed = tg.parse(str(condition), schema)
            if any(parsed.matches(e) is not oracle.passes(condition, e) for e in events):
                wrong.append(condition)
    return wrong


def operators(conditions: list[Condition]) -> set[str]:
    """The operators of those conditions that are single predicates."""
    return {condition.operator for condition in conditions if isinstance(condition, Leaf)}


def test_without_a_mutation_nothing_is_wrong() -> None:
    assert wrong_answers() == []


def test_not_of_unknown_as_true_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(evaluate._HOLDS, Mode.FALSE, (Verdict.FALSE, Verdict.UNKNOWN))
    texts = {"NOT LIKE", "NOT startswith", "NOT endswith", "NOT contains", "NOT ILIKE"}
    texts |= {f"{name} {word}" for name in ("NOT LIKE", "NOT ILIKE") for word in ("ANY", "ALL")}
    assert operators(wrong_answers()) == {"!=", "<>", "NOT IN", "NOT bare"} | texts


def test_dropping_nan_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_nan(value: Constant, constant: Constant) -> int:
        sides = (value, constant)
        if any(isinstance(side, float) and math.isnan(side) for side in sides):
            return 2  # neither below, nor equal, nor above: IEEE 754's answer, and not SQL's
        return compare.compare(value, constant)

    monkeypatch.setattr(evaluate, "compare", without_nan)
    lists = {"IN", "NOT IN", "BETWEEN", "NOT BETWEEN"}
    assert operators(wrong_answers()) == {*generate.COMPARISONS, *lists}
