"""What does a condition say about an event? The slow answer, straight from SQL's definition.

A `Condition` is a small tree that knows its own text and nothing of Tidegate's: no parser, no
pushed-down NOT. `truth` computes it bottom-up in SQL's three-valued logic, where None is unknown.
A comparison follows Spark's rules literally: find the type the two sides share, cast both to it,
compare exact fractions. A filter passes the events for which its condition is true.
"""

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Column:
    """An attribute: its name as a filter writes it, where an event keeps it, Spark's type.

    Or a function of one, which the name says, too.
    """

    name: str
    path: tuple[str, ...]
    type: str
    function: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant as written, with the type Spark reads it as (`void` for NULL) and its value."""

    text: str
    type: str
    value: Any


@dataclass(frozen=True, slots=True)
class Leaf:
    """One operator on one column; `flipped` puts the constant on the left."""

    operator: str
    column: Column
    literals: tuple[Literal, ...] = ()
    flipped: bool = False
    escape: str | None = None

    def __str__(self) -> str:
        name, operator = self.column.name, self.operator
        texts = [literal.text for literal in self.literals]
        if operator in ("bare", "NOT bare"):
            return operator.replace("bare", name)
        if operator in FUNCTIONS:
            return f"{operator}({name}, {texts[0]})"
        if operator.endswith("BETWEEN"):
            return f"{name} {operator} {texts[0]} AND {texts[1]}"
        if operator.endswith(("IN", "ANY", "ALL")):
            return f"{name} {operator} ({', '.join(texts)})"
        if operator.endswith("LIKE"):
            escape = "" if self.escape is None else f" ESCAPE '{self.escape}'"
            return f"{name} {operator} {texts[0]}{escape}"
        sides = [name, operator, *texts]
        return " ".join(reversed(sides) if self.flipped else sides)


@dataclass(frozen=True, slots=True)
class Not:
    """The negation, written with one of its two signs, with or without parentheses."""

    inner: "Condition"
    sign: str = "NOT "
    parentheses: bool = True

    def __str__(self) -> str:
        return f"{self.sign}({self.inner})" if self.parentheses else f"{self.sign}{self.inner}"


@dataclass(frozen=True, slots=True)
class Junction:
    """AND or OR; an AND inside an OR needs no parentheses, and may go without."""

    word: str
    parts: tuple["Condition", ...]
    loose: bool = False

    def __str__(self) -> str:
        return f" {self.word} ".join(self._part(part) for part in self.parts)

    def _part(self, part: "Condition") -> str:
        plain = self.loose and self.word == "OR" and isinstance(part, Junction)
        if isinstance(part, Junction) and not (plain and part.word == "AND"):
            return f"({part})"
        return str(part)


@dataclass(frozen=True, slots=True)
class Is:
    """`(condition) IS [NOT] TRUE`, FALSE or, where `asked` is None, UNKNOWN."""

    inner: "Condition"
    asked: bool | None
    negated: bool = False

    def __str__(self) -> str:
        return f"({self.inner}) IS {'NOT ' * self.negated}{_WORDS[self.asked]}"


@dataclass(frozen=True, slots=True)
class Fixed:
    """TRUE, FALSE or NULL."""

    value: bool | None

    def __str__(self) -> str:
        return "NULL" if self.value is None else str(self.value).upper()


Condition: TypeAlias = Leaf | Not | Junction | Is | Fixed

_WORDS: Final = {True: "TRUE", False: "FALSE", None: "UNKNOWN"}
FUNCTIONS: Final = tuple(
    no + name for no in ("", "NOT ") for name in ("startswith", "endswith", "contains")
)
SAME: Final = ("<=>", "IS NOT DISTINCT FROM", "IS DISTINCT FROM")
ORDERINGS: Final = ("<", "<=", ">", ">=")


def passes(condition: Condition, event: Mapping[str, Any]) -> bool:
    """Whether the event passes the filter: true does, false and unknown do not."""
    return truth(condition, event) is True


def truth(condition: Condition, event: Mapping[str, Any]) -> bool | None:
    """The condition's value in three-valued logic."""
    match condition:
        case Fixed(value):
            return value
        case Not(inner):
            return _not(truth(inner, event))
        case Junction("AND", parts):
            return _and([truth(part, event) for part in parts])
        case Junction("OR", parts):
            return _or([truth(part, event) for part in parts])
        case Is(inner, asked, negated):
            return (truth(inner, event) is asked) is not negated
        case Leaf():
            return answer(condition, value_in(event, condition.column))
    raise AssertionError(condition)


def value_in(event: Mapping[str, Any], column: Column) -> Any:
    """The event's value of a column; what is absent, or within something absent, is None."""
    value: Any = event
    for name in column.path:
        value = None if value is None else value.get(name)
    return column.function(value) if column.function and isinstance(value, str) else value


def leaves(condition: Condition) -> Iterator[Leaf]:
    """The leaves of a condition, left to right."""
    match condition:
        case Leaf():
            yield condition
        case Not(inner) | Is(inner):
            yield from leaves(inner)
        case Junction(_, parts):
            for part in parts:
                yield from leaves(part)


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _and(values: list[bool | None]) -> bool | None:
    if False in values:
        return False
    return None if None in values else True


def _or(values: list[bool | None]) -> bool | None:
    return _not(_and([_not(value) for value in values]))


def answer(leaf: Leaf, value: Any) -> bool | None:
    """What a leaf says about a value of its column."""
    if leaf.operator.endswith(("ANY", "ALL")):  # as many conditions as there are patterns
        one, _, word = leaf.operator.rpartition(" ")
        each = [answer(Leaf(one, leaf.column, (literal,)), value) for literal in leaf.literals]
        return _or(each) if word == "ANY" else _and(each)
    positive, negated = _positive(leaf.operator)
    asked = _asked(positive, leaf, value)
    return _not(asked) if negated else asked


def _asked(operator: str, leaf: Leaf, value: Any) -> bool | None:
    """The leaf with `operator`, which has no negation in it, in the place of its own."""
    column, literals = leaf.column, leaf.literals
    match operator:
        case "bare":
            return None if value is None else bool(value)
        case "IS NULL" | "IS UNKNOWN":
            return value is None
        case "IS TRUE" | "IS FALSE":
            return value is (operator == "IS TRUE")
        case "BETWEEN":
            low, high = literals
            return _and([_compared(">=", column, value, low), _compared("<=", column, value, high)])
        case "IN":
            return _listed(column, value, literals)
        case "LIKE" | "ILIKE" | "startswith" | "endswith" | "contains":
            return _text(operator, value, literals[0].value, (leaf.escape or "\\")[0])
        case _:
            seen = operator.translate(_MIRROR) if leaf.flipped and operator != "<=>" else operator
            return _compared(seen, column, value, literals[0])


_MIRROR: Final = str.maketrans("<>", "><")
_NEGATIONS: Final = {"!=": "=", "<>": "=", "IS DISTINCT FROM": "<=>"}


def _positive(operator: str) -> tuple[str, bool]:
    """The operator without its negation, and whether it had one."""
    if operator in _NEGATIONS:
        return _NEGATIONS[operator], True
    plain = {"==": "=", "IS NOT DISTINCT FROM": "<=>"}.get(operator, operator)
    return plain.replace("NOT ", ""), "NOT " in plain


def _compared(operator: str, column: Column, value: Any, literal: Literal) -> bool | None:
    if value is None or literal.value is None:
        return (value is None and literal.value is None) if operator == "<=>" else None
    order = compare(column.type, value, literal, ordering=operator in ORDERINGS)
    return _ORDERS[operator](order)


_ORDERS: Final[dict[str, Callable[[int], bool]]] = {
    "=": lambda order: order == 0,
    "<=>": lambda order: order == 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


def compare(column: str, value: Any, literal: Literal, *, ordering: bool) -> int:
    """-1, 0 or 1 as Spark finds the column's value below, equal to or above the literal."""
    if ordering and column in _INTEGERS and literal.type.startswith("decimal"):
        left, right = Fraction(value), Fraction(literal.value)  # Spark rounds the literal outward
    else:
        shared = compared_type(column, literal)
        left, right = _key(value, shared), _key(literal.value, shared)
    return int(left > right) - int(left < right)


def _listed(column: Column, value: Any, literals: tuple[Literal, ...]) -> bool | None:
    if value is None:
        return None
    shared = listed_type(column.type, literals)
    own = _key(value, shared)
    if any(own == _key(x.value, shared) for x in literals if x.value is not None):
        return True
    return None if any(literal.value is None for literal in literals) else False


def _text(operator: str, value: str | None, given: str | None, escape: str) -> bool | None:
    if value is None or given is None:
        return None
    match operator:
        case "startswith":
            return value.startswith(given)
        case "endswith":
            return value.endswith(given)
        case "contains":
            return given in value
        case "ILIKE":
            value, given = value.lower(), given.lower()
    pattern = ""
    at = 0
    while at < len(given):
        if given[at] == escape:
            at += 1
            pattern += re.escape(given[at])
        else:
            pattern += {"%": ".*", "_": "."}.get(given[at]) or re.escape(given[at])
        at += 1
    return re.fullmatch(pattern, value, re.DOTALL) is not None


# How Spark finds the type that two sides share (ANSI), and what a value is worth in it.

_INTEGERS: Final = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_MOMENTS: Final = ("date", "timestamp_ntz", "timestamp")


def compared_type(column: str, literal: Literal) -> str:
    """The type in which a column and one literal are compared."""
    other = literal.type
    if column.startswith("decimal") and other in ("smallint", "int", "bigint"):
        other = f"decimal({len(str(abs(literal.value)))},0)"  # a literal counts its own digits
    return _wider(column, other)


def listed_type(column: str, literals: tuple[Literal, ...]) -> str:
    """The type in which a column and an IN list are compared: all of them share one."""
    return reduce(_wider, [literal.type for literal in literals], column)


def rounds(column: str, literals: tuple[Literal, ...], *, listed: bool) -> bool:
    """Whether the shared type is a decimal too narrow for the fractions of all sides."""
    if listed:
        shared = [listed_type(column, literals)]
    else:
        shared = [compared_type(column, literal) for literal in literals]
    sides = [column, *(literal.type for literal in literals)]
    scales = [_digits(side)[1] for side in sides if side.startswith("decimal")]
    return any(
        each.startswith("decimal") and _digits(each)[1] < max(scales, default=0) for each in shared
    )


def _wider(one: str, other: str) -> str:
    if one == other or other == "void":
        return one
    if "string" in (one, other):
        plain = other if one == "string" else one
        if plain in _INTEGERS:
            return "bigint"
        return "double" if plain == "float" or plain.startswith("decimal") else plain
    if one in _MOMENTS:
        return max(one, other, key=_MOMENTS.index)
    if {one, other} & {"float", "double"}:
        return "double"
    if one in _INTEGERS and other in _INTEGERS:
        return max(one, other, key=lambda name: _INTEGERS[name])
    (precision, scale), (precision2, scale2) = _digits(one), _digits(other)
    whole = max(precision - scale, precision2 - scale2)
    fraction = min(max(scale, scale2), 38 - whole)  # whole digits are kept, fractions give way
    return f"decimal({whole + fraction},{fraction})"


def _digits(name: str) -> tuple[int, int]:
    if name in _INTEGERS:
        return _INTEGERS[name], 0
    precision, scale = name.removeprefix("decimal(").removesuffix(")").split(",")
    return int(precision), int(scale)


def _key(value: Any, shared: str) -> Any:
    """The value cast to the shared type, as something Python orders the same way."""
    match shared:
        case "float" | "double":
            return _double_key(float(value))
        case "string":
            return value.encode()
        case "boolean":
            return value if isinstance(value, bool) else value.strip().lower() in _YES
        case "date":
            return value if isinstance(value, dt.date) else dt.date.fromisoformat(value[:10])
        case "timestamp" | "timestamp_ntz":
            return _moment(value, shared)
        case _ if shared in _INTEGERS:
            return int(value)
    unit = Fraction(1, 10 ** _digits(shared)[1])
    steps = math.floor(abs(Fraction(value)) / unit + Fraction(1, 2))  # half is rounded up
    return steps * unit if value >= 0 else -steps * unit


_YES: Final = ("true", "t", "yes", "y", "1")


def _double_key(value: float) -> tuple[int, Fraction]:
    if math.isnan(value):
        return 2, Fraction(0)
    if math.isinf(value):
        return (1 if value > 0 else -1), Fraction(0)
    return 0, Fraction(value)


def _moment(value: Any, shared: str) -> dt.datetime:
    if isinstance(value, str):
        read = dt.datetime.fromisoformat(value.strip())
        if read.tzinfo is not None and shared == "timestamp":
            read = read.astimezone(dt.UTC)
        return read.replace(tzinfo=None)  # a timestamp_ntz forgets the zone it is given
    if isinstance(value, dt.datetime):
        return value
    return dt.datetime.combine(value, dt.time())


def is_nan(value: Any) -> bool:
    """Whether this is NaN, as a value or spelled in a string."""
    if isinstance(value, str):
        return value.strip().lower() == "nan"
    return isinstance(value, float | Decimal) and math.isnan(value)
