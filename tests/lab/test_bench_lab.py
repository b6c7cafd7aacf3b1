"""The benchmark of grids: what it times is the whole grid, with the rows that it should have."""

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from bench.lab import taken
from tests.lab.test_runner import cheap
from tidegate.errors import LabError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_grid_is_timed_with_rows_that_are_right(spark: "SparkSession") -> None:
    assert taken(spark, cheap(3), "small") > 0


def test_wrong_rows_and_points_that_fail_are_no_result(spark: "SparkSession") -> None:
    own = cheap(3)
    calls: list[Any] = []

    def strange(point: Any, seed: int) -> Any:
        """Counts otherwise here than in a worker, which has a list of its own."""
        calls.append(point)
        return {**own.measure(point, seed), "primes": -len(calls)}

    with pytest.raises(AssertionError):
        taken(spark, dataclasses.replace(own, measure=strange), "small")
    size = own.size("small")
    failing = dataclasses.replace(size, points=({"start": -5, "count": 1}, *size.points))
    with pytest.raises(LabError, match="1 of 4 points failed"):
        taken(spark, dataclasses.replace(own, sizes={"small": failing}), "small")
