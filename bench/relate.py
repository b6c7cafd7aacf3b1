"""How fast are filters related?

Baselines: covering predicate by predicate in plain Python, and the exact negative space of
Jafarpour et al. (2008) with a vectorised scan.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import tidegate as tg
from bench.baselines import NegativeSpace, covers_by_predicates
from bench.figure import Figure, timed
from tidegate.algebra.normal import boxes
from tidegate.lab.workloads.rectangles import DOMAIN, rectangles

if TYPE_CHECKING:
    from collections.abc import Iterator

FILTERS = 1_000
SUBSCRIPTIONS = 10_000
OPERATORS = ("<", "<=", ">", ">=", "=")
BUDGET = 100_000


def run() -> Iterator[Figure]:
    """Covering of pairs; subsumption of the paper's workload in 2 to 5 dimensions."""
    yield covering()
    for exponent in (0.5, 1.0):
        for dimensions in (2, 3, 4, 5):
            yield from subsumption(dimensions, exponent)


def covering() -> Figure:
    """All ordered pairs of parsed conjunctions of four predicates, one per attribute."""
    rng = random.Random(3)
    plain = [
        {f"a{i}": (rng.choice(OPERATORS), rng.randrange(1000)) for i in rng.sample(range(6), 4)}
        for _ in range(FILTERS)
    ]
    schema = tg.Schema({f"a{i}": "bigint" for i in range(6)})
    filters = [
        tg.parse(" AND ".join(f"{a} {op} {c}" for a, (op, c) in each.items()), schema)
        for each in plain
    ]
    pairs = FILTERS * FILTERS
    with timed() as ours:
        found = [[tg.covers(f, g) for g in filters] for f in filters]
    with timed() as theirs:
        expected = [[covers_by_predicates(f, g) for g in plain] for f in plain]
    assert found == expected
    rate, base = pairs / ours.seconds, pairs / theirs.seconds
    return Figure(
        "covers, pairs of conjunctions of 4 predicates",
        rate,
        base,
        rate / base,
        "pairs/s",
        note=f"{sum(map(sum, found)):,} of {pairs:,} pairs cover; baseline: predicate by predicate",
        aim="at least 50,000 pairs/s",
        met=rate >= 50_000,
    )


def subsumption(dimensions: int, exponent: float) -> Iterator[Figure]:
    """Each subscription in turn: is it subsumed by the active ones before it? If not, add it."""
    lows, highs = rectangles(SUBSCRIPTIONS, dimensions, exponent, seed=4)
    names = [f"x{k}" for k in range(dimensions)]
    schema = tg.Schema(dict.fromkeys(names, "bigint"))
    filters = [
        tg.parse(
            " AND ".join(
                f"{name} BETWEEN {low} AND {high}"
                for name, low, high in zip(names, lower, upper, strict=True)
            ),
            schema,
        )
        for lower, upper in zip(lows.tolist(), highs.tolist(), strict=True)
    ]
    for f in filters:
        boxes(f)
    _warm_up()
    union = tg.Union(schema, budget=BUDGET)
    found = []
    with timed() as ours:
        for f in filters:
            subsumed = tg.subsumed(f, union)
            found.append(subsumed)
            if not subsumed:
                union.add(f)
    share = sum(found) / SUBSCRIPTIONS
    title = f"subsumed, {SUBSCRIPTIONS:,} in {dimensions} dimensions, Zipf {exponent}"
    if dimensions == 5:
        yield Figure(
            title,
            ours.seconds,
            None,
            None,
            "s",
            note=f"{share:.1%} subsumed, "
            f"budget of {BUDGET:,} exhausted for {union.exhausted / SUBSCRIPTIONS:.2%}",
        )
        return
    space = NegativeSpace(dimensions, 0, DOMAIN)
    with timed() as theirs:
        expected = [space.add(low, high) for low, high in zip(lows, highs, strict=True)]
    assert found == expected
    aimed = dimensions == 4 and exponent == 0.5
    yield Figure(
        title,
        ours.seconds,
        theirs.seconds,
        theirs.seconds / ours.seconds,
        "s",
        note=f"{share:.1%} subsumed, {union.exhausted} exhausted, "
        f"baseline: negative space, {space.count:,} rectangles at the end",
        aim="under 20 s, exact, no budget exhausted" if aimed else "no budget exhausted",
        met=union.exhausted == 0 and (not aimed or ours.seconds < 20),
    )


def _warm_up() -> None:
    """Load the compiled kernel before the clock runs."""
    union = tg.Union()
    union.add(tg.parse("x < 5"))
    union.subsumes(tg.parse("x < 9"))
