"""What every test may rely on: one SparkSession per worker, and hypothesis at three sizes."""

import gc
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The everyday profile tries the same examples on every run, so a failure is about the change at
# hand. The long one goes looking for new ones, and prints how to come back to what it finds. The
# quick one, of `make check`, tries the first few.
settings.register_profile(
    "default", max_examples=30, derandomize=True, deadline=None, database=None
)
settings.register_profile("long", max_examples=1_000, deadline=None, database=None, print_blob=True)
settings.register_profile("quick", max_examples=10, derandomize=True, deadline=None, database=None)
LONG, QUICK = (os.environ.get(name) == "1" for name in ("TIDEGATE_LONG", "TIDEGATE_QUICK"))
settings.load_profile("long" if LONG else "quick" if QUICK else "default")


def uses_spark(item: pytest.Item) -> bool:
    return "spark" in getattr(item, "fixturenames", ())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests that use Spark to one worker, first: a JVM is fast once it is warm."""
    for item in items:
        if uses_spark(item):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))
    items.sort(key=lambda item: not uses_spark(item))


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what thousands of tests and their modules are made of."""
    settle()


@pytest.fixture(scope="module", autouse=True)
def settled() -> Iterator[None]:
    """Let it pass over what the tests of a file have left, too."""
    yield
    settle()


def settle() -> None:
    """Collect what can be, and never look at the rest again.

    Caches and imports add up to millions of objects, and every full collection goes over all of
    them. Benchmarks collect before they measure, and took most of their time in tests for that.
    """
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let everything be taken apart at the end as ever."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["SparkSession"]:
    """The oracle of law 1: Spark with ANSI on, in UTC, with case-sensitive names."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        asking = [item.nodeid for item in request.session.items if uses_spark(item)]
        assert all(name.endswith("@spark") for name in asking), "run with --dist loadgroup"
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    files = tmp_path_factory.mktemp("spark")
    options = {
        # Many small jobs beside other workers: no time for thorough compilers and collectors, but
        # room for all that is compiled, and for what few queries leave.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m "
        "-XX:+UseSerialGC -Xmn384m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(files / "local"),
        "spark.sql.warehouse.dir": str(files / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.caseSensitive": "true",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master("local[2]").appName("tidegate-tests")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
