"""How fast are documents matched on Spark?

Documents of the news format in Parquet files, 10,000 paths in a store, jobs on two cores. What is
measured is the CPU time of Spark and its workers together, which other work on the machine hardly
changes; a document's share of it. Beside it:

- **a join** by Spark's own `xpath_boolean`. Its path must be a literal, so the "join" is a row of
  10,000 calls, a few hundred in each job, exploded into the pairs that hold; it takes seconds for a
  document, so it is given few of them, and what the same jobs take for none is left out: planning
  such a query takes long as well. Its pairs are compared with ours.
- **a parse**: a job that reads the same files into Arrow batches, parses each document as a bare
  expat does, without telling anybody, and gives back a row for each.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.baselines import spark_session
from bench.figure import Figure
from bench.processes import cpu_seconds
from tidegate.documents.reading import expat
from tidegate.documents.reading.parse_kernels import parse_bare
from tidegate.documents.reading.reader import Reader
from tidegate.documents.reading.rows import rows_of
from tidegate.pipeline import Store
from tidegate.pipeline.bases import compile_job
from tidegate.pipeline.kinds.documents import Documents
from tidegate.pipeline.matching.match import match

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

PATTERNS = 10_000
COUNTED = 40_000  # documents, in eight files
PAIRED = 2_000  # documents whose 3,500 matches each are delivered
JOINED = 8  # documents that the join is given
CALLS = 250  # of `xpath_boolean`, in one job
ROUNDS = 3
TIMES = 1_000
SHARE = 0.5

_FOUND = "event bigint, matches bigint, version bigint, error string"


def figures(documents: Sequence[bytes], texts: Sequence[str]) -> Iterator[Figure]:
    """Counts beside a parse, pairs beside a join."""
    with tempfile.TemporaryDirectory() as folder, spark_session(2) as spark:
        case = _Case(spark, Path(folder), documents, texts[:PATTERNS])
        yield from case.beside_a_parse()
        yield from case.beside_a_join()


class _Case:
    def __init__(
        self, spark: SparkSession, place: Path, documents: Sequence[bytes], texts: Sequence[str]
    ) -> None:
        self._spark, self._texts = spark, texts
        self._store = Store.create(place / "store", kind="xml")
        ids = [f"p{number}" for number in range(len(texts))]
        self._store.add_many(pa.table({"id": ids, "filter": list(texts)}))
        compile_job.compile_base(self._store, spark, Documents(), self._store.version())
        self._many = self._written(place / "many", documents, COUNTED)
        self._some = self._written(place / "some", documents, PAIRED)
        self._few = self._written(place / "few", documents, JOINED)
        self._java = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]

    def _written(self, place: Path, documents: Sequence[bytes], count: int) -> DataFrame:
        place.mkdir()
        bodies = pa.array([documents[n % len(documents)] for n in range(count)], pa.binary())
        table = pa.table({"event": np.arange(count), "body": bodies})
        for part, start in enumerate(range(0, count, max(1, count // 8))):
            pq.write_table(table.slice(start, max(1, count // 8)), place / f"{part}.parquet")
        return self._spark.read.parquet(str(place))

    def _matched(self, events: DataFrame, output: str) -> DataFrame:
        return match(events, self._store, document="body", output=output)  # type: ignore[arg-type]

    def beside_a_parse(self) -> Iterator[Figure]:
        """Counting all matches, and a job that only parses."""
        work = self._matched(self._many, "counts")
        parse = self._many.mapInArrow(_parse, _FOUND)
        times = [(self._seconds(work), self._seconds(parse)) for _ in range(ROUNDS + 1)][1:]
        ours, theirs = (median(column) / COUNTED * 1e6 for column in zip(*times, strict=True))
        ratio = median(parsed / matched for matched, parsed in times)
        yield Figure(
            f"xml: {PATTERNS:,} paths on Spark, counts beside a parse",
            ours,
            theirs,
            ratio,
            "µs of CPU a document",
            f"{COUNTED:,} documents from Parquet",
            f"at least {SHARE:g} of the speed of a job that only parses",
            ratio >= SHARE,
        )

    def beside_a_join(self) -> Iterator[Figure]:
        """Delivering all pairs, and a join by `xpath_boolean`."""
        found = {
            (row.event, row.subscription)
            for row in self._matched(self._few, "pairs").select("event", "subscription").collect()
        }
        _, planning = self._joined(self._few.where("event < 0"))
        joined, seconds = self._joined(self._few)
        assert found == joined
        theirs = (seconds - planning) / JOINED * 1e6
        for output in ("pairs", "counts"):
            work = self._matched(self._some, output)
            self._seconds(work)
            ours = median(self._seconds(work) for _ in range(ROUNDS)) / PAIRED * 1e6
            yield Figure(
                f"xml: {PATTERNS:,} paths on Spark, {output} beside a join by xpath_boolean",
                ours,
                theirs,
                theirs / ours,
                "µs of CPU a document",
                f"{len(found) / JOINED:,.0f} matches a document; ours on {PAIRED:,} documents, the "
                f"join on {JOINED}",
                f"at least {TIMES:,} times the join",
                theirs / ours >= TIMES,
            )

    def _joined(self, events: DataFrame) -> tuple[set[tuple[int, str]], float]:
        """The pairs of events and patterns by `xpath_boolean`, and the CPU time that takes."""
        found: set[tuple[int, str]] = set()
        before = cpu_seconds([self._java])
        for start in range(0, len(self._texts), CALLS):
            calls = ", ".join(
                f'IF(xpath_boolean(CAST(body AS STRING), "{text}"), "p{start + n}", NULL)'
                for n, text in enumerate(self._texts[start : start + CALLS])
            )
            pairs = events.selectExpr("event", f"explode(array_compact(array({calls}))) AS id")
            found.update((row.event, row.id) for row in pairs.collect())
        return found, cpu_seconds([self._java]) - before

    def _seconds(self, job: DataFrame) -> float:
        """The CPU time of a job that writes to nowhere."""
        before = cpu_seconds([self._java])
        job.write.format("noop").mode("overwrite").save()
        return cpu_seconds([self._java]) - before


def _parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a task does that only parses."""
    functions = Reader()._functions
    for batch in batches:
        rows = rows_of(batch.column("body"))
        good = parse_bare(rows.addresses, rows.lengths, functions, expat.SALT)
        assert good == len(batch)
        nothing = pa.array(np.zeros(len(batch), np.int64))
        yield pa.RecordBatch.from_arrays(
            [batch.column("event"), nothing, nothing, pa.nulls(len(batch), pa.string())],
            names=["event", "matches", "version", "error"],
        )
