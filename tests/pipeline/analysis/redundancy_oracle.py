"""Which filters are redundant, by comparing all pairs; and filters to ask about."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import tidegate as tg
from tests.families import mixed_filter
from tests.generate import filters as generated
from tidegate.algebra.normal import boxes
from tidegate.algebra.relate import covers, subsumed
from tidegate.algebra.subtract import Budget


@dataclass(frozen=True)
class Truth:
    """Of one filter: the names of those that cover it, of those that are equal to it, and whether
    those of the rest that nobody covers subsume it."""

    coverers: frozenset[str]
    equal: frozenset[str]
    subsumed: bool


def all_pairs(names: Sequence[str], filters: Sequence[tg.Filter]) -> list[Truth]:
    """Every filter compared with every other one."""
    above = [{j for j, f in enumerate(filters) if j != i and covers(f, g)}
             for i, g in enumerate(filters)]  # fmt: skip
    same = [{j for j in above[i] if i in above[j]} for i in range(len(filters))]
    maximal = [j for j in range(len(filters)) if above[j] <= same[j]]
    truths = []
    for i, g in enumerate(filters):
        equal = same[i]
        coverers = above[i] - equal
        others = [filters[j] for j in maximal if j != i and j not in equal]
        by_all = not coverers and subsumed(g, others, Budget(200_000))
        truths.append(
            Truth(frozenset(names[j] for j in coverers), frozenset(names[j] for j in equal), by_all)
        )
    return truths


def whole_language(rng: Random, count: int, schema: tg.Schema | None) -> list[tg.Filter]:
    """Filters over every type and operator, no two equal, that have boxes.

    Without a schema, some are on attributes that have values of all families.
    """
    found: dict[tg.Filter, None] = {}
    if schema is None:
        mixed = [mixed_filter(rng) for _ in range(count // 2)]
        found = {f: None for f in mixed if boxes(f) and f.form is not True}
    for condition in generated(rng, count, schema is not None):
        try:
            f = tg.parse(str(condition), schema)
        except tg.TidegateError:
            continue
        if boxes(f) and f.form is not True:
            found[f] = None
    return list(found)
