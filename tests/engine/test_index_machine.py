"""Whatever is done to an index, in whatever order, it stays what a scan is.

Hypothesis makes up histories of additions, updates, removals, rebuilds, and of saving and opening
again. The same is done to an `Index` and to a `ScanIndex`: they refuse the same, hold the same and
match the same. What is refused changes nothing.
"""

import os
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import tidegate as tg
from tests import generate
from tests.engine.test_index import AnyIndex, attempt, check, describe, pairs
from tidegate.engine.index import Index
from tidegate.engine.scan import ScanIndex
from tidegate.engine.subscriptions.subscription import Id

RNG = Random(21)
EVENTS = generate.events(RNG, 130)
FIXED = {
    typed: [str(condition) for condition in generate.filters(RNG, 60, typed)]
    for typed in (False, True)
}
OPEN = [
    "symbol = :a AND price > :b",
    "price > :b AND symbol = :a",
    "symbol = :a AND day = :d AND id BETWEEN :c AND :e",
    "symbol LIKE :a OR NOT id IN (:c, :e)",
    "NOT (price <= :b AND (id = :c OR day < :d)) AND symbol IS NOT NULL",
    "id <=> :c",
    "trade.price < :b AND trade.note != :a",
]
VALUES: dict[str, list[Any]] = {
    "a": ["", "a", "ab", "b", "%", "é", "😀", "a%", None],
    "b": [0.0, -0.0, 1.5, 5, generate.POOLS["double"][-1], generate.POOLS["double"][0], None],
    "c": [0, 1, 5, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), None],
    "d": [*generate.POOLS["date"], None],
    "e": [5, 2**31, 2**63 - 1, None],
}
BAD: dict[str, Any] = {"a": 5, "b": "text", "c": b"bytes", "d": [1], "z": 1}
NUMBERS = range(40)
NUMBER = st.integers(0, 200)
SEVERAL = st.lists(NUMBER, max_size=6) | st.integers(0, 20).map(lambda n: list(range(n)))
BATCHES = st.tuples(st.integers(0, 100), st.sampled_from([0, 1, 2, 30]))
SETTINGS = st.dictionaries(st.sampled_from(sorted(VALUES)), st.integers(0, 99), max_size=5)


def chosen(picked: dict[str, int]) -> dict[str, Any]:
    return {name: VALUES[name][place % len(VALUES[name])] for name, place in picked.items()}


def complete(text: str, picked: dict[str, int], schema: tg.Schema | None) -> dict[str, Any]:
    """Values for all parameters of the text."""
    names = tg.parse(text, schema).parameters
    return {name: chosen({name: picked.get(name, 0)})[name] for name in names}


class Histories(RuleBasedStateMachine):
    """An index and a scan to which the same happens."""

    index: AnyIndex
    scan: ScanIndex

    @initialize(typed=st.booleans(), strings=st.booleans(), first=SEVERAL, picked=SETTINGS)
    def begin(self, typed: bool, strings: bool, first: list[int], picked: dict[str, int]) -> None:
        self.schema = tg.Schema(generate.TYPES) if typed else None
        self.texts = FIXED[typed] + OPEN * 3
        self.strings = strings
        self.index, self.scan = Index(self.schema), ScanIndex(self.schema)
        self.add_many(first, 0, picked)

    def id(self, number: int) -> Id:
        return f"é{number}" if self.strings else number * 1_000_003 - 5

    def known(self, number: int) -> Id:
        """The id of a subscription that is there; now and then, of one that perhaps is not."""
        there = [self.id(n) for n in NUMBERS if self.id(n) in self.scan]
        return there[number % len(there)] if there and number % 8 else self.id(number % 40)

    def fresh(self, number: int) -> Id:
        """The id of a subscription that is not there; now and then, of one that perhaps is."""
        free = [self.id(n) for n in NUMBERS if self.id(n) not in self.scan]
        return free[number % len(free)] if free and number % 8 else self.id(number % 40)

    def both(self, call: Any, rows: int = 1) -> None:
        """The same call to both: they take it, or refuse it, for the same reason if it is one."""
        ours, theirs = attempt(lambda: call(self.index)), attempt(lambda: call(self.scan))
        assert (ours is None) is (theirs is None)
        assert ours is theirs or rows > 1

    @rule(number=NUMBER, text=NUMBER, picked=SETTINGS)
    def add(self, number: int, text: int, picked: dict[str, int]) -> None:
        id, written = self.fresh(number), self.texts[text % len(self.texts)]
        values = complete(written, picked, self.schema)
        self.both(lambda index: index.add(id, written, **values))

    @rule(numbers=SEVERAL, first=NUMBER, picked=SETTINGS)
    def add_many(self, numbers: list[int], first: int, picked: dict[str, int]) -> None:
        """Some rows with a filter of their own, the others with the same open one."""
        shared = OPEN[first % len(OPEN)]
        values = complete(shared, picked, self.schema)
        ids = [self.fresh(number) for number in numbers]
        if first % 5:
            ids = list(dict.fromkeys(ids))
        rows: list[dict[str, Any]] = []
        for place, id in enumerate(ids):
            own = FIXED[self.schema is not None][(first + place) % 60]
            alone = place % 3 == 1
            rows.append(
                {"id": id, "filter": own} if alone else {"id": id, "filter": shared, **values}
            )
        table = self.table(rows, ["filter", *values])
        self.both(lambda index: index.add_many(table), len(rows))

    def table(self, rows: list[dict[str, Any]], names: list[str]) -> pa.Table:
        ids = pa.array([row["id"] for row in rows], pa.string() if self.strings else pa.int64())
        columns = {name: [row.get(name) for row in rows] for name in names}
        return pa.table({"id": ids, **{n: arrow(n, values) for n, values in columns.items()}})

    def own_values(self, id: Id, picked: dict[str, int], strict: bool) -> dict[str, Any]:
        """Values for parameters of a subscription; if not `strict`, also for others."""
        own = self.scan.get(id).parameters if id in self.scan else {}
        return {name: v for name, v in chosen(picked).items() if name in own or not strict}

    @rule(number=NUMBER, picked=SETTINGS)
    def update(self, number: int, picked: dict[str, int]) -> None:
        id = self.known(number)
        values = self.own_values(id, picked, number % 5 > 0)
        self.both(lambda index: index.update(id, **values))

    @rule(numbers=SEVERAL, picked=SETTINGS, shift=st.integers(0, 10))
    def update_many(self, numbers: list[int], picked: dict[str, int], shift: int) -> None:
        ids = [self.known(number) for number in numbers]
        if shift:
            ids = list(dict.fromkeys(ids))
        rows = []
        for place, id in enumerate(ids):
            moved = {name: number + shift * place for name, number in picked.items()}
            rows.append({"id": id, **self.own_values(id, moved, shift < 10)})
        table = self.table(rows, list(picked))
        self.both(lambda index: index.update_many(table), len(rows))

    @rule(number=NUMBER)
    def remove(self, number: int) -> None:
        id = self.known(number)
        self.both(lambda index: index.remove(id))

    @rule(numbers=st.lists(NUMBER, max_size=6), arrow=st.booleans())
    def remove_many(self, numbers: list[int], arrow: bool) -> None:
        ids: Any = [self.known(number) for number in numbers]
        if arrow:
            ids = pa.array(ids, pa.string() if self.strings else pa.int64())
        self.both(lambda index: index.remove_many(ids))

    @rule(every=st.integers(1, 4))
    def remove_a_share(self, every: int) -> None:
        ids = [self.id(number) for number in NUMBERS[::every] if self.id(number) in self.scan]
        self.both(lambda index: index.remove_many(ids))

    @rule(number=NUMBER, name=st.sampled_from(sorted(BAD)), text=st.sampled_from(OPEN))
    def do_something_wrong(self, number: int, name: str, text: str) -> None:
        id = self.known(number)
        own = self.own_values(id, dict.fromkeys(VALUES, number), True)
        if name in own or name == "z":
            self.both(lambda index: index.update(id, **own | {name: BAD[name]}))
        values = complete(text, {}, self.schema)
        if name in values or name == "z":
            self.both(lambda index: index.add(self.id(-1), text, **values | {name: BAD[name]}))
        if self.id(-1) in self.scan:  # it was not wrong after all
            self.both(lambda index: index.remove(self.id(-1)))

    @rule()
    def flush(self) -> None:
        self.index.flush()

    @rule(read_only=st.booleans())
    def save_and_open(self, read_only: bool) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "index"
            self.index.save(path)
            if read_only:
                again = Index.open(path, read_only=True)
                check(again, self.scan, EVENTS[:3])
                assert attempt(lambda: again.add(self.id(-1), "id = 1")) is not None
                del again
            else:
                self.index = Index.open(path)

    @rule(place=st.integers(0, 129))
    def match(self, place: int) -> None:
        event = EVENTS[place]
        assert sorted(self.index.match(event)) == sorted(self.scan.match(event))

    @rule(where=BATCHES, arrow=st.booleans())
    def match_batch(self, where: tuple[int, int], arrow: bool) -> None:
        events = EVENTS[where[0] : where[0] + where[1]]
        batch = generate.arrow_table(events) if arrow else events
        assert pairs(self.index.match_batch(batch)) == pairs(self.scan.match_batch(events))

    @rule(where=BATCHES)
    def count_batch(self, where: tuple[int, int]) -> None:
        events = EVENTS[where[0] : where[0] + where[1]]
        counts = self.index.count_batch(generate.arrow_table(events)).tolist()
        assert counts == self.scan.count_batch(events).tolist()

    @invariant()
    def both_hold_the_same(self) -> None:
        assert len(self.index) == len(self.scan)
        for number in NUMBERS:
            id = self.id(number)
            assert (id in self.index) is (id in self.scan)
            if id in self.scan:
                assert describe(self.index.get(id)) == describe(self.scan.get(id))

    def teardown(self) -> None:
        if hasattr(self, "scan"):
            check(self.index, self.scan, EVENTS[:70], generate.arrow_table(EVENTS[:70]))


def arrow(name: str, values: list[Any]) -> pa.Array:
    """A column of the type that the values have in common."""
    kinds = {"a": pa.string(), "b": pa.float64(), "c": pa.int64(), "d": pa.date32()}
    kinds |= {"e": pa.uint64(), "filter": pa.large_string()}
    return pa.array(values, kinds[name])


Histories.TestCase.settings = settings(
    max_examples=1_000 if os.environ.get("TIDEGATE_LONG") == "1" else 50, stateful_step_count=40
)
TestHistories = Histories.TestCase
