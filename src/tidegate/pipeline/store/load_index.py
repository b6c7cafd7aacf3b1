"""How do stored subscriptions get into an index?

In columns: subscriptions of one filter text are added together, the values of their parameters read
from their literals a column at a time. Values of one parameter may be of several kinds (`7` and
`7.5D`); rows are grouped by the kinds of all their values, so that every column has one type.

Invariant: the index has, under each number, what its `add` makes of the same text and values; or
the number is among the refused, with the error that `add` raises.
"""

import datetime as dt
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.errors import TidegateError
from tidegate.pipeline.store.language import Parsed
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


class FilterIndex(Protocol):
    """What subscriptions are added to: `Index`, `DocumentIndex`, or what is like them."""

    def add(self, id: Any, filter: Any, /, **parameters: Any) -> None:
        """Add a subscription."""

    def add_many(self, table: Any, /, filter: Any = None) -> None:
        """Add those of a table, all or none."""


Read: TypeAlias = Callable[[str], Parsed]
"""How a text becomes a filter that an index takes."""


def add(
    index: FilterIndex, read: Read, numbers: pa.Array, filters: pa.Array, parameters: pa.Array
) -> Refused:
    """Add subscriptions under these numbers; the numbers that were refused, and why."""
    refused: Refused = []
    plain: list[Rows] = []
    for said, rows, columns in alike(filters, parameters, read):
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
    filters: pa.Array, parameters: pa.Array, read: Read
) -> Iterator[tuple[Any, Rows, dict[str, pa.Array]]]:
    """Rows of one filter whose parameters are of the same types, and these as columns.

    Instead of a filter that is refused there is the error; a parameter that no row has a
    value for has no column.
    """
    given = given_maps(parameters)
    for text, rows in groups(filters, np.arange(len(filters))):
        try:
            filter = read(text)
        except TidegateError as error:
            yield error, rows, {}
            continue
        columns = {name: given[name].literals.take(given[name].where(rows)) for name in
                   filter.parameters if name in given}  # fmt: skip
        for some, typed in _typed(columns, rows):
            yield filter, some, typed


def _add_table(index: FilterIndex, table: pa.Table, filter: Any) -> Refused:
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
