"""The contract of the overlay, whatever structure brokers keep their filters in."""

import os
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.overlay.failing import FAILING_ACTIONS, live_twice
from tests.overlay.histories import ACTIONS, CHOICES, NUMBER, PARENTS, Action, pool, run
from tidegate.errors import TidegateError
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.policy import Choice
from tidegate.overlay.structures import INDEXES, UNIONS

LONG, QUICK = (os.environ.get(name) == "1" for name in ("TIDEGATE_LONG", "TIDEGATE_QUICK"))
POLICIES = ("identity", "covering", "subsumption", "merging")
KEPT = {
    f"{policy}, {index}": replace(CHOICES[policy], index=index)
    for policy in POLICIES
    for index in INDEXES
    if index != "boxes"
} | {
    f"subsumption, {union}": replace(CHOICES["subsumption"], union=union)
    for union in UNIONS
    if union != "on-demand"
}


@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
@pytest.mark.parametrize("typed", [False, True], ids=["attributes", "typed attributes"])
@pytest.mark.parametrize("kept", KEPT)
def test_brokers_keep_the_contract_on_every_structure(
    kept: str, typed: bool, advertisements: bool
) -> None:
    @settings(max_examples=(1_000 if LONG else 3 if QUICK else 6))
    @given(seed=st.integers(0, 7), parents=PARENTS, actions=ACTIONS)
    def histories(seed: int, parents: list[int], actions: list[Action]) -> None:
        own = pool("typed attributes" if typed else "attributes", seed)
        run(own, KEPT[kept], parents, actions, advertisements=advertisements)

    histories()


@pytest.mark.parametrize("kept", KEPT)
def test_a_broker_that_was_restored_has_the_same_future(kept: str) -> None:
    @settings(max_examples=(200 if LONG else 4))
    @given(
        typed=st.booleans(),
        offers=st.booleans(),
        parents=PARENTS,
        actions=FAILING_ACTIONS,
        seed=NUMBER,
    )
    def histories(
        typed: bool, offers: bool, parents: list[int], actions: list[Action], seed: int
    ) -> None:
        own = pool("typed attributes" if typed else "attributes")
        live_twice(own, KEPT[kept], parents, actions, offers=offers, seed=seed)

    histories()


def test_an_unknown_structure_is_refused_with_those_there_are() -> None:
    with pytest.raises(TidegateError, match=r"no index 'trie' of attributes, but boxes"):
        Broker("a", Attributes(), Choice(index="trie"))
    with pytest.raises(TidegateError, match=r"no union 'guess' of attributes, but on-demand"):
        Broker("a", Attributes(), Choice("subsumption", union="guess"))


def test_only_subsumption_has_a_union() -> None:
    with pytest.raises(TidegateError, match="covering asks no union"):
        Choice("covering", union="on-demand")
