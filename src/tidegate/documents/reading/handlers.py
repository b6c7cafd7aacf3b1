"""What becomes of what expat finds?

Expat calls these functions while it reads a document: at each start and end of an element, for each
piece of text, each comment and processing instruction. They write flat arrays, whose addresses,
room and present lengths are in a **desk**, an array of integers that each of them is handed.

- Elements come in document order: name, parent, level, the last element inside, the place of the
  first attribute, and which stretch of the document's text lies within.
- All text of a document lies in one stretch of bytes, in document order, so the string value of an
  element is one stretch of it. A text node is a stretch too; pieces that follow each other are one
  node, unless an element, a comment or a processing instruction is between them.
- Names are interned: the same bytes, the same number.

What is beyond a limit, or beyond the room there is, is noted on the desk; the rest of the document
is passed over then, because expat cannot be stopped.
"""

from typing import Any, Final

import numpy as np
from numba import types

from tidegate.documents.reading.memory import get_32, get_64, get_byte, put_32, put_64, put_byte
from tidegate.jit import callback, kernel

# What is where on the desk. First, how much there is so far.
ELEMENTS: Final = 0
ATTRIBUTES: Final = 1
TEXTS: Final = 2
VALUE_BYTES: Final = 3
TEXT_BYTES: Final = 4
NAMES: Final = 5
NAME_BYTES: Final = 6
# Then where the document is.
TOP: Final = 7  # the element that is open, or -1
LEVEL: Final = 8
OPEN_TEXT: Final = 9  # the text node that the next piece belongs to, or -1
STATUS: Final = 10
# Then the limits.
MOST_LEVELS: Final = 11
MOST_ATTRIBUTES: Final = 12
MOST_NAME: Final = 13
SALT: Final = 14
# Then the room, by kind.
ROOM_ELEMENTS: Final = 15
ROOM_ATTRIBUTES: Final = 16
ROOM_TEXTS: Final = 17
ROOM_VALUES: Final = 18
ROOM_TEXT_BYTES: Final = 19
ROOM_NAMES: Final = 20
ROOM_NAME_BYTES: Final = 21
SLOTS_MASK: Final = 22
PLAIN_NAMES: Final = 23  # whether the document is read without namespaces
# Then the addresses.
NAME: Final = 24
PARENT: Final = 25
DEPTH: Final = 26
LAST: Final = 27
FIRST_ATTRIBUTE: Final = 28
TEXT_FROM: Final = 29
TEXT_TO: Final = 30
FIRST_TEXT: Final = 31
LATEST_TEXT: Final = 32
ATTRIBUTE_NAME: Final = 33
VALUE_FROM: Final = 34
VALUE_TO: Final = 35
OWNER: Final = 36
TEXT_START: Final = 37
TEXT_END: Final = 38
NEXT_TEXT: Final = 39
VALUES: Final = 40
CHARACTERS: Final = 41
NAME_START: Final = 42
NAME_DATA: Final = 43
SLOTS: Final = 44
LATELY: Final = 45  # where names were lately: address, document, number
DOCUMENT: Final = 46  # the number of the document
MOST_ELEMENTS: Final = 47  # of one document
STOP_ELEMENTS: Final = 48  # those of all documents so far, and of this one
LATELY_MASK: Final = 255
DESK: Final = 56
"""The length of a desk; at its end, what there was before the document is kept."""

FINE: Final = 0
TOO_DEEP: Final = -1
TOO_MANY_ATTRIBUTES: Final = -2
LONG_NAME: Final = -3
NO_ROOM: Final = -4  # cannot be: what was counted before was too little
MORE_NAMES: Final = -5  # the table of names is to grow, and the document to be read again
NAMESPACE: Final = -6  # there is one, and the document is to be read again
TOO_MANY_ELEMENTS: Final = -7

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)


@kernel
def is_of_namespace(name: int, length: int) -> bool:
    """Whether a name has a colon, or declares a namespace."""
    for i in range(length):
        if get_byte(name, i) == 58:
            return True
    return (
        length == 5
        and get_byte(name, 0) == 120
        and get_byte(name, 1) == 109
        and get_byte(name, 2) == 108
        and get_byte(name, 3) == 110
        and get_byte(name, 4) == 115
    )


@kernel
def intern(desk: int, name: int) -> int:
    """The number of a name, which ends with a zero; -1 if it is noted that there is none."""
    value = np.uint64(get_64(desk, SALT))
    length = 0
    byte = get_byte(name, 0)
    while byte:
        value = (value ^ np.uint64(byte)) * _MIX
        length += 1
        byte = get_byte(name, length)
    value ^= value >> _HALF
    value *= _MIX
    mask = get_64(desk, SLOTS_MASK)
    slot = int(value >> _HALF) & mask
    slots, starts, data = get_64(desk, SLOTS), get_64(desk, NAME_START), get_64(desk, NAME_DATA)
    while True:
        number = get_32(slots, slot)
        if number < 0:
            break
        start = get_64(starts, number)
        if get_64(starts, number + 1) - start == length:
            i = 0
            while i < length and get_byte(data, start + i) == get_byte(name, i):
                i += 1
            if i == length:
                return number
        slot = (slot + 1) & mask
    if get_64(desk, PLAIN_NAMES) and is_of_namespace(name, length):
        put_64(desk, STATUS, NAMESPACE)
        return -1
    if length > get_64(desk, MOST_NAME):
        put_64(desk, STATUS, LONG_NAME)
        return -1
    number, start = get_64(desk, NAMES), get_64(desk, NAME_BYTES)
    if number >= get_64(desk, ROOM_NAMES) or start + length > get_64(desk, ROOM_NAME_BYTES):
        put_64(desk, STATUS, MORE_NAMES)
        return -1
    for i in range(length):
        put_byte(data, start + i, get_byte(name, i))
    put_64(starts, number + 1, start + length)
    put_32(slots, slot, number)
    put_64(desk, NAMES, number + 1)
    put_64(desk, NAME_BYTES, start + length)
    return number


@kernel
def enter_names(desk: int) -> None:
    """Enter the names that are known into slots that are empty."""
    mask, slots = get_64(desk, SLOTS_MASK), get_64(desk, SLOTS)
    starts, data = get_64(desk, NAME_START), get_64(desk, NAME_DATA)
    for number in range(get_64(desk, NAMES)):
        start = get_64(starts, number)
        value = np.uint64(get_64(desk, SALT))
        for i in range(start, get_64(starts, number + 1)):
            value = (value ^ np.uint64(get_byte(data, i))) * _MIX
        value ^= value >> _HALF
        value *= _MIX
        slot = int(value >> _HALF) & mask
        while get_32(slots, slot) >= 0:
            slot = (slot + 1) & mask
        put_32(slots, slot, number)


@kernel
def name_of_attribute(desk: int, name: int) -> int:
    """The number of an attribute's name.

    Without namespaces, expat keeps the names of attributes where they are until the document ends,
    so an address that was seen in this document is that of the same name.
    """
    if not get_64(desk, PLAIN_NAMES):
        return intern(desk, name)
    lately, place = get_64(desk, LATELY), 3 * ((name >> 4) & LATELY_MASK)
    if get_64(lately, place) == name and get_64(lately, place + 1) == get_64(desk, DOCUMENT):
        return get_64(lately, place + 2)
    number = intern(desk, name)
    put_64(lately, place, name)
    put_64(lately, place + 1, get_64(desk, DOCUMENT))
    put_64(lately, place + 2, number)
    return number


@kernel
def note_attribute(desk: int, name: int, value: int) -> bool:
    """Note an attribute of the element that is being opened; whether there was room."""
    number = name_of_attribute(desk, name)
    if number < 0:
        return False
    place, start = get_64(desk, ATTRIBUTES), get_64(desk, VALUE_BYTES)
    room, target = get_64(desk, ROOM_VALUES), get_64(desk, VALUES)
    end = start
    byte = get_byte(value, 0)
    while byte and end < room:
        put_byte(target, end, byte)
        end += 1
        byte = get_byte(value, end - start)
    if byte or place >= get_64(desk, ROOM_ATTRIBUTES):
        put_64(desk, STATUS, NO_ROOM)
        return False
    put_32(get_64(desk, ATTRIBUTE_NAME), place, number)
    put_32(get_64(desk, VALUE_FROM), place, start)
    put_32(get_64(desk, VALUE_TO), place, end)
    put_64(desk, ATTRIBUTES, place + 1)
    put_64(desk, VALUE_BYTES, end)
    return True


@callback(types.void(types.int64, types.int64, types.int64))
def start_element(desk: int, name: int, attributes: int) -> None:
    """An element begins; its attributes are addresses of names and values by turns, then zero."""
    if get_64(desk, STATUS):
        return
    level = get_64(desk, LEVEL) + 1
    if level > get_64(desk, MOST_LEVELS):
        put_64(desk, STATUS, TOO_DEEP)
        return
    element = get_64(desk, ELEMENTS)
    if element >= get_64(desk, STOP_ELEMENTS):
        put_64(desk, STATUS, TOO_MANY_ELEMENTS)
        return
    if element >= get_64(desk, ROOM_ELEMENTS):
        put_64(desk, STATUS, NO_ROOM)
        return
    number = intern(desk, name)
    if number < 0:
        return
    put_32(get_64(desk, NAME), element, number)
    put_32(get_64(desk, PARENT), element, get_64(desk, TOP))
    put_32(get_64(desk, DEPTH), element, level)
    put_32(get_64(desk, FIRST_ATTRIBUTE), element, get_64(desk, ATTRIBUTES))
    put_32(get_64(desk, TEXT_FROM), element, get_64(desk, TEXT_BYTES))
    put_32(get_64(desk, FIRST_TEXT), element, -1)
    count, most = 0, get_64(desk, MOST_ATTRIBUTES)
    while count <= most and get_64(attributes, 2 * count):
        count += 1
    if count > most:
        put_64(desk, STATUS, TOO_MANY_ATTRIBUTES)
        return
    count = 0
    while get_64(attributes, 2 * count):
        if not note_attribute(
            desk, get_64(attributes, 2 * count), get_64(attributes, 2 * count + 1)
        ):
            return
        count += 1
    put_64(desk, ELEMENTS, element + 1)
    put_64(desk, TOP, element)
    put_64(desk, LEVEL, level)
    put_64(desk, OPEN_TEXT, -1)


@callback(types.void(types.int64, types.int64))
def end_element(desk: int, name: int) -> None:
    """The element that was opened last ends."""
    if get_64(desk, STATUS):
        return
    element = get_64(desk, TOP)
    put_32(get_64(desk, LAST), element, get_64(desk, ELEMENTS) - 1)
    put_32(get_64(desk, TEXT_TO), element, get_64(desk, TEXT_BYTES))
    put_64(desk, TOP, get_32(get_64(desk, PARENT), element))
    put_64(desk, LEVEL, get_64(desk, LEVEL) - 1)
    put_64(desk, OPEN_TEXT, -1)


@callback(types.void(types.int64, types.int64, types.int64))
def piece_of_text(desk: int, characters: int, length: int) -> None:
    """Some characters, of which only the lower half of the length is theirs."""
    if get_64(desk, STATUS):
        return
    length &= 0x7FFFFFFF
    start, node = get_64(desk, TEXT_BYTES), get_64(desk, OPEN_TEXT)
    if start + length > get_64(desk, ROOM_TEXT_BYTES):
        put_64(desk, STATUS, NO_ROOM)
        return
    if node < 0:
        node, owner = get_64(desk, TEXTS), get_64(desk, TOP)
        if node >= get_64(desk, ROOM_TEXTS):
            put_64(desk, STATUS, NO_ROOM)
            return
        put_32(get_64(desk, OWNER), node, owner)
        put_32(get_64(desk, TEXT_START), node, start)
        put_32(get_64(desk, NEXT_TEXT), node, -1)
        if get_32(get_64(desk, FIRST_TEXT), owner) < 0:
            put_32(get_64(desk, FIRST_TEXT), owner, node)
        else:
            put_32(get_64(desk, NEXT_TEXT), get_32(get_64(desk, LATEST_TEXT), owner), node)
        put_32(get_64(desk, LATEST_TEXT), owner, node)
        put_64(desk, TEXTS, node + 1)
        put_64(desk, OPEN_TEXT, node)
    target = get_64(desk, CHARACTERS)
    for i in range(length):
        put_byte(target, start + i, get_byte(characters, i))
    put_32(get_64(desk, TEXT_END), node, start + length)
    put_64(desk, TEXT_BYTES, start + length)


@callback(types.void(types.int64, types.int64))
def comment(desk: int, characters: int) -> None:
    """A comment, which is between two texts."""
    put_64(desk, OPEN_TEXT, -1)


@callback(types.void(types.int64, types.int64, types.int64))
def instruction(desk: int, target: int, data: int) -> None:
    """A processing instruction, which is between two texts."""
    put_64(desk, OPEN_TEXT, -1)


def addresses() -> dict[str, Any]:
    """The addresses of the functions above."""
    functions = (start_element, end_element, piece_of_text, comment, instruction)
    return {function.__name__: function.address for function in functions}
