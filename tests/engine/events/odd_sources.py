"""How a column of Arrow comes from each library, and where the library is of another mind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import nanoarrow as na  # type: ignore[import-untyped]
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa

from tests.engine.events.odd_columns import (
    ARROW,
    DAY,
    Seen,
    dates,
    families,
    moments,
    numbers,
    texts,
)


@dataclass(frozen=True)
class Source:
    """How a library makes a batch of an Arrow array, and events of the batch."""

    batch: Callable[[pa.Array], Any]
    events: Callable[[Any], list[dict[str, Any]]]


def _table(array: pa.Array) -> pa.Table:
    return pa.table({"x": array})


def _frame(array: pa.Array) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))})


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """As pandas gives them, but with its way to write NULL undone."""
    found: list[dict[str, Any]] = frame.to_dict("records")
    missing = frame.isna().to_numpy().tolist()
    return [
        {name: None if gone else value for (name, value), gone in zip(row.items(), m, strict=True)}
        for row, m in zip(found, missing, strict=True)
    ]


def _polars(array: pa.Array) -> pl.DataFrame:
    return pl.DataFrame(_table(array))


def _duckdb(array: pa.Array) -> "duckdb.DuckDBPyRelation":
    connection = duckdb.connect()
    connection.execute("SET arrow_lossless_conversion = true")
    return connection.from_arrow(_table(array))


def _duckdb_events(relation: Any) -> list[dict[str, Any]]:
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def _nanoarrow(array: pa.Array) -> na.ArrayStream:
    return na.ArrayStream(_table(array))


SOURCES: Final[dict[str, Source]] = {
    "Arrow": Source(_table, lambda table: table.to_pylist()),
    "pandas": Source(_frame, _records),
    "Polars": Source(_polars, lambda frame: frame.to_dicts()),
    "DuckDB": Source(_duckdb, _duckdb_events),
    "nanoarrow": Source(_nanoarrow, lambda stream: pa.table(stream).to_pylist()),
}


# -- where the libraries themselves are of another mind

NONE: Final = frozenset(
    {
        *((kind, "DuckDB") for kind in ("float16", "decimal256", "dense_union")),
        *((kind, "DuckDB") for kind in ("decimal256 of more than 38 digits",)),
        *((kind, "DuckDB") for kind in ("dictionary of decimal256",)),
        *((kind, "Polars") for kind in ("decimal256", "decimal256 of more than 38 digits")),
        *((kind, "Polars") for kind in ("dictionary of decimal256", "month_day_nano_interval")),
        *((kind, "Polars") for kind in ("runs of strings", "runs of views", "runs of integers")),
        *((kind, "Polars") for kind in ("runs of arrow.uuid", "list_view")),
        *((kind, "Polars") for kind in ("dense_union", "sparse_union")),
    }
)
"""Columns that a library does not take."""

REFUSED: Final = r"(?i)not (implemented|support)|cannot create|could"
"""What it says then."""

_OUTSIDE: Final = [kind for kind in ARROW if "outside" in kind or "far" in kind]
NO_EVENTS: Final = frozenset(
    {
        *((kind, source) for kind in _OUTSIDE for source in SOURCES if source != "DuckDB"),
        ("timestamp[us] with a time zone", "DuckDB"),  # unless pytz is installed
    }
)
"""Columns whose values a library cannot hand out one by one."""

_FAR: Final = texts("20000-01-01 00:00:00", "0006-01-01 (BC) 00:00:00", None)

AS_BATCH: Final[dict[tuple[str, str], list[Seen]]] = {
    ("date64", "Polars"): moments(DAY, -DAY, None),
    ("date64 with a time of day", "Polars"): moments(DAY + 5000, -5000, None),
    ("date64 outside the years 1 to 9999", "Polars"): moments(10**18, -(10**18), None),
    ("date64 with a time of day", "DuckDB"): dates(1, 0, None),
}
"""Columns that become another type, or other values, in a library."""

AS_EVENTS: Final[dict[tuple[str, str], list[Seen]]] = {
    ("arrow.bool8", "Polars"): numbers(1, 0, 5, None),
    ("timestamp[ns]", "DuckDB"): moments(1, 0, DAY, None),
    ("date32 outside the years 1 to 9999", "DuckDB"): [
        *texts("20000-01-01", "0222-09-04 (BC)"),
        *dates(2_932_896, None),
    ],
    ("date64 outside the years 1 to 9999", "DuckDB"): texts(
        "29349-01-26", "25410-12-07 (BC)", None
    ),
    ("timestamp[s] outside the years 1 to 9999", "DuckDB"): _FAR,
    ("timestamp[ms] outside the years 1 to 9999", "DuckDB"): _FAR,
    ("timestamp[us] outside the years 1 to 9999", "DuckDB"): _FAR,
    ("dictionary of far timestamps", "DuckDB"): _FAR,
}
"""Values that a library gives another type when it hands them out one by one."""


def by_type() -> list[tuple[str, ...]]:
    """Columns of Arrow, those of the same fate together: what filters see, source by source."""
    found: dict[tuple[str, ...], list[str]] = {}
    for kind, column in ARROW.items():
        cells = (*(_cell(kind, source) for source in SOURCES), families(column.seen))
        found.setdefault(cells, []).append(kind)
    return [(", ".join(kinds), *cells) for cells, kinds in found.items()]


def _cell(kind: str, source: str) -> str:
    if (kind, source) in NONE:
        return "–"
    seen = AS_BATCH.get((kind, source), ARROW[kind].seen)
    alone = AS_EVENTS.get((kind, source), seen)
    batch, one = families(seen), families(alone)
    return batch if batch == one else f"{batch}; in its rows {one}"
