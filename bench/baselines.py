"""What our figures are compared with, written as plainly as the idea allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Range = tuple[int, int]


def covers_by_predicates(f: dict[str, tuple[str, int]], g: dict[str, tuple[str, int]]) -> bool:
    """Covering as the field's systems test it: predicate by predicate, one per attribute.

    f and g map attributes to (operator, integer). Sound and complete for this form only.
    """
    for attribute, wide in f.items():
        narrow = g.get(attribute)
        if narrow is None or not _predicate_covers(wide, narrow):
            return False
    return True


def _predicate_covers(wide: tuple[str, int], narrow: tuple[str, int]) -> bool:
    (operator, value), (other, constant) = wide, narrow
    if operator == "=":
        return other == "=" and value == constant
    if operator in ("<", "<="):
        if other not in ("=", "<", "<="):
            return False
        largest = constant - 1 if other == "<" else constant
        return largest <= (value - 1 if operator == "<" else value)
    if other not in ("=", ">", ">="):
        return False
    smallest = constant + 1 if other == ">" else constant
    return smallest >= (value + 1 if operator == ">" else value)


class NegativeSpace:
    """The exact algorithm of Jafarpour et al. (2008), Fig. 4 and 6, with a vectorised scan.

    The part of the domain that no subscription covers is kept as disjoint rectangles; a
    subscription is subsumed if it meets none of them, and is cut out of those it meets.
    """

    def __init__(self, dimensions: int, low: int, high: int) -> None:
        self._room = 1024
        self._lows = np.empty((self._room, dimensions), np.int16)
        self._highs = np.empty((self._room, dimensions), np.int16)
        self._lows[0], self._highs[0] = low, high
        self.count = 1

    def add(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> bool:
        """Whether the subscription is subsumed; if not, it is subtracted."""
        lows, highs = self._lows[: self.count], self._highs[: self.count]
        met = (lows[:, 0] <= high[0]) & (highs[:, 0] >= low[0])
        for k in range(1, lows.shape[1]):
            met &= (lows[:, k] <= high[k]) & (highs[:, k] >= low[k])
        hits = np.flatnonzero(met)
        if not len(hits):
            return True
        self._replace(hits, *self._pieces(lows[hits], highs[hits], low, high))
        return False

    def _pieces(
        self,
        lows: NDArray[np.int16],
        highs: NDArray[np.int16],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """What is left of the rectangles without the subscription, one dimension after another."""
        left_lows, left_highs = [], []
        lows, highs = lows.copy(), highs.copy()
        for k in range(lows.shape[1]):
            below = lows[:, k] < low[k]
            piece_lows, piece_highs = lows[below], highs[below].copy()
            piece_highs[:, k] = low[k] - 1
            above = highs[:, k] > high[k]
            upper_lows, upper_highs = lows[above].copy(), highs[above]
            upper_lows[:, k] = high[k] + 1
            left_lows += [piece_lows, upper_lows]
            left_highs += [piece_highs, upper_highs]
            lows[:, k] = np.maximum(lows[:, k], low[k])
            highs[:, k] = np.minimum(highs[:, k], high[k])
        return np.concatenate(left_lows), np.concatenate(left_highs)

    def _replace(
        self, hits: NDArray[np.intp], lows: NDArray[np.int16], highs: NDArray[np.int16]
    ) -> None:
        """Put the new rectangles where the cut ones were, and the rest behind."""
        while self.count + len(lows) > self._room:
            self._room *= 2
            self._lows = np.resize(self._lows, (self._room, self._lows.shape[1]))
            self._highs = np.resize(self._highs, (self._room, self._highs.shape[1]))
        reused = min(len(hits), len(lows))
        self._lows[hits[:reused]], self._highs[hits[:reused]] = lows[:reused], highs[:reused]
        extra = len(lows) - reused
        end = self.count + extra
        self._lows[self.count : end] = lows[reused:]
        self._highs[self.count : end] = highs[reused:]
        self.count = end
        for hole in hits[reused:][::-1]:
            self.count -= 1
            self._lows[hole] = self._lows[self.count]
            self._highs[hole] = self._highs[self.count]
