"""What has to hold of a poset, looked at from outside: nodes, links, roots, and who is where.

`flaws` lists what must never be so, whatever the algebra can decide. `misplaced` compares links
with the transitive reduction of covering, which is computed from all pairs of filters.
"""

from collections.abc import Callable, Iterable
from random import Random

import numpy as np

import tidegate as tg
from tidegate.algebra.relate import covers
from tidegate.papers.poset.node import Node
from tidegate.papers.poset.poset import Poset
from tidegate.papers.poset.sieve_kernels import PARENT

Covers = Callable[[tg.Filter, tg.Filter], bool]


def flaws(poset: Poset, decides: Covers = covers) -> list[str]:
    """What is wrong with a poset, even if the algebra cannot decide everything."""
    found = []
    nodes = poset.nodes
    links = [(node, child) for node in nodes for child in node.below]
    known = set(nodes)
    for node, child in links:
        if node not in child.above or child not in known:
            found.append(f"{node} has a link to {child} that does not lead back")
        if not decides(node.filter, child.filter):
            found.append(f"{node} does not cover {child}")
    if len(links) != sum(len(node.above) for node in nodes):
        found.append("some nodes are linked upward only")
    if set(poset.roots) != {node for node in nodes if not node.above}:
        found.append("the roots are not those that nothing is above of")
    if poset._diagram.links != len(links) + len(poset.roots):
        found.append("links are miscounted")
    if set(_reached(poset.roots)) != known:
        found.append("some nodes are not reached from a root")
    if len(_in_order(nodes)) != len(nodes):
        found.append("links lead in a circle")
    found += _lost_numbers(poset)
    return found + [flaw for node in (*nodes, poset._diagram.top) for flaw in _sieved(node)]


def _reached(nodes: Iterable[Node]) -> dict[Node, None]:
    found: dict[Node, None] = {}
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node not in found:
            found[node] = None
            stack.extend(node.below)
    return found


def _in_order(nodes: Iterable[Node]) -> list[Node]:
    """The nodes, each behind all that is above it; those in a circle are left out."""
    left = {node: len(node.above) for node in nodes}
    ready = [node for node, count in left.items() if not count]
    done = []
    while ready:
        node = ready.pop()
        done.append(node)
        for child in node.below:
            left[child] -= 1
            if not left[child]:
                ready.append(child)
    return done


def _lost_numbers(poset: Poset) -> list[str]:
    at_nodes = [number for node in poset.nodes for number in node.numbers]
    kept = sorted([*at_nodes, *poset._empty, *poset._aside.filters])
    found = [] if kept == sorted(poset._filters) else ["numbers are lost, or at several nodes"]
    if any(not node.numbers for node in poset.nodes):
        found.append("a node has no number")
    if any(poset._nodes[node.filter] is not node for node in poset.nodes):
        found.append("a node is filed under another filter than its own")
    for node in poset.nodes:
        for number in node.numbers:
            own = poset._filters[number]
            if own != node.filter and not (covers(own, node.filter) and covers(node.filter, own)):
                found.append(f"{own} is at {node}, which says something else")
    return found


def _sieved(node: Node) -> list[str]:
    """What is wrong with the rows of a node's children."""
    sieve = node.sieve
    if sieve is None:
        return []
    if set(sieve._nodes) != set(node.below) or len(sieve._nodes) != len(node.below):
        return [f"the sieve of {node} has other rows than children"]
    found = []
    for child, row in sieve._rows.items():
        count = int(sieve._counts[row])
        known = [[number, *reach] for number, reach in child.outline.limits.items()][:count]
        if (
            sieve._nodes[row] is not child
            or sieve._limits[:3, row, : len(known)].T.tolist() != known
        ):
            found.append(f"the sieve of {node} has another outline for {child}")
        if bool(sieve._flags[row] & PARENT) is not bool(child.below):
            found.append(f"the sieve of {node} does not know whether {child} has children")
    return found


def misplaced(poset: Poset) -> list[str] | None:
    """Where links are not the transitive reduction of covering; None if that is not transitive."""
    nodes = poset.nodes
    above = np.array([[a is not b and covers(a.filter, b.filter) for b in nodes] for a in nodes])
    above = above.reshape(len(nodes), len(nodes)).astype(np.int64)
    twins = [f"{nodes[i]} says what {nodes[j]} says" for i, j in np.argwhere(above & above.T)]
    if twins:
        return twins
    between = above @ above > 0
    if np.any(between & ~above.astype(bool)):
        return None
    direct = above.astype(bool) & ~between
    found = []
    for i, a in enumerate(nodes):
        for j, b in enumerate(nodes):
            if direct[i, j] != (b in a.below):
                found.append(f"{a} {'lacks' if direct[i, j] else 'has'} a link to {b}")
    return found


def links(poset: Poset) -> dict[tuple[int, ...], set[tuple[int, ...]]]:
    """Who hangs directly under whom, by the numbers of the filters."""
    return {
        tuple(sorted(node.numbers)): {tuple(sorted(child.numbers)) for child in node.below}
        for node in poset.nodes
    }


def plain_filter(rng: Random, schema: tg.Schema | None = None) -> tg.Filter:
    """A filter about which the algebra decides everything: small numbers in ranges and lists."""

    def part() -> str:
        low = rng.randrange(7)
        high = low + rng.randrange(4)
        name = rng.choice("xxy")
        return rng.choice(
            (
                *(f"{name} BETWEEN {low} AND {high}", f"{name} BETWEEN {low} AND {high}"),
                *(f"{name} < {low}", f"{name} >= {low}", f"{name} = {low}", f"{name} <> {low}"),
                *(f"{name} IN ({low}, {high + 1})", f"{name} IS NOT NULL", f"{name} IS NULL"),
                *(f"({name} > {low}) IS NOT TRUE", "TRUE"),
            )
        )

    terms = [
        " AND ".join(part() for _ in range(rng.choice((1, 1, 2))))
        for _ in range(rng.choice((1, 1, 1, 2)))
    ]
    if rng.random() < 0.1:  # other words for the same
        terms = [f"{term} AND y IS {word}" for term in terms for word in ("NULL", "NOT NULL")]
    return tg.parse(" OR ".join(f"({term})" for term in terms), schema)


def plain_event(rng: Random) -> dict[str, int | None]:
    """An event among those filters."""
    return {name: rng.choice((None, *range(-1, 11))) for name in "xy" if rng.random() < 0.95}
