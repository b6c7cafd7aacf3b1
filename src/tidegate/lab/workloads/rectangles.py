"""What do the papers' experiments on subsumption run on?

Rectangles with integer ends, drawn from a seed as Jafarpour, Hore, Mehrotra and Venkatasubramanian
describe it in "Subscription Subsumption Evaluation for Content-Based Publish/Subscribe Systems"
(2008), section 5: 10,000 subscriptions in 2 to 5 dimensions, each of which is the range [0, 1000].
In each dimension, on its own, the low end is Zipfian, and the size of the range is uniform between
0 and what is left above the low end.

The paper prints neither the exponent of Zipf's law, nor which value has which rank, nor whether
sizes are integers. Here they are, a size of 0 being a single value; the others are parameters. By
default they are those with which the numbers of negative rectangles, the paper's Table 1, come out
most alike: at the five sizes in two dimensions and in three there are, on average over seeds, 1.9
to 2.5 times fewer than in the paper, and about as many in four. With exponents from 0.2 to 0.5,
they get fewer in three dimensions where the paper's get more; with 1, there are seven to ten times
fewer.

Invariant: filter i holds for the points from `lows[i]` to `highs[i]`, both included.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.filters.attribute import Attribute
from tidegate.filters.expression import And, Operator, Predicate, Slot
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.filters.template import Template
from tidegate.lab.workloads.matching import Points, Ranges

Ranks: TypeAlias = Literal["ascending", "descending", "shuffled"]

SUBSCRIPTIONS: Final = 10_000
DOMAIN: Final = 1000  # `rectangles` are in [0, DOMAIN] in every dimension
EXPONENT: Final = 0.05  # of Zipf's law for low ends: they are nearly uniform


def rectangles(
    count: int,
    dimensions: int,
    exponent: float = EXPONENT,
    seed: int = 1,
    *,
    ranks: Ranks = "ascending",
    domain: int = DOMAIN,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The low and the high ends (both included), one row per subscription.

    The value with rank r has a probability proportional to r ** -exponent; exponent 0 is the
    uniform distribution. Where ranks are ascending, value v has rank v + 1: 0 is the most frequent
    low end, and ranges are large. Descending, the greatest value is the most frequent low end, and
    most ranges are small. Shuffled, each dimension has an order of its own.

    >>> lows, highs = rectangles(10_000, 3, 0.5, seed=1)
    >>> lows.shape, highs.dtype
    ((10000, 3), dtype('int64'))
    >>> bool((lows >= 0).all() and (lows <= highs).all() and (highs <= 1000).all())
    True
    >>> again, _ = rectangles(10_000, 3, 0.5, seed=1)
    >>> bool((lows == again).all())
    True
    """
    random = np.random.default_rng(seed)
    upto = np.cumsum(np.arange(1, domain + 2, dtype=np.float64) ** -exponent)
    draws = random.random((count, dimensions)) * upto[-1]
    # A draw may round up to the whole sum, which would be one past the last value.
    lows = np.minimum(np.searchsorted(upto, draws, side="right"), domain).astype(np.int64)
    if ranks == "descending":
        lows = domain - lows
    elif ranks == "shuffled":
        orders = random.permuted(np.tile(np.arange(domain + 1), (dimensions, 1)), axis=1)
        lows = orders[np.arange(dimensions), lows]
    return lows, lows + random.integers(0, domain - lows, endpoint=True)


@dataclass(frozen=True)
class Rectangles:
    """Rectangles as subscriptions, on the attributes x0, x1, … of checked events.

    >>> workload = Rectangles(*rectangles(1_000, 2, seed=1))
    >>> print(next(workload.filters()))
    x0 >= ... AND x0 <= ... AND x1 >= ... AND x1 <= ...
    """

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    domain: int = DOMAIN

    def __len__(self) -> int:
        return len(self.lows)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes, one for each dimension."""
        return tuple([f"x{k}" for k in range(self.lows.shape[1])])

    @property
    def schema(self) -> Schema:
        """Every attribute is there, and in the domain."""
        own = Attribute("bigint", nullable=False, low=0, high=self.domain)
        return Schema(dict.fromkeys(self.names, own), checked=True)

    def filters(self) -> Iterator[Filter]:
        """The subscriptions, as filters that share one tree."""
        sides = [
            Predicate(name, operator, (Slot(2 * k + side),))
            for k, name in enumerate(self.names)
            for side, operator in enumerate((Operator.AT_LEAST, Operator.AT_MOST))
        ]
        template, schema = Template(And(tuple(sides)), slots=len(sides)), self.schema
        ends = np.stack([self.lows, self.highs], axis=2).reshape(len(self), -1)
        for row in ends.tolist():
            yield Filter(template, [*row], schema)

    def table(self) -> pa.Table:
        """The subscriptions as `add_many` reads them: one text, and its parameters."""
        text = " AND ".join(f"{name} BETWEEN :{name}_low AND :{name}_high" for name in self.names)
        columns = {
            "id": pa.array(np.arange(len(self))),
            "filter": pa.DictionaryArray.from_arrays(np.zeros(len(self), np.int8), [text]),
        }
        for k, name in enumerate(self.names):
            columns[f"{name}_low"] = pa.array(self.lows[:, k])
            columns[f"{name}_high"] = pa.array(self.highs[:, k])
        return pa.table(columns)

    def events(self, count: int, seed: int = 0) -> pa.Table:
        """Points that are uniform in the domain; the paper has no events."""
        random = np.random.default_rng([seed, 1])
        drawn = random.integers(0, self.domain, (len(self.names), count), endpoint=True)
        return pa.table(dict(zip(self.names, map(pa.array, drawn), strict=True)))

    @property
    def ranges(self) -> Ranges:
        """The ends of every subscription on every attribute."""
        return {name: (self.lows[:, k], self.highs[:, k]) for k, name in enumerate(self.names)}

    def points(self, events: pa.Table) -> Points:
        """The values of events, in the type of the ranges."""
        return {name: events[name].to_numpy() for name in self.names}
