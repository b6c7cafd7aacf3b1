"""Subscriptions and events at random that reach every structure of the engine, in small numbers.

The engine decides by size where a subscription is kept. Here the sizes that matter are made small
(`small_sizes`), and the filters are such as the structures are made for: keys of one or several
attributes, ranges on none, one, two or more, conditions and trees beside them, and the same again
for several subscribers. Values come from pools around the ends of their types.

Run as a script, it compares indexes of such subscriptions with scans. `test_kernels` does so with
`NUMBA_BOUNDSCHECK=1`, under which every index into an array is checked.
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
from numba import njit
from numpy.typing import NDArray

import tidegate as tg
from tidegate.engine import index
from tidegate.engine.changes import merger
from tidegate.engine.compile import assemble, clauses, compiler, layout, own_ranges, shared_entries
from tidegate.engine.compile.draft import Drafter
from tidegate.engine.conditions import key_table, selectivity
from tidegate.engine.events.batch import Batch
from tidegate.engine.events.encoded_batch import EncodedBatch
from tidegate.engine.index import Index
from tidegate.engine.primitives import id_table, vector
from tidegate.engine.scan import ScanIndex
from tidegate.engine.segments.segment import Segment
from tidegate.engine.single import wide_zones
from tidegate.engine.subscriptions.originals import Originals
from tidegate.engine.subscriptions.subscription import Block, Id
from tidegate.engine.subscriptions.table_reader import read_table

Event = dict[str, Any]
Pairs = list[tuple[int, Id]]

SMALL: Final = (
    (layout, "_ENTRIES_WORTH_A_KEY", 4),
    (layout, "_ENTRIES_WORTH_A_SWEEP", 4),
    (clauses, "_FEWEST_OF_A_BLOCK", 2),
    (id_table, "_IDS_IN_A_DICTIONARY", 2),
    (selectivity, "_FEWEST_CONDITIONS_GUESSED", 8),
    (assemble, "_FEWEST_OF_A_HEAD", 3),
    (own_ranges, "_RANGES_SHARED", 3),
    (own_ranges, "_SHARED", (1_000_000, 1_000_000)),
    (shared_entries, "_SUBSCRIBERS_APART", 1),
    (merger, "_PENDING", 4),
    (merger, "_AT_ONCE", 4),
    (index, "_PENDING_ONE_BY_ONE", 0),
    (key_table, "_CODES_PER_GROUP", 1),
    (key_table, "_SMALL_TABLE", 8),
    (wide_zones, "_ENTRIES_WORTH_BIT_MAPS", 4),
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


_QUARTERS: Final = [Decimal(i) / 4 for i in range(-8, 40)]
_DAYS: Final = [dt.date(2024, 2, day) for day in range(20, 30)]
_MOMENTS: Final = [
    *(dt.datetime(1, 1, 1), dt.datetime(2024, 2, 29), dt.datetime(2024, 2, 29, 0, 0, 0, 1)),
    *(dt.datetime(2024, 2, 29, 12), dt.datetime(2024, 2, 29, 12, 0, 0, 500_000)),
    *(dt.datetime(2024, 2, 25), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)),
]

KINDS: Final[dict[str, tuple[pa.DataType, list[Any]]]] = {
    "bigint": (
        pa.int64(),
        [*range(-2, 12), -(2**63), 1 - 2**63, 2**63 - 2, 2**63 - 1, 2**53, 2**53 + 1, 10**18],
    ),
    "double": (
        pa.float64(),
        [
            *(i / 4 for i in range(-8, 40)),
            *(-0.0, 5e-324, 0.1, 2.0**53, 2.0**63, 1e300, math.inf, -math.inf, math.nan),
        ],
    ),
    "decimal(10,2)": (pa.decimal128(10, 2), [*_QUARTERS, Decimal("0.1"), Decimal("99999999.99")]),
    "decimal(38,20)": (
        pa.decimal128(38, 20),
        [
            *(*_QUARTERS, Decimal("0.1"), Decimal("1E-20"), Decimal("2.00000000000000000001")),
            *(Decimal(10**17) + 1, Decimal("999999999999999999.99999999999999999999")),
        ],
    ),
    "date": (pa.date32(), [*_DAYS, dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)]),
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
    "(text NOT LIKE '%b%' OR text IS NULL)",
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
    "NOT ((text = 'b' OR z > 2) AND day IS NULL)",
    "((x < 2 AND y < 9) OR (x > 2 AND (flag OR name = 'b')))",
)


def kind_of(attribute: str) -> str:
    """The kind of values that an attribute has."""
    return "double" if TYPES[attribute] == "float" else TYPES[attribute]


class Case:
    """Subscriptions at random, under a schema or without one, and events for them."""

    def __init__(self, seed: int, blocks: int = 6, rows: int = 90) -> None:
        self.rng = Random(seed)
        self.schema = tg.Schema(TYPES) if seed % 2 else None
        self.size = 0
        self.blocks = [self._block(self.rng.randint(1, rows)) for _ in range(blocks)]

    def _block(self, rows: int) -> tuple[str, pa.Table]:
        """A filter, and a table with its parameters."""
        rng, given = self.rng, dict[str, str]()

        def new(attribute: str) -> str:
            given[f"p{len(given)}"] = attribute
            return f"p{len(given) - 1}"

        keyed = rng.sample(KEYS, rng.choice((0, 1, 1, 2)))
        parts = [f"{attribute} = :{new(attribute)}" for attribute in keyed]
        for attribute in rng.sample(RANGED, rng.choice((0, 0, 1, 1, 2, 2, 3))):
            if attribute not in keyed:
                form = rng.choice(RANGES)
                parts.append(form.format(attribute, *[new(attribute) for _ in range(2)]))
        if not parts or rng.random() < 0.4:
            parts += rng.sample(OTHERS, rng.choice((1, 1, 2)))
        if rng.random() < 0.15:
            parts.append(f"(flag OR NOT x < :{new('x')})")
        rng.shuffle(parts)
        text = " AND ".join(parts)
        columns = {
            name: self._constants(attribute, rows)
            for name, attribute in given.items()
            if f":{name}" in text
        }
        if rng.random() < 0.3:  # several subscribers
            again = pa.array([rng.randrange(max(rows // 2, 1)) for _ in range(rows)])
            columns = {name: column.take(again) for name, column in columns.items()}
        ids = pa.array(range(self.size, self.size + rows), pa.int64())
        self.size += rows
        return text, pa.table({"id": ids, **columns})

    def _constants(self, attribute: str, rows: int) -> pa.Array:
        """Constants that a predicate on the attribute may have."""
        kind = kind_of(attribute)
        if kind in NUMBERS:
            kind = self.rng.choice((kind, kind, kind, *NUMBERS))
        arrow, pool = KINDS[kind]
        values = [self.rng.choice(pool) for _ in range(rows)]
        if self.rng.random() < 0.1:
            values[self.rng.randrange(rows)] = None
        return pa.array(values, arrow)

    def add_to(self, *indexes: Index | ScanIndex) -> None:
        """Add all subscriptions, but for blocks with constants that all of the indexes refuse."""
        for text, table in self.blocks:
            refused = []
            for each in indexes:
                try:
                    each.add_many(table, filter=text)
                except tg.FilterTypeError:
                    refused.append(each)
            assert len(refused) in (0, len(indexes))

    def compiled(self) -> Segment:
        """All subscriptions that are not refused, in one segment."""
        drafter = Drafter(self.schema)
        blocks: list[Block] = []
        for text, table in self.blocks:
            try:
                blocks += read_table(table, text, self.schema)[0]
            except tg.FilterTypeError:
                continue
        for block in blocks:
            drafter.add_block(block)
        ids = pa.concat_arrays([block.ids for block in blocks])
        return compiler.build(drafter.finish(), ids, Originals.of(blocks, []))[0]

    def encoded(self, batch: Any) -> EncodedBatch:
        """A batch as structures take it."""
        return EncodedBatch(Batch(batch, self.schema))

    def events(self, size: int) -> list[Event]:
        """Events whose values are of their attribute's kind, or, seldom, of any other."""
        chance = self.rng.random
        return [
            {name: self._value(kind_of(name)) for name in TYPES if chance() < 0.95}
            for _ in range(size)
        ]

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
        rng = self.rng
        columns: dict[str, pa.Array] = {}
        for name in TYPES:
            kind = kind_of(name)
            if kind in NUMBERS and rng.random() < 0.3:
                kind = rng.choice(NUMBERS)
            arrow, pool = KINDS[kind]
            chance, nulls = rng.random(), rng.choice((0, 0, 0.1))
            if chance < 0.05:
                columns[name] = pa.nulls(size, arrow)
            elif chance < 0.95:
                values = [None if rng.random() < nulls else rng.choice(pool) for _ in range(size)]
                columns[name] = pa.array(values, arrow)
        return pa.table(columns or {"nobody": pa.nulls(size)})


def pairs(found: pa.Table) -> Pairs:
    """The pairs of a result, sorted."""
    return sorted(zip(*[column.to_pylist() for column in found.columns], strict=True))


class Comparison:
    """An index and a scan of the same subscriptions."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.tried, self.scan = Index(case.schema), ScanIndex(case.schema)
        case.add_to(self.tried, self.scan)

    def match(self, sizes: Sequence[int], singles: int) -> None:
        """Both say the same of tables and lists of these sizes, and of some single events."""
        table = self._case.table(max(sizes))
        events = self._case.events(max(sizes))
        for whole, batch in ((table.to_pylist(), table), (events, events)):
            expected = pairs(self.scan.match_batch(whole))
            for size in sizes:
                here = batch[:size] if isinstance(batch, list) else batch.slice(0, size)
                found = [pair for pair in expected if pair[0] < size]
                assert pairs(self.tried.match_batch(here)) == found
                assert self.tried.count_batch(here).tolist() == _counts(found, size)
            alone = [(i, id) for i, e in enumerate(whole[:singles]) for id in self.tried.match(e)]
            assert sorted(alone) == [pair for pair in expected if pair[0] < singles]

    def remove_some(self) -> None:
        """Take some subscriptions away from both."""
        rng = self._case.rng
        there = [id for id in range(self._case.size) if id in self.scan]
        leaving = rng.sample(there, rng.randint(0, len(there)))
        self.tried.remove_many(leaving)
        self.scan.remove_many(leaving)

    @property
    def structures(self) -> set[str]:
        """What holds subscriptions, with the number of its key's attributes; and how far swept."""
        segments = [live.segment for live in self.tried._content.lives]
        sweeps = [sweep for segment in segments for sweep in segment.sweeps]
        found = {f"sweeps on {len(sweep.attributes)}" for sweep in sweeps}
        if any(wide for segment in segments for _, wide in segment.single._rows.partitions):
            found.add("wide zones")
        for each in self.tried.describe().structures:
            if each.subscriptions:
                name, _, key = each.name.partition(" (")
                found.add(f"{name} of {key.count(',') + 1}" if key else name)
        return found


def _counts(found: Pairs, size: int) -> list[int]:
    counts: list[int] = np.bincount([row for row, _ in found], minlength=size).tolist()
    return counts


@njit
def _past_the_end(array: NDArray[np.int64]) -> int:
    return int(array[len(array)])


def main(seeds: Sequence[int]) -> None:
    """Compare as `test_kernels` wants it, in a build that checks bounds."""
    assert all(getattr(vector, name) is form for name, form in vector.PLAIN.items())
    try:
        _past_the_end(np.zeros(3, np.int64))  # type: ignore[type-var]
    except IndexError:
        pass
    else:
        raise AssertionError("this build does not check bounds")
    structures: set[str] = set()
    with small_sizes():
        for seed in seeds:
            both = Comparison(Case(seed))
            both.match((0, 1, 63, 64, 65), singles=20)
            structures |= both.structures
            both.remove_some()
            both.match((511, 512, 513, 1025), singles=5)
            both.tried.flush()
            both.match((7,), singles=7)
    print(*sorted(structures), sep="\n")


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]])
