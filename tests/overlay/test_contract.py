"""The contract of the overlay, for every policy, both kinds of filters, advertisements on and off.

Whatever clients do, on whatever tree, with whatever delays: see `world` for what is owed to whom.
A history that fails is shrunk and printed; `make test-long` tries many more.
"""

import os
from functools import cache

import pytest
from hypothesis import given, settings

from tests.overlay.histories import ACTIONS, CHOICES, PARENTS, POOLS, Action, Pool, run

LONG = os.environ.get("TIDEGATE_LONG") == "1"


@cache
def pool(name: str) -> Pool:
    return POOLS[name]()


@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("policy", CHOICES)
def test_every_policy_keeps_the_contract(policy: str, kind: str, advertisements: bool) -> None:
    @settings(max_examples=(1_700 if LONG else 60))
    @given(parents=PARENTS, actions=ACTIONS)
    def histories(parents: list[int], actions: list[Action]) -> None:
        run(pool(kind), CHOICES[policy], parents, actions, advertisements=advertisements)

    histories()
