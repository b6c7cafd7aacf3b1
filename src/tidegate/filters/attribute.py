"""What is known about one attribute: its type, whether it may be NULL, its domain."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tidegate.errors import SchemaError
from tidegate.filters import bounds as b
from tidegate.filters.lines import OTHER_LINE, Line, cut
from tidegate.filters.types import Type, read_type
from tidegate.filters.values import Constant, is_constant
from tidegate.filters.valueset import ValueSet, whole


@dataclass(frozen=True, slots=True)
class Attribute:
    """Type, nullability and domain of one attribute (`low` to `high`, or a set of `values`).

    >>> Attribute("bigint", nullable=False, low=0, high=1000).type.name
    'bigint'
    """

    type: Type
    nullable: bool = True
    domain: ValueSet | None = field(default=None, compare=True)

    def __init__(
        self,
        type: "str | Type",
        *,
        nullable: bool = True,
        low: Constant = None,
        high: Constant = None,
        values: Iterable[Constant] | None = None,
    ) -> None:
        own = type if isinstance(type, Type) else read_type(type)
        object.__setattr__(self, "type", own)
        object.__setattr__(self, "nullable", nullable)
        object.__setattr__(self, "domain", _domain(own, low, high, values))

    def as_nullable(self) -> "Attribute":
        """The same attribute where NULL may stand."""
        changed = Attribute(self.type)
        object.__setattr__(changed, "domain", self.domain)
        return changed

    @property
    def lines(self) -> tuple[Line, ...]:
        """Where the attribute's values lie, values that violate the schema included."""
        return (OTHER_LINE,) if self.type.line is None else (self.type.line, OTHER_LINE)

    def universe(self, checked: bool) -> ValueSet:
        """Every value the attribute can have; `checked` tells that events obey the schema."""
        if not checked or self.type.line is None:
            return whole(self.lines, absent=self.nullable or not checked)
        if self.domain is not None:
            return ValueSet(self.nullable, self.domain.spans)
        return whole((self.type.line,), absent=self.nullable)


def _domain(
    own: Type, low: Constant, high: Constant, values: Iterable[Constant] | None
) -> ValueSet | None:
    if low is None and high is None and values is None:
        return None
    if own.line is None:
        raise SchemaError(f"an attribute of type {own.name} has no domain")
    line = own.line
    if values is not None and not (low is None and high is None):
        raise SchemaError("a domain is given by low and high, or by values, not by both")
    if values is not None:
        points: b.Bounds = ()
        for value in values:
            points = b.join(points, cut(line, _member(own, value)))
        if not points:
            raise SchemaError("a domain of no values is empty; leave it out")
        return ValueSet(False, {line.name: points})
    first = line.low if low is None else cut(line, _member(own, low))[0]
    after = line.high if high is None else cut(line, _member(own, high))[1]
    if first >= after:
        raise SchemaError(f"the domain from {low!r} to {high!r} is empty")
    return ValueSet(False, {line.name: (first, after)})


def _member(own: Type, value: Constant) -> Constant:
    plain = own.conform(value)
    if plain is None or not is_constant(plain):
        raise SchemaError(f"{value!r} is no value of type {own.name}")
    return plain
