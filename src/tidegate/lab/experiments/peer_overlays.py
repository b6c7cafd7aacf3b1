"""How do trees and graphs of very many peers do?

The measures of Chand, "Large scale diffusion of information in Publish/Subscribe systems" (2005),
chapter 9: whom events reach, who has how many neighbours, and whom a join or a leave concerns.

Patterns and documents are those of the thesis's parameters (`xroute_overlay`, `lab.workloads`), in
a fixed order, so that a larger network has the peers of a smaller one. What its generator leaves
open was fitted elsewhere; one figure of its chapter 9 is close to it by that, the 75% of peers that
are not interested; all others are predictions.
"""

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Final

import numpy as np

from tidegate.lab.communities import Communities, Nearness
from tidegate.lab.experiments.xroute_overlay import Consumers
from tidegate.lab.workloads.dtds import news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.overlay.pattern_filter import PatternFilter
from tidegate.overlay.patterns import Patterns
from tidegate.peers.branch import TreeSettings
from tidegate.peers.hierarchy import Hierarchy
from tidegate.peers.relations import Relations
from tidegate.peers.tree_messages import Join

HISTORY: Final = 1_000  # documents over which f_s is counted
_APART: Final = 50  # what divides newcomers' seeds from those of the peers


def patterns(count: int, seed: int) -> list[PatternFilter]:
    """What peers want, one after the other."""
    consumers = Consumers(seed)
    return [consumers.draw()[1] for _ in range(count)]


def newcomers(count: int, seed: int) -> list[PatternFilter]:
    """What others want, who come later."""
    return patterns(count, seed + _APART)


def documents(count: int, tags: int, seed: int) -> list[str]:
    """Documents of so many tag pairs."""
    source = DocumentSource(news(), DocumentChoices(tags=tags), seed + tags)
    return [source.draw() for _ in range(count)]


# -- trees


def grown(join: Join, filters: Sequence[PatternFilter]) -> Hierarchy:
    """A tree that these have joined, one after the other."""
    tree = Hierarchy(Patterns(), TreeSettings(join=join))
    for number, f in enumerate(filters):
        tree.join(f"p{number}", f)
    return tree


def routed(tree: Hierarchy, published: Sequence[str]) -> tuple[float, float]:
    """The share of peers that want a document, and that get it in vain, in the mean."""
    flow, size = tree.spread(), len(tree) * len(published)
    ways = [flow.route(document) for document in published]
    return sum(w for w, _ in ways) / size, sum(v for _, v in ways) / size


def joining(tree: Hierarchy, join: Join, fresh: Sequence[PatternFilter]) -> float:
    """The share of peers that handle a search if somebody joins."""
    handled = [tree.probe(f"q{number}", f, join) for number, f in enumerate(fresh)]
    return sum(handled) / len(handled) / len(tree)


def leaving(tree: Hierarchy, tried: int) -> float:
    """The share of peers that handle a search if a peer with children leaves by a full leave."""
    with_children = [
        name
        for name, member in tree.members.items()
        if not member.equal and any(not child.equal for child in member.children.values())
    ]
    chosen = Random(1).sample(with_children, min(tried, len(with_children)))
    handled = [tree.probe_full_leave(name) for name in chosen]
    return sum(handled) / len(handled) / len(tree) if handled else 0.0


# -- graphs


@lru_cache(maxsize=1)
def known(peers: int, seed: int) -> tuple[Relations, tuple[int, ...], Nearness]:
    """The filters of so many peers, how they relate, and how near they are.

    Kept for the next point, which is of the same peers more often than not.
    """
    relations = Relations(Patterns())
    numbers = tuple(relations.number(f) for f in patterns(peers, seed))
    return relations, numbers, Nearness(relations, documents(HISTORY, 22, seed - 22))


def accuracy(graph: Communities, published: Sequence[str], rho: float) -> tuple[float, float]:
    """False positives of all peers, false negatives of those who want it, in the mean."""
    draw = np.random.default_rng(1)
    vain, missed, counted = 0.0, 0.0, 0
    for document in published:
        matching = np.zeros(len(graph.relations), dtype=bool)
        matching[graph.relations.matching(document)] = True
        wanting = np.flatnonzero(matching[graph.filters])
        if not len(wanting):
            continue
        publisher = int(wanting[int(draw.integers(len(wanting)))])
        found = graph.route(publisher, document, rho, draw)
        counted += 1
        vain += found.in_vain / len(graph.filters)
        missed += found.missed / found.wanted
    return (vain / counted, missed / counted) if counted else (0.0, 0.0)
