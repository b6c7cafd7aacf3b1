"""How are changes kept in Parquet files?

A row is a change: an id is added, updated or removed, at a place in the commit of a version.
Rows of a file are sorted by id, in row groups of 16K with statistics, so that whoever looks for
some ids reads only the row groups in which they can be. The statistics of a whole file go into the
Delta log, so that most files need not even be opened.

Files are read through Arrow's file systems: local ones are mapped into memory.
"""

import json
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from tidegate.errors import StoreError
from tidegate.pipeline.store.kept_rows import KeptRows
from tidegate.pipeline.store.literals import PARAMETERS

SCHEMA: Final = pa.schema(
    [
        pa.field("version", pa.int64(), nullable=False),
        pa.field("place", pa.int32(), nullable=False),
        pa.field("change", pa.string(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("subscriber", pa.string()),
        pa.field("filter", pa.string()),
        pa.field("parameters", PARAMETERS),
    ]
)

_ROW_GROUP: Final = 16_384
_ROWS_OF_A_SMALL_FILE: Final = 4096  # rows of a file that is read as a whole
_ROW_GROUPS_KNOWN: Final = 16_384  # row groups of large files, or of one, whose ends are kept
_CHARACTERS_OF_AN_ID: Final = 128  # characters of an id in the statistics of the log
_LAST_CHARACTER: Final = "\U0010ffff"
_REPEATED: Final = ["change", "filter", "parameters.key_value.key"]


@dataclass(frozen=True, slots=True)
class ChangeFile:
    """A file of changes as the Delta log has it.

    Its rows are of the versions `first` to `last`, its ids lie between `low` and `high`; None is
    no limit.
    """

    name: str
    size: int
    rows: int
    first: int
    last: int
    low: str | None
    high: str | None

    @property
    def statistics(self) -> str:
        """What the log says about the rows."""
        low = {} if self.low is None else {"id": self.low}
        high = {} if self.high is None else {"id": self.high}
        return json.dumps(
            {
                "numRecords": self.rows,
                "minValues": {"version": self.first, **low},
                "maxValues": {"version": self.last, **high},
                "nullCount": {"version": 0, "id": 0},
            }
        )

    def may_have(self, ids: Sequence[str]) -> bool:
        """Whether one of the ids, which are sorted, can be in the file."""
        return self.rows > 0 and _is_between(ids, self.low, self.high)


def numbered(rows: pa.Table, version: int) -> pa.Table:
    """Rows of a commit that makes a version."""
    versions = pa.repeat(pa.scalar(version, pa.int64()), len(rows))
    return rows.add_column(0, "version", versions).cast(SCHEMA)


def _is_between(ids: Sequence[str], low: str | None, high: str | None) -> bool:
    start = 0 if low is None else bisect_left(ids, low)
    stop = len(ids) if high is None else bisect_right(ids, high)
    return start < stop


def write_rows(files: pafs.FileSystem, folder: str, name: str, rows: pa.Table) -> ChangeFile:
    """Write rows, which are sorted by id, to a new file."""
    path = f"{folder}/{name}"
    try:
        with files.open_output_stream(path) as sink:
            pq.write_table(
                rows,
                sink,
                row_group_size=_ROW_GROUP,
                use_dictionary=_REPEATED,
                write_statistics=["version", "id"],
                store_schema=False,
                compression="zstd",
                write_page_checksum=True,
            )
            size = sink.tell()
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error}") from None
    ends = pc.min_max(rows["version"]).as_py()
    low, high = ("", "") if not len(rows) else (rows["id"][0].as_py(), rows["id"][-1].as_py())
    return ChangeFile(
        name,
        size,
        len(rows),
        ends["min"] or 0,
        ends["max"] or 0,
        low[:_CHARACTERS_OF_AN_ID],
        _above(high),
    )


def _above(id: str) -> str | None:
    """A short text that is not below the id; None if there is none."""
    if len(id) <= _CHARACTERS_OF_AN_ID:
        return id
    return (
        None
        if id[_CHARACTERS_OF_AN_ID] == _LAST_CHARACTER
        else id[:_CHARACTERS_OF_AN_ID] + _LAST_CHARACTER
    )


class Reader:
    """Reads the files of a folder; keeps small ones, and the statistics of large ones.

    Files never change once they are written, so nothing kept is ever out of date. Threads may
    share a reader; at worst they read a file twice.
    """

    def __init__(self, files: pafs.FileSystem, folder: str) -> None:
        self._files = files
        self._folder = folder
        self._small = KeptRows()
        self._lock = threading.Lock()  # of what follows
        self._bounds: dict[str, list[tuple[str | None, str | None]]] = {}

    def read(self, file: ChangeFile, *, once: bool = False) -> pa.Table:
        """All rows of a file, which is not kept if it is read only `once`."""
        known = self._small.get(file.name)
        if known is None:
            path = self._path(file)
            with _damage(path), self._open(file) as parquet:
                # in pieces, as Arrow does not read maps whose texts are beyond 2 GB at once
                groups = [
                    _checked(parquet.read_row_group(group), path)
                    for group in range(parquet.num_row_groups)
                ]
            known = pa.concat_tables([SCHEMA.empty_table(), *groups])
            if file.rows <= _ROWS_OF_A_SMALL_FILE and not once:
                self._small.keep(file.name, known)
        return known

    def find(self, file: ChangeFile, ids: Sequence[str], wanted: pa.Array) -> pa.Table:
        """The rows of a file with these ids: sorted, and once more as an array."""
        if file.rows <= _ROWS_OF_A_SMALL_FILE:
            rows = self.read(file)
            return rows.filter(pc.is_in(rows["id"], value_set=wanted))
        path = self._path(file)
        found = []
        with _damage(path), self._open(file) as parquet:
            for group, (low, high) in enumerate(self._row_groups(file, parquet)):
                if _is_between(ids, low, high):
                    column = parquet.read_row_group(group, columns=["id"])["id"]
                    where = pc.indices_nonzero(pc.is_in(column, value_set=wanted))
                    if len(where):
                        rows = parquet.read_row_group(group).take(where)
                        found.append(_checked(rows, path))
        return pa.concat_tables([SCHEMA.empty_table(), *found])

    def _row_groups(
        self, file: ChangeFile, parquet: pq.ParquetFile
    ) -> list[tuple[str | None, str | None]]:
        known = self._bounds.get(file.name)
        if known is None:
            metadata = parquet.metadata
            place = SCHEMA.get_field_index("id")
            known = [
                _bounds(metadata.row_group(number).column(place))
                for number in range(metadata.num_row_groups)
            ]
            with self._lock:
                self._bounds[file.name] = known
                while (
                    len(self._bounds) > 1
                    and sum(map(len, self._bounds.values())) > _ROW_GROUPS_KNOWN
                ):
                    del self._bounds[next(iter(self._bounds))]
        return known

    def _open(self, file: ChangeFile) -> pq.ParquetFile:
        path = self._path(file)
        source: Any = path
        if not isinstance(self._files, pafs.LocalFileSystem):
            source = self._files.open_input_file(path)
        # texts that repeat are spelled out only for the rows that are wanted
        return pq.ParquetFile(
            source,
            memory_map=True,
            read_dictionary=["change", "filter"],
            page_checksum_verification=True,
        )

    def _path(self, file: ChangeFile) -> str:
        return f"{self._folder}/{file.name}"


def _bounds(column: Any) -> tuple[str | None, str | None]:
    """The least and the greatest id of a row group, as far as its statistics tell."""
    statistics = column.statistics
    if statistics is None or not statistics.has_min_max:
        return None, None
    return statistics.min, statistics.max


@contextmanager
def _damage(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise StoreError(
            f"{path} is gone: what needs it was vacuumed, or somebody deleted it"
        ) from None
    except (pa.ArrowException, OSError) as error:
        said = str(error).partition("\n")[0]
        raise StoreError(f"{path} is damaged: {said}") from None


def _checked(rows: pa.Table, path: str) -> pa.Table:
    """The rows, if they have the columns of changes."""
    try:
        return rows.select(SCHEMA.names).cast(SCHEMA)
    except (KeyError, pa.ArrowException, ValueError):
        raise StoreError(f"{path} is damaged: its columns are not those of changes") from None
