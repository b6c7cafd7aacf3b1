"""Histories of a containment tree, and what must be true of it after each step."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from zlib import crc32

from tests.overlay.words import WORDS, WordKind, Words
from tidegate.overlay.filter import Filter, Plain
from tidegate.peers.branch import TreeSettings
from tidegate.peers.simulation import Simulation
from tidegate.peers.tree_messages import Join
from tidegate.peers.tree_peer import TreePeer


@dataclass(frozen=True, slots=True, repr=False)
class Patchy(Words):
    """A set of words that does not see a third of what it covers."""

    def covers(self, other: Filter, /) -> bool:
        assert isinstance(other, Words)
        pair = "".join(sorted(self.words)) + "/" + "".join(sorted(other.words))
        return self.words >= other.words and crc32(pair.encode()) % 3 > 0


class PatchyKind(WordKind):
    """The kind of these."""

    def read(self, plain: Plain) -> Patchy:
        return Patchy(super().read(plain).words)

    def filter_refusal(self, f: object) -> str | None:
        return None if isinstance(f, Patchy) else "it is no patchy set of words"


Make = Callable[[str, Filter], TreePeer]
Tree = Simulation[TreePeer]


def some_settings(draw: Random, join: Join | None = None) -> TreeSettings:
    """Settings under which a tree of a few peers has all that a large one has."""
    return TreeSettings(
        join=join or draw.choice(list(Join)),
        degree=draw.choice((2, 3, 4)),
        root_share=draw.choice((1, 2)),
        adaptive_limit=3,
        adaptive_rate=0.3,
        cluster=draw.choice((0, 0, 2)),
        loaded=2,
    )


class History:
    """Joins, leaves and failures, drawn from a seed; one after the other, or all at once."""

    def __init__(
        self,
        seed: int,
        *,
        at_once: bool,
        patchy: bool = False,
        peer: type[TreePeer] = TreePeer,
        join: Join | None = None,
        failures: bool = True,
    ) -> None:
        self.draw = Random(seed)
        self.settings = some_settings(self.draw, join)
        kind = PatchyKind() if patchy else WordKind()
        self._filter = Patchy if patchy else Words
        self.at_once = at_once
        self._failures = failures
        self._joined = 0
        self.tree: Tree = Simulation(
            kind,
            lambda name, f: peer(name, kind, f, self.settings),
            seed=seed,
            delay=self.draw.choice((10, 300, 900)),
            loss=self.draw.choice((0, 0.1)) if at_once else 0.0,
        )
        if at_once:
            self.tree.watch = lambda: check_edges(self.tree)

    def step(self) -> None:
        """One more of them."""
        tree, draw = self.tree, self.draw
        what = draw.random()
        if what < 0.6 or len(tree.peers) < 2:
            words = frozenset(draw.sample(WORDS, draw.randint(1, 6)))
            tree.join(f"p{self._joined}", self._filter(words))
            self._joined += 1
        else:
            name = draw.choice(list(tree.peers))
            if what > 0.8 and self._failures:
                tree.crash(name)
            elif tree.peers[name].stays:
                tree.leave(name, full=what > 0.7)
        if self.at_once:
            tree.run(draw.randint(0, 6))
        else:
            tree.settle()
            if what >= 0.6:
                tree.run(2 * self.settings.seek)

    def rest(self) -> None:
        """Nothing more is lost, and nothing more happens."""
        self.tree.loss = 0.0
        self.tree.run(self.settings.mend_time)
        self.tree.settle()


def check_edges(tree: Tree) -> None:
    """No circle, and each edge a true containment, at any time."""
    peers = tree.peers
    for name in peers:
        way = [name]
        parent = peers[name].family.parent
        while parent is not None and parent in peers:
            assert parent not in way, f"a circle: {way}"
            assert peers[parent].filter.words >= peers[way[-1]].filter.words  # type: ignore[attr-defined]
            way.append(parent)
            parent = peers[parent].family.parent


def check(tree: Tree) -> None:
    """One tree whose peers agree on it; at rest."""
    check_edges(tree)
    peers = tree.peers
    tops = {name for name, peer in peers.items() if peer.family.at_top}
    for name, peer in peers.items():
        family = peer.family
        assert family.joined, f"{name} has no parent"
        if family.parent is None:
            assert family.siblings.keys() == tops - {name}
        else:
            parent = peers[family.parent].family
            assert not family.siblings
            assert parent.children[name] == family.equal
            assert family.grandparent == parent.parent
        for child in family.children:
            assert peers[child].family.parent == name


def check_events(tree: Tree, publishers: int = 3) -> None:
    """Properties 9 to 11 of the thesis, for every event and a few publishers."""
    for publisher in list(tree.peers)[:publishers]:
        for word in WORDS:
            event = {"word": word}
            spread = tree.publish(publisher, event)
            assert not spread.missed
            assert sorted(spread.delivered) == sorted(spread.wanted)
            if tree.peers[publisher].filter.matches(event):
                assert spread.messages == len(spread.reached), "the ways are no tree"
