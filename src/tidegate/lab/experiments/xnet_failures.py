"""How does a network across the Internet do, and how long does it take to get over failures?

Chand, "Large scale diffusion of information in Publish/Subscribe systems" (2005), section 6.2.5, in
the simulator: `planetlab` says what is there. All is in simulated time, so it is counted: links
take what the thesis measured, brokers what the cost model says.

- **xnet-planetlab** (Table 6.9, Fig. 6.19): how long events, registrations and cancellations take.
  A registration is over when the last broker has been told.
- **xnet-recovery** (Table 6.11, Fig. 6.20): a router crashes for minutes while a consumer arrives
  every second; from its return until nothing is left to be told.
- **xnet-failover** (Figs. 6.21, 6.22): router 8 dies, and 18 and 19 turn to backups; until all is
  told and what came from 8 is forgotten, without the ticks that brokers wait on purpose. Beside it,
  what the recovery of router 8 takes if it comes back instead.

The text of the thesis says seconds under Table 6.11, where its numbers are ms. Its producer's and
consumers' throughput are of its machines, and are not restated.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Final

from tidegate.lab.experiments.experiment import (
    Claim,
    Experiment,
    Plot,
    Point,
    Row,
    Size,
    Verdict,
    grid,
)
from tidegate.lab.experiments.planetlab import (
    LAN,
    LINKS,
    Deployment,
    homes,
    tried,
    way,
)
from tidegate.lab.experiments.printed import printed
from tidegate.lab.experiments.rows import Rows
from tidegate.lab.workloads.dtds import news, which_news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource

# Grids have the largest population first, since runs begin with the last points: it grows.
POPULATIONS: Final = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
CRASHES: Final = (60, 300, 600)  # seconds
ROUTERS: Final = {2: "b2", 19: "b19"}
LOST: Final = "b8"
TO_ONE, TO_TWO = "both to 3", "18 to 7, 19 to 2"
SCENARIOS: Final = {TO_ONE: 1, TO_TWO: 2}
BACK: Final = {f"8 is back after {seconds} s": seconds for seconds in CRASHES}
STATISTICS: Final = {
    "link": 54.135,
    "link_deviation": 28.18,
    "link_largest": 123.67,
    "link_smallest": 8.47,
    "minimal": 160.63,
}
"""What Table 6.9 prints, in ms."""
SHARE: Final = 0.03  # of the crash, that recovery takes at most
TYPICALLY: Final = 10.0  # seconds of a recovery, at most
MINUTE: Final = 60.0
ALIKE: Final = 1.3  # times, that delays of two routers may differ: no significant difference
CLOSE: Final = 180 / 160.63  # times the delay of links alone, of an event


def normal(point: Point, seed: int) -> Row:
    """Events, registrations and cancellations, beside the delay of links alone."""
    return tried(seed, int(point["population"]), 0, lambda there: _normal(there, point, seed))


def _normal(deployed: Deployment, point: Point, seed: int) -> Row:
    source = DocumentSource(news(), DocumentChoices(tags=22), seed)
    documents, changes = int(point["documents"]), int(point["tried"])
    events = [found for _ in range(documents) if (found := deployed.publish(source.draw()))]
    busiest = deployed.busiest()
    moved = [(deployed.register(), deployed.cancel()) for _ in range(changes)]
    registered, cancelled = [one for one, _ in moved], [other for _, other in moved]
    delays = [delay for name, (above, delay) in LINKS.items() if (above, name) != LAN]
    return {
        "link": fmean(delays),
        "link_deviation": pstdev(delays),
        "link_largest": max(delays),
        "link_smallest": min(delays),
        "minimal": fmean(way(home) for home in homes()),
        "routing": fmean(_mean(each, 0) for each in events),
        "routing_links": fmean(_mean(each, 1) for each in events),
        "registration": _mean(registered, 0),
        "cancellation": _mean(cancelled, 0),
        "registration_links": _mean(registered, 1),
        "cancellation_links": _mean(cancelled, 1),
        "events": documents / busiest,
    }


def _mean(delays: Sequence[tuple[float, float]], place: int) -> float:
    return fmean(each[place] for each in delays)


def recovery(point: Point, seed: int) -> Row:
    """Crash a router, and see how long it takes to catch up."""
    router, crash = ROUTERS[int(point["router"])], int(point["crash"])
    took = tried(seed, int(point["population"]), 0, lambda there: there.crash(router, crash))
    return {"recovery": took * 1e3, "percent": took / crash * 100}


def failover(point: Point, seed: int) -> Row:
    """Lose a router for good, or until it comes back."""
    way_out = str(point["way"])
    scenario = SCENARIOS.get(way_out, 0)

    def delay(there: Deployment) -> float:
        return there.lose(LOST) if scenario else there.crash(LOST, BACK[way_out])

    return {"delay": tried(seed, int(point["population"]), scenario, delay)}


# -- claims


def _overlay(rows: Rows) -> Verdict:
    pairs = [(rows.mean(name), value) for name, value in STATISTICS.items()]
    told = [f"{ours:.1f} (printed {theirs:g})" for ours, theirs in pairs]
    return Verdict.near(pairs, f"mean, deviation, largest, least, event: {', '.join(told)} ms")


def _routing(rows: Rows) -> Verdict:
    curve = rows.curve("population", "routing")
    times = [row["routing"] / row["routing_links"] for row in rows]
    met = [max(each.mean for each in curve) < 180, max(times) <= CLOSE]
    told = f"at most {max(each.mean for each in curve):.0f} ms"
    return Verdict.of(met, f"{told}, {max(times):.3f} times that of links alone")


def _changes(rows: Rows) -> Verdict:
    met, told = [], []
    for name in ("registration", "cancellation"):
        curve = rows.curve("population", name)
        rows.growth("population", name)
        beyond = [_beyond(rows, each.x, name) for each in curve]
        met += [max(each.mean for each in curve) < 300, beyond[-1] > beyond[0]]
        if len(curve) > 2:
            steps = zip(pairwise(beyond), pairwise(curve), strict=True)
            slopes = [(b - a) / (float(y.x) - float(x.x)) for (a, b), (x, y) in steps]
            met.append(slopes[-1] < slopes[0])
        told.append(f"{name} " + ", ".join(f"{each.mean:.0f}" for each in curve) + " ms")
    return Verdict.of(met, "; ".join(told))


def _beyond(rows: Rows, population: float | str, name: str) -> float:
    """What brokers take, beside links: those are not the same ones for each population."""
    own = rows.where(population=population)
    return own.mean(name) - own.mean(f"{name}_links")


def _links_share(rows: Rows) -> Verdict:
    shares = {
        name: min(row[f"{name}_links"] / row[name] for row in rows)
        for name in ("registration", "cancellation")
    }
    told = ", ".join(f"{name} {each:.0%}" for name, each in shares.items())
    return Verdict.of([each > 0.75 for each in shares.values()], f"at least: {told}")


def _table(rows: Rows) -> Verdict:
    pairs = []
    for row in rows:
        theirs = printed(f"xnet-table6.11-{row['router']}")
        own = theirs.series.get(_label(row["router"], row["crash"]))
        if own is not None and row["population"] in theirs.x:
            pairs.append((row["percent"], own[theirs.x.index(row["population"])]))
    if not pairs:
        raise LookupError("no population of the table")
    low, high = min(ours for ours, _ in pairs), max(ours for ours, _ in pairs)
    least, most = min(own for _, own in pairs), max(own for _, own in pairs)
    told = f"{low:.2f} to {high:.2f}% of the crash, printed {least} to {most}%"
    return Verdict.near(pairs, told)


def _label(router: int, crash: int) -> str:
    return f"router {router}, {crash} s"


def _three_percent(rows: Rows) -> Verdict:
    most = max(row["percent"] for row in rows)
    return Verdict.of([most <= SHARE * 100], f"at most {most:.2f}%")


def _few_seconds(rows: Rows) -> Verdict:
    below = [row["recovery"] < TYPICALLY * 1e3 for row in rows]
    most = max(row["recovery"] for row in rows) / 1e3
    return Verdict.of(
        [sum(below) > len(below) / 2], f"{sum(below)} of {len(below)}, at most {most:.1f} s"
    )


def _grows(rows: Rows) -> Verdict:
    crashes = rows.growth("crash", "recovery")
    populations = rows.growth("population", "recovery")
    met = [crashes[-1] > crashes[0], populations[-1] > populations[0]]
    return Verdict.of(
        met,
        f"by crash {', '.join(f'{each:.0f}' for each in crashes)} ms, by population "
        f"{', '.join(f'{each:.0f}' for each in populations)} ms",
    )


def _alike(rows: Rows) -> Verdict:
    times = []
    for row in rows.where(router=2):
        other = rows.where(router=19, population=row["population"], crash=row["crash"])
        times.append(row["recovery"] / other.mean("recovery"))
    alike = [1 / ALIKE <= each <= ALIKE for each in times]
    return Verdict.of(alike, f"router 2 {min(times):.2f} to {max(times):.2f} times router 19")


def _one_minute(rows: Rows) -> Verdict:
    one, two = (rows.where(way=name).growth("population", "delay") for name in SCENARIOS)
    slower = [a > b for a, b in zip(one, two, strict=True)]
    met = [
        max(one + two) < MINUTE,
        all(each[-1] > each[0] for each in (one, two)),
        sum(slower) > len(slower) / 2,
    ]
    told = ", ".join(f"{a:.2f} and {b:.2f}" for a, b in zip(one, two, strict=True))
    return Verdict.of(met, f"scenarios 1 and 2: {told} s")


def _when_better(rows: Rows) -> Verdict:
    smallest, largest = min(rows.values("population")), max(rows.values("population"))
    if smallest == largest:
        raise LookupError("rows of several populations are needed")
    better = {}
    for population in (smallest, largest):
        own = rows.where(population=population)
        best = min(own.where(way=name).mean("delay") for name in SCENARIOS)
        for name in BACK:
            if len(back := own.where(way=name)):
                better[population, name] = best < back.mean("delay")
    longest = [name for name in BACK if (smallest, name) in better][-1]
    met = [better[smallest, longest], not any(v for (n, _), v in better.items() if n == largest)]
    told = [f"{name} at {n:,}" for (n, name), wins in better.items() if wins]
    return Verdict.of(met, f"failover is sooner than: {', '.join(told) or 'nothing'}")


_SIMULATED: Final = "Brokers take the times of the cost model, which is of a machine of today."
_LINKS: Final = (
    "Brokers take less than a millisecond for a filter, so links decide, not contention."
)

NORMAL = Experiment(
    "xnet-planetlab",
    "xnet",
    "How long events, registrations and cancellations take across the Internet, simulated.",
    ("Table 6.9", "Fig. 6.19"),
    normal,
    {
        "small": Size(grid(documents=[20], tried=[20], population=[1_000, 300, 100])),
        "paper": Size(grid(documents=[1_000], tried=[1_000], population=POPULATIONS[::-1])),
    },
    plots=(
        Plot(
            "Events, registrations and cancellations, and links alone (Fig. 6.19, Table 6.9)",
            "population",
            ("routing", "registration", "cancellation", "minimal"),
            "consumers",
            "ms",
            printed="xnet-fig6.19",
            log_x=True,
        ),
    ),
    claims=(
        Claim("xnet-table6.9", _overlay, "The tree is a picture; delays are given to fit it."),
        Claim("xnet-fig6.19-routing", _routing),
        Claim("xnet-fig6.19-changes", _changes, _SIMULATED),
        Claim("xnet-links-share", _links_share, _SIMULATED),
    ),
    data=which_news,
)

RECOVERY = Experiment(
    "xnet-recovery",
    "xnet",
    "How long a router takes to catch up after a crash of minutes, simulated.",
    ("Table 6.11", "Fig. 6.20"),
    recovery,
    {
        "small": Size(grid(population=[1_000, 100], router=ROUTERS, crash=[60, 300])),
        "paper": Size(grid(population=POPULATIONS[::-1], router=ROUTERS, crash=CRASHES)),
    },
    plots=tuple(
        Plot(
            f"Recovery of router {router}, beside how long it was away (Table 6.11)",
            "population",
            ("percent",),
            "consumers",
            "% of the crash",
            ("router", "crash"),
            "router {router}, {crash} s",
            {"router": router},
            f"xnet-table6.11-{router}",
            log_x=True,
        )
        for router in ROUTERS
    ),
    claims=(
        Claim("xnet-table6.11", _table, _SIMULATED),
        Claim("xnet-three-percent", _three_percent),
        Claim("xnet-few-seconds", _few_seconds),
        Claim(
            "xnet-recovery-grows",
            _grows,
            "Links decide, and their delays do not grow; brokers take less than a millisecond for "
            "a filter.",
        ),
        Claim("xnet-routers-alike", _alike),
    ),
    data=which_news,
)

FAILOVER = Experiment(
    "xnet-failover",
    "xnet",
    "How long two routers take to turn to backups, or to get theirs back, simulated.",
    ("Fig. 6.21", "Fig. 6.22"),
    failover,
    {
        "small": Size(grid(population=[1_000, 300, 100], way=[TO_ONE, TO_TWO, *list(BACK)[:2]])),
        "paper": Size(grid(population=POPULATIONS[::-1], way=[*SCENARIOS, *BACK])),
    },
    plots=(
        Plot(
            "Until tables are right (Fig. 6.22)",
            "population",
            ("delay",),
            "consumers",
            "s",
            ("way",),
            "{way}",
            log_x=True,
        ),
    ),
    claims=(
        Claim("xnet-fig6.22", _one_minute, _LINKS),
        Claim("xnet-when-failover", _when_better, _LINKS),
    ),
    data=which_news,
)

EXPERIMENTS = (NORMAL, RECOVERY, FAILOVER)
