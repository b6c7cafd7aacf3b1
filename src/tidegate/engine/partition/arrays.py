"""What do the kernels of a partition work on?

On flat arrays: its **entries**, each the AND of conditions, of ranges of its own and of a program;
the **conditions**, and the **ends** of the ranges, as they are asked about a batch; the **events**
of that batch; and **scratch**, which the kernels write on.

The entries of one key are a **group**; without a key, all of them are. Inside a group they are
sorted by the low end of their first range, and up to 64 of them, a **zone**, know how low and how
high these ranges reach. Entries without ranges are in zones by the condition they share, the
**head** of the zone. Events are sorted by group; those of one group inside a block are a **run**.

A **program** is a Boolean tree over rows in postfix notation: tokens, each an operation and, where
it takes a row, the number of that row.

Kernels read these arrays without looking where an index leads. Whoever makes them answers for that;
those of a file are checked by `consistency`.
"""

from typing import Final, NamedTuple

from tidegate.engine.primitives.integer_arrays import I32, I64, U8, U16, U32, U64

BLOCK: Final = 512
NO_ROW: Final = 0xFFFF_FFFF
NO_RANK: Final = 0xFFFF_FFFF  # of an event without a value on the axis
DEPTH: Final = 64  # of the stack a program may need; `programs` refuses more

PUSH: Final = 0 << 29
AND_ROW: Final = 1 << 29
OR_ROW: Final = 2 << 29
AND: Final = 3 << 29
OR: Final = 4 << 29
OPERAND: Final = (1 << 29) - 1


class Entries(NamedTuple):
    """The entries of a partition, group by group. `x_start[i]:x_start[i + 1]` is the part of i."""

    group_start: U32  # of entries
    ref_start: U32  # of refs; empty if no entry has any
    refs: U32  # numbers of rows
    range_start: U32  # of ranges; empty if no entry has any
    range_axis: U8
    token_start: U32  # of tokens; empty if no entry has a program
    tokens: U32
    code_start: U32  # of codes; empty if each entry has one code, in their order
    zone_start: U32  # of zones, by group
    zone_entry: U32  # of entries, by zone
    zone_head: U32  # the row that all its entries share, or NO_ROW
    zone_ranged: U8  # whether the first range of all its entries is on axis 0; or empty


class RowPieces(NamedTuple):
    """How rows are made: of pieces of axes, and of bits given for the whole batch."""

    rows: U32  # the numbers of all rows
    axis_size: U32  # how many ranks there are
    piece_start: U32  # by axis
    piece_row: U32
    piece_low: U32
    piece_high: U32
    given_row: U32


class Ends(NamedTuple):
    """The ends of the ranges, as keys on one line for each axis, sorted by group."""

    axis_used: U8  # 0: no event has a value on the axis
    low_start: U32  # by axis and group
    lows: I64
    high_start: U32
    highs: I64
    range_low: U32  # by range: the place of its low end among those of its group, axis after axis
    range_high: U32
    zone_low: U32  # by zone: the lowest of these places
    zone_high: U32
    deepest: int  # the most lows or highs a group has, all axes together


class Events(NamedTuple):
    """The events of a batch that can meet the partition, sorted by group."""

    row: I32  # in the batch
    run_group: U32
    run_start: U32
    rank: U32  # by axis of the conditions, one after the other
    given: U64  # by given row: words
    key: I64  # by axis of the ranges
    present: U8


class Scratch(NamedTuple):
    """What matching a batch writes down for itself, block after block."""

    rows: U64  # of the conditions
    ranked: U32  # places of ranks and events, while rows are made
    upto: U64
    spans: U64  # `upto` of each axis of the ranges
    low_at: U16  # the places of all lows of a group
    high_at: U16
    keys: I64  # of a run of events
    order: U32
    stack: U64  # of programs
    mask: U64
    met: U64
