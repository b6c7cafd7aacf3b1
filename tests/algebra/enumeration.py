"""Which events of a small world does a condition pass? The slow answer: ask each of them.

A `World` has three attributes and, for each, a fixed list of predicates: all that its conditions
are made of. Of the many values that lie at, between and beside the constants, one is kept for each
way in which values differ to these predicates. So the world's events, all combinations of the kept
values, witness every difference between two conditions, and what holds for them holds for all.

A `Condition` carries its text and, on the grid of all events, where it is true, where false, where
not true and where not false. AND, OR, NOT and IS combine these without any rewriting of the tree.
Sets of events are Python integers, one bit per event.
"""

import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate import Filter, Schema, parse
from tidegate.filters.compare import compare
from tidegate.filters.evaluate import Verdict, verdict
from tidegate.filters.expression import Mode, Predicate
from tidegate.filters.values import BIGINT_MAX, BIGINT_MIN, OTHER, Constant, Value, normal

Grid: TypeAlias = NDArray[np.bool_]
Events: TypeAlias = int

NAMES: Final = ("x", "y", "z")
STRANGERS: Final[tuple[Any, ...]] = (
    None,
    b"bytes",
    True,
    7,
    7.5,
    Decimal("7.25"),
    "q",
    dt.date(1999, 9, 9),
    dt.datetime(1999, 9, 9, 9),
)
"""Absent, and something of every family, whatever the constants are."""


@dataclass(frozen=True, eq=False, slots=True)
class Condition:
    """A text, and where on the grid it is true, false, not true and not false."""

    text: str
    true: Grid
    false: Grid
    not_true: Grid
    not_false: Grid
    size: int = 1  # how many predicates it has


def both(one: Condition, other: Condition, text: str | None = None) -> Condition:
    """AND."""
    return Condition(
        text or f"({one.text}) AND ({other.text})",
        one.true & other.true,
        one.false | other.false,
        one.not_true | other.not_true,
        one.not_false & other.not_false,
        one.size + other.size,
    )


def either(one: Condition, other: Condition) -> Condition:
    """OR."""
    return Condition(
        f"({one.text}) OR ({other.text})",
        one.true | other.true,
        one.false & other.false,
        one.not_true & other.not_true,
        one.not_false | other.not_false,
        one.size + other.size,
    )


def negation(one: Condition) -> Condition:
    """NOT."""
    return Condition(
        f"NOT ({one.text})", one.false, one.true, one.not_false, one.not_true, one.size
    )


def asked(one: Condition, question: str) -> Condition:
    """IS TRUE, IS NOT TRUE, IS FALSE or IS NOT FALSE: two-valued."""
    sides = (one.true, one.not_true) if question.endswith("TRUE") else (one.false, one.not_false)
    yes, no = reversed(sides) if "NOT" in question else sides
    return Condition(f"({one.text}) {question}", yes, no, no, yes, one.size)


class World:
    """All events over three attributes, and the conditions to be made of them."""

    def __init__(
        self,
        predicates: Mapping[str, Sequence[str]],
        candidates: Mapping[str, Iterable[Any]],
        schema: Schema | None = None,
    ) -> None:
        self.schema = schema
        self.values: list[list[Value]] = []
        self.leaves: dict[str, Condition] = {}
        verdicts = []
        for name in NAMES:
            kept, table = self._representatives(predicates[name], candidates[name])
            self.values.append(kept)
            verdicts.append(table)
        self.shape = tuple(len(values) for values in self.values)
        for axis, name in enumerate(NAMES):
            for text, column in zip(predicates[name], verdicts[axis], strict=True):
                self.leaves[text] = self._leaf(text, column, axis)

    def truth(self, value: bool) -> Condition:
        """The condition TRUE or FALSE."""
        yes, no = (np.full((1, 1, 1), side, dtype=np.bool_) for side in (value, not value))
        return Condition(str(value).upper(), yes, no, no, yes)

    def filter(self, condition: Condition) -> Filter:
        """The condition, read as a filter."""
        return parse(condition.text, self.schema)

    def passing(self, condition: Condition) -> Events:
        """The events for which the condition is true."""
        grid = np.broadcast_to(condition.true, self.shape)
        return int.from_bytes(np.packbits(grid).tobytes(), "big")

    def passes(self, condition: Condition, at: Sequence[int]) -> bool:
        """Whether the condition is true for one event."""
        return bool(np.broadcast_to(condition.true, self.shape)[tuple(at)])

    def event(self, at: Sequence[int]) -> dict[str, Any]:
        """One event, as a publisher would write it; absent attributes are left out."""
        event = {}
        for name, values, index in zip(NAMES, self.values, at, strict=True):
            value: Any = values[index]
            if value is not None:
                event[name] = b"bytes" if value is OTHER else value
        return event

    def _representatives(
        self, texts: Sequence[str], candidates: Iterable[Any]
    ) -> tuple[list[Value], list[tuple[Verdict, ...]]]:
        """One value of each type for each way in which the predicates can tell values apart."""
        predicates = [_predicate(text, self.schema) for text in texts]
        conforming = self._conforming(predicates[0].attribute, candidates)
        distinct = {(type(value), repr(value)): value for value in conforming}
        kept: dict[tuple[type, tuple[Verdict, ...]], Value] = {}
        for value in distinct.values():
            said = tuple(verdict(predicate, value, self.schema) for predicate in predicates)
            kept.setdefault((type(value), said), value)
        return list(kept.values()), [*zip(*(said for _, said in kept), strict=True)]

    def _conforming(self, attribute: str, values: Iterable[Any]) -> Iterator[Value]:
        """The values as the schema holds them, without those that a checked schema forbids."""
        schema = self.schema
        for value in values:
            plain = normal(value) if schema is None else schema[attribute].type.conform(value)
            if schema is None or not schema.checked or DOMAINS.permits(schema, attribute, plain):
                yield plain

    def _leaf(self, text: str, column: tuple[Verdict, ...], axis: int) -> Condition:
        def on_grid(*verdicts: Verdict) -> Grid:
            shape = [1, 1, 1]
            shape[axis] = len(column)
            return np.array([said in verdicts for said in column], dtype=np.bool_).reshape(shape)

        true, false = on_grid(Verdict.TRUE), on_grid(Verdict.FALSE)
        unknown = on_grid(Verdict.UNKNOWN)
        leaf = Condition(text, true, false, false | unknown, true | unknown)
        if _predicate(text, self.schema).mode is Mode.TRUE:
            return leaf
        return Condition(text, false, true, leaf.not_false, leaf.not_true)


def _predicate(text: str, schema: Schema | None) -> Predicate:
    tree = parse(text, schema).tree
    assert isinstance(tree, Predicate), f"{text} is one predicate"
    assert tree.mode in (Mode.TRUE, Mode.FALSE)
    return tree


class _Domains:
    """What a checked schema lets through, kept beside the schema as plain constants."""

    def __init__(self) -> None:
        self._limits: dict[int, Mapping[str, Mapping[str, Any]]] = {}

    def declare(self, schema: Schema, limits: Mapping[str, Mapping[str, Any]]) -> None:
        """Remember the arguments that the schema's attributes were made with."""
        self._limits[id(schema)] = limits

    def permits(self, schema: Schema, attribute: str, value: Value) -> bool:
        """Whether a value may occur in an event that was checked."""
        limits = self._limits[id(schema)].get(attribute, {})
        if value is None:
            return bool(limits.get("nullable", True))
        if value is OTHER:
            return False
        if "values" in limits:
            return any(compare(value, member) == 0 for member in limits["values"])
        low, high = limits.get("low"), limits.get("high")
        return (low is None or compare(value, low) >= 0) and (
            high is None or compare(value, high) <= 0
        )


DOMAINS: Final = _Domains()


def beside(constants: Iterable[Constant]) -> list[Any]:
    """Values at and next to each constant, on every line where it can be compared."""
    found: list[Any] = list(STRANGERS)
    for constant in constants:
        if isinstance(constant, str):
            found += _strings_beside(constant)
        elif isinstance(constant, dt.date):
            found += _moments_beside(constant)
        elif isinstance(constant, bool):
            found += [False, True]
        elif constant is not None:
            found += _numbers_beside(constant)
    return list({(type(value), repr(value)): value for value in found}.values())


def _numbers_beside(constant: int | float | Decimal) -> Iterator[Any]:
    yield from (BIGINT_MIN, BIGINT_MAX, 1 - 10**38, 10**38 - 1)
    yield from (math.nan, math.inf, -math.inf, 1.7976931348623157e308, -1.7976931348623157e308)
    double = float(constant)
    if not math.isfinite(double):
        return
    single = np.float32(double)
    steps = [math.nextafter(double, -math.inf), double, math.nextafter(double, math.inf)]
    yield from steps
    for end in (-math.inf, math.inf):
        yield float(np.nextafter(single, np.float32(end)))
    yield float(single)
    points = [Fraction(step) for step in steps]
    edges = {Fraction(constant), (points[0] + points[1]) / 2, (points[1] + points[2]) / 2}
    for digits in (2, 18):  # the ends of what rounds to the constant
        half = Fraction(1, 2 * 10**digits)
        edges |= {Fraction(constant) - half, Fraction(constant) + half}
    for edge in edges:
        whole = math.floor(edge)
        yield from range(max(BIGINT_MIN, whole - 1), min(BIGINT_MAX, whole + 2) + 1)
        finest = 38 - len(str(abs(whole))) if abs(edge) >= 1 else 38
        for scale in {0, 2, 20, finest}:
            key = math.floor(edge * 10**scale)
            yield from (Decimal(f"{k}E-{scale}") for k in range(key - 1, key + 3))


def _strings_beside(constant: str) -> Iterator[str]:
    yield from ("", "\0", constant, constant + "\0", constant + "\0\0", constant + "x")
    if constant:
        head, last = constant[:-1], constant[-1]
        highest = "\U0010ffff" * 2
        yield constant + highest  # the last of those that start with the constant
        yield from (head, head + last + last)
        for code in (ord(last) - 1, ord(last) + 1):
            if 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
                yield from (head + chr(code), head + chr(code) + highest)
        yield from (head + "\ue000", "\U0010ffff")


def _moments_beside(constant: dt.date) -> Iterator[Any]:
    moment = constant
    if not isinstance(constant, dt.datetime):
        moment = dt.datetime(constant.year, constant.month, constant.day)
    assert isinstance(moment, dt.datetime)
    tick, day = dt.timedelta(microseconds=1), dt.timedelta(days=1)
    for days in (-2, -1, 0, 1, 2):
        yield (moment + days * day).date()
    yield from (moment - day, moment - tick, moment, moment + tick, moment + day)
