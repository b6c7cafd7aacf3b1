"""The contract of the overlay, for every policy that widens filters by what it has seen of events.

Brokers learn from the first event on, and prune at every tick or every second one; time passes
every few actions.
"""

import os

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.overlay.failing import FAILING_ACTIONS, FailingWorld, begin, fail, live_twice, state
from tests.overlay.histories import (
    ACTIONS,
    NUMBER,
    PARENTS,
    POOLS,
    PRUNING,
    Action,
    finish,
    pool,
    run,
    ticking,
)
from tests.overlay.world import World
from tidegate.overlay.policy import Choice
from tidegate.overlay.policy.pruning import Pruned
from tidegate.overlay.policy.replacement import Replaced
from tidegate.overlay.structures import INDEXES

pytestmark = pytest.mark.slow

LONG, QUICK = (os.environ.get(name) == "1" for name in ("TIDEGATE_LONG", "TIDEGATE_QUICK"))
KINDS = st.sampled_from([*POOLS])
EVERY_POLICY = pytest.mark.parametrize("policy", PRUNING)
HISTORIES = 1_700 if LONG else 2 if QUICK else 4
FAILURES = 200 if LONG else 2 if QUICK else 4


@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
@pytest.mark.parametrize("kind", POOLS)
@EVERY_POLICY
def test_every_policy_that_prunes_keeps_the_contract(
    policy: str, kind: str, advertisements: bool
) -> None:
    @settings(max_examples=HISTORIES)
    @given(seed=st.integers(0, 7), parents=PARENTS, actions=ACTIONS)
    def histories(seed: int, parents: list[int], actions: list[Action]) -> None:
        own, choice = pool(kind, seed), PRUNING[policy]
        run(own, choice, parents, ticking(actions), advertisements=advertisements)

    histories()


@pytest.mark.parametrize("index", INDEXES)
def test_pruned_tables_keep_the_contract_on_every_structure(index: str) -> None:
    choice = Choice("identity", prune="both", share=0.6, period=1, index=index)

    @settings(max_examples=HISTORIES)
    @given(typed=st.booleans(), offers=st.booleans(), parents=PARENTS, actions=ACTIONS)
    def histories(typed: bool, offers: bool, parents: list[int], actions: list[Action]) -> None:
        own = pool("typed attributes" if typed else "attributes")
        run(own, choice, parents, ticking(actions), advertisements=offers)

    histories()


@EVERY_POLICY
def test_a_broker_that_was_restored_has_the_same_future(policy: str) -> None:
    @settings(max_examples=FAILURES)
    @given(kind=KINDS, offers=st.booleans(), parents=PARENTS, actions=FAILING_ACTIONS, seed=NUMBER)
    def histories(
        kind: str, offers: bool, parents: list[int], actions: list[Action], seed: int
    ) -> None:
        own, choice = pool(kind), PRUNING[policy]
        live_twice(own, choice, parents, ticking(actions), offers=offers, seed=seed)

    histories()


@EVERY_POLICY
def test_a_snapshot_and_what_was_written_down_since_give_the_same_state(policy: str) -> None:
    @settings(max_examples=FAILURES)
    @given(kind=KINDS, offers=st.booleans(), parents=PARENTS, actions=FAILING_ACTIONS)
    def histories(kind: str, offers: bool, parents: list[int], actions: list[Action]) -> None:
        own = pool(kind)
        world = begin(FailingWorld, own, PRUNING[policy], parents, offers)
        for action in ticking(actions):
            fail(world, own, action)
        for name, broker in world.brokers.items():
            apart = "seen", "tally", "work", "noticed"
            assert state(world.remembered(name), *apart) == state(broker, *apart)
        world.mend_all()
        finish(world, own)

    histories()


class CountingWorld(World):
    """Looks how much is pruned after every tick."""

    tables = widened = reports = 0

    def tick(self, broker: str) -> None:
        super().tick(broker)
        routing = self.brokers[broker].routing
        self.reports += sum(link.report is not None for link in routing.neighbours)
        if routing.wanted.pruned is not None:
            self.tables += routing.wanted.pruned.pruned
        for link in routing.neighbours:
            for stage in link.wanted.stages:
                if isinstance(stage, Pruned):
                    self.widened += stage._queue.pruned
                elif isinstance(stage, Replaced):
                    self.widened += len(stage._others)


class AllSeenError(Exception):
    """Ends the drawing of histories."""


@pytest.mark.parametrize("kind", ["words", "patterns", "several"])
@EVERY_POLICY
def test_the_histories_do_prune(policy: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.overlay import histories as module

    worlds: list[CountingWorld] = []

    class Noted(CountingWorld):
        def __init__(self, *args: object, **named: object) -> None:
            super().__init__(*args, **named)  # type: ignore[arg-type]
            worlds.append(self)

    monkeypatch.setattr(module, "World", Noted)

    choice = PRUNING[policy]
    before = choice.prune in ("before", "both") or choice.name == "replacement"
    expected = [choice.prune in ("after", "both"), before, True]

    def seen() -> list[bool]:
        counts = [(world.tables, world.widened, world.reports) for world in worlds]
        return [any(each) for each in zip(*counts, strict=True)]

    # some prune so seldom that many are needed
    @settings(max_examples=200, phases=[Phase.generate])
    @given(parents=PARENTS, actions=ACTIONS)
    def histories(parents: list[int], actions: list[Action]) -> None:
        run(pool(kind), PRUNING[policy], parents, ticking(actions), advertisements=False)
        if len(worlds) >= 6 and seen() == expected:
            raise AllSeenError

    with pytest.raises(AllSeenError):
        histories()
