"""What is spelled in a file is read back as it was; what nothing could have spelled is refused."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tests import generate
from tidegate.filters.notation import read_schema, read_tree, spell_schema, spell_tree

SCHEMA = tg.Schema(generate.TYPES)
EITHER = pytest.mark.parametrize("schema", [SCHEMA, None], ids=["schema", "no schema"])


def again(filter: tg.Filter, schema: tg.Schema | None) -> Any:
    return read_tree(json.loads(json.dumps(spell_tree(filter.tree))), schema)


@EITHER
@given(seed=st.integers(0, 2**32))
def test_trees_come_back(schema: tg.Schema | None, seed: int) -> None:
    for condition in generate.filters(Random(seed), 10, schema is not None):
        filter = tg.parse(str(condition), schema)
        assert repr(again(filter, schema)) == repr(filter.tree)  # NaN equals itself so


@EITHER
def test_every_operator_comes_back(schema: tg.Schema | None) -> None:
    for leaf in generate.each_operator(Random(3), schema is not None):
        for text in (str(leaf), f"NOT ({leaf})", f"({leaf}) IS NOT TRUE"):
            filter = tg.parse(text, schema)
            assert repr(again(filter, schema)) == repr(filter.tree)


def test_parameters_and_names_come_back() -> None:
    for text in (
        "price BETWEEN :low AND :high OR symbol LIKE :p ESCAPE '!'",
        "trade.`odd ``name``.x` IN (:a, 5, :_b9) AND `NOT` = :a",
        "TRUE",
        "NULL OR x = :NULL",
    ):
        filter = tg.parse(text)
        assert again(filter, None) == filter.tree


@pytest.mark.slow
def test_a_constant_longer_than_any_text_comes_back() -> None:
    bound = tg.parse("x = :p OR y IN (:p, 'b')").bind(p="long '\\" * 500_000)
    assert again(bound, None) == bound.tree


NO_TREES: list[Any] = [
    *(None, 5, 1.5, "x", [], {}, [[]], ["AND"], ["OR"], [True, False], ["XOR", True, True]),
    *(["is true"], ["is true", "x"], ["is true", "x", "="], ["is true", "x", "=", 5]),
    *(["is true", "x", "=", "1", "2"], ["is true", "x", "IS NULL", "1"], ["is true", "x", "IN"]),
    *(["is true", "x", "LIKE", "'a'"], ["is true", "x", "LIKE", "'a'", "''"]),
    *(["is true", "x", "LIKE", "'a'", "'!!'"], ["is true", "x", "LIKE", "'a!'", "'!'"]),
    *(["is true", "x", "LIKE", "1", "'!'"], ["is true", "x", "LIKE", "'a'", "NULL"]),
    *(["is true", "x", "==", "1"], ["is TRUE", "x", "=", "1"], ["is true", 5, "=", "1"]),
    *(["is true", "x", "=", "oops"], ["is true", "x", "=", ":"], ["is true", "x", "=", ":1"]),
    *(["is true", "x", "=", ""], ["is true", "x", "=", "'a"], ["is true", "x", "=", None]),
    *(["is true", "x y", "=", "1"], ["is true", "`x`", "=", "1"], ["is true", "", "=", "1"]),
    *(["is true", "x", "IN", "1", "'a'"], ["AND", True, ["is true", "x", "=", "1e999"]]),
]


@pytest.mark.parametrize("spelled", NO_TREES, ids=json.dumps)
def test_what_is_no_filter_is_refused(spelled: Any) -> None:
    with pytest.raises((ValueError, tg.FilterError)):
        read_tree(spelled, None)


@pytest.mark.parametrize(
    "spelled",
    [
        ["is true", "nobody", "=", "1"],
        ["is true", "nobody", "=", ":p"],
        ["is true", "price", "=", "TRUE"],
        ["is true", "price", "LIKE", "'a'", "'!'"],
        ["is true", "volume", "<", "99999999999999999999BD"],
    ],
    ids=json.dumps,
)
def test_what_the_schema_does_not_allow_is_refused(spelled: Any) -> None:
    with pytest.raises(tg.FilterTypeError):
        read_tree(spelled, SCHEMA)


@pytest.mark.parametrize(
    "own",
    [
        *([], ["double"], ["double", None, True], ["double", None, 1, None], [5, None, True, None]),
        *(["double", None, True, {"low": "x"}], ["double", None, True, {"lowest": "1"}]),
        *(["double", None, True, {"low": "2", "high": "1"}], ["double", None, True, [1]]),
        *(["double", None, True, {"values": []}], ["oops", None, True, None]),
    ],
    ids=json.dumps,
)
def test_what_is_no_schema_is_refused(own: Any) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError, tg.SchemaError)):
        read_schema({"checked": False, "attributes": {"x": own}})


def test_schemas_are_spelled_in_json() -> None:
    spelled = json.loads(json.dumps(spell_schema(SCHEMA)))
    assert read_schema(spelled) == SCHEMA
