"""How many events meet each of very many predicates?

A predicate allows spans of values (`filters.meaning`). All ends of all spans on a line, in order,
cut it into pieces; a value is counted in its piece, and in the end the count of a span is the
difference of two running sums. So an event costs the same for ten predicates and, but for the
logarithm, for ten thousand, and no matter how many of them it meets. Only conditions on text that
are no ranges are tried, on each different text of a batch.

Invariant: the counts are those of `filters.evaluate.holds`, event by event.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegate.algebra.distribution import holds
from tidegate.filters.valueset import ValueSet

_INT64 = np.iinfo(np.int64)


class PredicateCounts:
    """How many values of an attribute are in each of some sets."""

    def __init__(self, sets: Sequence[ValueSet]) -> None:
        self._sets = sets
        self._absent = 0
        self._tried = [place for place, each in enumerate(sets) if each.texts]
        self._met = dict.fromkeys(self._tried, 0)  # by texts, of the tried ones
        lines = {name for each in sets for name in each.spans}
        self._cuts = {name: _Cuts(sets, name) for name in sorted(lines)}

    def add_absent(self, count: int) -> None:
        """Count events without a value."""
        self._absent += count

    def add(self, line: str, keys: NDArray[Any] | Sequence[str], counts: NDArray[np.int64]) -> None:
        """Count keys of a line, each of which occurs so often."""
        if line in self._cuts:
            self._cuts[line].add(keys, counts)
        if line == "string":
            for place in self._tried:
                own = self._sets[place]
                met = [holds(own, line, text) for text in keys]
                self._met[place] += int(counts[np.array(met, np.bool_)].sum())

    def found(self) -> list[int]:
        """For each of the sets, how many values were in it."""
        sums = {name: cuts.below() for name, cuts in self._cuts.items()}
        return [
            (self._absent if each.absent else 0)
            + self._met.get(place, 0)
            + sum(
                _between(sums[name], bounds)
                for name, bounds in each.spans.items()
                if not (each.texts and name == "string")
            )
            for place, each in enumerate(self._sets)
        ]


class _Cuts:
    """A line, cut at the ends of spans."""

    def __init__(self, sets: Sequence[ValueSet], line: str) -> None:
        self._ends: list[Any] = sorted({end for each in sets for end in each.spans.get(line, ())})
        fitting = [end for end in self._ends if line != "string" and end <= _INT64.max]
        self._array = np.array([max(end, _INT64.min) for end in fitting], np.int64)
        self._pieces = np.zeros(len(self._ends) + 1, np.int64)

    def add(self, keys: NDArray[Any] | Sequence[str], counts: NDArray[np.int64]) -> None:
        if isinstance(keys, np.ndarray) and keys.dtype != object:
            pieces = np.searchsorted(self._array, keys, side="right")
        else:
            pieces = np.array([bisect_right(self._ends, key) for key in keys], np.int64)
        self._pieces += np.bincount(pieces, counts, len(self._pieces)).astype(np.int64)

    def below(self) -> dict[Any, int]:
        """How many keys lie below each end."""
        return dict(zip(self._ends, accumulate(self._pieces.tolist()), strict=False))


def _between(below: dict[Any, int], bounds: Sequence[Any]) -> int:
    spans = zip(bounds[0::2], bounds[1::2], strict=True)
    return sum(below[high] - below[low] for low, high in spans)
