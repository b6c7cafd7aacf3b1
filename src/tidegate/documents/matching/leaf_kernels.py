"""Which questions about its attributes, texts and value does an element answer with yes?

Equality with a string or a number is looked up in a hash table, by subject and value: one look for
all constants there are. Other tests are tried one by one where they are asked for.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.reading.documents import Arrays
from tidegate.jit import inlined, kernel

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)

TEXT: Final = 0
VALUE: Final = 1


@inlined
def _text_hash(subject: int, data: NDArray[np.uint8], start: int, stop: int) -> np.int64:
    value = np.uint64(subject + 1) * _MIX
    for i in range(start, stop):
        value = (value ^ np.uint64(data[i])) * _MIX
    value ^= value >> _HALF
    value *= _MIX
    return np.int64(value >> _HALF)


@inlined
def _number_hash(subject: int, number: float) -> np.int64:
    bits = np.float64(number + 0.0).view(np.uint64)  # there is one zero
    value = (bits ^ np.uint64(subject + 1) * _MIX) * _MIX
    value ^= value >> _HALF
    value *= _MIX
    return np.int64(value >> _HALF)


@kernel
def enter_texts(
    guards: NDArray[np.int64],
    subject: NDArray[np.int32],
    tests_start: NDArray[np.int64],
    constant_start: NDArray[np.int64],
    constants: NDArray[np.uint8],
    slots: NDArray[np.int32],
) -> None:
    """Enter guards by subject and string into empty slots."""
    mask = len(slots) - 1
    for guard in guards:
        test = tests_start[guard]
        slot = mask & _text_hash(
            subject[guard], constants, constant_start[test], constant_start[test + 1]
        )
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = guard


@kernel
def enter_numbers(
    guards: NDArray[np.int64],
    subject: NDArray[np.int32],
    tests_start: NDArray[np.int64],
    numbers: NDArray[np.float64],
    slots: NDArray[np.int32],
) -> None:
    """Enter guards by subject and number into empty slots."""
    mask = len(slots) - 1
    for guard in guards:
        slot = mask & _number_hash(subject[guard], numbers[tests_start[guard]])
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = guard


@kernel
def same_text(leaves: Any, subject: int, data: NDArray[np.uint8], start: int, stop: int) -> int:
    """The guard that asks whether a subject is this string; or -1."""
    if stop - start > leaves.longest[subject]:
        return -1
    mask = len(leaves.text_slots) - 1
    slot = mask & _text_hash(subject, data, start, stop)
    while leaves.text_slots[slot] >= 0:
        guard = leaves.text_slots[slot]
        if leaves.subject[guard] == subject:
            test = leaves.tests_start[guard]
            place = leaves.constant_start[test]
            if leaves.constant_start[test + 1] - place == stop - start:
                i = 0
                while i < stop - start and leaves.constants[place + i] == data[start + i]:
                    i += 1
                if i == stop - start:
                    return int(guard)
        slot = (slot + 1) & mask
    return -1


@kernel
def same_number(leaves: Any, subject: int, number: float) -> int:
    """The guard that asks whether a subject is this number; or -1."""
    mask = len(leaves.number_slots) - 1
    slot = mask & _number_hash(subject, number)
    while leaves.number_slots[slot] >= 0:
        guard = leaves.number_slots[slot]
        if leaves.subject[guard] == subject and leaves.numbers[leaves.tests_start[guard]] == number:
            return int(guard)
        slot = (slot + 1) & mask
    return -1


@kernel
def meets(
    leaves: Any, guard: int, data: NDArray[np.uint8], start: int, stop: int, number: float
) -> bool:
    """Whether a value, which reads as this number, meets all tests of a guard."""
    for test in range(leaves.tests_start[guard], leaves.tests_start[guard + 1]):
        operator = leaves.operators[test]
        if operator >= 16:
            constant = leaves.numbers[test]
            if operator == 16:
                holds = number == constant
            elif operator == 17:
                holds = number != constant
            elif operator == 18:
                holds = number < constant
            elif operator == 19:
                holds = number <= constant
            elif operator == 20:
                holds = number > constant
            else:
                holds = number >= constant
        else:
            place = leaves.constant_start[test]
            length = leaves.constant_start[test + 1] - place
            holds = _compares(operator, leaves.constants, place, length, data, start, stop)
        if not holds:
            return False
    return True


@kernel
def _compares(
    operator: int,
    constants: NDArray[np.uint8],
    place: int,
    length: int,
    data: NDArray[np.uint8],
    start: int,
    stop: int,
) -> bool:
    """Whether a string is equal to, is not, starts with, or contains another."""
    size = stop - start
    if operator < 2:
        return (size == length and _at(constants, place, length, data, start)) == (operator == 0)
    if size < length:
        return False
    if operator == 6:
        return _at(constants, place, length, data, start)
    for i in range(start, stop - length + 1):  # noqa: SIM110
        if _at(constants, place, length, data, i):
            return True
    return False


@kernel
def _at(
    constants: NDArray[np.uint8], place: int, length: int, data: NDArray[np.uint8], start: int
) -> bool:
    for i in range(length):  # noqa: SIM110
        if constants[place + i] != data[start + i]:
            return False
    return True


@kernel
def holds(
    leaves: Any,
    guard: int,
    arrays: Arrays,
    words: NDArray[np.int32],
    attribute_numbers: NDArray[np.float64],
    text_numbers: NDArray[np.float64],
    value_numbers: NDArray[np.float64],
    element: int,
) -> bool:
    """Whether a guard that has to be tried holds for an element."""
    subject = leaves.subject[guard]
    numeric = leaves.has_numbers[subject]
    if subject == TEXT:
        node = arrays.first_text[element]
        while node >= 0:
            number = text_numbers[node] if numeric else 0.0
            start, stop = arrays.text_start[node], arrays.text_end[node]
            if meets(leaves, guard, arrays.characters, start, stop, number):
                return True
            node = arrays.next_text[node]
        return False
    if subject == VALUE:
        number = value_numbers[element] if numeric else 0.0
        start, stop = arrays.text_from[element], arrays.text_to[element]
        return meets(leaves, guard, arrays.characters, start, stop, number)
    for i in range(arrays.first_attribute[element], arrays.first_attribute[element + 1]):
        word = words[arrays.attribute_name[i]]
        if word and leaves.subject_of_word[word] == subject:
            number = attribute_numbers[i] if numeric else 0.0
            start, stop = arrays.value_from[i], arrays.value_to[i]
            return meets(leaves, guard, arrays.values, start, stop, number)
    return False
