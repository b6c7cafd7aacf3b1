"""Which shards may have somebody for an event?

The filters that cover each shard are subscriptions of one small index, and their ids have the
number of the shard in their upper bits.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.index import Index
from tidegate.filters.schema import Schema
from tidegate.pipeline.store.literals import Rows

_SHIFT: Final = 32  # bits of an id to the right of the shard's number


def visited(summary: Index, count: int, events: Any) -> NDArray[np.bool_]:
    """Which of so many shards, each a row, which of the events visits."""
    found = np.zeros((count, len(events)), np.bool_)
    rows, numbers = met(summary, events)
    found[numbers >> _SHIFT, rows] = True
    return found


def met(index: Index, events: Any) -> tuple[Rows, Rows]:
    """Rows of events and the numbers that they meet, which are the ids of an index."""
    found = index.match_batch(events)
    rows = [np.empty(0, np.int64)]
    numbers = [np.empty(0, np.int64)]
    for events_met, own in zip(found["event"].chunks, found["subscription"].chunks, strict=True):
        rows.append(events_met.to_numpy())
        numbers.append(own.dictionary.to_numpy()[own.indices.to_numpy()])
    return np.concatenate(rows), np.concatenate(numbers)


def summary_index(filters: Sequence[Sequence[str]], schema: Schema) -> Index:
    """The filters that cover each shard, with the shard in their ids."""
    index = Index(schema)
    numbers = [shard << _SHIFT | place for shard, own in enumerate(filters)
               for place in range(len(own))]  # fmt: skip
    if numbers:
        texts = [text for own in filters for text in own]
        index.add_many(pa.table({"id": numbers, "filter": texts}))
    return index
