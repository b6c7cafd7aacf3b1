"""How do bytes become documents?

A `Reader` has the memory that documents are read into, and uses it again for the next batch: what
it returned before is gone then. `read_documents` is for those who read once.

What a document may become is counted first: no more elements than `<`, no more attributes than `=`,
no more characters than bytes. So there is room for everything, and the memory is never moved while
expat runs. Names are the exception: there are few of them, and where their table is full, it grows,
and the document is read again.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.reading import expat, handlers
from tidegate.documents.reading import parse_kernels as kernels
from tidegate.documents.reading.documents import Arrays, Documents
from tidegate.documents.reading.limits import LIMITS, Limits
from tidegate.documents.reading.prolog import UnreadableError, prepared
from tidegate.documents.reading.rows import Rows, rows_of

_NAMES_KEPT: Final = 1 << 14  # names after which the table is begun anew
_SPARE_ROOM: Final = 64  # items that there is room for at least

_REASONS: Final = {
    handlers.TOO_DEEP: "more than {0.depth:,} elements are in each other",
    handlers.TOO_MANY_ATTRIBUTES: "an element has more than {0.attributes:,} attributes",
    handlers.TOO_MANY_ELEMENTS: "it has more than {0.elements:,} elements",
    handlers.LONG_NAME: "a name has more than {0.name:,} bytes",
    handlers.NO_ROOM: "there is no memory to read it",
}

# The arrays, how many items each has for each thing that is counted, and where on the desk it is.
_PER_ELEMENT: Final = {
    "name": handlers.NAME,
    "parent": handlers.PARENT,
    "depth": handlers.DEPTH,
    "last": handlers.LAST,
    "first_attribute": handlers.FIRST_ATTRIBUTE,
    "text_from": handlers.TEXT_FROM,
    "text_to": handlers.TEXT_TO,
    "first_text": handlers.FIRST_TEXT,
    "latest_text": handlers.LATEST_TEXT,
}
_PER_ATTRIBUTE: Final = {
    "attribute_name": handlers.ATTRIBUTE_NAME,
    "value_from": handlers.VALUE_FROM,
    "value_to": handlers.VALUE_TO,
}
_PER_TEXT: Final = {
    "text_owner": handlers.OWNER,
    "text_start": handlers.TEXT_START,
    "text_end": handlers.TEXT_END,
    "next_text": handlers.NEXT_TEXT,
}
_PER_BYTE: Final = {"values": handlers.VALUES, "characters": handlers.CHARACTERS}


def read_documents(documents: Any, limits: Limits = LIMITS) -> Documents:
    """Read documents: a list of bytes or texts, or a column of an Arrow table.

    >>> read = read_documents([b"<a b='c'>d<e/></a>", b"<a>"])
    >>> [read.label(name) for name in read.arrays.name]
    ['a', 'e']
    >>> read.attributes(0), read.value(0), read.refused
    ({'b': 'c'}, 'd', {1: 'no element found (line 1, column 3)'})
    """
    return Reader(limits).read(rows_of(documents))


class Reader:
    """Reads documents, one batch after the other. For one thread at a time."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.limits = limits
        self._desk = np.zeros(handlers.DESK, np.int64)
        self._memory: dict[str, NDArray[Any]] = {}
        self._lately = np.zeros(3 * (handlers.LATELY_MASK + 1), np.int64)
        self._desk[handlers.LATELY] = self._lately.ctypes.data
        self._functions = _functions()
        self.forget_names()

    def forget_names(self) -> None:
        """Begin the table of names anew."""
        self._names: list[bytes] = []
        self._name_start = np.zeros(1, np.int64)
        self._name_data = np.zeros(0, np.uint8)
        self._desk[[handlers.NAMES, handlers.NAME_BYTES]] = 0
        self._grow_names(512)

    def read(self, rows: Rows) -> Documents:
        """The documents of a batch, in memory that the next batch overwrites."""
        if self._desk[handlers.NAMES] > _NAMES_KEPT:
            self.forget_names()
        count = len(rows)
        addresses, lengths = rows.addresses.copy(), rows.lengths.copy()
        errors, refused = np.zeros(3 * count, np.int64), dict(rows.refused)
        modes, counts = np.zeros(count, np.uint8), np.zeros(3, np.int64)
        for row in np.flatnonzero(lengths > self.limits.size).tolist():
            most = self.limits.size
            refused[row] = f"it has {lengths[row]:,} bytes, and {most:,} are allowed"
        lengths[list(refused)] = 0
        kernels.survey(addresses, lengths, modes, counts, self.limits.attributes)
        held = self._prepare(rows, addresses, lengths, modes, counts, refused)
        for row in np.flatnonzero(modes == kernels.CROWDED).tolist():
            refused[row] = self._reason(handlers.TOO_MANY_ATTRIBUTES, 0, 0)
        errors[[3 * row for row in refused]] = handlers.NO_ROOM
        starts = np.zeros(count + 1, np.int64)
        self._make_room(counts)
        self._parse(addresses, lengths, modes, starts, errors)
        del held
        for row in np.flatnonzero(errors[::3]).tolist():
            if row not in refused:
                refused[row] = self._reason(*errors[3 * row : 3 * row + 3].tolist())
        return Documents(self._arrays(starts), self._known_names(), dict(sorted(refused.items())))

    def _prepare(
        self,
        rows: Rows,
        addresses: NDArray[np.int64],
        lengths: NDArray[np.int64],
        modes: NDArray[np.uint8],
        counts: NDArray[np.int64],
        refused: dict[int, str],
    ) -> list[NDArray[np.uint8]]:
        """See to the documents that need care; the bytes they have become, which are to be kept."""
        held = []
        for row in np.flatnonzero(modes == kernels.CARE).tolist():
            if row in refused:
                continue
            try:
                plain = prepared(rows.document(row), is_text=rows.is_text, most=self.limits.size)
            except UnreadableError as refusal:
                refused[row] = str(refusal)
                continue
            data = np.frombuffer(plain or b" ", np.uint8)
            held.append(data)
            addresses[row], lengths[row] = data.ctypes.data, len(plain)
            own, most = slice(row, row + 1), self.limits.attributes
            kernels.survey(addresses[own], lengths[own], modes[own], counts, most)
            is_crowded = kernels.is_crowded(data.ctypes.data, len(plain), most)
            modes[row] = kernels.CROWDED if is_crowded else kernels.NAMESPACES
        return held

    def _parse(
        self,
        addresses: NDArray[np.int64],
        lengths: NDArray[np.int64],
        modes: NDArray[np.uint8],
        starts: NDArray[np.int64],
        errors: NDArray[np.int64],
    ) -> None:
        desk = self._desk
        desk[: handlers.NAMES] = 0
        desk[handlers.MOST_LEVELS] = self.limits.depth
        desk[handlers.MOST_ATTRIBUTES] = self.limits.attributes
        desk[handlers.MOST_NAME] = self.limits.name
        desk[handlers.MOST_ELEMENTS] = self.limits.elements
        desk[handlers.SALT] = expat.SALT
        done = 0
        while done < len(addresses):
            done = kernels.parse(
                done,
                addresses,
                lengths,
                modes,
                self._functions,
                expat.SALT,
                desk.ctypes.data,
                desk,
                starts,
                errors,
            )
            if done < len(addresses):
                self._grow_names(2 * int(desk[handlers.ROOM_NAMES]))

    def _reason(self, code: int, line: int, column: int) -> str:
        if code < 0:
            return _REASONS[code].format(self.limits)
        return f"{expat.error_text(code)} (line {line}, column {column})"

    # -- memory

    def _make_room(self, counts: NDArray[np.int64]) -> None:
        """See to room for so many tags, attributes and bytes."""
        tags, equals, size = (int(count) + _SPARE_ROOM for count in counts)
        for kinds, room, dtype in (
            (_PER_ELEMENT, tags, np.int32),
            (_PER_ATTRIBUTE, equals, np.int32),
            (_PER_TEXT, tags, np.int32),
            (_PER_BYTE, size, np.uint8),
        ):
            for name, place in kinds.items():
                self._reserve(name, place, room, dtype)
        desk = self._desk
        desk[handlers.ROOM_ELEMENTS] = tags - 1  # one more is written behind the last
        desk[handlers.ROOM_ATTRIBUTES] = equals
        desk[handlers.ROOM_TEXTS] = tags
        desk[[handlers.ROOM_VALUES, handlers.ROOM_TEXT_BYTES]] = size

    def _reserve(self, name: str, place: int, room: int, dtype: Any) -> None:
        memory = self._memory.get(name)
        if memory is None or not room <= len(memory) <= 64 * room + (1 << 20):
            memory = self._memory[name] = np.empty(room, dtype)
        self._desk[place] = memory.ctypes.data

    def _grow_names(self, room: int) -> None:
        """Make the table of names larger."""
        known, used = (int(self._desk[i]) for i in (handlers.NAMES, handlers.NAME_BYTES))
        starts = np.zeros(room + 1, np.int64)
        starts[: known + 1] = self._name_start[: known + 1]
        data = np.zeros(room * 16 + self.limits.name, np.uint8)
        data[:used] = self._name_data[:used]
        self._name_start, self._name_data = starts, data
        self._slots = np.full(2 * room, -1, np.int32)
        desk = self._desk
        desk[handlers.ROOM_NAMES], desk[handlers.ROOM_NAME_BYTES] = room, len(data)
        desk[handlers.SLOTS_MASK] = len(self._slots) - 1
        desk[handlers.SALT] = expat.SALT
        desk[handlers.NAME_START] = starts.ctypes.data
        desk[handlers.NAME_DATA] = data.ctypes.data
        desk[handlers.SLOTS] = self._slots.ctypes.data
        handlers.enter_names(desk.ctypes.data)

    def _known_names(self) -> list[bytes]:
        known = int(self._desk[handlers.NAMES])
        for number in range(len(self._names), known):
            start, end = self._name_start[number : number + 2]
            self._names.append(self._name_data[start:end].tobytes())
        return self._names

    def _arrays(self, starts: NDArray[np.int64]) -> Arrays:
        desk, memory = self._desk, self._memory
        elements, attributes = int(desk[handlers.ELEMENTS]), int(desk[handlers.ATTRIBUTES])
        memory["first_attribute"][elements] = attributes
        lengths = {
            **dict.fromkeys(_PER_ELEMENT, elements),
            **dict.fromkeys(_PER_ATTRIBUTE, attributes),
            **dict.fromkeys(_PER_TEXT, int(desk[handlers.TEXTS])),
            "first_attribute": elements + 1,
            "values": int(desk[handlers.VALUE_BYTES]),
            "characters": int(desk[handlers.TEXT_BYTES]),
        }
        named = {name: memory[name][: lengths[name]] for name in Arrays._fields if name != "starts"}
        return Arrays(starts=starts, **named)


def _functions() -> NDArray[np.int64]:
    """All addresses, in the order that the kernel knows."""
    found, own = expat.functions(), handlers.addresses()
    names = (
        "Parse ParserCreate_MM ParserFree SetUserData SetHashSalt SetElementHandler "
        "SetCharacterDataHandler SetCommentHandler SetProcessingInstructionHandler "
        "GetErrorCode GetErrorLineNumber GetErrorColumnNumber"
    )
    mine = ("start_element", "end_element", "piece_of_text", "comment", "instruction")
    addresses = [found[name] for name in names.split()] + [own[name] for name in mine]
    return np.array([*addresses, expat.UTF_8, expat.SEPARATED], np.int64)
