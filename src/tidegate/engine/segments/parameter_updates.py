"""What do many subscriptions become when a table has new values for their parameters?

Those that came in blocks, as columns, become blocks again, without a look at any of them, if there
are enough of one block; the others are changed one by one. So many at once never take longer than
they would one by one.

A cell of a parameter that the filter of its row does not have says nothing, and has to be null.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.segments.live import Live
from tidegate.engine.subscriptions.originals import Columns
from tidegate.engine.subscriptions.subscription import Block, Subscription, changed
from tidegate.engine.subscriptions.table_reader import read_table
from tidegate.errors import TidegateError
from tidegate.filters.schema import Schema

Place: TypeAlias = tuple[Live | None, NDArray[Any], NDArray[Any]]
"""A segment, or None for what is pending; rows of a table; and the codes of these there."""

_Values: TypeAlias = Mapping[str, pa.Array]

_FEWEST_OF_A_BLOCK: Final = 256  # subscriptions of a block that make a block again


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
            singles += _cells([pending[row] for row in rows.tolist()], columns, rows, schema)
            continue
        originals = live.segment.originals
        parts = originals.part[codes]
        order = np.argsort(parts, kind="stable")
        for here in np.split(order, np.flatnonzero(np.diff(parts[order])) + 1):
            part = originals.parts[int(parts[here[0]])]
            if isinstance(part, Columns) and len(here) >= _FEWEST_OF_A_BLOCK:
                old_rows = originals.row[codes[here]]
                blocks += _block(part, old_rows, ids, columns, rows[here], schema)
                continue
            named = zip(
                codes[here].tolist(), ids.take(pa.array(rows[here])).to_pylist(), strict=True
            )
            old = [originals.subscription(code, id) for code, id in named]
            singles += _cells(old, columns, rows[here], schema)
    return blocks, singles


def _cells(
    old: Sequence[Subscription], columns: _Values, rows: NDArray[Any], schema: Schema | None
) -> list[Subscription]:
    """Subscriptions that these rows are about, changed one by one."""
    taken = pa.array(rows)
    cells = [column.take(taken).to_pylist() for column in columns.values()]
    found = []
    for place, each in enumerate(old):
        known = each.parameters
        values = {name: own[place] for name, own in zip(columns, cells, strict=True)}
        given = {name: v for name, v in values.items() if v is not None or name in known}
        try:
            found.append(changed(each, given, schema))
        except TidegateError as error:
            error.add_note(f"in row {int(rows[place])}, subscription {each.id!r}")
            raise
    return found


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
    return read_table(pa.table(cells), block.filter, schema)[0]
