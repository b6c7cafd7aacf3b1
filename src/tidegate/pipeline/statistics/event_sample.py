"""Which events stand for all of them?

A uniform sample that can be merged: every event draws a number, and those with the smallest numbers
are kept (bottom-k sampling). All events with numbers below the **threshold** are in the sample,
whatever it was merged from; so samples of any sizes merge into a sample of everything.
"""

import io
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_BYTES: Final = 64 << 20  # of a sample at most, so that long texts do not fill the memory


_DRAWN: Final = "__tidegate_drawn"


def _nothing() -> pa.Table:
    return pa.table({_DRAWN: pa.array([], pa.float64())})


@dataclass(slots=True)
class Sample:
    """Events, with the numbers they drew in a column of their own."""

    size: int
    rows: pa.Table = field(default_factory=_nothing)
    threshold: float = 1.0

    @property
    def table(self) -> pa.Table:
        """The events."""
        return self.rows.drop_columns([_DRAWN])

    @property
    def drawn(self) -> NDArray[np.float64]:
        """What they drew."""
        found: NDArray[np.float64] = self.rows[_DRAWN].to_numpy()
        return found

    def add(self, events: pa.RecordBatch, random: np.random.Generator) -> None:
        """Let events draw."""
        drawn = random.random(len(events))
        taken = np.flatnonzero(drawn < self.threshold)
        if len(taken):
            rows = pa.Table.from_batches([events]).take(pa.array(taken))
            self.rows = _stacked(self.rows, rows.append_column(_DRAWN, pa.array(drawn[taken])))
            if len(self.rows) > 2 * self.size or self.rows.nbytes > _BYTES:
                self.finish()

    def merge(self, other: "Sample") -> None:
        """Make it a sample of what another one is of as well."""
        self.threshold = min(self.threshold, other.threshold)
        self.rows = _stacked(self.rows, other.rows)
        self.finish()

    def finish(self) -> None:
        """Keep no more than the size."""
        drawn = self.drawn
        below = drawn[drawn < self.threshold]
        size = self.size if self.rows.nbytes <= _BYTES else min(self.size, len(below) // 2)
        if len(below) > size:
            self.threshold = float(np.partition(below, size)[size])
        kept = np.flatnonzero(drawn < self.threshold)
        self.rows = self.rows.take(pa.array(kept)).combine_chunks()

    def to_bytes(self) -> bytes:
        """All of it, in Arrow's format for streams."""
        self.finish()
        out = io.BytesIO()
        said = {b"size": str(self.size).encode(), b"threshold": self.threshold.hex().encode()}
        rows = self.rows.replace_schema_metadata(said)
        with pa.ipc.new_stream(out, rows.schema) as writer:
            writer.write_table(rows)
        return out.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> "Sample":
        """What was written so."""
        rows = pa.ipc.open_stream(content).read_all()
        said = rows.schema.metadata
        size, threshold = int(said[b"size"]), float.fromhex(said[b"threshold"].decode())
        return cls(size, rows.replace_schema_metadata(), threshold)


def _stacked(first: pa.Table, second: pa.Table) -> pa.Table:
    """Rows of both; without the columns that are of one type here and of another there."""
    if first.schema != second.schema:
        names = {*first.column_names, *second.column_names}
        apart = {name for name in names if not _unify(first.schema, second.schema, name)}
        first, second = (
            each.drop_columns([name for name in each.column_names if name in apart])
            for each in (first, second)
        )
    return pa.concat_tables([first, second], promote_options="default")


def _unify(first: pa.Schema, second: pa.Schema, name: str) -> bool:
    types = {schema.field(name).type for schema in (first, second) if name in schema.names}
    return len(types) == 1
