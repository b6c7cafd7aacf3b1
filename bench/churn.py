"""Does an index grow while everything in it is replaced again and again?

What is reported is the memory after one, ten and fifty replacements of everything: that of the
process, as the operating system sees it, and in a second run what `tracemalloc` counts, which slows
Python down. Each run has a process of its own. The baseline is the memory after the first
replacement: the ratio should stay near 1, but for caches that fill up to their bounds
(docs/engine.md). A store that is followed is a matcher as a worker has it, over a thousand versions
that another process writes, without Spark.

`TIDEGATE_CHURN` in the environment is how many subscriptions there are; 1,500 if it is not given.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import tempfile
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import tidegate as tg
from bench.figure import Figure
from tidegate.engine.index import Index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tidegate.pipeline.store.store import Store

    Turn = Callable[[int], object]

SIZE = int(os.environ.get("TIDEGATE_CHURN", "1500"))
TURNS = (1, 10, 50)
STEP = 20  # versions of a store in which all its subscriptions change: a thousand in all
EVENTS = pa.table({"symbol": ["S1", "S2"], "price": [1.0, 2.0]})
GROWTH = 48  # MB: what caches may take, beside twice what is there
TEXT = "symbol = :symbol AND price < :limit"


def run() -> Iterator[Figure]:
    """Each way to replace everything, by what the system sees and by what Python counts."""
    for name in WAYS:
        for traced in (False, True):
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                sizes = pool.submit(measure, name, traced).result()
            for turn, size in zip(TURNS[1:], sizes[1:], strict=True):
                yield _figure(name, turn, traced, size, sizes[0])


def _figure(name: str, turn: int, traced: bool, size: float, first: float) -> Figure:
    what = "memory that Python counts" if traced else "memory of the process"
    return Figure(
        f"churn, {SIZE:,} {name}, {what} after {turn} replacements",
        size,
        first,
        first / size,
        "MB",
        note="baseline: after the first one",
        aim=f"at most {GROWTH} MB more",
        met=size - first <= GROWTH,
    )


def measure(name: str, traced: bool) -> list[float]:
    """The megabytes after some turns of a way to replace everything."""
    with tempfile.TemporaryDirectory() as folder:
        turn = WAYS[name](Path(folder))
        turn(0)
        if traced:
            tracemalloc.start(1)
        sizes = []
        for number in range(1, TURNS[-1] + 1):
            turn(number)
            if number in TURNS:
                gc.collect()
                sizes.append((tracemalloc.get_traced_memory()[0] if traced else _resident()) / 1e6)
        return sizes


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _replacing(text: Callable[[int], str]) -> Callable[[Path], Turn]:
    """Old subscriptions are removed and new ones added, one by one; then a batch is matched."""

    def start(folder: Path) -> Turn:
        index = Index()

        def turn(number: int) -> None:
            for i in range(number * SIZE, (number + 1) * SIZE):
                if i - SIZE in index:
                    index.remove(i - SIZE)
                own = text(i)
                given = {"symbol": f"S{i}", "limit": i + 0.5} if own == TEXT else {}
                index.add(i, own, **given)
            index.match_batch(EVENTS)
            assert len(index) == SIZE

        return turn

    return start


def _updating(folder: Path) -> Turn:
    index = Index()
    for i in range(SIZE):
        index.add(i, TEXT, symbol=f"S{i}", limit=i + 0.5)

    def turn(number: int) -> None:
        for i in range(SIZE):
            index.update(i, symbol=f"T{number}-{i}", limit=number + i / 100)
        index.match_batch(EVENTS)

    return turn


def _in_bulk(folder: Path) -> Turn:
    index = Index()

    def turn(number: int) -> None:
        ids = range(number * SIZE, (number + 1) * SIZE)
        if number:
            index.remove_many(range((number - 1) * SIZE, number * SIZE))
        columns = {"id": ids, "symbol": [f"S{i}" for i in ids], "limit": [i + 0.5 for i in ids]}
        index.add_many(pa.table(columns), filter=TEXT)
        index.match_batch(EVENTS)

    return turn


def _written(folder: Path) -> Turn:
    """A store that is open for long in the process that changes it."""
    store = _new_store(folder)

    def turn(number: int) -> None:
        for step in range(STEP):
            _change(store, number, step)

    return turn


def _followed(folder: Path) -> Turn:
    """The matcher of a worker; the store is changed by another process, as in life."""
    from tidegate.pipeline.bases import catalog
    from tidegate.pipeline.bases.shard_builder import ROWS, Builder
    from tidegate.pipeline.kinds.attributes import Attributes
    from tidegate.pipeline.matching.matcher import TAIL, kept_matcher

    store = _new_store(folder)
    version, schema = store.version(), store.schema
    assert schema is not None
    state = store.subscriptions().sort_by("id").select(ROWS.names)
    kind = Attributes(schema)
    builder = Builder(store.path, catalog.new_name(version, kind), version, kind)
    base = catalog.publish(store.path, builder.base([builder.shard(0, [state])], None, time.time()))
    events = EVENTS.to_batches()[0]
    writer = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    path = store.path
    del store

    def turn(number: int) -> None:
        for step in range(STEP):
            version = writer.submit(_change_there, path, number, step).result()
            found = kept_matcher(path, base.name, version)
            read = found.kind.read(events)
            for shard, _ in found.visits(read):
                read.met(found.part(shard).index)
            assert len(found.part(TAIL).index) <= SIZE

    return turn


def _new_store(folder: Path) -> Store:
    from tidegate.pipeline.store.store import Store

    store = Store.create(folder / "store", tg.Schema({"symbol": "string", "price": "double"}))
    rules = {
        "id": [f"i{i}" for i in range(SIZE)],
        "filter": [TEXT] * SIZE,
        "symbol": [f"S{i}" for i in range(SIZE)],
        "limit": [i + 0.5 for i in range(SIZE)],
    }
    store.add_many(pa.table(rules))
    return store


def _change(store: Store, number: int, step: int) -> int:
    """Change one of `STEP` parts of the subscriptions; the version that has it."""
    each = max(SIZE // STEP, 1)
    some = range(step * each, (step + 1) * each)
    symbols = [f"T{number}-{i}" for i in some]
    return store.update_many(pa.table({"id": [f"i{i}" for i in some], "symbol": symbols}))


def _change_there(path: str, number: int, step: int) -> int:
    """`_change`, in a process that has the store open from the first call on."""
    from tidegate.pipeline.store.store import Store

    if path not in _open:
        _open[path] = Store.open(path)
    return _change(_open[path], number, step)


_open: dict[str, Store] = {}


def _forwarding(folder: Path) -> Turn:
    """Two brokers, and a client of the first whose subscriptions are replaced."""
    from tidegate.overlay.attributes import Attributes
    from tidegate.overlay.broker import Broker
    from tidegate.overlay.messages import Change, Entry, Input, LinkUp, Publish, Send
    from tidegate.overlay.policy import Choice

    kind = Attributes()
    brokers = {name: Broker(name, kind, Choice("covering")) for name in ("a", "b")}

    def tell(broker: str, link: str, message: Input) -> None:
        for effect in brokers[broker].handle(link, message):
            if isinstance(effect, Send) and effect.link in brokers:
                tell(effect.link, broker, effect.message)

    tell("a", "b", LinkUp(client=False))
    tell("b", "a", LinkUp(client=False))
    tell("a", "ann", LinkUp(client=True))

    def turn(number: int) -> None:
        ids = range(number * SIZE, (number + 1) * SIZE)
        gone = tuple(range((number - 1) * SIZE, number * SIZE)) if number else ()
        for first in range(0, SIZE, STEP):
            here = slice(first, first + STEP)
            texts = {i: f"symbol = 'S{i}' AND price < {i}.5 AND a{i} > {i}" for i in ids[here]}
            new = tuple(Entry(i, kind.parse(text)) for i, text in texts.items())
            seq = number * -(-SIZE // STEP) + first // STEP + 1
            tell("a", "ann", Change(seq, add=new, remove=gone[here]))
        tell("a", "ann", Publish(number + 1, {"symbol": f"S{ids[0]}", "price": 1.0}))
        assert all(len(broker.routing.wanted) == SIZE for broker in brokers.values())

    return turn


WAYS: dict[str, Callable[[Path], Turn]] = {
    "subscriptions of one text": _replacing(lambda i: TEXT),
    "subscriptions with constants of their own": _replacing(
        lambda i: f"symbol = 'S{i}' AND price < {i}.5 AND volume > {i}"
    ),
    "subscriptions with attributes of their own": _replacing(
        lambda i: f"a{i} = 'x{i}' AND b{i} < {i}"
    ),
    "subscriptions in bulk": _in_bulk,
    "updates": _updating,
    "subscriptions of two brokers": _forwarding,
    f"subscriptions of a store that is written, {STEP} versions each": _written,
    f"subscriptions of a store that is followed, {STEP} versions each": _followed,
}
