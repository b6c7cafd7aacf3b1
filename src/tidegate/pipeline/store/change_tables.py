"""How do changes come in?

As Arrow tables, lists of ids, or one by one: all of them become a `Proposal`. Tables are shaped as
those of `tidegate.Index`: a column `id`, a column `filter`, a column for each parameter; or, for
changes of every kind in one table, a column `change` and one of maps from names to literals.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.capsules import array_of, speaks_arrow
from tidegate.documents.xpath import XPath
from tidegate.engine.subscriptions.table_columns import plain_column
from tidegate.engine.subscriptions.table_reader import columns_of
from tidegate.errors import SubscriptionError, TidegateError
from tidegate.filters.filter import Filter, constant
from tidegate.filters.literals import spell
from tidegate.pipeline.store.language import Language, is_whole
from tidegate.pipeline.store.literals import PARAMETERS, given_columns, given_maps
from tidegate.pipeline.store.proposal import ADD, CHANGES, REMOVE, UPDATE, Proposal, propose

_COLUMNS: Final = ("change", "id", "subscriber", "filter", "parameters")


def adds(
    table: pa.Table | pa.RecordBatch, filter: str | Filter | XPath | None, language: Language
) -> Proposal:
    """Subscriptions to add: `id`, `filter` unless it is given, perhaps `subscriber`, parameters."""
    cells = columns_of(table)
    ids = _texts("id", cells)
    if filter is None:
        texts = _texts("filter", cells)
    else:
        texts = pa.array([language.write(filter)]).take(pa.array(np.zeros(len(ids), np.int64)))
    owners = _texts("subscriber", cells) if "subscriber" in cells else None
    columns = {name: plain_column(name, column) for name, column in cells.items()}
    return propose(_kinds(len(ids), ADD), ids, owners, texts, given_columns(columns), language)


def updates(table: pa.Table | pa.RecordBatch, language: Language) -> Proposal:
    """Parameters to change: `id`, and a column for each."""
    cells = columns_of(table)
    ids = _texts("id", cells)
    columns = {name: plain_column(name, column) for name, column in cells.items()}
    return propose(_kinds(len(ids), UPDATE), ids, None, None, given_columns(columns), language)


def removals(ids: Iterable[str] | pa.Array | pa.ChunkedArray, language: Language) -> Proposal:
    """Ids to remove."""
    if isinstance(ids, str | bytes):
        raise SubscriptionError(f"ids come as an Arrow array or an iterable, not as {ids!r}")
    if not isinstance(ids, pa.Array | pa.ChunkedArray) and speaks_arrow(ids):
        ids = array_of(ids)
    elif not isinstance(ids, pa.Array | pa.ChunkedArray):
        ids = pa.array([read_id(id) for id in ids], pa.string())
    column = _texts("id", {"id": ids})
    return propose(_kinds(len(column), REMOVE), column, None, None, {}, language)


def changes(table: pa.Table | pa.RecordBatch, language: Language) -> Proposal:
    """Changes of every kind: `change` and `id`, perhaps `subscriber`, `filter`, `parameters`."""
    cells = columns_of(table)
    unknown = sorted(cells.keys() - set(_COLUMNS))
    if unknown:
        raise TidegateError(
            f"the table of changes has a column {unknown[0]}; its columns are {', '.join(_COLUMNS)}"
        )
    ids = _texts("id", cells)
    words = _texts("change", cells)
    codes = pc.index_in(words, value_set=pa.array(CHANGES)).fill_null(-1)
    kinds = codes.to_numpy(zero_copy_only=False).astype(np.int8)
    for row in np.flatnonzero(kinds < 0):
        wrong = words[int(row)].as_py()
        raise TidegateError(f"row {row}: a change is one of {', '.join(CHANGES)}, not {wrong!r}")
    owners = _texts("subscriber", cells) if "subscriber" in cells else None
    texts = _texts("filter", cells) if "filter" in cells else None
    given = given_maps(_maps(cells["parameters"])) if "parameters" in cells else {}
    return propose(kinds, ids, owners, texts, given, language)


def one(
    kind: int,
    id: str,
    language: Language,
    *,
    filter: str | Filter | XPath | None = None,
    subscriber: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Proposal:
    """One change."""
    spelled = [(name, spell(constant(name, value))) for name, value in (parameters or {}).items()]
    return propose(
        _kinds(1, kind),
        pa.array([read_id(id)], pa.string()),
        None if subscriber is None else pa.array([read_id(subscriber)], pa.string()),
        None if filter is None else pa.array([language.write(filter)], pa.string()),
        given_maps(pa.array([spelled], PARAMETERS)),
        language,
    )


def read_id(id: Any) -> str:
    """The id as a plain string.

    >>> read_id(7)
    Traceback (most recent call last):
    ...
    tidegate.errors.SubscriptionError: an id of a store is a text, not 7
    """
    if isinstance(id, str):
        plain = str.__str__(id)
        if plain.isascii() or is_whole(plain):
            return plain
    raise SubscriptionError(f"an id of a store is a text, not {id!r}")


def _kinds(rows: int, kind: int) -> np.ndarray[Any, np.dtype[np.int8]]:
    return np.full(rows, kind, np.int8)


def _texts(name: str, cells: dict[str, Any]) -> pa.Array:
    """A column of texts, taken out of the cells."""
    if name not in cells:
        raise SubscriptionError(f"the table has no column {name}")
    column = cells.pop(name)
    try:
        array = plain_column(name, column)
    except TidegateError:
        raise SubscriptionError(f"the column {name} is not of texts in UTF-8") from None
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), pa.string())
    if not pa.types.is_string(array.type):
        raise SubscriptionError(f"the column {name} is not of texts but of type {column.type}")
    return array


def _maps(column: pa.ChunkedArray) -> pa.Array:
    try:
        array = column.cast(PARAMETERS).combine_chunks()
        array.validate(full=True)
    except pa.ArrowException:
        raise SubscriptionError(
            f"the column parameters is of type {column.type}, not of maps from names to literals"
        ) from None
    return array
