"""Which filters can be seen at once to be covered?

Where rules are alike, a few general ones cover most others. Those of a sample that cover the most
of it are **scouts**: every task that reads subscriptions has them, and most filters meet their
coverer there, before they are handed to anybody. Only the rest is compared with each other.

Invariant: a scout is a filter of the store, a single box; what it is said to cover, it covers, and
is not equal to.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tidegate.algebra.normal import Box, boxes
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.pipeline.analysis.covering import Covering, PieceColumns, rank
from tidegate.pipeline.analysis.pieces import hull, of_boxes, pieces

MOST: Final = 1_000
"""Scouts, at most."""

_SHARE_OF_SCOUTS: Final = 0.2  # of the sample, what scouts must cover


@dataclass(frozen=True)
class Scouts:
    """Filters that cover many, by what they mean, the most general ones first.

    >>> from tidegate import parse
    >>> sample = {bytes([i]): parse(f"x < {i}") for i in range(10)}
    >>> scouts, left = Scouts.found(sample, None)
    >>> list(left) == [bytes([9])]
    True
    >>> scouts.coverers([parse("x < 7"), parse("x < 9"), parse("y = 1")])
    [b'\\t', None, None]
    """

    schema: Schema | None
    boxes: tuple[tuple[bytes, Box], ...] = ()

    @classmethod
    def found(
        cls, sample: Mapping[bytes, Filter], schema: Schema | None
    ) -> "tuple[Scouts, dict[bytes, Filter]]":
        """The scouts in a sample of different filters, by meaning; and those nobody covers."""
        ordered = sorted(sample, key=lambda meaning: rank(sample[meaning]))
        compared = Covering(schema)
        compared.compare(sample[meaning] for meaning in ordered)
        left = {ordered[i]: sample[ordered[i]] for i in compared.left()}
        covered = Counter(compared.coverers.values())
        single = {i: own for i in covered if len(own := boxes(sample[ordered[i]]) or ()) == 1}
        usable = {i: own[0] for i, own in single.items() if pieces(sample[ordered[i]])}
        if sum(covered[i] for i in usable) < _SHARE_OF_SCOUTS * len(sample):
            return cls(schema), left
        chosen = sorted(i for i, _ in covered.most_common() if i in usable)[:MOST]
        return cls(schema, tuple((ordered[i], usable[i]) for i in chosen)), left

    def __len__(self) -> int:
        return len(self.boxes)

    @cached_property
    def _pieces(self) -> PieceColumns:
        found = PieceColumns(self.schema)
        for number, (_, box) in enumerate(self.boxes):
            found.add(number, pieces(of_boxes((box,), self.schema)) or [box])
        return found

    def coverers(self, filters: Sequence[Filter]) -> list[bytes | None]:
        """Of each filter, which has boxes, the meaning of a scout that covers it, if one does."""
        found: list[bytes | None] = [None] * len(filters)
        asked = {
            -1 - place: own for place, f in enumerate(filters) if (own := pieces(f)) is not None
        }
        for number, scout in self._pieces.covering(asked) if self.boxes else ():
            place = -1 - number
            meaning, box = self.boxes[scout]
            if found[place] is None and not _may_be_all(box, boxes(filters[place]) or ()):
                found[place] = meaning
        return found


def _may_be_all(box: Box, own: tuple[Box, ...]) -> bool:
    """Whether a box that covers others may be all of their union."""
    return box == (own[0] if len(own) == 1 else hull(own))
