"""How many notifications are in these files?

Counted without reading them, from what Parquet files say at their ends: rows, values that are not
NULL, the smallest and the largest version. Only the numbers of the form `counts` are read. So it
costs next to nothing to say how far a stream has come.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc
import pyarrow.parquet as pq

_LIST: Final = "subscriptions.list.element"


@dataclass(frozen=True, slots=True)
class Tally:
    """What was found: notifications, malformed events, and the versions they are of."""

    notifications: int = 0
    malformed: int = 0
    versions: tuple[int, ...] = ()  # the smallest and the largest of each file

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.notifications + other.notifications,
            self.malformed + other.malformed,
            tuple(sorted({*self.versions, *other.versions})),
        )


def tally(folder: Path) -> Tally:
    """What is in all files of a folder and the folders in it."""
    return added(_file(path) for path in sorted(folder.rglob("*.parquet")))


def added(tallies: Iterable[Tally]) -> Tally:
    """All of them together."""
    return sum(tallies, Tally())


def _file(path: Path) -> Tally:
    with pq.ParquetFile(path) as file:
        said = file.metadata
        groups = [_columns(said.row_group(number)) for number in range(said.num_row_groups)]
        malformed = sum(_present(group["error"]) for group in groups)
        versions = {
            version
            for group in groups
            if (known := group["version"].statistics) is not None and known.has_min_max
            for version in (known.min, known.max)
        }
        if "matches" in file.schema_arrow.names:
            found = pc.sum(file.read(["matches"])["matches"]).as_py() or 0
        elif "subscriptions" in file.schema_arrow.names:
            found = sum(_present(group[_LIST]) for group in groups)
        else:
            found = said.num_rows - malformed
    return Tally(found, malformed, tuple(sorted(versions)))


def _columns(group: Any) -> dict[str, Any]:
    columns = [group.column(number) for number in range(group.num_columns)]
    return {column.path_in_schema: column for column in columns}


def _present(column: Any) -> int:
    """How many values of a column are there."""
    known = column.statistics
    return int(column.num_values - known.null_count) if known is not None else 0
