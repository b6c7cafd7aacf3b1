"""Which entries does one event leave in zones that hardly any event passes over?

A zone whose head rarely holds costs an event one look (`single_kernels`). The others are **wide**:
nearly every event would have to look up all conditions of their entries. They have a word each
instead, one bit for each entry, and a value of an event clears the bits of the entries whose
condition on that attribute it does not meet. From one rank on an axis to the next, few entries
begin or cease to allow it: these are **flips**, kept in the order of the ranks, with bit maps of
all wide zones, **checkpoints**, between every so many of them. What a value leaves is the nearest
checkpoint with the flips between undone or done; what an event leaves is the AND over its values.
They are the range-encoded bit maps of Chan and Ioannidis (1998), with most of them left out.

An axis is taken in when the first value on it comes, like the axes themselves.
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.conditions.axis import Pieces
from tidegate.engine.conditions.numbered import Conditions
from tidegate.engine.conditions.selectivity import shares
from tidegate.engine.partition.arrays import NO_ROW, Entries
from tidegate.engine.primitives.integer_arrays import ZONE
from tidegate.engine.primitives.offsets import lengths, pick, starts
from tidegate.engine.primitives.vector import WORDS

Integers: TypeAlias = NDArray[np.int64]
Bits: TypeAlias = NDArray[np.uint64]
Numbers: TypeAlias = NDArray[np.uint32]

_ENTRIES_WORTH_BIT_MAPS: Final = 16_384  # entries without a key that are worth bit maps
_WIDE: Final = 0.05  # of all events, at least, for which the head of a wide zone holds


class Ladder(NamedTuple):
    """Axes, one after the other: checkpoints, flips, and how many flips there are up to a rank."""

    bit_start: Integers
    bits: Bits
    flip_start: Integers
    flips: Numbers
    rank_start: Integers
    upto: Numbers


_Axis: TypeAlias = tuple[Bits, Numbers, Numbers]


class WideZones:
    """The wide zones of some entries. Axes are added under its user's lock only.

    `zones` are their numbers and `entries` a word for each, with a bit for each of its entries,
    filled up to whole rows. `heads` are the heads of all zones, where a wide one has the condition
    after the last, which never holds.
    """

    def __init__(self, entries: Entries, conditions: Conditions) -> None:
        sizes = lengths(entries.zone_entry)
        zone = np.repeat(np.arange(len(sizes)), sizes)
        owner, refs = _references(entries, zone)
        wide = _wide(entries, zone[owner], refs, conditions)
        self.zones = np.flatnonzero(wide).astype(np.uint32)
        self.heads = np.where(wide, np.uint32(len(conditions)), entries.zone_head)
        self.entries = np.zeros(-(-len(self.zones) // WORDS) * WORDS, np.uint64)
        unused = (ZONE - sizes[wide]).astype(np.uint64)
        self.entries[: len(self.zones)] = np.uint64(2**64 - 1) >> unused
        within = np.arange(len(zone)) - entries.zone_entry[zone]
        place = (np.cumsum(wide) - 1)[zone] * ZONE + within
        kept = np.flatnonzero(wide[zone[owner]])
        kept = kept[np.argsort(refs[kept], kind="stable")]
        self._places = place[owner[kept]].astype(np.uint32)  # of the entries with a condition
        self._start = starts(np.bincount(refs[kept], minlength=len(conditions)))
        self._axes: list[_Axis] = []
        self.ladder = _joined([])

    def add(self, axes: list[tuple[list[int], Pieces, int]]) -> None:
        """Take in axes: the conditions on their attribute, these as pieces, the number of ranks."""
        self._axes += [self._axis(*axis) for axis in axes]
        self.ladder = _joined(self._axes)

    def _axis(self, conditions: list[int], pieces: Pieces, ranks: int) -> _Axis:
        places, _ = self._with(np.array(conditions, np.int64))
        if not len(places):
            return np.empty(0, np.uint64), np.empty(0, np.uint32), np.zeros(ranks, np.uint32)
        mine, which = self._with(pieces.condition.astype(np.int64))
        low, high = pieces.low[which], pieces.high[which]
        later, over = low > 0, high < ranks
        rank = np.concatenate([low[later], high[over]])
        order = np.argsort(rank, kind="stable")
        flips = np.concatenate([mine[later], mine[over]])[order]
        upto = np.searchsorted(rank[order], np.arange(ranks), side="right")
        words = len(self.entries)
        bits = np.zeros((len(flips) // words + 1, words), np.uint64)
        bits[0] = self.entries ^ _bits(places, words) ^ _bits(mine[~later], words)
        for i in range(1, len(bits)):
            bits[i] = bits[i - 1] ^ _bits(flips[(i - 1) * words : i * words], words)
        return bits.ravel(), flips, upto.astype(np.uint32)

    def _with(self, conditions: Integers) -> tuple[Numbers, Integers]:
        """The places of the entries with these conditions, and which condition each has."""
        counts = self._start[conditions + 1] - self._start[conditions]
        places = self._places[pick(self._start[conditions], counts)]
        return places, np.repeat(np.arange(len(conditions)), counts)

    @property
    def nbytes(self) -> int:
        """The memory of all of it."""
        arrays = (self.zones, self.heads, self.entries, self._places, self._start, *self.ladder)
        return sum(array.nbytes for array in arrays)


def wide_zones(entries: Entries, conditions: Conditions) -> WideZones | None:
    """The wide zones of entries without a key, if there are many entries with conditions.

    Not of Boolean trees: they have so many conditions that bit maps would be larger than all else.
    """
    if not len(entries.ref_start) or len(entries.token_start):
        return None
    if int(entries.group_start[-1]) < _ENTRIES_WORTH_BIT_MAPS:
        return None
    found = WideZones(entries, conditions)
    return found if len(found.zones) else None


def _references(entries: Entries, zone: Integers) -> tuple[Integers, Integers]:
    """Each entry with each of its conditions, that of the zone included."""
    owner = np.repeat(np.arange(len(zone)), lengths(entries.ref_start))
    heads = entries.zone_head[zone]
    headed = np.flatnonzero(heads != NO_ROW)
    refs = np.concatenate([entries.refs, heads[headed]]).astype(np.int64)
    return np.concatenate([owner, headed]), refs


def _wide(
    entries: Entries, zone: Integers, refs: Integers, conditions: Conditions
) -> NDArray[np.bool_]:
    """Which zones are wide. Those with a condition on text are not: it is no matter of ranks."""
    share = np.append(shares(conditions), 1.0)
    wide = share[np.minimum(entries.zone_head, len(conditions))] >= _WIDE
    texts = np.array([bool(condition.allowed.texts) for condition in conditions])
    wide[zone[texts[refs]]] = False
    return wide


def _bits(places: Numbers, words: int) -> Bits:
    """Bit maps with these places turned over."""
    found = np.zeros(words, np.uint64)
    np.bitwise_xor.at(found, places >> 6, np.uint64(1) << (places & 63).astype(np.uint64))
    return found


def _joined(axes: list[_Axis]) -> Ladder:
    bits, flips, upto = zip(*axes, strict=True) if axes else ((), (), ())
    return Ladder(
        starts(np.array([len(each) for each in bits], np.int64)),
        np.concatenate([np.empty(0, np.uint64), *bits]),
        starts(np.array([len(each) for each in flips], np.int64)),
        np.concatenate([np.empty(0, np.uint32), *flips]),
        starts(np.array([len(each) for each in upto], np.int64)),
        np.concatenate([np.empty(0, np.uint32), *upto]),
    )
