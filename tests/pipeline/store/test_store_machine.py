"""Whatever is done to a store, in whatever order, every version stays what a dictionary says.

Hypothesis makes up histories of additions, updates, removals, mixed changes, compactions, vacuums,
and of opening the store again. The same is done to a `Store` and to an `OracleStore`: they refuse
the same, for the same reason, and hold the same; what is refused changes nothing. Old versions and
the changes between any two are as they were, unless they were vacuumed.
"""

import os
import tempfile
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import tidegate as tg
from tests.pipeline import reading
from tests.pipeline.store.store_oracle import Change, OracleStore
from tidegate.filters.literals import spell
from tidegate.pipeline import Store

SCHEMA = tg.Schema(
    {"symbol": "string", "price": "double", "volume": "bigint", "day": "date", "ok": "boolean"}
)
FILTERS = [
    "symbol = 'IBM' AND price < 10",
    "price < :b",
    "symbol = :a AND price > :b",
    "symbol LIKE :a OR volume IN (:c, :e)",
    "day = :d AND volume <= :c",
    "ok",
    "nothing = 1",
    "price <",
]
VALUES: dict[str, list[Any]] = {
    "a": ["", "IBM", "it's", "a%", "back\\", "\0\n", "é😀", None, 5],
    "b": [0.0, -0.0, float("inf"), float("nan"), 7, Decimal("1.50"), None, "1.5", "text"],
    "c": [0, -(2**63), 2**63 - 1, None, Decimal(2**63), 1.5, "7"],
    "d": [date(2026, 1, 31), datetime(2026, 1, 31, 12, 0, 0, 5), None, "2026-01-31", "soon"],
    "e": [1, 2, None, 2.5, True],
}
IDS = ["a", "b", "é", "😀", "B", "a ", "zz\0", "x" * 300 + "1", "x" * 300 + "2"]
ID = st.sampled_from(IDS)
FILTER = st.sampled_from(FILTERS)
GOOD: dict[str, list[Any]] = {
    "a": ["", "IBM", "it's", "a%", "\0\n", "é😀", None],
    "b": [0.0, -0.0, float("inf"), float("nan"), 7, Decimal("1.50"), None],
    "c": [0, -(2**63), 2**63 - 1, None],
    "d": [date(2026, 1, 31), datetime(2026, 1, 31, 12, 0, 0, 5), None],
    "e": [1, 2, None],
}
PICKED = st.sampled_from([GOOD, GOOD, GOOD, VALUES]).flatmap(
    lambda pools: st.fixed_dictionaries(
        {name: st.sampled_from(pool) for name, pool in pools.items()}
    )
)
NAMES = st.sets(st.sampled_from([*VALUES, "z"]), max_size=2)
OWNER = st.sampled_from([None, "someone", ""])


def of_filter(text: str, picked: dict[str, Any]) -> dict[str, Any]:
    """The values for the parameters of a text; none if it cannot be read."""
    try:
        names = tg.parse(text).parameters
    except tg.TidegateError:
        return {}
    return {name: picked[name] for name in names}


@st.composite
def one_change(draw: st.DrawFn) -> Change:
    kind = draw(st.sampled_from(["add", "add", "update", "remove"]))
    id, picked = draw(ID), draw(PICKED)
    if kind == "add":
        text = draw(FILTER)
        return Change(kind, id, draw(OWNER), text, of_filter(text, picked))
    if kind == "update":
        return Change(kind, id, None, None, {name: picked.get(name, 1) for name in draw(NAMES)})
    return Change(kind, id)


def table_of(changes: list[Change]) -> pa.Table:
    maps = [
        None if each.parameters is None else [(n, spell(v)) for n, v in each.parameters.items()]
        for each in changes
    ]
    return pa.table(
        {
            "change": [each.change for each in changes],
            "id": [each.id for each in changes],
            "subscriber": pa.array([each.subscriber for each in changes], pa.string()),
            "filter": pa.array([each.filter for each in changes], pa.string()),
            "parameters": pa.array(maps, pa.map_(pa.string(), pa.string())),
        }
    )


def attempt(call: Any) -> Any:
    """What a call gives, or the type of its error."""
    try:
        return call()
    except tg.TidegateError as error:
        return type(error)


class Histories(RuleBasedStateMachine):
    """A store and an oracle to which the same happens."""

    @initialize(typed=st.booleans())
    def begin(self, typed: bool) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "the store"
        schema = SCHEMA if typed else None
        self.store = Store.create(self.path, schema)
        self.oracle = OracleStore(schema)
        self.readable = {0}

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def both(self, changes: list[Change], call: Any) -> None:
        before = self.oracle.version()
        ours = attempt(call)
        theirs = attempt(lambda: self.oracle.change(changes))
        assert ours == theirs or (len(changes) > 1 and isinstance(ours, type(theirs)))
        if self.oracle.version() > before:
            self.readable.add(before + 1)

    @rule(id=ID, text=FILTER, owner=OWNER, picked=PICKED)
    def add(self, id: str, text: str, owner: str | None, picked: dict[str, Any]) -> None:
        values = of_filter(text, picked)
        self.both(
            [Change("add", id, owner, text, values)],
            lambda: self.store.add(id, text, subscriber=owner, parameters=values),
        )

    @rule(id=ID, picked=PICKED, names=NAMES)
    def update(self, id: str, picked: dict[str, Any], names: set[str]) -> None:
        values = {name: picked.get(name, 1) for name in names}
        change = Change("update", id, None, None, values)
        self.both([change], lambda: self.store.update(id, **values))

    @rule(id=ID)
    def remove(self, id: str) -> None:
        self.both([Change("remove", id)], lambda: self.store.remove(id))

    @rule(changes=st.lists(one_change(), max_size=8))
    def change(self, changes: list[Change]) -> None:
        self.both(changes, lambda: self.store.change(table_of(changes)))

    @rule(number=st.integers(1, 6), text=FILTER, picked=st.lists(PICKED, min_size=6, max_size=6))
    def replace_all(self, number: int, text: str, picked: list[dict[str, Any]]) -> None:
        """Remove what is there, and add some of one filter; so that more is accepted."""
        there = list(self.oracle.states[-1])
        changes = [Change("remove", id) for id in there]
        changes += [
            Change("add", id, None, text, of_filter(text, values))
            for id, values in zip(IDS[:number], picked, strict=False)
        ]
        self.both(changes, lambda: self.store.change(table_of(changes)))

    @rule(picked=st.lists(PICKED, min_size=9, max_size=9), names=st.lists(NAMES, min_size=9))
    def update_several(self, picked: list[dict[str, Any]], names: list[set[str]]) -> None:
        """Give some of what is there new values, each to some parameters that it has."""
        changes = []
        for (id, kept), values, chosen in zip(
            self.oracle.states[-1].items(), picked, names, strict=False
        ):
            given = {name: values[name] for name in kept.parameters if name in chosen}
            changes.append(Change("update", id, None, None, given))
        self.both(changes, lambda: self.store.change(table_of(changes)))

    @rule(ids=st.lists(ID, max_size=4))
    def remove_many(self, ids: list[str]) -> None:
        self.both([Change("remove", id) for id in ids], lambda: self.store.remove_many(ids))

    @rule()
    def compact(self) -> None:
        before = self.oracle.version()
        made = self.store.compact()
        assert made in (before, before + 1)
        if made > before:
            self.oracle.same_again()
            self.readable.add(made)
            assert len(self.store.files()) == 1

    @rule(kept=st.sets(st.integers(0, 60), max_size=3))
    def vacuum(self, kept: set[int]) -> None:
        keep = {self.ordered()[place % len(self.readable)] for place in kept}
        self.store.vacuum(keep)
        self.readable = keep | {self.oracle.version()}

    @rule()
    def reopen(self) -> None:
        self.store = Store.open(self.path)
        assert self.store.schema == self.oracle.schema

    def ordered(self) -> list[int]:
        return sorted(self.readable)

    @rule(place=st.integers(0, 60))
    def look_back(self, place: int) -> None:
        version = self.ordered()[place % len(self.readable)]
        table = self.store.subscriptions(version)
        assert reading.state(table) == reading.expected_state(self.oracle.states[version])
        for id, kept in self.oracle.states[version].items():
            found = self.store.get(id, version)
            assert (found.subscriber, found.filter) == (kept.subscriber, kept.filter)
            assert reading.exact(dict(found.parameters)) == reading.exact(kept.parameters)
            assert found.version == kept.version

    @rule(first=st.integers(0, 60), second=st.integers(0, 60))
    def look_between(self, first: int, second: int) -> None:
        oldest, newest = self.ordered()[0], self.oracle.version()
        span = newest - oldest + 1
        after, upto = sorted((oldest + first % span, oldest + second % span))
        assert reading.changes(self.store.changes(after, newest)) == reading.expected_changes(
            self.oracle.changes(after, newest)
        )
        assert reading.changes(self.store.changes(after, upto)) == reading.expected_changes(
            self.oracle.changes(after, upto)
        )

    @invariant()
    def the_newest_version_is_right(self) -> None:
        if hasattr(self, "store"):
            assert self.store.version() == self.oracle.version()
            table = self.store.subscriptions()
            assert reading.state(table) == reading.expected_state(self.oracle.states[-1])


LONG = os.environ.get("TIDEGATE_LONG") == "1"
Histories.TestCase.settings = settings(
    max_examples=300 if LONG else 20, stateful_step_count=40 if LONG else 25
)
TestHistories = Histories.TestCase
