"""The contract of the overlay, for every policy, all kinds of filters, advertisements on and off.

Whatever clients do, on whatever tree, with whatever delays: see `world` for what is owed to whom.
A history that fails is shrunk and printed; `make test-long` tries many more.
"""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.overlay.histories import (
    ACTIONS,
    CHOICES,
    PARENTS,
    POOLS,
    Action,
    examples,
    pool,
    run,
)

LONG, QUICK = (os.environ.get(name) == "1" for name in ("TIDEGATE_LONG", "TIDEGATE_QUICK"))


@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("policy", CHOICES)
def test_every_policy_keeps_the_contract(policy: str, kind: str, advertisements: bool) -> None:
    @settings(max_examples=examples(kind, 1_700 if LONG else 10 if QUICK else 30))
    @given(seed=st.integers(0, 7), parents=PARENTS, actions=ACTIONS)
    def histories(seed: int, parents: list[int], actions: list[Action]) -> None:
        run(pool(kind, seed), CHOICES[policy], parents, actions, advertisements=advertisements)

    histories()
