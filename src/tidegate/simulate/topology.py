"""What do overlays look like?

Names of brokers, and the links between them: a tree, unless several paths lead to a publisher.
Beside that, who of a broker's neighbours is above it, where it has to know (`overlay.upstream`).
`transit_stub` is reduced to one: the
graphs of Zegura, Calvert and Bhattacharjee, "How to Model an Internetwork" (INFOCOM 1996), in which
stub domains hang on the brokers of transit domains, and of these the spanning tree with the least
delay.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tidegate.errors import TidegateError
from tidegate.overlay.upstream import Parents, Paths, check_paths

# Delays in seconds: between transit domains, within one, from a stub domain to its transit broker,
# within a stub domain. What counts is their order, by which the spanning tree is chosen.
BETWEEN: Final = 0.05
TRANSIT: Final = 0.02
ACCESS: Final = 0.005
STUB: Final = 0.002
NO_DELAYS: Final[Mapping[frozenset[str], float]] = {}


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two brokers; without a delay of its own, that of the network counts."""

    first: str
    second: str
    delay: float | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """A tree of brokers, or several paths to each publisher; `upstream` says who is above whom.

    `spare` are links that may be opened later, and are not there at first.
    """

    names: tuple[str, ...]
    edges: tuple[Edge, ...]
    upstream: Mapping[str, Parents | Paths] = field(default_factory=dict)
    spare: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        if not self.names:
            raise TidegateError("an overlay has at least one broker")
        if len(set(self.names)) < len(self.names):
            raise TidegateError("two brokers have one name")
        ends = {end for edge in (*self.edges, *self.spare) for end in (edge.first, edge.second)}
        strange = sorted(ends - set(self.names))
        if strange:
            raise TidegateError(f"a link ends at {strange[0]!r}, which is no broker")
        tree = _spanning(self.names, self.edges)
        if tree != self.edges and not self.redundant:
            raise TidegateError("the links form a circle")
        if len(tree) != len(self.names) - 1:
            raise TidegateError("the links do not connect all brokers")

    @property
    def redundant(self) -> bool:
        """Whether several paths may lead to a publisher."""
        return any(isinstance(above, Paths) for above in self.upstream.values())


def with_parents(tree: Topology, root: str, backups: Mapping[str, Sequence[str]]) -> Topology:
    """The same tree with a root, so that each other broker has a parent, and with backups.

    >>> with_parents(line(3), "b0", {"b2": ["b0"]}).upstream["b2"]
    Parents(parent='b1', backups=('b0',))
    """
    for name in (root, *backups, *(each for some in backups.values() for each in some)):
        if name not in tree.names:
            raise TidegateError(f"there is no broker {name!r}")
    near: dict[str, list[str]] = {name: [] for name in tree.names}
    for edge in tree.edges:
        near[edge.first].append(edge.second)
        near[edge.second].append(edge.first)
    found = {root: Parents(None, tuple(backups.get(root, ())))}
    below = [root]
    while below:
        here = below.pop()
        for name in near[here]:
            if name not in found:
                if name in backups.get(name, ()):
                    raise TidegateError(f"{name} is no backup of itself")
                found[name] = Parents(here, tuple(backups.get(name, ())))
                below.append(name)
    return Topology(tree.names, tree.edges, found, tree.spare)


def with_paths(
    up: Mapping[str, Mapping[str, Sequence[str]]],
    delays: Mapping[frozenset[str], float] = NO_DELAYS,
) -> Topology:
    """Brokers, and for each of them and each root the neighbours on its ways to it.

    >>> ways = {"r": {"r": []}, "a": {"r": ["r"]}, "b": {"r": ["r"]}, "c": {"r": ["a", "b"]}}
    >>> with_paths(ways).upstream["a"]
    Paths(up={'r': ('r',)}, down={'r': ('c',)})
    """
    check_paths(up)
    upstream: dict[str, Parents | Paths] = {}
    links: dict[frozenset[str], Edge] = {}
    for name, ways in up.items():
        for root, above in ways.items():
            if root not in up:
                raise TidegateError(f"paths lead to {root!r}, which is no broker")
            if not above and root != name:
                raise TidegateError(f"no path leads from {name} to {root}")
            for goal in above:
                pair = frozenset((name, goal))
                links.setdefault(pair, Edge(goal, name, delays.get(pair)))
        down = {
            root: tuple(other for other, theirs in up.items() if name in theirs.get(root, ()))
            for root in ways
        }
        upstream[name] = Paths({root: tuple(above) for root, above in ways.items()}, down)
    return Topology(tuple(up), tuple(links.values()), upstream)


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
