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
from tidegate.engine.conditions import Conditions
from tidegate.engine.draft import Draft
from tidegate.engine.encoded import EncodedBatch
from tidegate.engine.kernels import repeat
from tidegate.engine.layout import plan, selectivity
from tidegate.engine.partition import Partition
from tidegate.engine.rows import AxisTable
from tidegate.engine.sources import Sources
from tidegate.engine.subscription import Id

Alive: TypeAlias = NDArray[np.uint64]
Integers: TypeAlias = NDArray[np.int64]


class Segment:
    """Compiled subscriptions, by code. Immutable, but for what is worked out on first use."""

    def __init__(
        self,
        conditions: Conditions,
        partitions: Sequence[Partition],
        ids: pa.Array,
        sources: Sources,
    ) -> None:
        self.conditions = conditions
        self.partitions = partitions
        self.ids = ids
        self.sources = sources

    @classmethod
    def build(cls, draft: Draft, ids: pa.Array, sources: Sources) -> "Segment":
        """Compile a draft; `ids` and `sources` are in the order of its subscriptions."""
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
        return cls(draft.conditions, partitions, ids.take(pa.array(order)), sources.take(order))

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

    def draft(self) -> Draft:
        """The draft that the segment could be built from again."""
        return take_apart(self.partitions, self.conditions, len(self))

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


def _room(size: int) -> tuple[NDArray[np.int32], Any]:
    """An array over memory from Arrow's pool, which is used again once nobody needs it."""
    buffer = pa.allocate_buffer(4 * size)
    return np.frombuffer(buffer, np.int32), buffer
