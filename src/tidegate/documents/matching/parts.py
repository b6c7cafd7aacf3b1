"""How does a draft lie in memory and on disk, and how do drafts become one?

As flat arrays, **parts**, of which each refers only to what comes before it: nodes of tries to
their parents, guards to tests, nodes and conditions, conditions to guards. To join drafts, the
targets that are still wanted are looked up in a new draft, part by part, from what they refer to.
No filter is read again.
"""

import json
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.matching.draft import NO_CONDITION, Draft, Leaf, Way
from tidegate.documents.matching.trie import Trie
from tidegate.documents.pattern import ValueTest
from tidegate.engine.primitives.offsets import starts

I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]
Bytes: TypeAlias = NDArray[np.uint8]


class Parts(NamedTuple):
    """A draft as arrays."""

    words: Bytes
    """Names in the order of their numbers, each ended by a zero."""
    trunk_parent: I32
    trunk_word: I32
    way_parent: I32
    way_word: I32
    subject_word: I32
    """The words of the attributes that are subjects."""
    guard_first: I32
    """The subject of a leaf; of a way -1 less its node."""
    guard_second: I32
    """The tests of a leaf, by number; the condition of a way."""
    tests: Bytes
    """Sets of tests, as a list in JSON."""
    condition_start: I64
    condition_guards: I32
    target_node: I32
    target_condition: I32


def parts_of(draft: Draft) -> Parts:
    """A draft's parts."""
    tests: dict[tuple[ValueTest, ...], int] = {}
    first, second = [], []
    for guard in draft.guards:
        if isinstance(guard, Leaf):
            first.append(guard.subject)
            second.append(tests.setdefault(guard.tests, len(tests)))
        else:
            first.append(-1 - guard.node)
            second.append(guard.condition)
    plain = [[[t.operator, _plain(t.constant)] for t in each] for each in tests]
    conditions = list(draft.conditions)
    targets = np.array(list(draft.targets), np.int32).reshape(-1, 2)
    return Parts(
        _bytes(b"".join(word + b"\0" for word in draft.words)),
        np.array(draft.trunks.parent, np.int32),
        np.array(draft.trunks.word, np.int32),
        np.array(draft.ways.parent, np.int32),
        np.array(draft.ways.word, np.int32),
        np.array(list(draft.subjects), np.int32),
        np.array(first, np.int32),
        np.array(second, np.int32),
        _bytes(json.dumps(plain).encode()),
        starts(np.array([len(each) for each in conditions], np.int64)),
        np.array([g for each in conditions for g in each], np.int32),
        np.ascontiguousarray(targets[:, 0]),
        np.ascontiguousarray(targets[:, 1]),
    )


def words_of(parts: Parts) -> dict[bytes, int]:
    """The number of each name."""
    names = parts.words.tobytes().split(b"\0")[:-1]
    return {name: number for number, name in enumerate(names, 1)}


def join(draft: Draft, parts: Parts, wanted: NDArray[Any]) -> I64:
    """Put the wanted targets of some parts into a draft; the numbers they have there, or -1."""
    return _Join(draft, parts).targets(wanted)


class _Join:
    """What has become of each part, as far as it is known."""

    def __init__(self, draft: Draft, parts: Parts) -> None:
        self._draft = draft
        self._parts = parts
        names = list(words_of(parts))
        self._names: list[bytes] = [b"", *names]
        self._subject_word = parts.subject_word.tolist()
        self._trunks = _Nodes(self, draft.trunks, parts.trunk_parent, parts.trunk_word)
        self._ways = _Nodes(self, draft.ways, parts.way_parent, parts.way_word)
        self._tests = [
            tuple(ValueTest(operator, _constant(constant)) for operator, constant in each)
            for each in json.loads(parts.tests.tobytes() or b"[]")
        ]
        self._first, self._second = parts.guard_first.tolist(), parts.guard_second.tolist()
        self._starts = parts.condition_start.tolist()
        self._guards: dict[int, int] = {}
        self._conditions: dict[int, int] = {NO_CONDITION: NO_CONDITION}

    def targets(self, wanted: NDArray[Any]) -> I64:
        found = np.full(len(self._parts.target_node), -1, np.int64)
        nodes, conditions = self._parts.target_node, self._parts.target_condition
        for target in np.flatnonzero(wanted).tolist():
            node = self._trunks.find(int(nodes[target]))
            condition = self._condition(int(conditions[target]))
            found[target] = self._draft.put(node, condition)
        return found

    def word(self, word: int) -> int:
        """A word, by its number there; what is no word stays as it is."""
        if word <= 0:
            return word
        words = self._draft.words
        return words.setdefault(self._names[word], len(words) + 1)

    def _condition(self, number: int) -> int:
        known = self._conditions.get(number)
        if known is None:
            places = slice(self._starts[number], self._starts[number + 1])
            guards = [self._guard(g) for g in self._parts.condition_guards[places].tolist()]
            known = self._conditions[number] = self._draft.condition(guards)
        return known

    def _guard(self, number: int) -> int:
        known = self._guards.get(number)
        if known is None:
            first, second = self._first[number], self._second[number]
            if first < 0:
                way = Way(self._ways.find(-1 - first), self._condition(second))
                known = self._draft.way(way)
            else:
                if first >= 2:
                    word = self.word(self._subject_word[first - 2])
                    subjects = self._draft.subjects
                    first = subjects.setdefault(word, len(subjects) + 2)
                known = self._draft.leaf(Leaf(first, self._tests[second]))
            self._guards[number] = known
        return known


class _Nodes:
    """The nodes of a trie, looked up in another."""

    def __init__(self, join: _Join, trie: Trie, parent: I32, word: I32) -> None:
        self._join = join
        self._trie = trie
        self._parent, self._word = parent.tolist(), word.tolist()
        self._found = {0: 0}

    def find(self, node: int) -> int:
        """The node there that a node here is."""
        path = []
        while node not in self._found:
            path.append(node)
            node = self._parent[node]
        found = self._found[node]
        for each in reversed(path):
            found = self._trie.after(found, self._join.word(self._word[each]))
            self._found[each] = found
        return found


def _plain(constant: str | float) -> str | list[str]:
    """A constant as JSON has it: numbers as texts, exactly."""
    return constant if isinstance(constant, str) else [constant.hex()]


def _constant(plain: str | list[str]) -> str | float:
    return plain if isinstance(plain, str) else float.fromhex(plain[0])


def _bytes(data: bytes) -> Bytes:
    return np.frombuffer(data, np.uint8)
