"""What is the state after some changes?

Of each id its last change counts: gone if that is a removal, else with the parameters that it says
and the filter and subscriber of the last `add`. Rows may come in any order: version and place say
which change is later.

Everything is done to whole columns: ids are numbered, and of each number the last row that has it
is kept by writing rows into an array in their order.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.pipeline.store.change_files import SCHEMA
from tidegate.pipeline.store.literals import Rows

STATE: Final = ("id", "subscriber", "filter", "parameters")


def fold(rows: pa.Table) -> pa.Table:
    """The state after these changes, as rows of `SCHEMA` sorted by id.

    Each row is an `add` with the version and place of the id's last change. Every id has an `add`
    among the changes unless it is removed.
    """
    rows = rows.combine_chunks()
    if not len(rows):
        return SCHEMA.empty_table()
    codes = _numbers(_whole(rows["id"]).dictionary_encode().indices)
    order = in_order(rows)
    last = _last(codes, order)
    is_add = _mask(rows["change"], "add")
    added = _last(codes, order[is_add[order]], len(last))
    there = last[~_mask(rows["change"], "remove")[last]]
    there = there[_sorting(rows["id"].take(pa.array(there)))]
    sources = pa.array(added[codes[there]])
    where = pa.array(there)
    columns = {
        "version": rows["version"].take(where),
        "place": rows["place"].take(where),
        "change": pa.array(["add"]).take(pa.array(np.zeros(len(there), np.int64))),
        "id": rows["id"].take(where),
        "subscriber": rows["subscriber"].take(sources),
        "filter": rows["filter"].take(sources),
        "parameters": rows["parameters"].take(where),
    }
    return pa.table(columns, schema=SCHEMA)


def in_order(rows: pa.Table) -> Rows:
    """The rows in the order in which the changes were made."""
    order: Rows = np.lexsort((rows["place"].to_numpy(), rows["version"].to_numpy()))
    return order


def _last(codes: Rows, order: Rows, count: int | None = None) -> Rows:
    """For each code the last row, in that order, that has it; -1 if none has."""
    last = np.full(codes.max() + 1 if count is None else count, -1, np.int64)
    last[codes[order]] = order  # NumPy writes in order, so that the last one stays
    return last


def _sorting(ids: pa.ChunkedArray) -> Rows:
    """How to sort ids; mostly they are already."""
    array = _whole(ids)
    if pc.all(pc.less_equal(array[:-1], array[1:])).as_py():
        return np.arange(len(array))
    return _numbers(pc.sort_indices(array))


def _mask(column: pa.ChunkedArray, value: str) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = pc.equal(column, value).to_numpy()
    return mask


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _numbers(array: pa.Array) -> Rows:
    numbers: Rows = array.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers
