"""Which filters want which events of a batch?

The answer to many events at once: pairs of an event's row and a filter. Filters are given by their
places in a list of numbers, the **numbering**, which stays the same from one batch to the next as
long as the filters do; so whoever asks can work out once what a number stands for.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.int32]


class Numbering:
    """Numbers of filters, by place; two are the same if they are one."""

    __slots__ = ("__weakref__", "numbers")

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self.numbers: Final = numbers


class Pairs(NamedTuple):
    """Rows of a batch, and the places of the filters that want them; in any order."""

    numbering: Numbering
    rows: Rows
    places: Rows


def one_by_one(match: Callable[[Any], list[int]], events: Sequence[Any]) -> list[Pairs]:
    """The pairs of a batch, one event after the other.

    >>> ((numbering, rows, places),) = one_by_one({"x": [7, 5], "y": [7]}.get, ["x", "y"])
    >>> rows.tolist(), numbering.numbers[places].tolist()
    ([0, 0, 1], [7, 5, 7])
    """
    found = [match(event) for event in events]
    counts = np.array([len(each) for each in found], np.int64)
    numbers = np.array([number for each in found for number in each], np.int64)
    rows = np.repeat(np.arange(len(found), dtype=np.int32), counts)
    return [Pairs(Numbering(numbers), rows, np.arange(len(numbers), dtype=np.int32))]
