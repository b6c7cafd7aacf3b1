"""What has happened, in numbers?

Everything is counted per broker and per lane while a network runs; here it is put together. A
`Result` is plain data: its JSON is the same, byte by byte, for the same run, unless costs were
measured.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tidegate.overlay.work import Tally, Work
from tidegate.simulate.clock import SECOND
from tidegate.simulate.link import KINDS, Lane, total
from tidegate.simulate.network import Network
from tidegate.simulate.node import Node
from tidegate.simulate.oracle import Oracle

FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class BrokerCounters:
    """One broker. Times are in seconds."""

    name: str
    clients: int
    entries: int  # of its routing table
    forwarded: int  # filters that it forwards, to all neighbours together
    passive: int  # filters that it keeps and does not forward as they are, for all neighbours
    messages: dict[str, int]  # sent to other brokers, by kind
    bytes: dict[str, int]  # the same
    received: int  # messages of other brokers
    handled: int  # inputs
    work: dict[str, int]  # see overlay.work.Work
    tally: dict[str, int]  # see overlay.work.Tally
    busy: float  # how long it has worked
    queue: int  # the longest its queue has been
    saturated: int  # events dropped because its queue was full
    discarded: int  # inputs lost by a crash
    published: int  # events of its clients
    unpublished: int  # events that its clients could not publish, because it was down
    deliveries: int  # events handed to its clients
    notifications: int  # subscriptions that they were handed for
    spurious: int  # notifications that its clients no longer wanted, and have not handed on
    delay: float  # from publication to delivery, on the average
    slowest: float  # delivery
    recovery: float  # from restarts until it and its neighbours had nothing left to tell each other
    vain: int  # events that neighbours sent to it, and nobody at or behind it was handed
    owed: int | None  # notifications, by the oracle; None if it was off
    missed: int | None
    early: int | None
    duplicated: int | None


@dataclass(frozen=True, slots=True)
class LaneCounters:
    """One direction of a link."""

    start: str
    end: str
    messages: dict[str, int]  # by kind
    bytes: dict[str, int]  # by kind
    arrived: int
    lost: int
    under_way: int
    vain: int  # events that nobody behind it was handed


@dataclass(frozen=True, slots=True)
class Result:
    """A network's counters at a time, in seconds."""

    name: str
    seed: int | None
    time: float
    reproducible: bool
    costs: dict[str, Any]
    policy: dict[str, Any]
    totals: dict[str, Any]
    brokers: tuple[BrokerCounters, ...]
    lanes: tuple[LaneCounters, ...]

    def json(self) -> str:
        """All of it as JSON, with its keys in a fixed order."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"


def count(network: Network, name: str = "", seed: int | None = None) -> Result:
    """The counters of a network as it is now."""
    brokers = tuple(_broker(node, network.oracle) for node in network.nodes.values())
    lanes = tuple(
        _lane(start, end, lane)
        for start, node in network.nodes.items()
        for end, lane in node.outgoing.items()
    )
    return Result(
        name,
        seed,
        network.now,
        not network.costs.measured,
        asdict(network.costs),
        asdict(network.policy),
        _totals(network, brokers, lanes),
        brokers,
        lanes,
    )


def _broker(node: Node, oracle: Oracle | None) -> BrokerCounters:
    done, routing = node.done, node.broker.routing
    neighbours = [link for link in routing.links.values() if not link.client]
    verdicts = None if oracle is None else oracle.verdicts
    at = node.number
    sent = total(lane.traffic for lane in node.outgoing.values())
    return BrokerCounters(
        name=node.name,
        clients=len(node.seats),
        entries=len(routing.wanted),
        forwarded=sum(len(link.wanted.active) for link in neighbours),
        passive=sum(link.wanted.passive for link in neighbours),
        messages={kind: messages for kind, (messages, _) in sent.items()},
        bytes={kind: size for kind, (_, size) in sent.items()},
        received=sum(lane.traffic.arrived for lane in node.incoming.values()),
        handled=done.handled,
        work=_sum(done.work, node.broker.work),
        tally=_sum(done.tally, node.broker.tally),
        busy=done.busy / SECOND,
        queue=done.longest,
        saturated=done.saturated,
        discarded=done.discarded,
        published=done.published,
        unpublished=done.unpublished,
        deliveries=done.deliveries,
        notifications=done.notifications,
        spurious=sum(seat.client.spurious for seat in node.seats.values()),
        delay=done.delay / SECOND / done.deliveries if done.deliveries else 0.0,
        slowest=done.slowest / SECOND,
        recovery=done.recovery / SECOND,
        vain=sum(lane.traffic.vain for lane in node.incoming.values()),
        owed=None if verdicts is None else verdicts.owed[at],
        missed=None if verdicts is None else verdicts.missed[at],
        early=None if verdicts is None else verdicts.early[at],
        duplicated=None if verdicts is None else verdicts.duplicated[at],
    )


def _lane(start: str, end: str, lane: Lane) -> LaneCounters:
    traffic = lane.traffic
    return LaneCounters(
        start,
        end,
        {name: traffic.messages[kind] for kind, name in KINDS.items()},
        {name: traffic.bytes[kind] for kind, name in KINDS.items()},
        traffic.arrived,
        traffic.lost,
        lane.under_way,
        traffic.vain,
    )


def _totals(
    network: Network, brokers: tuple[BrokerCounters, ...], lanes: tuple[LaneCounters, ...]
) -> dict[str, Any]:
    traffic = total(x.traffic for node in network.nodes.values() for x in node.outgoing.values())
    delays = np.frombuffer(network.service.delays, np.int64)
    found: dict[str, Any] = {
        "brokers": len(brokers),
        "clients": len(network.clients),
        "subscriptions": sum(len(client.wanted) for client in network.clients.values()),
        "messages": {kind: messages for kind, (messages, _) in traffic.items()},
        "bytes": {kind: size for kind, (_, size) in traffic.items()},
    }
    for name in ("arrived", "lost", "under_way"):
        found[name] = sum(getattr(lane, name) for lane in lanes)
    for each in fields(BrokerCounters):
        if each.name in _SUMMED:
            found[each.name] = _all(getattr(broker, each.name) for broker in brokers)
    found["work"] = {unit: sum(broker.work[unit] for broker in brokers) for unit in brokers[0].work}
    found["delay"] = {
        "mean": float(delays.mean()) / SECOND if len(delays) else 0.0,
        **{f"p{percent}": _percentile(delays, percent) for percent in (50, 95, 99)},
        "max": int(delays.max()) / SECOND if len(delays) else 0.0,
    }
    return found


_SUMMED: Final = {
    "entries",
    "forwarded",
    "passive",
    "handled",
    "saturated",
    "discarded",
    "published",
    "unpublished",
    "deliveries",
    "notifications",
    "spurious",
    "vain",
    "owed",
    "missed",
    "early",
    "duplicated",
}


def _all(counts: Iterable[int | None]) -> int | None:
    """The sum, if there is something to add up."""
    known = [each for each in counts if each is not None]
    return sum(known) if known else None


def _percentile(delays: NDArray[np.int64], percent: int) -> float:
    """The least delay that so many of a hundred deliveries did not exceed."""
    if not len(delays):
        return 0.0
    rank = -(-len(delays) * percent // 100) - 1
    return int(np.partition(delays, rank)[rank]) / SECOND


def _sum(first: Work | Tally, second: Work | Tally) -> dict[str, int]:
    names = (each.name for each in fields(first))
    sums = (a + b for a, b in zip(astuple(first), astuple(second), strict=True))
    return dict(zip(names, sums, strict=True))
