"""Reading filters needs little: heavy libraries are imported only by what uses them."""

import os
import subprocess
import sys

import pytest

HEAVY = ("numba", "numpy", "pandas", "pyarrow", "pyspark", "rich", "typer")
PROGRAM = """
import sys
{program}
print(*sorted(name for name in {heavy} if name in sys.modules))
"""


def imported_by(program: str) -> list[str]:
    """Which of the heavy libraries are imported when the program ends."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(program=program, heavy=HEAVY)],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    "program",
    [
        "import tidegate",
        "import tidegate; tidegate.parse('x = 1 AND s LIKE :p').bind(p='a%').matches({'x': 1})",
        "import tidegate; tidegate.parse('x = 1', tidegate.Schema('x BIGINT NOT NULL'))",
        "import tidegate; tidegate.covers(tidegate.parse('x < 5'), tidegate.parse('x = 1'))",
        "import tidegate, pickle; pickle.loads(pickle.dumps(tidegate.parse('x = 1')))",
    ],
)
def test_filters_are_read_and_matched_without_heavy_libraries(program: str) -> None:
    assert imported_by(program) == []


def test_the_check_sees_what_is_imported() -> None:
    assert "numpy" in imported_by("import numpy")
