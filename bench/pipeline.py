"""How much of Spark's speed is left when it matches?

Jobs on two cores, by the clock on the wall, from Parquet. Beside each, the same job without a
matcher (**pass-through**: the same events in, as many rows of the same columns out, made up), and
the best join in Spark SQL that delivers the same. Every job runs once on few events before, so that
its workers are there and have mapped the index; what that takes is a figure of its own.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.baselines import SparkJoin, spark_session
from bench.figure import Figure
from bench.processes import private_memory
from tidegate.lab.workloads.matching import PADRES_B, padres
from tidegate.lab.workloads.trade import Trade, narrowed, trade
from tidegate.pipeline import Store
from tidegate.pipeline.bases import catalog, compile_job
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.matching.match import match, plan
from tidegate.pipeline.matching.run import Run, Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from tidegate.lab.workloads.matching import Padres

SEED = 11
RULES = 1_000_000  # of trade
CONJUNCTIONS = 200_000  # of padres-b
COUNTED = 2_000_000  # events of trade that are counted
LISTED = 50_000  # events of trade whose 840 matches are delivered
SPARSE = 1_000_000  # events of trade with few matches
FEW = 20_000  # events of padres-b that are counted
PAIRED = 600  # events of padres-b whose 11,000 matches are delivered
LOOPED = 100  # events for nested loops
CHANGES = 100_000  # of the tail
CHECKED = 200  # events whose notifications are compared with a join's
NARROWER = 85  # times, for about ten matches per event


def run() -> Iterator[Figure]:
    """Trade, sparse trade, padres-b; then a tail of changes and the workers' memory."""
    with tempfile.TemporaryDirectory() as folder, spark_session(2) as spark:
        place = Path(folder)
        rules = Case(spark, place / "trade", "trade", trade(RULES, SEED), COUNTED)
        yield from rules.compiled()
        yield from rules.counts(least=100_000)
        yield rules.shared_memory()
        yield from rules.delivered("lists", LISTED)
        yield from rules.delivered("pairs", LISTED)
        yield from rules.with_tail()
        rules.forget()
        few = Case(
            spark, place / "sparse", "sparse", narrowed(trade(RULES, SEED), NARROWER), SPARSE
        )
        yield few.sparse()
        few.forget()
        conjunctions = Case(
            spark, place / "padres", "padres-b", padres(CONJUNCTIONS, PADRES_B, SEED), FEW
        )
        yield from conjunctions.counts(times=100)
        yield from conjunctions.delivered("lists", PAIRED)
        yield from conjunctions.delivered("pairs", PAIRED)


class Case:
    """A workload in a store, and events of it in a Parquet folder."""

    def __init__(
        self,
        spark: SparkSession,
        place: Path,
        name: str,
        workload: Trade | Padres,
        events: int,
    ) -> None:
        self.spark, self.place, self.workload = spark, place, workload
        self.title = f"{name}, {len(workload):,} subscriptions"
        self.store = Store.create(place / "store", workload.schema)
        if isinstance(workload, Trade):
            table = workload.table()
            ids = table["id"].cast(pa.string())
            self.store.add_many(table.set_column(table.column_names.index("id"), "id", ids))
        else:
            texts = [str(filter) for filter in workload.filters()]
            ids = [f"s{number}" for number in range(len(texts))]
            self.store.add_many(pa.table({"id": ids, "filter": texts}))
        drawn = workload.events(events)
        drawn = drawn.append_column("event", pa.array(np.arange(len(drawn))))
        (place / "events").mkdir()
        half = -(-len(drawn) // 8)
        for part in range(8):
            pq.write_table(drawn.slice(part * half, half), place / f"events/{part}.parquet")
        started = time.perf_counter()
        compile_job.compile_base(
            self.store, spark, Attributes(workload.schema), self.store.version()
        )
        self.compile_seconds = time.perf_counter() - started
        self.check()

    def events(self, count: int | None = None) -> DataFrame:
        """The events, or so many of them in eight files of their own."""
        if count is None:
            return self.spark.read.parquet(str(self.place / "events"))
        place = self.place / f"events-{count}"
        if not place.exists():
            place.mkdir()
            drawn = self.workload.events(count, seed=1)
            drawn = drawn.append_column("event", pa.array(np.arange(count)))
            part = -(-count // 8)
            for number in range(8):
                pq.write_table(drawn.slice(number * part, part), place / f"{number}.parquet")
        return self.spark.read.parquet(str(place))

    def check(self) -> None:
        """Compare the notifications of some events with what a join finds."""
        few = self.workload.events(CHECKED)
        events = self.spark.createDataFrame(few.append_column("event", pa.array(range(CHECKED))))
        found = match(events, self.store, columns=["event"]).select("event", "subscription")
        ours = Counter(found.toArrow()["event"].to_pylist())
        with tempfile.TemporaryDirectory() as folder:
            rows, _ = SparkJoin(self.spark, self.workload.ranges, Path(folder)).pairs(
                self.workload.points(few)
            )
        assert ours == Counter(rows.tolist()), "the join finds something else"

    def compiled(self) -> Iterator[Figure]:
        """From the store's files to an index that workers can map."""
        yield Figure(f"{self.title}, compile", self.compile_seconds, None, None, "s")

    def counts(self, least: float | None = None, times: float | None = None) -> Iterator[Figure]:
        """Matches per event, as rows that go nowhere."""
        events = self.events()
        count = events.count()
        ours = count / self._seconds(
            lambda few: match(few, self.store, output="counts", columns=["event"]), events
        )
        passed = count / self._seconds(lambda few: few.mapInArrow(_count_nothing, _COUNTED), events)
        yield Figure(
            f"{self.title}, counts",
            ours,
            passed,
            ours / passed,
            "events/s",
            note="baseline: pass-through",
            aim="" if least is None else f"at least {least:,.0f}",
            met=least is None or ours >= least,
        )
        joined = self._joined(LOOPED if times is not None else FEW, counted=True)
        yield Figure(
            f"{self.title}, counts beside a join",
            ours,
            joined,
            ours / joined,
            "events/s",
            note="baseline: a join that counts",
            aim="" if times is None else f"at least {times:g} times the join",
            met=times is None or ours >= times * joined,
        )

    def delivered(self, form: Any, count: int) -> Iterator[Figure]:
        """Notifications as Parquet."""
        ours, passed, matches = self._delivered(form, self.events(count), count)
        note = f"{matches:,.0f} matches per event, to Parquet"
        yield Figure(
            f"{self.title}, {form}",
            ours,
            passed,
            ours / passed,
            "events/s",
            note=f"{note}; baseline: pass-through",
            aim="at least 0.7 of the pass-through",
            met=ours >= 0.7 * passed,
        )
        joined = self._joined(LOOPED if matches > 5_000 else LISTED // 10, counted=False, form=form)
        yield Figure(
            f"{self.title}, {form} beside a join",
            ours,
            joined,
            ours / joined,
            "events/s",
            note=f"{note}; baseline: a join that delivers the same",
            aim="at least 10 times the join",
            met=ours >= 10 * joined,
        )

    def _delivered(self, form: Any, events: DataFrame, count: int) -> tuple[float, float, float]:
        """Events per second to Parquet, ours and of a pass-through; and matches per event."""
        out = str(self.place / "out")
        ours = count / self._seconds(
            lambda few: match(few, self.store, output=form, columns=["event"]), events, out
        )
        rows = self.spark.read.parquet(out)
        matches = rows.count() / count if form == "pairs" else _mean_length(rows)
        shutil.rmtree(out)
        echo = _Echo(form, round(matches))
        schema = rows.schema
        passed = count / self._seconds(lambda few: few.mapInArrow(echo, schema), events, out)
        shutil.rmtree(out)
        return ours, passed, matches

    def sparse(self) -> Figure:
        """Pairs to Parquet where few want an event."""
        ours, passed, matches = self._delivered("pairs", self.events(), SPARSE)
        return Figure(
            f"{self.title}, pairs",
            ours,
            passed,
            ours / passed,
            "events/s",
            note=f"{matches:.1f} matches per event, Parquet to Parquet; baseline: pass-through",
            aim="at least 100,000",
            met=ours >= 100_000,
        )

    def with_tail(self) -> Iterator[Figure]:
        """The same counts with a tail of changes that no base has."""
        events = self.events()

        def counted(few: DataFrame) -> DataFrame:
            return match(few, self.store, output="counts", columns=["event"], version=version)

        version = self.store.version()
        before = COUNTED / self._seconds(counted, events)
        assert isinstance(self.workload, Trade)
        chosen = np.random.default_rng(SEED).permutation(RULES)[:CHANGES]
        table = self.workload.table()
        moved = pa.table(
            {
                "id": table["id"].take(chosen).cast(pa.string()),
                "low": pa.array(self.workload.lows[chosen] / 100 + 0.5),
                "high": pa.array(self.workload.highs[chosen] / 100 + 0.5),
            }
        )
        started = time.perf_counter()
        version = self.store.update_many(moved)
        committed = time.perf_counter() - started
        yield Figure(f"{self.title}, commit of {CHANGES:,} updates", committed, None, None, "s")
        started = time.perf_counter()
        _to_nowhere(_tailed(events.limit(100), self.store, version))
        first = time.perf_counter() - started
        after = COUNTED / self._seconds(lambda few: _tailed(few, self.store, version), events)
        yield Figure(
            f"{self.title}, counts with a tail of {CHANGES:,} changes",
            after,
            before,
            after / before,
            "events/s",
            note=f"baseline: without; the first task took {first:.1f} s to apply it",
            aim="at least 0.8 of the throughput without",
            met=after >= 0.8 * before,
        )

    def shared_memory(self) -> Figure:
        """What a worker has for itself after matching."""
        _to_nowhere(match(self.events(1_000), self.store, output="counts", columns=["event"]))
        return private_memory(self.title, Path(self.store.path) / "bases")

    def forget(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.place)

    def _joined(self, count: int, *, counted: bool, form: str = "pairs") -> float:
        """Events per second of the best join."""
        few = self.workload.events(count)
        with tempfile.TemporaryDirectory() as folder:
            join = SparkJoin(self.spark, self.workload.ranges, Path(folder))
            found = join.prepare(self.workload.points(few))
            if counted:
                found = found.groupBy("event").count()
            else:
                found = found.selectExpr("event", "concat('s', id) AS subscription",
                                         "concat('s', id) AS subscriber")  # fmt: skip
            if form == "lists":
                found = found.groupBy("event").agg(
                    {"subscription": "collect_list", "subscriber": "collect_list"}
                )
            started = time.perf_counter()
            if counted:
                _to_nowhere(found)
            else:
                found.write.parquet(f"{folder}/out")
            return count / (time.perf_counter() - started)

    def _seconds(
        self, job: Callable[[DataFrame], DataFrame], events: DataFrame, out: str | None = None
    ) -> float:
        """How long a job takes; the workers have seen some events before."""
        _to_nowhere(job(events.limit(1_000)))
        _to_nowhere(job(self.events(1_000)))
        found = job(events)
        started = time.perf_counter()
        if out is None:
            _to_nowhere(found)
        else:
            found.write.mode("overwrite").parquet(out)
        return time.perf_counter() - started


_COUNTED = "event bigint, matches bigint, version bigint, error string"


def _tailed(events: DataFrame, store: Store, version: int) -> DataFrame:
    """Counts at a version whose changes are all in the tail."""
    assert store.schema is not None
    kind = Attributes(store.schema, declared=True)
    base = catalog.newest(store.path, catalog.fingerprint(kind), version)
    assert base is not None
    wanted = Wanted(store=store.path, kind=kind, output="counts", columns=("event",), corrupt=None)
    return plan(events, Run(wanted=wanted, version=version, base=base.name))


def _to_nowhere(found: DataFrame) -> None:
    found.write.format("noop").mode("overwrite").save()


def _mean_length(rows: DataFrame) -> float:
    return float(rows.selectExpr("avg(size(subscriptions)) AS mean").collect()[0]["mean"])


def _count_nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        event = batch.column("event")
        zero = pa.array(np.zeros(len(event), np.int64))
        nothing = pa.nulls(len(event), pa.string())
        names = ["event", "matches", "version", "error"]
        yield pa.RecordBatch.from_arrays([event, zero, zero, nothing], names)


class _Echo:
    """Gives every event as many made-up notifications as it has on average."""

    def __init__(self, form: str, matches: int) -> None:
        self._form = form
        self._matches = matches

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names = pa.array([f"s{number}" for number in range(200_000)])
        random = np.random.default_rng(1)
        step = max(64, 500_000 // max(self._matches, 1))
        for whole in batches:
            for start in range(0, len(whole), step):
                yield self._notified(whole.slice(start, step), names, random)

    def _notified(
        self, batch: pa.RecordBatch, names: pa.Array, random: np.random.Generator
    ) -> pa.RecordBatch:
        size = len(batch) * self._matches
        ids = names.take(pa.array(random.integers(0, len(names), size)))
        event = batch.column("event")
        found: list[pa.Array]
        if self._form == "pairs":
            event = event.take(pa.array(np.repeat(np.arange(len(batch)), self._matches)))
            found, columns = [ids, ids], ["subscription", "subscriber"]
        else:
            ends = pa.array(np.arange(len(batch) + 1, dtype=np.int32) * self._matches)
            kind = pa.list_(pa.field("element", pa.string()))
            lists = pa.ListArray.from_arrays(ends, ids, type=kind)
            found, columns = [lists, lists], ["subscriptions", "subscribers"]
        version = pa.array(np.ones(len(event), np.int64))
        return pa.RecordBatch.from_arrays(
            [event, *found, version, pa.nulls(len(event), pa.string())],
            ["event", *columns, "version", "error"],
        )
