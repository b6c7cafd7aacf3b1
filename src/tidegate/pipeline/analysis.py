"""What do the subscriptions of a store look like?

How many are **duplicates** of others, **covered** by one other, **subsumed** by several together,
**mergeable** with others, **never** or nearly **always** matching, or **expensive**; as Spark jobs,
so that it works for millions:

1. Each subscription is read (`meanings`): which meaning has it, which cells does it touch, where
   could it be merged? The cells come from a sample (`cells`).
2. Subscriptions of one meaning become one filter.
3. Filters are compared cell by cell (`redundancy`), a cell in one task; nobody compares all pairs.
4. Those that nobody covers are looked through for mergers, file by file (`mergers`).
5. Given events, an index says how often each subscription is matched (`popularity`).

What comes out is an `Analysis`: counts, examples and distributions, small however large the store.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from tidegate.algebra.distribution import Distribution, probability
from tidegate.algebra.express import constants
from tidegate.algebra.normal import boxes
from tidegate.errors import MeasureError, TidegateError
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.pipeline import reading
from tidegate.pipeline.cells import Cells
from tidegate.pipeline.findings import Analysis, shortened
from tidegate.pipeline.meanings import meaning, read
from tidegate.pipeline.mergers import Member, Place, mergers, places
from tidegate.pipeline.popularity import popularity
from tidegate.pipeline.redundancy import examine
from tidegate.pipeline.store import Store
from tidegate.pipeline.summing import ALWAYS, LONG, NEVER, PLAIN, REFUSED, Summing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches: TypeAlias = Iterator[pa.RecordBatch]
Tell: TypeAlias = Callable[[str], None]

CELL: Final = 10_000
"""Filters that a cell has about."""

_SAMPLE: Final = 20_000  # subscriptions from which cells are made
_TASKS: Final = 256  # at most
_TASK: Final = 25_000  # subscriptions that are worth one
_BATCH: Final = 5_000  # rows that a task hands back at a time

_READ: Final = (
    "id string, filter string, parameters map<string,string>, meaning binary, kind string, "
    "reason string, size int, chance double, texts boolean, attributes array<string>, "
    "cells array<int>, places array<struct<file: binary, start: binary, stop: binary>>"
)
_READ_ARROW: Final = pa.schema(
    {
        "id": pa.string(),
        "filter": pa.string(),
        "parameters": pa.map_(pa.string(), pa.string()),
        "meaning": pa.binary(),
        "kind": pa.string(),
        "reason": pa.string(),
        "size": pa.int32(),
        "chance": pa.float64(),
        "texts": pa.bool_(),
        "attributes": pa.list_(pa.string()),
        "cells": pa.list_(pa.int32()),
        "places": pa.list_(
            pa.struct({"file": pa.binary(), "start": pa.binary(), "stop": pa.binary()})
        ),
    }
)
_FOUND: Final = {
    "meaning": pa.binary(),
    "coverer": pa.string(),
    "same": pa.string(),
    "subsumed": pa.bool_(),
    "by": pa.list_(pa.string()),
}
_MERGED: Final = {
    "file": pa.binary(),
    "first": pa.string(),
    "merger": pa.string(),
    "leader": pa.string(),
    "place": pa.int32(),
}


def analyse(
    spark: "SparkSession",
    store: Store,
    *,
    version: int | None = None,
    events: "DataFrame | None" = None,
    distribution: Distribution | None = None,
    almost: float = 0.9,
    cell: int = CELL,
    tell: Tell = lambda text: None,
) -> Analysis:
    """Look through the subscriptions of a version of a store.

    With `events`, how often each subscription matches is counted; with a `distribution` instead,
    it is what the distribution expects. Without either, what needs it is left out. A subscription
    that matches a share of `almost` of the events or more matches almost everything. `cell` is how
    many filters are compared in one task; `tell` hears what is being done.
    """
    return _Work(spark, store, version, events, distribution, almost, cell, tell).run()


class _Work:
    """One analysis, on the driver: which jobs there are, and what comes of them."""

    def __init__(
        self,
        spark: "SparkSession",
        store: Store,
        version: int | None,
        events: "DataFrame | None",
        distribution: Distribution | None,
        almost: float,
        cell: int,
        tell: Tell,
    ) -> None:
        self._spark, self._store = spark, store
        self._version = store.version() if version is None else version
        self._events, self._distribution = events, distribution
        self._almost, self._cell, self._tell = almost, cell, tell
        self._schema = store.schema
        if self._schema is None and events is not None:
            self._schema = Schema(events.schema)
        self._held: list[DataFrame] = []
        self._seconds: dict[str, float] = {}

    def run(self) -> Analysis:
        """Do it."""
        try:
            return self._run()
        finally:
            for frame in self._held:
                frame.unpersist()

    def _run(self) -> Analysis:
        with self._step("reading"):
            rows = self._rows()
            total = rows.count()
            cells = self._cells(rows, total)
            every = self._kept(
                rows.mapInArrow(_Read(self._schema, cells, self._distribution), _READ)
            )
            every.count()
        with self._step("finding duplicates"):
            distinct = self._kept(_distinct(every))
            distinct.count()
        with self._step("comparing"):
            facts = self._kept(self._compared(distinct, cells))
            facts.count()
        with self._step("merging"):
            merged = self._kept(self._merged(facts))
            merged.count()
        with self._step("counting matches"):
            rated, seen, structures = self._rated(every)
        with self._step("summing up"):
            summing = Summing(self._schema, every, facts, merged)
            return Analysis(
                store=self._store.path,
                version=self._version,
                subscriptions=total,
                filters=summing.filters(),
                duplicate=summing.duplicate(),
                covered=summing.covered(),
                subsumed=summing.subsumed(),
                mergeable=summing.mergeable(),
                never=summing.of_kind(NEVER),
                refused=summing.of_kind(REFUSED),
                always=summing.of_kind(ALWAYS),
                **summing.rated(rated, seen, self._almost, structures),
                texts=summing.texts(),
                long=summing.long(),
                coverers=summing.coverers(),
                group_sizes=summing.group_sizes(),
                attributes=summing.attributes(),
                cells=len(cells),
                seconds=self._seconds,
            )

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        self._tell(name)
        start = time.monotonic()
        yield
        self._seconds[name] = round(time.monotonic() - start, 2)

    def _kept(self, frame: "DataFrame") -> "DataFrame":
        """A frame that several jobs read, on the disks of those who made it."""
        from pyspark import StorageLevel

        self._held.append(frame.persist(StorageLevel.DISK_ONLY))
        return self._held[-1]

    def _tasks(self) -> int:
        """Into how many tasks work on all subscriptions is parted."""
        commits = self._store.history()
        most = sum(each.added for each in commits if each.version <= self._version)
        return max(1, min(_TASKS, most // _TASK))

    def _rows(self) -> "DataFrame":
        """The subscriptions, spread over enough tasks."""
        columns = ["id", "filter", "parameters"]
        if not self._store.files(self._version):
            empty = "id string, filter string, parameters map<string,string>"
            return self._spark.createDataFrame([], empty)
        rows = reading.state(self._spark, self._store, self._version).select(*columns)
        return self._kept(rows.repartition(self._tasks()))

    def _cells(self, rows: "DataFrame", total: int) -> Cells:
        share = min(1.0, 1.2 * _SAMPLE / max(1, total))
        some = rows.select("filter", "parameters")
        if share < 1.0:
            some = some.sample(fraction=share, seed=1).limit(_SAMPLE)
        sample: list[Filter] = []
        for row in some.collect():
            try:
                f = read(row["filter"], (row["parameters"] or {}).items(), self._schema)
                if boxes(f) and f.form is not True:
                    sample.append(f)
            except TidegateError:
                continue
        return Cells.grown(sample, total, self._cell, self._schema)

    def _compared(self, distinct: "DataFrame", cells: Cells) -> "DataFrame":
        """The distinct filters, with what comparing them found."""
        from pyspark.sql import functions as sql

        tasks = min(_TASKS, len(cells))
        inside = (
            distinct.where(f"kind = '{PLAIN}'")
            .select("meaning", "leader", "filter", "parameters", sql.explode("cells").alias("cell"))
            .repartition(tasks, "cell")
            .sortWithinPartitions("cell")
        )
        found = inside.mapInArrow(
            _Examine(self._schema, cells),
            "meaning binary, coverer string, same string, subsumed boolean, by array<string>",
        )
        together = found.groupBy("meaning").agg(
            sql.min("coverer").alias("coverer"),
            sql.min("same").alias("same"),
            sql.bool_and(sql.coalesce("subsumed", sql.lit(False))).alias("subsumed"),
            sql.bool_or(sql.isnull("subsumed")).alias("undecided"),
            sql.min("by").alias("by"),
        )
        return distinct.drop("cells").join(together, "meaning", "left")

    def _merged(self, facts: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as sql

        left = facts.where(f"kind = '{PLAIN}' AND coverer IS NULL AND same IS NULL")
        filed = left.select("leader", "filter", "parameters", sql.explode("places").alias("place"))
        ordered = (
            filed.select(
                "leader", "filter", "parameters", "place.file", "place.start", "place.stop"
            )
            .repartition(self._tasks(), "file")
            .sortWithinPartitions("file", "start", "stop", "leader")
        )
        return ordered.mapInArrow(
            _Merge(self._schema),
            "file binary, first string, merger string, leader string, place int",
        )

    def _rated(self, every: "DataFrame") -> "tuple[DataFrame | None, int | None, Any]":
        """Each subscription with the share of the events that it matches, if anything says so."""
        from pyspark.sql import functions as sql

        if self._events is not None:
            assert self._schema is not None
            counted = popularity(
                self._spark, self._store, self._version, self._events, self._schema
            )
            self._held.append(counted.matches)
            joined = every.join(counted.matches, "id", "left").fillna(0, ["matches"])
            share = sql.col("matches") / sql.lit(max(1, counted.events))
            return self._kept(joined.withColumn("share", share)), counted.events, counted.structures
        if self._distribution is not None:
            return every.withColumn("share", sql.col("chance")), None, ()
        return None, None, ()


def _distinct(every: "DataFrame") -> "DataFrame":
    """One row for each meaning: that of the first subscription that has it."""
    from pyspark.sql import functions as sql

    columns = ("filter", "parameters", "kind", "texts", "cells", "places")
    first = sql.min_by(sql.struct(*columns), "id").alias("first")
    grouped = every.where("meaning IS NOT NULL").groupBy("meaning")
    found = grouped.agg(sql.min("id").alias("leader"), sql.count("*").alias("members"), first)
    return found.select("meaning", "leader", "members", "first.*")


# -- what tasks do


@dataclass(frozen=True, slots=True)
class _Read:
    """Read subscriptions."""

    schema: Schema | None
    cells: Cells
    distribution: Distribution | None

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            for start in range(0, len(batch), _BATCH):
                rows = batch.slice(start, _BATCH).to_pylist()
                yield pa.RecordBatch.from_pylist([self._row(**row) for row in rows], _READ_ARROW)

    def _row(self, id: str, filter: str, parameters: list[tuple[str, str]]) -> dict[str, Any]:
        row: dict[str, Any] = {"id": id, "filter": filter, "parameters": parameters}
        try:
            f = read(filter, parameters, self.schema)
            form = f.form
        except TidegateError as error:
            return {**row, "kind": REFUSED, "reason": shortened(str(error))}
        row |= {
            "meaning": meaning(form),
            "size": max(1, constants(f.tree)),
            "attributes": sorted(f.attributes),
            "texts": False,
        }
        if form is True or form is False:
            return {**row, "kind": ALWAYS if form else NEVER, "chance": float(form)}
        row["chance"] = _chance(f, self.distribution)
        own = boxes(f)
        if own is None:
            return {**row, "kind": LONG}
        if not own:
            return {**row, "kind": NEVER, "chance": 0.0}
        return {
            **row,
            "kind": PLAIN,
            "texts": any(allowed.texts for box in own for allowed in box.sets.values()),
            "cells": self.cells.touched(own),
            "places": [place._asdict() for place in places(f)],
        }


def _chance(f: Filter, distribution: Distribution | None) -> float | None:
    if distribution is None:
        return None
    try:
        return probability(f, distribution)
    except MeasureError:
        return None


@dataclass(frozen=True, slots=True)
class _Examine:
    """Compare the filters of cells, which come one cell after the other."""

    schema: Schema | None
    cells: Cells

    def __call__(self, batches: Batches) -> Batches:
        for cell, rows in _grouped(batches, "cell"):
            filters = [read(row["filter"], row["parameters"], self.schema) for row in rows]
            names = [row["leader"] for row in rows]
            found = examine(names, filters, self.cells, cell).findings
            columns = {
                "meaning": [row["meaning"] for row in rows],
                "coverer": [each.coverer for each in found],
                "same": [each.same for each in found],
                "subsumed": [each.subsumed for each in found],
                "by": [list(each.by) or None for each in found],
            }
            yield from _batches(columns, _FOUND)


@dataclass(frozen=True, slots=True)
class _Merge:
    """Look through files, whose members come in the order of their places."""

    schema: Schema | None

    def __call__(self, batches: Batches) -> Batches:
        for merger, own in mergers(self._members(batches)):
            columns: dict[str, list[Any]] = {
                "file": [member.place.file for member in own],
                "first": [own[0].name] * len(own),
                "merger": [shortened(str(merger))] * len(own),
                "leader": [member.name for member in own],
                "place": list(range(len(own))),
            }
            yield from _batches(columns, _MERGED)

    def _members(self, batches: Batches) -> Iterator[Member]:
        for batch in batches:
            for row in batch.to_pylist():
                place = Place(row["file"], row["start"], row["stop"])
                f = partial(read, row["filter"], row["parameters"], self.schema)
                yield Member(row["leader"], place, f)


def _grouped(batches: Batches, column: str) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Rows by the value of a column in which they are sorted."""
    value: int | None = None
    rows: list[dict[str, Any]] = []
    for batch in batches:
        for row in batch.to_pylist():
            if row[column] != value and value is not None:
                yield value, rows
                rows = []
            value = row[column]
            rows.append(row)
    if value is not None:
        yield value, rows


def _batches(columns: dict[str, list[Any]], types: dict[str, pa.DataType]) -> Batches:
    table = pa.table({name: pa.array(columns[name], kind) for name, kind in types.items()})
    yield from table.to_batches(max_chunksize=_BATCH)
