"""Entries kept together: how they lie in memory, and how a batch of events meets them.

A `Partition` is a set of flat arrays (`arrays.Entries`), its conditions (`rows.Rows`), its key if
it has one (`KeyTable`), and the ends of its entries' own ranges (`range_ends.RangeAxes`). It never
changes. Its entries' codes, by which subscriptions are known, are consecutive.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.conditions.key_table import NO_GROUP, KeyTable
from tidegate.engine.description import Structure
from tidegate.engine.events.encoded_batch import EncodedBatch
from tidegate.engine.partition import block_kernels
from tidegate.engine.partition.arrays import (
    AND,
    NO_ROW,
    OPERAND,
    OR,
    Ends,
    Entries,
    Events,
    RowPieces,
)
from tidegate.engine.partition.range_ends import RangeAxes
from tidegate.engine.partition.rows import AxisTable, Rows

Integers: TypeAlias = NDArray[np.int64]
Work: TypeAlias = tuple[RowPieces, Ends, Events]

_GROUPS_OF_16_BITS: Final = 65_536


class Partition:
    """Entries, all with a key of the same attributes, or all without one. Immutable."""

    def __init__(
        self,
        conditions: AxisTable,
        key: KeyTable | None,
        entries: Entries,
        axes: RangeAxes,
        first_code: int,
    ) -> None:
        self.key = key
        self.entries = entries
        self.axes = axes
        self.first_code = first_code
        self._conditions = conditions

    @cached_property
    def rows(self) -> Rows:
        """The conditions that entries refer to."""
        return Rows(self._conditions, used_conditions(self.entries))

    @property
    def attributes(self) -> set[str]:
        """The attributes the partition looks at."""
        keyed = () if self.key is None else self.key.attributes
        return {*self.rows.attributes, *self.axes.attributes, *keyed}

    @property
    def codes(self) -> int:
        """How many subscriptions are kept here."""
        if len(self.entries.code_start):
            return int(self.entries.code_start[-1])
        return int(self.entries.group_start[-1])

    def work(self, batch: EncodedBatch) -> Iterator[Work]:
        """What the kernels need for a batch: once for each combination of lines its values have."""
        for order, lines in self.axes.range_lines.split(batch):
            if self.key is not None:
                groups = self.key.groups(batch, order.astype(np.int32))
                having = np.flatnonzero(groups != NO_GROUP)
                own = groups[having]
                narrow = (
                    own.astype(np.uint16)
                    if len(self.entries.group_start) < _GROUPS_OF_16_BITS
                    else own
                )
                sorting = np.argsort(narrow, kind="stable")
                order, own = order[having[sorting]], own[sorting]
            else:
                own = np.zeros(len(order), np.int64)
            if not len(order):
                continue
            pieces, ranks, given = self.rows.prepare(batch, order)
            ends = self.axes.ends(lines)
            keys, present = self.axes.range_lines.keys(batch, lines, order)
            starts = np.flatnonzero(np.diff(own, prepend=-1))
            events = Events(
                order.astype(np.int32),
                own[starts].astype(np.uint32),
                np.append(starts, len(order)).astype(np.uint32),
                ranks,
                given,
                keys,
                present,
            )
            yield pieces, ends, events

    def count(self, work: Work, alive: NDArray[np.uint64], counts: Integers) -> None:
        """Add to each event how many subscriptions here it meets."""
        block_kernels.count(self.entries, *work, alive, self.first_code, counts)

    def write(
        self,
        work: Work,
        alive: NDArray[np.uint64],
        cursor: Integers,
        end: Integers,
        out: NDArray[np.int32],
    ) -> None:
        """Write the codes of the subscriptions each event meets."""
        block_kernels.write(self.entries, *work, alive, self.first_code, cursor, end, out)

    def structure(self) -> Structure:
        """What the partition is, for a description of the index."""
        kind = "Boolean trees" if len(self.entries.token_start) else "conjunctions"
        shared = " with several subscribers" if len(self.entries.code_start) else ""
        if self.key is None:
            where = "bit-sliced"
        else:
            where = f"by key ({', '.join(self.key.attributes)})"
        entries = int(self.entries.group_start[-1])
        return Structure(f"{kind}{shared}, {where}", self.codes, entries, self.nbytes)

    @property
    def nbytes(self) -> int:
        """The memory of all of it."""
        return (
            sum(array.nbytes for array in self.entries)
            + self.axes.nbytes
            + self.rows.nbytes
            + (0 if self.key is None else self.key.nbytes)
        )


def used_conditions(entries: Entries) -> NDArray[np.uint32]:
    """The numbers of the conditions that entries refer to."""
    operations = entries.tokens & np.uint32(~OPERAND & 0xFFFF_FFFF)
    with_row = (operations != AND) & (operations != OR)
    in_programs = entries.tokens[with_row] & np.uint32(OPERAND)
    heads = entries.zone_head[entries.zone_head != NO_ROW]
    return np.unique(np.concatenate([entries.refs, heads, in_programs])).astype(np.uint32)
