"""What do traders wait for, whose limits follow the market?

Algorithmic trading as Jayaram, Jayalath and Eugster describe it in "Parametric Subscriptions for
Content-Based Publish/Subscribe Networks" (2010), section 5.5: 20 brokers in a hierarchy, a market
data system at the top, clearing houses below it, and brokerages below those; 5 publishers, 150
subscribers, 200 types of events. Publishers are at the top and subscribers at the bottom, so that
there are three brokers between them. A trader waits for quotes of a type whose price is at most, at
least, or exactly a limit, and the limit moves.

The paper prints no more than that and the shares of the operators, not all of which are legible.
What it leaves open are the parameters of `Trading`.

Invariant: of a quote, a trader wants its own type only, whatever its limit is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tidegate.filters.schema import Schema
from tidegate.lab.workloads.movement import (
    NUMBER,
    Columns,
    Move,
    Mover,
    Published,
    Publisher,
    Values,
)
from tidegate.simulate.topology import Edge, Topology

_OPERATORS: Final = ("<=", ">=", "=")


@dataclass(frozen=True)
class Trading:
    """A market: who is in it, and what moves.

    >>> market = Trading(seed=1)
    >>> len(market.topology.names), len(market.publishers), len(market.movers)
    (20, 5, 1500)
    >>> print(market.movers[0].text)
    type = :type AND price >= :limit
    """

    seed: int = 1

    houses: int = 4
    """Clearing houses, under the one broker at the top; four of those that the paper names."""

    firms: int = 15
    """Brokerages, under the houses in turn: with the others, the paper's 20 brokers."""

    exchanges: int = 5
    """Publishers, all at the top. Each has a share of the types, and advertises it."""

    subscribers: int = 150
    """Traders, at the brokerages in turn."""

    types: int = 200
    """Types of events: quotes of commodities, predictions, and so on."""

    portfolio: int = 10
    """Subscriptions of a trader. The paper has portfolios, and does not say how large they are; its
    algorithm is told for one subscription of each client.
    """

    skew: float = 1.0
    """The exponent of Zipf's law by which types are quoted and wanted. Some are traded far more
    than others, and limits on those move while quotes come; 0: all alike.
    """

    levels: int = 100
    """Different prices of a type, all equally likely: few enough for equalities to match."""

    at_most: float = 0.35
    at_least: float = 0.33
    """The shares of `<=` and `>=`, as far as the paper is legible; the others are equalities."""

    step: float = 0.5
    """How far a limit moves at most, up or down, as a share of the prices. Large enough for a new
    event to come soon: what is measured is when it does.
    """

    @property
    def name(self) -> str:
        """What it is about."""
        return "trading"

    @property
    def schema(self) -> Schema:
        """That of quotes."""
        return Schema({"type": "string", "price": "bigint", NUMBER: "bigint"})

    @cached_property
    def topology(self) -> Topology:
        """A hierarchy of three levels."""
        houses = [f"house{i}" for i in range(self.houses)]
        firms = [f"firm{i}" for i in range(self.firms)]
        edges = [Edge("market", house) for house in houses]
        edges += [Edge(houses[i % self.houses], firm) for i, firm in enumerate(firms)]
        return Topology(("market", *houses, *firms), tuple(edges))

    @cached_property
    def publishers(self) -> Sequence[Publisher]:
        """The exchanges."""
        found = []
        for i in range(self.exchanges):
            own = ", ".join(f"'T{kind}'" for kind in range(i, self.types, self.exchanges))
            found.append(Publisher(f"exchange{i}", "market", f"type IN ({own})"))
        return found

    @cached_property
    def movers(self) -> Sequence[Mover]:
        """The subscriptions of all traders."""
        random = np.random.default_rng([self.seed, 0])
        count = self.subscribers * self.portfolio
        shares = (self.at_most, self.at_least, 1 - self.at_most - self.at_least)
        operators = random.choice(len(_OPERATORS), count, p=shares).tolist()
        kinds = self._kinds(random, count).tolist()
        limits = random.integers(0, self.levels, count).tolist()
        return [
            Mover(
                f"trader{i // self.portfolio}",
                f"firm{i // self.portfolio % self.firms}",
                f"type = :type AND price {_OPERATORS[operators[i]]} :limit",
                {"type": f"T{kinds[i]}"},
                {"limit": limits[i]},
            )
            for i in range(count)
        ]

    def events(self, rate: float, seconds: float, /) -> list[Published]:
        """Quotes."""
        random = np.random.default_rng([self.seed, 1])
        count = round(rate * seconds)
        kinds = self._kinds(random, count).tolist()
        prices = random.integers(0, self.levels, count).tolist()
        return [
            Published(
                (i + 0.5) / rate,
                kinds[i] % self.exchanges,
                {"type": f"T{kinds[i]}", "price": prices[i], NUMBER: i},
            )
            for i in range(count)
        ]

    def moves(self, rate: float, seconds: float, /) -> list[Move]:
        """Limits go up and down, and turn at the ends of the prices."""
        random = np.random.default_rng([self.seed, 2])
        count = round(rate * seconds)
        times = np.sort(random.random(count) * seconds).tolist()
        who = random.integers(0, len(self.movers), count).tolist()
        far = max(1, round(self.step * self.levels))
        steps = (
            random.integers(1, far, count, endpoint=True) * random.choice((-1, 1), count)
        ).tolist()
        limits = [mover.start["limit"] for mover in self.movers]
        found = []
        for time, mover, by in zip(times, who, steps, strict=True):
            there = limits[mover] + by
            limits[mover] = there if 0 <= there < self.levels else limits[mover] - by
            found.append(Move(time, mover, {"limit": limits[mover]}))
        return found

    def wanted(self, mover: int, values: Values, columns: Columns, /) -> NDArray[np.bool_]:
        """Which quotes a trader wants with this limit."""
        own = self.movers[mover]
        price, limit = columns["price"], values["limit"]
        if own.text.endswith("<= :limit"):
            held = price <= limit
        elif own.text.endswith(">= :limit"):
            held = price >= limit
        else:
            held = price == limit
        found: NDArray[np.bool_] = held & (columns["type"] == own.fixed["type"])
        return found

    def _kinds(self, random: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Types, popular by Zipf's law."""
        weights = np.arange(1, self.types + 1, dtype=np.float64) ** -self.skew
        return random.choice(self.types, count, p=weights / weights.sum())
