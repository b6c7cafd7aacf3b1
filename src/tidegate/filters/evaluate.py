"""Does one event pass a filter, and why?

The plain reading of law 1: each predicate is compared directly (`compare`) with the attribute's
value and is true, false, unknown (NULL takes part) or incomparable (the value is of another
family: then the predicate holds in no mode). Everything faster is checked against this. Only where
somebody keeps the members of long lists (`Listings`) are values looked up there.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Final, TypeAlias

from tidegate.filters import patterns
from tidegate.filters.attribute import Attribute
from tidegate.filters.compare import compare, list_constants, rounded, shared_scale
from tidegate.filters.expression import (
    ORDERINGS,
    And,
    Mode,
    Node,
    Operator,
    Or,
    Predicate,
    Truth,
    attribute_path,
    function_of,
)
from tidegate.filters.letters import MAPPINGS, lower
from tidegate.filters.listing import MANY, Listing
from tidegate.filters.patterns import Pattern
from tidegate.filters.schema import Schema
from tidegate.filters.values import OTHER, Constant, Value, family, normal


class Verdict(Enum):
    """What a predicate says about one value."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"
    INCOMPARABLE = "incomparable"


_HOLDS: Final = {
    Mode.TRUE: (Verdict.TRUE,),
    Mode.FALSE: (Verdict.FALSE,),
    Mode.NOT_TRUE: (Verdict.FALSE, Verdict.UNKNOWN),
    Mode.NOT_FALSE: (Verdict.TRUE, Verdict.UNKNOWN),
}

_ORDER_TESTS: Final = {
    Operator.EQUAL: (0,),
    Operator.LESS: (-1,),
    Operator.AT_MOST: (-1, 0),
    Operator.GREATER: (1,),
    Operator.AT_LEAST: (0, 1),
}


Listings: TypeAlias = Callable[[Predicate], Listing]
"""Gives the members of a predicate's list, which somebody keeps."""


def matches(
    node: Node, event: Mapping[str, Any], schema: Schema | None, listings: Listings | None = None
) -> bool:
    """Whether the event passes the filter whose tree this is."""
    if isinstance(node, Predicate):
        value = value_of(event, node.attribute, schema)
        if listings is not None and node.operator is Operator.IN and len(node.constants) >= MANY:
            return looked_up(listings(node), value, schema) in _HOLDS[node.mode]
        return holds(node, value, schema)
    if isinstance(node, And):
        return all(matches(part, event, schema, listings) for part in node.parts)
    if isinstance(node, Or):
        return any(matches(part, event, schema, listings) for part in node.parts)
    return node.value


def holds(predicate: Predicate, value: Value, schema: Schema | None) -> bool:
    """Whether the predicate holds, in its mode, for a value of its attribute."""
    return verdict(predicate, value, schema) in _HOLDS[predicate.mode]


def value_of(event: Mapping[str, Any], attribute: str, schema: Schema | None) -> Value:
    """The event's value of an attribute; absent, or a path through something absent, is None."""
    value: Any = event
    path, function = _path(attribute)
    for name in path:
        if type(value) is not dict and not isinstance(value, Mapping):
            return None
        value = value.get(name)
    plain = normal(value) if schema is None else schema[attribute].type.conform(value)
    return plain if function is None else mapped(function, plain)


_PATHS: Final = 8192  # attributes whose paths are kept


@lru_cache(maxsize=_PATHS)
def _path(attribute: str) -> tuple[tuple[str, ...], str | None]:
    """Where an attribute's value stands in an event, and which function of it is asked for."""
    return attribute_path(attribute), function_of(attribute)


def mapped(function: str, value: Value) -> Value:
    """The function of a value; what is no string has letters of no case, and stays what it is."""
    return MAPPINGS[function](value) if isinstance(value, str) else value


def verdict(predicate: Predicate, value: Value, schema: Schema | None) -> Verdict:
    """What the predicate, regardless of its mode, says about a normal value."""
    operator, constants = predicate.operator, predicate.constants
    if operator is Operator.NULL:
        return _truth(value is None)
    own = None if schema is None else schema[predicate.attribute]
    if operator is Operator.IN:
        return _listed(value, constants, own)  # type: ignore[arg-type]
    constant: Constant = constants[0]  # type: ignore[assignment]
    if operator is Operator.SAME and (value is None or constant is None):
        return _truth(value is None and constant is None)
    if constant is None or value is None:
        return Verdict.UNKNOWN
    if not _comparable(value, constant, own):
        return Verdict.INCOMPARABLE
    if operator in _TEXT_PATTERNS:
        assert isinstance(value, str)
        return _truth(pattern_of(predicate).matches(value))
    scale = None
    if operator not in ORDERINGS or _is_decimal(own):
        scale = shared_scale(_width(value, own), (constant,), listed=False)
    order = compare(rounded(value, scale), rounded(constant, scale))  # type: ignore[arg-type]
    return _truth(order in _ORDER_TESTS[_AS_EQUAL.get(operator, operator)])


_AS_EQUAL: Final = {Operator.SAME: Operator.EQUAL}


def _listed(value: Value, constants: tuple[Constant, ...], own: Attribute | None) -> Verdict:
    listed = list_constants(constants)
    if value is None or not listed:
        return Verdict.UNKNOWN
    if not all(_comparable(value, constant, own) for constant in listed):
        return Verdict.INCOMPARABLE
    scale = shared_scale(_width(value, own), constants, listed=True)
    own_value = rounded(value, scale)  # type: ignore[arg-type]
    if any(compare(own_value, rounded(constant, scale)) == 0 for constant in listed):
        return Verdict.TRUE
    return Verdict.UNKNOWN if None in constants else Verdict.FALSE


def looked_up(listing: Listing, value: Value, schema: Schema | None) -> Verdict:
    """What an IN list says about a normal value, as `verdict` does, by a look-up."""
    if value is None or not listing:
        return Verdict.UNKNOWN
    if value is OTHER or (schema is None and not listing.compares(value)):
        return Verdict.INCOMPARABLE
    if listing.has(value):
        return Verdict.TRUE
    return Verdict.UNKNOWN if listing.null else Verdict.FALSE


def _width(value: Value, own: Attribute | None) -> tuple[int, int] | None:
    """The value's type as a decimal, where Spark would compare it as one."""
    if own is not None:
        return own.type.decimal
    return (20, 0) if isinstance(value, int) else None


def _is_decimal(own: Attribute | None) -> bool:
    return own is not None and own.type.name.startswith("decimal")


def _comparable(value: Value, constant: Constant, own: Attribute | None) -> bool:
    if value is OTHER:
        return False
    return own is not None or family(value) == family(constant)


def _truth(value: bool) -> Verdict:
    return Verdict.TRUE if value else Verdict.FALSE


def pattern_of(predicate: Predicate) -> Pattern:
    """The pattern of a text predicate whose constants are present."""
    if sum(map(len, predicate.constants)) > _CHARACTERS_OF_A_PATTERN:  # type: ignore[arg-type]
        return _pattern.__wrapped__(predicate.operator, predicate.constants)
    return _pattern(predicate.operator, predicate.constants)


_PATTERNS: Final = 8_192  # that are remembered
_CHARACTERS_OF_A_PATTERN: Final = 256  # characters of a pattern, at most, that is


@lru_cache(maxsize=_PATTERNS)
def _pattern(operator: Operator, constants: tuple[Any, ...]) -> Pattern:
    pattern: Pattern = _TEXT_PATTERNS[operator](*constants)
    return pattern


_TEXT_PATTERNS: Final[dict[Operator, Any]] = {
    Operator.LIKE: patterns.like,
    Operator.ILIKE: lambda pattern, escape="\\": patterns.like(lower(pattern), escape),
    Operator.STARTS: patterns.starting,
    Operator.ENDS: patterns.ending,
    Operator.CONTAINS: patterns.containing,
}


class Explanation:
    """Why a filter did or did not pass an event: its tree, with what each part said.

    `str()` of it is meant for people; `passed` is the result, `lines` the predicates one by one.
    """

    def __init__(self, node: Node, event: Mapping[str, Any], schema: Schema | None) -> None:
        self.passed = matches(node, event, schema)
        self.lines: list[str] = []
        self._describe(node, event, schema, 0)

    def __str__(self) -> str:
        head = "the event passes" if self.passed else "the event does not pass"
        return "\n".join([head, *self.lines])

    def _describe(
        self, node: Node, event: Mapping[str, Any], schema: Schema | None, depth: int
    ) -> None:
        indent = "  " * (depth + 1)
        if isinstance(node, Predicate):
            self.lines.append(indent + _sentence(node, event, schema))
        elif isinstance(node, Truth):
            self.lines.append(f"{indent}{_mark(node.value)} {node}: a constant")
        else:
            word = "all of" if isinstance(node, And) else "one of"
            self.lines.append(f"{indent}{_mark(matches(node, event, schema))} {word}")
            for part in node.parts:
                self._describe(part, event, schema, depth + 1)


def _mark(held: bool) -> str:
    return "✓" if held else "✗"


def _sentence(predicate: Predicate, event: Mapping[str, Any], schema: Schema | None) -> str:
    value = value_of(event, predicate.attribute, schema)
    said = verdict(predicate, value, schema)
    held = said in _HOLDS[predicate.mode]
    if held:
        outcome = "held"
    elif said is Verdict.UNKNOWN:
        outcome = "unknown"
    else:
        outcome = "failed"
    return f"{_mark(held)} {predicate}: {outcome}, {_reason(predicate, value, said)}"


def _reason(predicate: Predicate, value: Value, said: Verdict) -> str:
    name = predicate.attribute
    if value is None:
        return f"{name} is absent (NULL)"
    if value is OTHER:
        return f"the value of {name} is of a type no filter compares with"
    if said is Verdict.INCOMPARABLE:
        return f"{name} is {value!r}, a {family(value)}, and cannot be compared with the constant"
    if said is Verdict.UNKNOWN:
        return f"{name} is {value!r}, and a comparison with NULL is unknown"
    return f"{name} is {value!r}"
