"""What a worker that has compiled a base is left with."""

import subprocess
import sys
from pathlib import Path

import pytest

COMPILE = """
import sys
import pyarrow as pa
import tidegate as tg
from tidegate.pipeline.bases import compile_job
from tidegate.pipeline.bases.shard_builder import Builder
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.store.literals import PARAMETERS
from pathlib import Path

def private():
    told = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in told if line.startswith("Private_")) // 1024

def batches(count):
    for start in range(0, count, 10_000):
        numbers = range(start, min(start + 10_000, count))
        ids = [f"subscription-{number:07d}" for number in numbers]
        filters = ["price > :low"] * len(ids)
        low = pa.array([[("low", f"{number}.5D")] for number in numbers], PARAMETERS)
        columns = {"id": ids, "subscriber": ids, "filter": filters, "parameters": low}
        columns["shard"] = pa.array([0] * len(ids), pa.int32())
        yield pa.RecordBatch.from_pydict(columns)

builder = Builder(sys.argv[1], "name", 1, Attributes(tg.Schema("price double")))
build = compile_job._Build(builder)
list(build(batches(100)))
before = private()
list(build(batches(100_000)))
print(private() - before)
"""


@pytest.mark.slow
def test_a_worker_that_has_compiled_gives_its_memory_back(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", COMPILE, str(tmp_path)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 30  # MB: about half of what its allocators would keep
