"""What does somebody want to change?

A `Proposal` is a list of changes in columns, checked as far as that is possible without looking
into the store: filters are read, every parameter of an added filter has a value that fits, ids are
texts. What hangs on the store (is the id there, does an update fit its filter) is for `validation`.
Several attempts at a commit share one proposal.

Rows of one filter text are checked together: a text is parsed once, and whether values fit it, the
language says of whole columns (`language`).

Invariant: a row is refused if and only if its filter, bound to its values, is, and a refusal names
the row that is to blame.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.errors import ParameterError, SubscriptionError, TidegateError
from tidegate.pipeline.store.language import Language, Parsed
from tidegate.pipeline.store.literals import (
    REFUSED,
    Given,
    Literals,
    MapBuilder,
    Rows,
    Value,
    read_constant,
)
from tidegate.pipeline.store.refusals import Refusals

ADD: Final = 0
UPDATE: Final = 1
REMOVE: Final = 2
CHANGES: Final = ("add", "update", "remove")


@dataclass(frozen=True, slots=True)
class Proposal:
    """Changes in order. `subscribers`, `filters` and `parameters` are those of the adds."""

    kinds: NDArray[np.int8]
    ids: pa.Array
    subscribers: pa.Array
    filters: pa.Array
    parameters: pa.Array  # maps, complete; of updates and removals empty
    given: Given  # what updates change
    refusals: Refusals

    def __len__(self) -> int:
        return len(self.ids)


def propose(
    kinds: NDArray[np.int8],
    ids: pa.Array,
    subscribers: pa.Array | None,
    filters: pa.Array | None,
    given: Given,
    language: Language,
    *,
    loose: Set[str] = frozenset(),
    refusals: Refusals | None = None,
) -> Proposal:
    """A proposal of these columns, some of whose rows may be refused already.

    Values of `loose` names count where a filter has such a parameter, and nowhere else.
    """
    refusals = Refusals() if refusals is None else refusals
    _check_ids(ids, refusals)
    _check_names(given, language.sign, refusals)
    is_add = kinds == ADD
    texts = pa.nulls(len(ids), pa.string()) if filters is None else filters
    owners = ids if subscribers is None else subscribers.fill_null(ids)
    refuse = "an update or a removal has no {}: only the values of parameters change"
    for what, column in (("filter", texts), ("subscriber", subscribers)):
        if column is not None:
            stray = ~is_add & column.is_valid().to_numpy(zero_copy_only=False)
            refusals.add(np.flatnonzero(stray), SubscriptionError(refuse.format(what)))
    for value in given.values():
        stray_rows = value.rows[(kinds[value.rows] == REMOVE) & ~value.is_null]
        refusals.add(stray_rows, SubscriptionError("a removal has no parameters"))
    maps = _read_adds(np.flatnonzero(is_add), texts, given, language, refusals, loose=loose)
    return Proposal(kinds, ids, owners, texts, maps, given, refusals)


def _check_ids(ids: pa.Array, refusals: Refusals) -> None:
    missing = ids.is_null().to_numpy(zero_copy_only=False)
    refusals.add(np.flatnonzero(missing), SubscriptionError("there is no id: it is NULL"))
    empty = pc.equal(ids, "").fill_null(False).to_numpy(zero_copy_only=False)
    refusals.add(np.flatnonzero(empty), SubscriptionError("an id has at least one character"))


def _check_names(given: Given, sign: str, refusals: Refusals) -> None:
    """A map may say a name twice, and then says nothing."""
    for name, value in given.items():
        again = value.rows[1:][np.diff(value.rows) == 0]
        refusals.add(again, ParameterError(f"parameter {sign}{name} is given more than once"))


def _read_adds(
    rows: Rows,
    texts: pa.Array,
    given: Given,
    language: Language,
    refusals: Refusals,
    *,
    loose: Set[str],
) -> pa.Array:
    """The maps of parameters of all rows; only those of the adds have any."""
    maps = MapBuilder(len(texts))
    wanted = texts.take(pa.array(rows))
    missing = rows[wanted.is_null().to_numpy(zero_copy_only=False)]
    refusals.add(missing, SubscriptionError("there is no filter: it is NULL"))
    strict = {name: value for name, value in given.items() if name not in loose}
    counts = given_counts(strict, len(texts))
    plain: list[Rows] = []
    for text, group in groups(wanted, rows):
        try:
            filter = language.read(text)
        except TidegateError as error:
            refusals.add(group, error)
            continue
        if filter.parameters:
            columns = _required(filter, language.sign, group, given, refusals)
            for row, said in stray(filter.parameters, language.sign, group, strict, counts):
                refusals.add([row], ParameterError(f"the filter has {said}"))
            refuse_unfit(language, filter, columns, group, refusals)
            maps.put(group, {name: column.texts for name, column in columns.items()})
        else:
            plain.append(group)
    if plain:
        for row, said in stray((), language.sign, np.concatenate(plain), strict, counts):
            refusals.add([row], ParameterError(f"the filter has {said}"))
    return maps.finish()


def groups(texts: pa.Array, rows: Rows) -> Iterable[tuple[str, Rows]]:
    """Each text that occurs, with its rows; nulls are left out."""
    encoded = texts.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1))
    ordered = rows[order]
    for code, text in enumerate(encoded.dictionary.to_pylist()):
        yield text, ordered[ends[code] : ends[code + 1]]


def _required(
    filter: Parsed, sign: str, rows: Rows, given: Given, refusals: Refusals
) -> dict[str, Literals]:
    """The values of all parameters of these rows' filter."""
    columns: dict[str, Literals] = {}
    for name in filter.parameters:
        value = given.get(name, _NOTHING)
        where = value.where(rows)
        missing = where < 0
        if missing.any():
            error = ParameterError(
                f"parameter {sign}{name} is missing; give it a value, None is NULL"
            )
            refusals.add(rows[missing], error)
        columns[name] = value.literals.take(where)
    return columns


_NOTHING: Final = Value(
    np.empty(0, np.int64),
    Literals(pa.array([], pa.string()), np.empty(0, np.int8)),
    np.empty(0, np.bool_),
)


def given_counts(given: Given, rows: int) -> Rows:
    """How many values each row gives, nulls not counted."""
    counts = np.zeros(rows, np.int64)
    for value in given.values():
        counts[value.rows] += ~value.is_null  # names that a row says twice are refused elsewhere
    return counts


def stray(
    names: Sequence[str], sign: str, rows: Rows, given: Given, counts: Rows
) -> Iterator[tuple[int, str]]:
    """Rows that give values to parameters that are not those of their filter, and what to say.

    Counting first keeps this apart from how many names other filters have.
    """
    named = np.zeros(len(rows), np.int64)
    for name in names:
        if name in given:
            where = given[name].where(rows)
            named += (where >= 0) & ~np.append(given[name].is_null, True)[where]
    known = ", ".join(f"{sign}{name}" for name in names) or "none"
    for row in rows[counts[rows] > named].tolist():
        for name in sorted(given.keys() - set(names)):
            where = given[name].where(np.array([row]))
            if where[0] >= 0 and not given[name].is_null[where[0]]:
                yield row, f"no parameter {sign}{name}; it has {known}"
                break


def refuse_unfit(
    language: Language,
    filter: Parsed,
    columns: Mapping[str, Literals],
    rows: Rows,
    refusals: Refusals,
) -> None:
    """Refuse rows whose values, a column for each parameter, do not fit the filter."""
    for name, column in columns.items():
        for row in np.flatnonzero(column.kinds == REFUSED):
            refusals.add([rows[row]], _unreadable(name, column.texts[int(row)].as_py()))
    readable = np.ones(len(rows), np.bool_)
    for column in columns.values():
        readable &= column.kinds != REFUSED
    chosen = np.flatnonzero(readable)
    if len(chosen) < len(rows):
        columns = {name: column.take(chosen) for name, column in columns.items()}
        rows = rows[chosen]
    if len(rows):
        language.refuse_unfit(filter, columns, rows, refusals)


def _unreadable(name: str, text: str) -> TidegateError:
    try:
        read_constant(text)
    except ValueError as error:
        return ParameterError(f"{name}: {error}")
    raise AssertionError(f"{text!r} is a literal")
