"""How are counted values spread between those that were counted one by one?

A `Histogram` of weights, made of counts and a sample: NULL, other types and heavy values weigh what
was counted; what a heavy value's count may have missed is told by how many of the sample are heavy.
What is left of a line is shared out by those values of the sample that are not heavy:
over ranges that have about equally many of them each, or, for texts, which have no ranges, over
these texts themselves.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import isfinite
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tidegate.algebra.distribution import CONTINUOUS
from tidegate.algebra.histogram import Entry, Range
from tidegate.engine.events.batch import Batch, Column
from tidegate.filters.lines import Line, days, microseconds, value_at
from tidegate.filters.schema import Schema
from tidegate.filters.values import OTHER, Value
from tidegate.pipeline.statistics.value_counts import AttributeCounts, LineCounts

RANGES: Final = 64
"""Into which the values that are not heavy are put."""

_SURE: Final = 8  # times the error of its count, a number counts as heavy
_TEXTS: Final = 2_000  # of a sample, that stand for all that are not heavy
_ENDS: Final = {
    "date": (days(dt.date.min), days(dt.date.max)),
    "timestamp": (microseconds(dt.datetime.min), microseconds(dt.datetime.max)),
}


def entries(
    attributes: Mapping[str, AttributeCounts], sample: pa.Table, schema: Schema | None
) -> dict[str, list[Entry]]:
    """The weights of each attribute's values, as a histogram for filters of a schema takes them."""
    read_as = Schema(sample.schema) if sample.num_columns else Schema({})
    batch = Batch(sample, read_as)
    found = {}
    for name, own in attributes.items():
        column = batch.column(name) if name in read_as else None
        listed: list[Entry] = [(None, own.absent), (OTHER, own.other)]
        for counts in own.lines.values():
            listed += _line(counts, _sampled(column, counts))
        found[name] = [_placed(each, name, schema) for each in listed]
    return found


def _placed(entry: Entry, attribute: str, schema: Schema | None) -> Entry:
    """The entry, or `OTHER` in the place of a value that does not have the attribute's type."""
    value, weight = entry
    if schema is None:
        return entry
    ends = (value.low, value.high) if isinstance(value, Range) else (value,)
    misfit = any(schema[attribute].type.conform(each) is OTHER for each in ends)
    return (OTHER, weight) if misfit else entry


def _line(counts: LineCounts, sampled: list[Any]) -> Iterator[Entry]:
    """The weights of what lies on one line."""
    line = counts.on_line()
    heavy = dict(counts.heaviest(1 if line.name == "string" else _SURE))
    light = sorted(key for key in sampled if key not in heavy)
    if not light and counts.error:  # they are few, or the column is not in the sample
        light = sorted({*counts.counts, counts.low, counts.high}.difference(heavy))
    missed = _missed(counts, sum(heavy.values()), len(heavy), len(light), len(sampled))
    yield from ((value_of(line, key), count + missed) for key, count in heavy.items())
    rest = counts.total - sum(heavy.values()) - missed * len(heavy)
    if not light or rest <= 0:
        return
    if line.name == "string":
        light = light[:: -(-len(light) // _TEXTS)]
        yield from ((text, rest / len(light)) for text in light)
        return
    alone = [key for key in light if not _is_finite(line, key)]
    yield from ((value_of(line, key), rest / len(light)) for key in alone)
    inside = [key for key in light if _is_finite(line, key)]
    if inside:
        yield from _ranges(counts, line, inside, rest * len(inside) / len(light))


def _missed(counts: LineCounts, known: int, heavy: int, light: int, sampled: int) -> float:
    """What to add to the count of each heavy value, by how many of the sample are not heavy."""
    if not heavy or not sampled:
        return 0.0
    seen = counts.total * (1 - light / sampled)
    return min(max((seen - known) / heavy, 0.0), float(counts.error))


def _ranges(counts: LineCounts, line: Line, keys: list[Any], weight: float) -> Iterator[Entry]:
    """Ranges from the least to the greatest value, with about equally many of the keys each."""
    low = counts.low if _is_finite(line, counts.low) else keys[0]
    high = counts.high if _is_finite(line, counts.high) else keys[-1]
    starts = [keys[i * len(keys) // RANGES] for i in range(1, RANGES)]
    edges = [low, *sorted({start for start in starts if start > low}), high + 1]
    numbers = np.searchsorted(_array(keys), _array(edges)).tolist()
    for (first, after), (start, stop) in zip(pairwise(edges), pairwise(numbers), strict=True):
        if stop > start:
            span = Range(value_of(line, first), value_of(line, after - 1))  # type: ignore[arg-type]
            yield span, weight * (stop - start) / len(keys)


def _array(keys: list[Any]) -> "np.ndarray[Any, Any]":
    try:
        return np.array(keys, np.int64)
    except OverflowError:
        return np.array(keys, object)


def _is_finite(line: Line, key: Any) -> bool:
    return line.name not in CONTINUOUS or isfinite(value_at(line, key))  # type: ignore[arg-type]


def value_of(line: Line, key: Any) -> Value:
    """The value of a key; of a date or timestamp that Python does not have, the nearest."""
    low, high = _ENDS.get(line.name, (key, key))
    return value_at(line, min(max(key, low), high))


def _sampled(column: Column | None, counts: LineCounts) -> list[Any]:
    """The keys of the sample on a line, with repetitions."""
    if column is None:
        return []
    for stretch in column.stretches:
        if (stretch.line.name, stretch.line.scale) == (counts.line, counts.scale):
            if stretch.line.name == "string":
                return [stretch.texts[place] for place in stretch.keys.tolist()]
            return stretch.keys.tolist()  # type: ignore[no-any-return]
    return []
