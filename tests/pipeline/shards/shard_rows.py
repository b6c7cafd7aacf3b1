"""Subscriptions as the store keeps them, and who wants which event, for the tests of shards.

Filters are drawn over the whole language; others have parameters, or differ in their literals only,
and are read a column at a time.
"""

from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from tests import generate, oracle
from tidegate.filters.filter import parse
from tidegate.filters.literals import spell
from tidegate.filters.schema import Schema
from tidegate.filters.values import Constant
from tidegate.pipeline.store.literals import PARAMETERS

SCHEMA = Schema(generate.TYPES)
FORMS = {
    "symbol = :s AND price BETWEEN :p AND :q": {"s": "string", "p": "double", "q": "double"},
    "symbol <=> :s AND id >= :i": {"s": "string", "i": "bigint"},
    "id <=> :i": {"i": "bigint"},
    "price <=> :p AND symbol < :s": {"p": "double", "s": "string"},
    "day >= :d AND flag = :f": {"d": "date", "f": "boolean"},
    "local < :m OR symbol = :s": {"m": "timestamp_ntz", "s": "string"},
    "startswith(symbol, :s) AND rate > :p": {"s": "string", "p": "double"},
    "amount <= :a AND level IN (:i, 5)": {"a": "decimal(10,2)", "i": "tinyint"},
    "NOT (size < :i OR volume = :i)": {"i": "smallint"},
}


@dataclass(frozen=True)
class Stored:
    """Rows of a store, with the values of their parameters as they are and as they are kept."""

    texts: list[str]
    values: list[dict[str, Constant]]

    @cached_property
    def ids(self) -> pa.Array:
        """An id for each row."""
        return pa.array([f"s{row}" for row in range(len(self.texts))], pa.string())

    @cached_property
    def filters(self) -> pa.Array:
        """The column of texts."""
        return pa.array(self.texts, pa.string())

    @cached_property
    def parameters(self) -> pa.Array:
        """The column of maps."""
        maps = [[(name, spell(value)) for name, value in own.items()] for own in self.values]
        return pa.array(maps, PARAMETERS)

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Case:
    """Subscriptions, events, and which event row is wanted by which subscription row."""

    stored: Stored
    events: list[dict[str, Any]]
    conditions: list[oracle.Condition]  # of the first rows

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """What the tests' own oracle says of the conditions, and a scan of the others."""
        found = [
            (event, row)
            for row, condition in enumerate(self.conditions)
            for event, values in enumerate(self.events)
            if oracle.passes(condition, values)
        ]
        for row in range(len(self.conditions), len(self.stored)):
            bound = parse(self.stored.texts[row], SCHEMA).bind(**self.stored.values[row])
            found += [(i, row) for i, event in enumerate(self.events) if bound.matches(event)]
        return found

    @cached_property
    def table(self) -> pa.Table:
        """The events as a table."""
        return generate.arrow_table(self.events)


def draw(seed: int, filters: int = 120, events: int = 60) -> Case:
    """Filters of all kinds, every operator on every type among them, and events."""
    rng = Random(seed)
    conditions = [*generate.filters(rng, filters, True), *generate.each_operator(rng, True)]
    texts = [str(condition) for condition in conditions]
    values: list[dict[str, Constant]] = [{} for _ in texts]
    for form, kinds in FORMS.items():
        for _ in range(6):
            texts.append(form)
            values.append({name: _value(rng, kind) for name, kind in kinds.items()})
    for symbol in generate.POOLS["string"]:
        texts.append(f"symbol = {spell(symbol)} AND price >= {rng.randrange(9)}")
        values.append({})
    return Case(Stored(texts, values), generate.events(rng, events), conditions)


def _value(rng: Random, kind: str) -> Constant:
    if rng.random() < 0.1:
        return None
    value: Constant = rng.choice(generate.POOLS[kind])
    return value


def take(stored: Stored, rows: Any) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The columns of some rows."""
    where = pa.array(np.asarray(rows, np.int64))
    return stored.ids.take(where), stored.filters.take(where), stored.parameters.take(where)
