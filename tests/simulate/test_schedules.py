"""Any schedule of faults, on any tree with any backups: once quiet, all is as if it were new.

Brokers crash and come back, with their memory or without, or never; they fall silent for a while;
links are cut and mended; so parents are suspected, rightly or wrongly, and left. Then tables are
those of a new network of the shape that came out, with those that are left, and deliveries what
they want. A failing schedule is shrunk by leaving out what comes last, and replayed by what is
printed of it: `schedules.replay`.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import LONG
from tests.simulate.parents import check_deliveries, check_like_fresh
from tests.simulate.schedules import replay

POLICIES = ("covering", "xroute", "identity", "simple")
SEEDS = st.integers(0, 10**9)
STEPS = st.integers(1, 12) | st.integers(18, 24)  # fewer are the beginning of the same schedule


@pytest.mark.slow
@settings(max_examples=7_000 if LONG else 30)
@given(
    seed=SEEDS,
    policy=st.sampled_from(POLICIES),
    advertisements=st.booleans(),
    silences=st.booleans(),
    steps=STEPS,
)
def test_once_quiet_all_is_as_in_a_new_network(
    seed: int, policy: str, advertisements: bool, silences: bool, steps: int
) -> None:
    network = replay(seed, policy, advertisements, silences=silences, steps=steps)
    check_like_fresh(network, policy)
    check_deliveries(network, range(0, 26, 2))


FAILED_ONCE = [
    (5, "xroute", True, 18),  # a neighbour that was just greeting was forgotten
    (40, "covering", False, 18),
    (10_409, "xroute", False, 18),  # numbers of a stream were taken for those of the one before
    (1, "covering", False, 24),  # a parent was asked once, and no more
]


@pytest.mark.parametrize(("seed", "policy", "advertisements", "steps"), FAILED_ONCE)
def test_schedules_that_have_failed_once(
    seed: int, policy: str, advertisements: bool, steps: int
) -> None:
    network = replay(seed, policy, advertisements, steps=steps)
    check_like_fresh(network, policy)
