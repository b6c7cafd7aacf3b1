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
from tidegate.documents.lexer import is_pattern
from tidegate.errors import TidegateError
from tidegate.pipeline.store.language import ATTRIBUTES, XML, Language
from tidegate.pipeline.store.literals import Literals, Value
from tidegate.pipeline.store.proposal import ADD, Proposal, propose
from tidegate.pipeline.store.refusals import Refusals

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
    sources: "RuleFiles"

    def place(self, row: int) -> str:
        """Where a row of the proposal came from, as `file:line`."""
        for path, part in self.sources.parts:
            if row < len(part.ids):
                return f"{path}:{part.lines[row]}"
            row -= len(part.ids)
        raise IndexError(row)


@dataclass(frozen=True, slots=True)
class RuleFiles:
    """What files hold, before it is known which kind of filters that is."""

    parts: tuple[tuple[Path, FilePart], ...]

    def proposal(self, language: Language) -> Import:
        """All of it, to be added to a store of filters in that language."""
        return Import(_joined([part for _, part in self.parts], language), self)

    def kind(self) -> str:
        """The kind of the first filter that there is."""
        for _, part in self.parts:
            for text in part.filters.drop_null()[:1].to_pylist():
                return XML if is_pattern(text) else ATTRIBUTES
        return ATTRIBUTES


def read_files(
    paths: list[Path],
    format: str | None = None,
    tick: Callable[[Path, int], None] = lambda path, size: None,
) -> RuleFiles:
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
    return RuleFiles(tuple(sources))


def _joined(parts: list[FilePart], language: Language) -> Proposal:
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
        language,
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
