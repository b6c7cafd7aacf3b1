"""Which shards may have somebody for an event?

The filters that cover each shard are subscriptions of one small index, and their ids have the
number of the shard in their upper bits.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.pipeline.kinds.kind import Kind, KindIndex, ReadEvents

_SHIFT: Final = 32  # bits of an id to the right of the shard's number


def visited(summary: KindIndex, count: int, events: ReadEvents) -> NDArray[np.bool_]:
    """Which of so many shards, each a row, which of the events visits."""
    found = np.zeros((count, len(events.events)), np.bool_)
    rows, numbers = events.met(summary)
    found[numbers >> _SHIFT, rows] = True
    return found


def summary_index(filters: Sequence[Sequence[str]], kind: Kind) -> KindIndex:
    """The filters that cover each shard, with the shard in their ids."""
    index = kind.new_index()
    numbers = [shard << _SHIFT | place for shard, own in enumerate(filters)
               for place in range(len(own))]  # fmt: skip
    if numbers:
        texts = [text for own in filters for text in own]
        index.add_many(pa.table({"id": numbers, "filter": texts}))
    return index
