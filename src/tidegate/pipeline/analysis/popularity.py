"""How often do events match each subscription?

Events are matched where they are, by the compiled index of the version, and only counted: a task
hands back one number for each subscription that it has seen matched. That is little, however many
notifications there would be.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.index import Index
from tidegate.filters.schema import Schema
from tidegate.pipeline.analysis.findings import Slice
from tidegate.pipeline.bases import catalog, compile_job
from tidegate.pipeline.bases.catalog import Base
from tidegate.pipeline.events.malformed import ERROR, checked
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.matching.matcher import Matcher, kept_matcher
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SUBSCRIPTIONS_OF_A_SHARD: Final = 100_000  # texts of many shapes take room in its making
_FIRST: Final = 64  # events that are matched to see how many pairs there are
_EVENTS_AT_A_TIME: Final = 10_000
_PAIRS: Final = 1_000_000  # that are counted at a time, about
_ROWS: Final = 100_000  # that a task hands back at a time
_TASKS: Final = 16  # by whom events are matched: few small files would all be one task's


@dataclass(frozen=True, slots=True)
class Popularity:
    """How often each subscription is matched, `id` and `matches`; and by how many events.

    Subscriptions that no event matches are left out.
    """

    matches: "DataFrame"
    events: int
    structures: tuple[Slice, ...]  # of the index that has counted


def popularity(
    spark: "SparkSession", store: Store, version: int, events: "DataFrame", schema: Schema
) -> Popularity:
    """Match events against a version of a store, and count. Malformed events count for nothing."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as sql

    base = _base(store, spark, schema, version)
    prepared = checked(events, store.schema, "_corrupt_record").where(f"`{ERROR}` IS NULL")
    count = _Count(store.path, base.name, version, tuple(prepared.columns))
    plain = prepared.toDF(*[f"c{i}" for i in range(len(prepared.columns))]).repartition(_TASKS)
    found = (
        plain.mapInArrow(count, "id string, matches bigint")
        .groupBy("id")
        .agg(sql.sum("matches").alias("matches"))
        .persist(StorageLevel.DISK_ONLY)
    )
    seen = found.where("id IS NULL").collect()
    return Popularity(
        found.where("id IS NOT NULL"),
        int(seen[0]["matches"]) if seen else 0,
        _structures(kept_matcher(store.path, base.name, version)),
    )


def _base(store: Store, spark: "SparkSession", schema: Schema, version: int) -> Base:
    """A base of just that version; a new one has shards that are small enough to be built."""
    known = catalog.newest(store.path, catalog.fingerprint(Attributes(schema)), version)
    if known is not None and known.version == version:
        return known
    shards = max(1, ceil(store.most(version) / _SUBSCRIPTIONS_OF_A_SHARD))
    return compile_job.compile_base(store, spark, Attributes(schema), version, shards)


def _structures(known: Matcher) -> tuple[Slice, ...]:
    """How many subscriptions are in which structure, in all shards together."""
    found: Counter[str] = Counter()
    for shard in range(len(known.base.shards)):
        for each in _index(known, shard).describe().structures:
            found[each.name] += each.subscriptions
    return tuple(Slice(name, count) for name, count in found.items() if count)


@dataclass(frozen=True, slots=True)
class _Count:
    """What a task does; the number of its events comes under no id."""

    store: str
    base: str
    version: int
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        known = kept_matcher(self.store, self.base, self.version)
        totals: dict[int, NDArray[np.int64]] = {}
        seen, size = 0, _FIRST
        for batch in batches:
            named = batch.rename_columns(list(self.names))
            start = 0
            while start < len(named):
                some = named.slice(start, size)
                start += len(some)
                seen += len(some)
                pairs = 0
                for shard, rows in known.visits(known.kind.read(some)):
                    if shard not in totals:
                        totals[shard] = np.zeros(known.base.shards[shard].subscriptions, np.int64)
                    visiting = some if rows is None else some.take(pa.array(rows))
                    pairs += _count(_index(known, shard), visiting, totals[shard])
                size = max(_FIRST, min(_PAIRS * len(some) // max(pairs, 1), _EVENTS_AT_A_TIME))
        for shard, total in totals.items():
            matched = np.flatnonzero(total)
            for start in range(0, len(matched), _ROWS):
                own = matched[start : start + _ROWS]
                ids, _ = known.part(shard).names.of(own)
                yield pa.RecordBatch.from_pydict({"id": ids, "matches": total[own]})
        yield pa.RecordBatch.from_pydict(
            {"id": pa.nulls(1, pa.string()), "matches": pa.array([seen], pa.int64())}
        )


def _index(known: Matcher, shard: int) -> Index:
    return cast(Index, known.part(shard).index)


def _count(index: Index, events: pa.RecordBatch, total: NDArray[np.int64]) -> int:
    """Add how often each number is met; and say how often all are."""
    found = index.match_batch(events)["subscription"]
    for chunk in found.chunks:
        codes = np.bincount(chunk.indices.to_numpy(), minlength=len(chunk.dictionary))
        hit = np.flatnonzero(codes)
        np.add.at(total, chunk.dictionary.take(pa.array(hit)).to_numpy(), codes[hit])
    return len(found)
