"""In which order do the ends of ranges and the values of events stand?

The ends of all swept ranges of a segment on one attribute and line, sorted, are numbered 1, 3, 5, …
and a value gets the number of the end it equals, or the even number between its neighbours. These
numbers are small, compare as the keys do, and are worked out once per batch for all sweeps.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.conditions.cuts import has_int64_keys
from tidegate.engine.conditions.ranges import Ranges
from tidegate.engine.events.encoded_batch import EncodedBatch
from tidegate.engine.primitives.distinct import occurring
from tidegate.engine.primitives.odd_even import cut_numbers, numbers_among, write_numbers
from tidegate.engine.primitives.sorted_search import Stairs
from tidegate.engine.sweep.sweep_kernels import HIGHEST, LOWEST
from tidegate.filters.lines import Line
from tidegate.filters.schema import Schema

Integers: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.int32]

_NOTHING: Final = np.empty(0, np.int32)


class EndTable:
    """The ends of all swept ranges of a segment. Lines are added as values on them come.

    Under a schema, the `known` cuts of the attributes' own lines may be given.
    """

    def __init__(
        self, schema: Schema | None, known: Mapping[tuple[str, Line], NDArray[Any]] | None = None
    ) -> None:
        self._schema = schema
        self._ranges: dict[str, list[Ranges]] = {}
        self._stairs = {place: Stairs(cuts) for place, cuts in (known or {}).items()}

    def register(self, attribute: str, ranges: Ranges) -> None:
        """Take in the ranges of a sweep, before anything is asked about the attribute."""
        self._ranges.setdefault(attribute, []).append(ranges)

    def cuts(self, attribute: str, line: Line) -> NDArray[Any]:
        """The keys of all ends on a line, ascending."""
        return self._among(attribute, line).cuts

    def _among(self, attribute: str, line: Line) -> Stairs:
        found = self._stairs.get((attribute, line))
        if found is None:
            ends = [end for ranges in self._ranges[attribute]
                    for end in self._on(attribute, ranges, line)]  # fmt: skip
            found = self._stairs[attribute, line] = Stairs(occurring(np.concatenate(ends)))
        return found

    def ends(self, attribute: str, ranges: Ranges, line: Line) -> tuple[Numbers, Numbers]:
        """The numbers of the first and the last key of ranges on a line."""
        low, high = self._on(attribute, ranges, line)
        stairs = self._among(attribute, line)
        return (
            cut_numbers(stairs.before(low)).astype(np.int32),
            cut_numbers(stairs.before(high)).astype(np.int32),
        )

    def _on(self, attribute: str, ranges: Ranges, line: Line) -> Sequence[NDArray[Any]]:
        if has_int64_keys(line):
            return ranges.on(line, None if self._schema is None else self._schema[attribute])
        low, high = ranges.on_wide(line)
        return np.array(low, object), np.array(high, object)

    def keys(self, attribute: str, line: Line, numbers: Numbers) -> NDArray[np.int64]:
        """The keys of ends by their numbers."""
        found: NDArray[np.int64] = self.cuts(attribute, line)[numbers >> 1]
        return found

    def values(
        self, batch: EncodedBatch, attribute: str, line: Line | None
    ) -> tuple[Numbers, Numbers]:
        """Of each event its number twice; without a value on the line, LOWEST and HIGHEST."""
        key = (self, attribute, line)
        found: tuple[Numbers, Numbers] = batch.remember(
            key, lambda: self._values(batch, attribute, line)
        )
        return found

    def _values(
        self, batch: EncodedBatch, attribute: str, line: Line | None
    ) -> tuple[Numbers, Numbers]:
        least = np.full(batch.size, LOWEST, np.int32)
        most = np.full(batch.size, HIGHEST, np.int32)
        for stretch in batch.column(attribute).stretches:
            if line is not None and stretch.line == line:
                stairs = self._among(attribute, line)
                at = stairs.before(stretch.keys)
                if stairs.cuts.dtype == stretch.keys.dtype == np.int64:
                    write_numbers(stairs.cuts, stretch.keys, at, stretch.rows, least, most)
                    continue
                own = numbers_among(stairs.cuts, stretch.keys, at)
                least[stretch.rows] = most[stretch.rows] = own
        return least, most

    @property
    def nbytes(self) -> int:
        """The memory of the ends."""
        return sum(stairs.nbytes for stairs in self._stairs.values())
