"""On which lines do the events lie that ranges are compared with?

The ends of ranges (`ranges`) are keys on a line, and on which one is known once an event has come:
under a schema it is always the same; without one, a column may hold bigints, doubles and decimals.
So the events of a batch are taken apart by the lines on which their values of the ranges'
attributes lie, and each part is compared with ends on these lines.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.conditions.cuts import has_int64_keys
from tidegate.engine.conditions.ranges import Ranges
from tidegate.engine.events.arrow_keys import Stretch
from tidegate.engine.events.encoded_batch import EncodedBatch
from tidegate.engine.primitives.odd_even import number_among
from tidegate.filters.lines import Line
from tidegate.filters.schema import Schema

Integers: TypeAlias = NDArray[np.int64]
Lines: TypeAlias = tuple[Line | None, ...]

_UNORDERED: Final = ("string", "other")  # lines that ranges have no ends on


class RangeLines:
    """The attributes of some ranges, axis by axis, and the lines of events on them."""

    def __init__(self, attributes: tuple[str, ...], schema: Schema | None) -> None:
        self._attributes = attributes
        self._schema = schema
        self._wide: dict[tuple[int, Line], list[int]] = {}

    @cached_property
    def own(self) -> Lines | None:
        """The lines of the attributes, if there is a schema to say."""
        if self._schema is None:
            return None
        return tuple(self._schema[attribute].type.line for attribute in self._attributes)

    def split(self, batch: EncodedBatch) -> list[tuple[Integers, Lines]]:
        """The events of a batch by the lines on which their values lie, and these lines."""
        found: list[tuple[Integers, Lines]] = batch.remember(
            ("split", self._attributes), lambda: list(self._split(batch))
        )
        return found

    def _split(self, batch: EncodedBatch) -> Iterator[tuple[Integers, Lines]]:
        choices: list[list[Line | None]] = []
        code = np.zeros(batch.size, np.int64)
        for attribute in self._attributes:
            stretches = batch.column(attribute).stretches
            usable = [s for s in stretches if s.line.name not in _UNORDERED]
            choices.append([stretch.line for stretch in usable] or [None])
            if len(usable) > 1:  # absent values go with the first line there is
                own = np.zeros(batch.size, np.int64)
                for place, stretch in enumerate(usable):
                    own[stretch.rows] = place
                code = code * len(usable) + own
        if all(len(choice) == 1 for choice in choices):
            yield np.arange(batch.size), tuple(choice[0] for choice in choices)
            return
        for found in np.unique(code).tolist():
            lines: list[Line | None] = []
            rest = found
            for choice in reversed(choices):
                lines.append(choice[rest % len(choice)])
                rest //= len(choice)
            yield np.flatnonzero(code == found), tuple(reversed(lines))

    def of(self, places: Sequence[tuple[Line, Any] | None]) -> Lines:
        """The lines to compare one event on, whose values lie at these places."""
        own = self.own
        if own is not None:
            return own
        return tuple(
            None if place is None or place[0].name in _UNORDERED else place[0] for place in places
        )

    def keys(
        self, batch: EncodedBatch, lines: Lines, order: Integers
    ) -> tuple[Integers, NDArray[np.uint8]]:
        """The keys of the events in order on each axis, and which of them have one.

        `on` was asked for these lines before.
        """
        size = len(order)
        keys = np.zeros(len(lines) * size, np.int64)
        present = np.zeros(len(lines) * size, np.uint8)
        for axis, (attribute, line) in enumerate(zip(self._attributes, lines, strict=True)):
            for stretch in batch.column(attribute).stretches:
                if stretch.line != line:
                    continue
                here = slice(axis * size, (axis + 1) * size)
                plain = self._plain(axis, stretch)
                if len(stretch.rows) == batch.size:
                    keys[here], present[here] = plain[order], 1
                    continue
                whole, has = np.zeros(batch.size, np.int64), np.zeros(batch.size, np.uint8)
                whole[stretch.rows], has[stretch.rows] = plain, 1
                keys[here], present[here] = whole[order], has[order]
        return keys, present

    def _plain(self, axis: int, stretch: Stretch) -> Integers:
        if has_int64_keys(stretch.line):
            return stretch.keys
        found = [self.key(axis, stretch.line, key) for key in stretch.keys.tolist()]
        return np.array(found, np.int64)

    def key(self, axis: int, line: Line, key: int) -> int:
        """A key as a 64-bit integer: itself, or its place among the ends on a wide line."""
        if has_int64_keys(line):
            return key
        return number_among(self._wide[axis, line], key)

    def on(self, axis: int, ranges: Ranges, line: Line) -> tuple[Integers, Integers]:
        """The first and the last key of all ranges of an axis on a line.

        On the lines of wide decimals, whose keys are no 64-bit integers, the ends are numbered
        (`odd_even`).
        """
        if has_int64_keys(line):
            attribute = self._attributes[axis]
            return ranges.on(line, None if self._schema is None else self._schema[attribute])
        low, high = ranges.on_wide(line)
        cuts = self._wide[axis, line] = sorted({*low, *high})
        numbers = {cut: number_among(cuts, cut) for cut in cuts}
        return (
            np.array([numbers[end] for end in low], np.int64),
            np.array([numbers[end] for end in high], np.int64),
        )

    def compared(self, axis: int, ranges: Ranges) -> set[str]:
        """The names of the lines on which ranges of an axis are compared."""
        if self._schema is None:
            return ranges.lines()
        own = self._schema[self._attributes[axis]].type.line
        return set() if own is None else {own.name}
