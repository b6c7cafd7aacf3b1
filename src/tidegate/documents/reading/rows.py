"""Where are the bytes of each document of a batch?

A batch is a list of bytes or texts, or a column of an Arrow table; of Arrow's nothing is copied.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.capsules import array_of, speaks_arrow
from tidegate.errors import TidegateError

NO_DOCUMENT: Final = "there is no document: it is null"

_KINDS: Final = {
    pa.binary(): np.int32,
    pa.large_binary(): np.int64,
    pa.string(): np.int32,
    pa.large_string(): np.int64,
}


class Rows:
    """Addresses and lengths; the memory is held as long as this is."""

    def __init__(
        self,
        held: Any,
        addresses: NDArray[np.int64],
        lengths: NDArray[np.int64],
        refused: dict[int, str],
        is_text: bool,
    ) -> None:
        self._held = held
        self.addresses = addresses
        self.lengths = lengths
        self.refused = refused
        self.is_text = is_text

    def __len__(self) -> int:
        return len(self.addresses)

    def document(self, row: int) -> bytes:
        """The bytes of one document."""
        import ctypes

        return ctypes.string_at(int(self.addresses[row]), int(self.lengths[row]))

    def blocks(self, most: int, size: int) -> Iterator[tuple[int, "Rows"]]:
        """The same rows a few at a time, and where each few start."""
        before = np.concatenate([[0], np.cumsum(self.lengths)])
        start = 0
        while start < len(self):
            fitting = int(np.searchsorted(before, before[start] + size, "right")) - 1
            stop = max(start + 1, min(fitting, start + most, len(self)))
            refused = {r - start: why for r, why in self.refused.items() if start <= r < stop}
            part = slice(start, stop)
            yield (
                start,
                Rows(self._held, self.addresses[part], self.lengths[part], refused, self.is_text),
            )
            start = stop


def rows_of(documents: Any) -> Rows:
    """The documents of a list or of an Arrow column."""
    if isinstance(documents, bytes | str | bytearray | memoryview):
        raise TidegateError("this is one document; write a list of documents")
    if isinstance(documents, pa.ChunkedArray | pa.Array):
        return _of_arrow(documents)
    if speaks_arrow(documents):
        return _of_arrow(array_of(documents))
    if not isinstance(documents, Sequence):
        raise TidegateError(f"documents are a list or a column, not a {type(documents).__name__}")
    return _of_list(documents)


def _of_list(documents: Sequence[Any]) -> Rows:
    kinds = {str if isinstance(each, str) else bytes for each in documents if each is not None}
    if len(kinds) > 1:
        raise TidegateError("documents are all bytes or all texts")
    try:
        kind = pa.large_string() if kinds == {str} else pa.large_binary()
        return _of_arrow(pa.array(documents, kind))
    except (pa.ArrowException, UnicodeError, TypeError) as error:
        raise TidegateError(f"documents are bytes or texts: {error}") from error


def _of_arrow(column: Any) -> Rows:
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if column.type not in _KINDS:
        if pa.types.is_dictionary(column.type):
            return _of_arrow(column.cast(column.type.value_type))
        try:
            kind = pa.large_string() if "string" in str(column.type) else pa.large_binary()
            return _of_arrow(column.cast(kind))
        except pa.ArrowException as error:
            raise TidegateError(
                f"documents are a column of type binary or string, not {column.type}"
            ) from error
    addresses, lengths, refused, before = [], [], {}, 0
    for chunk in chunks:
        if not len(chunk):
            continue
        _, places, data = chunk.buffers()
        offsets = np.frombuffer(places, _KINDS[chunk.type])[
            chunk.offset : chunk.offset + len(chunk) + 1
        ].astype(np.int64)
        addresses.append(offsets[:-1] + (0 if data is None else data.address))
        lengths.append(np.diff(offsets))
        if chunk.null_count:
            for row in np.flatnonzero(chunk.is_null().to_numpy(zero_copy_only=False)).tolist():
                refused[before + row] = NO_DOCUMENT
                lengths[-1][row] = 0
        before += len(chunk)
    empty = [np.zeros(0, np.int64)]
    is_text = "string" in str(column.type)
    return Rows(
        column,
        np.concatenate(addresses or empty),
        np.concatenate(lengths or empty),
        refused,
        is_text,
    )
