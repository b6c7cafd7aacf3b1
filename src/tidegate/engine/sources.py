"""What was each subscription given as?

An index can say what filter and which parameters an id has, and change one parameter of several.
For that it keeps subscriptions as they came: one by one, or in blocks of many rows of one filter,
whose columns are kept as they are. `Sources` says of each code where its subscription stands.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.subscription import Block, Subscription

Part: TypeAlias = Block | Sequence[Subscription]


class Sources:
    """For each code a part and a row in it. Immutable."""

    def __init__(
        self, parts: list[Part], part: NDArray[np.uint32], row: NDArray[np.uint32]
    ) -> None:
        self.parts = parts
        self.part = part
        self.row = row

    @classmethod
    def of(cls, parts: list[Part]) -> "Sources":
        """All rows of these parts, one after the other."""
        sizes = [len(part) for part in parts]
        return cls(
            parts,
            np.repeat(np.arange(len(parts), dtype=np.uint32), sizes),
            np.concatenate([np.arange(size, dtype=np.uint32) for size in sizes])
            if parts
            else np.empty(0, np.uint32),
        )

    def __len__(self) -> int:
        return len(self.part)

    def __getitem__(self, code: int) -> Subscription:
        part, row = self.parts[self.part[code]], int(self.row[code])
        return part.subscription(row) if isinstance(part, Block) else part[row]

    def take(self, codes: NDArray[Any]) -> "Sources":
        """Those of some codes, without the parts that none of them needs."""
        part, row = self.part[codes], self.row[codes]
        used, number = np.unique(part, return_inverse=True)
        parts = [self.parts[i] for i in used.tolist()]
        return Sources(parts, number.astype(np.uint32), row)


def concatenate(all_sources: Sequence[Sources]) -> Sources:
    """All of them, one after the other."""
    parts = [part for sources in all_sources for part in sources.parts]
    before = np.cumsum([0, *[len(sources.parts) for sources in all_sources]])
    return Sources(
        parts,
        np.concatenate(
            [s.part + np.uint32(n) for s, n in zip(all_sources, before, strict=False)]
        ) if all_sources else np.empty(0, np.uint32),
        np.concatenate([s.row for s in all_sources]) if all_sources else np.empty(0, np.uint32),
    )  # fmt: skip
