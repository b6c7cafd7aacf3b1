"""How are past events counted on Spark?

In one pass, where they are: every task counts its own (`counting`) and gives one row, a few tasks
put these together, and the driver what is left of them. A row is bounded, whatever the events, so
neither the driver nor a worker needs more memory for more of them.

Only what Spark Connect has, too, is used.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from tidegate.filters.expression import attribute_path
from tidegate.filters.meaning import allowed
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet
from tidegate.pipeline.events.malformed import ERROR, checked
from tidegate.pipeline.statistics.counting import Counting, Counts, counted_attributes
from tidegate.pipeline.statistics.event_sample import Sample
from tidegate.pipeline.statistics.used_predicates import most_used
from tidegate.pipeline.store import spark_reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidegate.pipeline.store.store import Store

_TRIED: Final = 200  # predicates on texts that are no ranges
_MERGERS: Final = 4  # tasks that put together what the others have counted


def counted(
    events: "DataFrame",
    store: "Store",
    version: int,
    predicates: int,
    sample: int,
    corrupt: str | None,
    seed: int | None,
) -> Counts:
    """What there is to count in events, with so many predicates of a version of a store."""
    prepared = checked(events, store.schema, corrupt)
    own = events if corrupt is None or corrupt not in events.columns else events.drop(corrupt)
    schema = store.schema or Schema(own.schema)
    needed = {attribute_path(name)[0] for name in counted_attributes(schema)}
    names = [name for name in own.columns if name in needed]
    used = []
    if predicates:
        used = most_used(
            spark_reader.sample(events.sparkSession, store, version), schema, predicates
        )
    asked = [(str(each), each.attribute, allowed(each, schema)) for each in used]
    tried = [text for text, _, values in asked if values.texts][_TRIED:]
    task = _Task(
        schema,
        tuple(each for each in asked if each[0] not in set(tried)),
        tuple(names),
        sample,
        int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]),
    )
    plain = prepared.select(*[f"`{name.replace('`', '``')}`" for name in (*names, ERROR)])
    plain = plain.toDF(*[f"c{i}" for i in range(len(names) + 1)])
    partial = plain.mapInArrow(task, "counts binary")
    merged = partial.repartition(_MERGERS).mapInArrow(_merge, "counts binary").toArrow()
    found = Counts(Sample(sample))
    _merged(merged["counts"].to_pylist(), found)
    return found


@dataclass(frozen=True, slots=True)
class _Task:
    """What a task does."""

    schema: Schema
    predicates: tuple[tuple[str, str, ValueSet], ...]
    names: tuple[str, ...]
    sample: int
    seed: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        random = np.random.default_rng([self.seed, context.partitionId() if context else 0])
        counting = Counting(self.schema, self.predicates, random, self.sample)
        for batch in batches:
            counting.add(batch.rename_columns([*self.names, ERROR]))
        yield _row(counting.finish())


def _merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What several tasks have counted, as one."""
    found: Counts | None = None
    for batch in batches:
        found = _merged(batch.column(0).to_pylist(), found)
    if found is not None:
        yield _row(found)


def _merged(contents: list[bytes], into: Counts | None) -> Counts | None:
    for content in contents:
        counts, _ = Counts.from_bytes(content)
        if into is None:
            into = counts
        else:
            into.merge(counts)
    return into


def _row(counts: Counts) -> pa.RecordBatch:
    return pa.record_batch({"counts": pa.array([counts.to_bytes()], pa.binary())})
