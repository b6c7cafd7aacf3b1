"""Trees in bytes beside the trees they were made from."""

from itertools import product
from random import Random
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.papers.counting_checks import POOL, some_tree
from tidegate.algebra.prune import best_pruning as algebras_best
from tidegate.algebra.prune import prunings
from tidegate.algebra.selectivity import estimate as algebras_estimate
from tidegate.filters.expression import And, Node, Or, Predicate, Truth, predicates
from tidegate.filters.filter import Filter
from tidegate.papers.counting.pruning_kernels import (
    NOWHERE,
    Shares,
    best_pruning,
    estimate,
    prunings_left,
    scratch,
    without,
)
from tidegate.papers.counting.tree_bytes import (
    AND,
    LEAF,
    MOST_LEAVES,
    MOST_VARIABLES,
    OR,
    Integers,
    Tree,
    decode,
    node_of,
    normal,
    read,
    tokens_of,
)
from tidegate.papers.counting.tree_kernels import NEVER, holds, least_counts
from tidegate.papers.counting.trees import Trees

VARIABLES: Final = {predicate: number for number, predicate in enumerate(POOL)}
SEEDS: Final = st.integers(0, 2**32)
SHARES: Final = (0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 1.0)


def written(node: Node) -> Tree:
    """The bytes of a tree, and the room behind them."""
    trees = Trees()
    trees.put(0, tokens_of(normal(node), VARIABLES.__getitem__))
    assert trees.location[0] == 0
    return trees.tree


def stacks() -> tuple[Integers, Integers]:
    return np.empty(MOST_LEAVES, np.int64), np.empty(MOST_LEAVES, np.int64)


def bits_of(true: set[int]) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    bits = np.zeros((len(POOL) >> 6) + 1, np.uint64)
    for variable in true:
        bits[variable >> 6] |= np.uint64(1 << (variable & 63))
    return bits


def plain(node: Node, true: set[int]) -> bool:
    """Whether a tree holds: the obvious way."""
    if isinstance(node, Predicate):
        return VARIABLES[node] in true
    if isinstance(node, Truth):
        return node.value
    return (all if isinstance(node, And) else any)([plain(part, true) for part in node.parts])


@given(seed=SEEDS, leaves=st.integers(1, 30))
def test_a_tree_is_read_as_it_was_written(seed: int, leaves: int) -> None:
    tree = normal(some_tree(Random(seed), leaves))
    trees = Trees()
    tokens = tokens_of(tree, VARIABLES.__getitem__)
    trees.put(0, tokens)
    assert trees.tokens(0) == tokens
    assert node_of(tokens, POOL.__getitem__) == tree
    assert trees.width(0) == trees.ends[0] <= 3 * len(tokens)


@given(seed=SEEDS, leaves=st.integers(1, 30))
def test_a_normal_tree_means_the_same(seed: int, leaves: int) -> None:
    rng = Random(seed)
    tree = some_tree(rng, leaves)
    for _ in range(10):
        true = {v for v in range(len(POOL)) if rng.random() < 0.5}
        assert plain(tree, true) == plain(normal(tree), true)
    for node, inside in walk(normal(tree)):
        assert not isinstance(node, And | Or) or len(node.parts) > 1
        assert inside is None or not isinstance(node, Truth | type(inside))


def walk(node: Node, inside: Node | None = None) -> list[tuple[Node, Node | None]]:
    parts = node.parts if isinstance(node, And | Or) else ()
    return [(node, inside), *(pair for part in parts for pair in walk(part, node))]


@pytest.mark.parametrize("top", [0, 15, 16, 4095, 4096, 2**20 - 1, 2**20, MOST_VARIABLES - 1])
@pytest.mark.parametrize("parts", [2, 31, 32, 63, 64, 85, 127, 255, 256, MOST_LEAVES])
def test_numbers_of_every_size_are_written(top: int, parts: int) -> None:
    """Of variables, of parts, and of bytes that parts take."""
    trees = Trees()
    tokens = [parts << 2 | AND, *(max(0, top - i) << 2 for i in range(parts))]
    for slot in range(3):
        trees.put(slot, tokens)
    assert [trees.tokens(slot) for slot in range(3)] == [tokens] * 3


@pytest.mark.parametrize("kind", [AND, OR])
def test_a_deep_tree_is_written_and_holds(kind: int) -> None:
    """As deep as a tree can be."""
    tokens: list[int] = []
    for i in range(MOST_LEAVES - 1):
        tokens += [2 << 2 | (kind if i % 2 == 0 else AND + OR - kind), 0]
    tokens.append(1 << 2)
    trees = Trees()
    trees.put(0, tokens)
    assert trees.tokens(0) == tokens
    ends, kinds = stacks()
    for true in (set(), {0}, {1}, {0, 1}):
        value = 1 in true
        for i in reversed(range(MOST_LEAVES - 1)):
            every = kind == (AND if i % 2 == 0 else OR)
            value = (0 in true and value) if every else (0 in true or value)
        assert holds(trees.tree, 0, bits_of(true), AND, ends, kinds) == value


@given(seed=SEEDS, leaves=st.integers(1, 20))
def test_bytes_hold_where_the_tree_does(seed: int, leaves: int) -> None:
    rng = Random(seed)
    node = some_tree(rng, leaves)
    tree = written(node)
    ends, kinds = stacks()
    for _ in range(10):
        true = {v for v in range(len(POOL)) if rng.random() < rng.choice((0.2, 0.5, 0.8))}
        value = plain(node, true)
        assert holds(tree, 0, bits_of(true), AND, ends, kinds) == value
        rest = set(range(len(POOL))) - true
        assert holds(tree, 0, bits_of(rest), OR, ends, kinds) == (not value)


@given(seed=SEEDS, leaves=st.integers(1, 6))
def test_least_counts_are_those_of_all_assignments(seed: int, leaves: int) -> None:
    """Where a predicate stands twice, they may be less than what it really takes, never more."""
    tree = normal(some_tree(Random(seed), leaves))
    tokens = np.array(tokens_of(tree, VARIABLES.__getitem__), np.int64)
    sums, opposites = np.empty((2, len(tokens)), np.int64)
    least, opposite, count = least_counts(tokens, len(tokens), sums, opposites)
    own = [VARIABLES[p] for p in predicates(tree)]
    assert count == len(own)
    reached, failing = [NEVER], [NEVER]
    for chosen in product((False, True), repeat=len(set(own))):
        true = {v for v, is_true in zip(sorted(set(own)), chosen, strict=True) if is_true}
        fulfilled = sum(v in true for v in own)
        if plain(tree, true):
            reached.append(fulfilled)
        else:
            failing.append(count - fulfilled)
            assert least + opposite != count + 1 or fulfilled < least
    distinct = len(set(own)) == len(own)
    for found, owed in ((least, min(reached)), (opposite, min(failing))):
        assert found <= owed
        assert not distinct or found == owed


def given_shares(rng: Random) -> Shares:
    return np.array([rng.choice((*SHARES, rng.random())) for _ in POOL])


@given(seed=SEEDS, leaves=st.integers(1, 20))
def test_selectivity_is_estimated_as_in_the_algebra(seed: int, leaves: int) -> None:
    rng = Random(seed)
    node = some_tree(rng, leaves)
    shares = given_shares(rng)
    owed = algebras_estimate(normal(node), lambda p: float(shares[VARIABLES[p]]))
    found = estimate(written(node), 0, shares, NOWHERE, NOWHERE, NOWHERE, scratch())
    assert found[:3] == (owed.minimum, owed.average, owed.maximum)
    assert found[3] == sum(1 for _ in predicates(normal(node)))


@settings(max_examples=200)
@given(seed=SEEDS, leaves=st.integers(1, 12), few=st.booleans())
def test_the_best_pruning_is_that_of_the_algebra(seed: int, leaves: int, few: bool) -> None:
    """Its degradation to the last bit, and the tree that is left."""
    rng = Random(seed)
    f = Filter.of(normal(some_tree(rng, leaves, POOL[:3] if few else POOL)))
    shares = given_shares(rng)
    best = algebras_best(f, lambda p: float(shares[VARIABLES[p]]))
    tree = written(f.tree)
    room = scratch()
    cost, cut, holder = best_pruning(tree, 0, shares, room)
    if best is None:
        assert (cut, holder, cost) == (NOWHERE, NOWHERE, np.inf)
        return
    assert cost == best.degradation
    count, gone = without(tree, 0, cut, holder, room)
    left, out = room.tokens[:count].tolist(), room.more[:gone].tolist()
    assert node_of(left, POOL.__getitem__) == best.filter.tree
    own = tokens_of(f.tree, VARIABLES.__getitem__)
    assert sorted(leaf_tokens(left + out)) == sorted(leaf_tokens(own))


def leaf_tokens(tokens: list[int]) -> list[int]:
    return [token for token in tokens if token & 3 == LEAF]


@given(seed=SEEDS, leaves=st.integers(1, 9))
def test_every_pruning_makes_one_of_the_algebras_trees(seed: int, leaves: int) -> None:
    f = Filter.of(normal(some_tree(Random(seed), leaves)))
    owed = {str(pruned) for pruned in prunings(f)}
    found = {str(tree) for tree in pruned_trees(f.tree)}
    assert found == owed


def pruned_trees(node: Node) -> list[Node]:
    """What leaving out each part of each AND makes, by the kernel."""
    tree, room = written(node), scratch()
    found = []
    for holder, kind, parts in nodes_of(tree):
        if kind == AND:
            for part in parts:
                count, _ = without(tree, 0, part, holder, room)
                found.append(node_of(room.tokens[:count].tolist(), POOL.__getitem__))
    return found


def nodes_of(tree: Tree) -> list[tuple[int, int, list[int]]]:
    """Where each node begins, its kind, and where its parts begin."""
    room = scratch()
    count = decode(tree, 0, room.tokens, room.places)
    found = []
    for place in room.places[:count].tolist():
        kind, operand, body, _ = read(tree, place)
        parts = []
        for _ in range(operand if kind in (AND, OR) else 0):
            parts.append(body)
            body = read(tree, body)[3]
        found.append((place, kind, parts))
    return found


@given(seed=SEEDS, leaves=st.integers(1, 10))
def test_prunings_are_counted_without_doing_them(seed: int, leaves: int) -> None:
    rng = Random(seed)
    f = Filter.of(normal(some_tree(rng, leaves)))
    shares = given_shares(rng)
    tree = written(f.tree)
    before = bytes(tree)
    found = prunings_left(tree, 0, shares, scratch())
    owed = 0
    while (best := algebras_best(f, lambda p: float(shares[VARIABLES[p]]))) is not None:
        f = best.filter
        owed += 1
    assert found == owed
    assert bytes(tree) == before
