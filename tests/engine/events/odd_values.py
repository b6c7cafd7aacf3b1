"""Columns that only one library has, and values that only Python has."""

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl

from tests.engine.events.odd_columns import (
    DAY,
    OTHER,
    YEAR_20000,
    Seen,
    booleans,
    dates,
    families,
    moments,
    numbers,
    others,
    texts,
)


def _durations() -> pd.Series:
    return pd.Series([pd.Timedelta(1, "D"), pd.NaT])


def _months() -> pd.Series:
    return pd.Series(pd.period_range("2024-01", periods=2, freq="M"))


_PARIS: Final = dt.timezone(dt.timedelta(hours=1))

PANDAS: Final[dict[str, tuple[Callable[[], Any], list[Seen]]]] = {
    "integers with NaN": (lambda: pd.Series([1, np.nan]), numbers(1, None)),
    "Int64": (lambda: pd.array([1, None], "Int64"), numbers(1, None)),
    "boolean": (lambda: pd.array([True, None], "boolean"), booleans(True, None)),
    "str": (lambda: pd.Series(["a", None]), texts("a", None)),
    "category of strings": (
        lambda: pd.Series(["a", None, "b"]).astype("category"),
        texts("a", None, "b"),
    ),
    "category of integers": (lambda: pd.Series([1, 2]).astype("category"), numbers(1, 2)),
    "category of periods": (lambda: _months().astype("category"), others(1, 1)),
    "datetime64[s], year 20000": (
        lambda: pd.Series(np.array(["20000-01-01", "NaT"], "M8[s]")),
        moments(YEAR_20000 * 10**6, None),
    ),
    "datetime64[ns], time zone": (
        lambda: pd.Series(pd.to_datetime([1999, None]).tz_localize("UTC").tz_convert(_PARIS)),
        moments(1, None),
    ),
    "timedelta64": (_durations, others(1, 0)),
    "period": (_months, others(1, 1)),
    "interval": (lambda: pd.Series(pd.interval_range(0, 2)), others(1, 1)),
    "Sparse[int]": (lambda: pd.arrays.SparseArray([0, 1]), numbers(0, 1)),
    "Sparse[float]": (lambda: pd.arrays.SparseArray([np.nan, 2.5]), numbers(None, 2.5)),
    "complex": (lambda: pd.Series([1j, complex("nan")]), others(1, 0)),
    "objects: strings": (
        lambda: pd.Series(["a", None, np.nan], dtype=object),
        texts("a", None, None),
    ),
    "objects: half a character": (
        lambda: pd.Series(["\ud800", "a"], dtype=object),
        [OTHER, *texts("a")],
    ),
    "objects: integers of any size": (
        lambda: pd.Series([2**70, 1, None], dtype=object),
        numbers(2**70, 1, None),
    ),
    "objects: integers and floats": (
        lambda: pd.Series([1, 2.5, np.nan], dtype=object),
        numbers(1, 2.5, None),
    ),
    "objects: of all kinds": (
        lambda: pd.Series([1, "a", True, None, b"a", [1], {"a": 1}], dtype=object),
        [*numbers(1), *texts("a"), *booleans(True), None, *others(1, 1, 1)],
    ),
    "objects: dates": (lambda: pd.Series([dt.date(1970, 1, 2), None]), dates(1, None)),
    "objects: dates and datetimes": (
        lambda: pd.Series([dt.date(1970, 1, 2), dt.datetime(1970, 1, 2)], dtype=object),
        [*dates(1), *moments(DAY)],
    ),
    "objects: decimals": (
        lambda: pd.Series([Decimal("2.50"), None, Decimal("NaN")]),
        numbers(Decimal("2.5"), None, None),
    ),
    "objects: UUIDs": (lambda: pd.Series([uuid.UUID(int=5), None]), others(1, 0)),
    "objects: NumPy's": (
        lambda: pd.Series(
            [np.int64(1), np.float32(2.5), np.bool_(True), np.datetime64(1, "us")], dtype=object
        ),
        [*numbers(1, 2.5), *booleans(True), *moments(1)],
    ),
}
POLARS: Final[dict[str, tuple[Callable[[], Any], list[Seen]]]] = {
    "Int128": (lambda: pl.Series([2**100, 1, None], dtype=pl.Int128), numbers(2**100, 1, None)),
    "Categorical": (lambda: pl.Series(["a", None], dtype=pl.Categorical), texts("a", None)),
    "Enum": (lambda: pl.Series(["b", None], dtype=pl.Enum(["b", "a"])), texts("b", None)),
    "Decimal": (lambda: pl.Series([Decimal("2.50"), None]), numbers(Decimal("2.5"), None)),
    "Time": (lambda: pl.Series([dt.time(1), None]), others(1, 0)),
    "Duration": (lambda: pl.Series([dt.timedelta(1), None]), others(1, 0)),
    "Array": (lambda: pl.Series([[1], None], dtype=pl.Array(pl.Int64, 1)), others(1, 0)),
    "Struct": (lambda: pl.Series([{"a": 1}, None]), others(1, 0)),
    "Null": (lambda: pl.Series([None, None]), [None, None]),
    "Object": (
        lambda: pl.Series([1, "a", None], dtype=pl.Object),
        [*numbers(1), *texts("a"), None],
    ),
}
DUCKDB: Final[dict[str, tuple[str, list[Seen]]]] = {
    "HUGEINT": ("(1::HUGEINT), (NULL)", numbers(1, None)),
    "UBIGINT": ("(18446744073709551615::UBIGINT), (NULL)", numbers(2**64 - 1, None)),
    "DECIMAL": ("(2.5::DECIMAL(30, 5)), (NULL)", numbers(Decimal("2.5"), None)),
    "UUID": ("('00000000-0000-0000-0000-000000000005'::UUID), (NULL)", texts("0000", None)),
    "JSON": ("('7'::JSON), (NULL)", texts("7", None)),
    "BIT": ("('101'::BIT), (NULL)", others(1, 0)),
    "BLOB": ("('a'::BLOB), (NULL)", others(1, 0)),
    "ENUM": ("('a'::ENUM ('b', 'a')), (NULL)", texts("a", None)),
    "TIME": ("(TIME '01:00:00'), (NULL)", others(1, 0)),
    "INTERVAL": ("(INTERVAL 1 DAY), (NULL)", others(1, 0)),
    "TIMESTAMP, infinite": ("('infinity'::TIMESTAMP), ('-infinity')", moments(2**63, -(2**63))),
    "DATE, infinite": ("('infinity'::DATE), ('-infinity')", dates(2**31, -(2**31))),
    "UNION": ("(union_value(n := 1)), (NULL)", numbers(1, None)),
    "MAP": ("(MAP {'a': 1}), (NULL)", others(1, 0)),
    "STRUCT": ("({'a': 1}), (NULL)", others(1, 0)),
}


class _Text(str):
    """A string of a class of its own."""


class _Moment(dt.datetime):
    """A datetime of a class of its own."""


PYTHON: Final[dict[str, tuple[Any, Seen]]] = {
    "np.int64": (np.int64(1), ("number", 1)),
    "np.uint64": (np.uint64(2**64 - 1), ("number", 2**64 - 1)),
    "np.float16": (np.float16(2.5), ("number", 2.5)),
    "np.float32": (np.float32(2.5), ("number", 2.5)),
    "np.bool_": (np.bool_(True), ("boolean", True)),
    "np.str_": (np.str_("a"), ("string", "a")),
    "np.bytes_": (np.bytes_(b"a"), OTHER),
    "np.complex128": (np.complex128(1), OTHER),
    "np.datetime64 in days": (np.datetime64(1, "D"), ("date", 1)),
    "np.datetime64 in months": (np.datetime64("1970-02", "M"), ("timestamp", 31 * DAY)),
    "np.datetime64 in nanoseconds": (np.datetime64(-1, "ns"), ("timestamp", -1)),
    "np.datetime64 in attoseconds": (np.datetime64(-1, "as"), ("timestamp", -1)),
    "np.datetime64, year 20000": (np.datetime64("20000-01-01"), ("date", 6_585_322)),
    "np.datetime64, seconds beyond 64 bits of microseconds": (
        np.datetime64(2**62, "s"),
        ("timestamp", 2**62 * 10**6),
    ),
    "np.datetime64, years beyond all": (np.datetime64(-(2**62), "Y"), ("timestamp", -(2**99))),
    "np.datetime64, NaT": (np.datetime64("NaT"), None),
    "np.timedelta64": (np.timedelta64(1, "D"), OTHER),
    "pd.Timestamp": (pd.Timestamp(1999, unit="ns"), ("timestamp", 1)),
    "pd.Timestamp, year 20000": (
        pd.Timestamp(np.datetime64(YEAR_20000, "s")),
        ("timestamp", YEAR_20000 * 10**6),
    ),
    "pd.NaT": (pd.NaT, None),
    "pd.NA": (pd.NA, None),
    "pd.Timedelta": (pd.Timedelta(1, "D"), OTHER),
    "pd.Period": (pd.Period("2024-01"), OTHER),
    "a datetime of a class of its own": (_Moment(1970, 1, 2), ("timestamp", DAY)),
    "a datetime in a time zone": (dt.datetime(1970, 1, 2, 1, tzinfo=_PARIS), ("timestamp", DAY)),
    "a datetime before the year 1 in UTC": (
        dt.datetime(1, 1, 1, tzinfo=_PARIS),
        ("timestamp", -62_135_600_400_000_000),
    ),
    "a string of a class of its own": (_Text("a"), ("string", "a")),
    "half a character of a class of its own": (_Text("\ud800"), OTHER),
    "an integer beyond 64 bits": (2**70, ("number", 2**70)),
    "an integer of 39 digits": (10**38, OTHER),
    "Decimal": (Decimal("2.50"), ("number", Decimal("2.5"))),
    "Decimal of 39 digits": (Decimal(10) ** 38, OTHER),
    "Decimal('NaN')": (Decimal("NaN"), OTHER),
    "bytes": (b"a", OTHER),
    "uuid.UUID": (uuid.UUID(int=5), OTHER),
    "dt.time": (dt.time(1), OTHER),
    "dt.timedelta": (dt.timedelta(1), OTHER),
    "complex": (1j, OTHER),
    "a list": ([1], OTHER),
    "a dictionary": ({"a": 1}, OTHER),
    "an object": (object(), OTHER),
}


def by_library() -> list[tuple[str, ...]]:
    """Columns that one library has, and values that Python has: what filters see."""
    found: dict[tuple[str, str], list[str]] = {}
    own: dict[str, dict[str, list[Seen]]] = {
        "pandas": {name: seen for name, (_, seen) in PANDAS.items()},
        "Polars": {name: seen for name, (_, seen) in POLARS.items()},
        "DuckDB": {name: seen for name, (_, seen) in DUCKDB.items()},
        "Python": {name: [seen] for name, (_, seen) in PYTHON.items()},
    }
    for library, columns in own.items():
        for name, seen in columns.items():
            found.setdefault((library, families(seen)), []).append(name)
    return [(library, "; ".join(names), seen) for (library, seen), names in found.items()]
