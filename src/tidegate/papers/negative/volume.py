"""How many events of a finite grid does the negative space hold?

A grid has a list of values for each attribute, perhaps with None for "absent"; its events are all
combinations. The count is exact, however large: boxes are disjoint, so it is the sum, over boxes,
of the product of how many values lie between a box's ends in each dimension. Values that no event
has, where a schema is checked, do not count.
"""

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.errors import MeasureError
from tidegate.filters.lines import value_at
from tidegate.filters.meaning import universe
from tidegate.filters.schema import Schema
from tidegate.filters.values import normal
from tidegate.papers.negative.coordinates import Coordinates

Integers: TypeAlias = NDArray[np.int64]
Grid: TypeAlias = Mapping[str, Iterable[Any]]

MOST_VALUES: Final = 1_000_000
"""Values of an attribute's domain that are listed."""
_SMALL: Final = 2**62


def volume(boxes: Integers, coordinates: Coordinates, grid: Grid | None = None) -> int:
    """How many events of the grid are in one of the disjoint boxes.

    Without a grid, it has every value that the schema allows; `MeasureError` if these are endless.
    """
    schema = coordinates.schema
    values = {
        name: listed(name, schema, among)
        for name, among in (_domains(schema) if grid is None else grid).items()
    }
    unknown = next((name for name in coordinates.rulers if name not in values), None)
    if unknown is not None:
        raise MeasureError(f"the grid has no values for {unknown}, which a filter asks for")
    rest = prod(len(own) for name, own in values.items() if name not in coordinates.rulers)
    counts = np.ones((len(boxes), len(coordinates.rulers)), np.int64)
    for k, (name, ruler) in enumerate(coordinates.rulers.items()):
        places = np.sort(np.array([ruler.place(value) for value in values[name]], np.int64))
        low, high = (np.searchsorted(places, boxes[:, 2 * k + side]) for side in (0, 1))
        counts[:, k] = high - low
    if np.prod(counts.astype(np.float64), axis=1).sum() < _SMALL:
        return rest * int(counts.prod(axis=1).sum())
    return rest * sum(prod(row) for row in counts.tolist())


def listed(attribute: str, schema: Schema | None, among: Iterable[Any]) -> list[Any]:
    """The values of an attribute in a grid, without those that no event has."""
    every = universe(attribute, schema)
    if schema is None:
        return [plain for value in among if every.has(plain := normal(value))]
    own = schema[attribute]
    conforming = (own.type.conform(value) for value in among)
    return [plain for plain in conforming if every.has(plain, own.lines)]


def _domains(schema: Schema | None) -> dict[str, list[Any]]:
    """Every value of every attribute, where a schema says which there are."""
    if schema is None:
        raise MeasureError("without a schema there are endless values; give a grid of some")
    if not schema.checked:
        raise MeasureError("any value may come: events are not checked against the schema")
    found: dict[str, list[Any]] = {}
    for name in schema:
        every = schema.universe(name)
        line = schema[name].type.line
        values: list[Any] = [None] if every.absent else []
        for bounds in every.spans.values():
            if line is None:
                raise MeasureError(f"{name} has values that nobody knows; give a grid of some")
            values += [value_at(line, key) for key in _keys(name, bounds)]
        found[name] = values
    return found


def _keys(name: str, bounds: tuple[Any, ...]) -> Iterable[Any]:
    pairs = list(zip(bounds[::2], bounds[1::2], strict=True))
    if isinstance(bounds[0], str):
        if any(low + "\0" != high for low, high in pairs):
            raise MeasureError(f"{name} has endless values; give a grid of some")
        return [low for low, _ in pairs]
    if sum(high - low for low, high in pairs) > MOST_VALUES:
        raise MeasureError(f"{name} has more than {MOST_VALUES:,} values; give a grid of some")
    return [key for low, high in pairs for key in range(low, high)]
