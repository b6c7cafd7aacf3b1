"""Which small files need not be read again?

Whoever writes looks ids up in all files of a version, most of which are small, so the rows of small
files are kept. As a table of its own a file takes some 16 KB, however few rows it has: each column
is a dozen objects of Arrow's. So the rows of many files are kept as one table, a **run**, and a
file is a slice of it. The last few files are apart until there are enough for a run.

What came first goes first, a run at a time.

Invariant: `nbytes`, which counts these objects, is at most `MOST_BYTES` after every call.
"""

import threading
from collections import deque
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

MOST_BYTES: Final = 32 << 20
_BYTES_OF_A_RUN: Final = 1 << 20  # apart: those of 64 small tables, or of fewer
_BYTES_OF_A_TABLE: Final = 16_384  # that it takes beside its rows
_BYTES_OF_A_NAME: Final = 512  # that a file of a run takes


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows of several files, and where each file begins and how many it has."""

    rows: pa.Table
    places: dict[str, tuple[int, int]]

    @property
    def nbytes(self) -> int:
        return _bytes(self.rows) + len(self.places) * _BYTES_OF_A_NAME


class KeptRows:
    """The rows of some files by their names. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._apart: dict[str, pa.Table] = {}  # no run yet
        self._bytes_apart = 0
        self._runs: deque[_Run] = deque()
        self._run_of: dict[str, _Run] = {}
        self._bytes_of_runs = 0

    def __len__(self) -> int:
        return len(self._apart) + len(self._run_of)

    @property
    def nbytes(self) -> int:
        """The bytes that all of it takes, about."""
        return self._bytes_apart + self._bytes_of_runs

    def get(self, name: str) -> pa.Table | None:
        """The rows of a file, if they are kept."""
        with self._lock:
            run = self._run_of.get(name)
            if run is None:
                return self._apart.get(name)
        return run.rows.slice(*run.places[name])

    def keep(self, name: str, rows: pa.Table) -> None:
        """Keep the rows of a file; others may go for it."""
        if _bytes(rows) > MOST_BYTES // 2:
            return
        with self._lock:
            if name in self._run_of or name in self._apart:
                return
            self._apart[name] = rows
            self._bytes_apart += _bytes(rows)
            if self._bytes_apart >= _BYTES_OF_A_RUN:
                self._make_run()
            while self.nbytes > MOST_BYTES:
                if self._runs:
                    self._drop_run()
                else:
                    self._make_run()

    def _make_run(self) -> None:
        """Have what is apart as one table."""
        places, start = {}, 0
        for name, rows in self._apart.items():
            places[name] = (start, len(rows))
            start += len(rows)
        run = _Run(pa.concat_tables(self._apart.values()).combine_chunks(), places)
        self._runs.append(run)
        self._run_of.update(dict.fromkeys(places, run))
        self._bytes_of_runs += run.nbytes
        self._apart, self._bytes_apart = {}, 0

    def _drop_run(self) -> None:
        run = self._runs.popleft()
        for name in run.places:
            del self._run_of[name]
        self._bytes_of_runs -= run.nbytes


def _bytes(rows: pa.Table) -> int:
    return int(rows.get_total_buffer_size()) + _BYTES_OF_A_TABLE
