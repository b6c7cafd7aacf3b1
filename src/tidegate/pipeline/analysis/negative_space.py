"""What does no subscription of a store cover?

The negative space of a whole store, made from scratch: the pass over all subscriptions that
Jafarpour, Hore, Mehrotra, Venkatasubramanian ("Subscription Subsumption Evaluation for
Content-Based Publish/Subscribe Systems", Middleware 2008, section 4) leave to be done now and then,
offline, by any means. Here it is done in parts: the content space is cut into cells (`cells`), and
each task has the negative space of a cell (`papers.negative`), from which the filters that touch
the cell are taken away, the most general first. Cells are disjoint, so the boxes of all tasks are.

A filter that overlaps nothing of what is left when its turn comes is covered by those before it;
one for which that is so in every cell is **redundant**. The order is the same in all cells, so all
redundant filters may go at once.

Invariant: what is counted as left is not smaller than what no subscription covers, and no filter is
called redundant that those before it do not cover.
"""

import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import groupby
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from tidegate.algebra.normal import boxes
from tidegate.algebra.union import has_texts
from tidegate.errors import MeasureError, TidegateError
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.papers.negative.approximate import DEFAULT_K, ApproximateNegativeSpace
from tidegate.papers.negative.exact import ExactNegativeSpace
from tidegate.papers.negative.marks import domain_grid
from tidegate.pipeline.analysis.cells import Cells
from tidegate.pipeline.analysis.covering import rank
from tidegate.pipeline.analysis.meanings import meaning, read
from tidegate.pipeline.analysis.pieces import of_boxes
from tidegate.pipeline.progress.steps import Step
from tidegate.pipeline.store import spark_reader
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches: TypeAlias = Iterator[pa.RecordBatch]
Tell: TypeAlias = Callable[[Step], None]

CELL: Final = 2_000
"""Filters that a cell has about: what is left grows faster than the number of filters."""

_LIMIT: Final = 512 * 2**20  # bytes of the negative space of a task
_TASKS: Final = 256  # at most
_TASK: Final = 10_000  # subscriptions that are worth one
_BATCH: Final = 2_000  # rows that a task looks at, and hands back, at a time
_STEPS: Final = ("sampling", "reading", "taking away")

_READ: Final = (
    "id string, meaning binary, certain boolean, boxes binary, cells array<int>, "
    "rank struct<group: int, attributes: int, narrowness: double>"
)
_READ_ARROW: Final = pa.schema(
    {
        "id": pa.string(),
        "meaning": pa.binary(),
        "certain": pa.bool_(),
        "boxes": pa.binary(),
        "cells": pa.list_(pa.int32()),
        "rank": pa.struct(
            {"group": pa.int32(), "attributes": pa.int32(), "narrowness": pa.float64()}
        ),
    }
)
_LEFT: Final = "meaning binary, redundant boolean, cell int, boxes long, share double, limited int"
_LEFT_ARROW: Final = pa.schema(
    {
        "meaning": pa.binary(),
        "redundant": pa.bool_(),
        "cell": pa.int32(),
        "boxes": pa.int64(),
        "share": pa.float64(),
        "limited": pa.int32(),
    }
)


@dataclass(frozen=True, slots=True)
class NegativeSpace:
    """What is left of the content space, and which subscriptions are not needed for that.

    `share` is the part of all events, evenly spread over the declared domains, that is left; None
    where filters ask for attributes without one. `uncertain` counts filters with conditions on
    text, or without a normal form: of these, only what they surely cover is taken away.
    """

    store: str
    version: int
    k: int | None  # None: exactly
    subscriptions: int
    refused: int
    filters: int  # distinct ones
    redundant: int  # of these, those that others before them cover
    uncertain: int
    boxes: int
    share: float | None
    cells: int
    limited: int  # cells that met the memory limit
    seconds: dict[str, float] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return asdict(self)


def negative_space(
    spark: "SparkSession",
    store: Store,
    *,
    version: int | None = None,
    k: int | None = DEFAULT_K,
    cell: int = CELL,
    limit: int = _LIMIT,
    tell: Tell = lambda step: None,
) -> NegativeSpace:
    """Take all subscriptions of a version of a store away from the content space.

    Each of them makes at most k boxes more in a cell; None is exact. `cell` is how many filters one
    task takes away, about, `limit` how many bytes it has for what is left; `tell` hears what is
    being done.
    """
    store.require_attributes("negative space")
    return _Work(spark, store, version, k, cell, limit, tell).run()


class _Work:
    """The jobs, on the driver."""

    def __init__(
        self,
        spark: "SparkSession",
        store: Store,
        version: int | None,
        k: int | None,
        cell: int,
        limit: int,
        tell: Tell,
    ) -> None:
        self._spark, self._store = spark, store
        self._version = store.version() if version is None else version
        self._k, self._cell, self._limit, self._tell = k, cell, limit, tell
        self._seconds: dict[str, float] = {}

    def run(self) -> NegativeSpace:
        """Do it."""
        from pyspark import StorageLevel

        with self._step("sampling"):
            cells = self._cells()
        every = self._rows().mapInArrow(Read(self._store.schema, cells), _READ)
        every = every.persist(StorageLevel.DISK_ONLY)
        left = None
        try:
            with self._step("reading"):
                total = every.count()
            with self._step("taking away"):
                left = self._left(_distinct(every), cells).persist(StorageLevel.DISK_ONLY)
                return self._found(total, every, left, cells)
        finally:
            for frame in (every, left):
                if frame is not None:
                    frame.unpersist()

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        self._tell(Step(name, _STEPS.index(name) + 1, len(_STEPS)))
        start = time.monotonic()
        yield
        self._seconds[name] = round(time.monotonic() - start, 2)

    def _rows(self) -> "DataFrame":
        """The subscriptions, spread over enough tasks."""
        if not self._store.files(self._version):
            empty = "id string, filter string, parameters map<string,string>"
            return self._spark.createDataFrame([], empty)
        rows = spark_reader.state(self._spark, self._store, self._version)
        return rows.select("id", "filter", "parameters").repartition(self._tasks())

    def _tasks(self) -> int:
        return max(1, min(_TASKS, self._store.most(self._version) // _TASK))

    def _cells(self) -> Cells:
        """Cells, from a sample of the filters."""
        schema = self._store.schema
        if not self._store.files(self._version):
            return Cells(schema)
        sample = spark_reader.sample(self._spark, self._store, self._version)
        filters: dict[bytes, Filter] = {}
        for row in sample.to_pylist():
            try:
                f = read(row["filter"], row["parameters"] or (), schema)
                if boxes(f):
                    filters.setdefault(meaning(f.form), f)
            except TidegateError:
                continue
        most = self._store.most(self._version)
        expected = most * len(filters) // max(1, len(sample))
        return Cells.grown(list(filters.values()), expected, self._cell, schema, eager=True)

    def _left(self, distinct: "DataFrame", cells: Cells) -> "DataFrame":
        """Of each cell, what is left; of each filter there, whether it is redundant.

        A cell that no filter touches is left as a whole, so each has an empty row.
        """
        from pyspark.sql import functions as sql

        inside = distinct.select(
            sql.explode("cells").alias("cell"), "meaning", "id", "boxes", "rank"
        )
        bare = self._spark.createDataFrame([(number,) for number in cells.numbers()], "cell int")
        grouped = (
            inside.unionByName(bare, allowMissingColumns=True)
            .repartition(min(_TASKS, len(cells)), "cell")
            .sortWithinPartitions("cell", "rank.attributes", "rank.narrowness", "id")
            .select("cell", "meaning", "boxes")
        )
        task = TakeAway(cells, self._k, self._limit)
        return grouped.mapInArrow(task, _LEFT)

    def _found(
        self, total: int, every: "DataFrame", left: "DataFrame", cells: Cells
    ) -> NegativeSpace:
        from pyspark.sql import functions as sql

        whole = left.where("boxes IS NOT NULL").agg(
            sql.sum("boxes").alias("boxes"),
            sql.sum("share").alias("share"),
            sql.count_if(sql.isnull("share")).alias("unknown"),
            sql.sum("limited").alias("limited"),
        )
        inside = left.where("meaning IS NOT NULL").groupBy("meaning")
        filters = (
            every.groupBy("meaning")
            .agg(
                sql.count("*").alias("members"),
                sql.bool_and("certain").alias("certain"),
                sql.bool_and(sql.size("cells") == 0).alias("never"),
            )
            .join(inside.agg(sql.bool_and("redundant").alias("redundant")), "meaning", "left")
            .agg(
                sql.count("meaning").alias("filters"),
                sql.sum(sql.expr("if(meaning IS NULL, members, 0)")).alias("refused"),
                sql.count_if(~sql.col("certain")).alias("uncertain"),
                sql.count_if(sql.expr("redundant OR never")).alias("redundant"),
            )
        )
        row = whole.crossJoin(filters).first()
        assert row is not None, "an aggregate of nothing is a row, too"
        return NegativeSpace(
            store=self._store.path,
            version=self._version,
            k=self._k,
            subscriptions=total,
            refused=row["refused"] or 0,
            filters=row["filters"],
            redundant=row["redundant"],
            uncertain=row["uncertain"],
            boxes=row["boxes"],
            share=None if row["unknown"] else row["share"],
            cells=len(cells),
            limited=row["limited"],
            seconds=self._seconds,
        )


def _distinct(every: "DataFrame") -> "DataFrame":
    """One row for each meaning: that of the first subscription that has it."""
    from pyspark.sql import functions as sql

    first = sql.min_by(sql.struct("boxes", "cells", "rank"), "id").alias("first")
    grouped = every.where("meaning IS NOT NULL").groupBy("meaning")
    return grouped.agg(sql.min("id").alias("id"), first).select("meaning", "id", "first.*")


@dataclass(frozen=True, slots=True)
class Read:
    """Read subscriptions: what they mean, their boxes, and the cells that they touch."""

    schema: Schema | None
    cells: Cells

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            for start in range(0, len(batch), _BATCH):
                rows = batch.slice(start, _BATCH).to_pylist()
                yield pa.RecordBatch.from_pylist([self._read(**row) for row in rows], _READ_ARROW)

    def _read(self, id: str, filter: str, parameters: list[tuple[str, str]]) -> dict[str, Any]:
        try:
            f = read(filter, parameters, self.schema)
            form = f.form
        except TidegateError:
            return {"id": id}
        own = boxes(f)
        row = {"id": id, "meaning": meaning(form), "certain": own is not None}
        if own is None:
            return row
        return row | {
            "certain": not any(map(has_texts, own)),
            "boxes": pickle.dumps(own, pickle.HIGHEST_PROTOCOL),
            "cells": self.cells.touched(own) if own else [],
            "rank": rank(f)._asdict(),
        }


@dataclass(frozen=True, slots=True)
class TakeAway:
    """Take filters away from cells; those of a cell come together, the most general first."""

    cells: Cells
    k: int | None
    limit: int

    def __call__(self, batches: Batches) -> Batches:
        grid = domain_grid(self.cells.schema)
        for cell, rows in groupby(_rows(batches), key=itemgetter(0)):
            space = self._space(cell)
            found: list[dict[str, Any]] = []
            for number, (_, own, packed) in enumerate(rows):
                if packed is None:  # which says only that there is such a cell
                    continue
                f = of_boxes(pickle.loads(packed), self.cells.schema)  # `Read` has packed it
                redundant = space.subsumes(f)
                if not redundant:
                    space.add(number, f)
                found.append({"meaning": own, "redundant": redundant, "cell": cell})
                if len(found) == _BATCH:
                    yield pa.RecordBatch.from_pylist(found, _LEFT_ARROW)
                    found = []
            limited = isinstance(space, ExactNegativeSpace) and not space.exact
            found.append(
                {
                    "cell": cell,
                    "boxes": space.boxes,
                    "share": _share(space, grid),
                    "limited": int(limited or getattr(space, "warned", False)),
                }
            )
            yield pa.RecordBatch.from_pylist(found, _LEFT_ARROW)

    def _space(self, cell: int) -> ExactNegativeSpace | ApproximateNegativeSpace:
        schema, within = self.cells.schema, self.cells.region(cell)
        if self.k is None:
            return ExactNegativeSpace(schema, limit=self.limit, within=within, tidy=True)
        return ApproximateNegativeSpace(
            schema, limit=self.limit, within=within, k=self.k, tidy=True, take_over=False
        )


def _share(
    space: ExactNegativeSpace | ApproximateNegativeSpace, grid: dict[str, list[Any]]
) -> float | None:
    """The part of all events of a grid that is left, or None if it has not all attributes."""
    try:
        return space.volume(grid) / prod(map(len, grid.values()))
    except MeasureError:
        return None


def _rows(batches: Batches) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        for start in range(0, len(batch), _BATCH):
            some = batch.slice(start, _BATCH)
            yield from zip(*(column.to_pylist() for column in some.columns), strict=True)
