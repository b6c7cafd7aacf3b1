"""Which subscriptions ask for the very same?

Entries of a draft are the same if they have the same conditions, ranges and program. They are
sorted by a hash of these; neighbours with one hash are compared in full.

Many that ask for the same share one entry. A few are as well off side by side: the kernels look at
64 entries at once, and know whose an entry is without asking.
"""

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.compiled import allocating, kernel

if TYPE_CHECKING:
    from tidegate.engine.draft import Draft

Integers: TypeAlias = NDArray[np.int64]

_FEW: Final = 4  # subscribers of a filter that have an entry each


def share(draft: "Draft") -> tuple[Integers, NDArray[np.int32]]:
    """The first entry of each kind, and for each subscription which of these it has, or -1."""
    parts = (
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
    hashes = _hashes(*parts)[wanted]
    order = wanted[np.argsort(hashes, kind="stable")]
    same = np.empty(len(draft), np.int64)
    _find_same(np.sort(hashes), order, same, *parts)
    few = np.bincount(same[wanted], minlength=len(draft))[same[wanted]] <= _FEW
    same[wanted[few]] = wanted[few]
    first = wanted[same[wanted] == wanted]
    number = np.full(len(draft), -1, np.int32)
    number[first] = np.arange(len(first), dtype=np.int32)
    entry = np.full(len(draft.entry), -1, np.int32)
    entry[wanted] = number[same[wanted]]
    return first, entry


@allocating
def _hashes(
    ref_start: Any,
    refs: Any,
    range_start: Any,
    attribute: Any,
    kind: Any,
    low: Any,
    high: Any,
    program: Any,
) -> Any:
    """A hash of each entry (multiply and shift, after splitmix64)."""
    found = np.empty(len(program), np.uint64)
    for i in range(len(program)):
        h = _mixed(np.uint64(program[i]))
        for j in range(ref_start[i], ref_start[i + 1]):
            h = _mixed(h ^ np.uint64(refs[j]))
        for j in range(range_start[i], range_start[i + 1]):
            h = _mixed(h ^ (np.uint64(attribute[j]) << np.uint64(8) | np.uint64(kind[j])))
            h = _mixed(h ^ np.uint64(low[j]))
            h = _mixed(h ^ np.uint64(high[j]))
        found[i] = h
    return found


@kernel
def _mixed(x: Any) -> Any:
    x += np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def _find_same(
    hashes: Any,
    order: Any,
    same: Any,
    ref_start: Any,
    refs: Any,
    range_start: Any,
    attribute: Any,
    kind: Any,
    low: Any,
    high: Any,
    program: Any,
) -> Any:
    """For each entry the first one like it; entries are in the order of their hashes."""
    for i in range(len(order)):
        entry = order[i]
        same[entry] = entry
        j = i - 1
        while j >= 0 and hashes[j] == hashes[i]:
            other = same[order[j]]
            if _equal(
                entry, other, ref_start, refs, range_start, attribute, kind, low, high, program
            ):
                same[entry] = other
                break
            j -= 1


@kernel
def _equal(
    one: Any,
    two: Any,
    ref_start: Any,
    refs: Any,
    range_start: Any,
    attribute: Any,
    kind: Any,
    low: Any,
    high: Any,
    program: Any,
) -> Any:
    refs_one, refs_two = ref_start[one], ref_start[two]
    ranges_one, ranges_two = range_start[one], range_start[two]
    if (
        program[one] != program[two]
        or ref_start[one + 1] - refs_one != ref_start[two + 1] - refs_two
        or range_start[one + 1] - ranges_one != range_start[two + 1] - ranges_two
    ):
        return False
    for j in range(ref_start[one + 1] - refs_one):
        if refs[refs_one + j] != refs[refs_two + j]:
            return False
    for j in range(range_start[one + 1] - ranges_one):
        a, b = ranges_one + j, ranges_two + j
        if attribute[a] != attribute[b] or kind[a] != kind[b]:
            return False
        if low[a] != low[b] or high[a] != high[b]:
            return False
    return True
