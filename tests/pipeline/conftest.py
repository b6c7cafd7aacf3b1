"""Remote stores for the pipeline's tests."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.object_server import BUCKET, ObjectServer, serving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    with serving(tmp_path_factory.mktemp("object-server")) as running:
        yield running


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """The folder in which this process keeps copies of remote files."""
    return tmp_path / "cache"


@pytest.fixture
def address(server: ObjectServer, cache: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where there may be a new remote store."""
    for name, value in {**server.environment(), "TIDEGATE_CACHE": str(cache)}.items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{uuid.uuid4().hex}"


@pytest.fixture(scope="session")
def workers_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests with Spark, which starts new workers for another environment."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def remote_spark(
    spark: "SparkSession",
    server: ObjectServer,
    address: str,
    workers_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> "SparkSession":
    """Spark, whose workers reach the remote store."""
    for name, value in {**server.environment(), "TIDEGATE_CACHE": str(workers_cache)}.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    return spark
