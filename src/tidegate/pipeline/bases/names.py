"""Which subscription, of which subscriber, is a number?

The numbers of a shard are the rows of its file of names, which is mapped, and sorted by id: so an
id is found by search, and nothing about it has to be kept by every worker. Many ids are looked for
at once, in their order: each search starts where the last one ended, and takes ever longer steps
until it is too far (*galloping*).

What came since a base has numbers of its own (`AddedNames`).
"""

from typing import Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.jit import kernel
from tidegate.pipeline.store.literals import Rows

NOWHERE: Final = -1

Starts: TypeAlias = NDArray[np.int32]
Bytes: TypeAlias = NDArray[np.uint8]


class Names(Protocol):
    """Says who the numbers of an index are."""

    def of(self, numbers: Rows) -> tuple[pa.Array, pa.Array]:
        """The ids and the subscribers."""


class MappedNames:
    """The names of a shard, as its file has them."""

    def __init__(self, table: pa.Table) -> None:
        self._ids = _whole(table["id"])
        self._subscribers = _whole(table["subscriber"])
        self._texts = _whole(table["filter"])
        self._selves = bool(self._ids.equals(self._subscribers))  # all their own subscribers

    def of(self, numbers: Rows) -> tuple[pa.Array, pa.Array]:
        """The ids and the subscribers."""
        taken = pa.array(numbers)
        ids = self._ids.take(taken)
        return ids, ids if self._selves else self._subscribers.take(taken)

    def texts(self, numbers: Rows) -> pa.Array:
        """The filters, as far as they have parameters."""
        return self._texts.take(pa.array(numbers)).cast(pa.string())

    def find(self, ids: pa.Array) -> Rows:
        """The number of each of some ids, which are sorted; NOWHERE if it is not here."""
        found = np.full(len(ids), NOWHERE, np.int64)
        if len(ids) and len(self._ids):
            _find(*_buffers(self._ids), *_buffers(ids), found)
        return found


class AddedNames:
    """The names of what came since a base; numbers go on from 0, and are given again.

    So there are as many as there were subscriptions at once, those included that one step replaces,
    however many have come and gone.
    """

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._subscribers: list[str] = []
        self._texts: list[str] = []
        self._free: list[int] = []  # numbers that nobody has any more
        self._numbers: dict[str, int] = {}  # the last one of each id that was not forgotten
        self._arrays: tuple[pa.Array, pa.Array] | None = None

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, ids: pa.Array, subscribers: pa.Array, texts: pa.Array) -> Rows:
        """Give these subscriptions numbers that are free."""
        first, new = len(self._ids), ids.to_pylist()
        again = self._free[len(self._free) - min(len(self._free), len(new)) :]
        del self._free[len(self._free) - len(again) :]
        numbers = [*again, *range(first, first + len(new) - len(again))]
        for known, own in (
            (self._ids, new),
            (self._subscribers, subscribers.to_pylist()),
            (self._texts, texts.to_pylist()),
        ):
            for number, name in zip(again, own, strict=False):
                known[number] = name
            known += own[len(again) :]
        self._arrays = None
        self._numbers.update(zip(new, numbers, strict=True))
        return np.array(numbers, np.int64)

    def free(self, numbers: Rows) -> None:
        """Give these numbers again: those that had them are forgotten, and asked for no more."""
        self._free += numbers[numbers != NOWHERE].tolist()

    def forget(self, ids: pa.Array) -> Rows:
        """Have ids nowhere any more; the number that each of them had, or NOWHERE.

        What the numbers say can still be asked, until they are `free`.
        """
        gone = self._numbers.pop
        return np.array([gone(id, NOWHERE) for id in ids.to_pylist()], np.int64)

    def of(self, numbers: Rows) -> tuple[pa.Array, pa.Array]:
        """The ids and the subscribers."""
        if self._arrays is None:
            self._arrays = (
                pa.array(self._ids, pa.string()),
                pa.array(self._subscribers, pa.string()),
            )
        taken = pa.array(numbers)
        return self._arrays[0].take(taken), self._arrays[1].take(taken)

    def texts(self, numbers: Rows) -> pa.Array:
        """The filters."""
        return pa.array([self._texts[number] for number in numbers.tolist()], pa.string())


def sorted_ids(ids: pa.Array) -> pa.Array:
    """Ids in the order in which names are kept."""
    return ids.take(pc.sort_indices(ids))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _buffers(texts: pa.Array) -> tuple[Starts, Bytes]:
    """Where each text starts, and the bytes of all."""
    _, offsets, content = texts.buffers()
    starts = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return starts, np.frombuffer(content if content is not None else b"", np.uint8)


@kernel
def _find(starts: Starts, content: Bytes, asked_starts: Starts, asked: Bytes, found: Rows) -> None:
    size = len(starts) - 1
    place = 0  # every id before it is less than the one that is looked for
    for number in range(len(asked_starts) - 1):
        high, step = place, 1
        while high < size and _order(starts, content, high, asked_starts, asked, number) < 0:
            place = high + 1
            high += step
            step *= 2
        high = min(high, size)
        while place < high:
            middle = (place + high) // 2
            if _order(starts, content, middle, asked_starts, asked, number) < 0:
                place = middle + 1
            else:
                high = middle
        if place < size and _order(starts, content, place, asked_starts, asked, number) == 0:
            found[number] = place


@kernel
def _order(
    starts: Starts, content: Bytes, place: int, asked_starts: Starts, asked: Bytes, number: int
) -> int:
    """Less than, equal to or greater than 0, as the first of two texts is than the second."""
    here, there = starts[place], asked_starts[number]
    own, other = starts[place + 1] - here, asked_starts[number + 1] - there
    for k in range(min(own, other)):
        difference = np.int64(content[here + k]) - np.int64(asked[there + k])
        if difference != 0:
            return int(difference)
    return int(own - other)
