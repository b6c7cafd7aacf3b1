"""What became of the claims of Chand (2005), chapter 9: held, partly, or not, by which number."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from bench.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

JOINS = ("full", "adaptive", "basic")


@dataclass
class Results:
    """What was measured, by join, size, tags, n and rho."""

    uninterested: dict[tuple[str, int, int], float] = field(default_factory=dict)
    tree_vain: dict[tuple[str, int, int], float] = field(default_factory=dict)
    tree_mean: dict[tuple[str, int], float] = field(default_factory=dict)
    tree_largest: dict[tuple[str, int], float] = field(default_factory=dict)
    misplaced: dict[tuple[str, int], float] = field(default_factory=dict)
    joining: dict[tuple[str, int], float] = field(default_factory=dict)
    leaving: dict[tuple[str, int], float] = field(default_factory=dict)
    after_leaves: dict[tuple[str, float], float] = field(default_factory=dict)
    mended: dict[str, float] = field(default_factory=dict)
    degrees: dict[tuple[int, int, str], tuple[float, float | None]] = field(default_factory=dict)
    graph: dict[tuple[int, int, int, float], tuple[float, float]] = field(default_factory=dict)


def claims(results: Results) -> Iterator[Figure]:
    """One line for each claim."""
    yield from _tree_claims(results)
    yield from _graph_claims(results)


def _verdict(name: str, shares: list[bool], number: float, unit: str, why: str) -> Figure:
    held = "held" if all(shares) else "partly" if any(shares) else "not"
    count = f"{sum(shares)} of {len(shares)}"
    return Figure(f"claim {name}", number, None, None, unit, note=f"{held} ({count}): {why}")


def _tree_claims(r: Results) -> Iterator[Figure]:
    sizes = sorted({size for _, size in r.tree_mean})
    last = sizes[-1]
    small = {key: vain for key, vain in r.tree_vain.items() if key[2] == 22}
    yield _verdict(
        "fig9.1: false positives of trees typically below 10%",
        [vain < 0.1 for vain in small.values()],
        max(small.values()), "of peers, at most", "each join and size, T=22",
    )  # fmt: skip
    large = {key: vain for key, vain in r.tree_vain.items() if key[2] == 108}
    yield _verdict(
        "fig9.2: slightly more with large documents",
        [vain > r.tree_vain[(*key[:2], 22)] for key, vain in large.items()],
        large["full", last, 108] / small["full", last, 22], "times, full", "T=108 beside T=22",
    )  # fmt: skip
    shares = list(r.uninterested.values())
    yield _verdict(
        "p2p-3: 75% are not interested, whatever the population",
        [abs(share - 0.75) < 0.05 for share in shares],
        sum(shares) / len(shares), "of peers", "within 5 points, each size and T",
    )  # fmt: skip
    falls = [
        r.tree_vain[join, b, 22] < r.tree_vain[join, a, 22]
        for join in JOINS
        for a, b in pairwise(sizes)
    ]
    yield _verdict(
        "p2p-4: false positives fall with the population", falls,
        r.tree_vain["full", last, 22] / r.tree_vain["full", sizes[0], 22],
        f"times from {sizes[0]:,} to {last:,}, full", "from each size to the next",
    )  # fmt: skip
    yield _verdict(
        "p2p-5: joins that reorganise more have fewer, and differences are small",
        [
            small[JOINS[0], size, 22] <= small[JOINS[1], size, 22] <= small[JOINS[2], size, 22]
            for size in sizes
        ]
        + [small["basic", size, 22] - small["full", size, 22] < 0.03 for size in sizes],
        small["basic", last, 22] - small["full", last, 22], "of peers", "order, and below 3 points",
    )  # fmt: skip
    yield _verdict(
        "fig9.3: mean degree 5 to 10, full lowest",
        [5 <= mean <= 10 for mean in r.tree_mean.values()]
        + [r.tree_mean["full", s] <= min(r.tree_mean[j, s] for j in JOINS) for s in sizes],
        r.tree_mean["full", last], "links, full", "each join and size; full below the others",
    )  # fmt: skip
    yield _verdict(
        "fig9.4: the largest degree does not exceed L = 100 but for adaptive",
        [d <= 101 for (join, _), d in r.tree_largest.items() if join != "adaptive"],
        max(d for (join, _), d in r.tree_largest.items() if join != "adaptive"),
        "links, at most", "each size, full and basic",
    )  # fmt: skip
    yield _verdict(
        "fig9.5: few peers handle a join, but several times as many a full one",
        [r.joining["full", s] > 2 * r.joining["basic", s] for s in sizes],
        r.joining["full", last] / r.joining["basic", last], "times basic", "more than twice",
    )  # fmt: skip
    yield _verdict(
        "fig9.6: few handle a full leave, fewer in larger trees, more than a join",
        [r.leaving[j, b] < r.leaving[j, a] for j in JOINS for a, b in pairwise(sizes)]
        + [r.leaving[j, s] > r.joining[j, s] for j in JOINS[1:] for s in sizes],
        r.leaving["full", last], "of peers, full", "falls; above a join, but for full",
    )  # fmt: skip
    yield _verdict(
        "fig9.7: basic leaves leave false positives at 6% at most",
        [vain <= 0.06 for vain in r.after_leaves.values()],
        max(r.after_leaves.values()), "of peers, at most", "each join and share",
    )  # fmt: skip
    gone = max(share for _, share in r.after_leaves)
    yield _verdict(
        "p2p-6: new peers mend that, but not with basic joins",
        [r.mended[j] < r.after_leaves[j, gone] for j in JOINS[:2]]
        + [r.mended["basic"] >= r.after_leaves["basic", gone]],
        r.after_leaves["full", gone] - r.mended["full"], "of peers, full", "a tenth is new",
    )  # fmt: skip
    yield _verdict(
        "p2p-7: adaptive costs about as much as basic and is about as good as full",
        [r.joining["adaptive", s] < 2 * r.joining["basic", s] for s in sizes]
        + [small["adaptive", s, 22] - small["full", s, 22] < 0.02 for s in sizes],
        small["adaptive", last, 22] - small["full", last, 22], "of peers more than full",
        "below twice basic's share; below 2 points",
    )  # fmt: skip


def _graph_claims(r: Results) -> Iterator[Figure]:
    sizes = sorted({size for _, size, _, _ in r.graph})
    nears = sorted({near for near, _, _, _ in r.graph})
    most, last = nears[-1], sizes[-1]
    plain = {key: value for key, value in r.graph.items() if key[3] == 1.0}
    yield _verdict(
        "fig9.8: false negatives below 5%",
        [missed < 0.05 for _, missed in plain.values()],
        max(missed for _, missed in plain.values()), "of the wanting, at most", "rho = 100%",
    )  # fmt: skip
    yield _verdict(
        "fig9.8: false positives about 20%",
        [0.15 <= vain <= 0.25 for vain, _ in plain.values()],
        plain[most, last, 22, 1.0][0], f"of peers, n={most}", "15 to 25%, rho = 100%",
    )  # fmt: skip
    yield _verdict(
        "sim-1: a higher n favours false negatives",
        [
            plain[b, size, 22, 1.0][1] <= plain[a, size, 22, 1.0][1]
            for size in sizes
            for a, b in pairwise(nears)
        ],
        plain[nears[0], last, 22, 1.0][1] - plain[most, last, 22, 1.0][1],
        "of the wanting", "from each n to the next",
    )  # fmt: skip
    half = [r.graph[most, s, 22, 0.5][0] / plain[most, s, 22, 1.0][0] for s in sizes]
    yield _verdict(
        "fig9.10: rho = 50% lowers false positives by 30%",
        [0.6 <= each <= 0.8 for each in half],
        half[-1], "times those of 100%", "0.6 to 0.8 times, each size",
    )  # fmt: skip
    yield _verdict(
        "fig9.10: false positives 16% at 20,000 peers and rho = 50%",
        [abs(r.graph[most, last, 22, 0.5][0] - 0.16) < 0.03],
        r.graph[most, last, 22, 0.5][0], f"of peers at {last:,}", "within 3 points",
    )  # fmt: skip
    none = [r.graph[most, s, 22, 0.0] for s in sizes]
    yield _verdict(
        "sim-2: without random links false negatives are poor and rise",
        [missed > 0.1 for _, missed in none] + [b[1] > a[1] for a, b in pairwise(none)],
        none[-1][1], f"of the wanting at {last:,}", "above 10%; from each size to the next",
    )  # fmt: skip
    tags = [
        plain[near, s, 58, 1.0][0] - plain[near, s, 22, 1.0][0] for near in nears for s in sizes
    ]
    yield _verdict(
        "sim-3: the size of documents has no major influence",
        [abs(each) < 0.05 for each in tags],
        max(abs(each) for each in tags), "of peers, at most", "false positives, T=58 beside 22",
    )  # fmt: skip
    falls = [
        plain[near, b, 22, 1.0][which] <= plain[near, a, 22, 1.0][which]
        for near in nears
        for which in (0, 1)
        for a, b in pairwise(sizes)
    ]
    yield _verdict(
        "sim-4: all ratios fall as the population grows", falls,
        plain[most, last, 22, 1.0][0] / plain[most, sizes[0], 22, 1.0][0],
        "times, false positives", "both, from each size to the next",
    )  # fmt: skip
    close = [
        abs(ours / printed - 1) < 0.15
        for (_, _, what), (ours, printed) in r.degrees.items()
        if what == "mean" and printed is not None
    ]
    yield _verdict(
        "tab9.4: mean degrees", close or [False],
        r.degrees[most, last, "mean"][0], f"links, n={most}", "within 15% of the table",
    )  # fmt: skip
    means = {n: [r.degrees[n, s, "mean"][0] for s in sizes] for n in nears}
    spreads = {n: [r.degrees[n, s, "standard deviation of"][0] for s in sizes] for n in nears}
    yield _verdict(
        "sim-5: the mean degree grows slowly, the standard deviation falls",
        [1 <= each[-1] / each[0] < 1.2 for each in means.values()]
        + [each[-1] < each[0] for each in spreads.values()],
        spreads[most][-1] / spreads[most][0], "times, standard deviation", "first and last size",
    )  # fmt: skip
    largest = {n: [r.degrees[n, s, "largest"][0] for s in sizes] for n in nears}
    yield _verdict(
        "sim-6: the largest degree grows at a moderate rate",
        [1 <= each[-1] / each[0] < 4 for each in largest.values()],
        largest[most][-1], "links", "1 to 4 times from first to last",
    )  # fmt: skip
