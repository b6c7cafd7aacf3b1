"""What importing the package loads, and what it offers."""

import subprocess
import sys

import pytest

from tidegate import pipeline


@pytest.mark.parametrize("module", ["tidegate", "tidegate.pipeline"])
def test_importing_loads_neither_arrow_nor_delta_lake_nor_spark(module: str) -> None:
    program = f"import sys, {module}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    assert module in loaded
    assert {"pyarrow", "deltalake", "pyspark", "numba"} & loaded == set()


def test_the_store_needs_neither_spark_nor_numba() -> None:
    program = "import sys, tidegate.pipeline.store.store; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    assert "deltalake" in loaded
    assert {"pyspark", "numba"} & loaded == set()


def test_every_name_that_is_offered_is_there() -> None:
    for name in pipeline.__all__:
        assert getattr(pipeline, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Shop'"):
        _ = pipeline.Shop  # type: ignore[attr-defined]
