"""What do many subscriptions become when a table has new values for their parameters?

Those that came in blocks, as columns, become blocks again, without a look at any of them; the
others are changed one by one.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.live import Live
from tidegate.engine.sources import Columns
from tidegate.engine.subscription import Block, Subscription, changed
from tidegate.engine.tables import read_table
from tidegate.filters.schema import Schema

Place: TypeAlias = tuple[Live | None, NDArray[Any], NDArray[Any]]
"""A segment, or None for what is pending; rows of a table; and the codes of these there."""

_Values: TypeAlias = Mapping[str, pa.Array]


def changed_rows(
    ids: pa.Array,
    columns: _Values,
    places: Sequence[Place],
    pending: Mapping[int, Subscription],
    schema: Schema | None,
) -> tuple[list[Block], list[Subscription]]:
    """The subscriptions of these places, the pending ones by row, with some parameters changed."""
    blocks: list[Block] = []
    singles: list[Subscription] = []
    for live, rows, codes in places:
        if live is None:
            singles += [_cells(old, columns, row, schema) for row, old in pending.items()]
            continue
        segment = live.segment
        parts = segment.sources.part[codes]
        for number in np.unique(parts).tolist():
            here = np.flatnonzero(parts == number)
            part = segment.sources.parts[number]
            if isinstance(part, Columns):
                old_rows = segment.sources.row[codes[here]]
                blocks += _block(part, old_rows, ids, columns, rows[here], schema)
            else:
                singles += [
                    _cells(segment.subscription(int(code)), columns, int(row), schema)
                    for code, row in zip(codes[here], rows[here], strict=True)
                ]
    return blocks, singles


def _cells(old: Subscription, columns: _Values, row: int, schema: Schema | None) -> Subscription:
    cells = {name: column[row].as_py() for name, column in columns.items()}
    known = old.parameters
    given = {name: value for name, value in cells.items() if name in known or value is not None}
    return changed(old, given, schema)


def _block(
    block: Columns,
    old_rows: NDArray[Any],
    ids: pa.Array,
    columns: _Values,
    rows: NDArray[Any],
    schema: Schema | None,
) -> list[Block]:
    taken = pa.array(rows)
    cells: dict[str, pa.Array] = {"id": ids.take(taken)}
    for name, column in block.columns.items():
        if name not in columns:
            cells[name] = column.take(pa.array(old_rows))
    for name, column in columns.items():
        own = column.take(taken)
        if name in block.columns or own.null_count < len(own):
            cells[name] = own
    return read_table(pa.table(cells), block.filter, schema)
