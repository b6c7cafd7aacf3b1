"""How do subscriptions come out of files?

All files together become one `Proposal`, so that they are loaded by one commit, and of each of its
rows it is known which line of which file it came from.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.commands.formats import FilePart, read_csv, read_json_lines, read_parquet
from tidegate.errors import TidegateError
from tidegate.filters.schema import Schema
from tidegate.pipeline.store.literals import Literals, Value
from tidegate.pipeline.store.proposal import ADD, Proposal, Refusals, propose

READERS: Final = {"csv": read_csv, "jsonl": read_json_lines, "parquet": read_parquet}
_SUFFIXES: Final = {
    ".csv": "csv",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}


@dataclass(frozen=True, slots=True)
class Import:
    """What files hold: a proposal, and where its rows came from."""

    proposal: Proposal
    sources: tuple[tuple[Path, FilePart], ...]

    def place(self, row: int) -> str:
        """Where a row of the proposal came from, as `file:line`."""
        for path, part in self.sources:
            if row < len(part.ids):
                return f"{path}:{part.lines[row]}"
            row -= len(part.ids)
        raise IndexError(row)


def read_files(
    paths: list[Path],
    schema: Schema | None,
    format: str | None = None,
    tick: Callable[[Path, int], None] = lambda path, size: None,
) -> Import:
    """Read files; `tick` is told how far it got in each of them."""
    sources: list[tuple[Path, FilePart]] = []
    for path in paths:
        kind = format or _SUFFIXES.get(path.suffix.lower())
        if kind not in READERS:
            raise TidegateError(
                f"{path}: what it holds is not clear; say --format {' or '.join(READERS)}"
            )
        try:
            with path.open("rb") as file:
                sources.append((path, READERS[kind](file, partial(tick, path))))
        except (OSError, TidegateError) as error:
            raise TidegateError(f"{path}: {error}") from None
    return Import(_joined([part for _, part in sources], schema), tuple(sources))


def _joined(parts: list[FilePart], schema: Schema | None) -> Proposal:
    """One proposal of all parts."""
    starts = np.cumsum([0, *(len(part.ids) for part in parts)]).tolist()
    values: dict[str, list[Value]] = {}
    refusals = Refusals()
    for start, part in zip(starts, parts, strict=False):
        for row, error in part.wrong:
            refusals.add([start + row], error)
        for name, value in part.given.items():
            moved = Value(value.rows + start, value.literals, value.is_null)
            values.setdefault(name, []).append(moved)
    return propose(
        np.full(starts[-1], ADD, np.int8),
        _in_a_row([part.ids for part in parts]),
        _in_a_row([part.subscribers for part in parts]),
        _in_a_row([part.filters for part in parts]),
        {name: _one_value(found) for name, found in values.items()},
        schema,
        loose={name for part in parts for name in part.loose},
        refusals=refusals,
    )


def _in_a_row(columns: list[pa.Array]) -> pa.Array:
    return pa.concat_arrays([pa.array([], pa.string()), *columns])


def _one_value(values: list[Value]) -> Value:
    """What one parameter is given in several files."""
    literals = Literals(
        pa.concat_arrays([value.literals.texts for value in values]),
        np.concatenate([value.literals.kinds for value in values]),
    )
    rows = np.concatenate([value.rows for value in values])
    return Value(rows, literals, np.concatenate([value.is_null for value in values]))
