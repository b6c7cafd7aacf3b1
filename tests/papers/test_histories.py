"""All structures that keep filters, side by side through histories that hypothesis makes up.

What each answers is what the box store answers; where a paper's rule is incomplete, a sound part of
it. How much is missed, `bench/papers_missed.py` prints.
"""

import os
from collections.abc import Callable
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import tidegate as tg
from tests.papers.agreement import QUESTIONS, SCHEMAS, Boxes, Structure, some_event, some_filter
from tidegate.algebra.normal import boxes
from tidegate.papers.counting.counting_table import CountingTable
from tidegate.papers.mbd import MBD
from tidegate.papers.poset import Poset
from tidegate.papers.scan import Scan

LONG = os.environ.get("TIDEGATE_LONG") == "1"
STRUCTURES: dict[str, Callable[[tg.Schema | None], Structure]] = {
    "diagrams": MBD,
    "diagrams without a cache": lambda schema: MBD(schema, cache=False),
    "counting": CountingTable,
    "poset": Poset,
    "scan": lambda schema: Scan(),
}
EXACT = ("poset", "scan")  # but for conditions on text, of which what is certain is used
SEEDS = st.integers(0, 2**32)


class Histories(RuleBasedStateMachine):
    """Filters come, go and change; all structures are asked the same."""

    @initialize(name=st.sampled_from(list(SCHEMAS)))
    def start(self, name: str) -> None:
        self.schema = SCHEMAS[name]
        self.boxes = Boxes(self.schema)
        self.structures = {name: make(self.schema) for name, make in STRUCTURES.items()}
        self.next = 0

    def draw(self, seed: int) -> tg.Filter:
        return some_filter(Random(seed), self.schema)

    def each(self, change: Callable[[Structure | Boxes], None]) -> None:
        for structure in (self.boxes, *self.structures.values()):
            change(structure)

    @rule(seed=SEEDS)
    def add(self, seed: int) -> None:
        f, number = self.draw(seed), self.next
        self.each(lambda structure: structure.add(number, f))
        self.next += 1

    @precondition(lambda self: self.boxes.filters)
    @rule(which=st.integers(0, 99))
    def add_again(self, which: int) -> None:
        filters = list(self.boxes.filters.values())
        f, number = filters[which % len(filters)], self.next
        self.each(lambda structure: structure.add(number, f))
        self.next += 1

    @precondition(lambda self: self.boxes.filters)
    @rule(which=st.integers(0, 99), seed=SEEDS)
    def update(self, which: int, seed: int) -> None:
        numbers, f = list(self.boxes.filters), self.draw(seed)
        self.each(lambda structure: structure.update(numbers[which % len(numbers)], f))

    @precondition(lambda self: self.boxes.filters)
    @rule(which=st.integers(0, 99))
    def remove(self, which: int) -> None:
        numbers = list(self.boxes.filters)
        self.each(lambda structure: structure.remove(numbers[which % len(numbers)]))

    @rule(seed=SEEDS)
    def match(self, seed: int) -> None:
        event = some_event(Random(seed))
        owed = self.boxes.match(event)
        for name, structure in self.structures.items():
            assert sorted(structure.match(event)) == owed, (name, event)

    @rule(seed=SEEDS, question=st.sampled_from(QUESTIONS))
    def ask(self, seed: int, question: str) -> None:
        f = self.draw(seed)
        owed = self.known(getattr(self.boxes, question)(f), f)
        for name, structure in self.structures.items():
            answer = getattr(structure, question)(f)
            found = self.known(answer, f)
            assert len(set(answer)) == len(answer), (name, question, str(f))
            more, less = (found, owed) if question == "overlapping" else (owed, found)
            assert less <= more, (name, question, str(f))
            assert name not in EXACT or found == owed, (name, question, str(f))

    def known(self, numbers: list[int], f: tg.Filter) -> set[int]:
        """Those whose relation to a filter the box store knows: both have a normal form."""
        if boxes(f) is None:
            return set()
        return {number for number in numbers if boxes(self.boxes.filters[number]) is not None}

    @invariant()
    def all_have_as_many(self) -> None:
        if hasattr(self, "boxes"):
            assert {len(each) for each in self.structures.values()} == {len(self.boxes)}


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=300 if LONG else 25, stateful_step_count=25, deadline=None
)
