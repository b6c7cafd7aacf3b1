"""Topologies are trees of the right sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import TidegateError
from tidegate.simulate.topology import (
    BETWEEN,
    Edge,
    Topology,
    balanced,
    line,
    random_tree,
    star,
    transit_stub,
)

few = st.integers(1, 40)


def degrees(topology: Topology) -> dict[str, int]:
    ends = [end for edge in topology.edges for end in (edge.first, edge.second)]
    return {name: ends.count(name) for name in topology.names}


def is_tree(topology: Topology) -> bool:
    """As many links as are needed, and every broker within reach of the first."""
    reached = {topology.names[0]}
    for _ in topology.names:
        for edge in topology.edges:
            if edge.first in reached or edge.second in reached:
                reached |= {edge.first, edge.second}
    return reached == set(topology.names) and len(topology.edges) == len(topology.names) - 1


@given(few)
def test_a_line_is_a_tree_without_branches(brokers: int) -> None:
    found = line(brokers)
    assert is_tree(found)
    assert len(found.names) == brokers
    assert max(degrees(found).values()) <= 2


@given(few)
def test_a_star_is_a_tree_about_its_first_broker(brokers: int) -> None:
    found = star(brokers)
    assert is_tree(found)
    assert degrees(found)["b0"] == len(found.names) - 1 == brokers - 1


@given(st.integers(1, 3), st.integers(0, 4))
def test_a_balanced_tree_has_all_its_leaves_at_one_depth(degree: int, depth: int) -> None:
    found = balanced(degree, depth)
    assert is_tree(found)
    assert len(found.names) == sum(degree**i for i in range(depth + 1))
    leaves = sum(d == 1 for d in degrees(found).values())
    if degree > 1 and depth > 0:
        assert leaves == degree**depth


@given(few, st.integers())
def test_a_random_tree_is_a_tree_and_the_same_for_its_seed(brokers: int, seed: int) -> None:
    found = random_tree(brokers, seed)
    assert is_tree(found)
    assert len(found.names) == brokers
    assert found == random_tree(brokers, seed)


@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 3), st.integers(1, 4), st.integers())
def test_a_transit_stub_network_is_reduced_to_a_tree(
    domains: int, transits: int, stubs: int, size: int, seed: int
) -> None:
    found = transit_stub(domains, transits, stubs, size, seed)
    assert is_tree(found)
    assert len(found.names) == domains * transits * (1 + stubs * size)
    assert found == transit_stub(domains, transits, stubs, size, seed)
    assert sum(edge.delay == BETWEEN for edge in found.edges) == domains - 1


def test_seeds_matter() -> None:
    assert len({random_tree(20, seed).edges for seed in range(5)}) == 5
    assert len({transit_stub(2, 3, 2, 3, seed).edges for seed in range(5)}) == 5


@pytest.mark.parametrize(
    ("names", "edges", "reason"),
    [
        ((), (), "at least one"),
        (("a", "a"), (), "one name"),
        (("a", "b"), (Edge("a", "c"),), "'c', which is no broker"),
        (("a", "b", "c"), (Edge("a", "b"),), "do not connect"),
        (("a", "b"), (Edge("a", "b"), Edge("b", "a")), "circle"),
        (("a",), (Edge("a", "a"),), "circle"),
    ],
)
def test_what_is_no_tree_is_refused(
    names: tuple[str, ...], edges: tuple[Edge, ...], reason: str
) -> None:
    with pytest.raises(TidegateError, match=reason):
        Topology(names, edges)


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(TidegateError):
        line(0)
    with pytest.raises(TidegateError):
        balanced(0, 2)
    with pytest.raises(TidegateError):
        transit_stub(1, 0, 1, 1, 1)
