"""Subscriptions and events at random that reach every structure of the engine, in small numbers.

The engine decides by size where a subscription is kept. Here the sizes that matter are made small
(`small_sizes`), and the filters are such as the structures are made for: keys of one or several
attributes, ranges on none, one, two or more, conditions and trees beside them, and the same again
for several subscribers. Values come from pools around the ends of their types.

Run as a script, it compares indexes of such subscriptions with scans. `test_kernels` does so with
`NUMBA_BOUNDSCHECK=1`, in which every index into an array is checked.
"""

import datetime as dt
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from random import Random
from typing import Any, Final
from unittest import mock

import numpy as np
import pyarrow as pa

import tidegate as tg
from tidegate.engine import assemble, draft, index, keys, layout
from tidegate.engine.index import Index
from tidegate.engine.scan import ScanIndex
from tidegate.engine.subscription import Id

Event = dict[str, Any]

SMALL: Final = (
    (layout, "_ENOUGH", 4),
    (layout, "_FEW", 8),
    (assemble, "_ENOUGH", 3),
    (draft, "_MANY", 3),
    (draft, "_SHARED", 1_000_000),
    (index, "_PENDING", 4),
    (index, "_FEW", 0),
    (keys, "_DENSE", 1),
    (keys, "_SMALL", 8),
)
"""Sizes from which on something is worth while, and what they are for a test."""


@contextmanager
def small_sizes() -> Iterator[None]:
    """Let a handful of subscriptions be many."""
    with ExitStack() as stack:
        for module, name, size in SMALL:
            assert hasattr(module, name)
            stack.enter_context(mock.patch.object(module, name, size))
        yield


_DAYS: Final = [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31)] + [
    dt.date(2024, 2, day) for day in range(20, 30)
]
_MOMENTS: Final = [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)] + [
    dt.datetime(2024, 2, 29, hour, 0, 0, tick) for hour in (0, 12) for tick in (0, 1, 500_000)
]
_SMALL: Final = [Decimal(i) / 4 for i in range(-8, 40)]

KINDS: Final[dict[str, tuple[pa.DataType, list[Any]]]] = {
    "bigint": (
        pa.int64(),
        [*range(-2, 12), -(2**63), 1 - 2**63, 2**63 - 2, 2**63 - 1, 2**53, 2**53 + 1, 10**18],
    ),
    "double": (
        pa.float64(),
        [*(i / 4 for i in range(-8, 40)), -0.0, 5e-324, 2.0**53, 2.0**63, 1e300, 0.1]
        + [math.inf, -math.inf, math.nan],
    ),
    "decimal(10,2)": (pa.decimal128(10, 2), [*_SMALL, Decimal("0.1"), Decimal("99999999.99")]),
    "decimal(38,20)": (
        pa.decimal128(38, 20),
        [*_SMALL, Decimal("1E-20"), Decimal("2.00000000000000000001"), Decimal(10**17) + 1]
        + [Decimal("999999999999999999.99999999999999999999"), Decimal("0.1")],
    ),
    "date": (pa.date32(), _DAYS),
    "timestamp": (pa.timestamp("us", "UTC"), [m.replace(tzinfo=dt.UTC) for m in _MOMENTS]),
    "string": (pa.string(), ["", "a", "ab", "abc", "b", "z", "é", "😀", "\0", "5", "a" * 70]),
    "boolean": (pa.bool_(), [False, True]),
}
NUMBERS: Final = ("bigint", "double", "decimal(10,2)", "decimal(38,20)")
TYPES: Final = {
    "name": "string",
    "number": "bigint",
    "day": "date",
    "x": "double",
    "y": "bigint",
    "z": "decimal(10,2)",
    "wide": "decimal(38,20)",
    "rate": "float",
    "at": "timestamp",
    "text": "string",
    "flag": "boolean",
}
KEYS: Final = ("name", "number", "day")
RANGED: Final = ("x", "y", "z", "wide", "rate", "at", "day", "number")
RANGES: Final = (
    "{0} > :{1}",
    "{0} >= :{1}",
    "{0} < :{1}",
    "{0} <= :{1}",
    "{0} >= :{1} AND {0} < :{2}",
    "{0} BETWEEN :{1} AND :{2}",
    "{0} > :{1} AND {0} <= :{2}",
)
OTHERS: Final = (
    "text LIKE 'a%'",
    "text LIKE '%b'",
    "text NOT LIKE '%b%' OR text IS NULL",
    "contains(text, 'a')",
    "text IS NULL",
    "x IS NOT NULL",
    "NOT y = 5",
    "y NOT IN (1, 2, 5)",
    "x IN (0, 1.5, 2)",
    "number IN (1, 2)",
    "NOT x > 2",
    "flag",
    "NOT flag",
    "flag IS NOT TRUE",
    "name != 'a'",
    "z <=> NULL",
    "wide > 0",
    "NOT (y > 5 AND text = 'a')",
    "(x > 1 OR name = 'a' AND y < 5)",
    "((text = 'a' OR flag) AND (x < 2 OR y > 3))",
    "NOT ((text = 'b' OR z > 2) AND day IS NULL) ",
    "((x < 2 AND y < 9) OR (x > 2 AND (flag OR name = 'b')))",
)


def kind_of(attribute: str) -> str:
    """The kind of values that an attribute has."""
    return {"float": "double"}.get(TYPES[attribute], TYPES[attribute])


class Case:
    """Subscriptions at random, under a schema or without one, and events for them."""

    def __init__(self, seed: int, typed: bool, blocks: int = 6, rows: int = 90) -> None:
        self.rng = Random(seed)
        self.schema = tg.Schema(TYPES) if typed else None
        self.size = 0
        self.blocks = [
            self._block(self.rng.randint(1, rows)) for _ in range(self.rng.randint(1, blocks))
        ]

    def _block(self, rows: int) -> tuple[str, pa.Table]:
        """A filter, and a table with its parameters."""
        rng, names = self.rng, _Names()
        parts = [f"{key} = :{names.new(key)}" for key in rng.sample(KEYS, rng.choice((0, 1, 1, 2)))]
        for attribute in rng.sample(RANGED, rng.choice((0, 0, 1, 1, 2, 2, 3))):
            if attribute in names.attributes:
                continue
            form = rng.choice(RANGES)
            own = [names.new(attribute) for _ in range(form.count(":"))]
            parts.append(form.format(attribute, *own))
        if not parts or rng.random() < 0.4:
            parts += rng.sample(OTHERS, rng.choice((1, 1, 2)))
        if rng.random() < 0.15:
            parts.append(f"(flag OR NOT x < :{names.new('x')})")
        rng.shuffle(parts)
        text = " AND ".join(f"({part})" if " OR " in part else part for part in parts)
        ids = range(self.size, self.size + rows)
        self.size += rows
        some = [rng.randrange(max(rows // 2, 1)) for _ in range(rows)]
        repeated = some if rng.random() < 0.3 else list(range(rows))
        columns = {name: self._constants(attribute, rows) for name, attribute in names.given}
        taken = {name: column.take(pa.array(repeated)) for name, column in columns.items()}
        return text, pa.table({"id": pa.array(ids, pa.int64()), **taken})

    def _constants(self, attribute: str, rows: int) -> pa.Array:
        """Constants that predicates on an attribute may have."""
        kind = kind_of(attribute)
        if kind in NUMBERS and (self.schema is None or kind != "bigint"):
            kind = self.rng.choice((kind, kind, *NUMBERS[: 2 if self.schema else 4]))
        arrow, pool = KINDS[kind]
        values = [self.rng.choice(pool) for _ in range(rows)]
        if self.rng.random() < 0.1:
            values[self.rng.randrange(rows)] = None
        return pa.array(values, arrow)

    def add_to(self, *indexes: Index | ScanIndex) -> None:
        """Add all subscriptions."""
        for each in indexes:
            for text, table in self.blocks:
                each.add_many(table, filter=text)

    def events(self, size: int) -> list[Event]:
        """Events whose values are of their attribute's kind, or, seldom, of any other."""
        return [
            {
                name: self._value(kind_of(name))
                for name in TYPES
                if self.rng.random() < 0.9
            }
            for _ in range(size)
        ]  # fmt: skip

    def _value(self, kind: str) -> Any:
        rng = self.rng
        if rng.random() < 0.1:
            return None
        if kind in NUMBERS and rng.random() < 0.3:
            kind = rng.choice(NUMBERS)
        if rng.random() < 0.03:
            kind = rng.choice(list(KINDS))
        return rng.choice(KINDS[kind][1])

    def table(self, size: int) -> pa.Table:
        """Events as an Arrow table, in which a column has one type, or is missing."""
        columns: dict[str, pa.Array] = {}
        for name in TYPES:
            kind = kind_of(name)
            if kind in NUMBERS and self.rng.random() < 0.3:
                kind = self.rng.choice(NUMBERS)
            arrow, pool = KINDS[kind]
            chance = self.rng.random()
            if chance < 0.05:
                columns[name] = pa.nulls(size, arrow)
            elif chance < 0.95:
                nulls = self.rng.choice((0, 0.1))
                values = [
                    None if self.rng.random() < nulls else self.rng.choice(pool)
                    for _ in range(size)
                ]
                columns[name] = pa.array(values, arrow)
        return pa.table(columns or {"nobody": pa.nulls(size)})


class _Names:
    """The parameters of a filter, and the attributes that they are compared with."""

    def __init__(self) -> None:
        self.given: list[tuple[str, str]] = []

    @property
    def attributes(self) -> set[str]:
        return {attribute for _, attribute in self.given}

    def new(self, attribute: str) -> str:
        self.given.append((f"p{len(self.given)}", attribute))
        return self.given[-1][0]


def pairs(found: pa.Table) -> list[tuple[int, Id]]:
    """The pairs of a result, sorted."""
    return sorted(zip(*[column.to_pylist() for column in found.columns], strict=True))


def compare(tried: Index, scan: ScanIndex, events: Sequence[Event], batch: Any) -> None:
    """The index says about the batch, all of it and event by event, what the scan says."""
    expected = pairs(scan.match_batch(events))
    counts = np.bincount([row for row, _ in expected], minlength=len(events)).tolist()
    assert pairs(tried.match_batch(batch)) == expected
    assert tried.count_batch(batch).tolist() == counts
    single = [(row, id) for row, event in enumerate(events) for id in tried.match(event)]
    assert sorted(single) == expected


def compare_all(case: Case, sizes: Sequence[int]) -> set[str]:
    """Compare while subscriptions come and go; which structures there were."""
    rng = case.rng
    tried, scan = Index(case.schema), ScanIndex(case.schema)
    case.add_to(tried, scan)
    structures: set[str] = set()
    for step in range(3):
        for size in sizes:
            table = case.table(size)
            compare(tried, scan, table.to_pylist(), table)
            events = case.events(size)
            compare(tried, scan, events, events)
        structures |= {each.name for each in tried.describe().structures}
        if step == 0 and len(scan) > 1:
            leaving = rng.sample(range(case.size), rng.randint(1, case.size - 1))
            tried.remove_many(leaving)
            scan.remove_many(leaving)
        tried.flush() if step else None
    return structures


if __name__ == "__main__":
    with small_sizes():
        for number in map(int, sys.argv[1:]):
            print(sorted(compare_all(Case(number, number % 2 == 0), (0, 1, 63, 513))))
