"""What has come of a simulation of peers, in figures and for people."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidegate.peers.near_peer import NearPeer
from tidegate.peers.network import Spread
from tidegate.peers.picture import graph_picture, tree_picture
from tidegate.peers.simulation import EVENTS, Simulation
from tidegate.peers.tree_peer import TreePeer

Network: TypeAlias = Simulation[TreePeer | NearPeer]


@dataclass(frozen=True)
class Outcome:
    """Figures of one run; degrees are numbers of neighbours, the virtual root left out.

    In a graph, nobody is at the top, and there is no depth.
    """

    name: str
    peers: int
    tops: int
    depth: int
    mean_degree: float
    largest_degree: int
    built: int
    """Messages until all had joined."""
    messages: dict[str, int]
    bytes: dict[str, int]
    events: int
    wanted: int
    delivered: int
    in_vain: int
    missed: int
    event_messages: int
    picture: Callable[[], str]

    def json(self) -> str:
        """All figures."""
        table = asdict(self)
        del table["picture"]
        return json.dumps(table, indent=2) + "\n"

    def report(self, out: Console) -> None:
        """Print it for people."""
        table = Table(title=escape(self.name), show_header=False, title_justify="left")
        tops = f", {self.tops:,} of them at the top" if self.tops else ""
        table.add_row("peers", f"{self.peers:,}{tops}")
        if self.depth:
            table.add_row("depth", f"{self.depth}")
        leaves = " without leaves" if self.depth else ""
        table.add_row("degree", f"{self.mean_degree:.1f}{leaves}, at most {self.largest_degree}")
        table.add_row("messages to build", f"{self.built:,}")
        control = sum(self.messages.values()) - self.event_messages
        table.add_row("control messages in all", f"{control:,}")
        if self.events:
            population = self.events * self.peers
            table.add_row("events", f"{self.events:,} in {self.event_messages:,} messages")
            table.add_row("deliveries", f"{self.delivered:,} of {self.wanted:,} wanted")
            table.add_row("false positives", f"{self.in_vain / population:.2%} of all peers")
            missed = _share(self.missed, self.wanted)
            table.add_row("false negatives", f"{missed:.2%} of those who want it")
        out.print(table)


def outcome(name: str, network: Network, built: int, spreads: Sequence[Spread]) -> Outcome:
    """The figures of a network."""
    shape = _shape(name, network)
    return Outcome(
        name=name,
        peers=len(network.peers),
        tops=shape.tops,
        depth=shape.depth,
        mean_degree=_share(sum(shape.degrees), len(shape.degrees)),
        largest_degree=max(shape.degrees, default=0),
        built=built,
        messages=dict(sorted(network.messages.items())),
        bytes=dict(sorted(network.bytes.items())),
        events=len(spreads),
        wanted=sum(len(spread.wanted) for spread in spreads),
        delivered=sum(len(spread.delivered) for spread in spreads),
        in_vain=sum(len(spread.in_vain) for spread in spreads),
        missed=sum(len(spread.missed) for spread in spreads),
        event_messages=sum(network.messages[kind.__name__] for kind in EVENTS),
        picture=shape.picture,
    )


@dataclass(frozen=True)
class _Shape:
    tops: int
    depth: int
    degrees: list[int]
    picture: Callable[[], str]


def _shape(name: str, network: Network) -> _Shape:
    filters = {each: str(peer.filter) for each, peer in network.peers.items()}
    trees = {each: p for each, p in network.peers.items() if isinstance(p, TreePeer)}
    if not trees:
        links = {each: peer.links for each, peer in network.peers.items()}
        degrees = [len(each) for each in links.values()]
        return _Shape(0, 0, degrees, lambda: graph_picture(name, links, filters))
    families = {each: peer.family for each, peer in trees.items()}
    depths: dict[str, int] = {}

    def depth(peer: str) -> int:
        parent = families[peer].parent
        if peer not in depths:
            depths[peer] = 1 + (depth(parent) if parent is not None else 0)
        return depths[peer]

    degrees = [
        len(family.children) + (family.parent is not None)
        for family in families.values()
        if family.children
    ]
    tops = sum(family.at_top for family in families.values())
    deepest = max(depth(peer) for peer in families)
    return _Shape(tops, deepest, degrees, lambda: tree_picture(name, families, filters))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
