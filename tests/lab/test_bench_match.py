"""The benchmark of matching, at sizes where it says nothing about speed: it runs, and it checks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import bench.match
import bench.updates
from bench.baselines import BruteForce
from tidegate.engine.index import Index

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {
        "SUBSCRIPTIONS": 300,
        "MANY": 1_000,
        "BATCH": 70,
        "PAIRED": 70,
        "SMALL_BATCH": 20,
        "ROUNDS": 1,
    }
    for name, size in (sizes | {"SCANNED": 70, "LOOPED": 20, "JOINED": 30, "SINGLE": 70}).items():
        monkeypatch.setattr(bench.match, name, size)
    for name, size in {"RULES": 1_000, "BATCH": 50, "BATCHES": 2, "ROUNDS": 1}.items():
        monkeypatch.setattr(bench.updates, name, size)


@pytest.mark.usefixtures("small")
def test_every_figure_is_measured(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def running() -> Iterator["SparkSession"]:
        yield spark

    monkeypatch.setattr(bench.match, "one_core_spark", running)
    figures = list(bench.match.run())
    names = [figure.name for figure in figures]
    assert len(set(names)) == len(names)
    for workload in ("padres-a", "padres-b", "trees", "trade"):
        assert any(name.startswith(workload) for name in names)
    for part in ("DuckDB", "Spark SQL", "p50", "p99", "memory", "build", "open", "two threads"):
        assert any(part in name for name in names), part
    assert all(figure.ours > 0 for figure in figures)


@pytest.mark.usefixtures("small")
def test_a_lost_match_stops_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Index.match_batch
    monkeypatch.setattr(Index, "match_batch", lambda index, batch: whole(index, batch)[:-1])
    with pytest.raises(AssertionError):
        bench.updates.Rules().build()


@pytest.mark.usefixtures("small")
def test_a_rule_that_should_be_gone_stops_the_benchmark() -> None:
    rules = bench.updates.Rules()
    rules.build()
    points = rules.workload.points(rules.events.slice(0, bench.updates.CHECKED))
    _, wanted = BruteForce(rules.workload.ranges).pairs(points)
    rules.present[wanted[wanted < bench.updates.RULES][0]] = False
    with pytest.raises(AssertionError):
        rules.check()
