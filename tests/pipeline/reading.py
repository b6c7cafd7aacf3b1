"""What the tables of a store say, as plain Python."""

from typing import Any

import pyarrow as pa

from tests.pipeline.store.store_oracle import State, Written
from tidegate.filters.literals import decode


def decoded(pairs: list[tuple[str, str]] | None) -> dict[str, Any] | None:
    """A map of literals as a dictionary of constants."""
    return None if pairs is None else {name: decode(text) for name, text in pairs}


def exact(value: Any) -> Any:
    """Something that is equal only for constants of one type and one spelling."""
    if isinstance(value, dict):
        return {name: exact(inner) for name, inner in value.items()}
    return (type(value), repr(value))


def state(table: pa.Table) -> list[Any]:
    return [
        (row["id"], row["subscriber"], row["filter"], exact(decoded(row["parameters"])))
        for row in table.to_pylist()
    ]


def expected_state(state: State) -> list[Any]:
    return [
        (id, kept.subscriber, kept.filter, exact(kept.parameters))
        for id, kept in sorted(state.items(), key=lambda item: item[0].encode())
    ]


def changes(table: pa.Table) -> list[Any]:
    return [
        tuple(exact(decoded(cell)) if name == "parameters" else cell for name, cell in row.items())
        for row in table.to_pylist()
    ]


def expected_changes(rows: list[Written]) -> list[Any]:
    return [(*row[:-1], exact(row.parameters)) for row in rows]
