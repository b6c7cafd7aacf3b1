"""Which subscriptions ask for the very same?

Entries of a draft are the same if they have the same conditions, ranges and program. They are
sorted by a hash of these; neighbours with one hash are compared in full.

Many that ask for the same share one entry. A few are as well off side by side: the kernels look at
64 entries at once, and know whose an entry is without asking.
"""

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import kernel

if TYPE_CHECKING:
    from tidegate.engine.compile.draft import Draft

Integers: TypeAlias = NDArray[np.int64]

_SUBSCRIBERS_APART: Final = 4  # subscribers of a filter that have an entry each


def share(draft: "Draft") -> tuple[Integers, NDArray[np.int32]]:
    """The first entry of each kind, and for each subscription which of these it has, or -1."""
    parts = _Parts(
        draft.ref_start,
        draft.refs,
        draft.range_start,
        draft.range_attribute,
        draft.ranges.kind,
        draft.ranges.low,
        draft.ranges.high,
        draft.program,
    )
    wanted = np.flatnonzero(draft.entry >= 0)
    found = np.empty(len(draft), np.uint64)
    _hash(parts, found)
    hashes = found[wanted]
    order = wanted[np.argsort(hashes, kind="stable")]
    same = np.empty(len(draft), np.int64)
    _find_same(np.sort(hashes), order, same, parts)
    few = np.bincount(same[wanted], minlength=len(draft))[same[wanted]] <= _SUBSCRIBERS_APART
    same[wanted[few]] = wanted[few]
    first = wanted[same[wanted] == wanted]
    number = np.full(len(draft), -1, np.int32)
    number[first] = np.arange(len(first), dtype=np.int32)
    entry = np.full(len(draft.entry), -1, np.int32)
    entry[wanted] = number[same[wanted]]
    return first, entry


class _Parts(NamedTuple):
    """What a draft says of its entries."""

    ref_start: Integers
    refs: NDArray[np.int32]
    range_start: Integers
    attribute: NDArray[np.uint16]
    kind: NDArray[np.uint8]
    low: Integers
    high: Integers
    program: NDArray[np.int32]


@kernel
def _hash(parts: _Parts, found: NDArray[np.uint64]) -> None:
    """A hash of each entry (multiply and shift, after splitmix64)."""
    for i in range(len(found)):
        h = _mixed(np.uint64(parts.program[i]))
        for j in range(parts.ref_start[i], parts.ref_start[i + 1]):
            h = _mixed(h ^ np.uint64(parts.refs[j]))
        for j in range(parts.range_start[i], parts.range_start[i + 1]):
            h = _mixed(
                h ^ (np.uint64(parts.attribute[j]) << np.uint64(8) | np.uint64(parts.kind[j]))
            )
            h = _mixed(h ^ np.uint64(parts.low[j]))
            h = _mixed(h ^ np.uint64(parts.high[j]))
        found[i] = h


@kernel
def _mixed(x: np.uint64) -> np.uint64:
    x += np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def _find_same(hashes: NDArray[np.uint64], order: Integers, same: Integers, parts: _Parts) -> None:
    """For each entry the first one like it; entries are in the order of their hashes."""
    for i in range(len(order)):
        entry = order[i]
        same[entry] = entry
        j = i - 1
        while j >= 0 and hashes[j] == hashes[i]:
            other = same[order[j]]
            if _equal(entry, other, parts):
                same[entry] = other
                break
            j -= 1


@kernel
def _equal(one: np.int64, two: np.int64, parts: _Parts) -> bool:
    refs, ranges = parts.ref_start, parts.range_start
    refs_one, refs_two = refs[one], refs[two]
    ranges_one, ranges_two = ranges[one], ranges[two]
    if (
        parts.program[one] != parts.program[two]
        or refs[one + 1] - refs_one != refs[two + 1] - refs_two
        or ranges[one + 1] - ranges_one != ranges[two + 1] - ranges_two
    ):
        return False
    for j in range(refs[one + 1] - refs_one):
        if parts.refs[refs_one + j] != parts.refs[refs_two + j]:
            return False
    for j in range(ranges[one + 1] - ranges_one):
        a, b = ranges_one + j, ranges_two + j
        if parts.attribute[a] != parts.attribute[b] or parts.kind[a] != parts.kind[b]:
            return False
        if parts.low[a] != parts.low[b] or parts.high[a] != parts.high[b]:
            return False
    return True
