"""Where are the rows?

`FOLDER/EXPERIMENT/SCALE/DIGEST.parquet`, one file of one row for each point and seed, written
aside and renamed: a file that is there is whole, and what was interrupted leaves none. So a run
that goes on after an interruption computes what has no file, whoever was killed.

A row has the parameters and what was measured as columns, and beside them the experiment, scale and
seed, the version of the code, the data of others that it was drawn from, the machine, the seconds
that the point took, when it was finished, and which of its columns are CPU times.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.errors import LabError
from tidegate.lab.experiments.experiment import Point
from tidegate.lab.experiments.rows import Rows


@dataclass(frozen=True)
class Results:
    """A folder of rows, which all tasks of a run can write to."""

    folder: Path

    def path(self, experiment: str, scale: str, point: Point, seed: int) -> Path:
        """Of the file of one point and seed."""
        key = json.dumps([dict(point), seed], sort_keys=True)
        name = hashlib.sha256(key.encode()).hexdigest()[:20]
        return self.folder / experiment / scale / f"{name}.parquet"

    def write(self, path: Path, row: Mapping[str, Any]) -> None:
        """A row, as a whole or not at all."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            aside = path.with_name(f".{path.stem}.{os.getpid()}")
            pq.write_table(pa.Table.from_pylist([dict(row)]), aside)
            aside.replace(path)
        except OSError as error:
            raise LabError(f"cannot write {path}: {error.strerror or error}") from None

    def rows(self, experiment: str, scale: str) -> Rows:
        """All that is there."""
        files = sorted((self.folder / experiment / scale).glob("*.parquet"))
        return Rows([read(file) for file in files])

    def require_room(self) -> None:
        """Raise if nothing can be written here."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            probe = self.folder / f".probe.{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            why = error.strerror or error
            raise LabError(f"cannot write results to {self.folder}: {why}") from None


def read(file: Path) -> dict[str, Any]:
    """The row of a file."""
    try:
        found: dict[str, Any] = pq.read_table(file).to_pylist()[0]
    except (OSError, pa.ArrowException, IndexError) as error:
        raise LabError(
            f"{file} is not a row of the lab ({error}); remove it, and its point is computed again"
        ) from None
    return found
