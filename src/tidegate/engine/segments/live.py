"""Which subscriptions of a segment are still wanted, and when are segments merged?

A segment never changes. What has been removed from it since is said by a bit map beside it, which a
reader takes along with the segment, and which is copied before it is changed if a reader has it.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.segments.segment import Alive, Segment

ALL_ALIVE: Final[Alive] = np.empty(0, np.uint64)
"""The bit map of a segment from which nothing has been removed."""

MOST: Final = 16
"""The segments that an index has at most."""
TOGETHER: Final = 7
"""The segments that are merged at once, at most: two may do so, and leave others that may be."""

_BITS: Final = np.uint64(1) << np.arange(64, dtype=np.uint64)
_SEGMENTS_ALIKE: Final = 3  # segments of like size that are merged
_GROWTH: Final = 2.0  # a segment is like smaller ones if it is at most so many times all of them
_CHANGED: Final = 0.1  # of all subscriptions new or dead, from which on everything is rebuilt
_LEFT: Final = 0.001  # of all subscriptions new, from which on that is done when changes pause


class Live:
    """A segment and what is alive in it. Changed under the index's lock only."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.alive = ALL_ALIVE
        self.dead = 0
        self._seen = False

    def version(self) -> tuple[Segment, Alive]:
        """What a reader takes along."""
        self._seen = True
        return self.segment, self.alive

    def has(self, code: int) -> bool:
        """Whether one code is alive."""
        if not len(self.alive):
            return True
        return bool(self.alive[code >> 6] & _BITS[code & 63])

    def have(self, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these codes are alive; of those below 0, anything."""
        if not len(self.alive):
            return np.ones(len(codes), np.bool_)
        bits = self.alive[codes >> 6] >> (codes & 63).astype(np.uint64)
        found: NDArray[np.bool_] = (bits & np.uint64(1)).astype(np.bool_)
        return found

    def kill(self, codes: NDArray[Any]) -> None:
        """Clear the bits of these codes, all of them set."""
        self._own_bits()
        bits = np.uint64(1) << (codes & 63).astype(np.uint64)
        np.bitwise_and.at(self.alive, codes >> 6, ~bits)
        self.dead += len(codes)

    def kill_one(self, code: int) -> None:
        """Clear the bit of this code, which is set."""
        self._own_bits()
        self.alive[code >> 6] ^= _BITS[code & 63]
        self.dead += 1

    def died_since(self, alive: Alive) -> NDArray[np.int64]:
        """The codes that were alive in an earlier bit map, and are not any more."""
        if self.alive is alive:
            return np.empty(0, np.int64)
        died = ~self.alive & alive if len(alive) else ~self.alive
        words = np.flatnonzero(died)
        bits = np.unpackbits(died[words].view(np.uint8), bitorder="little").reshape(-1, 64)
        word, bit = np.nonzero(bits)
        return words[word] * 64 + bit

    def _own_bits(self) -> None:
        """See to a bit map that no reader has."""
        if not len(self.alive):
            self.alive = np.full(len(self.segment) // 64 + 1, 2**64 - 1, np.uint64)
        elif self._seen:
            self.alive = self.alive.copy()
        self._seen = False

    @property
    def size(self) -> int:
        return len(self.segment) - self.dead


def living_codes(segment: Segment, alive: Alive) -> NDArray[np.int64]:
    """The codes of a segment that are alive in a bit map of it."""
    if not len(alive):
        return np.arange(len(segment))
    bits = np.unpackbits(alive.view(np.uint8), bitorder="little")[: len(segment)]
    return np.flatnonzero(bits)


def due(lives: list[Live], few: int) -> list[Live]:
    """The segments to be merged now; those of a `few` subscriptions are all of like size.

    All of them, the smallest first, if much has changed since the largest was made. Otherwise the
    smallest ones, if enough of them are of like size.
    """
    ordered = sorted(lives, key=lambda live: live.size)
    total = sum(live.size for live in lives)
    news = sum(live.size for live in ordered[:-1]) + sum(live.dead for live in lives)
    if news > max(_CHANGED * total, _SEGMENTS_ALIKE * few):
        return ordered
    chosen, smaller = 0, 0
    for place, live in enumerate(ordered, 1):
        if place > 1 and live.size > _GROWTH * max(smaller, few):
            break
        smaller += live.size
        if place >= _SEGMENTS_ALIKE:
            chosen = place
    return ordered[:chosen]


def crowd(lives: list[Live], few: int) -> list[Live]:
    """The segments to be merged so that there is room for one more: small ones of like size.

    Two at least, if there are two: somebody waits for it.
    """
    chosen: list[Live] = []
    smaller = 0
    for live in sorted(lives, key=lambda live: live.size)[:TOGETHER]:
        if len(chosen) > 1 and live.size > _GROWTH * max(smaller, few):
            break
        chosen.append(live)
        smaller += live.size
    return chosen if len(chosen) > 1 else []


def left(lives: list[Live]) -> list[Live]:
    """The segments to be merged when changes pause, so that matching does not go on with many.

    All of them, if there is something in the smaller ones; otherwise these with each other.
    """
    small = sorted(lives, key=lambda live: live.size)[:-1]
    if sum(live.size for live in small) > _LEFT * sum(live.size for live in lives):
        return lives
    return small if len(small) > 1 else []
