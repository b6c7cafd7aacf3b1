"""Random trees, and what a counting table should have inside, worked out the slow way."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

import tidegate as tg
from tests.engine.boxes.box_oracle import some_event, some_filter
from tidegate.algebra.normal import boxes
from tidegate.filters.evaluate import value_of
from tidegate.filters.expression import And, Node, Or, Predicate, Truth, predicates
from tidegate.filters.filter import Filter
from tidegate.papers.counting.counting_table import CountingTable
from tidegate.papers.counting.pruning_queue import Changes

NAMES: Final = "abcdefgh"
POOL: Final[tuple[Predicate, ...]] = tuple(
    predicate
    for name in NAMES
    for predicate in predicates(tg.parse(f"{name} = 0 OR {name} < 2 OR {name} > 2").tree)
)


def some_tree(rng: Random, leaves: int, pool: Sequence[Predicate] = POOL) -> Node:
    """A tree that need not be normal: AND in AND, TRUE and FALSE, operators with one part."""
    if leaves <= 1:
        return Truth(rng.random() < 0.5) if rng.random() < 0.05 else rng.choice(pool)
    parts = min(leaves, rng.choice((1, 2, 2, 3, 4)))
    if parts == 1 and rng.random() < 0.7:
        parts = 2
    sizes = [1] * parts
    for _ in range(leaves - parts):
        sizes[rng.randrange(parts)] += 1
    kind = And if rng.random() < 0.6 else Or
    return kind(tuple(some_tree(rng, size, pool) for size in sizes))


def drawing(schema: tg.Schema | None) -> Callable[[Random], Filter]:
    """Filters that have a normal form: of others, the box store knows less than the counting."""

    def draw(rng: Random) -> Filter:
        while True:
            f = some_filter(rng, schema)
            if boxes(f) is not None:
                return f

    return draw


def lawful(event: Mapping[str, Any], schema: tg.Schema | None) -> bool:
    """Whether an event is one that relations under this schema speak of."""
    if schema is None or not schema.checked:
        return True
    return all(
        schema.universe(name).has(value_of(event, name, schema), schema[name].lines)
        for name in schema
    )


def check_inside(table: CountingTable) -> None:
    """Associations, uses and bytes are those of the filters; counters are clear."""
    associated: Counter[tuple[int, int]] = Counter()
    uses: Counter[int] = Counter()
    taken = 0
    for number, slot in table._slots.items():
        assert table._numbers[slot] == number
        tokens = table._trees.tokens(slot)
        for token in tokens:
            if token & 3 == 0:
                associated[token >> 2, slot] += 1
                uses[token >> 2] += 1
        taken += table._trees.width(slot)
        trees = [f.tree for f in (table.filter(number), table.original(number))]
        sizes = [sum(1 for _ in predicates(tree)) for tree in trees]
        assert sum(token & 3 == 0 for token in tokens) <= sizes[0] <= sizes[1]
    assert table.associations == sum(associated.values())
    assert table.tree_bytes == taken
    width = table._predicates.width
    found = Counter((v, slot) for v in range(width) for slot in table._associations[v])
    assert found == associated
    assert [table._predicates.uses(v) for v in range(width)] == [uses[v] for v in range(width)]
    assert not table._trees.counters.any()
    assert not table._bits.any()


def check_answers(
    table: CountingTable, given: Mapping[int, Filter], events: Sequence[Mapping[str, Any]]
) -> None:
    """Pruned filters match what they say, and everything that those they were made from match."""
    assert len(table) == len(given)
    pruned = {number: table.filter(number) for number in given}
    for event in events:
        found = table.match(event)
        assert len(found) == len(set(found))
        assert set(found) == {number for number, f in pruned.items() if f.matches(event)}
        assert {number for number, f in given.items() if f.matches(event)} <= set(found)


def history(table: CountingTable, seed: int, steps: int) -> None:
    """Add, change, remove, match and prune at random, with all checks after each step."""
    rng = Random(seed)
    given: dict[int, Filter] = {}
    schema = table.schema
    for number in range(steps):
        kind = rng.random() if given else 1.0
        if kind < 0.15:
            table.remove(gone := rng.choice(list(given)))
            del given[gone]
        elif kind < 0.25:
            changed = rng.choice(list(given))
            given[changed] = some_filter(rng, schema)
            table.update(changed, given[changed])
        elif kind < 0.5:
            changes = rng.choice(list(Changes))
            table.prune(rng.randrange(4), changes=changes, tolerance=rng.random() / 10)
        else:
            given[number] = some_filter(rng, schema)
            table.add(number, given[number])
        check_answers(table, given, [some_event(rng) for _ in range(2)])
        check_inside(table)
    for number in given:
        table.remove(number)
    check_inside(table)
    assert len(table) == table.associations == table.tree_bytes == 0
