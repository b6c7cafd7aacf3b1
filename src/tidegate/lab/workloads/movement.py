"""What is known of subscriptions that move, before a network carries them?

The experiments of Jayaram, Jayalath and Eugster, "Parametric Subscriptions for Content-Based
Publish/Subscribe Networks" (2010), section 5, are of one form: brokers in a tree; publishers, each
of which advertises what it publishes; subscribers, whose filters follow variables; and, drawn
beforehand from a seed, what is published when, and which variables move when. `trading` and
`highway` are such workloads; `reaction` runs them.

Invariant: however a network does it, all that happens to it is the same for the same seed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.filters.schema import Schema
from tidegate.simulate.topology import Topology

Values: TypeAlias = Mapping[str, Any]
"""Parameters, or attributes, by name."""

Columns: TypeAlias = Mapping[str, NDArray[Any]]
"""Events, an array for each attribute."""

NUMBER = "number"
"""The attribute by which events are told apart: 0, 1, 2 and so on."""


@dataclass(frozen=True, slots=True)
class Publisher:
    """A client that publishes, and the filter that it advertises."""

    name: str
    broker: str
    advertises: str


@dataclass(frozen=True, slots=True)
class Mover:
    """A subscription of a client: a text with parameters. Those in `start` are variables."""

    client: str
    broker: str
    text: str
    fixed: Values
    start: Values


@dataclass(frozen=True, slots=True)
class Published:
    """An event, when it is published, in seconds, and by which of the publishers."""

    time: float
    publisher: int
    event: Values


@dataclass(frozen=True, slots=True)
class Move:
    """The values of a mover's variables from a time on, in seconds."""

    time: float
    mover: int
    values: Values


class Movement(Protocol):
    """A workload of subscriptions that move."""

    @property
    def name(self) -> str:
        """What it is about."""

    @property
    def schema(self) -> Schema:
        """That of its events."""

    @property
    def topology(self) -> Topology:
        """The brokers."""

    @property
    def publishers(self) -> Sequence[Publisher]:
        """Who publishes."""

    @property
    def movers(self) -> Sequence[Mover]:
        """All subscriptions; a client may have several."""

    def events(self, rate: float, seconds: float, /) -> list[Published]:
        """So many events a second, evenly spaced, numbered from 0 on."""

    def moves(self, rate: float, seconds: float, /) -> list[Move]:
        """So many moves a second of all subscriptions together, at random times, in order."""

    def wanted(self, mover: int, values: Values, columns: Columns, /) -> NDArray[np.bool_]:
        """Which events a mover wants when its variables have these values: without any filter."""


def columns(events: Sequence[Published], schema: Schema) -> Columns:
    """Events as arrays.

    >>> made = [Published(0.5, 0, {"x": 3, "number": 0})]
    >>> columns(made, Schema({"x": "bigint", "number": "bigint"}))["x"].tolist()
    [3]
    """
    return {name: np.array([each.event[name] for each in events]) for name in schema}
