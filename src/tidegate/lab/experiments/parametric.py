"""How soon, and at what cost, does a network follow subscriptions that move?

Jayaram, Jayalath, Eugster, "Parametric Subscriptions for Content-Based Publish/Subscribe Networks"
(Middleware 2010), section 5: algorithmic trading and highway traffic, by updates and by
re-subscription, on a poset (the paper's Siena) and on our index (in the place of its Rete).

**parametric-reaction** (Table 1, Figs. 8 and 9): `lab.reaction` says what is measured and checked.
Time is that of the simulator's clock: 10 ms for each link, and for a broker the CPU time that
handling takes on this machine. Rates are updates a second at each broker that has subscribers.
Beside each strategy stands *subscribe first*, the re-subscription that loses nothing.

The curves of Fig. 8 and the numbers of Table 1 are pictures in the paper: what its text says of
them is decided, and no curve is invented.
"""

from collections.abc import Callable, Iterable
from typing import Final

from tidegate.lab.experiments.experiment import (
    BAND,
    Claim,
    Experiment,
    Plot,
    Point,
    Row,
    Size,
    State,
    Verdict,
    grid,
)
from tidegate.lab.experiments.rows import Rows
from tidegate.lab.reaction import react
from tidegate.lab.stopwatch import timed
from tidegate.lab.workloads.highway import Highway
from tidegate.lab.workloads.movement import Movement
from tidegate.lab.workloads.trading import Trading
from tidegate.simulate.cost import CostModel

OURS: Final = "parametric"
AGAINST: Final = "subscribe first"
STRATEGIES: Final = (OURS, AGAINST, "cancel first", "cancel later")
WORKLOADS: Final[dict[str, Callable[[int, int], Movement]]] = {
    "trading": lambda subscribers, seed: Trading(seed=seed, subscribers=subscribers),
    "highway": lambda cars, seed: Highway(seed=seed, cars=cars),
}
NEARLY: Final = 1 - BAND  # of what is printed as the most


def reaction(point: Point, seed: int) -> Row:
    """Let a network follow moves by one strategy."""
    work = WORKLOADS[str(point["workload"])](int(point["clients"]), seed)
    edges = len({mover.broker for mover in work.movers})
    with timed():  # without the garbage collector, which would be taken for work of brokers
        found = react(
            work,
            str(point["strategy"]),
            index=str(point["index"]),
            rate=float(point["rate"]) * edges,
            events=float(point["events"]),
            seconds=float(point["lasting"]),
            costs=CostModel(measured=True),
        )
    return {
        "delay": found.delay * 1e3,
        "spurious": found.spurious,
        "throughput": found.throughput,
        "control": found.control * 1e6,
        "messages": found.messages,
        "moves": found.moves,
        "lost": found.lost,
    }


# -- claims


def _ratios(rows: Rows, column: str, *, more: bool) -> dict[str, float]:
    """How many times better than re-subscription, where both are there, by what it is."""
    found = {}
    for row in rows.where(strategy=OURS):
        same = {name: row[name] for name in ("workload", "index", "rate", "seed")}
        base = rows.where(strategy=AGAINST, **same)
        if not len(base):
            continue
        ours, theirs = row[column], base.mean(column)
        better, worse = (ours, theirs) if more else (theirs, ours)
        if worse > 0:
            found[f"{row['workload']}, {row['index']}, {row['rate']:,}/s"] = better / worse
    if not found:
        raise LookupError("nothing to compare with")
    return found


def _up_to(found: dict[str, float], printed: float) -> Verdict:
    where, most = max(found.items(), key=lambda item: item[1])
    state: State = "held" if most >= NEARLY * printed else "partly" if most > 1.2 else "not"
    return Verdict(state, f"up to {most:.2g} times ({where})")


def _delay(rows: Rows) -> Verdict:
    return _up_to(_ratios(rows, "delay", more=False), 6)


def _spurious(rows: Rows) -> Verdict:
    return _up_to(_ratios(rows, "spurious", more=False), 6)


def _throughput(rows: Rows) -> Verdict:
    return _up_to(_ratios(rows, "throughput", more=True), 8)


def _degrades(rows: Rows) -> Verdict:
    met, told = [], []
    for workload in rows.values("workload"):
        own = rows.where(workload=workload, index="poset", strategy=AGAINST)
        curve = own.curve("rate", "throughput")
        met.append(curve[-1].mean < 0.5 * curve[0].mean)
        told.append(f"{workload} from {curve[0].mean:,.0f} to {curve[-1].mean:,.0f} events/s")
    return Verdict.of(met, "; ".join(told))


def _scales(rows: Rows) -> Verdict:
    last = max(rows.values("rate"))
    ours, theirs = (
        rows.where(rate=last, index="boxes", workload="trading", strategy=each).mean("throughput")
        for each in (OURS, AGAINST)
    )
    told = f"{ours:,.0f} and {theirs:,.0f} events/s at {last:,} updates/s"
    if not ours:
        return Verdict("not", f"{told}: brokers do not keep up with the updates alone")
    ratio = ours / theirs if theirs else float("inf")
    return Verdict("held" if ratio >= NEARLY * 2.25 else "partly" if ratio > 1.1 else "not", told)


def _points(
    clients: dict[str, int], rates: dict[int, float], events: int, strategies: Iterable[str]
) -> Size:
    return Size(
        tuple(
            {**point, "lasting": rates[int(point["rate"])]}
            for name, count in clients.items()
            for point in grid(
                workload=[name],
                clients=[count],
                index=["boxes", "poset"],
                strategy=strategies,
                events=[events],
                rate=rates,
            )
        )
    )


_SIMULATED: Final = "Links take 10 ms as in the paper, and our brokers less than its own did."

REACTION = Experiment(
    "parametric-reaction",
    "parametric",
    "Delay, spurious events and throughput while subscriptions move, by strategy and rate.",
    ("Table 1", "Fig. 8", "Fig. 9"),
    reaction,
    {
        "small": _points({"trading": 20, "highway": 20}, {10: 0.5, 100: 0.2}, 100, (OURS, AGAINST)),
        "paper": _points(
            {"trading": 150, "highway": 300},
            {10: 2.0, 30: 2.0, 100: 1.0, 1_000: 0.2},
            200,
            STRATEGIES,
        ),
    },
    frozenset({"delay", "spurious", "throughput", "control"}),
    tuple(
        Plot(
            f"{title}, {workload} ({where})",
            "rate",
            (column,),
            "updates/s at each broker",
            axis,
            ("index", "strategy"),
            "{index}, {strategy}",
            {"workload": workload},
            log_x=True,
        )
        for workload in WORKLOADS
        for column, title, axis, where in (
            ("delay", "Delay until the first new event", "ms", "Fig. 8"),
            ("spurious", "Spurious events", "events/s", "Fig. 8"),
            ("throughput", "Throughput", "events/s", "Figs. 8, 9"),
        )
    ),
    (
        Claim("parametric-delay", _delay, _SIMULATED),
        Claim("parametric-spurious", _spurious, _SIMULATED),
        Claim("parametric-throughput", _throughput, _SIMULATED),
        Claim("parametric-degrades", _degrades),
        Claim("parametric-scales", _scales, "The paper's brokers are Java on 20 machines."),
    ),
)

EXPERIMENTS = (REACTION,)
