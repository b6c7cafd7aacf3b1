"""How does a batch of documents go through expat?

One document after the other, each with a parser of its own, in portions, so that one that turns out
to be beyond a limit is not read to its end. What a refused document has left behind is overwritten
by the next. Namespaces make no difference to a document in which no name has a colon or is `xmlns`:
such a one is read without, and begun anew with them if it turns out to be another.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.reading.expat import call_1, call_2, call_3, call_4
from tidegate.documents.reading.handlers import (
    DOCUMENT,
    ELEMENTS,
    FINE,
    LEVEL,
    MORE_NAMES,
    MOST_ELEMENTS,
    NAMESPACE,
    NO_ROOM,
    OPEN_TEXT,
    PLAIN_NAMES,
    STATUS,
    STOP_ELEMENTS,
    TEXT_BYTES,
    TOP,
)
from tidegate.documents.reading.memory import get_byte
from tidegate.jit import kernel

_PORTION: Final = 1 << 18  # bytes; then as many as before, for a tag is read again from its start
_LOOKED_AT: Final = 512  # bytes in which a document that has namespaces mostly says so
_DECLARATION: Final = 256  # bytes of an XML declaration that is looked at here

# What is where among the addresses of functions, and of the two texts that expat is given.
PARSE: Final = 0
CREATE: Final = 1
FREE: Final = 2
SET_DATA: Final = 3
SET_SALT: Final = 4
SET_ELEMENT: Final = 5
SET_TEXT: Final = 6
SET_COMMENT: Final = 7
SET_INSTRUCTION: Final = 8
GET_ERROR: Final = 9
GET_LINE: Final = 10
GET_COLUMN: Final = 11
ON_START: Final = 12
ON_END: Final = 13
ON_TEXT: Final = 14
ON_COMMENT: Final = 15
ON_INSTRUCTION: Final = 16
UTF_8: Final = 17
SEPARATOR: Final = 18

# What a document may need before it is parsed.
PLAIN: Final = 0
NAMESPACES: Final = 1
CARE: Final = 2
CROWDED: Final = 3  # an element has too many attributes; it is not parsed


@kernel
def survey(
    addresses: NDArray[np.int64],
    lengths: NDArray[np.int64],
    modes: NDArray[np.uint8],
    counts: NDArray[np.int64],
    most: int,
) -> None:
    """Which mode each document needs, and at most how many tags, attributes and bytes there are.

    `CARE` is for what does not begin as UTF-8, or has a document type declaration. An element with
    more than the most attributes is found here, because expat takes a microsecond for each of them.
    """
    for d in range(len(addresses)):
        address, length = addresses[d], lengths[d]
        tags, equals = 0, 0
        for i in range(length):
            byte = get_byte(address, i)
            tags += byte == 60
            equals += byte == 61
        mode = NAMESPACES if _has_xmlns(address, min(length, _LOOKED_AT)) else PLAIN
        if _needs_care(address, length):
            mode = CARE
        elif equals > most and is_crowded(address, length, most):
            mode = CROWDED
        modes[d] = mode
        counts[0] += tags
        counts[1] += equals
        counts[2] += length


@kernel
def is_crowded(address: int, length: int, most: int) -> bool:
    """Whether there is a tag with more attributes, of a document that is well-formed."""
    i = 0
    while i + 1 < length:
        if get_byte(address, i) != 60:
            i += 1
            continue
        byte = get_byte(address, i + 1)
        if byte == 33 and i + 2 < length and get_byte(address, i + 2) == 45:
            i = _behind(address, i + 4, length, 45, 45)
        elif byte == 33 and i + 2 < length and get_byte(address, i + 2) == 91:
            i = _behind(address, i + 9, length, 93, 93)
        elif byte == 63:
            i = _behind(address, i + 2, length, 0, 63)
        else:
            count, quote = 0, 0
            while i < length and (quote or get_byte(address, i) != 62):
                byte = get_byte(address, i)
                if quote:
                    if byte == quote:
                        quote = 0
                elif byte == 34 or byte == 39:
                    quote = byte
                elif byte == 61:
                    count += 1
                    if count > most:
                        return True
                i += 1
    return False


@kernel
def _behind(address: int, i: int, length: int, first: int, second: int) -> int:
    """The first place behind two bytes and a `>`; any will do for a first one that is 0."""
    while i + 2 < length:
        if (
            get_byte(address, i + 2) == 62
            and get_byte(address, i + 1) == second
            and (not first or get_byte(address, i) == first)
        ):
            return i + 3
        i += 1
    return length


@kernel
def _has_xmlns(address: int, length: int) -> bool:
    """Whether `xmlns` is somewhere."""
    for i in range(length - 4):
        if (
            get_byte(address, i + 2) == 108
            and get_byte(address, i) == 120
            and get_byte(address, i + 1) == 109
            and get_byte(address, i + 3) == 110
            and get_byte(address, i + 4) == 115
        ):
            return True
    return False


@kernel
def _needs_care(address: int, length: int) -> bool:
    """Whether a document begins other than as markup in UTF-8, or declares what it is.

    Before the outermost element, only comments and spaces are passed over.
    """
    i = 0
    while i < length:
        byte = get_byte(address, i)
        if byte == 32 or byte == 9 or byte == 10 or byte == 13:
            i += 1
            continue
        if byte != 60 or i + 1 >= length:
            return True
        byte = get_byte(address, i + 1)
        if byte == 33:  # a comment, or a declaration
            if i + 3 >= length or get_byte(address, i + 2) != 45 or get_byte(address, i + 3) != 45:
                return True
            i += 4
            while i + 2 < length and not (
                get_byte(address, i) == 45
                and get_byte(address, i + 1) == 45
                and get_byte(address, i + 2) == 62
            ):
                i += 1
            i += 3
            continue
        if byte == 63 and not i:
            i = _declared(address, length)
            if i:
                continue
        return byte == 63 or byte == 0  # an instruction, an odd XML declaration, or UTF-16
    return True


@kernel
def _declared(address: int, length: int) -> int:
    """The end of an XML declaration that says UTF-8, or nothing of an encoding; 0 if it is else."""
    if length < 6 or get_byte(address, 2) != 120 or get_byte(address, 3) != 109:
        return 0
    if get_byte(address, 4) != 108 or get_byte(address, 5) > 32:
        return 0
    i = 6
    while i + 1 < min(length, _DECLARATION):
        byte = get_byte(address, i)
        if byte == 63 and get_byte(address, i + 1) == 62:
            return i + 2
        if byte == 101:  # of `encoding`, of which there is nothing else
            while i + 9 < length and get_byte(address, i) != 61 and get_byte(address, i) != 62:
                i += 1
            i += 1
            quote = get_byte(address, i)
            if i + 7 >= length or not (quote == 34 or quote == 39):
                return 0
            if not (
                get_byte(address, i + 1) & 0xDF == 85
                and get_byte(address, i + 2) & 0xDF == 84
                and get_byte(address, i + 3) & 0xDF == 70
                and get_byte(address, i + 4) == 45
                and get_byte(address, i + 5) == 56
                and get_byte(address, i + 6) == quote
            ):
                return 0
            i += 6
        i += 1
    return 0


@kernel
def parse(
    first: int,
    addresses: NDArray[np.int64],
    lengths: NDArray[np.int64],
    modes: NDArray[np.uint8],
    functions: NDArray[np.int64],
    salt: int,
    place: int,
    desk: NDArray[np.int64],
    starts: NDArray[np.int64],
    errors: NDArray[np.int64],
) -> int:
    """Read documents from the first on; how many are read, if not all, because names do not fit.

    `starts` gets where each document's elements start, `errors` three numbers of each: what is
    wrong, below zero if it is a limit, the line and the column. The documents whose error is not
    zero before are passed over. `place` is the desk's address.
    """
    for d in range(first, len(addresses)):
        starts[d] = desk[ELEMENTS]
        if errors[3 * d]:
            continue
        for i in range(ELEMENTS, TEXT_BYTES + 1):
            desk[-1 - i] = desk[i]  # what is kept if the document is refused
        desk[STOP_ELEMENTS] = desk[ELEMENTS] + desk[MOST_ELEMENTS]
        desk[PLAIN_NAMES] = modes[d] == PLAIN
        error = NAMESPACE
        while error == NAMESPACE:
            error = parse_one(d, addresses, lengths, functions, salt, place, desk, errors)
            if error:
                for i in range(ELEMENTS, TEXT_BYTES + 1):
                    desk[i] = desk[-1 - i]
                desk[PLAIN_NAMES] = 0
        if error == MORE_NAMES:
            return d
        errors[3 * d] = error
    starts[len(addresses)] = desk[ELEMENTS]
    return len(addresses)


@kernel
def parse_one(
    d: int,
    addresses: NDArray[np.int64],
    lengths: NDArray[np.int64],
    functions: NDArray[np.int64],
    salt: int,
    place: int,
    desk: NDArray[np.int64],
    errors: NDArray[np.int64],
) -> int:
    """Read one document; 0 if it is fine."""
    desk[TOP], desk[LEVEL], desk[OPEN_TEXT], desk[STATUS] = -1, 0, -1, FINE
    desk[DOCUMENT] += 1
    separator = 0 if desk[PLAIN_NAMES] else functions[SEPARATOR]
    parser = call_3(functions[CREATE], functions[UTF_8], 0, separator)
    if parser == 0:
        return NO_ROOM
    call_2(functions[SET_SALT], parser, salt)
    call_2(functions[SET_DATA], parser, place)
    call_3(functions[SET_ELEMENT], parser, functions[ON_START], functions[ON_END])
    call_2(functions[SET_TEXT], parser, functions[ON_TEXT])
    call_2(functions[SET_COMMENT], parser, functions[ON_COMMENT])
    call_2(functions[SET_INSTRUCTION], parser, functions[ON_INSTRUCTION])
    error = feed(parser, addresses[d], lengths[d], functions, desk)
    if error > 0:
        errors[3 * d + 1] = call_1(functions[GET_LINE], parser)
        errors[3 * d + 2] = call_1(functions[GET_COLUMN], parser)
    call_1(functions[FREE], parser)
    return error


@kernel
def feed(
    parser: int,
    address: int,
    length: int,
    functions: NDArray[np.int64],
    desk: NDArray[np.int64],
) -> int:
    """Hand a document to a parser; 0 if it is fine."""
    done = 0
    while True:
        portion = min(max(_PORTION, done), length - done)
        final = done + portion == length
        status = call_4(functions[PARSE], parser, address + done, portion, final) & 0xFFFFFFFF
        if desk[STATUS] != FINE:
            return int(desk[STATUS])
        if status != 1:
            return call_1(functions[GET_ERROR], parser) & 0xFFFFFFFF
        done += portion
        if final:
            return FINE


@kernel
def parse_bare(
    addresses: NDArray[np.int64],
    lengths: NDArray[np.int64],
    functions: NDArray[np.int64],
    salt: int,
) -> int:
    """Read documents and do nothing with them: what expat alone costs. How many are fine."""
    fine = 0
    for d in range(len(addresses)):
        parser = call_3(functions[CREATE], functions[UTF_8], 0, 0)
        call_2(functions[SET_SALT], parser, salt)
        fine += call_4(functions[PARSE], parser, addresses[d], lengths[d], 1) & 0xFFFFFFFF
        call_1(functions[FREE], parser)
    return fine
