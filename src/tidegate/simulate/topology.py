"""What do overlays look like?

Names of brokers, and the links between them: always a tree. `transit_stub` is reduced to one: the
graphs of Zegura, Calvert and Bhattacharjee, "How to Model an Internetwork" (INFOCOM 1996), in which
stub domains hang on the brokers of transit domains, and of these the spanning tree with the least
delay.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tidegate.errors import TidegateError

# Delays in seconds: between transit domains, within one, from a stub domain to its transit broker,
# within a stub domain. What counts is their order, by which the spanning tree is chosen.
BETWEEN: Final = 0.05
TRANSIT: Final = 0.02
ACCESS: Final = 0.005
STUB: Final = 0.002


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two brokers; without a delay of its own, that of the network counts."""

    first: str
    second: str
    delay: float | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """A tree of brokers."""

    names: tuple[str, ...]
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        if not self.names:
            raise TidegateError("an overlay has at least one broker")
        if len(set(self.names)) < len(self.names):
            raise TidegateError("two brokers have one name")
        ends = {end for edge in self.edges for end in (edge.first, edge.second)}
        strange = sorted(ends - set(self.names))
        if strange:
            raise TidegateError(f"a link ends at {strange[0]!r}, which is no broker")
        if _spanning(self.names, self.edges) != self.edges:
            raise TidegateError("the links form a circle")
        if len(self.edges) != len(self.names) - 1:
            raise TidegateError("the links do not connect all brokers")


def line(brokers: int) -> Topology:
    """One after the other.

    >>> line(3).edges
    (Edge(first='b0', second='b1', delay=None), Edge(first='b1', second='b2', delay=None))
    """
    return _tree([i - 1 for i in range(1, _some(brokers))])


def star(brokers: int) -> Topology:
    """All about the first one."""
    return _tree([0] * (_some(brokers) - 1))


def balanced(degree: int, depth: int) -> Topology:
    """A root, and below each broker, down to a depth, so many others.

    >>> len(balanced(2, 6).names)
    127
    """
    if degree < 1 or depth < 0:
        raise TidegateError(f"there is no tree of degree {degree} and depth {depth}")
    count = sum(degree**level for level in range(depth + 1))
    return _tree([(i - 1) // degree for i in range(1, count)])


def random_tree(brokers: int, seed: int) -> Topology:
    """Each joins one of those before it, any with the same probability."""
    draw = random.Random(seed)
    return _tree([draw.randrange(i) for i in range(1, _some(brokers))])


def transit_stub(domains: int, transits: int, stubs: int, size: int, seed: int) -> Topology:
    """So many transit domains of so many brokers, each with so many stub domains of a size.

    Within a domain, brokers are connected at random (a tree and half as many links again), and so
    are the transit domains.

    >>> len(transit_stub(2, 3, 2, 4, seed=1).names)
    54
    """
    if min(domains, transits, size) < 1 or stubs < 0:
        raise TidegateError("a transit-stub network has at least one broker in every domain")
    draw = random.Random(seed)
    edges: list[Edge] = []
    cores = [[f"t{d}.{i}" for i in range(transits)] for d in range(domains)]
    for first, second in _connected(range(domains), draw):
        edges.append(Edge(draw.choice(cores[first]), draw.choice(cores[second]), BETWEEN))
    names: list[str] = []
    for core in cores:
        names += core
        edges += [Edge(core[a], core[b], TRANSIT) for a, b in _connected(range(transits), draw)]
        for transit in core:
            for stub in range(stubs):
                own = [f"s{transit[1:]}.{stub}.{i}" for i in range(size)]
                names += own
                edges.append(Edge(transit, draw.choice(own), ACCESS))
                edges += [Edge(own[a], own[b], STUB) for a, b in _connected(range(size), draw)]
    edges.sort(key=lambda edge: edge.delay or 0.0)
    return Topology(tuple(names), _spanning(names, edges))


def _connected(nodes: range, draw: random.Random) -> list[tuple[int, int]]:
    """A random connected graph."""
    found = {(draw.randrange(i), i) for i in nodes[1:]}
    for _ in range(len(nodes) // 2):
        a, b = draw.choice(nodes), draw.choice(nodes)
        if a != b:
            found.add((min(a, b), max(a, b)))
    return sorted(found)


def _spanning(names: Iterable[str], edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """The edges, in their order, that connect what those before do not (Kruskal)."""
    above = {name: name for name in names}

    def root(name: str) -> str:
        while above[name] != name:
            above[name] = name = above[above[name]]
        return name

    found: list[Edge] = []
    for edge in edges:
        first, second = root(edge.first), root(edge.second)
        if first != second:
            above[first] = second
            found.append(edge)
    return tuple(found)


def _tree(parents: list[int]) -> Topology:
    names = tuple(f"b{i}" for i in range(len(parents) + 1))
    edges = tuple(Edge(names[parent], names[i + 1]) for i, parent in enumerate(parents))
    return Topology(names, edges)


def _some(brokers: int) -> int:
    if brokers < 1:
        raise TidegateError(f"an overlay has at least one broker, not {brokers}")
    return brokers
