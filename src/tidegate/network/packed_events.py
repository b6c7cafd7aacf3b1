"""Events that are still the bytes in which they came.

A broker that matches many events looks at a few of their attributes, and passes on their bytes: it
need not make a mapping of any of them. So it is noted where in the payloads of a batch names and
values stand (`payload_kernels`), and what is asked for is read: an attribute of all events, or one
event.

That is done for plain events, all of a batch or none: of a batch with anything else in it, every
event is made at once (`payloads.read_events`).
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.events.columned_events import ColumnedEvents
from tidegate.network import payload_kernels as kernels
from tidegate.network.payloads import read

if TYPE_CHECKING:
    from tidegate.network.event_frames import Payloads

WORTH: Final = 16  # events from which on it is worth it


class Positions(NamedTuple):
    """Where names begin and end, and values begin: of event i, from `firsts[i]` on."""

    firsts: NDArray[np.int32]
    names: NDArray[np.int64]
    ends: NDArray[np.int64]
    values: NDArray[np.int64]


class PackedEvents(ColumnedEvents):
    """The events of some payloads, all of them plain."""

    def __init__(self, payloads: "Payloads", positions: Positions) -> None:
        self._payloads = payloads
        self._positions = positions
        self._made: dict[int, dict[str, Any]] = {}
        self._columns: dict[str, int] = {}  # places by names; -1 where no event has it
        self._values: list[pa.Array | list[Any]] = []

    @classmethod
    def of(cls, payloads: "Payloads") -> "PackedEvents | None":
        """The events, if they are plain, and many."""
        count = len(payloads)
        if count < WORTH:
            return None
        room = kernels.capacity(payloads.starts, payloads.ends)
        names, ends, values = (np.empty(room, np.int64) for _ in range(3))
        positions = Positions(np.empty(count + 1, np.int32), names, ends, values)
        plain = kernels.locate(payloads.octets, payloads.starts, payloads.ends, *positions)
        return cls(payloads, positions) if plain else None

    def __len__(self) -> int:
        return len(self._payloads)

    @overload
    def __getitem__(self, row: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, row: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, row: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        own = self._made.get(row)
        if own is None:
            own = self._made[row] = read(bytes(self._payloads[row]))
        return own

    def columns(self, name: str) -> list[int]:
        """Where the values of a name are, if any event has one."""
        place = self._columns.get(name)
        if place is None:
            values = self._read(name)
            place = self._columns[name] = -1 if values is None else len(self._values)
            if values is not None:
                self._values.append(values)
        return [] if place < 0 else [place]

    def values(self, place: int) -> "pa.Array | list[Any]":
        """The values of a name."""
        return self._values[place]

    def _read(self, name: str) -> "pa.Array | list[Any] | None":
        data, count = self._payloads.octets, len(self)
        found = np.empty(count, np.int64)
        try:
            spelled = np.frombuffer(name.encode(), np.uint8)
        except UnicodeEncodeError:  # half a character: no event has a name of it
            return None
        kinds = kernels.find(data, *self._positions, spelled, found)
        valid = None
        if kinds & kernels.NIL:
            valid = pa.py_buffer(np.packbits(found >= 0, bitorder="little"))
        match kinds & ~kernels.NIL:
            case 0:
                return None
            case kernels.INTEGER:
                out = np.empty(count, np.int64)
                kernels.integers(data, found, out)
                return pa.Array.from_buffers(pa.int64(), count, [valid, pa.py_buffer(out)])
            case kernels.DOUBLE:
                bits = np.empty(count, np.uint64)
                kernels.doubles(data, found, bits)
                return pa.Array.from_buffers(pa.float64(), count, [valid, pa.py_buffer(bits)])
            case kernels.TRUTH:
                truths = np.empty(count, np.bool_)
                kernels.truths(data, found, truths)
                own = pa.py_buffer(np.packbits(truths, bitorder="little"))
                return pa.Array.from_buffers(pa.bool_(), count, [valid, own])
            case kernels.TEXT:
                return self._texts(found, valid)
        return [event.get(name) for event in self]

    def _texts(self, found: NDArray[np.int64], valid: pa.Buffer | None) -> pa.Array:
        """The texts at some places; there is room for those of a few dozen bytes at first."""
        count = len(found)
        starts, room = np.empty(count + 1, np.int32), 32 * count
        out = np.empty(room, np.uint8)
        while not kernels.texts(self._payloads.octets, found, starts, out):
            room *= 4
            out = np.empty(room, np.uint8)
        parts = [valid, pa.py_buffer(starts), pa.py_buffer(out[: starts[-1]])]
        return pa.Array.from_buffers(pa.string(), count, parts)
