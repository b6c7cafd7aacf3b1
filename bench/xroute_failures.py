"""What is a network across the Internet like, and how long does it take to get over failures?

The experiments of Chand, "Large scale diffusion of information in Publish/Subscribe systems"
(2005), section 6.2.5, in the simulator, so every run gives the same: `lab.experiments.planetlab`
says what is there. `tidegate lab run xnet-planetlab xnet-recovery xnet-failover` has all of it.

**The least and the most** (Table 6.9): what an event takes that all consumers want, and a
registration of what matches everything; how many events the producer can publish at once, and how
many patterns a consumer node can register, until all have come, in a second. Delays of links are
given to fit the table; times of brokers are those of the cost model, of a machine of today.

**Recovery** (Table 6.11): a router crashes for minutes while a consumer arrives every second;
measured from its return until nothing is left to be told. **Failover** (Figs. 6.21, 6.22): router 8
dies, and 18 and 19 turn to backups; measured until all is told and what came from 8 is forgotten,
without the ticks that brokers wait on purpose. With those, it beats waiting for the router to come
back where that takes longer than the ticks and what failing over takes more. **Syncing**: what it
takes to write a change to disk and wait until it is safe, one by one and many together; that is
wall-clock time of this machine.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from statistics import mean, pstdev
from typing import TYPE_CHECKING

from bench.figure import Figure
from tidegate.lab.experiments.planetlab import (
    BACKUPS,
    LAN,
    LINKS,
    PATIENCE,
    Deployment,
    homes,
    way,
)
from tidegate.lab.experiments.printed import printed
from tidegate.lab.workloads.dtds import news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.network.disk import Disk
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import Change, Entry, Persist
from tidegate.overlay.patterns import Patterns
from tidegate.overlay.storage import Keeper

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.lab.experiments.xroute_overlay import Consumers

LARGE = int(os.environ.get("TIDEGATE_XROUTE", "5000")) >= 20_000  # as `xroute` reads it
POPULATIONS = (1_000, 5_000) if LARGE else (1_000,)
CRASHES = (60, 300)  # seconds
BURST = 1_000 if LARGE else 200  # events that are published at once
REGISTERED = 100  # patterns that are registered at once
SHARE = 0.03  # of the crash, at most
RECORDS = 200


def run(consumers: Consumers) -> Iterator[Figure]:
    """The overlay, recovery, failover, and what safety on disk costs."""
    yield from least_and_most(consumers)
    yield from recovery(consumers)
    yield from failover(consumers)
    yield from syncing(consumers)


def least_and_most(consumers: Consumers) -> Iterator[Figure]:
    """Table 6.9."""
    delays = [ms for name, (above, ms) in LINKS.items() if (above, name) != LAN]
    yield Figure(
        "xroute: a link across the Internet",
        mean(delays),
        None,
        None,
        "ms",
        note=f"standard deviation {pstdev(delays):.2f}, from {min(delays)} to {max(delays)};"
        " printed 54.135, 28.18, 8.47 and 123.67",
    )
    deployed = Deployment(consumers, 0)
    links = mean(way(home) for home in homes())
    told = mean(deployed.wildcards())
    reached = mean(took for took, _ in deployed.publish("<nitf/>"))
    for what, took, theirs in (("an event", reached, 160.63), ("a registration", told, 169.64)):
        yield Figure(
            f"xroute: least delay of {what}",
            took,
            links,
            links / took,
            "ms",
            note=f"baseline links alone; printed {theirs}",
        )
    source = DocumentSource(news(), DocumentChoices(tags=22), seed=4)
    for what, documents, printed_rate in (
        ("of one element", ["<nitf/>"] * BURST, 53.13),
        ("of 22 tag pairs", [source.draw() for _ in range(BURST)], 30.28),
    ):
        seconds = deployed.burst(documents)
        yield Figure(
            f"xroute: events {what} at once",
            BURST / seconds,
            None,
            None,
            "events/s",
            note=f"{BURST:,} to all consumers; printed {printed_rate}",
        )
    texts = [f"//{name}" for name in list(news().elements)[:REGISTERED]]
    rates = [len(texts) / Deployment(consumers, 0).register_burst(home, texts) for home in homes()]
    yield Figure(
        "xroute: registrations of a consumer node at once",
        mean(rates),
        None,
        None,
        "registrations/s",
        note=f"{len(texts)} of one element; printed 18.56",
    )


def recovery(consumers: Consumers) -> Iterator[Figure]:
    """How long a router takes to catch up, beside how long it was away."""
    for population in POPULATIONS:
        deployed = Deployment(consumers, population)
        for router in ("b2", "b19"):
            for seconds in CRASHES:
                took = deployed.crash(router, seconds)
                theirs = printed(f"xnet-table6.11-{router[1:]}")
                column = theirs.series.get(f"router {router[1:]}, {seconds} s")
                place = theirs.x.index(population) if population in theirs.x else None
                told = "" if column is None or place is None else f", printed {column[place]}%"
                yield Figure(
                    f"xroute: recovery of {router} after {seconds} s, {population:,} consumers",
                    took * 1e3,
                    seconds * 1e3,
                    seconds / took,
                    "ms",
                    note=f"baseline the crash; {took / seconds:.2%} of it{told}",
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
        back = Deployment(consumers, population).crash("b8", 60)
        yield Figure(
            f"xroute: failover beside recovery after 60 s, {population:,} consumers",
            took[2] * 1e3,
            back * 1e3,
            back / took[2],
            "ms",
            note="baseline recovery, after a minute without the router",
        )
        yield Figure(
            f"xroute: away for longer, failover beats recovery, {population:,} consumers",
            PATIENCE + took[2] - back,
            None,
            None,
            "s",
            note=f"brokers wait {PATIENCE:g} s before they turn to a backup",
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
