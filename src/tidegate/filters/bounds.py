"""Sets on one line, as cuts.

A set of keys is a strictly increasing tuple of **bounds** (a0, b0, a1, b1, …): it holds the keys
from a0 up to but not including b0, from a1 up to b1, and so on. Equal sets have equal bounds.
"""

from bisect import bisect_right
from typing import Any, Final, TypeAlias

Bounds: TypeAlias = tuple[Any, ...]

_LEAPS: Final = 32


def has(bounds: Bounds, key: Any) -> bool:
    """Whether the key is in the set.

    >>> has((1, 5), 4), has((1, 5), 5)
    (True, False)
    """
    return bool(bisect_right(bounds, key) & 1)


def within(inner: Bounds, outer: Bounds) -> bool:
    """Whether every key of `inner` is in `outer`."""
    if len(outer) == 2:
        return bool(outer[0] <= inner[0] and inner[-1] <= outer[1]) if inner else True
    if len(inner) == len(outer) and inner == outer:
        return True
    at = 0
    for i in range(0, len(inner), 2):
        at = bisect_right(outer, inner[i], at)
        if not at & 1 or inner[i + 1] > outer[at]:
            return False
    return True


def meets(one: Bounds, other: Bounds) -> bool:
    """Whether some key is in both.

    Stretches that lie before all that is left are leapt over, a few times: that decides it for most
    sets. Where two long ones alternate, all bounds are sorted, which is a merge: starts and ends
    take turns in what comes of it if no stretch reaches into another.

    >>> meets((1, 5, 8, 9), (5, 8)), meets((1, 5, 8, 9), (5, 9))
    (False, True)
    """
    i = j = 0
    for _ in range(_LEAPS):
        if i == len(one) or j == len(other):
            return False
        if one[i] <= other[j]:
            i = bisect_right(one, other[j], i)
        else:
            j = bisect_right(other, one[i], j)
        if (i | j) & 1:
            return True
    one, other = one[i:], other[j:]
    both = sorted(one + other)
    return both[::2] != sorted(one[::2] + other[::2])


def meet(one: Bounds, other: Bounds) -> Bounds:
    """What is in both.

    >>> meet((1, 5, 8, 9), (3, 10))
    (3, 5, 8, 9)
    """
    if len(one) == 2 and len(other) == 2:
        low = one[0] if one[0] >= other[0] else other[0]
        high = one[1] if one[1] <= other[1] else other[1]
        return (low, high) if low < high else ()
    return _sweep(one, other, 2)


def join(one: Bounds, other: Bounds) -> Bounds:
    """What is in at least one.

    >>> join((1, 5), (5, 7))
    (1, 7)
    """
    if not one or not other:
        return one or other
    return _sweep(one, other, 1)


def minus(one: Bounds, other: Bounds) -> Bounds:
    """What is in `one` and not in `other`.

    >>> minus((1, 5, 8, 9), (3, 10))
    (1, 3)
    """
    if not one or not other:
        return one
    low = min(one[0], other[0])
    high = max(one[-1], other[-1])
    return meet(one, complement(other, (low, high)))


def complement(bounds: Bounds, full: Bounds) -> Bounds:
    """What is in the interval `full`, of which the set is a part, and not in the set.

    >>> complement((1, 5), (0, 10))
    (0, 1, 5, 10)
    """
    if not bounds:
        return full
    head = (full[0], bounds[0]) if full[0] < bounds[0] else ()
    tail = (bounds[-1], full[1]) if bounds[-1] < full[1] else ()
    return head + bounds[1:-1] + tail


def _sweep(one: Bounds, other: Bounds, needed: int) -> Bounds:
    """The keys that lie in at least `needed` of the two sets."""
    out: list[Any] = []
    i = j = depth = 0
    while i < len(one) or j < len(other):
        if j == len(other) or (i < len(one) and one[i] <= other[j]):
            key = one[i]
        else:
            key = other[j]
        before = depth
        while i < len(one) and one[i] == key:
            depth += -1 if i & 1 else 1
            i += 1
        while j < len(other) and other[j] == key:
            depth += -1 if j & 1 else 1
            j += 1
        if (before >= needed) != (depth >= needed):
            out.append(key)
    return tuple(out)
