"""How do stored subscriptions get into an index?

In columns: subscriptions of one filter text are added together, the values of their parameters read
from their literals a column at a time. Values of one parameter may be of several kinds (`7` and
`7.5D`); rows are grouped by the kinds of all their values, so that every column has one type.

Invariant: the index has, under each number, what `Index.add` makes of the same text and values; or
the number is among the refused, with the error that `Index.add` raises.
"""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.index import Index
from tidegate.errors import TidegateError
from tidegate.filters.filter import Filter, parse
from tidegate.filters.schema import Schema
from tidegate.pipeline.store.literals import KINDS, Literals, Rows, given_maps, read_constant
from tidegate.pipeline.store.proposal import groups

Refused = list[tuple[int, TidegateError]]

_ARROW: Final[dict[type, pa.DataType]] = {
    type(None): pa.null(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    dt.date: pa.date32(),
    dt.datetime: pa.timestamp("us"),
}
_PLAIN_DOUBLE: Final = r"\A-?[0-9.]+(?:E-?[0-9]+)?D\z"
_PLAIN_TEXT: Final = r"\A'[^'\\]*'\z"


def add(index: Index, numbers: pa.Array, filters: pa.Array, parameters: pa.Array) -> Refused:
    """Add subscriptions under these numbers; the numbers that were refused, and why."""
    refused: Refused = []
    plain: list[Rows] = []
    for said, rows, columns in alike(filters, parameters, index.schema):
        if isinstance(said, TidegateError):
            refused += [(numbers[int(row)].as_py(), said) for row in rows]
        elif said.parameters:
            table = pa.table({"id": numbers.take(pa.array(rows)), **columns})
            refused += _add_table(index, table, said)
        else:
            plain.append(rows)
    if plain:
        together = np.concatenate(plain)
        table = {"id": numbers.take(pa.array(together)), "filter": filters.take(pa.array(together))}
        refused += _add_table(index, pa.table(table), None)
    return refused


def alike(
    filters: pa.Array, parameters: pa.Array, schema: Schema | None
) -> Iterator[tuple[Filter | TidegateError, Rows, dict[str, pa.Array]]]:
    """Rows of one filter whose parameters are of the same types, and these as columns.

    Instead of a filter that the schema refuses there is the error; a parameter that no row has a
    value for has no column.
    """
    given = given_maps(parameters)
    for text, rows in groups(filters, np.arange(len(filters))):
        try:
            filter = parse(text, schema)
        except TidegateError as error:
            yield error, rows, {}
            continue
        columns = {name: given[name].literals.take(given[name].where(rows)) for name in
                   filter.parameters if name in given}  # fmt: skip
        for some, typed in _typed(columns, rows):
            yield filter, some, typed


def update(index: Index, numbers: pa.Array, parameters: pa.Array) -> Refused:
    """Change the parameters of subscriptions; the numbers that were refused, and why."""
    refused: Refused = []
    given = given_maps(parameters)
    names = list(given)
    rows = np.arange(len(numbers))
    has = np.stack([given[name].where(rows) >= 0 for name in names], axis=1) if names else None
    if has is None:
        return refused
    _, form = np.unique(has, axis=0, return_inverse=True)
    for number in np.unique(form):
        group = np.flatnonzero(form == number)
        own = [name for name, held in zip(names, has[group[0]], strict=True) if held]
        columns = {name: given[name].literals.take(given[name].where(group)) for name in own}
        for some, typed in _typed(columns, group):
            table = pa.table({"id": numbers.take(pa.array(some)), **typed})
            try:
                index.update_many(table)
            except TidegateError:
                refused += _one_by_one(table, lambda row: index.update(row.pop("id"), **row))
    return refused


def _add_table(index: Index, table: pa.Table, filter: Filter | None) -> Refused:
    try:
        index.add_many(table, filter)
    except TidegateError:

        def add_one(row: dict[str, Any]) -> None:
            index.add(row.pop("id"), row.pop("filter") if filter is None else filter, **row)

        return _one_by_one(table, add_one)
    return []


def _one_by_one(table: pa.Table, change: Any) -> Refused:
    """Do to each row what could not be done to all."""
    refused: Refused = []
    for row in table.to_pylist():
        number = row["id"]
        try:
            change(row)
        except TidegateError as error:
            refused.append((number, error))
    return refused


def _typed(columns: dict[str, Literals], rows: Rows) -> Iterator[tuple[Rows, dict[str, pa.Array]]]:
    """Rows whose values are of the same kinds, and these values as columns."""
    if not columns:
        yield rows, {}
        return
    kinds = np.stack([column.kinds for column in columns.values()], axis=1)
    found, form = np.unique(kinds, axis=0, return_inverse=True)
    for number, own in enumerate(found):
        some = np.flatnonzero(form == number)
        typed = {
            name: _values(column.texts.take(pa.array(some)), KINDS[kind])
            for (name, column), kind in zip(columns.items(), own, strict=True)
        }
        yield rows[some], typed


def _values(texts: pa.Array, kind: type) -> pa.Array:
    """The constants that literals of one kind stand for."""
    if kind is type(None):
        return pa.nulls(len(texts))
    if kind is int and pc.all(pc.match_substring_regex(texts, r"\A-?[0-9]+\z")).as_py():
        return texts.cast(pa.int64())
    if kind is float and pc.all(pc.match_substring_regex(texts, _PLAIN_DOUBLE)).as_py():
        return pc.utf8_slice_codeunits(texts, 0, -1).cast(pa.float64())
    if kind is str and pc.all(pc.match_substring_regex(texts, _PLAIN_TEXT)).as_py():
        return pc.utf8_slice_codeunits(texts, 1, -1)
    encoded = texts.dictionary_encode()
    constants = [read_constant(text) for text in encoded.dictionary.to_pylist()]
    if kind is Decimal:
        return pa.array(constants).take(encoded.indices)
    return pa.array(constants, _ARROW[kind]).take(encoded.indices)
