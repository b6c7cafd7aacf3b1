"""A stream of documents in files, and the notifications that lxml would give."""

import json
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.documents.generate import NAMESPACES, document
from tests.pipeline.kinds import pattern_rows
from tests.pipeline.streams import Row, Stream
from tidegate.pipeline import Store
from tidegate.pipeline.kinds.documents import Documents
from tidegate.pipeline.matching.sinks import Sink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = "number bigint, body string"
KIND = Documents(NAMESPACES, "body")


@dataclass(frozen=True)
class DocumentStream(Stream):
    """A stream whose events are documents."""

    @property
    def types(self) -> str:
        return EVENTS

    def run(self, spark: "SparkSession", sink: Sink | None = None, **more: Any) -> None:
        super().run(spark, sink, document="body", **more)

    def add_some(self, name: str, count: int) -> None:
        choice = random.Random(name)
        values = [choice.choice(["1", "2", "x", "10"]) for _ in range(count)]
        rows = {"id": [f"{name}-{n}" for n in range(count)], "value": values}
        text = choice.choice(["//*[@k = $value]", "//a[. != $value]", "//p:d[@m > $value]"])
        self.store.add_many(pa.table(rows), filter=text)

    def wanted(self, spark: "SparkSession") -> list[Row]:
        found: list[Row] = []
        for batch, version in self.versions().items():
            read = pa.Table.from_pylist(self.documents(batch)).rename_columns(["row", "body"])
            (events,) = read.combine_chunks().to_batches()
            asked = pattern_rows.wanted(self.store, version, events)
            found += [(number, id, id, version) for number, id in asked]
        return sorted(found)

    def documents(self, batch: int) -> list[dict[str, Any]]:
        lines = (self.events / f"{batch:04d}.json").read_text().splitlines()
        return [json.loads(line) for line in lines]


def opened(folder: Path) -> Stream:
    """The stream in a folder, of documents or of records."""
    documents = DocumentStream(folder)
    return documents if documents.store.kind == "xml" else Stream(folder)


def make(folder: Path, batches: int, size: int = 30) -> DocumentStream:
    """A new stream: some patterns in a store, some documents, one in ten of which is broken."""
    stream = DocumentStream(folder)
    store = Store.create(folder / "store", kind="xml", namespaces=NAMESPACES)
    stream.add_some("first", 30)
    store.add("all", "/")
    stream.events.mkdir()
    for file in range(batches):
        choice = random.Random(file)
        path = stream.events / f"{file:04d}.json"
        with path.open("w") as out:
            for number in range(size):
                body = document(choice) if number % 10 else choice.choice(pattern_rows.BROKEN)
                print(json.dumps({"number": 1000 * file + number, "body": body}), file=out)
        os.utime(path, (1e9 + file, 1e9 + file))  # Spark takes files in the order of their times
    return stream
