"""Which constants fit a predicate?

Without a schema, a constant only has to make sense by itself: text for LIKE, one family in an IN
list. With one, it must suit the attribute's type; a string against a number, boolean, date or
timestamp is cast here, once, as Spark casts it for every row.
"""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from tidegate.errors import FilterTypeError
from tidegate.filters.attribute import Attribute
from tidegate.filters.compare import suffix_matters
from tidegate.filters.evaluate import pattern_of
from tidegate.filters.expression import (
    ORDERINGS,
    PATTERNS,
    TEXT_OPERATORS,
    Operator,
    Predicate,
)
from tidegate.filters.literals import (
    spell,
    to_bigint,
    to_boolean,
    to_date,
    to_double,
    to_timestamp,
    to_timestamp_ntz,
)
from tidegate.filters.patterns import PatternError
from tidegate.filters.schema import Schema
from tidegate.filters.types import Type
from tidegate.filters.values import BIGINT_MAX, BIGINT_MIN, Constant, family

_CASTS: Final[dict[str, Callable[[str], Constant]]] = {
    "bigint": to_bigint,
    "double": to_double,
    "float": to_double,
    "decimal": to_double,
    "boolean": to_boolean,
    "date": to_date,
    "timestamp": to_timestamp,
    "timestamp_ntz": to_timestamp_ntz,
}


def admit(predicate: Predicate, schema: Schema | None) -> tuple[Constant, ...]:
    """The predicate's constants as they take part in it, or a `FilterTypeError`."""
    constants: tuple[Constant, ...] = predicate.constants  # type: ignore[assignment]
    own = None if schema is None else _usable(schema, predicate)
    if own is None and predicate.attribute[-1:] == ")":
        _check_derived(predicate, constants)
    if predicate.operator in TEXT_OPERATORS:
        _check_text(predicate, constants, own)
    elif own is not None and predicate.operator is not Operator.NULL:
        constants = tuple(_suit(predicate, constant, own.type) for constant in constants)
    if predicate.operator is Operator.IN:
        _check_list(predicate, predicate.constants, constants)  # type: ignore[arg-type]
    return constants


def always_fits(operator: Operator, kinds: set[type], schema: Schema | None) -> bool:
    """Whether constants of these kinds need no look at their values once one set was admitted."""
    if operator in TEXT_OPERATORS:
        return operator not in PATTERNS
    return schema is None or not kinds & {str, Decimal}


def check_suffixes(predicate: Predicate, suffixes: list[str], schema: Schema | None) -> None:
    """Refuse integers with suffixes (`5L`) where Spark rounds differently because of them."""
    constants: tuple[Constant, ...] = predicate.constants  # type: ignore[assignment]
    own = None if schema is None else schema[predicate.attribute].type.decimal
    if suffix_matters(own, constants, suffixes, listed=predicate.operator is Operator.IN):
        raise FilterTypeError(
            f"beside {predicate.attribute}, the suffix of an integer changes how Spark rounds",
            instead="the integer without its suffix",
        )


def _usable(schema: Schema, predicate: Predicate) -> Attribute:
    own = schema[predicate.attribute]
    if own.type.refusal is not None:
        raise FilterTypeError(
            f"{predicate.attribute} is of type {own.type.name}: {own.type.refusal}",
            instead="a condition on another attribute",
        )
    if own.type.family == "struct" and predicate.operator is not Operator.NULL:
        raise FilterTypeError(
            f"{predicate.attribute} is a struct and can only be tested with IS [NOT] NULL",
            instead=f"one of its fields, as in {predicate.attribute}.field",
        )
    return own


def _check_derived(predicate: Predicate, constants: tuple[Constant, ...]) -> None:
    """The lower or upper case of an attribute is a string."""
    for constant in constants:
        if constant is not None and not isinstance(constant, str):
            raise FilterTypeError(
                f"{predicate.attribute} is a string and cannot be compared with "
                f"{spell(constant)}, a {family(constant)}",
                instead=f"the text in quotes, as in '{constant}'",
            )


def _check_text(
    predicate: Predicate, constants: tuple[Constant, ...], own: Attribute | None
) -> None:
    name = predicate.operator.value
    if own is not None and own.type.family != "string":
        raise FilterTypeError(
            f"{name} is for strings, and {predicate.attribute} is a {own.type.name}",
            instead="a comparison, such as = or <",
        )
    for constant in constants:
        if constant is not None and not isinstance(constant, str):
            raise FilterTypeError(
                f"{name} takes a string, not {spell(constant)}",
                instead=f"the text in quotes, as in '{constant}'",
            )
    if predicate.operator in PATTERNS and isinstance(constants[0], str):
        try:
            pattern_of(Predicate(predicate.attribute, predicate.operator, constants))
        except PatternError as error:
            sign = spell(constants[1])[1:-1]
            raise FilterTypeError(
                str(error),
                instead=f"{sign}% for a percent sign, {sign}{sign} for the escape itself",
            ) from None


def _suit(predicate: Predicate, constant: Constant, own: Type) -> Constant:
    """The constant cast to suit an attribute of that type."""
    assert own.line is not None
    if constant is None:
        return None
    if isinstance(constant, str) and own.family != "string":
        try:
            return (_CASTS.get(own.name) or _CASTS[own.line.name])(constant)
        except ValueError as error:
            raise FilterTypeError(f"{predicate.attribute} is a {own.name}: {error}") from None
    kind = family(constant)
    moments = {"date", "timestamp"}
    if kind != own.family and not {kind, own.family} <= moments:
        raise FilterTypeError(
            f"{predicate.attribute} is a {own.name} and cannot be compared with "
            f"{spell(constant)}, a {kind}",
            instead=_instead(predicate, constant, own),
        )
    if (
        isinstance(constant, Decimal)
        and own.line.name == "bigint"
        and predicate.operator in ORDERINGS
        and not BIGINT_MIN <= constant <= BIGINT_MAX
    ):
        raise FilterTypeError(
            f"{spell(constant)} lies beyond every {own.name}, so the comparison says nothing",
            instead=f"{predicate.attribute} IS NOT NULL, or FALSE",
        )
    return constant


def _instead(predicate: Predicate, constant: Constant, own: Type) -> str:
    if own.family == "string":
        text = constant.isoformat() if isinstance(constant, dt.date) else str(constant)
        said = f"({spell(text)})" if predicate.operator is Operator.IN else spell(text)
        return f"{predicate.attribute} {predicate.operator.value} {said}"
    examples: dict[str, Any] = {
        "number": "a number, such as 5",
        "boolean": "TRUE or FALSE",
        "date": "a date, such as DATE '2024-01-31'",
        "timestamp": "a timestamp, such as TIMESTAMP '2024-01-31 12:00:00'",
    }
    return str(examples[own.family])


def _check_list(
    predicate: Predicate, written: tuple[Constant, ...], constants: tuple[Constant, ...]
) -> None:
    """One family per list: Spark would cast some of the members, or fail on a value."""
    kinds = {family(constant) for constant in constants if constant is not None}
    texts = {isinstance(constant, str) for constant in written if constant is not None}
    if kinds <= {"date", "timestamp"} and len(texts) <= 1:
        return
    if len(kinds) > 1 or len(texts) > 1:
        raise FilterTypeError(
            f"the list after {predicate.attribute} IN mixes constants of different types",
            instead="constants of one type, or two IN lists joined by OR",
        )
