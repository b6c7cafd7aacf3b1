"""Can subscribers do without brokers? Chapter 9 of Chand (2005), ours beside theirs.

Peers want patterns on NITF, and documents of 22, 58 and 108 tag pairs are published, by the
thesis's parameters. What its generator leaves open was fitted elsewhere (`lab.workloads`): one
figure of this chapter is close to it by that, the 75% of peers that are not interested; all others
are predictions. Patterns end in a named element, as in `bench.xroute`.

**Trees**: peers join one after the other, by each of the three joins (`peers.hierarchy`, the tree
of the protocol without messages). Figs. 9.1 to 9.4: false positives and degrees; 9.5 and 9.6: the
share of peers that handle a search when somebody joins, or leaves by a full leave; 9.7: false
positives after basic leaves. **Graphs**: each peer chooses the n nearest by f_s, counted over
documents that are not published again, and one at random (`lab.communities`). Figs. 9.8 to 9.12
and Table 9.4: false positives, false negatives and degrees, by n and rho. **Beside brokers**: the
same peers and documents with messages, and as clients of brokers that forward by `covering`.

Each claim is a line of its own at the end: held, partly, or not, and the number that decides. Sizes
are those of the thesis; TIDEGATE_PEERS=small runs the smallest two.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from bench.figure import Figure
from bench.peers_beside_brokers import beside_brokers
from bench.peers_claims import Results, claims
from tidegate.lab.communities import Communities, Nearness, communities
from tidegate.lab.experiments.xroute_overlay import Consumers
from tidegate.lab.metric import accuracies, definitions
from tidegate.lab.workloads.dtds import news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.overlay.patterns import Patterns
from tidegate.peers.branch import TreeSettings
from tidegate.peers.hierarchy import Hierarchy, degrees
from tidegate.peers.relations import Relations
from tidegate.peers.tree_messages import Join

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidegate.overlay.pattern_filter import PatternFilter

SMALL = os.environ.get("TIDEGATE_PEERS") == "small"
TREES = (1_000, 2_000) if SMALL else (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
GRAPHS = (1_000, 2_000) if SMALL else (1_000, 2_000, 5_000, 10_000, 20_000)
NEAR = (5, 7, 10)
RHO = (0.0, 0.5, 1.0)
DOCUMENTS = 200  # published, of each size
HISTORY = 1_000  # over which f_s is counted
PROBES = 200  # joins, and leaves, that are tried
GONE = (0.1, 0.2, 0.3, 0.4, 0.5)  # shares that leave
PATTERNS = 40  # whose metric is held against counts
PRINTED = {  # Table 9.4: mean, largest and standard deviation, at 1,000 to 20,000 peers
    5: (
        (9.81, 9.84, 10.11, 10.32, 10.46),
        (57, 70, 99, 106, 133),
        (4.16, 3.59, 3.2, 3.09, 2.9),
    ),
    7: (
        (13.02, 13.11, 13.38, 13.7, 13.95),
        (88, 100, 158, 172, 217),
        (6.81, 5.49, 4.93, 4.67, 4.31),
    ),
    10: (
        (17.49, 18.04, 18.2, 18.61, 19.11),
        (155, 147, 217, 276, 317),
        (11.1, 9.07, 7.77, 7.35, 6.63),
    ),
}
AT = (1_000, 2_000, 5_000, 10_000, 20_000)


@dataclass
class Workload:
    """Patterns for as many peers as are wanted, and documents."""

    filters: list[PatternFilter] = field(default_factory=list)
    documents: dict[int, list[str]] = field(default_factory=dict)
    past: list[str] = field(default_factory=list)


def workload(peers: int, seed: int = 1) -> Workload:
    """The thesis's patterns and documents."""
    consumers = Consumers(seed)
    found = Workload([consumers.draw()[1] for _ in range(peers)])
    for tags in (22, 58, 108):
        source = DocumentSource(news(), DocumentChoices(tags=tags), seed + tags)
        found.documents[tags] = [source.draw() for _ in range(DOCUMENTS)]
    source = DocumentSource(news(), DocumentChoices(tags=22), seed)
    found.past = [source.draw() for _ in range(HISTORY)]
    return found


def run() -> Iterator[Figure]:
    """Trees, graphs, both beside brokers, the metric, and what that says of each claim."""
    made = workload(max(*TREES, *GRAPHS) + PROBES + max(TREES) // 10)
    results = Results()
    for join in Join:
        yield from trees(made, join, results)
    yield from graphs(made, results)
    yield from beside_brokers(made.filters, made.documents[22])
    yield from metric()
    yield from claims(results)


def trees(made: Workload, join: Join, results: Results) -> Iterator[Figure]:
    """A tree as it grows, and as peers leave it."""
    tree = Hierarchy(Patterns(), TreeSettings(join=join))
    for before, size in pairwise((0, *TREES)):
        for number in range(before, size):
            tree.join(f"p{number}", made.filters[number])
        key, name = (join.value, size), f"{join.value} tree of {size:,}"
        for tags in (22, 108):
            wanted, vain = routed(tree, made.documents[tags])
            results.uninterested[(*key, tags)] = 1 - wanted
            results.tree_vain[(*key, tags)] = vain
            yield _beside(
                f"{join.value} tree of {size:,}: false positives, T={tags}", vain, 1 - wanted
            )
        mean, largest = degrees(tree.members.values())
        results.tree_mean[key], results.tree_largest[key] = mean, largest
        yield _plain(f"{name}: mean degree", mean, "links")
        yield _plain(f"{name}: largest degree", largest, "links")
        results.misplaced[key] = tree.misplaced()
        yield _plain(f"{name}: not under a deepest container", results.misplaced[key], "of peers")
        fresh = made.filters[-PROBES:]
        joins = [tree.probe(f"q{n}", f, join) for n, f in enumerate(fresh)]
        results.joining[key] = sum(joins) / len(joins) / size
        yield _plain(f"{name}: handle a join", results.joining[key], "of peers")
        results.leaving[key] = leaving(tree)
        yield _plain(f"{name}: handle a full leave", results.leaving[key], "of peers")
    yield from leaves(made, tree, join, results)


def routed(tree: Hierarchy, documents: Sequence[str]) -> tuple[float, float]:
    """The share of peers that want a document, and that get it in vain, in the mean."""
    flow, size = tree.spread(), len(tree) * len(documents)
    ways = [flow.route(document) for document in documents]
    return sum(w for w, _ in ways) / size, sum(v for _, v in ways) / size


def leaving(tree: Hierarchy) -> float:
    """The share of peers that handle a search if a peer with children leaves by a full leave."""
    with_children = [
        name
        for name, member in tree.members.items()
        if not member.equal and any(not child.equal for child in member.children.values())
    ]
    tried = Random(1).sample(with_children, min(PROBES // 4, len(with_children)))
    found = [tree.probe_full_leave(name) for name in tried]
    return sum(found) / len(found) / len(tree) if found else 0.0


def leaves(made: Workload, tree: Hierarchy, join: Join, results: Results) -> Iterator[Figure]:
    """Fig. 9.7, and what a tenth of new peers mends."""
    size, draw = len(tree), Random(2)
    order = list(tree.members)
    draw.shuffle(order)
    gone = 0
    for share in GONE:
        for name in order[gone : round(share * size)]:
            tree.leave(name)
        gone = round(share * size)
        _, vain = routed(tree, made.documents[22])
        results.after_leaves[join.value, share] = vain
        yield _plain(
            f"{join.value} tree of {size:,}, {share:.0%} gone: false positives", vain, "of peers"
        )
    for number in range(size // 10):
        tree.join(f"new{number}", made.filters[max(*TREES, *GRAPHS) + number])
    _, vain = routed(tree, made.documents[22])
    results.mended[join.value] = vain
    yield _plain(f"{join.value} tree, then a tenth new: false positives", vain, "of peers")


def graphs(made: Workload, results: Results) -> Iterator[Figure]:
    """Graphs by similarity, of each size and n."""
    for size in GRAPHS:
        relations = Relations(Patterns())
        numbers = [relations.number(f) for f in made.filters[:size]]
        nearness = Nearness(relations, made.past)
        for near in NEAR:
            graph = communities(relations, numbers, nearness, near, Random(1))
            found = graph.degrees
            place = AT.index(size) if size in AT else None
            figures = float(found.mean()), float(found.max()), float(found.std())
            for what, ours, theirs in zip(
                ("mean", "largest", "standard deviation of"), figures, PRINTED[near], strict=True
            ):
                printed = None if place is None else float(theirs[place])
                results.degrees[near, size, what] = ours, printed
                yield Figure(
                    f"peers: graph of {size:,}, n={near}: {what} degree",
                    ours,
                    printed,
                    None,
                    "links",
                    note="baseline: Table 9.4",
                )
            for tags in (22, 58):
                for rho in RHO if near == max(NEAR) else (1.0,):
                    vain, missed = accuracy(graph, made.documents[tags], rho)
                    results.graph[near, size, tags, rho] = vain, missed
                    name = f"graph of {size:,}, n={near}, rho={rho:.0%}, T={tags}"
                    yield _plain(f"{name}: false positives", vain, "of peers")
                    yield _plain(f"{name}: false negatives", missed, "of those who want it")


def accuracy(graph: Communities, documents: Sequence[str], rho: float) -> tuple[float, float]:
    """False positives of all peers, false negatives of those who want it, in the mean."""
    draw = np.random.default_rng(1)
    vain, missed, counted = 0.0, 0.0, 0
    for document in documents:
        matching = set(graph.relations.matching(document))
        wanting = [n for n, f in enumerate(graph.filters.tolist()) if f in matching]
        if not wanting:
            continue
        publisher = wanting[int(draw.integers(len(wanting)))]
        way = graph.route(publisher, document, rho, draw)
        counted += 1
        vain += way.in_vain / len(graph.filters)
        missed += way.missed / way.wanted
    return (vain / counted, missed / counted) if counted else (0.0, 0.0)


def metric() -> Iterator[Figure]:
    """Sim beside what is counted, on three types of documents."""
    for name, dtd in definitions().items():
        for each in accuracies(name, dtd, filters=PATTERNS, documents=300):
            label = f"Sim on {name} by {each.guide}"
            yield _plain(f"{label}: error", each.error, "mean difference")
            yield _plain(f"{label}: rank correlation", each.correlation, "Spearman's")


def _plain(name: str, ours: float, unit: str) -> Figure:
    return Figure(f"peers: {name}", ours, None, None, unit)


def _beside(name: str, ours: float, broadcast: float) -> Figure:
    ratio = broadcast / ours if ours else None
    return Figure(f"peers: {name}", ours, broadcast, ratio, "of peers", note="baseline: broadcast")
