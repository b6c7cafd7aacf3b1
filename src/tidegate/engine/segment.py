"""Many subscriptions, compiled.

A `Segment` is made once from a draft and never changes: its partitions hold the entries, `ids` the
subscriptions' ids in the order of their codes, `sources` what they were given as. What has been
removed since is said by whoever asks: `alive` has a bit for each code, and is empty if all are.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.assemble import assemble, take_apart
from tidegate.engine.description import Structure
from tidegate.engine.draft import Draft
from tidegate.engine.encoded import EncodedBatch
from tidegate.engine.kernels import repeat
from tidegate.engine.layout import plan, selectivity
from tidegate.engine.partition import Partition
from tidegate.engine.rows import AxisTable
from tidegate.engine.sources import Sources
from tidegate.engine.subscription import Id
from tidegate.filters.expression import Operator, Predicate, predicates
from tidegate.filters.lines import ALL_LINES, FAMILY_LINES
from tidegate.filters.schema import Schema
from tidegate.filters.values import family

Alive: TypeAlias = NDArray[np.uint64]
Integers: TypeAlias = NDArray[np.int64]


class Segment:
    """Compiled subscriptions, by code. Immutable, but for what is worked out on first use."""

    def __init__(
        self,
        table: AxisTable,
        partitions: Sequence[Partition],
        ids: pa.Array,
        sources: Sources,
    ) -> None:
        self.table = table
        self.partitions = partitions
        self.ids = ids
        self.sources = sources

    @classmethod
    def build(
        cls, draft: Draft, ids: pa.Array, sources: Sources
    ) -> tuple["Segment", NDArray[np.int64]]:
        """Compile a draft; `ids` and `sources` are in the order of its subscriptions.

        Also the code that each of them got.
        """
        subscribers = np.bincount(draft.entry[draft.entry >= 0], minlength=len(draft))
        guesses = selectivity(draft.conditions)
        table = AxisTable(draft.conditions)
        partitions: list[Partition] = []
        rank = np.full(len(draft) + 1, len(draft), np.int64)  # the last: of NO_ENTRY
        placed, code = 0, 0
        for each in plan(draft, subscribers):
            partition, entries = assemble(draft, each, subscribers, guesses, table, code)
            rank[entries] = np.arange(placed, placed + len(entries))
            placed += len(entries)
            code += partition.codes
            partitions.append(partition)
        order = np.argsort(rank[draft.entry], kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        segment = cls(table, partitions, ids.take(pa.array(order)), sources.take(order))
        return segment, place

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def codes(self) -> dict[Id, int]:
        """The code of each id."""
        return {id: code for code, id in enumerate(self.ids.to_pylist())}

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The attributes that conditions and ranges look at."""
        return frozenset(name for partition in self.partitions for name in partition.attributes)

    @cached_property
    def compared(self) -> dict[str, frozenset[str]]:
        """For each attribute, the names of the lines on which some predicate compares."""
        found: dict[str, set[str]] = {}
        conditions = self.table.conditions
        for attribute, node in zip(conditions.attributes, conditions.nodes, strict=True):
            lines = found.setdefault(attribute, set())
            for predicate in predicates(node):
                lines |= _compared(predicate, conditions.schema)
        for partition in self.partitions:
            for attribute, lines in partition.axes.compared():
                found.setdefault(attribute, set()).update(lines)
        return {attribute: frozenset(lines) for attribute, lines in found.items()}

    def structures(self) -> list[Structure]:
        """What the segment is made of."""
        found = [partition.structure() for partition in self.partitions]
        placed = sum(partition.codes for partition in self.partitions)
        if placed < len(self):
            found.append(Structure("filters that nothing can match", len(self) - placed, 0, 0))
        if self.table.nbytes:
            found.append(Structure("cuts of the conditions", 0, 0, self.table.nbytes))
        return found

    def draft(self) -> Draft:
        """The draft that the segment could be built from again."""
        return take_apart(self.partitions, self.table.conditions, len(self))

    def count(self, batch: EncodedBatch, alive: Alive) -> Integers:
        """How many subscriptions each event meets."""
        counts = np.zeros(batch.size, np.int64)
        for partition in self.partitions:
            for work in partition.work(batch):
                partition.count(work, alive, counts)
        return counts

    def pairs(self, batch: EncodedBatch, alive: Alive) -> tuple[pa.Array, pa.Array]:
        """The events' rows and the ids of the subscriptions they meet, grouped by event."""
        counts = np.zeros(batch.size, np.int64)
        todo = []
        for partition in self.partitions:
            for work in partition.work(batch):
                partition.count(work, alive, counts)
                todo.append((partition, work))
        end = np.cumsum(counts)
        cursor = end - counts
        total = int(end[-1]) if len(end) else 0
        codes, code_buffer = _room(total)
        for partition, work in todo:
            partition.write(work, alive, cursor, end, codes)
        events, event_buffer = _room(total)
        repeat(counts, events)
        indices = pa.Array.from_buffers(pa.int32(), total, [None, code_buffer])
        return (
            pa.Array.from_buffers(pa.int32(), total, [None, event_buffer]),
            pa.DictionaryArray.from_arrays(indices, self.ids, safe=False),
        )


def _compared(predicate: Predicate, schema: Schema | None) -> set[str]:
    """The names of the lines whose values the predicate can compare."""
    if predicate.operator is Operator.NULL:
        return {line.name for line in ALL_LINES}
    if schema is not None:
        own = schema[predicate.attribute].type.line
        return set() if own is None else {own.name}
    return {
        line.name
        for constant in predicate.constants
        if constant is not None
        for line in FAMILY_LINES[family(constant)]  # type: ignore[arg-type]
    }


def _room(size: int) -> tuple[NDArray[np.int32], Any]:
    """An array over memory from Arrow's pool, which is used again once nobody needs it."""
    buffer = pa.allocate_buffer(4 * size)
    return np.frombuffer(buffer, np.int32), buffer
