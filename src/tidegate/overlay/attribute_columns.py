"""Many filters of one shape at once, from their constants.

A broker that comes back has as many filters to read as it had. Those of one shape differ in their
constants, so these are read as columns: each that is there is decoded once, however many filters
have it, and looked at only where it hangs on its value whether it fits. All of them share one
template, and the tree of a filter is made when somebody asks for it. Where the shape can be said
with parameters, it is known, too, what they stand for: so the filters can go into the engine, and
over a link, as columns again.

Where many are asked for by one text, with columns of values for its parameters, these are bound in
the same way.

Invariant: each filter is what `Attributes.reshaped` makes of its constants, or `Attributes.parse`
of its values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, count, repeat
from typing import Any

from tidegate.errors import FilterError
from tidegate.filters import filter as language
from tidegate.filters.admission import admit, always_fits
from tidegate.filters.expression import (
    Node,
    Operand,
    Parameter,
    Predicate,
    Slot,
    map_predicates,
    predicates,
)
from tidegate.filters.literals import decode
from tidegate.filters.notation import reread
from tidegate.filters.schema import Schema
from tidegate.filters.template import Template
from tidegate.filters.values import Constant
from tidegate.overlay.attribute_batches import Origin
from tidegate.overlay.attribute_filter import AttributeFilter, shape_of
from tidegate.overlay.filter import Plain

_Constants = tuple[Constant, ...]


def reshaped_many(f: AttributeFilter, values: Sequence[Plain]) -> list[AttributeFilter]:
    """The filters of the same shape with each of these constants."""
    tree, schema = f.filter.tree, f.filter.schema
    own = list(predicates(tree))
    size = sum(len(predicate.constants) for predicate in own)
    if not all(isinstance(each, list) and len(each) == size for each in values):
        raise FilterError(f"{f} has {size} constants: lists of as many are needed")
    if not size or not values:
        return [f] * len(values)
    columns = list(zip(*values, strict=True))
    try:
        read = list(_read(own, columns, schema))
    except (ValueError, TypeError, KeyError) as error:
        raise FilterError(f"this is no filter: {error}") from None
    rows = [list(chain.from_iterable(row)) for row in zip(*read, strict=True)]
    template = Template(_refilled(tree, Slot), (), (), size, attributes=f.filter.attributes)
    origins = _origins(tree, own, rows, schema)
    shape = f.shape
    return [
        AttributeFilter(language.Filter(template, row, schema), shape, said, origin)
        for row, said, origin in zip(rows, values, origins, strict=False)
    ]


def bound_many(
    f: language.Filter, columns: Mapping[str, Sequence[Constant]]
) -> list[AttributeFilter]:
    """A filter with a row of values for its parameters, all of them, row by row."""
    tree, schema = f.tree, f.schema
    own = list(predicates(tree))
    bound = [_bound(predicate, columns, schema) for predicate in own]
    rows = [list(chain.from_iterable(row)) for row in zip(*bound, strict=False)]
    size = sum(len(predicate.constants) for predicate in own)
    template = Template(_refilled(tree, Slot), (), (), size, attributes=f.attributes)
    shape = shape_of(tree)
    given = zip(*columns.values(), strict=True)
    return [
        AttributeFilter(
            language.Filter(template, row, schema),
            shape,
            origin=(f, dict(zip(columns, values, strict=True))),
        )
        for row, values in zip(rows, given, strict=True)
    ]


def _bound(
    predicate: Predicate, columns: Mapping[str, Sequence[Constant]], schema: Schema | None
) -> Iterator[_Constants]:
    """The constants of a predicate, row by row; without end, if none is a parameter."""
    operands: list[Any] = [
        columns[each.name] if isinstance(each, Parameter) else repeat(each)
        for each in predicate.constants
    ]
    if not predicate.is_open:
        return repeat(predicate.constants)  # type: ignore[arg-type]  # they are no parameters
    return _fitting(predicate, zip(*operands, strict=False), schema)


def _fitting(
    predicate: Predicate, rows: Iterator[_Constants], schema: Schema | None
) -> Iterator[_Constants]:
    """Rows of constants as they take part in a predicate; each kind of row is looked at once."""
    attribute, operator, mode = predicate.attribute, predicate.operator, predicate.mode
    fitting: set[tuple[type, ...]] = set()
    for constants in rows:
        kinds = tuple(map(type, constants))
        if kinds in fitting:
            yield constants
            continue
        yield admit(Predicate(attribute, operator, constants, mode), schema)
        if always_fits(operator, set(kinds), schema):
            fitting.add(kinds)


def _read(
    own: list[Predicate], columns: list[tuple[str, ...]], schema: Schema | None
) -> Iterator[list[_Constants]]:
    """The constants of each predicate, filter by filter."""
    start = 0
    for predicate in own:
        stop = start + len(predicate.constants)
        if stop > start:
            yield _admitted(predicate, list(zip(*columns[start:stop], strict=True)), schema)
        start = stop


def _admitted(
    predicate: Predicate, column: list[tuple[str, ...]], schema: Schema | None
) -> list[_Constants]:
    """A column of constants of a predicate, which may have several at a time."""
    read: dict[tuple[str, ...], _Constants] = {}
    fitting: set[tuple[type, ...]] = set()
    for words in dict.fromkeys(column):
        constants = tuple([decode(word) for word in words])
        kinds = tuple(map(type, constants))
        if kinds not in fitting:
            constants = reread(predicate, list(words), schema).constants  # type: ignore[assignment]
            if always_fits(predicate.operator, set(kinds), schema):
                fitting.add(kinds)
        read[words] = constants
    return [read[words] for words in column]


def _refilled(tree: Node, operand: Callable[[int], Operand]) -> Node:
    """The tree with something else for each constant, by its number."""
    numbers = count()

    def change(predicate: Predicate) -> Predicate:
        operands = tuple([operand(next(numbers)) for _ in predicate.constants])
        return Predicate(predicate.attribute, predicate.operator, operands, predicate.mode)

    return map_predicates(tree, change)


def _origins(
    tree: Node, own: list[Predicate], rows: list[list[Any]], schema: Schema | None
) -> Iterator[Origin | None]:
    """A filter with parameters for the constants, with the values of each row, if there is one.

    It is known by its text, so the text has to say the same.
    """
    names = [f"p{number}" for number in range(len(rows[0]))]
    said = _refilled(tree, lambda number: Parameter(names[number]))
    if any(len(predicate.constants) > 1 for predicate in own):
        return repeat(None)
    try:
        f = language.parse(str(language.Filter.of(said, schema)), schema)
    except FilterError:
        return repeat(None)
    if f.tree != said:
        return repeat(None)
    return ((f, dict(zip(names, row, strict=True))) for row in rows)
