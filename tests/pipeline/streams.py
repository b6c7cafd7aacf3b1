"""A stream of events in files, the notifications it leads to, and those Spark SQL would give.

Each file of events is a micro-batch. The oracle reads which version every batch has pinned, and has
Spark SQL join its events with the subscriptions of that version.
"""

import json
import os
import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import tidegate as tg
from tidegate.filters.literals import decode
from tidegate.pipeline import ParquetFolder, Store, match_stream
from tidegate.pipeline.bases import catalog
from tidegate.pipeline.bases.shard_builder import Builder
from tidegate.pipeline.events.malformed import ERROR
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.kinds.kind import Kind, Plan
from tidegate.pipeline.matching.matcher import Matcher
from tidegate.pipeline.matching.notifications import Notifier
from tidegate.pipeline.matching.sinks import Sink
from tidegate.pipeline.store import pins

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = "number bigint, symbol string, price double, _corrupt_record string"
SYMBOLS = ("ALU", "ANT", "BOW", "CAP")

Row = tuple[int, str, str, int]
"""The number of an event, a subscription, its subscriber, the version."""


@dataclass(frozen=True)
class Stream:
    """Where everything of a stream is."""

    folder: Path
    address: str | None = None  # of a store that is not in the folder

    @property
    def store(self) -> Store:
        return Store.open(self.address or self.folder / "store")

    @property
    def sink(self) -> ParquetFolder:
        return ParquetFolder(self.folder / "out")

    @property
    def events(self) -> Path:
        return self.folder / "events"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def types(self) -> str:
        """Of the events."""
        return EVENTS

    def source(self, spark: "SparkSession") -> "DataFrame":
        reader = spark.readStream.schema(self.types).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.events))

    def add_some(self, name: str, count: int) -> None:
        """Add subscriptions whose ids begin with the name."""
        add_some(self.store, name, count)

    def run(self, spark: "SparkSession", sink: Sink | None = None, **more: Any) -> None:
        """Match all events that are there; what goes wrong is raised."""
        query = match_stream(
            self.source(spark),
            self.store,
            self.sink if sink is None else sink,
            checkpoint=self.checkpoint,
            trigger={"availableNow": True},
            **more,
        )
        query.awaitTermination()

    def delivered(self, spark: "SparkSession") -> list[Row]:
        rows = spark.read.parquet(f"{self.folder}/out").where("kind = 'notifications'")
        chosen = rows.select("number", "subscription", "subscriber", "version").toArrow()
        return in_rows(chosen)

    def versions(self) -> dict[int, int]:
        """The version of each batch, by what is pinned."""
        found = pins.pinned(self.store.path)
        assert len({query for query, _ in found}) == 1
        return {batch: version for (_, batch), version in found.items()}

    def wanted(self, spark: "SparkSession") -> list[Row]:
        """What Spark SQL makes of the events, at the version that each batch has pinned."""
        versions = self.versions()
        read = spark.read.schema(f"{EVENTS}, version bigint")
        events: DataFrame | None = None
        for batch, version in versions.items():
            own = read.json(str(self.events / f"{batch:04d}.json"))
            own = own.selectExpr("number", "symbol", "price", f"{version}L AS version")
            events = own if events is None else events.union(own)
        assert events is not None
        found: list[Row] = []
        for text, rows in subscriptions(self.store, sorted(set(versions.values()))).items():
            condition = re.sub(r":(\w+)", r"s.given_\1", text)
            joined = spark.sql(
                "SELECT e.number, s.id, s.subscriber, s.version FROM {events} e JOIN {rows} s "
                f"ON e.version = s.version AND ({condition})",
                events=events,
                rows=spark.createDataFrame(rows),
            )
            found += in_rows(joined.toArrow())
        return sorted(found)


def subscriptions(store: Store, versions: Sequence[int]) -> dict[str, pa.Table]:
    """The subscriptions of several versions by their filter, with parameters as columns."""
    found: dict[str, list[dict[str, Any]]] = {}
    for version in versions:
        for row in store.subscriptions(version).to_pylist():
            values = {f"given_{name}": decode(text) for name, text in row["parameters"]}
            own = {"id": row["id"], "subscriber": row["subscriber"], "version": version, **values}
            found.setdefault(row["filter"], []).append(own)
    return {text: pa.Table.from_pylist(rows) for text, rows in found.items()}


def in_rows(table: pa.Table) -> list[Row]:
    columns = [column.to_pylist() for column in table.columns]
    return sorted(zip(*columns, strict=True))


def make(folder: Path, batches: int = 0, size: int = 60, address: str | None = None) -> Stream:
    """A new stream: some subscriptions in a store, some events."""
    stream = Stream(folder, address)
    store = Store.create(address or folder / "store")
    add_some(store, "first", 30)
    store.add("all", "number IS NOT NULL", subscriber="everybody")
    stream.events.mkdir()
    for number in range(batches):
        write_events(stream, number, size)
    return stream


def add_some(store: Store, name: str, count: int) -> int:
    """Add subscriptions of two filters, whose ids begin with the name."""
    choice = random.Random(name)
    rows = [
        {
            "id": f"{name}-{number}",
            "subscriber": f"subscriber-{number % 7}",
            "symbol": choice.choice(SYMBOLS),
            "low": float(choice.randrange(100)),
        }
        for number in range(count)
    ]
    table = pa.Table.from_pylist(rows)
    half = count // 2
    store.add_many(table.slice(0, half).drop_columns(["symbol"]), filter="price >= :low")
    return store.add_many(table.slice(half), filter="symbol = :symbol AND price > :low")


def write_events(stream: Stream, file: int, size: int, broken: int = 0) -> None:
    """A file of events, of which Spark makes the batch with this number."""
    choice = random.Random(file)
    rows = [
        {
            "number": 1000 * file + number,
            "symbol": choice.choice(SYMBOLS),
            "price": float(choice.randrange(100)),
        }
        for number in range(size)
    ]
    path = stream.events / f"{file:04d}.json"
    draft = stream.events / f".{file:04d}.json"
    lines = [json.dumps(row) for row in rows] + ["no event"] * broken
    draft.write_text("".join(f"{line}\n" for line in lines))
    os.utime(draft, (1e9 + file, 1e9 + file))  # Spark takes files in the order of their times
    os.rename(draft, path)


def write_base(
    store: Store,
    version: int | None = None,
    schema: tg.Schema | None = None,
    shards: int = 1,
    plan: Plan | None = None,
    kind: Kind | None = None,
) -> catalog.Base:
    """Compile a version without Spark, to shards by a plan, or by the one made for them."""
    version = store.version() if version is None else version
    kind = kind or Attributes(tg.Schema(EVENTS) if schema is None else schema)
    rows = store.subscriptions(version).combine_chunks()
    columns = [rows[name].combine_chunks() for name in ("id", "filter", "parameters")]
    if plan is None and shards > 1:
        plan = kind.plan(columns[1], columns[2], shards, None)
    where = np.zeros(len(rows), np.int32) if plan is None else plan.shards(*columns)
    builder = Builder(store.path, catalog.new_name(version, kind), version, kind, plan)
    built = [builder.shard(k, [rows.filter(pa.array(where == k))]) for k in range(shards)]
    return catalog.publish(store.path, builder.base(built, None, time.time()))


def found_by(matcher: Matcher, events: pa.Table) -> list[tuple[int, str]]:
    """Rows of events, and the ids of those who want them."""
    table = events.append_column("row", pa.array(range(len(events))))
    (batch,) = table.append_column(ERROR, pa.nulls(len(events), pa.string())).to_batches()
    return sorted(
        pair
        for some in Notifier(matcher, matcher.kind, "pairs", ["row"]).notify(batch)
        for pair in zip(some["row"].to_pylist(), some["subscription"].to_pylist(), strict=True)
    )
