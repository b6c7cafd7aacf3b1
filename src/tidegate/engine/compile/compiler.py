"""How do subscriptions become a segment, and several segments one?

What predicates mean is remembered from one to the next: new subscriptions mostly have predicates
that others had before them.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.compile.assemble import assemble, assemble_sweep, take_apart
from tidegate.engine.compile.draft import Draft, Drafter
from tidegate.engine.compile.layout import plan
from tidegate.engine.conditions.meaning_cache import Meanings
from tidegate.engine.conditions.selectivity import selectivity
from tidegate.engine.partition.partition import Partition
from tidegate.engine.partition.rows import AxisTable
from tidegate.engine.primitives import background
from tidegate.engine.segments.segment import Segment
from tidegate.engine.subscriptions.originals import Originals, concatenate
from tidegate.engine.subscriptions.subscription import Block, Subscription, gathered, id_array
from tidegate.engine.sweep.end_numbers import EndTable
from tidegate.engine.sweep.sweep import Sweep
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
        originals = Originals.of(blocks, singles)
        return build(drafter.finish(), pa.concat_arrays(ids), originals)[0]

    def merge(
        self, segments: Sequence[Segment], kept: Sequence[Integers]
    ) -> tuple[Segment, Integers]:
        """One segment of these codes of several, and the codes that they get in it."""
        drafter = Drafter(self._schema, self.meanings)
        ids, originals = [], []
        for segment, codes in zip(segments, kept, strict=True):
            background.step()
            draft = draft_of(segment)
            background.step()
            drafter.add_draft(draft, codes)
            background.step()
            ids.append(segment.ids.take(pa.array(codes)))
            originals.append(segment.originals.take(codes))
        together = pa.concat_arrays(ids)
        background.step()
        draft = drafter.finish()
        background.step()
        return build(draft, together, concatenate(originals))


def build(draft: Draft, ids: pa.Array, originals: Originals) -> tuple[Segment, Integers]:
    """Compile a draft; `ids` and `originals` are in the order of its subscriptions.

    Also the code that each of them got.
    """
    subscribers = np.bincount(draft.entry[draft.entry >= 0], minlength=len(draft))
    guesses = selectivity(draft.conditions)
    table = AxisTable(draft.conditions)
    partitions: list[Partition] = []
    sweeps: list[Sweep] = []
    ends = EndTable(draft.conditions.schema)
    rank = np.full(len(draft) + 1, len(draft), np.int64)  # the last: of NO_ENTRY
    placed, code = 0, 0
    for each in plan(draft, subscribers):
        background.step()
        if each.sweep:
            sweep, entries = assemble_sweep(draft, each, subscribers, ends, code)
            sweeps.append(sweep)
            code += sweep.codes
        else:
            partition, entries = assemble(draft, each, subscribers, guesses, table, code)
            partitions.append(partition)
            code += partition.codes
        rank[entries] = np.arange(placed, placed + len(entries))
        placed += len(entries)
    for sweep in sweeps:
        background.step()
        sweep.settle()
    draft.conditions.settle()
    background.step()
    order = np.argsort(rank[draft.entry], kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    segment = Segment(
        table, partitions, ends, sweeps, ids.take(pa.array(order)), originals.take(order)
    )
    return segment, place


def draft_of(segment: Segment) -> Draft:
    """The draft that a segment could be built from again."""
    conditions = segment.table.conditions
    return take_apart(segment.partitions, segment.sweeps, conditions, len(segment))
