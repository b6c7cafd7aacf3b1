"""Which shard does a subscription belong to?

A `Plan` says it of every subscription, also of those that come later: it is a small tree of cuts
(`cut_tree`), made from a sample. Related interests sit together, so that few shards may want an
event, and the expected **load** is even: how often a subscription matches, times its size. How
often is counted by matching a sample of events with a sample of subscriptions, so nothing is
assumed about how attributes hang together. A quarter of the weight is a constant, so that no shard
gets more than four times as many subscriptions as the mean, however seldom they match.

What the cuts do not tell apart is spread by a hash of the id; so is everything in the baseline,
`scattered`. Rows that can match nothing may be anywhere, and are spread as well.

Invariant: the shard of a subscription depends on the plan, its id, its filter and its parameters
alone: the same in any process, in any order, with any others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.events.batch import Batch
from tidegate.engine.index import Index
from tidegate.filters.filter import parse
from tidegate.filters.notation import read_schema, spell_schema
from tidegate.filters.schema import Schema
from tidegate.pipeline.shards.cut_tree import Cut, SampledRows, Scatter, Tree, split
from tidegate.pipeline.shards.extents import Extent, Extents, read_extents, usable
from tidegate.pipeline.store import load_index

Integers: TypeAlias = NDArray[np.int64]
Shards: TypeAlias = NDArray[np.int32]
Hashes: TypeAlias = NDArray[np.uint64]
Mask: TypeAlias = NDArray[np.bool_]

_CONSTANT: Final = 0.25  # the share of the weight that all subscriptions have alike
_QUANTILES: Final = 1_024  # of an attribute's values in events
_ROWS: Final = 1_000_000  # that are read at a time
_PAIRS: Final = 20_000_000  # of events and subscriptions, which are enough to count
_AT_A_TIME: Final = 500  # events
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Plan:
    """How subscriptions are split into so many shards; immutable, picklable, small.

    `values` are the quantiles of events' values, as keys, on the attributes that are cut: they tell
    a summary how much it would let through.
    """

    count: int
    tree: Tree
    schema: Schema | None
    values: Mapping[str, Sequence[Any]]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that are cut."""
        return tuple(dict.fromkeys(_attributes(self.tree)))

    def shards(self, ids: pa.Array, filters: pa.Array, parameters: pa.Array) -> Shards:
        """The shards of stored subscriptions, one for each row.

        >>> from tidegate.pipeline.store.literals import PARAMETERS
        >>> filters, parameters = pa.array(["x < 1", "x > 5"]), pa.array([[], []], PARAMETERS)
        >>> halves = plan(filters, parameters, Schema({"x": "bigint"}), 2)
        >>> halves.shards(pa.array(["alice", "bob"]), filters, parameters).tolist()
        [0, 1]
        """
        found = np.empty(len(ids), np.int32)
        for start in range(0, len(ids), _ROWS):
            some = slice(start, start + _ROWS)
            found[some] = self._shards(ids[some], filters[some], parameters[some])
        return found

    def _shards(self, ids: pa.Array, filters: pa.Array, parameters: pa.Array) -> Shards:
        hashes = _hashes(ids)
        found = np.empty(len(ids), np.int32)
        rows = np.arange(len(ids))
        if isinstance(self.tree, Cut):
            assert self.schema is not None
            extents = read_extents(filters, parameters, self.schema, self.attributes)
            out = rows[extents.never]
            found[out] = _scatter(hashes[out], Scatter(0, self.count))
            _Assignment(extents, hashes, found).go(self.tree, rows[~extents.never])
        else:
            found[:] = _scatter(hashes, self.tree)
        return found

    def plain(self) -> dict[str, Any]:
        """The plan as JSON has it."""
        return {
            "count": self.count,
            "tree": _spell(self.tree),
            "schema": None if self.schema is None else spell_schema(self.schema),
            "values": {name: list(keys) for name, keys in self.values.items()},
        }

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> "Plan":
        """The plan that was written so.

        >>> Plan.read(scattered(8).plain()) == scattered(8)
        True
        """
        schema = None if plain["schema"] is None else read_schema(plain["schema"])
        values = {name: tuple(keys) for name, keys in plain["values"].items()}
        return cls(plain["count"], _read(plain["tree"]), schema, values)


def scattered(count: int) -> Plan:
    """The baseline: subscriptions are spread by a hash of their ids."""
    return Plan(count, Scatter(0, count), None, {})


def plan(
    filters: pa.Array,
    parameters: pa.Array,
    schema: Schema,
    count: int,
    events: pa.Table | None = None,
) -> Plan:
    """A plan made from a sample of subscriptions, and of events if there is one.

    Without events all subscriptions count as matching equally often, and events are taken to lie
    where the subscriptions' own centres do.
    """
    extents = read_extents(filters, parameters, schema, [n for n in schema if usable(schema[n])])
    kept = np.flatnonzero(~extents.never)
    known = {
        name: extent for name, extent in extents.by_attribute.items() if not extent.free[kept].all()
    }
    number, present = _centres(known, kept) if events is None else _numbers(known, schema, events)
    load = extents.predicates[kept].astype(np.float64) + 1.0
    if events is not None:
        load *= _frequencies(filters, parameters, schema, events)[kept]
    sample = SampledRows(
        tuple(known),
        [extent.key for extent in known.values()],
        _stack([extent.low[kept] for extent in known.values()], len(kept)),
        _stack([extent.high[kept] for extent in known.values()], len(kept)),
        _stack([extent.centres[kept] for extent in known.values()], len(kept)),
        _stack([extent.free[kept] for extent in known.values()], len(kept)).astype(np.bool_),
        _mixed(load),
        number,
        present,
    )
    tree = split(sample, count)
    cut = dict.fromkeys(_attributes(tree))
    values = {
        name: _quantiles(number[place][present[place]], extent)
        for place, (name, extent) in enumerate(known.items())
        if name in cut
    }
    return Plan(count, tree, schema, values)


def _mixed(load: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights: the load, and a constant share."""
    total, size = float(load.sum()), max(len(load), 1)
    if not total:
        return np.ones(len(load))
    return (1 - _CONSTANT) * load / total + _CONSTANT / size


def _frequencies(
    filters: pa.Array, parameters: pa.Array, schema: Schema, events: pa.Table
) -> NDArray[np.float64]:
    """How often each subscription matches the events, or as many of them as it takes to tell."""
    counts = np.zeros(len(filters), np.int64)
    index = Index(schema)
    read = partial(parse, schema=schema)
    load_index.add(index, read, pa.array(np.arange(len(filters))), filters, parameters)
    order = np.random.default_rng(0).permutation(len(events))
    pairs = 0
    for start in range(0, len(events), _AT_A_TIME):
        found = index.match_batch(events.take(pa.array(order[start : start + _AT_A_TIME])))
        for chunk in found["subscription"].chunks:
            own = np.bincount(
                chunk.indices.to_numpy(zero_copy_only=False), minlength=len(chunk.dictionary)
            )
            counts[chunk.dictionary.to_numpy(zero_copy_only=False)] += own
        pairs += len(found)
        if pairs > _PAIRS:
            break
    return counts.astype(np.float64)


def _numbers(
    known: Mapping[str, Extent], schema: Schema, events: pa.Table
) -> tuple[Integers, Mask]:
    """Where events lie, attribute by attribute, and whether they lie anywhere."""
    number = np.zeros((len(known), len(events)), np.int64)
    present = np.zeros(number.shape, np.bool_)
    batch = Batch(events, schema)
    for place, (name, extent) in enumerate(known.items()):
        for stretch in batch.column(name).stretches:
            if stretch.line == extent.line:
                number[place, stretch.rows] = extent.numbers(stretch)
                present[place, stretch.rows] = True
    return number, present


def _centres(known: Mapping[str, Extent], kept: Integers) -> tuple[Integers, Mask]:
    """The centres of boxes as events; what is free has the centre of another one."""
    random = np.random.default_rng(0)
    number = np.zeros((len(known), len(kept)), np.int64)
    for place, extent in enumerate(known.values()):
        own, free = extent.centres[kept], extent.free[kept]
        number[place] = np.where(free, random.choice(own[~free], len(kept)), own)
    return number, np.ones(number.shape, np.bool_)


def _stack(rows: Sequence[NDArray[Any]], size: int) -> NDArray[Any]:
    return np.stack(rows) if rows else np.zeros((0, size), np.int64)


def _quantiles(number: Integers, extent: Extent) -> tuple[Any, ...]:
    """Keys of values at equal steps through those of all events."""
    if not len(number):
        return ()
    places = np.linspace(0, len(number) - 1, min(_QUANTILES, len(number))).astype(np.int64)
    return tuple(map(extent.key, np.sort(number)[places].tolist()))


def _attributes(tree: Tree) -> Iterator[str]:
    if isinstance(tree, Cut):
        yield tree.attribute
        yield from _attributes(tree.below)
        yield from _attributes(tree.above)


class _Assignment:
    """Goes down a tree with many subscriptions at once."""

    def __init__(self, extents: Extents, hashes: Hashes, found: Shards) -> None:
        known = extents.by_attribute.items()
        self._centres = {name: (extent.centres, extent.free) for name, extent in known}
        self._extents = extents.by_attribute
        self._hashes = hashes
        self._found = found

    def go(self, tree: Tree, rows: Integers) -> None:
        """Write down the shards of some rows."""
        if isinstance(tree, Scatter):
            self._found[rows] = _scatter(self._hashes[rows], tree)
            return
        centre, free = (column[rows] for column in self._centres[tree.attribute])
        below = free
        if tree.key is not None:
            number = self._extents[tree.attribute].number(tree.key)
            below = np.where(free, tree.free_below, centre < number)
        self.go(tree.below, rows[below])
        self.go(tree.above, rows[~below])


def _hashes(ids: pa.Array) -> Hashes:
    """Numbers up to 2**32, which are the same everywhere, unlike Python's own hashes."""
    own = map(crc32, ids.cast(pa.string()).cast(pa.binary()).to_pylist())
    mixed = np.fromiter(own, np.uint64, len(ids)) * _MIX
    return mixed >> _HALF


def _scatter(hashes: Hashes, among: Scatter) -> Shards:
    found: Shards = (hashes * np.uint64(among.count) >> _HALF).astype(np.int32)
    return found + np.int32(among.first)


def _spell(tree: Tree) -> list[Any]:
    if isinstance(tree, Scatter):
        return [tree.first, tree.count]
    return [tree.attribute, tree.key, tree.free_below, _spell(tree.below), _spell(tree.above)]


def _read(plain: Sequence[Any]) -> Tree:
    if len(plain) == 2:
        return Scatter(*plain)
    attribute, key, free_below, below, above = plain
    return Cut(attribute, key, free_below, _read(below), _read(above))
