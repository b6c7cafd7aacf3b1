"""What does it take to find patterns that contain one, or are contained by it?

Chand, "Large scale diffusion of information in Publish/Subscribe systems" (2005), section 6.2.4:
XSearch in both modes beside one question after the other (`pattern_sets`). *containing* asks what
covers a pattern (⊆ in the thesis), *contained* what it covers (⊇).

- **xnet-search** (Table 6.7, Figs. 6.12, 6.13): the time of a question, by the size of the set.
- **xnet-influence** (Figs. 6.14, 6.15): the same, by p// and pλ: for some values of both by the
  size of the set, and for more of them in the largest set.
- **xnet-space** (Table 6.8): nodes of the patterns and of their factorization tree.
"""

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from math import log
from typing import Final

from tidegate.documents.meaning import pattern_of
from tidegate.documents.xpath import parse_xpath
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
from tidegate.lab.experiments.pattern_sets import (
    BRANCHING,
    ELLIPSIS,
    MODES,
    choices,
    drawn,
    filled,
    mean_ms,
    one_by_one_ms,
    unfolded,
)
from tidegate.lab.experiments.rows import Rows
from tidegate.lab.workloads.dtds import news, which_news
from tidegate.lab.workloads.xml_patterns import PatternSource
from tidegate.papers.xsearch.factorization import FactorizationTree

VARIED: Final = (0.0, 0.05, 0.1, 0.15, 0.2)
ENDS: Final = (VARIED[0], VARIED[-1])
ASKED_ONE_BY_ONE: Final = 3  # questions


def search(point: Point, seed: int) -> Row:
    """Both modes on one set, beside one question after the other, whose answers are compared."""
    given = choices(float(point["ellipsis"]), float(point["branching"]))
    patterns = drawn(news(), given, int(point["patterns"]), seed)
    asked = drawn(news(), given, int(point["questions"]), seed + 1)
    found = filled(patterns)
    row: dict[str, float] = {}
    for mode in MODES:
        row[mode] = mean_ms(found, mode, asked)
        row[f"{mode}_linear"] = one_by_one_ms(found, mode, asked, patterns, ASKED_ONE_BY_ONE)
    return row


def influence(point: Point, seed: int) -> Row:
    """Both modes on one set; that they are right is what `search` compares."""
    given = choices(float(point["ellipsis"]), float(point["branching"]))
    found = filled(drawn(news(), given, int(point["patterns"]), seed))
    asked = drawn(news(), given, int(point["questions"]), seed + 1)
    return {mode: mean_ms(found, mode, asked) for mode in MODES}


def space(point: Point, seed: int) -> Row:
    """The nodes of patterns, and of the tree that they share."""
    tree, nodes = FactorizationTree(), 0
    count = int(point["patterns"])
    for number, each in enumerate(
        islice(PatternSource(news(), choices(), seed).distinct(), count), 1
    ):
        nodes += each.nodes
        raw = pattern_of(parse_xpath(each.text).expression)
        assert raw is not None
        tree.add(number, unfolded(raw))
    return {"nodes": nodes / 1_000, "tree": tree.size / 1_000}


# -- claims


def _fast(rows: Rows) -> Verdict:
    most = max(row[mode] for row in rows for mode in MODES)
    return Verdict.of([most < 50], f"at most {most:.2g} ms, {max(rows.values('patterns')):,}")


def _hundred_times(rows: Rows) -> Verdict:
    times = {
        (row["patterns"], mode): row[f"{mode}_linear"] / row[mode] for row in rows for mode in MODES
    }
    told = f"{min(times.values()):.0f} to {max(times.values()):,.0f} times"
    return Verdict.of([each > 100 for each in times.values()], told)


def _contain_slower(rows: Rows) -> Verdict:
    last = rows.where(patterns=max(rows.values("patterns")))
    containing, contained = (last.mean(mode) for mode in MODES)
    return Verdict.of([containing > contained], f"{containing:.2g} and {contained:.2g} ms")


def _at_the_ends(rows: Rows, varied: str, fixed: str) -> dict[float, dict[str, float]]:
    """How many times as long a question takes at the highest value of a parameter as at the lowest,
    in the largest set: by the values of the other one for which both were measured, and by mode.
    """
    largest = rows.where(patterns=max(rows.values("patterns")))
    found = {}
    for value in largest.values(fixed):
        low, high = (largest.where(**{fixed: value, varied: end}) for end in ENDS)
        if len(low) and len(high):
            found[value] = {mode: high.mean(mode) / low.mean(mode) for mode in MODES}
    if not found:
        raise LookupError(f"{varied} was not varied")
    return found


def _times(name: str, found: Mapping[float, Mapping[str, float]]) -> str:
    return "; ".join(
        f"{name} = {value:g}: " + ", ".join(f"{mode} {each:.2f}" for mode, each in times.items())
        for value, times in found.items()
    )


def _opposite(rows: Rows) -> Verdict:
    change = _at_the_ends(rows, "ellipsis", "branching")
    slower = [{mode for mode, each in times.items() if each > 1} for times in change.values()]
    met = [len(each) == 1 and each == slower[0] for each in slower]
    return Verdict.of(met, f"times as long at p// = 0.2 as at 0; {_times('pλ', change)}")


def _branches(rows: Rows) -> Verdict:
    change = _at_the_ends(rows, "branching", "ellipsis")
    met = [each > 1 for times in change.values() for each in times.values()]
    return Verdict.of(met, f"times as long at pλ = 0.2 as at 0; {_times('p//', change)}")


def _contained_gains(rows: Rows) -> Verdict:
    change = _at_the_ends(rows, "branching", "ellipsis")
    met = [times["contained"] > times["containing"] for times in change.values()]
    return Verdict.of(met, f"times as long at pλ = 0.2 as at 0; {_times('p//', change)}")


def _turns(rows: Rows) -> Verdict:
    plain = rows.where(branching=BRANCHING, patterns=max(rows.values("patterns")))
    change = {}
    for mode in MODES:
        curve = plain.growth("ellipsis", mode)
        change[mode] = curve[-1] / curve[0], curve[-1] / curve[-2]
    suffers = max(change, key=lambda mode: change[mode][0])
    over_all, at_last = change[suffers]
    told = f"{suffers}: {over_all:.2f} times over all, {at_last:.2f} times in the last step"
    return Verdict.of([over_all > 1, at_last < 1], told)


def _linear(rows: Rows) -> Verdict:
    met, told = [], []
    for mode in MODES:
        curve = rows.curve("patterns", mode)
        times = log(curve[-1].mean / curve[0].mean) / log(float(curve[-1].x) / float(curve[0].x))
        met.append(abs(times - 1) <= 2 * BAND)
        told.append(f"{mode} N^{times:.2f}")
    return Verdict.of(met, ", ".join(told))


def _much_smaller(rows: Rows) -> Verdict:
    times = [
        rows.where(patterns=n).mean("nodes") / rows.where(patterns=n).mean("tree")
        for n in rows.values("patterns")
    ]
    met = [times[0] > 2, all(b > a for a, b in pairwise(times))]
    return Verdict.of(met, ", ".join(f"{each:.1f}" for each in times) + " times")


_KEPT: Final = (
    "Ours keeps what was found for each pair of nodes, which the thesis does not print; why both "
    "modes are slower was not looked into."
)

SEARCH = Experiment(
    "xnet-search",
    "xnet",
    "The time to find what contains a pattern or is contained by it, beside one by one.",
    ("Table 6.7", "Fig. 6.12", "Fig. 6.13"),
    search,
    {
        "small": Size(
            grid(questions=[20], ellipsis=[ELLIPSIS], branching=[BRANCHING], patterns=[200, 1_000])
        ),
        "paper": Size(
            grid(
                questions=[1_000],
                ellipsis=[ELLIPSIS],
                branching=[BRANCHING],
                patterns=[1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000],
            )
        ),
    },
    frozenset({*MODES, *(f"{mode}_linear" for mode in MODES)}),
    (
        Plot(
            "A question to XSearch (Table 6.7, Fig. 6.12); printed times are of a machine of 2005",
            "patterns",
            MODES,
            "patterns",
            "CPU ms",
            printed="xnet-table6.7",
            log_x=True,
            log_y=True,
        ),
        Plot(
            "One by one (Fig. 6.13)",
            "patterns",
            tuple(f"{mode}_linear" for mode in MODES),
            "patterns",
            "CPU ms",
            log_x=True,
            log_y=True,
        ),
    ),
    (
        Claim("xnet-search-fast", _fast),
        Claim("xnet-search-hundred-times", _hundred_times, "Ours asks one by one without parsing."),
        Claim("xnet-contain-slower", _contain_slower),
        Claim(
            "xnet-table6.7", _linear, "Ours looks at what is near in the tree, not at all of it."
        ),
    ),
    data=which_news,
)


def _influence(questions: int, sets: Sequence[int]) -> Size:
    """The ends of both parameters, and the usual pλ, in sets of all sizes; in the largest one the
    other values of each, at the usual one of the other.
    """
    asked = [questions]
    points = (
        *grid(questions=asked, ellipsis=ENDS, branching=(*ENDS, BRANCHING), patterns=sets),
        *grid(questions=asked, ellipsis=VARIED, branching=[BRANCHING], patterns=sets[-1:]),
        *grid(questions=asked, ellipsis=[ELLIPSIS], branching=VARIED, patterns=sets[-1:]),
    )
    return Size(tuple({tuple(point.values()): point for point in points}.values()))


INFLUENCE = Experiment(
    "xnet-influence",
    "xnet",
    "The time of a question, by how many // and branches there are.",
    ("Fig. 6.14", "Fig. 6.15"),
    influence,
    {
        "small": _influence(20, (100, 500)),
        "paper": _influence(1_000, (1_000, 5_000, 20_000, 100_000)),
    },
    frozenset(MODES),
    (
        *(
            Plot(
                f"A question by size, p// and pλ, {mode} (Fig. 6.14)",
                "patterns",
                (mode,),
                "patterns",
                "CPU ms",
                ("ellipsis", "branching"),
                "p// = {ellipsis}, pλ = {branching}",
                least=2,
                log_x=True,
                log_y=True,
            )
            for mode in MODES
        ),
        Plot(
            "A question by p//, at pλ = 0.1 (Fig. 6.15)",
            "ellipsis",
            MODES,
            "p//",
            "CPU ms",
            ("patterns",),
            "{column}, {patterns} patterns",
            where={"branching": BRANCHING},
            least=3,
        ),
        Plot(
            "A question by pλ, at p// = 0.05 (Fig. 6.15)",
            "branching",
            MODES,
            "pλ",
            "CPU ms",
            ("patterns",),
            "{column}, {patterns} patterns",
            where={"ellipsis": ELLIPSIS},
            least=3,
        ),
    ),
    (
        Claim("xnet-ellipsis-opposite", _opposite, _KEPT),
        Claim("xnet-ellipsis-turns", _turns, _KEPT),
        Claim("xnet-fewer-branches", _branches),
        Claim(
            "xnet-fewer-branches-contained",
            _contained_gains,
            "Ours looks for what is contained only where all names of a question are.",
        ),
    ),
    data=which_news,
)

SPACE = Experiment(
    "xnet-space",
    "xnet",
    "Nodes of patterns, and of the factorization tree that they share.",
    ("Table 6.8",),
    space,
    {
        "small": Size(grid(patterns=[200, 1_000])),
        "paper": Size(grid(patterns=[1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000])),
    },
    plots=(
        Plot(
            "Nodes (Table 6.8)",
            "patterns",
            ("nodes", "tree"),
            "patterns",
            "thousand nodes",
            printed="xnet-table6.8",
            log_x=True,
            log_y=True,
        ),
    ),
    claims=(Claim("xnet-tree-smaller", _much_smaller),),
    data=which_news,
)

EXPERIMENTS = (SEARCH, INFLUENCE, SPACE)
