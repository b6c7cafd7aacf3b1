"""Which code, on which machine, has computed a row?

The version is that of the package with a digest of all its sources, so that two rows with the same
version were computed by the same code, installed or not.
"""

import hashlib
import os
import platform
from functools import cache
from pathlib import Path
from typing import Final

import tidegate

_PACKAGE: Final = Path(tidegate.__file__).parent
_DIGITS: Final = 12


@cache
def version() -> str:
    """The version of this code."""
    return f"{tidegate.__version__}+{digest(_PACKAGE)}"


def digest(folder: Path) -> str:
    """Of all Python sources and data files in a folder, by their names and contents."""
    found = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".py", ".toml"):
            found.update(file.relative_to(folder).as_posix().encode())
            found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()[:_DIGITS]


@cache
def machine() -> str:
    """What it computes with: processor, cores, Python; not whose machine it is."""
    return f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
