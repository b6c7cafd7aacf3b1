"""What does pruning save, what does it cost, and where does it stop to pay?

Bittner, Hinze, "Subscription Tree Pruning: A Structure-Independent Routing Optimization for
General-Purpose Publish/Subscribe Systems" (OTM 2006), section 5. The paper does not print how its
values are drawn; `lab.workloads.auctions` says how ours are.

- **pruning-broker** (Table 2, Figs. 4, 5): one broker, each class of subscriptions and all of them,
  pruned in steps. Selectivities are counted from the events of which is told how many match, as in
  the paper. The **cut-off** is what the brokers' own rule finds in a sample of other events; the
  time there is that of the nearest step that was timed.
- **pruning-line** (Table 3, Figs. 6, 7): five brokers in a line that prune their own tables, with a
  quarter of the subscriptions; they have counted other events than those that follow.

Table 1 is in `ratings`.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from tidegate.algebra.event_sample import EventSample
from tidegate.lab.experiments.experiment import (
    POINTS,
    Claim,
    Experiment,
    Plot,
    Point,
    Row,
    Size,
    Verdict,
    grid,
)
from tidegate.lab.experiments.pruned_lines import flow, found_by, prune_to, settled
from tidegate.lab.experiments.pruned_tables import count_all, pruned
from tidegate.lab.experiments.rows import Rows
from tidegate.lab.workloads.auctions import CLASSES, Auctions, auctions
from tidegate.overlay.policy.cutoff import cut_off
from tidegate.papers.counting.counting_table import CountingTable

SHARES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)  # of all prunings in the line of five
KINDS: Final = ("1", "2", "3", "1-3")
TOTAL: Final = 100_000  # events of the paper, for which an increase is told
CUT_OFFS: Final = {"2": 0.88, "3": 0.58}  # of all prunings, that are printed
STEPS: Final = 20  # in which one broker is pruned, to compare its cut-off with a line's
SLIGHT: Final = 0.25  # of the whole rise: what matches more at the cut-off
SHARP: Final = 2.0  # times: how much steeper the curve is after the cut-off


def broker(point: Point, seed: int) -> Row:
    """Prune one broker's table step by step."""
    workload = auctions(int(point["count"]), seed, _classes(point))
    count, sampled, steps = int(point["events"]), int(point["sample"]), int(point["steps"])
    every = EventSample(workload.events(count).to_pylist(), workload.schema)
    more = workload.events(sampled + count // 5, seed=3).to_pylist()
    others = EventSample(more, workload.schema)
    table = CountingTable(workload.schema)
    for number, f in enumerate(workload.filters()):
        table.add(number, f)
    count_all(table, every, count)
    asked = workload.events(int(point["asked"]), seed=2).to_pylist()
    table.match(asked[0])
    levels = list(pruned(table, asked, every, others, steps=steps, sampled=sampled))
    cut = cut_off([level.sampled for level in levels])
    first, last, there = levels[0], levels[-1], levels[cut]
    timed = [level for level in levels if level.event is not None]
    near = min(timed, key=lambda level: abs(level.share - there.share))
    whole = first.associations - last.associations
    return {
        "share": [level.share for level in levels],
        "removed": [(first.associations - level.associations) / whole for level in levels],
        "matching": [level.matched / count for level in levels],
        "timed_at": [level.share for level in timed],
        "cpu": [level.event for level in timed],
        "cutoff": there.share,
        "increase": (there.matched - first.matched) / count * TOTAL,
        "relief": (first.associations - there.associations) / whole,
        "faster": 1 - (near.event or 0.0) / (first.event or 1.0),
    }


def line(point: Point, seed: int) -> Row:
    """Prune five brokers in a line to several shares, and to where each would stop."""
    workload = auctions(int(point["count"]), seed, _classes(point))
    network, brokers = settled(workload, int(point["learned"]))
    found = [found_by(each) for each in brokers]
    cut = sum(found) / len(found)
    alone = _alone(workload, int(point["learned"]))
    events = workload.events(int(point["events"]), seed=2).to_pylist()
    flows = []
    for goal in sorted([*SHARES, cut]):
        for each, own in zip(brokers, found, strict=True):
            prune_to(each, own if goal == cut else goal)
        flows.append(flow(network, brokers, events, "", goal))
    first, last = flows[0], flows[-1]
    there = next(each for each in flows if each.share == cut)
    assert {each.delivered for each in flows} == {first.delivered}, "events were lost"
    whole = first.associations - last.associations
    return {
        "share": [each.share for each in flows],
        "removed": [(first.associations - each.associations) / whole for each in flows],
        "carried": [each.carried / max(1, first.carried) for each in flows],
        "cpu": [each.event for each in flows],
        "cutoff": cut,
        "alone": alone,
        "increase": (there.carried - first.carried) / len(events) * TOTAL,
        "relief": (first.associations - there.associations) / whole,
        "faster": 1 - there.event / first.event,
    }


def _alone(workload: Auctions, learned: int) -> float:
    """Where one broker with all subscriptions would stop, that has seen the same events."""
    seen = workload.events(learned, seed=1).to_pylist()
    sample = EventSample(seen, workload.schema)
    table = CountingTable(workload.schema)
    for number, f in enumerate(workload.filters()):
        table.add(number, f)
    count_all(table, sample, learned)
    levels = list(pruned(table, seen[:1], sample, sample, steps=STEPS, sampled=learned))
    return levels[cut_off([level.sampled for level in levels])].share


def _classes(point: Point) -> Sequence[int]:
    own = str(point["classes"])
    return CLASSES if own == "1-3" else [int(own)]


# -- claims


def _slight_then_sharp(rows: Rows) -> Verdict:
    met, told = [], []
    for kind in KINDS:
        own = rows.where(classes=kind)
        curve = [each.mean for each in own.curve("share", "matching")]
        cut = round(own.mean("cutoff") * (len(curve) - 1))
        rise = (curve[cut] - curve[0]) / max(1e-9, curve[-1] - curve[0])
        before = (curve[cut] - curve[0]) / max(1, cut)
        after = (curve[-1] - curve[cut]) / max(1, len(curve) - 1 - cut)
        met.append(rise <= SLIGHT and after > SHARP * before)
        told.append(f"class {kind} {rise:.0%} of the rise by {own.mean('cutoff'):.0%}")
    return Verdict.of(met, "; ".join(told))


def _between(rows: Rows, column: str, low: float, high: float) -> Verdict:
    found = {kind: rows.where(classes=kind).mean(column) for kind in KINDS}
    told = ", ".join(f"class {kind} {each:.0%}" for kind, each in found.items())
    return Verdict.between(list(found.values()), low, high, told)


def _relief(rows: Rows) -> Verdict:
    return _between(rows, "relief", 0.55, 0.91)


def _time(rows: Rows) -> Verdict:
    return _between(rows, "faster", 0.69, 0.97)


def _cut_offs(rows: Rows) -> Verdict:
    found = {kind: rows.where(classes=kind).mean("cutoff") for kind in KINDS}
    met = [abs(found[kind] - printed) <= POINTS for kind, printed in CUT_OFFS.items()]
    met.append(min(found, key=lambda kind: found[kind]) == "3")
    told = ", ".join(f"class {kind} {each:.0%}" for kind, each in found.items())
    return Verdict.of(met, f"{told} (printed: from 58% of class 3 to 88% of class 2)")


def _line_relief(rows: Rows) -> Verdict:
    return _between(rows, "relief", 0.5, 0.91)


def _line_time(rows: Rows) -> Verdict:
    return _between(rows, "faster", 0.26, 0.63)


def _to_the_left(rows: Rows) -> Verdict:
    met, told = [], []
    for kind in ("3", "1-3"):
        own = rows.where(classes=kind)
        line, alone = own.mean("cutoff"), own.mean("alone")
        met.append(line < alone)
        told.append(f"class {kind} {line:.0%} beside {alone:.0%} in one broker")
    return Verdict.of(met, ", ".join(told))


def _slower_at_first(rows: Rows) -> Verdict:
    curve = [each.mean for each in rows.where(classes="2").curve("timed_at", "cpu")]
    most = max(curve)
    return Verdict.of([most > curve[0] * 1.03], f"{curve[0]:.0f} µs at first, at most {most:.0f}")


def _more_in_the_line(rows: Rows) -> Verdict:
    met, told = [], []
    for kind in KINDS:
        curve = [each.mean for each in rows.where(classes=kind).curve("share", "carried")]
        met.append(all(after >= before for before, after in pairwise(curve)))
        told.append(f"class {kind} {curve[-1]:.2f} times")
    return Verdict.of(met, ", ".join(told))


def _broker(count: int, events: int, sample: int, steps: int, asked: int) -> Size:
    return Size(
        grid(
            count=[count],
            events=[events],
            sample=[sample],
            steps=[steps],
            asked=[asked],
            classes=KINDS,
        )
    )


def _line(count: int, learned: int, events: int) -> Size:
    return Size(grid(count=[count], learned=[learned], events=[events], classes=KINDS))


_DRAWN: Final = "The paper does not print how values are drawn; ours are heavy-tailed."
_INDEX: Final = "Our counting is compiled, and evaluating candidates costs little of an event."

BROKER = Experiment(
    "pruning-broker",
    "pruning",
    "One broker: memory, matching events and time as subscriptions are pruned.",
    ("Table 2", "Fig. 4", "Fig. 5"),
    broker,
    {
        "small": _broker(2_000, 1_000, 300, 20, 20),
        "paper": _broker(200_000, 100_000, 4_096, 100, 300),
    },
    frozenset({"cpu", "faster"}),
    (
        Plot(
            "Associations removed (Figs. 4, 5, upper)",
            "share",
            ("removed",),
            "share of all prunings",
            "share of all that can be removed",
            ("classes",),
            "class {classes}",
        ),
        Plot(
            "Matching events (Figs. 4, 5)",
            "share",
            ("matching",),
            "share of all prunings",
            "share of events",
            ("classes",),
            "class {classes}",
        ),
        Plot(
            "Filtering time of an event (Figs. 4, 5, lower)",
            "timed_at",
            ("cpu",),
            "share of all prunings",
            "CPU µs",
            ("classes",),
            "class {classes}",
        ),
        Plot(
            "At the cut-off (Table 2)",
            "classes",
            ("relief", "faster"),
            "class",
            "share",
            printed="pruning-table2",
            order=KINDS,
        ),
        Plot(
            "Increase in matching events at the cut-off, of 100,000 (Table 2)",
            "classes",
            ("increase",),
            "class",
            "events",
            printed="pruning-table2-increase",
            order=KINDS,
        ),
    ),
    (
        Claim("pruning-slight-then-sharp", _slight_then_sharp, _DRAWN),
        Claim("pruning-relief", _relief, _DRAWN),
        Claim("pruning-time", _time, _DRAWN),
        Claim("pruning-cut-offs", _cut_offs, _DRAWN),
        Claim("pruning-class-2-slower-at-first", _slower_at_first, _INDEX),
    ),
)

LINE = Experiment(
    "pruning-line",
    "pruning",
    "Five brokers in a line: memory, events over links and time as tables are pruned.",
    ("Table 3", "Fig. 6", "Fig. 7"),
    line,
    {"small": _line(300, 200, 60), "paper": _line(200_000, 20_000, 2_000)},
    frozenset({"cpu", "faster"}),
    (
        Plot(
            "Associations removed (Figs. 6, 7, upper)",
            "share",
            ("removed",),
            "share of all prunings",
            "share of all that can be removed",
            ("classes",),
            "class {classes}",
        ),
        Plot(
            "Events over links (Figs. 6, 7)",
            "share",
            ("carried",),
            "share of all prunings",
            "times as many as unpruned",
            ("classes",),
            "class {classes}",
        ),
        Plot(
            "Time of an event in all brokers (Figs. 6, 7, lower)",
            "share",
            ("cpu",),
            "share of all prunings",
            "CPU µs",
            ("classes",),
            "class {classes}",
        ),
        Plot(
            "At the cut-off (Table 3)",
            "classes",
            ("relief", "faster"),
            "class",
            "share",
            printed="pruning-table3",
            order=KINDS,
        ),
        Plot(
            "Increase in events at the cut-off, for 100,000 (Table 3)",
            "classes",
            ("increase",),
            "class",
            "events over links",
            printed="pruning-table3-increase",
            order=KINDS,
        ),
    ),
    (
        Claim("pruning-line-relief", _line_relief, _DRAWN),
        Claim("pruning-line-time", _line_time, _INDEX),
        Claim("pruning-line-traffic", _more_in_the_line),
        Claim("pruning-line-cut-off", _to_the_left, "Ours goes by events alone, not by time."),
    ),
)

EXPERIMENTS = (BROKER, LINE)
