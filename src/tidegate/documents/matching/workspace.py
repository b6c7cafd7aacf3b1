"""What does a thread need to match documents?

A `Workspace` has the states of both automata that documents have asked for so far, and room for
what is written down on the way. It is kept from one batch to the next, because its states are worth
it, and it is used by one thread at a time. States take a bounded amount of memory: when that is
full, they are forgotten and made again.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.matching import automaton_kernels as automata
from tidegate.documents.matching import match_kernels as kernels
from tidegate.documents.matching import number_kernels
from tidegate.documents.matching.automaton_kernels import Memory
from tidegate.documents.matching.match_kernels import Numbers, Work
from tidegate.documents.matching.plan import Plan
from tidegate.documents.matching.trie import TrieArrays
from tidegate.documents.reading.documents import Arrays, Documents

MEMORY: Final = 64 * 2**20
"""Bytes that the states of one automaton may take, in one workspace."""

_STATES: Final = 256  # that there is room for at first
_TOKENS: Final = 2**30  # elements and documents that are numbered on
_NONE: Final = np.zeros(0, np.float64)


class StateMemory:
    """The states of one automaton, and how much room they have."""

    def __init__(self, trie: TrieArrays, most: int, guards: int) -> None:
        self._trie = trie
        self._most = most
        self._states = _STATES
        self._items = 16 * _STATES
        self._pairs = 1 << max(12, min(18, (4 * guards).bit_length()))
        self.memory = self._made()

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.memory)

    @property
    def states(self) -> int:
        """How many are known now."""
        return int(self.memory.counts[automata.STATES])

    def grow(self) -> None:
        """Make more room; beyond the most only if a single path needs it."""
        used, memory = self.memory.counts, self.memory
        if used[automata.STATES] >= self._states or 2 * used[automata.STEPS] >= len(
            memory.step_keys
        ):
            self._states *= 2
        else:
            self._items *= 2
        self.memory = self._moved()
        self.memory.counts[automata.GROWS] = self.nbytes < self._most

    def make_room(self) -> None:
        """Between batches: more room for pairs, if they are many."""
        used, memory = self.memory.counts, self.memory
        if self.nbytes < self._most and (
            3 * used[automata.PAIRS] > len(memory.pair_keys)
            or 3 * used[automata.SHARED] > 2 * len(memory.shared)
        ):
            self._pairs *= 4
            self.memory = self._moved()
            self.memory.counts[automata.GROWS] = self.nbytes < self._most

    def _made(self) -> Memory:
        """Empty."""
        memory = self._arrays()
        while not automata.forget(self._trie, memory):
            self._items *= 2
            memory = self._arrays()
        memory.counts[automata.GROWS] = 1
        return memory

    def _moved(self) -> Memory:
        """The same states with more room."""
        old, new = self.memory, self._arrays()
        for name in ("counts", "first", "leading", "nodes", "values", "guarded", "digest", "pool"):
            source = getattr(old, name)
            getattr(new, name)[: len(source)] = source
        automata.enter_again(old, new)
        new.counts[[automata.PAIRS, automata.SHARED]] = 0
        return new

    def _arrays(self) -> Memory:
        states, nodes = self._states, len(self._trie.star)
        return Memory(
            np.zeros(automata.COUNTS, np.int64),
            np.zeros(states, np.int64),
            np.zeros(states, np.int32),
            np.zeros(states, np.int32),
            np.zeros(states, np.int32),
            np.zeros(states, np.int32),
            np.zeros(states, np.uint64),
            np.zeros(self._items, np.int32),
            np.full(2 * states, -1, np.int32),
            np.full(16 * states, -1, np.int64),
            np.zeros(16 * states, np.int32),
            np.zeros(nodes, np.int64),
            np.zeros(nodes + 1, np.int32),
            np.full(self._pairs, -1, np.int64),
            np.zeros(self._pairs, np.int64),
            np.zeros(self._pairs, np.int64),
            np.zeros(2 * self._pairs, np.int32),
            np.zeros(states, np.int64),
        )


class Workspace:
    """What one thread needs for the patterns of one plan."""

    def __init__(self, plan: Plan, words: dict[bytes, int], targets: int, most: int = MEMORY):
        self._plan = plan
        self._words = words
        guards = len(plan.leaves.kind)
        self.trunks = StateMemory(plan.trunks, most, guards)
        self.ways = StateMemory(plan.ways, most, guards)
        self._names: list[bytes] | None = None
        self._known = np.zeros(0, np.int32)
        self._counts = np.zeros(kernels.COUNTS, np.int64)
        self._stamp = np.zeros(guards + 1, np.int32)
        self._hits = np.zeros(guards + 1, np.int32)
        keys = plan.keys
        lists = (keys.trunk_start, keys.leafy_start, keys.mixed_start)
        self._is_key: NDArray[np.bool_] = np.diff(np.stack(lists)).sum(axis=0) > 0
        self._seen = np.zeros(targets + 1, np.int32)
        self._active = np.zeros(len(plan.trunks.star), np.int32)
        self._met = np.zeros(1_024, np.int32)
        self._found = np.zeros(4_096, np.int32)
        self._per_element: dict[str, NDArray[Any]] = {}
        self.code_stamp = np.zeros(0, np.int64)
        self.code_token = 1

    @property
    def nbytes(self) -> int:
        """The memory of its states."""
        return self.trunks.nbytes + self.ways.nbytes

    def match(self, documents: Documents) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The targets that documents meet, one after the other, and where those of each end."""
        arrays = documents.arrays
        self.trunks.make_room()
        self.ways.make_room()
        if self._counts[kernels.TOKEN] > _TOKENS:
            self._begin_anew()
        numbers = self._numbers(documents)
        found_stop = np.zeros(len(documents), np.int64)
        done = 0
        while done < len(documents):
            work = self._work(arrays, found_stop)
            done = kernels.match(
                done, arrays, self._plan, self.trunks.memory, self.ways.memory, numbers, work
            )
            match int(self._counts[kernels.STATUS]):
                case kernels.MORE_STATES:
                    self.trunks.grow()
                case kernels.MORE_WAYS:
                    self.ways.grow()
                case kernels.MORE_MET:
                    self._met = np.zeros(2 * len(self._met), np.int32)
                case kernels.MORE_FOUND:
                    more = np.zeros(2 * len(self._found), np.int32)
                    more[: len(self._found)] = self._found
                    self._found = more
        return self._found[: found_stop[-1] if len(found_stop) else 0], found_stop

    def _begin_anew(self) -> None:
        """Number elements and documents from the beginning, before the numbers are too large."""
        self._counts[kernels.TOKEN] = 0
        self._per_element.clear()
        for array in (self._stamp, self._seen, self._active, self.ways.memory.busy):
            array[:] = 0

    def _work(self, arrays: Arrays, found_stop: NDArray[np.int64]) -> Work:
        elements = len(arrays.name)
        depth = int(arrays.depth.max()) if elements else 0
        rooms = self._per_element
        if not rooms or len(rooms["state"]) < elements or len(rooms["path"]) < depth + 2:
            size = max(1_024, elements + elements // 4)
            rooms["state"] = np.zeros(size, np.int32)
            rooms["era"] = np.zeros(size, np.int64)
            rooms["way_state"] = np.zeros(size, np.int32)
            rooms["way_era"] = np.zeros(size, np.int64)
            rooms["met_start"] = np.zeros(size, np.int64)
            rooms["met_stop"] = np.zeros(size, np.int64)
            rooms["path"] = np.zeros(2 * depth + 64, np.int32)
        return Work(
            counts=self._counts,
            stamp=self._stamp,
            hits=self._hits,
            is_key=self._is_key,
            seen=self._seen,
            active=self._active,
            met=self._met,
            found=self._found,
            found_stop=found_stop,
            **rooms,
        )

    def _numbers(self, documents: Documents) -> Numbers:
        """Words and numbers of what the documents have."""
        words = self._known_words(documents.names)
        arrays, leaves = documents.arrays, self._plan.leaves
        attributes = texts = values = _NONE
        if leaves.has_numbers[2:].any():
            attributes = np.zeros(len(arrays.attribute_name), np.float64)
            hard = np.zeros(len(attributes), np.int64)
            count = number_kernels.attribute_numbers(
                arrays, leaves.subject_of_word, leaves.has_numbers, words, attributes, hard
            )
            _read_hard(attributes, hard[:count], arrays.values, arrays.value_from, arrays.value_to)
        if leaves.has_numbers[0]:
            texts = _stretches(arrays.characters, arrays.text_start, arrays.text_end)
        if leaves.has_numbers[1]:
            values = _stretches(arrays.characters, arrays.text_from, arrays.text_to)
        return Numbers(words, attributes, texts, values)

    def _known_words(self, names: list[bytes]) -> NDArray[np.int32]:
        """The word of each name of a batch; those of a table seen before are known."""
        if self._names is not names:
            self._names, self._known = names, np.zeros(0, np.int32)
        if len(self._known) < len(names):
            new = [self._words.get(name, 0) for name in names[len(self._known) :]]
            self._known = np.concatenate([self._known, np.array(new, np.int32)])
        return self._known


def _stretches(
    characters: NDArray[np.uint8], start: NDArray[np.int32], stop: NDArray[np.int32]
) -> NDArray[np.float64]:
    numbers, hard = np.zeros(len(start), np.float64), np.zeros(len(start), np.int64)
    count = number_kernels.stretch_numbers(characters, start, stop, numbers, hard)
    _read_hard(numbers, hard[:count], characters, start, stop)
    return numbers


def _read_hard(
    numbers: NDArray[np.float64],
    hard: NDArray[np.int64],
    data: NDArray[np.uint8],
    start: NDArray[np.int32],
    stop: NDArray[np.int32],
) -> None:
    """Have Python read the numbers that are too long for the kernel."""
    for place in hard.tolist():
        numbers[place] = float(data[start[place] : stop[place]].tobytes())
