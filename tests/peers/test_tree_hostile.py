"""A containment tree among peers that lie, and peers that are made with planted errors."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.overlay.words import WordKind, Words
from tests.peers.trees import History, check, check_events
from tidegate.errors import TidegateError
from tidegate.overlay.filter import Event
from tidegate.peers.branch import TreeSettings
from tidegate.peers.messages import Effect, LinkUp, Pass, Send, Tick
from tidegate.peers.simulation import Simulation
from tidegate.peers.tree_messages import (
    Ask,
    Attach,
    Cancel,
    Check,
    Checked,
    Enter,
    Grant,
    Hand,
    Join,
    Kin,
    Leave,
    Promote,
    Reevaluate,
    Refuse,
    Relation,
    Relay,
    Reorganise,
    Reply,
    Search,
    Sibling,
    Still,
    Tops,
)
from tidegate.peers.tree_peer import TreePeer

FILTER = Words(frozenset("a"))
PASS = Pass("x", 1, {"word": "a"})


class PassesBack(TreePeer):
    """Passes an event to whom it came from, too."""

    def _pass_on(self, source: str | None, message: Pass) -> list[Effect]:
        back = [] if source is None else [Send(source, message)]
        return [*super()._pass_on(source, message), *back]


class PassesTwice(TreePeer):
    """Does not know an event again, and passes it from sibling to sibling."""

    def _remember(self, message: Pass) -> bool:
        new = super()._remember(message)
        return new or message.number % 3 == 0

    def _up(self, message: Pass) -> list[Effect]:
        return [*super()._up(message), *super()._up(message)]


class ForgetsAChild(TreePeer):
    """Leaves without a word to one of its children, which does not notice by itself either."""

    def _say_leave(self, successor: str | None) -> None:
        before = len(self._effects)
        super()._say_leave(successor)
        if len(self._effects) > before:
            self._effects.pop()

    def _orphaned(self) -> None:
        pass


class TakesInAnybody(TreePeer):
    """Moves peers under itself that it does not contain."""

    def _searched(self, search: Search) -> None:
        super()._searched(search)
        if search.joiner != self.name and not search.filter.covers(self.filter):
            self._send(search.joiner, Reply(search.number, Relation.CONTAINED, 0, 0))

    def _asked(self, link: str, ask: Ask) -> None:
        super()._asked(link, Ask(ask.number, self.filter, ask.instead))


class MovesWithoutLooking(TreePeer):
    """Says that the way up is clear whoever asks, though it may be moving itself."""

    def _check(self, check: Check) -> None:
        self._send(check.candidate, Checked(check.number, check.asker, clear=True))

    @property
    def moving(self) -> bool:
        return not self.family.joined


class KeepsNoSiblings(TreePeer):
    """Wants no more than three siblings."""

    def _is_sibling(self, link: str, came: Sibling) -> None:
        if link not in self.family.siblings and len(self.family.siblings) < 3:
            super()._is_sibling(link, Sibling((link, self.name)))


MUTANTS = [PassesBack, PassesTwice, ForgetsAChild, TakesInAnybody, KeepsNoSiblings]


def breaks(peer: type[TreePeer], at_once: bool) -> bool:
    for seed in range(40):
        history = History(seed, at_once=at_once, peer=peer)
        try:
            for _ in range(14):
                history.step()
            history.rest()
            check(history.tree)
            check_events(history.tree)
        except (AssertionError, TidegateError, KeyError):
            return True
    return False


@pytest.mark.parametrize("peer", MUTANTS, ids=lambda each: each.__name__)
def test_planted_errors_are_caught(peer: type[TreePeer]) -> None:
    assert breaks(peer, at_once=False)


def equal_peers(peer: type[TreePeer]) -> set[str]:
    """Two tops that want the same are told, at once, to move under each other: their parents."""
    kind = WordKind()
    settings = TreeSettings()
    ann, bob = peer("ann", kind, FILTER, settings), peer("bob", kind, FILTER, settings)
    inbox: list[tuple[str, str, Any]] = []
    peers = {"ann": ann, "bob": bob}

    def do(name: str, effects: list[Effect]) -> None:
        inbox.extend((name, e.link, e.message) for e in effects if isinstance(e, Send))

    for each in peers.values():
        each.start()
    do("ann", ann.handle("bob", Reorganise("bob")))
    do("bob", bob.handle("ann", Reorganise("ann")))
    while inbox:
        source, name, message = inbox.pop(0)
        do(name, peers[name].handle(source, message))
    return {name for name, each in peers.items() if each.family.parent is not None}


def test_two_that_move_under_each_other_at_once_make_a_circle_unless_they_look() -> None:
    assert len(equal_peers(TreePeer)) < 2
    assert len(equal_peers(MovesWithoutLooking)) == 2


def small_tree() -> Simulation[TreePeer]:
    kind = WordKind()
    tree: Simulation[TreePeer] = Simulation(
        kind, lambda name, f: TreePeer(name, kind, f, TreeSettings(flood=20)), delay=10
    )
    for name, words in {"a": "abcd", "b": "abc", "c": "ab", "d": "ef", "e": "a"}.items():
        tree.join(name, Words(frozenset(words)))
        tree.settle()
    return tree


class Liar(TreePeer):
    """Says of itself whatever is good for it."""

    def _answer(self, search: Search, relation: Relation) -> None:
        self._send(search.joiner, Reply(search.number, relation, 10**9, 0))

    def _searched(self, search: Search) -> None:
        super()._searched(search)
        self._send(search.joiner, Reply(search.number, Relation.EQUIVALENT, 0, 0))


def test_who_lies_about_depth_and_children_gets_children_but_no_circle_and_nothing_is_missed() -> (
    None
):
    for seed in range(6):
        history = History(seed, at_once=False, failures=False)
        make = history.tree._make
        count = 0

        def mixed(name: str, f: Any, make: Callable[..., TreePeer] = make) -> TreePeer:
            nonlocal count
            count += 1
            peer = make(name, f)
            return Liar(name, peer.kind, f, peer.tree) if count % 3 == 0 else peer

        history.tree._make = mixed
        for _ in range(14):
            history.step()
            check(history.tree)
        check_events(history.tree)


STRANGE: list[Any] = [
    PASS,
    Relay(PASS, None),
    Hand("x", 1, {"word": "a"}),
    Search(1, "x", FILTER, Join.FULL, 0, 0),
    Check(1, "x", "y"),
    Kin("z", "z", ("z",)),
    Leave("z", ("z",)),
    Promote("z", None, ()),
    Reevaluate(),
    Attach(1),
]
HARMLESS: list[Any] = [
    Reply(1, Relation.EQUIVALENT, 9, 0),
    Tops(1, ("z",)),
    Checked(1, "x", clear=True),
    Grant(1, 9, equal=True),
    Refuse(1),
    Cancel(1),
    Still(1),
    Reorganise("z"),
]
MALFORMED: list[Any] = [
    Enter(-1, "x", FILTER, Join.FULL),
    Enter(1, "x", "no filter", Join.FULL),  # type: ignore[arg-type]
    Enter(1, "x", FILTER, "full"),  # type: ignore[arg-type]
    Ask(True, FILTER),
    Ask(1, FILTER, instead=7),  # type: ignore[arg-type]
    Sibling(["z"]),  # type: ignore[arg-type]
    Sibling(("z", 7)),  # type: ignore[arg-type]
    Reply(1, "=", 0, 0),  # type: ignore[arg-type]
    Grant(1, 0, equal=1),  # type: ignore[arg-type]
    Relay("event", None),  # type: ignore[arg-type]
    "nonsense",
    None,
]


@pytest.mark.parametrize("came", STRANGE + MALFORMED, ids=repr)
def test_what_a_stranger_may_not_say_is_counted_and_changes_nothing(came: Any) -> None:
    peer = small_tree().peers["b"]
    before = peer.snapshot()
    effects = peer.handle("stranger", came)
    assert not [effect for effect in effects if isinstance(effect, Send)]
    assert peer.refused == before[5][0] + 1
    peer.refused -= 1
    assert peer.snapshot() == before


@pytest.mark.parametrize("came", HARMLESS, ids=repr)
def test_answers_to_what_was_not_asked_change_nothing(came: Any) -> None:
    peer = small_tree().peers["b"]
    before = peer.snapshot()
    answers = [effect.message for effect in peer.handle("stranger", came)]  # type: ignore[union-attr]
    assert answers in ([], [Cancel(1)])
    assert peer.snapshot() == before


def test_nobody_answers_for_another() -> None:
    """A grant counts only if it comes from who was asked."""
    kind = WordKind()
    peer = TreePeer("q", kind, FILTER)
    peer.start(("a",))
    number = peer.snapshot()[10][0]
    peer.handle("a", Tops(number, ("a",)))
    peer.handle("b", Reply(number, Relation.CONTAINS, 1, 0))
    for _ in range(4):
        peer.handle("q", Tick())
    assert peer.handle("mallory", Grant(number, 1, equal=False)) == [
        Send("mallory", Cancel(number))
    ]
    assert not peer.family.joined
    peer.handle("b", Grant(number, 1, equal=False))
    assert peer.family.parent == "b"


def test_who_joins_twice_is_one_child() -> None:
    tree = small_tree()
    parent = tree.peers["c"]
    for number in (7, 8):
        parent.handle("new", LinkUp())
        parent.handle("new", Ask(number, FILTER))
    parent.handle("a", Checked(7, "new", clear=True))  # of the first one, which counts no more
    assert parent.handle("new", Attach(7)) == parent.handle("new", Attach(7))
    assert "new" not in parent.family.children
    parent.handle("new", LinkUp())
    parent.handle("a", Checked(8, "new", clear=True))
    for _ in range(3):
        parent.handle("new", Attach(8))
    assert list(parent.family.children).count("new") == 1


def test_a_flood_of_searches_is_cut_off_until_the_next_tick() -> None:
    peer = small_tree().peers["a"]
    sent = 0
    for number in range(1_000):
        sent += len(peer.handle("mallory", Enter(number, f"x{number}", FILTER, Join.FULL)))
    assert sent < 20 * 10
    assert peer.refused >= 980
    peer.handle("a", Tick())
    assert peer.handle("mallory", Enter(1, "x", FILTER, Join.FULL))


def test_an_event_that_is_none_is_refused() -> None:
    event: Event = 7
    with pytest.raises(TidegateError, match="event cannot be taken"):
        small_tree().peers["a"].publish(event)
