"""How do two filters relate?

F **covers** G if every event that matches G matches F; F **overlaps** G if some event matches
both; G is **subsumed** by a set of filters if their union covers it. The questions are exact for
Boolean combinations of equality, ranges, IN, prefixes and IS NULL within the normal form's bound.
What cannot be decided (conditions on text, normal forms beyond the bound, budgets used up) gets the
answer that forwards more: `covers` and `subsumed` say no, `overlaps` says yes.
"""

from collections.abc import Iterable
from enum import Enum

from tidegate.algebra.normal import Box, boxes
from tidegate.algebra.subtract import DEFAULT_BUDGET, Budget, Universe, inside
from tidegate.algebra.union import Union
from tidegate.errors import SchemaError
from tidegate.filters import meaning
from tidegate.filters.expression import attribute_name, attribute_path
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema


class Relation(Enum):
    """How one filter relates to another."""

    EQUAL = "equal"
    COVERS = "covers"
    COVERED = "covered"
    OVERLAPS = "overlaps"
    DISJOINT = "disjoint"
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        return self.value


def covers(f: Filter, g: Filter) -> bool:
    """Whether every event that matches g is certain to match f.

    >>> from tidegate import parse
    >>> covers(parse("price < 10"), parse("price < 5 AND symbol = 'IBM'"))
    True
    """
    if f.normal_form and g.normal_form and f.schema is g.schema:  # the commonest, without a call
        outer, inner = f.normal_form[0], g.normal_form[0]
        if outer and inner and len(outer) == len(inner) == 1 and inner[0].within(outer[0]):
            return True
    return contains(f, g) is True


def overlaps(f: Filter, g: Filter) -> bool:
    """Whether some event may match both.

    >>> from tidegate import parse
    >>> overlaps(parse("price < 10"), parse("price > 10"))
    False
    """
    return intersects(f, g) is not False


def subsumed(g: Filter, filters: Iterable[Filter] | Union, budget: Budget = DEFAULT_BUDGET) -> bool:
    """Whether every event that matches g is certain to match one of the filters.

    For many questions about one set of filters, give a `Union` of them; it has its own budget.

    >>> from tidegate import parse
    >>> subsumed(parse("x BETWEEN 1 AND 9"), [parse("x < 5"), parse("x >= 5")])
    True
    """
    if isinstance(filters, Union):
        return filters.subsumes(g)
    union: list[Box] = []
    schema = g.schema
    own = boxes(g)
    repeated = False
    for f in filters:
        schema = shared_schema(f, g)
        union += boxes(f) or ()
        repeated = repeated or (own is None and f == g)
    if own is None:
        return repeated
    every = universe_of(schema)
    return all(inside(box, union, every, budget) is True for box in own)


def relate(f: Filter, g: Filter) -> Relation:
    """How f relates to g; `UNKNOWN` if that cannot be decided.

    >>> from tidegate import parse
    >>> relate(parse("price < 10"), parse("price BETWEEN 5 AND 15"))
    <Relation.OVERLAPS: 'overlaps'>
    """
    forth, back = contains(f, g), contains(g, f)
    if forth and back:
        return Relation.EQUAL
    if forth and back is False:
        return Relation.COVERS
    if back and forth is False:
        return Relation.COVERED
    if forth or back:
        return Relation.UNKNOWN  # one covers the other, and they may be equal
    shared = intersects(f, g)
    if shared is False:
        return Relation.DISJOINT
    if shared and forth is False and back is False:
        return Relation.OVERLAPS
    return Relation.UNKNOWN


def contains(f: Filter, g: Filter) -> bool | None:
    """Whether f covers g: True, False, or None for "not known"."""
    schema = shared_schema(f, g)
    outer, inner = boxes(f), boxes(g)
    if outer is None or inner is None:
        return True if f == g else None
    at_once = inner[0].within(outer[0]) if len(outer) == len(inner) == 1 else None
    if at_once:
        return True
    no = None if (f.nested or g.nested) and entangled(f, g) else False
    if at_once is False:
        return no
    sure = True
    every = universe_of(schema)
    for box in inner:
        answer = inside(box, outer, every)
        if answer is False:
            return no
        sure = sure and answer is True
    return True if sure else None


def intersects(f: Filter, g: Filter) -> bool | None:
    """Whether f overlaps g: True, False, or None for "not known"."""
    shared_schema(f, g)
    one, other = boxes(f), boxes(g)
    if one is None or other is None:
        return False if one == () or other == () else None
    sure = True
    for box in one:
        for each in other:
            shared = box.meets(each)
            if shared:
                return None if entangled(f, g) else True
            sure = sure and shared is False
    return False if sure else None


def entangled(f: Filter, g: Filter) -> bool:
    """Whether one attribute lies inside another, as a.b in a.

    Boxes treat attributes as independent, and these are not: a.b is absent wherever a is. What
    boxes find to be covered or disjoint is so; what they do not find may still be.
    """
    names = f.attributes | g.attributes
    return any(
        attribute_name(path[:i]) in names
        for path in (attribute_path(name) for name in names if "." in name)
        for i in range(1, len(path))
    )


def shared_schema(f: Filter, g: Filter) -> Schema | None:
    """The schema of both filters; filters read under different ones cannot be related."""
    if f.schema is not g.schema and f.schema != g.schema:
        raise SchemaError(
            "the filters were read under different schemas; read both under the same one"
        )
    return f.schema


def universe_of(schema: Schema | None) -> Universe:
    """Every value each attribute can have."""
    return lambda attribute: meaning.universe(attribute, schema)
