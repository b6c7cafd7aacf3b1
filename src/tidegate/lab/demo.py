"""A trading day on Spark: many alert rules, a stream of trades, and rules that change meanwhile.

For people who want to see it work. A store gets the rules of `lab.workloads.trade`; a day of trades
is streamed through local Spark in micro-batches; a thread moves thresholds of thousands of rules at
a time, and adds and removes rules. What is printed in the end is read back from what was written:
the versions that the micro-batches used, one notification with the rule as it was at its version,
and a check of one micro-batch against Spark SQL.
"""

import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.rule import Rule

import tidegate as tg
from tidegate.console import waiting
from tidegate.filters.literals import spell
from tidegate.lab.workloads.trade import Trade, trade
from tidegate.pipeline.bases.catalog import fingerprint
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.matching.sinks import NOTIFICATIONS, ParquetFolder
from tidegate.pipeline.matching.stream import match_stream
from tidegate.pipeline.progress.steps import Watch, rate
from tidegate.pipeline.progress.stream import Followed, follow, lag
from tidegate.pipeline.progress.tally import added
from tidegate.pipeline.spark.session import session
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from tidegate.pipeline.store.store import StoredSubscription

RULES: Final = 100_000
EVENTS: Final = 60_000
BATCHES: Final = 15
SAMPLE: Final = 200  # rules that are checked
SEED: Final = 2026

_OPENS: Final = datetime(2026, 1, 5, 14, 30)  # in UTC: half past nine in New York
_DAY: Final = timedelta(hours=6.5)
_PAUSE: Final = 3.0  # seconds between changes
_KINDS: Final = ("moved", "added", "removed")
_PARAMETER: Final = re.compile(r":(\w+)")


@dataclass(frozen=True)
class Change:
    """A commit that the thread has made."""

    version: int
    when: float
    kind: str
    ids: Sequence[str]


@dataclass
class Traders:
    """Those who change rules while the day goes on, in a thread of their own."""

    store: Store
    workload: Trade
    made: list[Change] = field(default_factory=list)
    error: Exception | None = None

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(SEED)
        self._rules = self.workload.table()
        self._there = np.ones(len(self._rules), bool)
        self._added = 0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Have rules changed until the end of the block."""
        over = threading.Event()
        thread = threading.Thread(target=self._work, args=(over,), name="traders", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        if self.error is not None:
            raise self.error

    def _work(self, over: threading.Event) -> None:
        try:
            while not over.wait(_PAUSE):
                self._move()
                self._add()
                self._remove()
        except Exception as error:
            self.error = error

    def _move(self) -> None:
        """Move the range of prices of some rules by up to 2%."""
        chosen = self._chosen(max(1, len(self._rules) // 50))
        by = 1 + self._random.uniform(-0.02, 0.02, len(chosen))
        rows = self._rules.select(["id", "low", "high"]).take(pa.array(chosen))
        moved = {
            name: pa.array(np.round(rows[name].to_numpy() * by, 2)) for name in ("low", "high")
        }
        table = pa.table({"id": rows["id"], **moved})
        self._note("moved", self.store.update_many(table), rows["id"])

    def _add(self) -> None:
        count = max(1, len(self._rules) // 500)
        table = trade(count, seed=SEED + self._added + 1).table()
        numbers = pa.array(np.arange(self._added, self._added + count)).cast(pa.string())
        ids = pc.binary_join_element_wise("new", numbers, "-")
        self._added += count
        self._note("added", self.store.add_many(table.set_column(0, "id", ids)), ids)

    def _remove(self) -> None:
        chosen = self._chosen(max(1, len(self._rules) // 500))
        ids = self._rules["id"].take(pa.array(chosen))
        self._there[chosen] = False
        self._note("removed", self.store.remove_many(ids), ids)

    def _chosen(self, count: int) -> Any:
        return self._random.choice(np.flatnonzero(self._there), count, replace=False)

    def _note(self, kind: str, version: int, ids: Any) -> None:
        self.made.append(Change(version, time.time(), kind, ids.to_pylist()))


def demo(
    out: Console,
    *,
    rules: int = RULES,
    events: int = EVENTS,
    batches: int = BATCHES,
    folder: Path | None = None,
    master: str = "local[*]",
) -> bool:
    """Run it and print what happened; whether the check found what it should."""
    whole = Watch()
    with _place(folder) as place:
        out.print(Rule("A trading day on Spark"))
        workload = trade(rules, seed=SEED)
        store = _registered(out, workload, place)
        days = _day(out, workload, place, events, batches)
        with waiting("starting Spark") as done, session(master, "tidegate demo") as spark:
            done()
            followed, traders = _streamed(out, spark, store, workload, place)
            good = _summary(out, spark, store, place, days, followed, traders)
        out.print(f"\nAll of it took {whole.seconds():.0f} s.", end=" ")
        if folder is None:
            out.print("Everything was in a temporary folder; --folder keeps it.")
        else:
            out.print(f"Everything is in {escape(str(place))}.")
    return good


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    """The folder, or a temporary one."""
    if folder is None:
        place = Path(tempfile.mkdtemp(prefix="tidegate-demo-"))
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise tg.TidegateError(f"{folder} is there already: name a folder that is new or empty")
    folder.mkdir(parents=True, exist_ok=True)
    yield folder.resolve()


def _registered(out: Console, workload: Trade, place: Path) -> Store:
    clock = Watch()
    table = workload.table()
    store = Store.create(place / "subscriptions", workload.schema)
    version = store.add_many(table, message="registered")
    out.print(f"Registered {len(table):,} alert rules in a store in {clock.seconds():.1f} s.")
    out.print(f"They are its version {version}. One of them:")
    out.print(_spelled(store.get(table["id"][0].as_py())))
    return store


def _day(out: Console, workload: Trade, place: Path, events: int, batches: int) -> list[Path]:
    """The trades of a day, in files in the order in which they come."""
    trades = workload.events(events)
    step = _DAY / max(events, 1)
    times = pa.array(
        [_OPENS + step * number for number in range(events)], pa.timestamp("us", "UTC")
    )
    trades = trades.add_column(0, "trade", pa.array(np.arange(events)))
    trades = trades.add_column(1, "time", times)
    folder = place / "events"
    folder.mkdir()
    ends = np.linspace(0, events, min(batches, events) + 1).astype(int)
    files = []
    for number, (start, end) in enumerate(pairwise(ends.tolist())):
        file = folder / f"trades-{number:03d}.parquet"
        pq.write_table(trades.slice(start, end - start), file)
        os.utime(file, (number + 1, number + 1))  # Spark takes the oldest first
        files.append(file)
    out.print(f"Made up a day of {events:,} trades, in {len(files)} files.\n")
    return files


def _streamed(
    out: Console, spark: Any, store: Store, workload: Trade, place: Path
) -> tuple[Followed, Traders]:
    sink = ParquetFolder(place / "notifications")
    source = f"file://{place / 'events'}"
    types = spark.read.parquet(source).schema
    stream = spark.readStream.schema(types).option("maxFilesPerTrigger", 1).parquet(source)
    compiled_for = fingerprint(Attributes(workload.schema))
    traders = Traders(store, workload)
    shown: set[int] = set()
    out.print("Streaming it through Spark, a file in each micro-batch, while rules change.")
    out.print("On its first run a machine compiles the kernels, which takes half a minute or so.\n")
    out.print(
        f"{'batch':>5}  {'trades':>7}  {'notifications':>13}  {'version':>7}  changes until then"
    )

    def tell(followed: Followed) -> None:
        for number in followed.complete():
            if number not in shown:
                shown.add(number)
                out.print(_row(followed, traders, number))
        line.update(f"[dim]{followed.line(lag(store, compiled_for))}[/]", refresh=True)

    with Live(console=out, transient=True, auto_refresh=False) as line:
        query = match_stream(
            stream,
            store,
            sink,
            checkpoint=place / "checkpoint",
            columns=["trade", "symbol", "price"],
            trigger={"availableNow": True},
        )
        with traders.at_work():
            followed = follow(query, sink, tell)
    return followed, traders


def _row(followed: Followed, traders: Traders, number: int) -> str:
    version = followed.versions.get(number)
    before = [change for change in list(traders.made) if change.version <= (version or 0)]
    counts = {kind: sum(len(c.ids) for c in before if c.kind == kind) for kind in _KINDS}
    changes = ", ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
    return (
        f"{number:>5}  {followed.events[number]:>7,}  {followed.found[number].notifications:>13,}  "
        f"{version if version is not None else '-':>7}  {changes or 'none'}"
    )


def _summary(
    out: Console,
    spark: Any,
    store: Store,
    place: Path,
    files: list[Path],
    followed: Followed,
    traders: Traders,
) -> bool:
    """Say what happened, and check it."""
    out.print()
    out.print(Rule("What happened"))
    done = followed.complete()
    if followed.stopped or not done:
        out.print("The stream was stopped before its end.")
        return True
    found = added(followed.found.values())
    total, seconds = sum(followed.events.values()), sum(followed.seconds.values())
    out.print(f"{total:,} trades gave {found.notifications:,} notifications,")
    out.print(
        f"in {len(done)} micro-batches, at {rate(total, seconds)} trades and "
        f"{rate(found.notifications, seconds)} notifications a second."
    )
    _changes(out, followed, traders.made)
    last = done[-1]
    _example(out, store, place, files[last], last, traders.made)
    return _check(out, spark, store, place, files[last], last, followed, traders.made)


def _changes(out: Console, followed: Followed, made: Sequence[Change]) -> None:
    versions = sorted(set(followed.versions.values()))
    count = sum(len(change.ids) for change in made)
    out.print(
        f"Meanwhile there were {count:,} changes of rules, in {len(made)} commits to the store."
    )
    out.print(
        f"The micro-batches used {len(versions)} of its versions, {versions[0]} to {versions[-1]}."
    )
    waits = delays(followed, made)
    for wait in sorted(set(waits)):
        words = {0: "in the micro-batch that was just starting", 1: "in the next micro-batch"}
        where = words.get(wait, f"{wait} micro-batches later")
        out.print(f"  {waits.count(wait):>4} of them showed {where}")
    late = len(made) - len(waits)
    if late:
        out.print(f"  {late:>4} came too late for the last micro-batch")


def delays(followed: Followed, made: Sequence[Change]) -> list[int]:
    """How many micro-batches after the one that was running a change showed, for those that did."""
    found = []
    for change in made:
        running = [n for n, start in followed.started.items() if start <= change.when]
        showing = [n for n, version in followed.versions.items() if version >= change.version]
        if showing:
            found.append(max(0, min(showing) - max(running, default=-1)))
    return found


def _example(
    out: Console, store: Store, place: Path, file: Path, batch: int, made: Sequence[Change]
) -> None:
    """A notification of a rule that had moved, with the rule as it was then."""
    rows = _notified(place, batch)
    version = rows["version"][0].as_py() if len(rows) else 0
    moves: dict[str, list[int]] = {}
    for change in made:
        if change.kind == "moved" and change.version <= version:
            for id in change.ids:
                moves.setdefault(id, []).append(change.version)
    of_moved = rows.filter(pc.is_in(rows["subscription"], pa.array(list(moves), pa.string())))
    if not len(of_moved):
        return
    one = of_moved.slice(len(of_moved) // 2, 1).to_pylist()[0]
    events = pq.read_table(file)
    [event] = events.filter(pc.equal(events["trade"], one["trade"])).to_pylist()
    rule = store.get(one["subscription"], version)
    before = store.get(rule.id, moves[rule.id][-1] - 1)
    values = {name: event[name] for name in store.schema or ()}
    out.print(f"\nOne notification: trade {one['trade']:,} for {rule.id}, of version {version}.")
    out.print(f"  the trade  {escape(_listed(values))}")
    out.print(f"  the rule   {escape(rule.filter)}")
    out.print(f"  then with  {escape(_listed(rule.parameters))}")
    out.print(f"  up to version {moves[rule.id][-1] - 1} with {escape(_listed(before.parameters))}")
    told = tg.parse(rule.filter, store.schema).bind(**rule.parameters).explain(values)
    out.print("\n".join(f"  {escape(line)}" for line in str(told).splitlines()))


def _check(
    out: Console,
    spark: Any,
    store: Store,
    place: Path,
    file: Path,
    batch: int,
    followed: Followed,
    made: Sequence[Change],
) -> bool:
    """Compare one micro-batch with what Spark SQL says of some rules, at the version it used."""
    version = followed.versions.get(batch)
    if version is None:
        out.print(f"\nThere is nothing to check: nobody wanted a trade of batch {batch}.")
        return True
    rules = store.subscriptions(version)
    ids = _sample(rules["id"], made, version)
    chosen = rules.filter(pc.is_in(rules["id"], ids)).to_pylist()
    wanted = sorted(tuple(row) for row in spark.sql(_query(chosen, file)).collect())
    rows = _notified(place, batch)
    rows = rows.filter(pc.is_in(rows["subscription"], ids))
    told = sorted(zip(rows["trade"].to_pylist(), rows["subscription"].to_pylist(), strict=True))
    changed = {id for change in made if change.version <= version for id in change.ids}
    touched = sum(id in changed for id in ids.to_pylist())
    out.print(
        f"\nThe check: batch {batch} once more, in plain Spark SQL, for {len(ids):,} rules as they "
        f"were at version {version},\n{touched:,} of them moved, added or removed by then."
    )
    same = wanted == told
    verdict = "the same" if same else "[bold red]DIFFERENT[/]"
    out.print(
        f"  Spark SQL finds {len(wanted):,} notifications, Tidegate {len(told):,}: {verdict}."
    )
    return same


def _sample(ids: Any, made: Sequence[Change], version: int) -> pa.Array:
    """Rules to check: of every kind of change, and some of all."""
    random = np.random.default_rng(SEED)
    chosen: set[str] = set()
    for kind in _KINDS:
        own = sorted({i for c in made if c.kind == kind and c.version <= version for i in c.ids})
        chosen.update(random.choice(own, min(SAMPLE // 4, len(own)), replace=False).tolist())
    rest = random.choice(len(ids), min(SAMPLE // 4, len(ids)), replace=False)
    chosen.update(ids.take(pa.array(rest)).to_pylist())
    return pa.array(sorted(chosen), pa.string())


def _query(rules: Sequence[Mapping[str, Any]], file: Path) -> str:
    """All rules as conditions of one query."""
    cases = []
    for rule in rules:
        values = dict(rule["parameters"])
        where = _PARAMETER.sub(partial(_value, values), rule["filter"])
        cases.append(f"IF({where}, '{rule['id']}', NULL)")
    array = f"array({', '.join(cases) or 'CAST(NULL AS STRING)'})"
    return f"SELECT trade, explode(array_compact({array})) FROM parquet.`file://{file}`"


def _value(values: Mapping[str, str], found: re.Match[str]) -> str:
    return values[found[1]]


def _notified(place: Path, batch: int) -> pa.Table:
    """The notifications of a batch."""
    folder = place / "notifications" / f"batch={batch:020d}" / f"kind={NOTIFICATIONS}"
    files = sorted(folder.glob("*.parquet"))
    names = ["trade", "subscription", "version"]
    empty = pa.schema(
        {"trade": pa.int64(), "subscription": pa.string(), "version": pa.int64()}
    ).empty_table()
    return pa.concat_tables(
        [empty, *(pq.ParquetFile(file).read(names).cast(empty.schema) for file in files)]
    )


def _spelled(rule: "StoredSubscription") -> str:
    return f"  {rule.id}: {escape(rule.filter)}\n    with {escape(_listed(rule.parameters))}"


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {spell(value)}" for name, value in values.items())
