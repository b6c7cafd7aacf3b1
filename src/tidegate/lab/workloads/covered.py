"""How many subscriptions are left once those that others cover are gone?

Counted exactly, with NumPy, for conjunctions of predicates none of which is negated: to know that a
workload is as redundant as the paper says that its own was, without trusting what is measured on
it.

Whoever covers a subscription asks for some of its attributes, and for no other. So subscriptions
are grouped by the attributes that they ask for, groups of few attributes come first, and a group is
compared with those of its subsets only. A subscription that is covered need not be compared with
the later ones, since what covers it covers whatever it covers.

Invariant: nobody who is left covers another one who is left, and whoever is gone is covered by one
who is left. Of equal ones, the first is left.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.filters.expression import Operator
from tidegate.lab.workloads.matching import ATTRIBUTES, OPERATORS, Integers, Padres, Pool

_Ends: TypeAlias = tuple[Integers, Integers]  # lows and highs, one row each
_BELOW: Final = (Operator.LESS, Operator.AT_MOST)
_ABOVE: Final = (Operator.GREATER, Operator.AT_LEAST)
_AT_ONCE: Final = 4_000_000  # pairs


def covered_share(workload: Padres) -> float:
    """The share of the subscriptions that another one covers; of equal ones, one is left.

    >>> from tidegate.lab.workloads.padres import set_a
    >>> covered_share(set_a(2_000))
    0.0...
    """
    return 1 - len(uncovered(workload)) / len(workload)


def uncovered(workload: Padres) -> NDArray[np.int64]:
    """The numbers of the subscriptions that no other one covers."""
    asked = np.zeros((len(workload), len(ATTRIBUTES)), np.bool_)
    rows, places = np.nonzero(workload.parts >= 0)
    asked[rows, workload.parts[rows, places] // workload.pool.each] = True
    ends = list(replace(workload, pool=_open(workload.pool)).ranges.values())
    lows, highs = (np.stack([own[side] for own in ends], axis=1) for side in (0, 1))
    told = np.concatenate([lows, highs, asked], axis=1)
    _, first = np.unique(told, axis=0, return_index=True)
    first.sort()
    lows, highs = lows[first], highs[first]
    left: dict[tuple[int, ...], _Ends] = {}
    kept = [np.empty(0, np.int64)]
    for attributes, rows in _groups(asked[first]):
        own_lows, own_highs = lows[rows][:, attributes], highs[rows][:, attributes]
        alone = _uncovered(own_lows, own_highs, attributes, left)
        left[attributes] = own_lows[alone], own_highs[alone]
        kept.append(first[rows[alone]])
    return np.sort(np.concatenate(kept))


def _open(pool: Pool) -> Pool:
    """The same pool with ends beyond all values where a predicate has no end.

    Events have no values there, but a filter does not know: `a > 19` is more than `a = 20`.
    """
    operators = np.array([OPERATORS.index(p.operator) for p in pool.predicates])
    below, above = (
        np.isin(operators, [OPERATORS.index(operator) for operator in open_ended])
        for open_ended in (_BELOW, _ABOVE)
    )
    lows = np.where(below, np.int16(-2), pool.lows)
    highs = np.where(above, np.int16(pool.values + 1), pool.highs)
    return replace(pool, lows=lows, highs=highs)


def _groups(asked: NDArray[np.bool_]) -> Iterator[tuple[tuple[int, ...], NDArray[np.int64]]]:
    """The rows that ask for the same attributes, those for few attributes first."""
    masks = asked @ (1 << np.arange(asked.shape[1], dtype=np.int64))
    order = np.lexsort((masks, asked.sum(axis=1)))
    starts = np.flatnonzero(np.diff(masks[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        yield tuple(np.flatnonzero(asked[rows[0]]).tolist()), rows


def _uncovered(
    lows: Integers,
    highs: Integers,
    attributes: tuple[int, ...],
    left: dict[tuple[int, ...], _Ends],
) -> NDArray[np.bool_]:
    """Which of the distinct boxes of a group neither a smaller group nor their own has covered."""
    alone = np.ones(len(lows), np.bool_)
    for size in range(len(attributes)):
        for places in combinations(range(len(attributes)), size):
            others = left.get(tuple([attributes[k] for k in places]))
            if others is not None:
                rows = np.flatnonzero(alone)
                mine = lows[rows][:, places], highs[rows][:, places]
                alone[rows] = _coverers(*others, *mine) == 0
    rows = np.flatnonzero(alone)
    alone[rows] = _coverers(lows[rows], highs[rows], lows[rows], highs[rows]) == 1  # itself
    return alone


def _coverers(
    lows: Integers, highs: Integers, lower: Integers, upper: Integers
) -> NDArray[np.int64]:
    """How many of the boxes from `lows` to `highs` cover each of those from `lower` to `upper`."""
    found = np.zeros(len(lower), np.int64)
    step = max(1, _AT_ONCE // max(1, len(lows)))
    for start in range(0, len(lower), step):
        some = slice(start, start + step)
        covers = np.ones((len(lower[some]), len(lows)), np.bool_)
        for k in range(lows.shape[1]):
            covers &= lows[:, k] <= lower[some, k, None]
            covers &= upper[some, k, None] <= highs[:, k]
        found[some] = np.count_nonzero(covers, axis=1)
    return found
