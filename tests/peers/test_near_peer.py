"""The overlay by similarity as a protocol: whom peers choose, against all pairs; leaves; links."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.overlay.words import WORDS, WordKind, Words
from tests.peers.test_routing import expected
from tidegate.errors import TidegateError
from tidegate.overlay.filter import Filter
from tidegate.peers.messages import Disconnect, Send, Tick
from tidegate.peers.near_messages import (
    Agree,
    Candidate,
    Choose,
    Decline,
    Found,
    Probe,
    Release,
)
from tidegate.peers.near_peer import NearPeer
from tidegate.peers.near_settings import NearSettings
from tidegate.peers.simulation import Simulation

SEEDS = st.integers(0, 10**6)
Graph = Simulation[NearPeer]


def alike(first: Filter, second: Filter) -> float:
    """The mean of both directions, over all words."""
    assert isinstance(first, Words)
    assert isinstance(second, Words)
    both = len(first.words & second.words)
    return (both / len(first.words) + both / len(second.words)) / 2


def graph_of(
    seed: int, settings: NearSettings, peers: int = 12, peer: type[NearPeer] = NearPeer
) -> Graph:
    kind, draw = WordKind(), Random(seed)
    graph: Graph = Simulation(
        kind, lambda name, f: peer(name, kind, f, alike, settings), seed=seed, delay=100
    )
    for number in range(peers):
        words = frozenset(draw.sample(WORDS, draw.randint(1, 6)))
        graph.join(f"p{number}", Words(words))
        graph.settle()
    return graph


def check(graph: Graph) -> None:
    """A peer is chosen by exactly those who have chosen it, and both agree on what links are."""
    for name, peer in graph.peers.items():
        choosing = {other for other, o in graph.peers.items() if name in o.near or name in o.random}
        assert peer.chosen_by.keys() == choosing
        assert len(peer.near) <= peer.chosen.near
        assert len(peer.random) <= peer.chosen.random
        for link, random in peer.links.items():
            assert graph.peers[link].links[name] == random
        for link in peer.links:
            assert (name, link) in graph._links


def nearest(graph: Graph, name: str, n: int) -> list[float]:
    """How near the n nearest are, by asking all pairs."""
    own = graph.peers[name].filter
    return sorted(
        (alike(own, other.filter) for o, other in graph.peers.items() if o != name), reverse=True
    )[:n]


@given(SEEDS, st.booleans(), st.integers(1, 4))
def test_everybody_has_the_nearest_when_all_are_probed(seed: int, gathered: bool, n: int) -> None:
    graph = graph_of(seed, NearSettings(near=n, random=1, gathered=gathered))
    check(graph)
    for name, peer in graph.peers.items():
        assert sorted(peer.near.values(), reverse=True) == nearest(graph, name, n)


@given(SEEDS)
def test_events_go_where_links_take_them(seed: int) -> None:
    graph = graph_of(seed, NearSettings(near=2, random=1))
    filters: Any = {name: peer.filter for name, peer in graph.peers.items()}
    links = {
        (name, other): False for name, peer in graph.peers.items() for other in peer.links
        if name < other
    }  # fmt: skip
    for number, word in enumerate(WORDS):
        publisher = f"p{number}"
        spread = graph.publish(publisher, {"word": word})
        reached, messages = expected((filters, links), publisher, {"word": word})
        assert spread.reached == reached
        assert spread.messages == messages
        assert sorted(spread.delivered) == sorted(spread.wanted & reached)


@given(SEEDS, st.booleans())
def test_whoever_leaves_or_fails_is_replaced_and_a_full_leave_finds_the_nearest(
    seed: int, full: bool
) -> None:
    settings = NearSettings(near=3, random=1)
    graph = graph_of(seed, settings)
    draw = Random(seed)
    for step in range(4):
        name = draw.choice(list(graph.peers))
        if full or step % 2:
            graph.leave(name, full=full)
        else:
            graph.crash(name)
        graph.run(2)
        graph.settle()
        check(graph)
        assert all(len(peer.near) == 3 for peer in graph.peers.values())
    if full:
        for name, peer in graph.peers.items():
            assert sorted(peer.near.values(), reverse=True) == nearest(graph, name, 3)


def test_with_a_limit_nobody_has_more_neighbours_and_others_are_chosen_instead() -> None:
    for seed in range(6):
        graph = graph_of(seed, NearSettings(near=3, random=1, limit=6), peers=20)
        check(graph)
        assert max(len(peer.links) for peer in graph.peers.values()) <= 6
        assert graph.messages["Decline"]
        assert sum(len(peer.near) for peer in graph.peers.values()) > 2 * len(graph.peers)


def test_gathering_sends_fewer_replies_to_the_newcomer() -> None:
    plain = graph_of(1, NearSettings(near=2, random=1), peers=16)
    gathered = graph_of(1, NearSettings(near=2, random=1, gathered=True), peers=16)
    kind = plain.kind
    for graph in (plain, gathered):
        heard = 0
        newcomer = NearPeer("q", kind, Words(frozenset("a")), alike, graph.peers["p0"].chosen)
        original = newcomer._found

        def count(link: str, found: Found, original: Any = original) -> None:
            nonlocal heard
            heard += 1
            original(link, found)

        newcomer._found = count  # type: ignore[method-assign]
        graph._make = lambda _, __, newcomer=newcomer: newcomer  # type: ignore[misc]
        graph.join("q", newcomer.filter)
        graph.settle()
        assert heard == (1 if graph is gathered else 16)


@given(SEEDS)
def test_a_peer_that_was_restored_has_the_same_future(seed: int) -> None:
    played = []
    for restored in (False, True):
        graph = graph_of(seed, NearSettings(near=2, random=1, gathered=bool(seed % 2)), peers=6)
        for step in range(3):
            graph.join(f"q{step}", Words(frozenset(WORDS[step : step + 3])))
            graph.run(2)
            if restored:
                for name, peer in list(graph.peers.items()):
                    plain = json.loads(json.dumps(peer.snapshot()))
                    graph.peers[name] = NearPeer.restore(peer.kind, plain, alike)
        graph.settle()
        snapshots = {name: peer.snapshot() for name, peer in graph.peers.items()}
        played.append((snapshots, graph.messages))
    assert played[0] == played[1]


class CutsBothSides(NearPeer):
    """Ends a link that the other side still needs."""

    def _release(self, name: str) -> None:
        self.chosen_by.pop(name, None)
        self._effects.append(Disconnect(name))


class ForgetsWhoChoseIt(NearPeer):
    """Does not write down by whom it was chosen."""

    def _chosen(self, link: str, choose: Choose) -> None:
        self._send(link, Agree(choose.near))


class KeepsTheWorst(NearPeer):
    """Does not choose a newcomer that is nearer."""

    def _prefer(self, joiner: str, proximity: float) -> None:
        if len(self.near) < self.chosen.near:
            super()._prefer(joiner, proximity)


@pytest.mark.parametrize("peer", [CutsBothSides, ForgetsWhoChoseIt, KeepsTheWorst])
def test_planted_errors_are_caught(peer: type[NearPeer]) -> None:
    def right(seed: int) -> bool:
        graph = graph_of(seed, NearSettings(near=2, random=1), peer=peer)
        try:
            check(graph)
        except (AssertionError, KeyError):
            return False
        return all(
            sorted(p.near.values(), reverse=True) == nearest(graph, name, 2)
            for name, p in graph.peers.items()
        )

    def breaks() -> bool:
        try:
            return not all(right(seed) for seed in range(12))
        except TidegateError:  # peers that are never at rest
            return True

    assert breaks()


def test_a_link_stays_while_one_side_needs_it() -> None:
    graph = graph_of(3, NearSettings(near=1, random=1), peers=8)
    name, peer = next((n, p) for n, p in graph.peers.items() if set(p.near) & set(p.chosen_by))
    other = next(iter(set(peer.near) & set(peer.chosen_by)))
    assert peer.handle(other, Release()) == []
    assert other in peer.links
    del peer.near[other]
    peer.chosen_by[other] = True
    assert Disconnect(other) in peer.handle(other, Release()) or other in peer.random
    assert name not in peer.links


def test_bad_input_is_counted_and_answers_that_nobody_asked_for_change_nothing() -> None:
    peer = graph_of(1, NearSettings(near=2)).peers["p3"]
    before = peer.snapshot()
    for came in ("nonsense", Probe(1, "x", "no filter"), Found(1, "x", ("y",))):  # type: ignore[arg-type]
        peer.handle("mallory", came)  # type: ignore[arg-type]
    assert peer.refused == before[4][0] + 3
    peer.refused -= 3
    peer.handle("mallory", Found(7, "p3", (Candidate("mallory", 1.0, 0),)))
    for answer in (Agree(near=True), Decline(near=True)):
        peer.handle("mallory", answer)
    assert peer.snapshot() == before


def test_a_flood_of_probes_by_one_name_and_number_is_passed_on_once() -> None:
    peer = graph_of(1, NearSettings(near=2)).peers["p3"]
    probe = Probe(1, "x", Words(frozenset("a")))
    first = [effect for effect in peer.handle("p0", probe) if isinstance(effect, Send)]
    assert first
    assert all(peer.handle("p1", probe) == [] for _ in range(100))


def test_what_does_not_make_sense_is_refused() -> None:
    for chosen in ({"near": 0, "random": 0}, {"near": 5, "limit": 3}, {"gather": 0}):
        with pytest.raises(TidegateError):
            NearSettings(**chosen)  # type: ignore[arg-type]
    kind = WordKind()
    peer = NearPeer("a", kind, Words(frozenset("a")), alike)
    peer.start()
    with pytest.raises(TidegateError, match="joined already"):
        peer.start()
    with pytest.raises(TidegateError, match="no snapshot"):
        NearPeer.restore(kind, [9], alike)
    with pytest.raises(TidegateError, match="with its metric"):
        NearPeer.restore(kind, peer.snapshot())
    assert peer.handle("a", Tick())  # it looks for others as long as it has none
