"""The tree without messages is the tree of the protocol, and searches without walking find all."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.overlay.words import WORDS, WordKind, Words
from tests.peers.trees import Patchy, PatchyKind, some_settings
from tidegate.errors import TidegateError
from tidegate.peers.branch import TreeSettings
from tidegate.peers.hierarchy import Hierarchy, Member, degrees
from tidegate.peers.simulation import Simulation
from tidegate.peers.tree_messages import Join
from tidegate.peers.tree_peer import TreePeer

SEEDS = st.integers(0, 10**6)


def drawn_filter(draw: Random, patchy: bool = False) -> Words:
    words = frozenset(draw.sample(WORDS, draw.randint(1, 6)))
    return Patchy(words) if patchy else Words(words)


def model_and_protocol(settings: TreeSettings) -> tuple[Hierarchy, Simulation[TreePeer]]:
    """The same empty tree twice."""
    kind = WordKind()
    tree: Simulation[TreePeer] = Simulation(
        kind, lambda name, f: TreePeer(name, kind, f, settings), delay=1
    )
    return Hierarchy(kind, settings), tree


@given(SEEDS)
def test_one_step_after_the_other_both_are_the_same_tree(seed: int) -> None:
    draw = Random(seed)
    model, tree = model_and_protocol(some_settings(draw))
    for step in range(24):
        if draw.random() < 0.75 or len(model) < 2:
            f = drawn_filter(draw)
            model.join(f"p{step}", f)
            tree.join(f"p{step}", f)
        else:
            name = draw.choice(list(model.members))
            model.leave(name)
            tree.leave(name)
        tree.settle()
        found = {name: peer.family.parent for name, peer in tree.peers.items()}
        assert model.parents() == found
    equal = {name: peer.family.equal for name, peer in tree.peers.items()}
    assert {name: member.equal for name, member in model.members.items()} == equal


@given(SEEDS, st.booleans())
def test_who_answers_a_search_is_found_without_walking(seed: int, patchy: bool) -> None:
    draw = Random(seed)
    settings = some_settings(draw)
    model = Hierarchy(PatchyKind() if patchy else WordKind(), settings)
    for step in range(30):
        model.join(f"p{step}", drawn_filter(draw, patchy))
        if step % 4 == 3:
            model.leave(draw.choice(list(model.members)))
        for mode in Join:
            newcomer = Member("q", model._number(drawn_filter(draw, patchy)))
            assert model.replies(newcomer, mode) == model.search(newcomer, mode)[0]


@given(SEEDS)
def test_as_many_peers_handle_a_join_as_searches_of_the_protocol_pass(seed: int) -> None:
    draw = Random(seed)
    model, tree = model_and_protocol(some_settings(draw))
    for step in range(24):
        name, f = f"p{step}", drawn_filter(draw)
        before = {other: peer.searches for other, peer in tree.peers.items()}
        handled = model.probe(name, f, model.settings.join)
        model.join(name, f)
        tree.join(name, f)
        tree.settle()
        assert handled == sum(tree.peers[other].searches > was for other, was in before.items())


@given(SEEDS)
def test_events_from_the_root_reach_whom_walking_reaches(seed: int) -> None:
    draw = Random(seed)
    model = Hierarchy(WordKind(), some_settings(draw))
    filters = {f"p{number}": drawn_filter(draw) for number in range(20)}
    for name, f in filters.items():
        model.join(name, f)
    flow = model.spread()
    for word in WORDS:
        event = {"word": word}
        stack = [member for member in model.members.values() if member.parent is None]
        vain = 0
        while stack:
            member = stack.pop()
            if filters[member.name].matches(event):
                stack += member.children.values()
            else:
                vain += 1
        wanted = sum(f.matches(event) for f in filters.values())
        assert flow.route(event) == (wanted, vain)


def test_counts_of_a_small_tree() -> None:
    kind = WordKind()
    model = Hierarchy(kind, TreeSettings(join=Join.BASIC))
    for name, words in {"a": "abcd", "b": "ab", "c": "cd", "d": "a", "e": "ef"}.items():
        model.join(name, Words(frozenset(words)))
    assert degrees(model.members.values()) == (2.0, 2)
    assert model.misplaced() == 0
    assert model.probe("q", Words(frozenset("a")), Join.BASIC) == 5
    assert model.probe("q", Words(frozenset("g")), Join.BASIC) == 2
    assert model.probe("q", Words(frozenset("g")), Join.FULL) == 5
    assert model.probe_full_leave("a") == 4
    model.join("late", Words(frozenset("abc")))
    assert model.misplaced() == pytest.approx(1 / 6)  # b
    with pytest.raises(TidegateError, match="there is a peer"):
        model.join("a", Words(frozenset("a")))
