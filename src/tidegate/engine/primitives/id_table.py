"""Which code has this id?

An `IdTable` finds the places of ids in an Arrow array. A million ids in a Python dictionary would
be a hundred megabytes of every process that opens an index, and half a second before its first
change; so many ids are found by a hash table of places alone, which looks the ids up in the array
itself, in memory mapped from a file if need be. It is open addressed, with linear probing, and at
most half full. The hash has a secret of its own in every process, so nobody can choose ids that
collide. Among few ids, a single one is found by a dictionary, which is faster when it is asked one
by one; it is made when the first is asked for.

Invariant: `get` and `find` say of every id where it is first in the array, or that it is nowhere,
-1.
"""

import secrets
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.jit import brief, inlined, kernel

Id: TypeAlias = str | int
Integers: TypeAlias = NDArray[np.int64]

NOWHERE: Final = -1

_IDS_IN_A_DICTIONARY: Final = 32_768  # ids that a dictionary finds

_SECRET: Final = np.uint64(secrets.randbits(63) * 2 + 1)
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_AGAIN: Final = np.uint64(0xD6E8FEB86659FD93)
_HALF: Final = np.uint64(32)
_EIGHT: Final = np.uint64(8)


class Keys(NamedTuple):
    """Ids as bytes: those of id `i` begin at `starts[i]`, or at `8 * i` if they are integers."""

    starts: NDArray[np.int32] | NDArray[np.int64]
    data: NDArray[np.uint8]
    size: int


class IdTable:
    """The places of the ids in an array of strings, or of 64-bit integers, without nulls.

    They may be any strings or integers; those of event columns are looked up the same way.
    """

    def __init__(self, ids: pa.Array) -> None:
        self._ids = ids
        self._of_texts = not pa.types.is_integer(ids.type)
        self._keys = _keys(ids)
        self._slots = np.full(1 << (2 * len(ids) - 1).bit_length(), NOWHERE, np.int32)
        self._distinct = enter(self._keys, _SECRET, self._slots)
        self._places: dict[Id, int] | None = None

    def __len__(self) -> int:
        """How many different ids there are."""
        return self._distinct

    @property
    def nbytes(self) -> int:
        """The memory of the hash table."""
        return self._slots.nbytes

    def get(self, id: Id) -> int:
        """Where the id is."""
        if len(self._ids) <= _IDS_IN_A_DICTIONARY:
            if self._places is None:
                ids, places = self._ids.to_pylist(), range(len(self._ids))
                self._places = dict(zip(reversed(ids), reversed(places), strict=True))
            return self._places.get(id, NOWHERE)
        if isinstance(id, str) is not self._of_texts:
            return NOWHERE
        own = id.encode() if isinstance(id, str) else id.to_bytes(8, "little", signed=True)
        data = np.frombuffer(own, np.uint8)
        return find_alone(data, self._keys, _SECRET, self._slots)

    def find(self, ids: pa.Array) -> Integers:
        """Where each of the ids of an array is."""
        found = np.full(len(ids), NOWHERE, np.int64)
        if pa.types.is_integer(ids.type) is not self._of_texts:
            find_all(_keys(ids), self._keys, _SECRET, self._slots, found)
        return found


def _keys(ids: pa.Array) -> Keys:
    _, first, *rest = ids.buffers()
    if not pa.types.is_integer(ids.type):
        width: Any = np.int64 if pa.types.is_large_string(ids.type) else np.int32
        starts = _read_only(first, width)[ids.offset : ids.offset + len(ids) + 1]
        return Keys(starts, _read_only(rest[0], np.uint8), len(ids))
    data = _read_only(first, np.uint8)[8 * ids.offset : 8 * (ids.offset + len(ids))]
    return Keys(_read_only(None, np.int32), data, len(ids))


def _read_only(buffer: pa.Buffer | None, kind: Any) -> NDArray[Any]:
    """A buffer as an array; read-only, whatever it is: kernels are compiled for each sort anew."""
    found = np.frombuffer(buffer or b"", kind)
    found.setflags(write=False)
    return found


@inlined
def _bytes(keys: Keys, i: int) -> tuple[int, int]:
    """Where the bytes of an id are."""
    if len(keys.starts):
        return keys.starts[i], keys.starts[i + 1]
    return 8 * i, 8 * i + 8


@kernel
def _hash(data: NDArray[np.uint8], start: int, stop: int, secret: np.uint64) -> np.uint64:
    """Eight bytes at a time: mixed in, multiplied, and folded."""
    value = secret ^ np.uint64(stop - start)
    word, shift = np.uint64(0), np.uint64(0)
    for i in range(start, stop):
        word |= np.uint64(data[i]) << shift
        shift += _EIGHT
        if shift == np.uint64(64) or i == stop - 1:
            value = (value ^ word) * _MIX
            value = (value ^ (value >> _HALF)) * _MIX_AGAIN
            value ^= value >> _HALF
            word, shift = np.uint64(0), np.uint64(0)
    return value


@inlined
def _same(data: NDArray[np.uint8], start: int, stop: int, keys: Keys, place: int) -> bool:
    """Whether these bytes are those of the id at a place."""
    own_start, own_stop = _bytes(keys, place)
    length = stop - start
    if own_stop - own_start != length:
        return False
    i = 0
    while i < length and keys.data[own_start + i] == data[start + i]:
        i += 1
    return i == length


@kernel
def find_one(
    data: NDArray[np.uint8],
    start: int,
    stop: int,
    keys: Keys,
    secret: np.uint64,
    slots: NDArray[np.int32],
) -> int:
    """The place of the id with these bytes, or the slot that it could have as `-2 - slot`."""
    mask = np.uint64(len(slots) - 1)
    slot = _hash(data, start, stop, secret) & mask
    while True:
        place = slots[slot]
        if place == NOWHERE:
            return -2 - int(slot)
        if _same(data, start, stop, keys, place):
            return int(place)
        slot = (slot + np.uint64(1)) & mask


@brief
def find_alone(
    data: NDArray[np.uint8], keys: Keys, secret: np.uint64, slots: NDArray[np.int32]
) -> int:
    """The place of the only id that is asked for."""
    return max(NOWHERE, find_one(data, 0, len(data), keys, secret, slots))


@kernel
def enter(keys: Keys, secret: np.uint64, slots: NDArray[np.int32]) -> int:
    """Enter all ids into empty slots; how many different ones there are."""
    distinct = 0
    for i in range(keys.size):
        start, stop = _bytes(keys, i)
        found = find_one(keys.data, start, stop, keys, secret, slots)
        if found < NOWHERE:
            slots[-2 - found] = i
            distinct += 1
    return distinct


@kernel
def find_all(
    asked: Keys, keys: Keys, secret: np.uint64, slots: NDArray[np.int32], found: Integers
) -> None:
    """The places of many ids.

    First the slots of all are looked at, then the ids there: the processor waits for many of them
    at once, where one id after the other it would wait for each.
    """
    mask = np.uint64(len(slots) - 1)
    for i in range(asked.size):
        start, stop = _bytes(asked, i)
        found[i] = slots[_hash(asked.data, start, stop, secret) & mask]
    for i in range(asked.size):
        if found[i] != NOWHERE:
            start, stop = _bytes(asked, i)
            if not _same(asked.data, start, stop, keys, found[i]):
                found[i] = max(NOWHERE, find_one(asked.data, start, stop, keys, secret, slots))
