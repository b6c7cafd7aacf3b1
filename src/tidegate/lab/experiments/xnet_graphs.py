"""What does an overlay by similarity cost, and whom does it reach, in vain or not at all?

Chand, "Large scale diffusion of information in Publish/Subscribe systems" (2005), section 9.1.3:
each peer chooses the n nearest by f_s, counted over documents that are not published again, and one
at random (`lab.communities`).

- **xnet-graphs** (Figs. 9.8 to 9.12, Table 9.4): false positives and false negatives of random
  links that are always taken (rho = 100%), half of the time, and never; and degrees.
"""

from itertools import pairwise
from random import Random
from typing import Final

from tidegate.lab.communities import communities
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
from tidegate.lab.experiments.peer_overlays import accuracy, documents, known
from tidegate.lab.experiments.printed import printed
from tidegate.lab.experiments.rows import Rows

NEAR: Final = (5, 7, 10)
MOST: Final = max(NEAR)
ALWAYS, HALF, NEVER = "always", "half", "never"
RHO: Final = {ALWAYS: 1.0, HALF: 0.5, NEVER: 0.0}
FIGURES: Final = ("mean", "largest", "deviation")
FEW: Final = 0.05  # false negatives
ABOUT: Final = 0.2  # false positives
HALVED: Final = 0.16  # at the largest size, n = 10, rho = 50%
LESS: Final = 0.3  # of false positives, by that
POOR: Final = 0.1  # false negatives beyond that are "very poor"
MINOR: Final = 0.05  # of all peers, by the size of documents
SLOWLY: Final = 1.2  # times, in the mean degree
MODERATELY: Final = 4.0  # times, in the largest


def graphs(point: Point, seed: int) -> Row:
    """A graph of one size."""
    relations, numbers, nearness = known(int(point["peers"]), seed)
    graph = communities(relations, numbers, nearness, int(point["near"]), Random(seed))
    found = graph.degrees
    row: dict[str, float] = dict(
        zip(FIGURES, map(float, (found.mean(), found.max(), found.std())), strict=True)
    )
    count = int(point["documents"])
    small, large = (documents(count, tags, seed) for tags in (22, 58))
    for name, rho in RHO.items():
        row[f"vain_{name}"], row[f"missed_{name}"] = accuracy(graph, small, rho)
    row["vain_58"], row["missed_58"] = accuracy(graph, large, 1.0)
    return row


# -- claims


def _few_missed(rows: Rows) -> Verdict:
    found = [row[column] for row in rows for column in ("missed_always", "missed_58")]
    return Verdict.of([each < FEW for each in found], f"at most {max(found):.1%}")


def _some_in_vain(rows: Rows) -> Verdict:
    found = [row[column] for row in rows for column in ("vain_always", "vain_58")]
    return Verdict.between(found, ABOUT, ABOUT, f"{min(found):.0%} to {max(found):.0%}")


def _more_near(rows: Rows) -> Verdict:
    met, told = [], []
    for peers in rows.values("peers"):
        curve = rows.where(peers=peers).curve("near", "missed_always")
        met += [b.mean <= a.mean for a, b in pairwise(curve)]
        told.append(", ".join(f"{each.mean:.1%}" for each in curve))
    return Verdict.of(met, f"missed by n {'; '.join(told)}")


def _half_less(rows: Rows) -> Verdict:
    own = rows.where(near=MOST)
    less = 1 - own.mean("vain_half") / own.mean("vain_always")
    worse = own.mean("missed_half") - own.mean("missed_always")
    told = f"{less:.0%} fewer false positives, {worse:+.2%} missed"
    return Verdict.of([abs(less - LESS) <= FEW, 0 <= worse < FEW], told)


def _sixteen(rows: Rows) -> Verdict:
    largest = max(rows.values("peers"))
    own = rows.where(near=MOST, peers=largest).mean("vain_half")
    return Verdict.near([(own, HALVED)], f"{own:.1%} at {largest:,} peers")


def _never(rows: Rows) -> Verdict:
    own = rows.where(near=MOST)
    curve = own.growth("peers", "missed_never")
    vain = max(row["vain_never"] for row in own)
    met = [all(each > POOR for each in curve), curve[-1] > curve[0], vain < FEW]
    told = ", ".join(f"{each:.0%}" for each in curve)
    return Verdict.of(met, f"{told} missed, at most {vain:.1%} in vain")


def _documents(rows: Rows) -> Verdict:
    apart = [row["vain_58"] - row["vain_always"] for row in rows]
    told = f"T = 58 beside 22: {min(apart):+.1%} to {max(apart):+.1%} in vain"
    return Verdict.of([abs(each) < MINOR for each in apart], told)


def _fall(rows: Rows) -> Verdict:
    met, told = [], []
    for near in rows.values("near"):
        for column in ("vain_always", "missed_always"):
            curve = [each.mean for each in rows.where(near=near).curve("peers", column)]
            met += [b <= a for a, b in pairwise(curve)]
            told.append(f"n = {near} {column.split('_')[0]} {curve[0]:.1%} to {curve[-1]:.1%}")
    return Verdict.of(met, "; ".join(told))


def _table(rows: Rows) -> Verdict:
    theirs, pairs = printed("xnet-table9.4"), []
    for row in rows:
        if row["peers"] in theirs.x:
            own = theirs.series[f"n = {row['near']}"]
            pairs.append((row["mean"], own[theirs.x.index(row["peers"])]))
    if not pairs:
        raise LookupError("no size of the table")
    apart = [ours / own - 1 for ours, own in pairs]
    return Verdict.near(pairs, f"mean degrees {min(apart):+.0%} to {max(apart):+.0%}")


def _slowly(rows: Rows) -> Verdict:
    met, told = [], []
    for near in rows.values("near"):
        own = rows.where(near=near)
        means, spreads = (own.growth("peers", name) for name in ("mean", "deviation"))
        met += [1 <= means[-1] / means[0] < SLOWLY, spreads[-1] < spreads[0]]
        told.append(
            f"n = {near} {means[0]:.1f} to {means[-1]:.1f}, {spreads[0]:.1f} to {spreads[-1]:.1f}"
        )
    return Verdict.of(met, "; ".join(told))


def _largest(rows: Rows) -> Verdict:
    met, told = [], []
    for near in rows.values("near"):
        curve = rows.where(near=near).growth("peers", "largest")
        met.append(1 <= curve[-1] / curve[0] < MODERATELY)
        told.append(f"n = {near} {curve[0]:.0f} to {curve[-1]:.0f}")
    return Verdict.of(met, "; ".join(told))


_FITTED: Final = "The generator of patterns is not printed; ours was fitted to other figures."
_TIES: Final = "Of equally near peers ours takes the one with fewest links among all of them."

GRAPHS = Experiment(
    "xnet-graphs",
    "xnet",
    "Graphs by similarity: false positives, false negatives and degrees, by n and rho.",
    ("Table 9.4", "Fig. 9.8", "Fig. 9.9", "Fig. 9.10", "Fig. 9.11", "Fig. 9.12"),
    graphs,
    {
        "small": Size(grid(documents=[60], peers=[500, 1_000, 2_000], near=NEAR)),
        "paper": Size(
            grid(documents=[1_000], peers=[1_000, 2_000, 5_000, 10_000, 20_000], near=NEAR)
        ),
    },
    plots=(
        *(
            Plot(
                f"{title} ({where})",
                "peers",
                (column,),
                "peers",
                axis,
                ("near",),
                "n = {near}",
                log_x=True,
            )
            for column, title, axis, where in (
                ("missed_always", "False negatives, rho = 100%", "of who want it", "Fig. 9.8"),
                ("vain_always", "False positives, rho = 100%", "share of peers", "Fig. 9.9"),
            )
        ),
        *(
            Plot(
                f"{title}, n = {MOST} ({where})",
                "peers",
                tuple(f"{column}_{each}" for each in RHO),
                "peers",
                axis,
                where={"near": MOST},
                log_x=True,
            )
            for column, title, axis, where in (
                ("missed", "False negatives by rho", "of who want it", "Fig. 9.10"),
                ("vain", "False positives by rho", "share of peers", "Fig. 9.11"),
            )
        ),
        *(
            Plot(
                f"{title} ({where})",
                "peers",
                (column,),
                "peers",
                "neighbours",
                ("near",),
                "n = {near}",
                printed=name,
                log_x=True,
            )
            for column, title, where, name in (
                ("mean", "Mean degree", "Table 9.4", "xnet-table9.4"),
                ("largest", "Largest degree", "Fig. 9.12", "xnet-table9.4-largest"),
                ("deviation", "Standard deviation", "Table 9.4", "xnet-table9.4-deviation"),
            )
        ),
    ),
    claims=(
        Claim("xnet-fig9.8-missed", _few_missed),
        Claim("xnet-fig9.8-vain", _some_in_vain, _FITTED),
        Claim("xnet-more-near", _more_near),
        Claim("xnet-fig9.10", _half_less),
        Claim("xnet-sixteen-percent", _sixteen, _FITTED),
        Claim("xnet-no-random-links", _never),
        Claim("xnet-size-of-documents", _documents),
        Claim("xnet-ratios-fall", _fall),
        Claim("xnet-table9.4", _table, _TIES),
        Claim("xnet-mean-degree", _slowly),
        Claim("xnet-largest-degree", _largest, _TIES),
    ),
)

EXPERIMENTS = (GRAPHS,)
