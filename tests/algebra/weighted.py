"""How likely is a filter? The slow answer: add up the weights of all events that pass.

A `Weighted` world lists *every* value its three attributes can have, each with a whole number for
a weight; an event weighs the product. It also knows the distribution that says the same to the
algebra. `passing` asks each event of a world by `evaluate`, the plain meaning of a predicate.
"""

import datetime as dt
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tests.algebra import worlds
from tests.algebra.enumeration import NAMES
from tests.algebra.worlds import Setting, conjunction, partition
from tidegate import Attribute, Filter, Schema, parse
from tidegate.algebra.distribution import Distribution, Uniform
from tidegate.algebra.histogram import Histogram
from tidegate.filters.evaluate import holds
from tidegate.filters.expression import And, Node, Predicate, Truth
from tidegate.filters.literals import spell
from tidegate.filters.values import OTHER, Value, is_constant

Events: TypeAlias = NDArray[np.bool_]

SCALE: Final = 10 if os.environ.get("TIDEGATE_LONG") == "1" else 1
P: Final = 2**53


def passing(f: Filter, values: Sequence[Sequence[Value]]) -> Events:
    """Which of all combinations of the values pass."""
    shape = tuple(len(each) for each in values)

    def grid(node: Node) -> Events:
        if isinstance(node, Truth):
            return np.full((1, 1, 1), node.value, dtype=np.bool_)
        if isinstance(node, Predicate):
            axis = NAMES.index(node.attribute)
            said = [holds(node, value, f.schema) for value in values[axis]]
            own = [1, 1, 1]
            own[axis] = len(said)
            return np.array(said, dtype=np.bool_).reshape(own)
        combine = np.logical_and if isinstance(node, And) else np.logical_or
        grids: list[Any] = [grid(part) for part in node.parts]
        return np.asarray(reduce(combine, grids), dtype=np.bool_)

    return np.broadcast_to(grid(f.tree), shape)


def together(grids: Sequence[Events]) -> Events:
    """The events in at least one."""
    return np.asarray(reduce(np.logical_or, grids), dtype=np.bool_)


def hull(events: Events) -> Events:
    """The smallest product of three sets of values that holds the events."""
    sides = [events.any(axis=tuple(k for k in range(3) if k != axis)) for axis in range(3)]
    return np.asarray(np.einsum("i,j,k->ijk", *sides), dtype=np.bool_)


@dataclass(frozen=True)
class Weighted:
    """All values of each attribute with their weights, and the distribution that says so."""

    values: list[list[Value]]
    weights: list[list[int]]
    distribution: Distribution
    constants: Mapping[str, Sequence[str]]

    @property
    def schema(self) -> Schema | None:
        """The schema of the filters measured here."""
        return self.distribution.schema

    def weight(self, events: Events) -> int:
        """What the events weigh together."""
        grid = np.einsum("i,j,k->ijk", *(np.array(w, dtype=np.int64) for w in self.weights))
        return int(grid[events].sum())

    def share(self, events: Events) -> Fraction:
        """How likely one of the events is."""
        return Fraction(self.weight(events), self.weight(np.ones_like(events)))

    def passing(self, f: Filter) -> Events:
        """Which events pass."""
        return passing(f, self.values)

    def predicate(self, rng: random.Random, name: str) -> str:
        """A predicate on the attribute, its constants from the world's."""
        texts = self.constants[name]
        kind = rng.random()
        if kind < 0.1:
            return f"{name} IS {rng.choice(('', 'NOT '))}NULL"
        if kind < 0.25:
            listed = ", ".join(rng.choices(_alike(rng, texts), k=rng.randint(1, 3)))
            return f"{name} {rng.choice(('', '', 'NOT '))}IN ({listed})"
        operator = rng.choice(("=", "=", "<", "<=", ">", ">=", "!=", "<=>"))
        return f"{name} {operator} {rng.choice(texts)}"

    def relatives(self, rng: random.Random) -> list[Filter]:
        """A few conjunctions that differ in one or two predicates."""
        base = [self.predicate(rng, name) for name in NAMES if rng.random() < 0.8]
        base = base or [self.predicate(rng, "x")]
        family = []
        places = rng.sample(range(len(base)), min(len(base), rng.choice((1, 1, 1, 2))))
        for _ in range(rng.randint(2, 4)):
            parts = list(base)
            for place in places:
                parts[place] = self.predicate(rng, parts[place].partition(" ")[0])
            if rng.random() < 0.15:
                parts.append(self.predicate(rng, rng.choice(NAMES)))
            family.append(parse(" AND ".join(parts), self.schema))
        return family

    def tree(self, rng: random.Random, depth: int = 3) -> str:
        """Any Boolean filter."""
        if depth == 0 or rng.random() < 0.3:
            return self.predicate(rng, rng.choice(NAMES))
        parts = [self.tree(rng, depth - 1) for _ in range(rng.randint(2, 3))]
        joined = f" {rng.choice(('AND', 'OR'))} ".join(f"({part})" for part in parts)
        return f"NOT ({joined})" if rng.random() < 0.2 else joined


def _alike(rng: random.Random, texts: Sequence[str]) -> list[str]:
    """Constants that may stand in one list: all quoted, or none."""
    quoted = rng.choice(texts).endswith("'")
    return [text for text in texts if text.endswith("'") is quoted and not text.startswith("TRUE")]


def counted() -> Weighted:
    """No schema, several families side by side; a histogram knows how often each value occurs."""
    moment = dt.datetime(2024, 2, 29, 12)
    columns: dict[str, list[tuple[Value, int]]] = {
        "x": [
            *((None, 3), (OTHER, 1), (0, 2), (1, 1), (2, 4), (1.0, 1), (1.5, 2), (float("nan"), 1)),
            *((Decimal("1.5"), 1), ("a", 2), ("ab", 1), (True, 1), (moment, 1)),
        ],
        "y": [
            (None, 1),
            (P - 1, 1),
            (P, 2),
            (P + 1, 3),
            (float(P), 1),
            (Decimal(P + 1), 2),
            ("b", 1),
        ],
        "z": [("", 1), ("a", 1), ("ab", 2), ("b", 3), ("ba", 1), (7, 1), (None, 2)],
    }
    constants = {
        "x": ["0", "1", "2", "1.5D", "1.5", "'a'", "'aa'"],
        "y": [spell(c) for c in (P - 1, P, P + 1, float(P), Decimal(P + 1), "b")],
        "z": ["'a'", "'ab'", "'b'", "7"],
    }
    return _weighted(columns, Histogram(columns), constants)


def uniform(*, checked: bool) -> Weighted:
    """A schema with domains, two attributes that may be absent."""
    schema = Schema(
        {
            "x": Attribute("bigint", low=0, high=5),
            "y": Attribute("string", values=("a", "ab", "b"), nullable=False),
            "z": Attribute("decimal(2,1)", low=Decimal("0.0"), high=Decimal("0.4")),
        },
        checked=checked,
    )
    columns: dict[str, list[tuple[Value, int]]] = {
        "x": [(None, 2), *((value, 1) for value in range(6))],
        "y": [(text, 1) for text in ("a", "ab", "b")],
        "z": [(None, 5), *((Decimal(tenths) / 10, 1) for tenths in range(5))],
    }
    distribution = Uniform(schema, absent={"x": 0.25, "z": 0.5})
    constants = {
        "x": ["0", "1", "2", "3", "4", "5", "2.5D", "2.5"],
        "y": ["'a'", "'ab'", "'b'", "'aa'"],
        "z": ["0.0", "0.1", "0.2", "0.3", "0.4", "0.25", "0.1D"],
    }
    return _weighted(columns, distribution, constants)


def moments() -> Weighted:
    """Days, microseconds, and doubles that are listed one by one."""
    first, noon = dt.date(2024, 2, 28), dt.datetime(2024, 2, 29, 12)
    tick = dt.timedelta(microseconds=1)
    schema = Schema(
        {
            "x": Attribute("date", low=first, high=dt.date(2024, 3, 2)),
            "y": Attribute("timestamp", low=noon, high=noon + 3 * tick, nullable=False),
            "z": Attribute("double", values=(0.5, 1.5, 1e300)),
        },
        checked=True,
    )
    columns: dict[str, list[tuple[Value, int]]] = {
        "x": [(first + dt.timedelta(days=k), 1) for k in range(4)],
        "y": [(noon + k * tick, 1) for k in range(4)],
        "z": [(0.5, 1), (1.5, 1), (1e300, 1)],
    }
    constants = {
        "x": [spell(value) for value, _ in columns["x"] if is_constant(value)],
        "y": [spell(value) for value, _ in columns["y"] if is_constant(value)],
        "z": ["0.5D", "1.5D", "1", "1e300"],
    }
    return _weighted(columns, Uniform(schema), constants)


def _weighted(
    columns: Mapping[str, Sequence[tuple[Value, int]]],
    distribution: Distribution,
    constants: Mapping[str, Sequence[str]],
) -> Weighted:
    return Weighted(
        [[value for value, _ in columns[name]] for name in NAMES],
        [[weight for _, weight in columns[name]] for name in NAMES],
        distribution,
        constants,
    )


WORLDS: Final[dict[str, Callable[[], Weighted]]] = {
    "counted": counted,
    "uniform": lambda: uniform(checked=True),
    "unchecked": lambda: uniform(checked=False),
    "moments": moments,
}


SETTINGS: Final[dict[str, Callable[[], Setting]]] = {
    "plain": worlds.plain,
    "fractions": worlds.fractions,
    "integers": lambda: worlds.typed("integers", checked=True, limited=True),
    "moments": lambda: worlds.typed("moments", checked=True, limited=True),
    "words": lambda: worlds.typed("words", checked=False, limited=True),
}
"""Worlds whose values witness every difference between conditions; nothing has a weight there."""


def related(rng: random.Random, place: Setting) -> list[Filter]:
    """Conjunctions of an enumerated world that often have a perfect merger: pieces of one.

    Mostly none of them covers the others, or there would be little to merge.
    """
    while True:
        focus = {name: rng.randrange(max(1, len(place.kinds[name]) - 1)) for name in NAMES}
        pieces = partition(rng, place, conjunction(rng, place, focus))
        if rng.random() < 0.3:
            pieces[rng.randrange(len(pieces))] = conjunction(rng, place, focus)
        events = [place.world.passing(piece) for piece in pieces]
        union = reduce(int.__or__, events)
        if union not in events or rng.random() < 0.1:
            return [place.world.filter(piece) for piece in pieces]
