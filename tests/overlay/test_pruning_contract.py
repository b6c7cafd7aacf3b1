"""The contract of the overlay, for every policy that widens filters by what it has seen of events.

Brokers learn from the first event on, and prune at every tick or every second one.
"""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.overlay.histories import ACTIONS, PARENTS, POOLS, PRUNING, Action, pool, run

LONG, QUICK = (os.environ.get(name) == "1" for name in ("TIDEGATE_LONG", "TIDEGATE_QUICK"))


@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("policy", PRUNING)
def test_every_policy_that_prunes_keeps_the_contract(
    policy: str, kind: str, advertisements: bool
) -> None:
    @settings(max_examples=(1_700 if LONG else 3 if QUICK else 8))
    @given(seed=st.integers(0, 7), parents=PARENTS, actions=ACTIONS)
    def histories(seed: int, parents: list[int], actions: list[Action]) -> None:
        run(pool(kind, seed), PRUNING[policy], parents, actions, advertisements=advertisements)

    histories()
