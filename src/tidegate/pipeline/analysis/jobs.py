"""What do the subscriptions of a store look like?

How many are **duplicates** of others, **covered** by one other, **subsumed** by several together,
**mergeable** with others, **never** or nearly **always** matching, or **expensive**; as Spark jobs,
so that it works for millions:

1. A sample says which filters cover the most others (`scouts`), and into which cells the rest is
   cut (`cells`).
2. Each subscription is read (`meanings`): which meaning has it, does a scout cover it, which cells
   does it touch, where could it be merged?
3. Subscriptions of one meaning become one filter.
4. Filters that no scout covers are compared cell by cell (`covering`), a cell in one task; nobody
   compares all pairs.
5. Of those that nobody covers it is asked whether several others cover one (`subsumption`); many in
   one cell are shared among tasks, each of which has all of them at hand.
6. They are looked through for mergers, file by file (`mergers`).
7. Given events, an index says how often each subscription is matched (`popularity`).

What comes out is an `Analysis`: counts, examples and distributions, small however large the store.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tidegate.algebra.distribution import Distribution
from tidegate.algebra.normal import boxes
from tidegate.errors import TidegateError
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.pipeline.analysis import tasks
from tidegate.pipeline.analysis.cells import Cells
from tidegate.pipeline.analysis.findings import Analysis
from tidegate.pipeline.analysis.meanings import meaning, read
from tidegate.pipeline.analysis.popularity import popularity
from tidegate.pipeline.analysis.report_queries import ALWAYS, NEVER, PLAIN, REFUSED, Summing
from tidegate.pipeline.analysis.scouts import Scouts
from tidegate.pipeline.events.letter_case import warn_of_case
from tidegate.pipeline.progress.steps import Step
from tidegate.pipeline.store import spark_reader
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


Tell: TypeAlias = Callable[[Step], None]

CELL: Final = 10_000
"""Filters that a cell has about."""

_SAMPLE: Final = 20_000  # subscriptions from which cells are made
_TASKS: Final = 256  # at most
_TASK: Final = 10_000  # subscriptions that are worth one
_ASKED: Final = 1_000  # filters of which one task asks, at least, whether others subsume them
_SHARES: Final = 16  # of a cell, in each of which all its filters are looked at, at most
_STEPS: Final = (
    "sampling",
    "reading",
    "finding duplicates",
    "finding who covers whom",
    "finding who is subsumed",
    "merging",
    "counting matches",
    "summing up",
)


def analyse(
    spark: "SparkSession",
    store: Store,
    *,
    version: int | None = None,
    events: "DataFrame | None" = None,
    distribution: Distribution | None = None,
    almost: float = 0.9,
    cell: int = CELL,
    tell: Tell = lambda step: None,
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
        store.require_attributes("an analysis")
        self._spark, self._store = spark, store
        self._version = store.version() if version is None else version
        self._events, self._distribution = events, distribution
        self._almost, self._cell, self._tell = almost, cell, tell
        self._schema = store.schema
        if events is not None:
            warn_of_case(events, self._schema)
            self._schema = self._schema or Schema(events.schema)
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
        with self._step("sampling"):
            rows = self._rows()
            total = rows.count()
            scouts, cells = self._sampled(rows, total)
        with self._step("reading"):
            to_read = tasks.Read(self._schema, cells, scouts, self._distribution)
            every = self._kept(rows.mapInArrow(to_read, tasks.READ))
            every.count()
        with self._step("finding duplicates"):
            distinct = self._kept(_distinct(every))
            distinct.count()
        with self._step("finding who covers whom"):
            compared = self._kept(self._compared(distinct, cells, scouts))
            compared.count()
        with self._step("finding who is subsumed"):
            facts = self._kept(self._subsumed(compared, cells))
            facts.count()
        with self._step("merging"):
            merged = self._kept(self._merged(facts))
            merged.count()
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
                uncompared=summing.uncompared(),
                coverers=summing.coverers(),
                group_sizes=summing.group_sizes(),
                attributes=summing.attributes(),
                cells=len(cells),
                seconds=self._seconds,
            )

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        steps = [each for each in _STEPS if each != _STEPS[-2] or self._events is not None]
        self._tell(Step(name, steps.index(name) + 1, len(steps)))
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
        return max(1, min(_TASKS, self._most // _TASK))

    @cached_property
    def _most(self) -> int:
        """How many subscriptions there may be."""
        commits = self._store.history()
        return sum(each.added for each in commits if each.version <= self._version)

    def _shares(self) -> int:
        """Into how many tasks asking for what others subsume is parted: few of few filters."""
        return max(self._tasks(), min(4 * _SHARES, ceil(self._most / _ASKED)))

    def _rows(self) -> "DataFrame":
        """The subscriptions, spread over enough tasks."""
        columns = ["id", "filter", "parameters"]
        if not self._store.files(self._version):
            empty = "id string, filter string, parameters map<string,string>"
            return self._spark.createDataFrame([], empty)
        rows = spark_reader.state(self._spark, self._store, self._version).select(*columns)
        return self._kept(rows.repartition(self._tasks()))

    def _sampled(self, rows: "DataFrame", total: int) -> tuple[Scouts, Cells]:
        """Filters that cover many others, and cells for the rest, from a sample."""
        share = min(1.0, 1.2 * _SAMPLE / max(1, total))
        some = rows.select("filter", "parameters")
        if share < 1.0:
            some = some.sample(fraction=share, seed=1).limit(_SAMPLE)
        sample: dict[bytes, Filter] = {}
        for row in some.collect():
            try:
                f = read(row["filter"], (row["parameters"] or {}).items(), self._schema)
                if boxes(f) and f.form is not True:
                    sample.setdefault(meaning(f.form), f)
            except TidegateError:
                continue
        scouts, left = Scouts.found(sample, self._schema)
        if not len(scouts):
            left = sample
        expected = ceil(total * len(left) / max(1, len(sample)))
        return scouts, Cells.grown(list(left.values()), expected, self._cell, self._schema)

    def _compared(self, distinct: "DataFrame", cells: Cells, scouts: Scouts) -> "DataFrame":
        """The distinct filters, with who covers them, or means the same."""
        from pyspark.sql import functions as sql

        columns = ("meaning", "leader", "boxes")
        inside = (
            distinct.where(f"kind = '{PLAIN}' AND scout IS NULL")
            .select(sql.explode("cells").alias("cell"), *columns, "rank")
            .repartition(min(_TASKS, len(cells)), "cell")
            .sortWithinPartitions("cell", "rank", "leader")
            .select("cell", *columns)
        )
        found = inside.mapInArrow(tasks.Compare(cells), tasks.COMPARED)
        together = found.groupBy("meaning").agg(
            sql.min("coverer").alias("coverer"),
            sql.min("same").alias("same"),
            sql.bool_and("compared").alias("compared"),
        )
        known = [(meaning,) for meaning, _ in scouts.boxes]
        names = self._spark.createDataFrame(known, "scout binary").join(
            distinct.select(sql.col("meaning").alias("scout"), sql.col("leader").alias("by_scout")),
            "scout",
        )
        joined = distinct.join(together, "meaning", "left").join(
            sql.broadcast(names), "scout", "left"
        )
        return joined.withColumn("coverer", sql.coalesce("coverer", "by_scout")).drop("by_scout")

    def _subsumed(self, compared: "DataFrame", cells: Cells) -> "DataFrame":
        """The same, with whether several others cover one together.

        Each of the shares of a cell is a group of rows: all filters that nobody covers, with a
        mark at those that are asked about.
        """
        from pyspark.sql import functions as sql

        left = compared.where(f"kind = '{PLAIN}' AND coverer IS NULL AND same IS NULL")
        inside = left.select(
            "meaning", "leader", "compared", "boxes", sql.explode("cells").alias("cell")
        )
        wanted = sql.least(sql.ceil(sql.count("*") / _ASKED), sql.lit(_SHARES))
        sizes = inside.groupBy("cell").agg(wanted.alias("shares"))
        own = sql.pmod(sql.xxhash64("meaning"), "shares")
        grouped = (
            inside.join(sql.broadcast(sizes), "cell")
            .select(
                "*", sql.explode(sql.sequence(sql.lit(0), sql.col("shares") - 1)).alias("share")
            )
            .withColumn("asked", own == sql.col("share"))
            .where("asked OR compared")
            .repartition(self._shares(), "cell", "share")
            .sortWithinPartitions("cell", "share", "leader")
            .select("cell", "share", "asked", "compared", "meaning", "leader", "boxes")
        )
        found = grouped.mapInArrow(tasks.Subsume(cells), tasks.SUBSUMED)
        together = found.groupBy("meaning").agg(
            sql.bool_and(sql.coalesce("subsumed", sql.lit(False))).alias("subsumed"),
            sql.bool_or(sql.isnull("subsumed")).alias("undecided"),
            sql.min("by").alias("by"),
        )
        return compared.drop("cells", "boxes", "rank").join(together, "meaning", "left")

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
        return ordered.mapInArrow(tasks.Merge(self._schema), tasks.MERGED)

    def _rated(self, every: "DataFrame") -> "tuple[DataFrame | None, int | None, Any]":
        """Each subscription with the share of the events that it matches, if anything says so."""
        from pyspark.sql import functions as sql

        if self._events is not None:
            assert self._schema is not None
            with self._step("counting matches"):
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

    columns = (
        "filter",
        "parameters",
        "kind",
        "texts",
        "scout",
        "boxes",
        "rank",
        "cells",
        "places",
    )
    first = sql.min_by(sql.struct(*columns), "id").alias("first")
    grouped = every.where("meaning IS NOT NULL").groupBy("meaning")
    found = grouped.agg(sql.min("id").alias("leader"), sql.count("*").alias("members"), first)
    return found.select("meaning", "leader", "members", "first.*")
