"""Events among peers: who gets them, against asking everybody; bad input; planted errors."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.overlay.words import WORDS, WordKind, Words
from tidegate.errors import TidegateError
from tidegate.overlay.attributes import Attributes
from tidegate.peers.messages import Deliver, Effect, LinkDown, LinkUp, Pass, Restart, Send
from tidegate.peers.network import PeerNetwork, Spread, random_delays
from tidegate.peers.peer import Peer, Settings

Graph = tuple[dict[str, Words], dict[tuple[str, str], bool]]
EVENTS = [{"word": word} for word in WORDS]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    sets = st.frozensets(st.sampled_from(WORDS), min_size=2, max_size=7)
    peers = {f"p{number}": Words(draw(sets)) for number in range(draw(st.integers(2, 9)))}
    pairs = [(a, b) for a in peers for b in peers if a < b]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=16))
    return peers, {pair: draw(st.booleans()) for pair in chosen}


def neighbours(links: dict[tuple[str, str], bool], name: str) -> set[str]:
    return {b if a == name else a for a, b in links if name in (a, b)}


def expected(graph: Graph, publisher: str, event: Any) -> tuple[set[str], int]:
    """Who hears of an event, and how many messages that takes, without indulgence."""
    peers, links = graph
    reached: set[str] = set()
    messages = 0
    passing = [publisher]
    while passing:
        name = passing.pop()
        others = neighbours(links, name)
        messages += len(others) - (name != publisher)
        for other in others - reached - {publisher}:
            reached.add(other)
            if peers[other].matches(event):
                passing.append(other)
    return reached, messages


def check(graph: Graph, publisher: str, event: Any, spread: Spread) -> None:
    wanted = {name for name, f in graph[0].items() if f.matches(event)} - {publisher}
    reached, messages = expected(graph, publisher, event)
    assert spread.wanted == wanted
    assert spread.reached == reached
    assert sorted(spread.delivered) == sorted(wanted & reached)
    assert spread.messages == messages
    assert spread.in_vain == reached - wanted
    assert spread.missed == wanted - reached


@given(graphs(), st.integers(0, 99))
def test_an_event_goes_exactly_where_the_rule_takes_it(graph: Graph, seed: int) -> None:
    network = PeerNetwork(WordKind(), *graph, delay=random_delays(seed))
    for number, event in enumerate(EVENTS):
        publisher = f"p{number % len(graph[0])}"
        check(graph, publisher, event, network.publish(publisher, event))


@given(graphs(), st.integers(0, 99))
def test_without_rho_random_links_carry_nothing(graph: Graph, seed: int) -> None:
    peers, links = graph
    without = dict.fromkeys((link for link, random in links.items() if not random), False)
    network = PeerNetwork(WordKind(), peers, links, Settings(rho=0.0), random_delays(seed))
    for event in EVENTS:
        check((peers, without), "p0", event, network.publish("p0", event))


@given(graphs(), st.integers(1, 3), st.integers(0, 99))
def test_indulgence_reaches_as_many_as_without_and_no_further_than_it_says(
    graph: Graph, indulgence: int, seed: int
) -> None:
    peers, links = graph
    network = PeerNetwork(
        WordKind(), peers, links, Settings(indulgence=indulgence), random_delays(seed)
    )
    for event in EVENTS:
        spread = network.publish("p0", event)
        assert (
            expected(graph, "p0", event)[0] <= spread.reached <= furthest(graph, indulgence, event)
        )
        assert sorted(spread.delivered) == sorted(spread.wanted & spread.reached)


def furthest(graph: Graph, indulgence: int, event: Any) -> set[str]:
    """Who could hear of an event of p0 on ways with so many peers that do not want it."""
    peers, links = graph
    least = {"p0": 0}  # how many of these there are on the best way, its end among them
    changed = True
    while changed:
        changed = False
        for name, cost in list(least.items()):
            if cost <= indulgence:
                for other in neighbours(links, name) - {"p0"}:
                    new = cost + (not peers[other].matches(event))
                    if new < least.get(other, 99):
                        least[other] = new
                        changed = True
    return least.keys() - {"p0"}


def test_along_a_line_indulgence_is_used_up_by_those_who_do_not_want_it() -> None:
    peers = {f"p{number}": Words(frozenset("b")) for number in range(6)}
    peers["p2"] = Words(frozenset("a"))
    links = {(f"p{number}", f"p{number + 1}"): False for number in range(5)}
    for indulgence, last in [(0, 1), (1, 3), (2, 4), (3, 5), (9, 5)]:
        network = PeerNetwork(WordKind(), peers, links, Settings(indulgence=indulgence))
        spread = network.publish("p0", {"word": "a"})
        assert spread.reached == {f"p{number}" for number in range(1, last + 1)}


@st.composite
def containment_trees(draw: st.DrawFn) -> Graph:
    """Peers under one that contains them; those at the top are linked to each other."""
    peers: dict[str, Words] = {}
    links: dict[tuple[str, str], bool] = {}
    tops: list[str] = []
    for number in range(draw(st.integers(2, 10))):
        name = f"p{number}"
        parent = draw(st.sampled_from([None, *peers]))
        choices = sorted(peers[parent].words) if parent else list(WORDS)
        peers[name] = Words(draw(st.frozensets(st.sampled_from(choices), min_size=1)))
        if parent is None:
            links.update(((top, name), False) for top in tops)
            tops.append(name)
        else:
            links[parent, name] = False
    return peers, links


@given(containment_trees(), st.integers(0, 99))
def test_in_a_containment_tree_nobody_misses_what_its_publisher_wants(
    graph: Graph, seed: int
) -> None:
    peers, links = graph
    network = PeerNetwork(WordKind(), peers, links, delay=random_delays(seed))
    for name, f in peers.items():
        for event in EVENTS:
            if f.matches(event):
                spread = network.publish(name, event)
                check(graph, name, event, spread)
                assert spread.missed == set()


class PassesBack(Peer):
    """Passes an event back to where it came from."""

    def _pass_on(self, source: str | None, message: Pass) -> list[Effect]:
        return super()._pass_on(None, message)


class PassesTwice(Peer):
    """Does not know an event again unless the same neighbour repeats it."""

    def _heard(self, link: str, message: Pass) -> list[Effect]:
        self._seen.pop((message.publisher, message.number), None)
        known = self.__dict__.setdefault("from_whom", set())
        if (link, message.publisher, message.number) in known:
            return []
        known.add((link, message.publisher, message.number))
        return super()._heard(link, message)


class PassesOnWhatItDoesNotWant(Peer):
    """Floods."""

    def _heard(self, link: str, message: Pass) -> list[Effect]:
        new = (message.publisher, message.number) not in self._seen
        effects = super()._heard(link, message)
        return effects or (self._pass_on(link, message) if new else [])


class ForgetsToPassOn(Peer):
    """Keeps what it wants to itself."""

    def _pass_on(self, source: str | None, message: Pass) -> list[Effect]:
        return super()._pass_on(source, message) if source is None else []


class TakesHighestNumbersOnly(Peer):
    """Takes an event that was overtaken by a later one for an old one."""

    def _remember(self, message: Pass) -> bool:
        highest = self.__dict__.setdefault("highest", {})
        if message.number <= highest.get(message.publisher, 0):
            return False
        highest[message.publisher] = message.number
        return True


@pytest.mark.parametrize(
    "mutant", [PassesBack, PassesTwice, PassesOnWhatItDoesNotWant, ForgetsToPassOn]
)
def test_a_planted_error_is_noticed(mutant: Callable[..., Peer]) -> None:
    @settings(
        max_examples=200,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
        deadline=None,
    )
    @given(graphs())
    def run(graph: Graph) -> None:
        network = PeerNetwork(WordKind(), *graph, make=mutant)
        for event in EVENTS:
            check(graph, "p0", event, network.publish("p0", event))

    with pytest.raises(AssertionError):
        run()


def test_an_event_that_overtakes_another_does_not_replace_it() -> None:
    def heard(make: Callable[..., Peer]) -> list[int]:
        peer = make("ann", WordKind(), Words(frozenset("a")))
        peer.handle("bob", LinkUp())
        peer.handle("cid", LinkUp())
        came = [*peer.handle("bob", Pass("x", 2, {"word": "a"}))]
        came += peer.handle("cid", Pass("x", 1, {"word": "a"}))
        return [effect.number for effect in came if isinstance(effect, Deliver)]

    assert heard(Peer) == [2, 1]
    assert heard(TakesHighestNumbersOnly) == [2]


def test_rho_is_a_share_and_always_falls_the_same_way() -> None:
    kind = WordKind()
    peers = {"a": Words(frozenset("a")), "b": Words(frozenset("a"))}

    def reached() -> list[bool]:
        network = PeerNetwork(kind, peers, {("a", "b"): True}, Settings(rho=0.3))
        return [bool(network.publish("a", {"word": "a"}).reached) for _ in range(1_000)]

    first = reached()
    assert first == reached()
    assert 240 < sum(first) < 360


@given(graphs(), st.integers(0, 7), st.integers(0, 2))
def test_a_peer_restored_from_its_snapshot_has_the_same_future(
    graph: Graph, cut: int, indulgence: int
) -> None:
    kind, chosen = WordKind(), Settings(indulgence=indulgence, rho=0.5, memory=3)
    one = PeerNetwork(kind, *graph, chosen)
    other = PeerNetwork(kind, *graph, chosen)
    for number, event in enumerate(EVENTS):
        if number == cut:
            for name, peer in other.peers.items():
                other.peers[name] = Peer.restore(kind, peer.snapshot())
                assert other.peers[name].snapshot() == peer.snapshot()
        publisher = f"p{number % len(graph[0])}"
        assert one.publish(publisher, event) == other.publish(publisher, event)


def ann(**chosen: Any) -> Peer:
    peer = Peer("ann", WordKind(), Words(frozenset("a")), Settings(**chosen))
    for link in ("bob", "cid"):
        peer.handle(link, LinkUp())
    return peer


@pytest.mark.parametrize(
    ("link", "came"),
    [
        ("unheard", Pass("x", 1, {"word": "a"})),
        ("bob", Pass("x", -1, {"word": "a"})),
        ("bob", Pass("x", True, {"word": "a"})),
        ("bob", Pass("x", 1, {"word": "a"}, spare=-1)),
        ("bob", Pass("x", 1, None)),
        ("bob", Pass(None, 1, {"word": "a"})),  # type: ignore[arg-type]
        ("bob", Pass([], 1, {"word": "a"})),  # type: ignore[arg-type]
        ("bob", Pass("x", "1", {"word": "a"})),  # type: ignore[arg-type]
        ("bob", "event"),
    ],
)
def test_bad_input_is_counted_and_changes_nothing_else(link: str, came: Any) -> None:
    peer = ann()
    before = peer.snapshot()
    assert peer.handle(link, came) == []
    assert peer.refused == 1
    peer.refused = 0
    assert peer.snapshot() == before
    assert len(peer.handle("bob", Pass("x", 1, {"word": "a"}))) == 2


def test_a_neighbour_cannot_use_a_peers_own_name_nor_grant_more_than_the_settings_do() -> None:
    peer = ann(indulgence=1)
    assert peer.handle("bob", Pass("ann", 1, {"word": "a"})) == []
    assert len(peer.publish({"word": "a"})) == 3
    assert peer.handle("bob", Pass("x", 1, {"word": "b"}, spare=10**9)) == [
        Send("cid", Pass("x", 1, {"word": "b"}, spare=0))
    ]


def test_memory_is_bounded_whoever_floods() -> None:
    peer = ann(memory=10)
    for number in range(1_000):
        peer.handle("bob", Pass(f"x{number}", number, {"word": "b"}))
    assert len(peer.snapshot()[6]) == 10


def test_links_that_are_down_get_nothing_and_numbers_go_on_after_a_restart() -> None:
    peer = ann()
    peer.handle("bob", LinkDown())
    peer.handle("bob", LinkDown())
    assert [effect for effect in peer.publish({"word": "b"}) if isinstance(effect, Send)] == [
        Send("cid", Pass("ann", 1, {"word": "b"}))
    ]
    peer.handle("", Restart())
    assert peer.links == {}
    peer.handle("cid", LinkUp(random=True))
    assert peer.publish({"word": "b"}) == [Send("cid", Pass("ann", 2, {"word": "b"}))]
    assert peer.links == {"cid": True}


def test_what_cannot_be_set_published_or_restored_is_refused() -> None:
    for chosen in ({"indulgence": -1}, {"rho": 1.5}, {"rho": float("nan")}, {"memory": 0}):
        with pytest.raises(TidegateError):
            Settings(**chosen)
    with pytest.raises(TidegateError, match="event cannot be taken"):
        ann().publish(7)
    with pytest.raises(TidegateError, match="no snapshot"):
        Peer.restore(WordKind(), [99])
    stranger: Any = "price < 5"
    with pytest.raises(TidegateError, match="filter cannot be taken"):
        Peer("ann", Attributes(), stranger)
    with pytest.raises(TidegateError, match="no link"):
        PeerNetwork(WordKind(), {"a": Words(frozenset("a"))}, {("a", "b"): False})
