"""How do subscriptions become a segment, and several segments one?

What predicates mean is remembered from one to the next: new subscriptions mostly have predicates
that others had before them.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine import aside
from tidegate.engine.draft import Drafter
from tidegate.engine.meanings import Meanings
from tidegate.engine.segment import Segment
from tidegate.engine.sources import Sources, concatenate
from tidegate.engine.subscription import Block, Subscription, gathered, id_array
from tidegate.filters.schema import Schema

Integers: TypeAlias = NDArray[np.int64]


class Compiler:
    """Makes the segments of an index, in any number of threads."""

    def __init__(self, schema: Schema | None) -> None:
        self._schema = schema
        self.meanings = Meanings()

    def compile(
        self, blocks: list[Block], singles: list[Subscription], ranged: Iterable[str]
    ) -> Segment:
        """A segment of subscriptions; on the attributes that are ranged, entries have ranges."""
        drafter = Drafter(self._schema, self.meanings, ranged)
        blocks, singles = gathered(blocks, singles)
        for block in blocks:
            drafter.add_block(block)
        drafter.add([subscription.bound for subscription in singles])
        ids = [block.ids for block in blocks]
        if singles:
            ids.append(id_array([subscription.id for subscription in singles]))
        sources = Sources.of(blocks, singles)
        return Segment.build(drafter.finish(), pa.concat_arrays(ids), sources)[0]

    def merge(
        self, segments: Sequence[Segment], kept: Sequence[Integers]
    ) -> tuple[Segment, Integers]:
        """One segment of these codes of several, and the codes that they get in it."""
        drafter = Drafter(self._schema, self.meanings)
        ids, sources = [], []
        for segment, codes in zip(segments, kept, strict=True):
            aside.step()
            draft = segment.draft()
            aside.step()
            drafter.add_draft(draft, codes)
            aside.step()
            ids.append(segment.ids.take(pa.array(codes)))
            sources.append(segment.sources.take(codes))
        together = pa.concat_arrays(ids)
        aside.step()
        draft = drafter.finish()
        aside.step()
        return Segment.build(draft, together, concatenate(sources))
