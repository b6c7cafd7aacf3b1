"""What covers a shard?

A **summary** is a few filters without parameters, one of which matches every event that some
subscription of the shard matches. An event is sent to a shard only if its summary matches, so a
summary should let little else through, and is matched for every event, so it should be small.

It is what the policies of brokers do to what they forward, done a column at a time:

- **Pruning** (Bittner, Hinze, "Pruning subscriptions in distributed publish/subscribe systems",
  ACSC 2006): of each subscription is kept what it says about the attributes that the plan cuts,
  and of that its hull (`extents`). What other attributes say hardly tells shards apart.
- **Covering** and **merging**, perfect and then, above the budget, imperfect: see `hulls`, which
  takes seconds for a million boxes. The brokers' own merging (`algebra.groups`) finds no merger
  among what is left that is not longer than its members, so it is not asked.

Invariant (law 2): every event that a subscription of the shard matches, the summary matches. What
the schema refuses, or what contradicts itself, matches nothing and has no part in it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.filters.expression import Node, Operator, Predicate, conjunction
from tidegate.filters.filter import Filter
from tidegate.filters.lines import Line, value_at
from tidegate.filters.schema import Schema
from tidegate.filters.values import Constant
from tidegate.pipeline.shards.extents import Extent, read_extents, usable
from tidegate.pipeline.shards.hulls import Boxes, Gauge, cover
from tidegate.pipeline.shards.shard_plan import Plan

BUDGET: Final = 1_024
"""The filters of a summary, unless somebody says otherwise.

On the workload `lab.workloads.trade` an event visits hardly fewer shards with four times as many,
and hardly more with a quarter of them.
"""


def summary(
    filters: pa.Array, parameters: pa.Array, schema: Schema, plan: Plan, budget: int = BUDGET
) -> list[Filter]:
    """At most so many filters that together cover the stored subscriptions of a shard.

    >>> from tidegate.pipeline.shards.shard_plan import scattered
    >>> from tidegate.pipeline.store.literals import PARAMETERS
    >>> texts = ["x BETWEEN 1 AND 5 AND y LIKE '%a%'", "x IN (6, 9)", "x > 100 AND x < 7"]
    >>> schema = Schema({"x": "bigint", "y": "string"})
    >>> rows = pa.array(texts), pa.array([[], [], []], PARAMETERS)
    >>> print(*summary(*rows, schema, scattered(2)))
    x >= 1 AND x <= 9
    """
    names = plan.attributes or [name for name in schema if usable(schema[name])]
    extents = read_extents(filters, parameters, schema, names)
    kept = np.flatnonzero(~extents.never)
    if not len(kept):
        return []
    known = {
        name: extent for name, extent in extents.by_attribute.items() if not extent.free[kept].all()
    }
    if not known:
        return [Filter.of(conjunction([]), schema)]
    boxes = Boxes(
        np.stack([extent.low[kept] for extent in known.values()]),
        np.stack([extent.high[kept] for extent in known.values()]),
    )
    gauges = [_gauge(plan, name, extent) for name, extent in known.items()]
    few = cover(boxes, gauges, budget)
    return [
        Filter.of(_written(known, few.low[:, i].tolist(), few.high[:, i].tolist()), schema)
        for i in range(len(few))
    ]


def _gauge(plan: Plan, name: str, extent: Extent) -> Gauge:
    """How likely values are, by what the plan knows of events."""
    numbers = [extent.number(key) for key in plan.values.get(name, ())]
    return Gauge.of(np.array(numbers, np.int64))


def _written(known: Mapping[str, Extent], low: Sequence[int], high: Sequence[int]) -> Node:
    """A box as a conjunction."""
    parts: list[Node] = []
    for (name, extent), first, last in zip(known.items(), low, high, strict=True):
        bottom, top = extent.whole
        if extent.texts is None:
            parts += _range(name, extent.line, first, last)
        else:
            after = None if last == top else extent.texts[last + 1]
            parts += _texts(name, extent.texts[first], after)
        assert bottom <= first <= last <= top
    return conjunction(parts)


def _range(name: str, line: Line, first: int, last: int) -> list[Node]:
    """The predicates that leave the keys from the first to the last, or some more."""
    low, high = _constant(line, first), _constant(line, last)
    if first == last and low is not None:
        return [Predicate(name, Operator.EQUAL, (low,))]
    parts: list[Node] = []
    if first > line.low and low is not None:
        parts.append(Predicate(name, Operator.AT_LEAST, (low,)))
    if last < line.high - 1 and high is not None:
        parts.append(Predicate(name, Operator.AT_MOST, (high,)))
    return parts


def _constant(line: Line, key: int) -> Constant:
    """The value at a key; None for a moment outside the years that constants have."""
    try:
        return value_at(line, key)
    except (ValueError, OverflowError):
        return None


def _texts(name: str, first: str, after: str | None) -> list[Node]:
    """The predicates that leave the texts from the first up to another."""
    if after == first + "\0":
        return [Predicate(name, Operator.EQUAL, (first,))]
    parts: list[Node] = []
    if first:
        parts.append(_end(name, first, Operator.AT_LEAST, Operator.GREATER))
    if after is not None:
        parts.append(_end(name, after, Operator.LESS, Operator.AT_MOST))
    return parts


def _end(name: str, text: str, at: Operator, beside: Operator) -> Predicate:
    """The texts on one side of an end, without the character that stands for "just above"."""
    if text.endswith("\0"):
        return Predicate(name, beside, (text[:-1],))
    return Predicate(name, at, (text,))
