"""Synopses and proximities, counted on Spark: as they are counted in one process."""

from random import Random
from typing import TYPE_CHECKING

import pytest

from tidegate.documents.synopsis import Synopsis
from tidegate.errors import TidegateError
from tidegate.lab.workloads.dtds import made_up
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource
from tidegate.overlay.patterns import Patterns
from tidegate.peers.history import History
from tidegate.peers.proximity import Measure, Proximity
from tidegate.pipeline.statistics.proximity_job import all_pairs
from tidegate.pipeline.statistics.synopsis_job import synopsis_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_synopsis_on_spark_is_that_of_all_documents(spark: "SparkSession") -> None:
    source = DocumentSource(made_up(Random(1), 12), DocumentChoices(), 1)
    documents = [source.draw() for _ in range(40)]
    here = Synopsis()
    for document in documents:
        here.add(document)
    rows = [(document,) for document in (*documents, "<broken", None)]
    events = spark.createDataFrame(rows, "body STRING").repartition(3)
    seen = synopsis_of(events, "body")
    assert seen.synopsis.plain() == here.plain()
    assert seen.unreadable == 1
    budget = len(here) // 2
    small = synopsis_of(events, "body", budget).synopsis
    assert len(small) <= budget
    assert small.documents == 40
    with pytest.raises(TidegateError, match="no column 'text', but body"):
        synopsis_of(events, "text")


def test_all_pairs_on_spark_are_as_near_as_they_are_counted(spark: "SparkSession") -> None:
    kind, dtd = Patterns(), made_up(Random(1), 12)
    patterns = PatternSource(dtd, PatternChoices(deepest=4), 1).distinct()
    filters = {f"f{i}": kind.parse(next(patterns).text) for i in range(12)}
    source = DocumentSource(dtd, DocumentChoices(), 2)
    history, rows = History(kind), []
    for number in range(30):
        document = source.draw()
        history.add(document)
        rows += [(number, name) for name, f in filters.items() if f.matches(document)]
    matched = spark.createDataFrame(rows + rows[:5], "event BIGINT, filter STRING")
    found = {(row["first"], row["second"]): row for row in all_pairs(matched, "event", "filter")
             .collect()}  # fmt: skip
    for one, f in filters.items():
        for other, g in filters.items():
            both = history.both(f, g)
            if one < other and both:
                row = found.pop((one, other))
                assert row["both"] == both
                assert row["forth"] == pytest.approx(Proximity(history, Measure.GIVEN).of(f, g))
                assert row["mean"] == pytest.approx(Proximity(history).of(f, g))
                shared = Proximity(history, Measure.SHARED).of(f, g)
                assert row["shared"] == pytest.approx(shared)
    assert not found
    with pytest.raises(TidegateError, match="no column 'id'"):
        all_pairs(matched, "id", "filter")
