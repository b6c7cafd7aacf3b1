"""What was each subscription given as?

An index can say what filter and which parameters an id has, and change one parameter of several.
For that it keeps subscriptions as they came: one by one, or in blocks of many rows of one filter,
whose columns are kept as they are. `Originals` says of each code where its subscription stands.

Parts are shared from merge to merge, and are not copied for a few rows that nobody needs any more.
But a part most of which is not needed is made anew, of what is: so what is gone takes no more room
than what is there.

Invariant: in originals that were taken from others, at least every second row of a part that is in
memory has a code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.primitives.distinct import numbered, occurring
from tidegate.engine.primitives.offsets import starts
from tidegate.engine.subscriptions.subscription import Block, Id, Subscription
from tidegate.filters.filter import Filter

_SLICE: Final = 4_096  # bytes around a slice that are not worth a copy


class OriginalsPart(Protocol):
    """Some subscriptions, by row. Their ids are kept elsewhere, and said by whoever asks."""

    def subscription(self, row: int, id: Id) -> Subscription:
        """The subscription of a row, which has that id."""

    def __len__(self) -> int:
        """How many rows take up memory."""

    def take(self, rows: NDArray[Any]) -> "OriginalsPart":
        """Some of the rows, in that order, in memory of their own."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Many subscriptions of one filter: a column of constants for each of its parameters."""

    filter: Filter
    columns: Mapping[str, pa.Array]

    def subscription(self, row: int, id: Id) -> Subscription:
        """The subscription of a row."""
        constants = {name: column[row].as_py() for name, column in self.columns.items()}
        return Subscription(id, self.filter, constants)

    def __len__(self) -> int:
        return max(map(len, self.columns.values()), default=0)

    def take(self, rows: NDArray[Any]) -> "Columns":
        """Some of the rows."""
        taken = pa.array(rows)
        return Columns(
            self.filter, {name: column.take(taken) for name, column in self.columns.items()}
        )

    def owned(self) -> "Columns":
        """The same, without what is around columns that are slices of larger ones."""
        total = sum(column.get_total_buffer_size() for column in self.columns.values())
        own = sum(column.nbytes for column in self.columns.values())
        return self.take(np.arange(len(self))) if total > 2 * own + _SLICE else self


@dataclass(frozen=True, slots=True)
class Singles:
    """Subscriptions that came one by one."""

    given: Sequence[Subscription]

    def subscription(self, row: int, id: Id) -> Subscription:
        """The subscription of a row."""
        return self.given[row]

    def __len__(self) -> int:
        return len(self.given)

    def take(self, rows: NDArray[Any]) -> "Singles":
        """Some of the rows."""
        return Singles([self.given[row] for row in rows.tolist()])


class Originals:
    """For each code a part and a row in it. Immutable."""

    def __init__(
        self, parts: Sequence[OriginalsPart], part: NDArray[np.uint32], row: NDArray[np.uint32]
    ) -> None:
        self.parts = parts
        self.part = part
        self.row = row

    @classmethod
    def of(cls, blocks: Sequence[Block], singles: Sequence[Subscription]) -> "Originals":
        """All rows of the blocks, one after the other, and behind them the others."""
        parts: list[OriginalsPart] = [
            Columns(block.filter, block.columns).owned() for block in blocks
        ]
        sizes = [len(block) for block in blocks]
        if singles:
            parts.append(Singles(singles))
            sizes.append(len(singles))
        return cls(
            parts,
            np.repeat(np.arange(len(parts), dtype=np.uint32), sizes),
            np.concatenate([np.arange(size, dtype=np.uint32) for size in sizes])
            if parts
            else np.empty(0, np.uint32),
        )

    def __len__(self) -> int:
        return len(self.part)

    def subscription(self, code: int, id: Id) -> Subscription:
        """The subscription of a code, which has that id."""
        part: OriginalsPart = self.parts[int(self.part[code])]
        return part.subscription(int(self.row[code]), id)

    def take(self, codes: NDArray[Any]) -> "Originals":
        """Those of some codes, without the parts that none of them needs."""
        part, row = self.part[codes], self.row[codes]
        parts = [self.parts[i] for i in occurring(part).tolist()]
        place = numbered(part).astype(np.uint32)
        kept = np.bincount(place, minlength=len(parts))
        sparse = [i for i, each in enumerate(parts) if len(each) > 2 * kept[i]]
        if sparse:
            order = np.argsort(place, kind="stable")
            begin = starts(kept)
            for i in sparse:
                mine = order[begin[i] : begin[i + 1]]
                parts[i] = parts[i].take(row[mine])
                row[mine] = np.arange(len(mine), dtype=np.uint32)
        return Originals(parts, place, row)


def concatenate(all_originals: Sequence[Originals]) -> Originals:
    """All of them, one after the other."""
    parts = [part for originals in all_originals for part in originals.parts]
    before = np.cumsum([0, *[len(originals.parts) for originals in all_originals]])
    return Originals(
        parts,
        np.concatenate(
            [s.part + np.uint32(n) for s, n in zip(all_originals, before, strict=False)]
        ) if all_originals else np.empty(0, np.uint32),
        np.concatenate([s.row for s in all_originals]) if all_originals else np.empty(0, np.uint32),
    )  # fmt: skip
