"""Where do the results of matching go?

Into columns of 32-bit integers that become Arrow arrays without a copy. Fresh memory is slow to
write to for the first time, several times slower than matching; so memory that comes back, because
nobody holds the result any more, is kept for the next batch, up to a limit.
"""

import threading
from collections import deque
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_BYTES_KEPT: Final = 256 * 2**20  # bytes, at most
_BYTES_WORTH_KEEPING: Final = 2**20  # smaller ones the allocator keeps by itself


class _Pool:
    """Arrays that nobody uses at the moment.

    They come back whenever Python lets go of a result, be it in the midst of `take`; so giving
    waits for no lock, and what comes back while somebody has it is taken in by the next.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[NDArray[np.int32]] = []
        self._returned: deque[NDArray[np.int32]] = deque()

    def take(self, size: int) -> NDArray[np.int32]:
        """The smallest array of at least that size, if it is not far larger; or a new one."""
        with self._lock:
            self._take_in()
            fitting = [i for i, free in enumerate(self._free) if size <= len(free) <= 4 * size]
            if fitting:
                return self._free.pop(min(fitting, key=lambda i: len(self._free[i])))
        return np.empty(size, np.int32)

    def give(self, array: NDArray[np.int32]) -> None:
        """Keep an array, and for it let go of those that have waited longest."""
        self._returned.append(array)
        if self._lock.acquire(blocking=False):
            try:
                self._take_in()
            finally:
                self._lock.release()

    def _take_in(self) -> None:
        while self._returned:
            self._free.append(self._returned.popleft())
        while sum(free.nbytes for free in self._free) > _BYTES_KEPT:
            self._free.pop(0)


_pool = _Pool()


class _Lease:
    """An array as long as somebody uses it."""

    def __init__(self, size: int) -> None:
        self.array = (
            _pool.take(size) if 4 * size >= _BYTES_WORTH_KEEPING else np.empty(size, np.int32)
        )

    def __del__(self) -> None:
        if self.array.nbytes >= _BYTES_WORTH_KEEPING:
            _pool.give(self.array)


class ResultColumn:
    """Room for so many integers, and no more: kernels write columns side by side."""

    def __init__(self, size: int) -> None:
        self._lease = _Lease(size)
        self.array = self._lease.array[:size]

    def arrow(self, length: int) -> pa.Array:
        """The first integers as an Arrow array."""
        buffer = pa.foreign_buffer(self.array.ctypes.data, 4 * length, base=self._lease)
        return pa.Array.from_buffers(pa.int32(), length, [None, buffer])
