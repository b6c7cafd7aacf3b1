"""What is there to look up while a document is matched?

A draft, frozen into flat arrays. Leaves come first among the guards, in the order of their numbers.
Lists of different lengths lie in one array, and another says where each starts.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.matching.draft import (
    NO_CONDITION,
    TEXT_SUBJECT,
    VALUE_SUBJECT,
    Draft,
    Guard,
    Leaf,
    Way,
    key_of,
)
from tidegate.documents.matching.leaf_kernels import enter_numbers, enter_texts
from tidegate.documents.matching.trie import TrieArrays
from tidegate.documents.pattern import ValueTest
from tidegate.engine.primitives.offsets import starts

I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]

OPERATORS: Final = ("=", "!=", "<", "<=", ">", ">=", "starts-with", "contains")
"""In the order of their numbers; those that compare with a number are 16 more."""
WITH_NUMBER: Final = 16

LOOKED_UP: Final = 0
TRIED: Final = 1
A_WAY: Final = 2
"""What kind a guard is of."""


class Leaves(NamedTuple):
    """Questions about attributes, texts and string values."""

    subject_of_word: I32
    """The subject that an attribute with a word is; or -1."""
    exists: I32
    """Of each subject, the guard that asks whether it is there; or -1."""
    has_texts: NDArray[np.bool_]
    """Of each subject, whether it is compared for equality with strings."""
    has_numbers: NDArray[np.bool_]
    """Of each subject, whether it is compared with numbers."""
    longest: I64
    """Of each subject, the length of the longest string that it is compared with for equality."""
    tried_start: I64
    """Of each subject, the guards that are keys and have to be tried."""
    tried: I32
    kind: NDArray[np.uint8]
    """Of each guard, its kind."""
    subject: I32
    """Of each guard, its subject."""
    tests_start: I64
    """Of each guard, its tests."""
    operators: NDArray[np.uint8]
    numbers: NDArray[np.float64]
    constant_start: I64
    constants: NDArray[np.uint8]
    text_slots: I32
    """Hash table of the guards that compare with a string, by subject and string."""
    number_slots: I32
    """Hash table of the guards that compare with a number, by subject and number."""


class Keys(NamedTuple):
    """Of each guard, what it is the key of."""

    trunk_start: I64
    trunk_node: I32
    trunk_condition: I32
    trunk_target: I32
    leafy_start: I64
    """Conditions at the end of a way that only ask about leaves."""
    leafy: I32
    mixed_start: I64
    """Conditions at the end of a way that ask about ways, too."""
    mixed: I32
    has_ways: NDArray[np.bool_]
    """Whether a way is the key of a trunk's condition; and of one at the end of a way."""


class Conditions(NamedTuple):
    """What else a condition asks for, and which ways it is at the end of."""

    others_start: I64
    others: I32
    needs_ways: NDArray[np.bool_]
    """Whether one of its guards is a way."""
    way_start: I64
    way_node: I32
    way_guard: I32


class Plan(NamedTuple):
    """All that kernels look up."""

    trunks: TrieArrays
    ways: TrieArrays
    leaves: Leaves
    keys: Keys
    conditions: Conditions


def plan_of(draft: Draft) -> Plan:
    """A draft as arrays."""
    guards = list(draft.guards)
    conditions = list(draft.conditions)
    names = draft.ways.names()
    key = [ids[key_of([guards[g] for g in ids], names)] for ids in conditions]
    used_in_way = {
        guard.condition
        for guard in guards
        if isinstance(guard, Way) and guard.condition != NO_CONDITION
    }
    leafy: list[tuple[int, int]] = []
    mixed: list[tuple[int, int]] = []
    for condition in sorted(used_in_way):
        is_leafy = all(isinstance(guards[g], Leaf) for g in conditions[condition])
        (leafy if is_leafy else mixed).append((key[condition], condition))
    trunk = sorted(
        (key[condition], node, condition, target)
        for (node, condition), target in draft.targets.items()
        if condition != NO_CONDITION
    )
    size = len(guards)
    trunk_start, (trunk_node, trunk_condition, trunk_target) = _lists(trunk, size, 3)
    leafy_start, (leafy_items,) = _lists(sorted(leafy), size, 1)
    mixed_start, (mixed_items,) = _lists(sorted(mixed), size, 1)
    others = [(c, g) for c, ids in enumerate(conditions) for g in ids if g != key[c]]
    others.sort(key=lambda pair: (pair[0], _cost(guards[pair[1]])))
    others_start, (others_items,) = _lists(others, len(conditions), 1)
    ends = sorted(
        (guard.condition, guard.node, g)
        for guard, g in draft.guards.items()
        if isinstance(guard, Way) and guard.condition != NO_CONDITION
    )
    way_start, (way_node, way_guard) = _lists(ends, len(conditions), 2)
    is_key = set(key)
    return Plan(
        draft.trunks.arrays(),
        draft.ways.arrays(),
        _leaves(draft, guards, is_key),
        Keys(
            trunk_start,
            trunk_node,
            trunk_condition,
            trunk_target,
            leafy_start,
            leafy_items,
            mixed_start,
            mixed_items,
            np.array([any(_is_way(guards[row[0]]) for row in rows) for rows in (trunk, mixed)]),
        ),
        Conditions(
            others_start, others_items, _needs(conditions, guards), way_start, way_node, way_guard
        ),
    )


def _is_way(guard: Guard) -> bool:
    return isinstance(guard, Way)


def _needs(conditions: Sequence[tuple[int, ...]], guards: Sequence[Guard]) -> NDArray[np.bool_]:
    return np.array([any(_is_way(guards[g]) for g in ids) for ids in conditions], np.bool_)


def _cost(guard: Guard) -> bool:
    """Those that have to be tried come last."""
    return isinstance(guard, Leaf) and not guard.is_looked_up


def _lists(
    rows: Sequence[tuple[int, ...]], owners: int, columns: int
) -> tuple[I64, tuple[I32, ...]]:
    """Rows, in the order of their owners, which are first in them: where each owner's start."""
    table = np.array(rows, np.int64).reshape(len(rows), columns + 1)
    counts = np.bincount(table[:, 0], minlength=owners)
    return starts(counts), tuple(
        np.ascontiguousarray(table[:, column + 1], np.int32) for column in range(columns)
    )


def _leaves(draft: Draft, guards: Sequence[Guard], keys: set[int]) -> Leaves:
    subjects = len(draft.subjects) + 2
    subject_of_word = np.full(len(draft.words) + 1, -1, np.int32)
    for word, subject in draft.subjects.items():
        subject_of_word[word] = subject
    exists = np.full(subjects, -1, np.int32)
    has_texts, has_numbers = np.zeros(subjects, np.bool_), np.zeros(subjects, np.bool_)
    longest = np.zeros(subjects, np.int64)
    kind, subject_of = np.full(len(guards), A_WAY, np.uint8), np.zeros(len(guards), np.int32)
    tried, texts, numbers = [], [], []
    all_tests: list[ValueTest] = []
    counts = np.zeros(len(guards), np.int64)
    for number, guard in enumerate(guards):
        if not isinstance(guard, Leaf):
            continue
        kind[number] = LOOKED_UP if guard.is_looked_up else TRIED
        subject_of[number] = subject = guard.subject
        counts[number] = len(guard.tests)
        all_tests += guard.tests
        has_numbers[subject] |= any(_numeric(test) for test in guard.tests)
        if not guard.tests:
            exists[subject] = number
        elif not guard.is_looked_up:
            if number in keys:
                tried.append((subject, number))
        elif _numeric(guard.tests[0]):
            numbers.append(number)
        else:
            texts.append(number)
            has_texts[subject] = True
            length = len(str(guard.tests[0].constant).encode())
            longest[subject] = max(longest[subject], length)
    tried_start, (tried_items,) = _lists(sorted(tried), subjects, 1)
    tests_start = starts(counts)
    operators, values, constant_start, constants = _tests(all_tests)
    text_slots, number_slots = _slots(len(texts)), _slots(len(numbers))
    enter_texts(
        np.array(texts, np.int64), subject_of, tests_start, constant_start, constants, text_slots
    )
    enter_numbers(np.array(numbers, np.int64), subject_of, tests_start, values, number_slots)
    return Leaves(
        subject_of_word,
        exists,
        has_texts,
        has_numbers,
        longest,
        tried_start,
        tried_items,
        kind,
        subject_of,
        tests_start,
        operators,
        values,
        constant_start,
        constants,
        text_slots,
        number_slots,
    )


def _slots(count: int) -> I32:
    return np.full(1 << (2 * count + 1).bit_length(), -1, np.int32)


def _numeric(test: ValueTest) -> bool:
    """Whether a test reads the value as a number."""
    return not isinstance(test.constant, str) or test.operator in ("<", "<=", ">", ">=")


def _tests(
    tests: Iterable[ValueTest],
) -> tuple[NDArray[np.uint8], NDArray[np.float64], I64, NDArray[np.uint8]]:
    """Tests as arrays: operators, numbers, and strings one after the other."""
    from tidegate.documents.values import number

    operators, numbers, strings = [], [], []
    for test in tests:
        operator = OPERATORS.index(test.operator)
        if _numeric(test):
            constant = test.constant
            value = number(constant) if isinstance(constant, str) else constant
            operators.append(operator + WITH_NUMBER)
            numbers.append(value + 0.0)
            strings.append(b"")
        else:
            operators.append(operator)
            numbers.append(0.0)
            strings.append(str(test.constant).encode())
    start = starts(np.array([len(each) for each in strings], np.int64))
    return (
        np.array(operators, np.uint8),
        np.array(numbers, np.float64),
        start,
        # an array of its own, which can be written as those of a file can: kernels are compiled
        # for each sort of arrays anew
        np.frombuffer(bytearray(b"".join(strings) or b"\0"), np.uint8),
    )


assert TEXT_SUBJECT == 0
assert VALUE_SUBJECT == 1
