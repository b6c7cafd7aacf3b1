"""Tables are checked in columns as each of their rows is when its values are bound."""

import re
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tidegate.filters.literals import spell
from tidegate.pipeline.store.attribute_language import AttributeLanguage
from tidegate.pipeline.store.literals import PARAMETERS, given_maps
from tidegate.pipeline.store.proposal import ADD, propose

SCHEMA = tg.Schema(
    {"s": "string", "d": "double", "n": "bigint", "day": "date", "m": "decimal(5,2)"}
)
FILTERS = [
    "s LIKE :p",
    "s = :p OR n = 1",
    "n < :p AND d > :q",
    "n IN (:p, :q, 5)",
    "day BETWEEN :p AND :q",
    "m = :p",
    "d <=> :p",
    "n = 1",
    "n <",
    "nothing = :p",
]
NAMES = {text: sorted(set(re.findall(r":(\w)", text))) for text in FILTERS}
VALUES: list[Any] = [None, True, 5, 2**62, Decimal(2**63), Decimal("1.5"), 1.5, "5", "1.5", "a%"]
VALUES += ["a\\", "2026-01-31", date(2026, 1, 31), "soon"]
Row = tuple[str, dict[str, Any]]


def rows_of(text: str) -> st.SearchStrategy[list[Row]]:
    """Rows of one filter, whose values are mostly of one kind."""
    kinds = st.sampled_from([VALUES, VALUES[7:12] + VALUES[13:], VALUES[2:5], VALUES[2:3]])
    return kinds.flatmap(
        lambda pool: st.lists(
            st.tuples(
                st.just(text),
                st.fixed_dictionaries(
                    dict.fromkeys(NAMES[text], st.sampled_from(pool)),
                    optional={"r": st.sampled_from(VALUES[:3])} if len(text) % 4 == 0 else {},
                ),
            ),
            max_size=8,
        )
    )


ROWS = st.lists(st.sampled_from(FILTERS).flatmap(rows_of), max_size=3).map(
    lambda lists: [row for rows in lists for row in rows]
)


def verdict(text: str, values: dict[str, Any], schema: tg.Schema | None) -> type | None:
    """The type of the error with which one row is refused."""
    try:
        tg.parse(text, schema).bind(**values).require_bound()
    except tg.TidegateError as error:
        return type(error)
    return None


@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["without a schema", "with a schema"])
@given(rows=ROWS, without=st.integers(0, 40))
def test_a_row_is_refused_if_and_only_if_its_values_are(
    schema: tg.Schema | None, rows: list[Row], without: int
) -> None:
    if without < len(rows):
        rows[without][1].pop("p", None)  # now and then a value is missing
    maps = [[(name, spell(value)) for name, value in values.items()] for _, values in rows]
    proposal = propose(
        np.full(len(rows), ADD, np.int8),
        pa.array([f"id{row}" for row in range(len(rows))], pa.string()),
        None,
        pa.array([text for text, _ in rows], pa.string()),
        given_maps(pa.array(maps, PARAMETERS)),
        AttributeLanguage(schema),
    )
    refused = {row: type(error) for row, error in proposal.refusals.sorted()}
    wanted = [verdict(text, values, schema) for text, values in rows]
    assert [row in refused for row in range(len(rows))] == [each is not None for each in wanted]
    for row, (text, values) in enumerate(rows):
        if row not in refused:
            names = tg.parse(text, schema).parameters
            assert proposal.parameters[row].as_py() == [(n, spell(values[n])) for n in names]
