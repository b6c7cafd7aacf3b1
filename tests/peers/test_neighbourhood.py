"""Who is next to whom: against all pairs, and what that does to events."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.overlay.words import WORDS, WordKind, Words
from tidegate.errors import TidegateError
from tidegate.overlay.filter import Filter
from tidegate.peers.history import History
from tidegate.peers.neighbourhood import Links, by_proximity
from tidegate.peers.network import PeerNetwork
from tidegate.peers.peer import Settings
from tidegate.peers.proximity import Measure, Proximity

words = st.frozensets(st.sampled_from(WORDS), min_size=1, max_size=6).map(Words)


def seen() -> History:
    history = History(WordKind())
    for number in range(40):
        history.add({"word": WORDS[number * number % 7]})
    return history


@given(
    st.lists(words, max_size=9),
    st.integers(0, 4),
    st.integers(0, 3),
    st.sampled_from(list(Measure)),
    st.integers(0, 9),
)
def test_each_peer_has_its_nearest_some_others_and_those_who_chose_it(
    filters: list[Words], near: int, random: int, measure: Measure, seed: int
) -> None:
    peers = {f"p{number}": f for number, f in enumerate(filters)}
    proximity = Proximity(seen(), measure)
    links = by_proximity(peers, proximity, near, random, Random(seed))
    assert links == by_proximity(peers, proximity, near, random, Random(seed))
    assert all(name < other and {name, other} <= peers.keys() for name, other in links)
    least = 0
    for name, f in peers.items():
        others = {other for other in peers if other != name}
        chosen = {other for other in others if links.get(pair(name, other)) is False}
        ranked = sorted((proximity.of(f, peers[other]) for other in others), reverse=True)[:near]
        have = sorted((proximity.of(f, peers[other]) for other in chosen), reverse=True)
        assert have[: len(ranked)] == ranked
        drawn = {other for other in others if pair(name, other) in links}
        assert len(drawn) >= min(near, len(others))
        least += min(random, max(0, len(others) - near))
    if near == 0:
        assert len(links) >= least / 2
        assert all(links.values())
    if random == 0:
        assert not any(links.values())
        assert len(links) <= near * len(peers)


def pair(name: str, other: str) -> tuple[str, str]:
    return min(name, other), max(name, other)


@given(st.integers(0, 99))
def test_the_nearest_lists_are_those_of_all_pairs(seed: int) -> None:
    draw = Random(seed)
    peers: dict[str, Filter] = {
        f"p{number}": Words(frozenset(draw.sample(WORDS, draw.randint(1, 5))))
        for number in range(8)
    }
    proximity = Proximity(seen())
    every = by_proximity(peers, proximity, len(peers) - 1, 2, Random(1))
    assert every == {(a, b): False for a in peers for b in peers if a < b}


def test_equally_near_peers_share_the_links() -> None:
    peers: dict[str, Filter] = {f"p{number}": Words(frozenset("ab")) for number in range(10)}
    links = by_proximity(peers, Proximity(seen()), 1, 0, Random(1))
    degrees = [sum(name in link for link in links) for name in peers]
    assert max(degrees) <= 2


@pytest.mark.parametrize(("near", "random"), [(-1, 0), (0, -1)])
def test_fewer_than_no_neighbours_are_refused(near: int, random: int) -> None:
    with pytest.raises(TidegateError, match="0 or more"):
        by_proximity({}, Proximity(seen()), near, random, Random(1))


def communities() -> dict[str, Filter]:
    """Sixty peers that want one of two things, mostly."""
    draw = Random(5)
    return {
        f"p{number}": Words(frozenset(draw.sample("abcd" if number % 2 else "efgh", 3)))
        for number in range(60)
    }


def shares(links: Links, settings: Settings) -> tuple[float, float]:
    """The mean shares of peers that are reached in vain, and of those that miss what they want."""
    peers = communities()
    network = PeerNetwork(WordKind(), peers, links, settings)
    spreads = [
        network.publish(name, {"word": word})
        for name, f in peers.items()
        for word in WORDS
        if f.matches({"word": word})
    ]
    return (
        sum(len(spread.in_vain) for spread in spreads) / len(spreads) / len(peers),
        sum(len(spread.missed) for spread in spreads) / sum(len(s.wanted) for s in spreads),
    )


def test_near_neighbours_hear_less_in_vain_and_rho_trades_that_for_what_is_missed() -> None:
    history = History(WordKind())
    for number in range(80):
        history.add({"word": WORDS[number % 8]})
    near = by_proximity(communities(), Proximity(history), 5, 1, Random(1))
    at_random = by_proximity(communities(), Proximity(history), 0, 6, Random(1))
    vain, missed = zip(*(shares(near, Settings(rho=rho)) for rho in (0, 0.5, 1)), strict=True)
    assert vain[0] < vain[1] < vain[2] < shares(at_random, Settings())[0]
    assert missed[0] > missed[1] > missed[2]
