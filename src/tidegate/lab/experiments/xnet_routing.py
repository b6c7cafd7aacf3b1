"""What do tables that count save in a network of routers, and what do registrations cost?

Chand, "Large scale diffusion of information in Publish/Subscribe systems" (2005), sections 6.2.3
and 6.2.4, on our brokers; `xroute_overlay` says what the network is. *XNet* is our policy xroute,
*Simple*, equal filters once, our policy identity.

- **xnet-tables** (Table 6.5, Figs. 6.9 to 6.11): table sizes of routers, without consumer nodes,
  and how documents are routed: throughput is one over the time of the busiest router, delay the
  time of all routers on the way to a consumer node, both without links.
- **xnet-management** (Figs. 6.16, 6.17): the time of all brokers together for a registration and
  for a cancellation, and what registrations are to the brokers on their way.

A consumer that registers a pattern again changes counts only, so tables are made of what differs at
each consumer. `dtd` says whether documents were of NITF or of a type of the same shape.
"""

from itertools import pairwise
from random import Random
from statistics import fmean, pstdev
from typing import Final

from tidegate.lab.experiments.experiment import (
    BAND,
    Claim,
    Experiment,
    Plot,
    Point,
    Row,
    Size,
    Verdict,
    grid,
)
from tidegate.lab.experiments.printed import printed
from tidegate.lab.experiments.rows import Rows
from tidegate.lab.experiments.xroute_overlay import Consumers, Overlay
from tidegate.lab.stopwatch import timed
from tidegate.lab.workloads.dtds import NITF, data_folder, news, which_news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.overlay.work import NEWS

XNET, SIMPLE = "XNet", "Simple"
POLICIES: Final = {XNET: "xroute", SIMPLE: "identity"}
TAGS: Final = (22, 58, 108)
POPULATIONS: Final = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
THIRD: Final = 0.335  # of the delay of Simple, at 200,000
MANY: Final = 1_000  # entries


def dtd() -> str:
    """Which type of documents there is."""
    return "NITF" if (data_folder() / NITF).exists() else "made up"


def _filled(point: Point, seed: int) -> Overlay:
    overlay, consumers = Overlay(POLICIES[str(point["protocol"])]), Consumers(seed)
    seen = set()
    for _ in range(int(point["population"])):
        each = consumers.draw()
        if each not in seen:
            seen.add(each)
            overlay.register(*each)
    return overlay


def tables(point: Point, seed: int) -> Row:
    """Register all, and route documents of three sizes."""
    overlay = _filled(point, seed)
    sizes, homes = overlay.tables(), overlay.tables(homes=True)
    row: dict[str, float | str] = {
        "entries": fmean(sizes),
        "deviation": pstdev(sizes),
        "above": sum(size > MANY for size in sizes) / len(sizes),
        "at_consumers": fmean(homes),
        "dtd": dtd(),
    }
    for tags in TAGS:
        source = DocumentSource(news(), DocumentChoices(tags=tags), seed=seed + 3)
        documents = [source.draw() for _ in range(int(point["documents"]))]
        for document in documents:
            overlay.publish(document)  # once unmeasured: automata come to know new states
        with timed():  # without the garbage collector, which would be taken for work of routers
            ways = [overlay.publish(document) for document in documents]
        assert overlay.expected(documents[-1]) == ways[-1].delivered, "a document was lost"
        reached = [fmean(way.delays) for way in ways if way.delays]
        row[f"throughput_{tags}"] = 1 / fmean(way.busiest for way in ways)
        row[f"delay_{tags}"] = fmean(reached) * 1e3 if reached else 0.0
    return row


def management(point: Point, seed: int) -> Row:
    """Register patterns and cancel them again, and cancel others, by turns."""
    overlay = _filled(point, seed)
    draws, taken = Consumers(seed + 2), Random(seed)
    kinds, registered, cancelled = list[str](), [], []
    with timed():  # as above
        for _ in range(int(point["tried"])):
            consumer, f = draws.draw()
            own, told = overlay.register_timed(consumer, f)
            kinds += [kind for kind, _ in told.kinds]
            registered.append(told.seconds * 1e3)
            overlay.cancel(consumer, own)
            consumer, own, f = overlay.any_of(taken)
            cancelled.append(overlay.cancel(consumer, own) * 1e3)
            overlay.register(consumer, f)
    return {
        "registration": fmean(registered),
        "cancellation": fmean(cancelled),
        "within_1ms": sum(each < 1 for each in registered) / len(registered),
        "within_250ms": sum(each < 250 for each in registered) / len(registered),
        **{kind: kinds.count(kind) / len(kinds) for kind in NEWS},
        "dtd": dtd(),
    }


def beside_simple(rows: Rows) -> Rows:
    """How large tables are beside those of Simple, wherever both were measured."""
    made = []
    for row in rows.where(protocol=XNET):
        same = {name: row.get(name) for name in ("population", "seed")}
        if len(other := rows.where(protocol=SIMPLE, **same)):
            made.append({**same, "ratio": row["entries"] / other.mean("entries")})
    return Rows(made)


# -- claims


def _ratio(rows: Rows) -> list[tuple[int, float]]:
    return [
        (
            n,
            rows.where(population=n, protocol=XNET).mean("entries")
            / rows.where(population=n, protocol=SIMPLE).mean("entries"),
        )
        for n in rows.values("population")
    ]


def _ratio_falls(rows: Rows) -> Verdict:
    found = [ratio for _, ratio in _ratio(rows)]
    falls = [after < before for before, after in pairwise(found)]
    return Verdict.of(falls, ", ".join(f"{each:.2f}" for each in found))


def _twelve_times(rows: Rows) -> Verdict:
    population, ratio = _ratio(rows)[-1]
    return Verdict.reaching([(1 / ratio, 12)], f"{1 / ratio:.1f} times at {population:,}")


def _table(rows: Rows) -> Verdict:
    theirs = printed("xnet-table6.5")
    largest = max(n for n in rows.values("population") if n in theirs.x)
    pairs, told = [], []
    for protocol in POLICIES:
        ours = rows.where(population=largest, protocol=protocol).mean("entries")
        own = theirs.series[protocol][theirs.x.index(largest)]
        pairs.append((ours, own))
        told.append(f"{protocol} {ours:,.0f} (printed {own:,})")
    return Verdict.near(pairs, f"at {largest:,}: {', '.join(told)}")


def _homogeneous(rows: Rows) -> Verdict:
    rows.where(protocol=XNET).growth("population", "deviation")
    times = [
        rows.where(population=n, protocol=SIMPLE).mean("deviation")
        / max(1e-9, rows.where(population=n, protocol=XNET).mean("deviation"))
        for n in rows.values("population")
    ]
    met = [times[-1] > 2, times[-1] > times[0]]
    return Verdict.of(met, ", ".join(f"{each:.1f}" for each in times) + " times as large")


def _at_consumers(rows: Rows) -> Verdict:
    met, told = [], []
    for n in rows.values("population"):
        found = [rows.where(population=n, protocol=each).mean("at_consumers") for each in POLICIES]
        met.append(max(found) <= 1.1 * n / Overlay.CONSUMERS)
        told.append(f"{max(found):,.0f} of {n / Overlay.CONSUMERS:,.0f}")
    return Verdict.of(met, ", ".join(told))


def _rarely_many(rows: Rows) -> Verdict:
    most = max(row["above"] for row in rows.where(protocol=XNET))
    return Verdict.of([most <= 0.1], f"at most {most:.0%} of routers")


def _throughput(rows: Rows) -> Verdict:
    largest = max(rows.values("population"))
    ours, theirs = (
        rows.where(population=largest, protocol=each).mean("throughput_22") for each in POLICIES
    )
    times = ours / theirs
    told = f"{times:.1f} times at {largest:,}: {ours:,.0f} and {theirs:,.0f}/s"
    return Verdict.reaching([(times, 4)], told)


def _insensitive(rows: Rows) -> Verdict:
    met, told = [], []
    for tags in TAGS:
        fall = {}
        for each in POLICIES:
            curve = rows.where(protocol=each).curve("population", f"throughput_{tags}")
            fall[each] = curve[-1].mean / curve[0].mean
        met.append(fall[XNET] > fall[SIMPLE])
        told.append(f"T {tags}: {fall[XNET]:.2f} and {fall[SIMPLE]:.2f} of that at first")
    return Verdict.of(met, "; ".join(told))


def _delay(rows: Rows) -> Verdict:
    rows.where(protocol=XNET).growth("population", "delay_22")
    ratios = [
        rows.where(population=n, protocol=XNET).mean("delay_22")
        / max(1e-9, rows.where(population=n, protocol=SIMPLE).mean("delay_22"))
        for n in rows.values("population")
    ]
    met = [1 / ratios[-1] >= (1 - BAND) / THIRD, ratios[-1] < ratios[0]]
    return Verdict.of(met, ", ".join(f"{each:.2f}" for each in ratios) + " of Simple's")


def _registration(rows: Rows) -> Verdict:
    curve = rows.curve("population", "registration")
    slopes = [(b.mean - a.mean) / (float(b.x) - float(a.x)) for a, b in pairwise(curve)]
    met = [curve[-1].mean > curve[0].mean, slopes[-1] < slopes[0], curve[-1].mean <= 53]
    return Verdict.of(met, ", ".join(f"{each.mean:.2g} ms" for each in curve))


def _cancellation(rows: Rows) -> Verdict:
    curve = rows.curve("population", "cancellation")
    most = max(each.mean for each in curve)
    return Verdict.of([most < 50], ", ".join(f"{each.mean:.2g} ms" for each in curve))


def _within(rows: Rows) -> Verdict:
    share = rows.where(population=max(rows.values("population"))).mean("within_1ms")
    return Verdict.of([share > 0.5], f"{share:.0%} within 1 ms")


def _duplicates(rows: Rows) -> Verdict:
    found = [each.mean for each in rows.curve("population", "duplicate")]
    return Verdict.of([b >= a for a, b in pairwise(found)], ", ".join(f"{e:.0%}" for e in found))


_DRAWN: Final = "The generator of patterns is not printed; ours was fitted to three other figures."

TABLES = Experiment(
    "xnet-tables",
    "xnet",
    "Table sizes of 64 routers with counting and with Simple, and how documents are routed.",
    ("Table 6.5", "Fig. 6.9", "Fig. 6.10", "Fig. 6.11"),
    tables,
    {
        "small": Size(grid(documents=[5], protocol=POLICIES, population=[100, 300, 1_000])),
        "paper": Size(grid(documents=[100], protocol=POLICIES, population=POPULATIONS)),
    },
    frozenset(f"{what}_{tags}" for what in ("throughput", "delay") for tags in TAGS),
    (
        Plot(
            "Entries of a table (Table 6.5)",
            "population",
            ("entries",),
            "registrations",
            "entries",
            ("protocol",),
            "{protocol}",
            printed="xnet-table6.5",
            log_x=True,
            log_y=True,
        ),
        Plot(
            "Standard deviation of entries (Table 6.5)",
            "population",
            ("deviation",),
            "registrations",
            "entries",
            ("protocol",),
            "{protocol}",
            printed="xnet-table6.5-deviation",
            log_x=True,
            log_y=True,
        ),
        Plot(
            "Tables beside those of Simple (Fig. 6.9)",
            "population",
            ("ratio",),
            "registrations",
            "times Simple's entries",
            printed="xnet-fig6.9",
            log_x=True,
            made=beside_simple,
        ),
        *(
            Plot(
                title,
                "population",
                tuple(f"{what}_{tags}" for tags in TAGS),
                "registrations",
                axis,
                ("protocol",),
                "{protocol}, {column}",
                log_x=True,
                names={f"{what}_{tags}": f"{tags} tag pairs" for tags in TAGS},
            )
            for what, title, axis in (
                ("throughput", "Throughput (Fig. 6.10)", "documents/s"),
                ("delay", "Routing delay without links (Fig. 6.11)", "CPU ms"),
            )
        ),
    ),
    (
        Claim("xnet-ratio-falls", _ratio_falls),
        Claim("xnet-twelve-times", _twelve_times, "At the largest population that was run."),
        Claim("xnet-table6.5", _table, _DRAWN),
        Claim("xnet-homogeneous", _homogeneous),
        Claim("xnet-at-consumers", _at_consumers),
        Claim("xnet-rarely-many", _rarely_many),
        Claim("xnet-throughput", _throughput, "Our automata share what patterns have in common."),
        Claim("xnet-insensitive", _insensitive, "Our automata share what patterns have in common."),
        Claim("xnet-delay", _delay, "Our automata share what patterns have in common."),
    ),
    data=which_news,
)

MANAGEMENT = Experiment(
    "xnet-management",
    "xnet",
    "The time of all routers for a registration and for a cancellation, by population.",
    ("Fig. 6.16", "Fig. 6.17"),
    management,
    {
        "small": Size(grid(tried=[40], protocol=[XNET], population=[100, 300, 1_000])),
        "paper": Size(
            grid(
                tried=[10_000],
                protocol=[XNET],
                population=[1_000, 5_000, 20_000, 50_000, 100_000, 200_000],
            )
        ),
    },
    frozenset({"registration", "cancellation", "within_1ms", "within_250ms"}),
    (
        Plot(
            "Registration and cancellation (Fig. 6.16)",
            "population",
            ("registration", "cancellation"),
            "registrations",
            "CPU ms",
            log_x=True,
        ),
        Plot(
            "Share of registrations within 1 and 250 ms (Fig. 6.17), and of brokers to whom they"
            " are duplicate or supplementary",
            "population",
            ("within_1ms", "within_250ms", "duplicate", "supplementary"),
            "registrations",
            "share",
            log_x=True,
        ),
    ),
    (
        Claim(
            "xnet-registration",
            _registration,
            "Tables hardly grow, and most registrations are duplicates, passed on as a count.",
        ),
        Claim("xnet-cancellation", _cancellation),
        Claim("xnet-within-1ms", _within),
        Claim("xnet-duplicates", _duplicates),
    ),
    data=which_news,
)

EXPERIMENTS = (TABLES, MANAGEMENT)
