"""Which values of its attribute make a predicate hold?

The answer is a `ValueSet`, exact for the attribute's type. A predicate splits the values it can
compare with into *true*, *false* and *unknown*; its mode picks from these. What it cannot compare
with is in none of them.

Invariant: for every value, `allowed(p).has(value)` is `evaluate.holds(p, value)`.
"""

from typing import Final, NamedTuple

from tidegate.filters import bounds as b
from tidegate.filters.compare import list_constants, shared_scale
from tidegate.filters.evaluate import pattern_of
from tidegate.filters.expression import ORDERINGS, TEXT_OPERATORS, Mode, Operator, Predicate
from tidegate.filters.lines import ALL_LINES, FAMILY_LINES, Line, cut
from tidegate.filters.patterns import Pattern
from tidegate.filters.schema import Attribute, Schema
from tidegate.filters.values import Constant, family
from tidegate.filters.valueset import NOTHING, Text, ValueSet, prefix_bounds, whole

ABSENT: Final = ValueSet(True, {})
ANYTHING: Final = whole(ALL_LINES, absent=True)
PRESENT: Final = whole(ALL_LINES, absent=False)


class Sides(NamedTuple):
    """Where a predicate is true, false and unknown."""

    true: ValueSet
    false: ValueSet
    unknown: ValueSet


def universe(attribute: str, schema: Schema | None) -> ValueSet:
    """Every value the attribute can have."""
    return ANYTHING if schema is None else schema[attribute].universe(schema.checked)


def allowed(predicate: Predicate, schema: Schema | None) -> ValueSet:
    """The values for which the predicate holds in its mode."""
    own = None if schema is None else schema[predicate.attribute]
    sides = _sides(predicate, own)
    match predicate.mode:
        case Mode.TRUE:
            held = sides.true
        case Mode.FALSE:
            held = sides.false
        case Mode.NOT_TRUE:
            held = _with(sides.false, sides.unknown)
        case Mode.NOT_FALSE:
            held = _with(sides.true, sides.unknown)
    if schema is not None and schema.checked:
        held = held & universe(predicate.attribute, schema)
    return held


def _with(held: ValueSet, unknown: ValueSet) -> ValueSet:
    union = held.union(unknown)
    assert union is not None, "what is unknown has no texts"
    return union


def _sides(predicate: Predicate, own: Attribute | None) -> Sides:
    operator = predicate.operator
    constants: tuple[Constant, ...] = predicate.constants  # type: ignore[assignment]
    anything = ANYTHING if own is None else whole(own.lines, absent=True)
    present = PRESENT if own is None else whole(own.lines, absent=False)
    if operator is Operator.NULL or (operator is Operator.SAME and constants[0] is None):
        return Sides(ABSENT, present, NOTHING)
    if operator is Operator.IN:
        return _listed(constants, own, anything)
    if constants[0] is None:
        return Sides(NOTHING, NOTHING, anything)
    if operator in TEXT_OPERATORS:
        return _text_sides(pattern_of(predicate))
    true: dict[str, b.Bounds] = {}
    false: dict[str, b.Bounds] = {}
    for line in _lines(constants[0], own):
        scale = None
        if operator not in ORDERINGS or (own is not None and line.name == "decimal"):
            scale = shared_scale(_width(line, own), constants, listed=False)
        first, after = cut(line, constants[0], scale)
        true[line.name] = _part(operator, line, first, after)
        false[line.name] = b.complement(true[line.name], line.full)
    if operator is Operator.SAME:
        return Sides(ValueSet(False, true), ValueSet(True, false), NOTHING)
    return Sides(ValueSet(False, true), ValueSet(False, false), ABSENT)


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


def _listed(constants: tuple[Constant, ...], own: Attribute | None, anything: ValueSet) -> Sides:
    listed = list_constants(constants)
    if not listed:
        return Sides(NOTHING, NOTHING, anything)
    true: dict[str, b.Bounds] = {}
    rest: dict[str, b.Bounds] = {}
    for line in _lines(listed[0], own):
        scale = shared_scale(_width(line, own), constants, listed=True)
        cuts = sorted({_span(*cut(line, constant, scale)) for constant in listed} - {()})
        true[line.name] = _joined(cuts)
        rest[line.name] = b.complement(true[line.name], line.full)
    if None in constants:
        return Sides(ValueSet(False, true), NOTHING, ValueSet(True, rest))
    return Sides(ValueSet(False, true), ValueSet(False, rest), ABSENT)


def _joined(spans: list[b.Bounds]) -> b.Bounds:
    """The union of sorted spans."""
    out: list[b.Bounds] = []
    for low, high in spans:
        if out and low <= out[-1]:
            out[-1] = max(out[-1], high)
        else:
            out += (low, high)
    return tuple(out)


def _text_sides(pattern: Pattern) -> Sides:
    full = ("", *FAMILY_LINES["string"][0].full[1:])
    exact: b.Bounds | None = None
    if pattern.literal is not None:
        exact = (pattern.literal, pattern.literal + "\0")
    elif pattern.is_prefix:
        exact = prefix_bounds(pattern.prefix)
    if exact is not None:
        others = b.complement(exact, full)
        return Sides(
            ValueSet(False, {"string": exact}), ValueSet(False, {"string": others}), ABSENT
        )
    return Sides(
        ValueSet(False, {"string": full}, (Text(pattern, False),)),
        ValueSet(False, {"string": full}, (Text(pattern, True),)),
        ABSENT,
    )


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
