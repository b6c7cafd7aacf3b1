"""Which number is a value?

As XPath 1.0 reads it: white space, a minus, decimal digits with a point among them, white space. Up
to fifteen digits and twenty-two behind the point, digits and power of ten are doubles without
error, and so is their quotient rounded once: the nearest double. Longer ones are **hard**; they are
listed, and Python reads them.

Of each value that some pattern compares with a number, the number is worked out once, before the
document is matched.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.reading.documents import Arrays
from tidegate.jit import kernel

_DIGITS: Final = 15  # of an integer that is a double for certain
_PLACES: Final = 22  # of a power of ten that is one
_POWERS: Final = np.array([10.0**n for n in range(_PLACES + 1)])

HARD: Final = np.inf
"""What a hard number is taken for, until Python has read it: no plain one is infinite."""


@kernel
def number(data: NDArray[np.uint8], start: int, stop: int) -> float:
    """The number of a value; NaN if it is none, infinite if it is hard."""
    while start < stop and (data[start] == 32 or 9 <= data[start] <= 13):
        if data[start] == 11 or data[start] == 12:
            return np.nan
        start += 1
    while stop > start and (data[stop - 1] == 32 or 9 <= data[stop - 1] <= 13):
        if data[stop - 1] == 11 or data[stop - 1] == 12:
            return np.nan
        stop -= 1
    negative = start < stop and data[start] == 45
    if negative:
        start += 1
    value, digits, places, seen, point = np.int64(0), 0, 0, False, False
    for i in range(start, stop):
        byte = data[i]
        if byte == 46:
            if point:
                return np.nan
            point = True
            continue
        if byte < 48 or byte > 57:
            return np.nan
        seen = True
        if digits or byte != 48:
            digits += 1
        if digits <= _DIGITS:
            value = 10 * value + (byte - 48)
        places += point
    if not seen:
        return np.nan
    if digits > _DIGITS or places > _PLACES:
        return HARD
    found = np.float64(value) / _POWERS[places]
    return float(-found if negative else found)


@kernel
def attribute_numbers(
    arrays: Arrays,
    subject_of_word: NDArray[np.int32],
    has_numbers: NDArray[np.bool_],
    words: NDArray[np.int32],
    numbers: NDArray[np.float64],
    hard: NDArray[np.int64],
) -> int:
    """The numbers of all attributes that are compared with one; how many are hard, and which."""
    count = 0
    for i in range(len(arrays.attribute_name)):
        subject = subject_of_word[words[arrays.attribute_name[i]]]
        if subject >= 0 and has_numbers[subject]:
            numbers[i] = number(arrays.values, arrays.value_from[i], arrays.value_to[i])
            if numbers[i] == HARD:
                hard[count] = i
                count += 1
    return count


@kernel
def stretch_numbers(
    characters: NDArray[np.uint8],
    start: NDArray[np.int32],
    stop: NDArray[np.int32],
    numbers: NDArray[np.float64],
    hard: NDArray[np.int64],
) -> int:
    """The same of stretches of text."""
    count = 0
    for i in range(len(start)):
        numbers[i] = number(characters, start[i], stop[i])
        if numbers[i] == HARD:
            hard[count] = i
            count += 1
    return count
