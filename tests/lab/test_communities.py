"""Graphs of very many peers are those of the slow and obvious way."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.overlay.words import WORDS, WordKind, Words
from tidegate.lab.communities import Communities, Nearness, communities
from tidegate.peers.history import History
from tidegate.peers.neighbourhood import by_proximity
from tidegate.peers.network import PeerNetwork
from tidegate.peers.peer import Settings
from tidegate.peers.proximity import Proximity
from tidegate.peers.relations import Relations


def drawn(seed: int, peers: int) -> dict[str, Words]:
    draw = Random(seed)
    sets = [frozenset(draw.sample(WORDS, draw.randint(1, 6))) for _ in range(peers)]
    return {f"p{number:02}": Words(words) for number, words in enumerate(sets)}


def both(seed: int) -> tuple[dict[str, Words], Communities, Proximity]:
    peers, kind = drawn(seed, 16), WordKind()
    documents = [{"word": word} for word in WORDS[:6]]
    history = History(kind)
    for document in documents:
        history.add(document)
    relations = Relations(kind)
    numbers = [relations.number(f) for f in peers.values()]
    nearness = Nearness(relations, documents)
    return peers, communities(relations, numbers, nearness, 3, Random(1)), Proximity(history)


@given(st.integers(0, 10**6))
def test_near_links_are_those_of_somebody_who_asks_all_pairs(seed: int) -> None:
    peers, graph, proximity = both(seed)
    expected = by_proximity(peers, proximity, near=3, random=0, draw=Random(1))
    names = list(peers)
    found = {
        (names[a], names[b])
        for a, b, random in zip(graph.starts, graph.ends, graph.random, strict=True)
        if a < b and not random
    }
    assert found == set(expected)


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_events_go_where_they_go_in_a_network(seed: int) -> None:
    peers, graph, _ = both(seed)
    names = list(peers)
    links = {
        (names[a], names[b]): bool(random)
        for a, b, random in zip(graph.starts, graph.ends, graph.random, strict=True)
        if a < b
    }
    for rho in (0.0, 1.0):
        network = PeerNetwork(WordKind(), peers, links, Settings(rho=rho))
        for number, word in enumerate(WORDS):
            event = {"word": word}
            if peers[names[number]].matches(event):
                spread = network.publish(names[number], event)
                way = graph.route(number, event, rho, np.random.default_rng(1))
                assert way.in_vain == len(spread.in_vain)
                assert way.missed == len(spread.missed)
                assert way.wanted == len(spread.wanted) + 1


def test_a_share_of_events_takes_random_links() -> None:
    peers, graph, _ = both(3)
    publisher = next(n for n, f in enumerate(peers.values()) if f.matches({"word": "a"}))
    draw = np.random.default_rng(1)
    messages = [
        np.mean([graph.route(publisher, {"word": "a"}, rho, draw).messages for _ in range(60)])
        for rho in (0.0, 0.5, 1.0)
    ]
    assert messages[0] < messages[1] < messages[2]
    assert graph.degrees.sum() == len(graph.starts)
    assert graph.degrees.mean() == pytest.approx(len(graph.starts) / len(peers))
