"""How are the values of parameters kept in a table?

As literals in the spelling of Spark SQL (`filters.literals`), in a column of maps from names to
literals. So one column has values of every type, each comes back exactly as it was, and Spark can
read it without knowing Tidegate.

`Literals` is a column of such values with their kinds beside them; `Given` has, for each parameter,
the rows that give it a value. Both are made of whole columns: what differs is looked at once,
however often it occurs.

Invariant: `read_literals(spell_column(column).texts)` has the same constants and kinds.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.filters.literals import decode, spell
from tidegate.filters.values import Constant

Rows: TypeAlias = NDArray[np.int64]

KINDS: Final = (type(None), bool, int, float, Decimal, str, dt.date, dt.datetime)
REFUSED: Final = -1  # the kind of a text that is no literal
PARAMETERS: Final = pa.map_(pa.string(), pa.string())

_NULL: Final = KINDS.index(type(None))
_TO_ESCAPE: Final = r"['\\\x00-\x1f\x7f-\x9f\x{2028}\x{2029}]"
# forms that are spelled as they are; decimals lack only their suffix
_PLAIN: Final = {
    r"\A(?:0|-?[1-9][0-9]{0,17})\z": int,
    r"\A(?:0|[1-9][0-9]{0,17})\.[0-9]{1,18}\z": Decimal,
    r"\A'[^'\\\x00-\x1f\x7f-\x9f\x{2028}\x{2029}]*'\z": str,
}


@dataclass(frozen=True, slots=True)
class Literals:
    """Constants in writing, and of each its kind: a place in `KINDS`, or `REFUSED`."""

    texts: pa.Array
    kinds: NDArray[np.int8]

    def take(self, rows: Rows) -> "Literals":
        """Some of them; where there is -1 in place of a row, NULL."""
        missing = rows < 0
        if not missing.any():
            return Literals(self.texts.take(pa.array(rows)), self.kinds[rows])
        kinds = np.full(len(rows), _NULL, np.int8)
        kinds[~missing] = self.kinds[rows[~missing]]
        return Literals(self.texts.take(pa.array(rows, mask=missing)).fill_null("NULL"), kinds)

    def override(self, others: "Literals", which: NDArray[np.bool_]) -> "Literals":
        """The others where `which` holds, these elsewhere."""
        texts = pc.if_else(pa.array(which), others.texts, self.texts)
        return Literals(texts, np.where(which, others.kinds, self.kinds))

    def constant(self, row: int) -> Constant:
        """One of them; ValueError if it is no literal."""
        return read_constant(self.texts[row].as_py())

    def used_kinds(self) -> set[type]:
        """The kinds that occur."""
        return {KINDS[kind] for kind in np.unique(self.kinds)}

    def codes(self) -> Rows:
        """A number for each text: equal texts have the same."""
        return _numbers(self.texts.dictionary_encode().indices)


def read_constant(text: str) -> Constant:
    """The constant that a literal stands for.

    >>> read_constant("10.0D"), read_constant(" 'it''s' "), read_constant("NULL")
    (10.0, "it's", None)
    """
    return decode(text.strip())


def read_literals(texts: pa.Array) -> Literals:
    """Texts as literals, in their one spelling; what is no literal stays as it is, `REFUSED`.

    A null is NULL.

    >>> read_literals(pa.array(["1.50", "x", None])).texts.to_pylist()
    ['1.50BD', 'x', 'NULL']
    """
    encoded = texts.dictionary_encode()
    distinct = encoded.dictionary
    plain, plain_kinds = _read_plain(distinct)
    others = np.flatnonzero(plain_kinds == REFUSED)
    rest = _read_each(distinct.take(pa.array(others)).to_pylist())
    places = np.full(len(distinct), -1)
    places[others] = np.arange(len(others))
    known = Literals(plain, plain_kinds).override(rest.take(places), places >= 0)
    return known.take(_numbers(encoded.indices.fill_null(-1)))


def _read_plain(texts: pa.Array) -> tuple[pa.Array, NDArray[np.int8]]:
    """Texts of the most frequent forms, which need no second look; all others are `REFUSED`."""
    kinds = np.full(len(texts), REFUSED, np.int8)
    for pattern, kind in _PLAIN.items():
        kinds[_mask(pc.match_substring_regex(texts, pattern))] = KINDS.index(kind)
    is_decimal = pa.array(kinds == KINDS.index(Decimal))
    return pc.if_else(is_decimal, pc.binary_join_element_wise(texts, "BD", ""), texts), kinds


def _read_each(texts: list[str]) -> Literals:
    """Texts of any form, one by one."""
    spelled: list[str] = []
    kinds: list[int] = []
    for text in texts:
        try:
            constant = read_constant(text)
            spelled.append(spell(constant))
            kinds.append(KINDS.index(type(constant)))
        except ValueError:
            spelled.append(text)
            kinds.append(REFUSED)
    return Literals(pa.array(spelled, pa.string()), np.array(kinds, np.int8))


def spell_column(column: pa.Array) -> Literals:
    """A column of one of the types of `engine.subscription.Block`, in writing.

    >>> spell_column(pa.array([1.5, None])).texts.to_pylist()
    ['1.5D', 'NULL']
    """
    kind = _kind(column.type)
    if pa.types.is_null(column.type):
        texts = pa.nulls(len(column), pa.string())
    elif kind is int and not pa.types.is_uint64(column.type):
        texts = column.cast(pa.string())
    elif kind is bool:
        texts = pc.if_else(column, "TRUE", "FALSE")
    elif kind is str and not _needs_escapes(column):
        texts = pc.binary_join_element_wise("'", column, "'", "")
    elif kind is float and pc.all(pc.is_finite(column)).as_py():
        texts = _spell_doubles(column)
    else:
        return _spell_each(column)
    kinds = np.full(len(column), KINDS.index(kind), np.int8)
    kinds[column.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return Literals(texts.fill_null("NULL"), kinds)


def _spell_doubles(column: pa.Array) -> pa.Array:
    """Finite doubles as `spell` writes them: nearly all of them differ, and there are many."""
    doubles = column.fill_null(0.0).to_numpy(zero_copy_only=False).tolist()
    shortest = pc.replace_substring(pa.array(list(map(repr, doubles)), pa.string()), "e+", "E")
    texts = pc.binary_join_element_wise(pc.replace_substring(shortest, "e", "E"), "D", "")
    return pc.if_else(column.is_valid(), texts, None)


def _spell_each(column: pa.Array) -> Literals:
    """Each value that occurs, spelled once."""
    encoded = column.dictionary_encode()
    constants = encoded.dictionary.to_pylist()
    if pa.types.is_uint64(column.type):  # beyond bigint, an integer is a decimal
        constants = [decode(str(constant)) for constant in constants]
    codes = encoded.indices.fill_null(len(constants))
    spelled = pa.array([*map(spell, constants), "NULL"], pa.string())
    kinds = np.array([*(KINDS.index(type(c)) for c in constants), _NULL], np.int8)
    return Literals(spelled.take(codes), kinds[_numbers(codes)])


def _kind(arrow: pa.DataType) -> type:
    is_ = pa.types
    tests: tuple[tuple[Callable[[pa.DataType], bool], type], ...] = (
        (is_.is_null, type(None)),
        (is_.is_boolean, bool),
        (is_.is_integer, int),
        (is_.is_floating, float),
        (is_.is_decimal, Decimal),
        (is_.is_string, str),
        (is_.is_date, dt.date),
    )
    return next((kind for test, kind in tests if test(arrow)), dt.datetime)


def _needs_escapes(column: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring_regex(column, _TO_ESCAPE)).as_py())


@dataclass(frozen=True, slots=True)
class Value:
    """One parameter: which rows give it, in ascending order, and what they give.

    Where `is_null` holds, the row has a null, which is NULL where its filter names the parameter
    and nothing at all where it does not.
    """

    rows: Rows
    literals: Literals
    is_null: NDArray[np.bool_]

    def where(self, rows: Rows) -> Rows:
        """For each of these rows its place in this column, or -1 if it gives nothing."""
        if not len(self.rows):
            return np.full(len(rows), -1)
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[places] == rows, places, -1)


Given: TypeAlias = Mapping[str, Value]


def given_columns(columns: Mapping[str, pa.Array]) -> dict[str, Value]:
    """Parameters that come as a column each."""
    given: dict[str, Value] = {}
    for name, column in columns.items():
        is_null = column.is_null().to_numpy(zero_copy_only=False)
        given[name] = Value(np.arange(len(column)), spell_column(column), is_null)
    return given


def given_maps(maps: pa.Array) -> dict[str, Value]:
    """Parameters that come as maps of names to literals; a null map gives nothing."""
    maps = maps if maps.offset == 0 else pa.concat_arrays([maps])
    counts = pc.fill_null(pc.list_value_length(maps.cast(_as_list(maps.type))), 0)
    rows = np.repeat(np.arange(len(maps)), _numbers(counts))
    entries = maps.cast(_as_list(maps.type)).flatten()
    keys = entries.field(0).dictionary_encode()
    codes = _numbers(keys.indices)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(keys.dictionary) + 1))
    given: dict[str, Value] = {}
    for code, name in enumerate(keys.dictionary.to_pylist()):
        places = order[ends[code] : ends[code + 1]]
        texts = entries.field(1).take(pa.array(places))
        is_null = texts.is_null().to_numpy(zero_copy_only=False)
        given[name] = Value(rows[places], read_literals(texts), is_null)
    return given


def _as_list(kind: pa.MapType) -> pa.DataType:
    """A map's type, seen as the list of pairs that it is."""
    return pa.list_(
        pa.field("entries", pa.struct([("key", kind.key_type), ("value", kind.item_type)]))
    )


class MapBuilder:
    """Collects values of parameters, columns of some rows at a time, into a column of maps."""

    def __init__(self, rows: int) -> None:
        self._counts = np.zeros(rows, np.int64)
        self._pieces: list[tuple[Rows, int, int, pa.Array]] = []
        self._names: dict[str, int] = {}

    def put(self, rows: Rows, columns: Mapping[str, pa.Array]) -> None:
        """Give these rows these literals, in this order of names; once for each row."""
        self._counts[rows] = len(columns)
        for place, (name, texts) in enumerate(columns.items()):
            code = self._names.setdefault(name, len(self._names))
            self._pieces.append((rows, place, code, texts))

    def finish(self) -> pa.MapArray:
        """The maps; a row that was given nothing has an empty one."""
        offsets = np.concatenate([[0], np.cumsum(self._counts)])
        names = pa.array(list(self._names), pa.string())
        if not self._pieces:
            empty = pa.array([], pa.string())
            return pa.MapArray.from_arrays(offsets.astype(np.int32), empty, empty)
        places = np.concatenate([offsets[rows] + place for rows, place, _, _ in self._pieces])
        codes = np.concatenate([np.full(len(rows), code) for rows, _, code, _ in self._pieces])
        order = np.empty(len(places), np.int64)
        order[places] = np.arange(len(places))
        texts = pa.concat_arrays([texts for *_, texts in self._pieces])
        return pa.MapArray.from_arrays(
            offsets.astype(np.int32),
            names.take(pa.array(codes[order])),
            texts.take(pa.array(order)),
        )


def _mask(array: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = array.to_numpy(zero_copy_only=False)
    return mask


def _numbers(array: pa.Array) -> Rows:
    numbers: Rows = array.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers
