"""How fast are filters read?

Baseline: sqlglot's own parse of the same texts (Spark dialect), which yields a syntax tree and
checks nothing.
"""

from __future__ import annotations

import gc
import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa
import sqlglot

import tidegate as tg
from bench.figure import Figure, timed
from tidegate.filters.shapes import forget_templates

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = 1_000_000
SHAPES = 1_000
SAMPLE = 3_000
LOADED = 200_000
LARGE = 500_000  # numbers in a list


def run() -> Iterator[Figure]:
    """Texts of few shapes, and texts each of a shape of its own."""
    yield few_shapes()
    yield distinct_shapes()
    yield loading()
    yield from large_texts()


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
        aim="at least 130,000 filters/s",
        met=rate >= 130_000,
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
        aim="5 times raw sqlglot",
        met=5 * cost <= base,
    )


def loading() -> Figure:
    """Conjunctions of 2 to 6 predicates over 20 attributes, nearly each of a shape of its own."""
    rng = random.Random(5)
    texts = [conjunction(rng) for _ in range(LOADED)]
    table = pa.table({"id": [f"s{i}" for i in range(LOADED)], "filter": texts})
    warm = tg.Index()  # loads compiled code
    warm.add_many(table.slice(0, 20_000))
    warm.match_batch([{"a1": 1}])
    forget_templates()
    gc.collect()
    index = tg.Index()
    start = time.process_time()
    index.add_many(table)
    seconds = time.process_time() - start
    with timed() as theirs:
        for text in texts[:SAMPLE]:
            sqlglot.parse_one(text, dialect="spark")
    for event in ({f"a{i}": rng.randrange(1000) for i in range(20)} for _ in range(3)):
        matched = set(index.match(event))
        for i in rng.sample(range(LOADED), SAMPLE):
            assert (f"s{i}" in matched) == tg.parse(texts[i]).matches(event), texts[i]
    rate, base = LOADED / seconds, SAMPLE / theirs.seconds
    return Figure(
        f"load {LOADED:,} texts of distinct shapes into an index",
        rate,
        base,
        rate / base,
        "subscriptions/s",
        note="baseline: sqlglot.parse_one, which only parses",
        aim="at least 30,000/s",
        met=rate >= 30_000,
    )


def conjunction(rng: random.Random) -> str:
    """What a subscriber of the PADRES workload asks for."""
    asked = rng.sample(range(20), rng.randint(2, 6))
    operators = ("=", "<", ">", "<=", ">=")
    return " AND ".join(f"a{a} {rng.choice(operators)} {rng.randrange(1000)}" for a in asked)


def large_texts() -> Iterator[Figure]:
    """Texts as long as a text may be."""
    many = LARGE // 20
    texts = {
        f"a list of {LARGE:,} numbers": "x IN (" + "7," * LARGE + "8)",
        f"a list of {LARGE:,} numbers and a string": "x IN (" + "7," * LARGE + "'8')",
        f"{many:,} conditions joined by OR": " OR ".join(f"x = {i}" for i in range(many)),
        f"{many:,} conditions joined by AND": " AND ".join(f"x{i} != {i}" for i in range(many)),
        f"{LARGE:,} open parentheses": "(" * LARGE,
    }
    for name, text in texts.items():
        with timed() as ours, suppress(tg.TidegateError):
            tg.parse(text)
        yield Figure(
            f"read or refuse {name}", ours.seconds, None, None, "s", aim="at most 2 s",
            met=ours.seconds <= 2,
        )  # fmt: skip


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
