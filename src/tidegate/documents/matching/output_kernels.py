"""Which subscriptions are behind the targets that were met?

Of each target, the codes of its subscriptions are a list. A subscription of several patterns is
behind several targets, and must come once for each document: such ones are stamped. What is still
wanted is said by a bit map, which is empty if all are.

Invariant: `SLACK` items of what is written to may be overwritten behind the last pair.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import inlined, kernel

_TOGETHER: Final = 8  # codes that are copied at a time
SLACK: Final = _TOGETHER
"""Items that are written, or read, behind the last one."""


class Behind(NamedTuple):
    """The subscriptions of each target."""

    start: NDArray[np.int64]
    codes: NDArray[np.int32]
    """One target's after the other's, and behind the last one room to copy from."""
    has_several: NDArray[np.bool_]
    """Of each target, whether some of its subscriptions have others, too."""


@inlined
def _is_alive(alive: NDArray[np.uint64], code: int) -> bool:
    return not len(alive) or (alive[code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0


@kernel
def count(
    found: NDArray[np.int32],
    found_stop: NDArray[np.int64],
    behind: Behind,
    alive: NDArray[np.uint64],
    stamp: NDArray[np.int64],
    token: int,
    counts: NDArray[np.int64],
) -> None:
    """How many subscriptions each document meets. Stamps above the token are free."""
    first = 0
    for d in range(len(counts)):
        total = 0
        for i in range(first, found_stop[d]):
            target = found[i]
            low, high = behind.start[target], behind.start[target + 1]
            if not len(alive) and not behind.has_several[target]:
                total += high - low
                continue
            for j in range(low, high):
                code = behind.codes[j]
                if _is_alive(alive, code) and stamp[code] != token + d:
                    if behind.has_several[target]:
                        stamp[code] = token + d
                    total += 1
        counts[d] = total
        first = found_stop[d]


@inlined
def _copy(
    source: NDArray[np.int32], low: int, high: int, target: NDArray[np.int32], place: int
) -> None:
    """Copy codes eight at a time, a few more than there are: behind both arrays there is room."""
    at, to = np.uint64(low), np.uint64(place)
    while at < np.uint64(high):
        for i in range(_TOGETHER):
            target[to + np.uint64(i)] = source[at + np.uint64(i)]
        at += np.uint64(_TOGETHER)
        to += np.uint64(_TOGETHER)


@kernel
def write(
    found: NDArray[np.int32],
    found_stop: NDArray[np.int64],
    behind: Behind,
    alive: NDArray[np.uint64],
    stamp: NDArray[np.int64],
    token: int,
    before: int,
    rows: NDArray[np.int32],
    codes: NDArray[np.int32],
) -> int:
    """Write the pairs of a document's row and a code; rows are counted from the one before."""
    first, place = 0, 0
    for d in range(len(found_stop)):
        begin = place
        for i in range(first, found_stop[d]):
            target = found[i]
            low, high = behind.start[target], behind.start[target + 1]
            if not len(alive) and not behind.has_several[target]:
                _copy(behind.codes, low, high, codes, place)
                place += high - low
                continue
            for j in range(low, high):
                code = behind.codes[j]
                if _is_alive(alive, code) and stamp[code] != token + d:
                    if behind.has_several[target]:
                        stamp[code] = token + d
                    codes[place] = code
                    place += 1
        for i in range(begin, place):
            rows[i] = before + d
        first = found_stop[d]
    return place


def room(codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Codes with room behind them."""
    return np.concatenate([codes, np.zeros(SLACK, np.int32)])
