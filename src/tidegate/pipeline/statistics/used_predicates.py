"""Which predicates do subscriptions use most?

Subscriptions of one filter text are looked at together, the values of their parameters a column at
a time, so that a million subscriptions of a few texts take seconds. Only the predicates that are
used most are made of their texts and values.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.errors import TidegateError
from tidegate.filters.expression import Parameter, Predicate, predicates
from tidegate.filters.filter import bind, parse
from tidegate.filters.schema import Schema
from tidegate.pipeline.store.literals import Given, Rows, given_maps, read_constant
from tidegate.pipeline.store.proposal import groups

_TEXTS: Final = 100_000  # that are read; of more, so many drawn at random
_SEPARATOR: Final = "\0"  # which no literal has unescaped

_Use: TypeAlias = tuple[Predicate, str]  # the literals of its parameters, put together


def most_used(subscriptions: pa.Table, schema: Schema, limit: int) -> list[Predicate]:
    """The different predicates of subscriptions, bound, the most used first.

    `subscriptions` have columns `filter` and `parameters`; a sample will do.
    """
    uses: Counter[_Use] = Counter()
    given = given_maps(subscriptions["parameters"].combine_chunks())
    for text, rows in _texts(subscriptions["filter"].combine_chunks()):
        try:
            tree = parse(text, schema).tree
        except TidegateError:  # it does not fit the events, and matches none
            continue
        for predicate in predicates(tree):
            for literals, count in _values(predicate, rows, given, limit):
                uses[predicate, literals] += count
    found: dict[str, Predicate] = {}
    for (predicate, literals), _ in uses.most_common():
        if len(found) == limit:
            break
        bound = _bound(predicate, literals, schema)
        if bound is not None:
            found.setdefault(str(bound), bound)
    return list(found.values())


def _texts(filters: pa.Array) -> Iterator[tuple[str, Rows]]:
    every = list(groups(filters, np.arange(len(filters))))
    if len(every) > _TEXTS:
        chosen = np.random.default_rng(0).choice(len(every), _TEXTS, replace=False)
        every = [every[number] for number in np.sort(chosen)]
    yield from every


def _values(
    predicate: Predicate, rows: Rows, given: Given, limit: int
) -> Iterator[tuple[str, int]]:
    """The values that rows give a predicate's parameters, and how many rows do."""
    names = _parameters(predicate)
    if not names:
        yield "", len(rows)
        return
    if any(name not in given for name in names):
        return
    texts = [given[name].literals.take(given[name].where(rows)).texts for name in names]
    together = pc.binary_join_element_wise(*texts, _SEPARATOR).drop_null().dictionary_encode()
    counts = np.bincount(together.indices.to_numpy(), minlength=len(together.dictionary))
    most = np.argsort(-counts, kind="stable")[:limit]
    chosen = together.dictionary.take(pa.array(most)).to_pylist()
    yield from zip(chosen, counts[most].tolist(), strict=True)


def _parameters(predicate: Predicate) -> list[str]:
    found = [each.name for each in predicate.constants if isinstance(each, Parameter)]
    return list(dict.fromkeys(found))


def _bound(predicate: Predicate, literals: str, schema: Schema) -> Predicate | None:
    names = _parameters(predicate)
    if not names:
        return predicate
    try:
        constants = map(read_constant, literals.split(_SEPARATOR))
        return bind(predicate, dict(zip(names, constants, strict=True)), schema)
    except (TidegateError, ValueError):  # it does not fit the events
        return None
