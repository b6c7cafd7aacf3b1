"""Where does an event lie among the ends of all conditions on an attribute?

The conditions on one attribute cut each line its values can lie on (`filters.lines`) at a few
places. An `Axis` is one attribute and one line: the cuts in order, and each condition on it as
**pieces**, intervals of ranks; the rank of a value is the number of cuts at or before it. All that
the conditions can tell apart about an event's value is its rank. *Absent* is an axis of one rank.

An axis is made when the first value on its line comes: without a schema, nobody knows before.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.events.arrow_keys import Stretch
from tidegate.engine.primitives.sorted_search import Stairs
from tidegate.filters.lines import STRING, Line
from tidegate.filters.values import BIGINT_MIN
from tidegate.filters.valueset import ValueSet

Ranks: TypeAlias = NDArray[np.uint32]
Numbered: TypeAlias = Iterable[tuple[int, ValueSet]]

_CUTS_SEARCHED: Final = 8  # cuts among which a search is as fast as a table
_TABLE: Final = 65_536  # keys of a table
_REMEMBERED: Final = 8_192  # strings, at most, whose rank is kept from batch to batch
_PER_CUT: Final = 4  # of them for each cut: where there are few, a search is as fast
_CHARACTERS_REMEMBERED: Final = 64  # characters of such a string
_EACH_KNOWN: Final = 200  # bytes, about, of such a string and its place


@dataclass(frozen=True, slots=True)
class Pieces:
    """Conditions as half-open intervals of ranks."""

    condition: NDArray[np.uint32]
    low: Ranks
    high: Ranks


class Axis:
    """One attribute and one line: how values get ranks, and conditions pieces."""

    def __init__(self, line: Line, conditions: Numbered) -> None:
        self.line = line
        found = [
            (number, bounds[i], bounds[i + 1])
            for number, held in conditions
            if not (held.texts and line.name == "string")
            for bounds in (held.spans.get(line.name, ()),)
            for i in range(0, len(bounds), 2)
        ]
        lowest, highest = line.full
        cuts = {low for _, low, _ in found if low > lowest}
        self.cuts: list[Any] = sorted(cuts | {high for _, _, high in found if high < highest})
        places = {cut: place for place, cut in enumerate(self.cuts, 1)}
        self.size = len(self.cuts) + 1
        self.pieces = Pieces(
            np.array([number for number, _, _ in found], np.uint32),
            np.array([places.get(low, 0) for _, low, _ in found], np.uint32),
            np.array([places.get(high, self.size) for _, _, high in found], np.uint32),
        )
        self._known: dict[str, int] = {}
        self._integers: dict[int, Stairs] = {}
        self._tables: dict[int, Ranks] = {}

    def ranks(self, stretch: Stretch) -> Ranks:
        """The ranks of a stretch's values, which lie on this axis's line."""
        if self.line is STRING:
            by_text = [self._rank_of(text) for text in stretch.texts]
            return np.array(by_text, np.uint32)[stretch.keys]
        stairs = self._scaled(stretch.line.scale)
        if (
            len(stairs.cuts) > _CUTS_SEARCHED
            and stairs.cuts.dtype == stretch.keys.dtype == np.int64
        ):
            return self._looked_up(stairs, stretch)
        return stairs.upto(stretch.keys).astype(np.uint32)

    def _looked_up(self, stairs: Stairs, stretch: Stretch) -> Ranks:
        """Ranks from a table of all keys between the first and the last cut, if they are few."""
        scale, first, last = stretch.line.scale, int(stairs.cuts[0]), int(stairs.cuts[-1])
        if last - first > _TABLE or first == BIGINT_MIN:
            return stairs.upto(stretch.keys).astype(np.uint32)
        table = self._tables.get(scale)
        if table is None:
            keys = np.arange(last - first + 2) + (first - 1)
            table = self._tables[scale] = stairs.upto(keys).astype(np.uint32)
        clipped = np.clip(stretch.keys, first - 1, last)
        clipped -= first - 1
        ranks: Ranks = table[clipped]
        return ranks

    def rank(self, key: Any, scale: int) -> int:
        """The rank of one value."""
        if self.line is STRING:
            return self._rank_of(key)
        if scale == self.line.scale:
            return bisect_right(self.cuts, key)
        return bisect_right(self.cuts, key * 10 ** (self.line.scale - scale))

    def _rank_of(self, text: str) -> int:
        rank = self._known.get(text)
        if rank is None:
            rank = bisect_right(self.cuts, text)
            if len(text) <= _CHARACTERS_REMEMBERED:
                if len(self._known) >= min(_REMEMBERED, _PER_CUT * len(self.cuts)):
                    self._known.clear()
                self._known[text] = rank
        return rank

    def _scaled(self, scale: int) -> Stairs:
        """The cuts as keys of that scale: the first key of it that is not before the cut."""
        found = self._integers.get(scale)
        if found is None:
            step = 10 ** (self.line.scale - scale) if self.line.scale > scale else 1
            cuts = [-(-cut // step) for cut in self.cuts]
            small = not cuts or (cuts[0] >= -(2**63) and cuts[-1] < 2**63)
            found = Stairs(np.array(cuts, np.int64 if small else object))
            self._integers[scale] = found
        return found

    @property
    def nbytes(self) -> int:
        """The memory of the cuts and pieces, and of the strings that are remembered."""
        tables = sum(table.nbytes for table in self._tables.values())
        stairs = sum(each.nbytes for each in self._integers.values())
        known = _EACH_KNOWN * len(self._known)
        return 8 * len(self.cuts) + 12 * len(self.pieces.condition) + tables + stairs + known
