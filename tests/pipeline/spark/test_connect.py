"""Under Spark Connect the pipeline does what it does under classic Spark."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.matching.test_faults import environment


@pytest.mark.spark
def test_batch_and_streams_run_under_spark_connect(tmp_path: Path) -> None:
    """In a process of its own: one process has one kind of Spark."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("connected.py")), str(tmp_path)],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["batch"] == [[1, "alice", 2], [2, "robert", 2]]
    assert found["statistics"] == [3, [2, 3]]
    told = [[1, "alice", 3], [2, "robert", 3], [3, "alice", 3]]
    assert found["foreachBatch"] == told
    assert found["stream"] == told
