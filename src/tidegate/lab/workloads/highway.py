"""What does a car on the highway want to know, wherever it is?

Highway traffic management as Jayaram, Jayalath and Eugster describe it in "Parametric Subscriptions
for Content-Based Publish/Subscribe Networks" (2010), section 5.4: 20 brokers, each of which is in
charge of a stretch of 10 miles, in an overlay that is connected and no hierarchy; 10 sensors at
each, 200 publishers in all. A car is a client of the broker that it passes, and subscribes to what
is reported from around it. As it drives, that moves.

The paper prints neither the map, nor what cars ask for. It says that 40% of the operators are `>=`,
40% `<=`, and 20% `=`: a rectangle around the car, and one thing that is asked for, are just that.
All else that it leaves open are the parameters of `Highway`.

Invariant: sensors stay where they are; a car stays in the area of its broker.
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

_AROUND: Final = "x >= :west AND x <= :east AND y >= :south AND y <= :north AND reports = :reports"


@dataclass(frozen=True)
class Highway:
    """A region with its brokers, sensors and cars.

    >>> region = Highway(seed=1)
    >>> len(region.topology.names), len(region.publishers), len(region.movers)
    (20, 200, 300)
    >>> print(region.movers[0].text)
    x >= :west AND x <= :east AND y >= :south AND y <= :north AND reports = :reports
    """

    seed: int = 1

    across: int = 5
    down: int = 4
    """The region is a grid of areas, each with a broker: the paper's 20."""

    miles: float = 10.0
    """The side of an area: the paper's length of a highway that one broker controls."""

    sensors: int = 10
    """Publishers at each broker, anywhere in its area."""

    cars: int = 300
    """Subscribers, at the brokers in turn. The paper reckons with 1,000 and more at each broker; a
    simulation of all of them would take hours, and rates of updates are given directly.
    """

    things: int = 2
    """What sensors report, each one of them: traffic and weather. With more, a car waits longer for
    the first report that is new to it, and less is seen of how soon the network reacts.
    """

    sight: float = 5.0
    """How far around it a car looks, in miles: half an area, so that it sees into the next ones."""

    stride: float = 2.0
    """How far a car drives between two updates: two minutes at 60 miles an hour."""

    @property
    def name(self) -> str:
        """What it is about."""
        return "highway"

    @property
    def schema(self) -> Schema:
        """That of reports."""
        kinds = {"x": "double", "y": "double", "reports": "string", "level": "bigint"}
        return Schema({**kinds, NUMBER: "bigint"})

    @cached_property
    def topology(self) -> Topology:
        """A tree that spans the grid, drawn at random: no broker is above the others."""
        random = np.random.default_rng([self.seed, 0])
        places = [(i, j) for j in range(self.down) for i in range(self.across)]
        joined, edges = {places[0]}, []
        while len(joined) < len(places):
            roads = [
                (here, there)
                for here in sorted(joined)
                for there in (
                    *((here[0] + 1, here[1]), (here[0] - 1, here[1])),
                    *((here[0], here[1] + 1), (here[0], here[1] - 1)),
                )
                if there in places and there not in joined
            ]
            here, there = roads[int(random.integers(len(roads)))]
            joined.add(there)
            edges.append(Edge(_broker(*here), _broker(*there)))
        return Topology(tuple(_broker(*place) for place in places), tuple(edges))

    @cached_property
    def publishers(self) -> Sequence[Publisher]:
        """The sensors; each advertises reports of its kind from its broker's area."""
        found: list[Publisher] = []
        for broker, (left, low) in self._corners.items():
            ends = (
                f"x >= {left} AND x <= {left + self.miles} "
                f"AND y >= {low} AND y <= {low + self.miles}"
            )
            for i in range(self.sensors):
                kind = _thing(i % self.things)
                found.append(
                    Publisher(f"sensor{len(found)}", broker, f"{ends} AND reports = '{kind}'")
                )
        return found

    @cached_property
    def movers(self) -> Sequence[Mover]:
        """One subscription of each car."""
        brokers = self.topology.names
        return [
            Mover(
                f"car{i}",
                brokers[i % len(brokers)],
                _AROUND,
                {"reports": _thing(i // len(brokers) % self.things)},
                self._around(*place),
            )
            for i, place in enumerate(self._starts)
        ]

    def events(self, rate: float, seconds: float, /) -> list[Published]:
        """Reports of sensors drawn at random."""
        random = np.random.default_rng([self.seed, 1])
        count = round(rate * seconds)
        who = random.integers(0, len(self.publishers), count).tolist()
        levels = random.integers(0, 100, count).tolist()
        found = []
        for i, (sensor, level) in enumerate(zip(who, levels, strict=True)):
            x, y = self._sensors[sensor]
            kind = _thing(sensor % self.sensors % self.things)
            event = {"x": x, "y": y, "reports": kind, "level": level, NUMBER: i}
            found.append(Published((i + 0.5) / rate, sensor, event))
        return found

    def moves(self, rate: float, seconds: float, /) -> list[Move]:
        """Cars drive straight on, along x or y, and turn at the end of their broker's area."""
        random = np.random.default_rng([self.seed, 2])
        count = round(rate * seconds)
        times = np.sort(random.random(count) * seconds).tolist()
        who = random.integers(0, self.cars, count).tolist()
        axes = random.integers(0, 2, self.cars).tolist()
        ways = random.choice((-self.stride, self.stride), self.cars).tolist()
        places = [list(place) for place in self._starts]
        found = []
        for time, car in zip(times, who, strict=True):
            axis = axes[car]
            corner = self._corners[self.movers[car].broker][axis]
            if not corner <= places[car][axis] + ways[car] <= corner + self.miles:
                ways[car] = -ways[car]
            places[car][axis] = round(places[car][axis] + ways[car], 3)
            found.append(Move(time, car, self._around(*places[car])))
        return found

    def wanted(self, mover: int, values: Values, columns: Columns, /) -> NDArray[np.bool_]:
        """Which reports a car wants at this place."""
        x, y = columns["x"], columns["y"]
        found: NDArray[np.bool_] = (
            (x >= values["west"])
            & (x <= values["east"])
            & (y >= values["south"])
            & (y <= values["north"])
            & (columns["reports"] == self.movers[mover].fixed["reports"])
        )
        return found

    @cached_property
    def _corners(self) -> dict[str, tuple[float, float]]:
        """The lower left corner of each broker's area."""
        return {
            _broker(i, j): (i * self.miles, j * self.miles)
            for j in range(self.down)
            for i in range(self.across)
        }

    @cached_property
    def _sensors(self) -> list[tuple[float, float]]:
        """Where the sensors are."""
        return self._scattered(3, [each.broker for each in self.publishers])

    @cached_property
    def _starts(self) -> list[tuple[float, float]]:
        """Where the cars begin."""
        brokers = self.topology.names
        return self._scattered(4, [brokers[i % len(brokers)] for i in range(self.cars)])

    def _scattered(self, stream: int, brokers: Sequence[str]) -> list[tuple[float, float]]:
        """A place in the area of each broker."""
        random = np.random.default_rng([self.seed, stream])
        drawn = (random.random((len(brokers), 2)) * self.miles).round(3).tolist()
        corners = [self._corners[broker] for broker in brokers]
        return [
            (round(left + x, 3), round(low + y, 3))
            for (left, low), (x, y) in zip(corners, drawn, strict=True)
        ]

    def _around(self, x: float, y: float) -> Values:
        """The rectangle that a car at a place looks at."""
        return {
            "west": round(x - self.sight, 3),
            "east": round(x + self.sight, 3),
            "south": round(y - self.sight, 3),
            "north": round(y + self.sight, 3),
        }


def _broker(i: int, j: int) -> str:
    return f"area{i}.{j}"


def _thing(number: int) -> str:
    return ("traffic", "weather")[number] if number < 2 else f"thing{number}"
