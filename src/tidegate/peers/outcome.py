"""What has come of a simulation of peers, in figures and for people."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidegate.peers.network import Spread
from tidegate.peers.picture import tree_picture
from tidegate.peers.simulation import EVENTS, Simulation
from tidegate.peers.tree_peer import TreePeer


@dataclass(frozen=True)
class Outcome:
    """Figures of one run; degrees are numbers of neighbours, the virtual root left out."""

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
        table.add_row("peers", f"{self.peers:,}, {self.tops:,} of them at the top")
        table.add_row("depth", f"{self.depth}")
        table.add_row(
            "degree", f"{self.mean_degree:.1f} without leaves, at most {self.largest_degree}"
        )
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


def tree_outcome(
    name: str, tree: Simulation[TreePeer], built: int, spreads: Sequence[Spread]
) -> Outcome:
    """The figures of a containment tree."""
    families = {name: peer.family for name, peer in tree.peers.items()}
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
    filters = {name: str(peer.filter) for name, peer in tree.peers.items()}
    events = sum(tree.messages[kind.__name__] for kind in EVENTS)
    return Outcome(
        name=name,
        peers=len(families),
        tops=sum(family.at_top for family in families.values()),
        depth=max((depth(peer) for peer in families), default=0),
        mean_degree=_share(sum(degrees), len(degrees)),
        largest_degree=max(degrees, default=0),
        built=built,
        messages=dict(sorted(tree.messages.items())),
        bytes=dict(sorted(tree.bytes.items())),
        events=len(spreads),
        wanted=sum(len(spread.wanted) for spread in spreads),
        delivered=sum(len(spread.delivered) for spread in spreads),
        in_vain=sum(len(spread.in_vain) for spread in spreads),
        missed=sum(len(spread.missed) for spread in spreads),
        event_messages=events,
        picture=lambda: tree_picture(name, families, filters),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
