"""Which values of its attribute make a predicate hold?

The answer is a `ValueSet`, exact for the attribute's type. A predicate splits the values it can
compare with into *true*, *false* and *unknown*; its mode picks from these. What it cannot compare
with is in none of them.

Invariant: for every value, `allowed(p).has(value)` is `evaluate.holds(p, value)`.
"""

from collections.abc import Sequence
from typing import Final

from tidegate.filters import bounds as b
from tidegate.filters.attribute import Attribute
from tidegate.filters.compare import list_constants, shared_scale
from tidegate.filters.evaluate import pattern_of
from tidegate.filters.expression import ORDERINGS, TEXT_OPERATORS, Mode, Operator, Predicate
from tidegate.filters.lines import ALL_LINES, FAMILY_LINES, STRING, Line, cut
from tidegate.filters.patterns import Pattern
from tidegate.filters.schema import Schema
from tidegate.filters.values import Constant, family
from tidegate.filters.valueset import NOTHING, Text, ValueSet, prefix_bounds, whole

ABSENT: Final = ValueSet(True, {})
ANYTHING: Final = whole(ALL_LINES, absent=True)
PRESENT: Final = whole(ALL_LINES, absent=False)


def universe(attribute: str, schema: Schema | None) -> ValueSet:
    """Every value the attribute can have."""
    return ANYTHING if schema is None else schema.universe(attribute)


def allowed(predicate: Predicate, schema: Schema | None) -> ValueSet:
    """The values for which the predicate holds in its mode."""
    own = None if schema is None else schema[predicate.attribute]
    mode = predicate.mode
    held = _side(predicate, own, mode.is_positive)
    if mode is Mode.NOT_TRUE or mode is Mode.NOT_FALSE:
        union = held.union(_unknown(predicate, own))
        assert union is not None, "what is unknown has no texts"
        held = union
    if schema is not None and schema.checked:
        held = held & schema.universe(predicate.attribute)
    return held


def _side(predicate: Predicate, own: Attribute | None, wanted: bool) -> ValueSet:
    """Where the predicate is true, or where it is false."""
    operator = predicate.operator
    constants: tuple[Constant, ...] = predicate.constants  # type: ignore[assignment]
    if operator is Operator.NULL or (operator is Operator.SAME and constants[0] is None):
        return ABSENT if wanted else _present(own)
    if operator is Operator.IN:
        return _listed(constants, own) if wanted else _unlisted(constants, own)
    if constants[0] is None:
        return NOTHING
    if operator in TEXT_OPERATORS:
        return _matching(pattern_of(predicate), wanted)
    spans: dict[str, b.Bounds] = {}
    for line in _lines(constants[0], own):
        scale = None
        if operator not in ORDERINGS or (own is not None and line.name == "decimal"):
            scale = shared_scale(_width(line, own), constants, listed=False)
        part = _part(operator, line, *cut(line, constants[0], scale))
        spans[line.name] = part if wanted else b.complement(part, line.full)
    return ValueSet(operator is Operator.SAME and not wanted, spans)


def _unknown(predicate: Predicate, own: Attribute | None) -> ValueSet:
    """Where the predicate is unknown."""
    operator = predicate.operator
    constants: tuple[Constant, ...] = predicate.constants  # type: ignore[assignment]
    if operator is Operator.NULL or operator is Operator.SAME:
        return NOTHING
    if operator is Operator.IN:
        listed = list_constants(constants)
        if listed and None in constants:
            return ValueSet(True, _unlisted(listed, own).spans)
        known = bool(listed)
    else:
        known = constants[0] is not None
    if known:
        return ABSENT
    return ANYTHING if own is None else whole(own.lines, absent=True)


def _present(own: Attribute | None) -> ValueSet:
    return PRESENT if own is None else whole(own.lines, absent=False)


def _part(operator: Operator, line: Line, first: b.Bounds, after: b.Bounds) -> b.Bounds:
    low, high = line.full
    match operator:
        case Operator.EQUAL | Operator.SAME:
            return _span(first, after)
        case Operator.LESS:
            return _span(low, first)
        case Operator.AT_MOST:
            return _span(low, after)
        case Operator.GREATER:
            return _span(after, high)
        case _:
            return _span(first, high)


def _span(low: b.Bounds, high: b.Bounds) -> b.Bounds:
    return (low, high) if low < high else ()


def _listed(constants: Sequence[Constant], own: Attribute | None) -> ValueSet:
    """The values that are in an IN list."""
    listed = list_constants(constants)
    spans: dict[str, b.Bounds] = {}
    for line in _lines(listed[0], own) if listed else ():
        scale = shared_scale(_width(line, own), constants, listed=True)
        spans[line.name] = _joined(
            sorted({_span(*cut(line, constant, scale)) for constant in listed} - {()})
        )
    return ValueSet(False, spans)


def _unlisted(constants: Sequence[Constant], own: Attribute | None) -> ValueSet:
    """The values that are surely not in an IN list: none if there is a NULL in it."""
    if None in constants:
        return NOTHING
    inside = _listed(constants, own).spans
    return ValueSet(
        False,
        {
            line.name: b.complement(inside.get(line.name, ()), line.full)
            for line in _lines(list_constants(constants)[0], own)
        },
    )


def _joined(spans: list[b.Bounds]) -> b.Bounds:
    """The union of sorted spans."""
    out: list[b.Bounds] = []
    for low, high in spans:
        if out and low <= out[-1]:
            out[-1] = max(out[-1], high)
        else:
            out += (low, high)
    return tuple(out)


def _matching(pattern: Pattern, wanted: bool) -> ValueSet:
    """The strings that match a pattern, or those that do not."""
    exact: b.Bounds | None = None
    if pattern.literal is not None:
        exact = (pattern.literal, pattern.literal + "\0")
    elif pattern.is_prefix:
        exact = prefix_bounds(pattern.prefix)
    if exact is None:
        return ValueSet(False, {"string": STRING.full}, (Text(pattern, not wanted),))
    return ValueSet(False, {"string": exact if wanted else b.complement(exact, STRING.full)})


def _lines(constant: Constant, own: Attribute | None) -> tuple[Line, ...]:
    """The lines on which the constant can be compared."""
    if own is None:
        return FAMILY_LINES[family(constant)]
    assert own.type.line is not None
    return (own.type.line,)


def _width(line: Line, own: Attribute | None) -> tuple[int, int] | None:
    """The line's type as a decimal, where Spark would compare its values as such."""
    if own is not None:
        return own.type.decimal
    return (20, 0) if line.name == "bigint" else None
