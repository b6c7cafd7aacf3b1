"""How well are subscriptions split into shards?

By the plan that a compilation makes, from a sample of the subscriptions and of past events, beside
a random split. Fresh events tell how many shards an event visits, and how much each shard has to
do: the load of a shard is what it finds, the number of notifications for these events. All of it is
done in this process; times are CPU seconds. `python -m bench.scale_split` prints the figures.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import tidegate as tg
from bench.figure import Figure, timed
from tidegate.lab.workloads.matching import PADRES_B, padres
from tidegate.lab.workloads.trade import trade
from tidegate.pipeline import Store
from tidegate.pipeline.bases.summary_index import summary_index, visited
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.shards import shard_plan
from tidegate.pipeline.shards.summaries import summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tidegate.pipeline.shards.shard_plan import Plan

SEED = 11
RULES = 1_000_000  # of trade
CONJUNCTIONS = 20_000  # of padres-b, whose texts take a millisecond each to parse
THINNED = 200_000  # subscriptions whose random split is looked at
SHARDS = 16
OTHERS = (4, 64, 256)
SAMPLED = 200_000  # subscriptions that the plan is made of
PAST = 20_000  # events that the plan is made of
FRESH = 5_000  # events that it is measured by
VISITS = 2.0  # of shards, by an event of trade
LOAD = 1.5  # of the largest shard, in means


def figures() -> Iterator[Figure]:
    """Trade, and padres-b, where locality is poor."""
    rules = _Case("trade", trade(RULES, SEED))
    yield from rules.figures(visits=VISITS, load=LOAD)
    yield from rules.growth()
    del rules
    yield from _Case("padres-b", padres(CONJUNCTIONS, PADRES_B, SEED)).figures()


@dataclass(frozen=True)
class _Split:
    """What came of a plan."""

    visits: float  # of an event
    load: float  # of the largest shard, in means
    size: float  # of the largest shard, in means
    filters: int  # of all summaries
    planning: float = 0.0  # CPU seconds
    seconds: float = 0.0  # to place and summarise all


class _Case:
    def __init__(self, name: str, workload: Any) -> None:
        self.title = f"{name}, {len(workload):,} subscriptions"
        self._schema: tg.Schema = workload.schema
        self._kind = Attributes(self._schema)
        rows = _stored(workload)
        self._ids, self._filters, self._parameters = rows
        self._past = workload.events(PAST, seed=5)
        self._fresh = workload.events(FRESH, seed=6)
        with timed() as watch:
            index = tg.Index(self._schema)
            self._kind.add(index, pa.array(np.arange(len(self._ids))), *rows[1:])
            _, self._found = self._kind.read(self._fresh).met(index)
        self._seconds = watch.seconds

    def figures(self, visits: float | None = None, load: float | None = None) -> Iterator[Figure]:
        """The plan beside a random split, and what it costs."""
        ours = self._planned(SHARDS)
        random = shard_plan.scattered(SHARDS)
        placed = random.shards(self._ids, self._filters, self._parameters)
        thin = np.where(np.arange(len(placed)) % max(len(placed) // THINNED, 1) == 0, placed, -1)
        beside = self._split(placed, self._summaries(random, thin.astype(np.int32)))
        yield Figure(
            f"{self.title}, {SHARDS} shards, shards visited by an event", ours.visits,
            beside.visits, beside.visits / ours.visits, "shards",
            note="baseline: a random split, at least, as summaries of "
            f"{min(THINNED, len(self._ids)):,} tell; {ours.filters:,} filters in all of ours",
            aim="" if visits is None else f"at most {visits:g}",
            met=visits is None or ours.visits <= visits,
        )  # fmt: skip
        yield Figure(
            f"{self.title}, {SHARDS} shards, load of the largest shard", ours.load, beside.load,
            None, "means", note="baseline: a random split",
            aim="" if load is None else f"at most {load:g}",
            met=load is None or ours.load <= load,
        )  # fmt: skip
        yield Figure(
            f"{self.title}, {SHARDS} shards, subscriptions of the largest shard", ours.size,
            beside.size, None, "means", note="baseline: a random split",
        )  # fmt: skip
        each = 1e6 / len(self._ids)
        yield Figure(
            f"{self.title}, {SHARDS} shards, placed and summarised", ours.seconds * each,
            self._seconds * each, self._seconds / ours.seconds, "µs each",
            note=f"baseline: building one index of them; the plan took {ours.planning:.1f} s",
        )  # fmt: skip

    def growth(self) -> Iterator[Figure]:
        """More and fewer shards."""
        for count in OTHERS:
            found = self._planned(count)
            yield Figure(
                f"{self.title}, {count} shards, shards visited by an event", found.visits, None,
                None, "shards",
                note=f"{found.filters:,} filters in all summaries, load of the largest "
                f"{found.load:.2f} means; the plan took {found.planning:.1f} s",
            )  # fmt: skip

    def _planned(self, count: int) -> _Split:
        """The plan for so many shards, from a sample, and what comes of it."""
        some = pa.array(np.random.default_rng(SEED).permutation(len(self._ids))[:SAMPLED])
        few = self._filters.take(some), self._parameters.take(some)
        with timed() as watch:
            plan = shard_plan.plan(*few, self._schema, count, self._past)
        planning = watch.seconds
        with timed() as watch:
            where = plan.shards(self._ids, self._filters, self._parameters)
            filters = self._summaries(plan, where)
        return replace(self._split(where, filters), planning=planning, seconds=watch.seconds)

    def _summaries(self, plan: Plan, where: NDArray[np.int32]) -> list[list[str]]:
        found = []
        for shard in range(plan.count):
            rows = pa.array(np.flatnonzero(where == shard))
            own = summary(self._filters.take(rows), self._parameters.take(rows), self._schema, plan)
            found.append([str(f) for f in own])
        return found

    def _split(self, where: NDArray[np.int32], filters: list[list[str]]) -> _Split:
        count = len(filters)
        seen = visited(summary_index(filters, self._kind), count, self._kind.read(self._fresh))
        load = np.bincount(where[self._found], minlength=count)
        size = np.bincount(where, minlength=count)
        return _Split(
            float(seen.sum() / FRESH),
            float(load.max() / load.mean()),
            float(size.max() / size.mean()),
            sum(map(len, filters)),
        )


def _stored(workload: Any) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The ids, filters and parameters of subscriptions, as a store has them."""
    table = workload.table()
    ids = table["id"].cast(pa.string())
    with tempfile.TemporaryDirectory() as folder:
        store = Store.create(Path(folder) / "store", workload.schema)
        store.add_many(table.set_column(table.column_names.index("id"), "id", ids))
        rows = store.subscriptions()
        return tuple(rows[name].combine_chunks() for name in ("id", "filter", "parameters"))


if __name__ == "__main__":
    for figure in figures():
        print(figure, flush=True)
