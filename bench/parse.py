"""How fast are filters read?

Baseline: sqlglot's own parse of the same texts (Spark dialect), which yields a syntax tree and
checks nothing.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import sqlglot

import tidegate as tg
from bench.figure import Figure, timed
from tidegate.filters.shapes import forget_templates

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = 1_000_000
SHAPES = 1_000
SAMPLE = 3_000


def run() -> Iterator[Figure]:
    """Texts of few shapes, and texts each of a shape of its own."""
    yield few_shapes()
    yield distinct_shapes()


def few_shapes() -> Figure:
    """A million alert rules written from at most a thousand templates."""
    rng = random.Random(1)
    texts = [alert(rng, i % SHAPES) for i in range(TEXTS)]
    forget_templates()
    with timed() as ours:
        filters = [tg.parse(text) for text in texts]
    with timed() as theirs:
        for text in texts[:SAMPLE]:
            sqlglot.parse_one(text, dialect="spark")
    for i in rng.sample(range(TEXTS), SAMPLE):
        forget_templates()
        assert tg.parse(texts[i]).tree == filters[i].tree, texts[i]
    rate, base = TEXTS / ours.seconds, SAMPLE / theirs.seconds
    return Figure(
        f"parse {TEXTS:,} texts of {SHAPES:,} shapes",
        rate,
        base,
        rate / base,
        "filters/s",
        note="baseline: sqlglot.parse_one",
        aim="at least 100,000 filters/s",
        met=rate >= 100_000,
    )


def distinct_shapes() -> Figure:
    """Texts that share nothing: every one is parsed in full."""
    rng = random.Random(2)
    texts = [f"{alert(rng, i % SHAPES)} AND extra{i} > {i}" for i in range(SAMPLE)]
    forget_templates()
    with timed() as ours:
        filters = [tg.parse(text) for text in texts]
    with timed() as theirs:
        for text in texts:
            sqlglot.parse_one(text, dialect="spark")
    assert all(tg.parse(str(f)) == f for f in filters)
    cost, base = ours.seconds / SAMPLE * 1e6, theirs.seconds / SAMPLE * 1e6
    return Figure(
        "parse texts of distinct shapes",
        cost,
        base,
        base / cost,
        "µs/filter",
        note="baseline: sqlglot.parse_one; ratio below 1 means slower than it",
        aim="at most 1.5 times raw sqlglot",
        met=cost <= 1.5 * base,
    )


def alert(rng: random.Random, shape: int) -> str:
    """An alert rule of that shape, with constants of its own."""
    symbol = f"S{rng.randrange(5000)}"
    price = round(rng.random() * 100, 2)
    parts = [
        f"symbol = '{symbol}'",
        f"price {('<', '<=', '>', '>=')[shape % 4]} {price}",
        f"volume >= {rng.randrange(100_000)}",
        f"venue IN ('X{rng.randrange(9)}', 'Y{rng.randrange(9)}')",
        f"NOT side = '{rng.choice('BS')}'",
        f"spread BETWEEN {rng.random():.3f} AND {1 + rng.random():.3f}",
    ]
    chosen = [part for i, part in enumerate(parts) if shape // 4 >> i & 1] or parts[:1]
    chosen.append(f"(tag{shape} = {rng.randrange(10)} OR note IS NOT NULL)")
    return " AND ".join(chosen)
