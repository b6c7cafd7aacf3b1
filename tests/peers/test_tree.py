"""The containment tree: what holds after every step, what holds at rest, and who is misplaced."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import LONG
from tests.overlay.words import WordKind, Words
from tests.peers.trees import History, Tree, check, check_events, some_settings
from tidegate.errors import TidegateError
from tidegate.peers.branch import TreeSettings
from tidegate.peers.messages import Send, Tick
from tidegate.peers.simulation import Simulation
from tidegate.peers.tree_messages import Join, Relation, Reply
from tidegate.peers.tree_peer import TreePeer

SEEDS = st.integers(0, 10**6)
STEPS = 40 if LONG else 16


@given(SEEDS, st.booleans())
def test_after_every_step_there_is_one_tree_and_nobody_misses_an_event(
    seed: int, patchy: bool
) -> None:
    history = History(seed, at_once=False, patchy=patchy)
    for _ in range(STEPS):
        history.step()
        check(history.tree)
    check_events(history.tree)


@given(SEEDS, st.booleans())
def test_at_once_and_with_messages_late_or_lost_there_never_is_a_circle_and_one_tree_in_the_end(
    seed: int, patchy: bool
) -> None:
    history = History(seed, at_once=True, patchy=patchy)
    for _ in range(2 * STEPS):
        history.step()
    history.rest()
    check(history.tree)
    check_events(history.tree)


def tree_of(filters: dict[str, str], settings: TreeSettings | None = None, delay: int = 10) -> Tree:
    kind = WordKind()
    tree: Tree = Simulation(
        kind, lambda name, f: TreePeer(name, kind, f, settings or TreeSettings()), delay=delay
    )
    for name, words in filters.items():
        tree.join(name, Words(frozenset(words)))
        tree.settle()
    return tree


def parents(tree: Tree) -> dict[str, str | None]:
    return {name: peer.family.parent for name, peer in tree.peers.items()}


def test_the_parent_is_the_deepest_that_contains_then_the_one_with_fewest_children() -> None:
    filters = {"a": "abcdef", "b": "abcd", "c": "abce", "d": "ab", "e": "ac", "f": "abc"}
    found = parents(tree_of(filters, TreeSettings(join=Join.BASIC)))
    assert found == {"a": None, "b": "a", "c": "a", "d": "b", "e": "c", "f": "b"}


def test_who_is_better_off_under_a_newcomer_moves_there_in_a_full_join_only() -> None:
    filters = {"a": "abcdef", "b": "a", "c": "b", "q": "ab"}
    assert parents(tree_of(filters)) == {"a": None, "b": "q", "c": "q", "q": "a"}
    basic = parents(tree_of(filters, TreeSettings(join=Join.BASIC)))
    assert basic == {"a": None, "b": "a", "c": "a", "q": "a"}


def test_children_of_a_loaded_peer_move_to_a_newcomer_that_is_as_deep() -> None:
    filters = {"x": "abcd", "a": "a", "b": "b", "c": "c", "y": "abce"}
    found = parents(tree_of(filters))
    assert list(found.values()).count("y") == 2  # then x has 1, and y 2: no more


def test_equal_peers_form_a_tree_of_limited_degree_whose_root_has_a_share_of_it() -> None:
    settings = TreeSettings(degree=4, root_share=2)
    tree = tree_of({**{f"e{n}": "ab" for n in range(12)}, "below": "a"}, settings)
    found = parents(tree)
    assert found["below"] == "e0"
    members = [list(found.values()).count(f"e{n}") for n in range(12)]
    assert members[0] == 2 + 1
    assert max(members[1:]) <= 4
    assert None not in list(found.values())[1:]


@pytest.mark.parametrize("full", [False, True])
def test_when_a_peer_leaves_its_children_go_to_the_grandparent_or_search(full: bool) -> None:
    filters = {"a": "abcdef", "b": "abcd", "c": "abc", "d": "ab", "other": "abce", "deep": "abe"}
    tree = tree_of(filters, TreeSettings(join=Join.BASIC))
    assert parents(tree)["d"] == "c"
    tree.leave("c", full=full)
    tree.settle()
    check(tree)
    assert parents(tree)["d"] == ("deep" if full else "b")


def test_in_a_full_leave_those_below_look_for_a_deeper_parent_too() -> None:
    filters = {"a": "abcdefg", "b": "abcdef", "c": "abcde", "d": "abc", "e": "a"}
    tree = tree_of(filters, TreeSettings(join=Join.BASIC))
    for name, words in {"x": "adfg", "y": "adg", "z": "ad"}.items():
        tree.join(name, Words(frozenset(words)))
        tree.settle()
    assert parents(tree) == {
        "a": None, "b": "a", "c": "b", "d": "c", "e": "d", "x": "a", "y": "x", "z": "y"
    }  # fmt: skip
    tree.leave("b", full=True)
    tree.settle()
    check(tree)
    assert parents(tree)["e"] == "z"


def test_a_leaf_of_the_equivalence_tree_takes_the_place_of_who_leaves() -> None:
    settings = TreeSettings(degree=2, root_share=1)
    tree = tree_of({"top": "abc", **{f"e{n}": "ab" for n in range(5)}, "below": "a"}, settings)
    assert parents(tree)["below"] == "e0"
    tree.leave("e0")
    tree.settle()
    check(tree)
    successor = parents(tree)["below"]
    assert successor is not None
    assert successor.startswith("e")
    assert parents(tree)[successor] == "top"
    assert sum(parent == "top" for parent in parents(tree).values()) == 1


def test_when_a_peer_fails_an_equal_child_is_the_heir() -> None:
    tree = tree_of({"top": "abc", "e0": "ab", "e1": "ab", "e2": "ab", "below": "a"})
    tree.crash("e0")
    tree.settle()
    check(tree)
    found = parents(tree)
    heir = found["below"]
    assert heir in ("e1", "e2")
    assert found[str(heir)] == "top"


def test_when_the_only_top_and_all_that_is_known_fail_there_is_one_tree_again() -> None:
    tree = tree_of({"a": "abcdef", "b": "abc", "c": "def", "d": "ab", "e": "de", "f": "a"})
    for name in ("a", "b", "c"):
        tree.crash(name)
    tree.run(TreeSettings().mend_time)
    tree.settle()
    check(tree)
    check_events(tree)


def test_a_peer_does_not_go_to_the_top_before_it_has_heard_who_is_there() -> None:
    peer = TreePeer("q", WordKind(), Words(frozenset("abc")))
    peer.start(("a",))
    peer.handle("b", Reply(1, Relation.CONTAINED, 1, 2))
    for _ in range(TreeSettings().gather):
        peer.handle("q", Tick())
    assert not peer.family.joined  # a message that is late would leave it there alone


def test_a_history_in_which_a_child_became_its_parents_parent_unheard() -> None:
    history = History(524_288, at_once=True)
    for _ in range(80):
        history.step()
    history.rest()
    check(history.tree)


def test_nobody_is_without_a_parent_for_longer_than_is_stated() -> None:
    for seed in range(5):
        history = History(seed, at_once=True)
        for _ in range(12):
            history.step()
        history.tree.loss = 0.0
        history.tree.run(history.settings.orphan_time)
        assert all(peer.family.joined for peer in history.tree.peers.values())


def test_an_event_that_its_publisher_does_not_want_is_handed_to_the_top() -> None:
    tree = tree_of({"a": "abc", "b": "de", "c": "ab", "d": "a", "e": "d"})
    spread = tree.publish("d", {"word": "d"})
    assert sorted(spread.delivered) == ["b", "e"]
    assert sorted(tree.publish("a", {"word": "e"}).delivered) == ["b"]


def test_a_loaded_peer_sends_an_event_to_one_of_each_cluster() -> None:
    filters = {"top": "abcdefgh", **{f"p{n}": "abcdefgh"[n % 7] + "h" for n in range(14)}}
    filters = {name: words for name, words in filters.items() if len(set(words)) > 1}
    settings = TreeSettings(join=Join.BASIC, cluster=4, loaded=3)
    tree = tree_of(filters, settings)
    children = tree.peers["top"].family.children
    groups = tree.peers["top"].clusters()
    assert sorted(child for group in groups for child in group) == sorted(children)
    assert max(len(group) for group in groups) == 4
    before = tree.messages["Relay"] + tree.messages["Pass"]
    effects = [e for e in tree.peers["top"].publish({"word": "h"}) if isinstance(e, Send)]
    assert len(effects) == len(groups) < len(children)
    assert tree.messages["Relay"] + tree.messages["Pass"] == before
    for publisher in ("top", next(iter(children))):
        for word in "ah":
            spread = tree.publish(publisher, {"word": word})
            assert not spread.missed
            assert sorted(spread.delivered) == sorted(spread.wanted)


@given(SEEDS)
def test_a_peer_that_was_restored_has_the_same_future(seed: int) -> None:
    played = []
    for restored in (False, True):
        history = History(seed, at_once=True)
        for _ in range(8):
            history.step()
            if restored:
                peers = history.tree.peers
                for name, peer in list(peers.items()):
                    plain = json.loads(json.dumps(peer.snapshot()))
                    peers[name] = TreePeer.restore(peer.kind, plain)
        history.rest()
        snapshots = {name: peer.snapshot() for name, peer in history.tree.peers.items()}
        played.append((snapshots, history.tree.messages))
    assert played[0] == played[1]


def test_a_peer_that_runs_again_after_a_crash_comes_back() -> None:
    tree = tree_of({"a": "abcdef", "b": "abc", "c": "ab"})
    peer = tree.peers["b"]
    tree.crash("b")
    tree.run(3)
    tree.restart(peer)
    tree.run(TreeSettings().mend_time)
    tree.settle()
    check(tree)
    assert "b" in tree.peers


def misplaced(tree: Tree) -> float:
    """Which share of the peers is not under a deepest one that contains it."""
    peers = tree.peers

    def depth(name: str) -> int:
        peer = peers[name].family
        if peer.parent is None:
            return 1
        return depth(peer.parent) + (not peer.equal)

    wrong = 0
    for name, peer in peers.items():
        words = peer.filter.words  # type: ignore[attr-defined]
        containing = [
            depth(other)
            for other in peers
            if peers[other].filter.words > words  # type: ignore[attr-defined]
        ]
        wrong += depth(name) - 1 != max(containing, default=0)
    return wrong / len(peers)


def test_joins_that_move_more_peers_leave_fewer_misplaced_and_even_a_full_one_some() -> None:
    shares = dict.fromkeys(Join, 0.0)
    runs = 40 if LONG else 8
    for join in Join:
        for seed in range(runs):
            draw = Random(seed)
            settings = TreeSettings(join=join, adaptive_limit=3, adaptive_rate=0.3)
            sets = [draw.sample("abcdefgh", draw.randint(1, 7)) for _ in range(24)]
            filters = {f"p{n}": "".join(words) for n, words in enumerate(sets)}
            shares[join] += misplaced(tree_of(filters, settings)) / runs
    assert 0 < shares[Join.FULL] < shares[Join.ADAPTIVE] < shares[Join.BASIC]
    assert shares[Join.FULL] < 0.1


def test_what_does_not_make_sense_is_refused() -> None:
    with pytest.raises(TidegateError, match="root of an equivalence tree"):
        TreeSettings(degree=2, root_share=3)
    with pytest.raises(TidegateError, match="rate is from 0 to 1"):
        TreeSettings(adaptive_rate=2)
    with pytest.raises(TidegateError, match="at least 1"):
        TreeSettings(gather=0)
    tree = tree_of({"a": "a"}, some_settings(Random(1)))
    with pytest.raises(TidegateError, match="joined already"):
        tree.peers["a"].start()
    with pytest.raises(TidegateError, match="there is a peer 'a'"):
        tree.join("a", Words(frozenset("b")))
    with pytest.raises(TidegateError, match="no snapshot"):
        TreePeer.restore(WordKind(), [99])


@given(SEEDS)
def test_who_gets_an_event_in_vain_does_not_depend_on_who_wants_and_publishes_it(seed: int) -> None:
    history = History(seed, at_once=False, failures=False)
    for _ in range(10):
        history.step()
    tree = history.tree
    if history.settings.cluster:
        return  # which of a cluster passes an event on is drawn
    for word in "abcd":
        event = {"word": word}
        publishers = [name for name, peer in tree.peers.items() if peer.filter.matches(event)]
        assert len({tree.publish(name, event).in_vain for name in publishers}) <= 1


@given(SEEDS)
def test_where_everybody_is_in_place_nobody_gets_deeper_by_a_full_leave(seed: int) -> None:
    """So a basic join suffices for those who search anew."""
    draw = Random(seed)
    sets = [draw.sample("abcdef", draw.randint(1, 5)) for _ in range(10)]
    tree = tree_of({f"p{n}": "".join(words) for n, words in enumerate(sets)})
    if misplaced(tree):
        return
    leaver = draw.choice(list(tree.peers))

    def depths() -> dict[str, int]:
        found: dict[str, int] = {}
        for name in tree.peers:
            at, depth = tree.peers[name].family, 1
            while at.parent is not None:
                depth += not at.equal
                at = tree.peers[at.parent].family
            found[name] = depth
        return found

    before = depths()
    tree.leave(leaver, full=True)
    tree.settle()
    check(tree)
    assert all(depth <= before[name] for name, depth in depths().items())
