"""How long does a network take to get over the failure of a router?

The experiments of Chand, "Large scale diffusion of information in Publish/Subscribe systems"
(2005), section 6.2.5, on a tree like that of Fig. 6.18 (`docs/scenarios/planetlab.toml`), in the
simulator: delays of links are those of Table 6.9, and times of brokers those of the cost model, so
every run gives the same.

**Recovery** (Table 6.11): a router crashes for minutes while a consumer arrives every second;
measured from its return until nothing is left to be told. **Failover** (Figs. 6.21, 6.22): router 8
dies, and 18 and 19 turn to backups; measured until all is told and what came from 8 is forgotten,
without the ticks that brokers wait on purpose. **Syncing**: what it takes to write
a change to disk and wait until it is safe, one by one and many together; that is wall-clock time of
this machine.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from bench.figure import Figure
from tidegate.network.disk import Disk
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import Change, Entry, Persist
from tidegate.overlay.patterns import Patterns
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings
from tidegate.overlay.storage import Keeper
from tidegate.overlay.upstream import Parents
from tidegate.simulate.cost import DOCUMENT, CostModel
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.scenario import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tidegate.lab.experiments.xroute_overlay import Consumers
    from tidegate.simulate.topology import Topology

SCENARIO = Path(__file__).parents[1] / "docs" / "scenarios" / "planetlab.toml"
POPULATIONS = (1_000, 5_000)
CRASHES = (60, 300)  # seconds
PRINTED = {
    ("b2", 60, 1_000): 1.06,
    ("b2", 60, 5_000): 1.26,
    ("b2", 300, 1_000): 1.19,
    ("b2", 300, 5_000): 1.17,
    ("b19", 60, 1_000): 0.51,
    ("b19", 60, 5_000): 0.73,
    ("b19", 300, 1_000): 0.88,
    ("b19", 300, 5_000): 1.09,
}  # percent, Table 6.11
BACKUPS = {1: {"b18": ["b3"], "b19": ["b3"]}, 2: {"b18": ["b7"], "b19": ["b2"]}}
PATIENCE, FORGET = 3, 6  # ticks of a second
PAUSE = 0.25  # seconds
SHARE = 0.03  # of the crash, at most
RECORDS = 200


def tree(backups: Mapping[str, list[str]]) -> Topology:
    """The tree of the scenario, with these backups."""
    found = load(SCENARIO).topology
    upstream = {
        name: Parents(above.parent, tuple(backups.get(name, ())))
        for name, above in found.upstream.items()
        if isinstance(above, Parents)
    }
    return replace(found, upstream=upstream)


class Deployment:
    """The network with a population of consumers."""

    def __init__(
        self, consumers: Consumers, population: int, backups: Mapping[str, list[str]]
    ) -> None:
        shape = tree(backups)
        settings = Settings(patience=PATIENCE, forget=FORGET if backups else None)
        costs = CostModel(content=DOCUMENT)
        self.net = Network(shape, Patterns(), Choice("xroute"), settings, Setup(check="off"), costs)
        inner = {above.parent for above in shape.upstream.values() if isinstance(above, Parents)}
        homes = [name for name in shape.names if name not in inner]
        self._random = Random(7)
        self._consumers = consumers
        self._clients = [self.net.client(f"c{i}", home) for i, home in enumerate(homes)]
        for _ in range(population):
            self.arrive()
            self.net.run()

    def arrive(self) -> None:
        """Another consumer registers a pattern."""
        self._random.choice(self._clients).subscribe(self._consumers.draw()[1])

    def crash(self, router: str, seconds: int) -> float:
        """Crash a router for so long, while consumers arrive; how long the recovery takes then."""
        net, began = self.net, self.net.now
        net.crash(router)
        for second in range(seconds):
            net.run(began + second)
            self.arrive()
        net.run(began + seconds)
        net.restart(router)
        net.run()
        return net.now - began - seconds

    def lose(self, router: str) -> float:
        """Lose a router for good; how long it takes until all is right, but for waiting.

        That is the time in which messages arrive: pauses of a quarter of a second and more, twice
        the slowest link, are those in which brokers wait for ticks.
        """
        net, began = self.net, self.net.now
        arrived: list[float] = []
        net.watch(lambda start, end, message: arrived.append(net.now))
        assert router in net.nodes["b18"].broker.routing.links, "it was left before it failed"
        net.die(router)
        net.run(began + 4 * FORGET)
        net.run()
        net.watch(None)
        assert not any(router in node.broker.routing.links for node in net.nodes.values())
        steps = (later - sooner for sooner, later in pairwise(arrived))
        return sum(step for step in steps if step < PAUSE)


def run(consumers: Consumers) -> Iterator[Figure]:
    """Recovery, failover, and what safety on disk costs."""
    yield from recovery(consumers)
    yield from failover(consumers)
    yield from syncing(consumers)


def recovery(consumers: Consumers) -> Iterator[Figure]:
    """How long a router takes to catch up, beside how long it was away."""
    for population in POPULATIONS:
        deployed = Deployment(consumers, population, {})
        for router in ("b2", "b19"):
            for seconds in CRASHES:
                took = deployed.crash(router, seconds)
                printed = PRINTED[router, seconds, population]
                yield Figure(
                    f"xroute: recovery of {router} after {seconds} s, {population:,} consumers",
                    took * 1e3,
                    seconds * 1e3,
                    seconds / took,
                    "ms",
                    note=f"baseline the crash; {took / seconds:.2%} of it, printed {printed}%",
                    aim=f"at most {SHARE:.0%} of the crash",
                    met=took <= SHARE * seconds,
                )


def failover(consumers: Consumers) -> Iterator[Figure]:
    """One backup for two routers, or one for each; and when waiting would have been better."""
    for population in POPULATIONS:
        took = {
            which: Deployment(consumers, population, backups).lose("b8")
            for which, backups in BACKUPS.items()
        }
        yield Figure(
            f"xroute: failover to two backups, {population:,} consumers",
            took[2] * 1e3,
            took[1] * 1e3,
            took[1] / took[2],
            "ms",
            note="baseline to one (scenario 1); printed: slower, both below a minute",
        )
        back = Deployment(consumers, population, {}).crash("b8", 60)
        yield Figure(
            f"xroute: failover beside recovery after 60 s, {population:,} consumers",
            took[2] * 1e3,
            back * 1e3,
            back / took[2],
            "ms",
            note="baseline recovery, after a minute without the router",
        )


def syncing(consumers: Consumers) -> Iterator[Figure]:
    """What a change costs on disk."""
    kind = Patterns()
    records = [
        Persist("c", Change(i + 1, add=(Entry(i, consumers.draw()[1]),))) for i in range(RECORDS)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        with Disk(path, "a", kind) as disk:
            Keeper.begin(Broker("a", kind), disk, every=10**9)
            began = time.perf_counter()
            for record in records:
                disk.write([record])
            single = time.perf_counter() - began
            began = time.perf_counter()
            disk.write(records)
            together = time.perf_counter() - began
    yield Figure(
        "xroute: write a change to disk, synced with others",
        together / RECORDS * 1e6,
        single / RECORDS * 1e6,
        single / together,
        "µs",
        note=f"baseline synced one by one; {RECORDS} changes",
    )
