"""What our figures are compared with, written as plainly as the idea allows.

Those that match take the arrays of `tidegate.lab`'s workloads and give their matches as `Pairs`.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from tidegate.lab.workloads.matching import Integers, Points, Ranges, Shape, Trees

    Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]  # the rows of events, and of subscriptions

WORD = 64


def covers_by_predicates(f: dict[str, tuple[str, int]], g: dict[str, tuple[str, int]]) -> bool:
    """Covering as the field's systems test it: predicate by predicate, one per attribute.

    f and g map attributes to (operator, integer). Sound and complete for this form only.
    """
    for attribute, wide in f.items():
        narrow = g.get(attribute)
        if narrow is None or not _predicate_covers(wide, narrow):
            return False
    return True


def _predicate_covers(wide: tuple[str, int], narrow: tuple[str, int]) -> bool:
    (operator, value), (other, constant) = wide, narrow
    if operator == "=":
        return other == "=" and value == constant
    if operator in ("<", "<="):
        if other not in ("=", "<", "<="):
            return False
        largest = constant - 1 if other == "<" else constant
        return largest <= (value - 1 if operator == "<" else value)
    if other not in ("=", ">", ">="):
        return False
    smallest = constant + 1 if other == ">" else constant
    return smallest >= (value + 1 if operator == ">" else value)


class NegativeSpace:
    """The exact algorithm of Jafarpour et al. (2008), Fig. 4 and 6, with a vectorised scan.

    The part of the domain that no subscription covers is kept as disjoint rectangles; a
    subscription is subsumed if it meets none of them, and is cut out of those it meets.
    """

    def __init__(self, dimensions: int, low: int, high: int) -> None:
        self._room = 1024
        self._lows = np.empty((self._room, dimensions), np.int16)
        self._highs = np.empty((self._room, dimensions), np.int16)
        self._lows[0], self._highs[0] = low, high
        self.count = 1

    def add(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> bool:
        """Whether the subscription is subsumed; if not, it is subtracted."""
        lows, highs = self._lows[: self.count], self._highs[: self.count]
        met = (lows[:, 0] <= high[0]) & (highs[:, 0] >= low[0])
        for k in range(1, lows.shape[1]):
            met &= (lows[:, k] <= high[k]) & (highs[:, k] >= low[k])
        hits = np.flatnonzero(met)
        if not len(hits):
            return True
        self._replace(hits, *self._pieces(lows[hits], highs[hits], low, high))
        return False

    def _pieces(
        self,
        lows: NDArray[np.int16],
        highs: NDArray[np.int16],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """What is left of the rectangles without the subscription, one dimension after another."""
        left_lows, left_highs = [], []
        lows, highs = lows.copy(), highs.copy()
        for k in range(lows.shape[1]):
            below = lows[:, k] < low[k]
            piece_lows, piece_highs = lows[below], highs[below].copy()
            piece_highs[:, k] = low[k] - 1
            above = highs[:, k] > high[k]
            upper_lows, upper_highs = lows[above].copy(), highs[above]
            upper_lows[:, k] = high[k] + 1
            left_lows += [piece_lows, upper_lows]
            left_highs += [piece_highs, upper_highs]
            lows[:, k] = np.maximum(lows[:, k], low[k])
            highs[:, k] = np.minimum(highs[:, k], high[k])
        return np.concatenate(left_lows), np.concatenate(left_highs)

    def _replace(
        self, hits: NDArray[np.intp], lows: NDArray[np.int16], highs: NDArray[np.int16]
    ) -> None:
        """Put the new rectangles where the cut ones were, and the rest behind."""
        while self.count + len(lows) > self._room:
            self._room *= 2
            self._lows = np.resize(self._lows, (self._room, self._lows.shape[1]))
            self._highs = np.resize(self._highs, (self._room, self._highs.shape[1]))
        reused = min(len(hits), len(lows))
        self._lows[hits[:reused]], self._highs[hits[:reused]] = lows[:reused], highs[:reused]
        extra = len(lows) - reused
        end = self.count + extra
        self._lows[self.count : end] = lows[reused:]
        self._highs[self.count : end] = highs[reused:]
        self.count = end
        for hole in hits[reused:][::-1]:
            self.count -= 1
            self._lows[hole] = self._lows[self.count]
            self._highs[hole] = self._highs[self.count]


class BruteForce:
    """Every subscription is tried with NumPy: one attribute after another, one event at a time.

    All lows of an attribute lie in one array of the narrowest type, so do all highs, and the masks
    are made in place. Without the `needless`, ends that no event can miss are left out, and where
    lows and highs are the same, they are asked about once.
    """

    def __init__(self, ranges: Ranges, *, needless: bool = True) -> None:
        self.size = len(next(iter(ranges.values()))[0])
        checks = _checks if needless else _needed_checks
        self._checks = [check for name, ends in ranges.items() for check in checks(name, *ends)]
        self._mask = np.empty(self.size, np.bool_)
        self._met = np.empty(self.size, np.bool_)

    def match(self, points: Points, event: int) -> NDArray[np.int64]:
        """The rows of the subscriptions that want the event."""
        return np.flatnonzero(self._wanted(points, event))

    def matches(self, points: Points) -> list[NDArray[np.int64]]:
        """The rows for each event."""
        return [self.match(points, event) for event in range(_size(points))]

    def counts(self, points: Points) -> list[int]:
        """How many subscriptions want each event."""
        events = range(_size(points))
        return [int(np.count_nonzero(self._wanted(points, event))) for event in events]

    def pairs(self, points: Points) -> Pairs:
        """All matches."""
        found = self.matches(points)
        return np.repeat(np.arange(len(found)), [len(rows) for rows in found]), np.concatenate(
            found
        )

    def _wanted(self, points: Points, event: int) -> NDArray[np.bool_]:
        mask, met = self._mask, self._met
        (name, compare, ends), *others = self._checks
        compare(ends, points[name][event], out=mask)
        for name, compare, ends in others:
            compare(ends, points[name][event], out=met)
            np.bitwise_and(mask, met, out=mask)
        return mask


def _size(points: Points) -> int:
    return len(next(iter(points.values())))


def _checks(name: str, lows: Integers, highs: Integers) -> list[tuple[str, np.ufunc, Integers]]:
    """What an event's value is compared with, and how."""
    return [(name, np.less_equal, lows), (name, np.greater_equal, highs)]


def _needed_checks(
    name: str, lows: Integers, highs: Integers
) -> list[tuple[str, np.ufunc, Integers]]:
    """The same, as far as an event can fail them."""
    if np.array_equal(lows, highs):
        return [(name, np.equal, lows)]
    least, greatest = np.iinfo(lows.dtype).min, np.iinfo(highs.dtype).max
    checks: list[tuple[str, np.ufunc, Integers]] = []
    if (lows > least).any():
        checks.append((name, np.less_equal, lows))
    if (highs < greatest).any():
        checks.append((name, np.greater_equal, highs))
    return checks


class TreeScan:
    """Every tree is tried with NumPy: all trees of one shape together, 64 events at a time.

    Which predicates hold is worked out once; an event is one bit of a word, so that AND and OR of
    words are those of the leaves for all 64 events.
    """

    def __init__(self, workload: Trees) -> None:
        self._workload = workload
        shapes = sorted(set(workload.shapes), key=str)
        place = np.array([shapes.index(shape) for shape in workload.shapes])[workload.chosen]
        self._order = np.argsort(place, kind="stable")
        ends = np.searchsorted(place[self._order], np.arange(len(shapes) + 1)).tolist()
        self._groups: list[tuple[Shape, slice, NDArray[np.int32]]] = []
        for shape, start, end in zip(shapes, ends, ends[1:], strict=False):
            leaves = np.ascontiguousarray(workload.leaves[self._order[start:end]].T)
            self._groups.append((shape, slice(start, end), leaves))

    def matches(self, points: Points) -> list[Pairs]:
        """The matches of each 64 events."""
        found = []
        for first, bits in self._blocks(points):
            places = np.flatnonzero(bits)
            found.append((first + places % WORD, self._order[places // WORD]))
        return found

    def pairs(self, points: Points) -> Pairs:
        """All matches."""
        events, rows = zip(*self.matches(points), strict=True)
        return np.concatenate(events), np.concatenate(rows)

    def counts(self, points: Points) -> NDArray[np.int64]:
        """How many trees want each event."""
        counts = [bits.reshape(-1, WORD).sum(axis=0) for _, bits in self._blocks(points)]
        return np.concatenate(counts)[: _size(points)]

    def _blocks(self, points: Points) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """The first of 64 events, and for each tree 64 bits."""
        held = self._workload.pool.truth(points)
        for first in range(0, held.shape[1], WORD):
            block = held[:, first : first + WORD]
            bits = np.zeros((len(held), WORD), np.bool_)
            bits[:, : block.shape[1]] = block
            words = np.packbits(bits, axis=1, bitorder="little").view(np.uint64).ravel()
            wanted = np.empty(len(self._order), np.uint64)
            for shape, group, leaves in self._groups:
                wanted[group] = _evaluate(shape, leaves, words, np.bitwise_and, np.bitwise_or)
            yield first, np.unpackbits(wanted.view(np.uint8), bitorder="little")


def _evaluate(
    shape: Shape,
    leaves: NDArray[np.int32],
    words: NDArray[np.uint64],
    join: np.ufunc,
    other: np.ufunc,
) -> NDArray[np.uint64]:
    if isinstance(shape, int):
        leaf: NDArray[np.uint64] = words[leaves[shape]]
        return leaf
    first, *rest = (_evaluate(part, leaves, words, other, join) for part in shape)
    for part in rest:
        join(first, part, out=first)
    return first


class DuckJoin:
    """A join of the ranges with the events in DuckDB.

    With an equality, it joins by that, and is fastest if the subscriptions are stored in its order.
    Without one, left to itself, it sorts for one of the ranges and tries the others on what that
    leaves, which takes twice as long as trying all: a disjunct that never holds hides them from it.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, ranges: Ranges) -> None:
        self._connection = connection
        connection.execute("SET threads = 1")
        same, within = _conditions(ranges)
        subscriptions = _subscriptions(ranges)
        if same:
            order = [(f"{name}_low", "ascending") for name in ranges]
            self._load("subscriptions", subscriptions.sort_by(order))
            where = f"JOIN subscriptions ON {same} WHERE {within}"
        else:
            self._load("subscriptions", subscriptions)
            where = f"CROSS JOIN subscriptions WHERE ({within}) OR event + id < 0"
        self._query = f"SELECT event, id FROM events {where}"

    def pairs(self, points: Points) -> Pairs:
        """All matches."""
        self._load("events", _events(points))
        return _pairs(self._connection.sql(self._query).to_arrow_table())

    def _load(self, name: str, table: pa.Table) -> None:
        """Copy a table into DuckDB."""
        self._connection.register("given", table)
        self._connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM given")
        self._connection.unregister("given")


class SparkJoin:
    """A join of the ranges with the events in Spark SQL, the events broadcast.

    Without an equality it is a nested loop, compiled; broadcasting the subscriptions is slower.
    """

    def __init__(self, spark: SparkSession, ranges: Ranges, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._load("subscriptions", _subscriptions(ranges))
        same, within = _conditions(ranges)
        condition = f"{same} AND {within}" if same else within
        self._query = (
            "SELECT /*+ BROADCAST(events) */ event, id "
            f"FROM subscriptions JOIN events ON {condition}"
        )

    def prepare(self, points: Points) -> DataFrame:
        """The matches, to be asked for."""
        self._load("events", _events(points))
        return self._spark.sql(self._query)

    def pairs(self, points: Points) -> Pairs:
        """All matches."""
        return _pairs(self.prepare(points).toArrow())

    def _load(self, name: str, table: pa.Table) -> None:
        """Put a table into Spark's memory."""
        path = self._folder / f"{name}.parquet"
        pq.write_table(table, path)
        frame = self._spark.read.parquet(str(path)).coalesce(1).localCheckpoint()
        frame.createOrReplaceTempView(name)


def _conditions(ranges: Ranges) -> tuple[str, str]:
    """The equalities and the ranges, as SQL."""
    equal = [name for name, (lows, highs) in ranges.items() if np.array_equal(lows, highs)]
    same = [f"{name} = {name}_low" for name in equal]
    within = [f"{name} BETWEEN {name}_low AND {name}_high" for name in ranges if name not in equal]
    return " AND ".join(same), " AND ".join(within)


def _subscriptions(ranges: Ranges) -> pa.Table:
    size = len(next(iter(ranges.values()))[0])
    columns: dict[str, Any] = {"id": pa.array(np.arange(size, dtype=np.int32))}
    for name, (lows, highs) in ranges.items():
        columns[f"{name}_low"], columns[f"{name}_high"] = _signed(lows), _signed(highs)
    return pa.table(columns)


def _events(points: Points) -> pa.Table:
    columns: dict[str, Any] = {"event": pa.array(np.arange(_size(points), dtype=np.int32))}
    return pa.table(columns | {name: _signed(values) for name, values in points.items()})


def _signed(values: Integers) -> pa.Array:
    """In the narrowest type that Spark has."""
    if values.dtype.kind == "u":
        return pa.array(values.astype(f"i{2 * values.dtype.itemsize}"))
    return pa.array(values)


def _pairs(table: pa.Table) -> Pairs:
    return table["event"].to_numpy().astype(np.int64), table["id"].to_numpy().astype(np.int64)


def one_core_spark() -> AbstractContextManager[SparkSession]:
    """Spark with one core."""
    return spark_session(1)


@contextmanager
def spark_session(cores: int) -> Iterator[SparkSession]:
    """Spark with so many cores."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.ansi.enabled": "true",
        "spark.sql.caseSensitive": "true",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName("tidegate-bench")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()


def pairs_of(table: pa.Table) -> Pairs:
    """The matches of an index: its ids are rows of the workload, or texts that end in them."""
    rows = [np.zeros(0, np.int64)]
    for chunk in table["subscription"].chunks:
        ids = chunk.dictionary_decode()
        if pa.types.is_string(ids.type):
            ids = pc.utf8_slice_codeunits(ids, len("rule-")).cast(pa.int64())
        rows.append(ids.to_numpy())
    return table["event"].to_numpy().astype(np.int64), np.concatenate(rows)


def assert_same(found: Pairs, expected: Pairs) -> None:
    """Fail unless the matches are the same, in whatever order."""
    assert np.array_equal(_sorted(found), _sorted(expected))


def _sorted(pairs: Pairs) -> NDArray[np.int64]:
    events, rows = pairs
    return np.sort((events << 32) + rows)
