"""What does somebody want to change?

A `Proposal` is a list of changes in columns, checked as far as that is possible without looking
into the store: filters are read, every parameter of an added filter has a value that fits, ids are
texts. What hangs on the store (is the id there, does an update fit its filter) is for `validation`.
Several attempts at a commit share one proposal.

Rows of one filter text are checked together, columns against predicates: a text is parsed once, and
constants are looked at one by one only where whether they fit hangs on their value.

Invariant: a row is refused if and only if `Filter.bind` with its values is, and a refusal names the
row that is to blame.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.errors import ParameterError, SubscriptionError, TidegateError
from tidegate.filters.admission import always_fits
from tidegate.filters.expression import Parameter, Predicate, predicates
from tidegate.filters.filter import Filter, bind, parse
from tidegate.filters.schema import Schema
from tidegate.pipeline.store.literals import (
    REFUSED,
    Given,
    Literals,
    MapBuilder,
    Rows,
    Value,
    read_constant,
)

ADD: Final = 0
UPDATE: Final = 1
REMOVE: Final = 2
CHANGES: Final = ("add", "update", "remove")


class Refusals:
    """Which rows are refused, and why; of a row, the first reason counts."""

    def __init__(self) -> None:
        self._errors: dict[int, TidegateError] = {}

    def add(self, rows: Iterable[int], error: TidegateError) -> None:
        """Refuse these rows for one reason."""
        for row in rows:
            self._errors.setdefault(int(row), error)

    def join(self, other: "Refusals") -> None:
        """Take over what another found later."""
        for row, error in other._errors.items():
            self._errors.setdefault(row, error)

    def sorted(self) -> list[tuple[int, TidegateError]]:
        """All of them, by row."""
        return sorted(self._errors.items())

    def rows(self) -> Rows:
        """The rows that are refused."""
        return np.array(sorted(self._errors), np.int64)

    def __len__(self) -> int:
        return len(self._errors)


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
    schema: Schema | None,
    *,
    loose: Set[str] = frozenset(),
    refusals: Refusals | None = None,
) -> Proposal:
    """A proposal of these columns, some of whose rows may be refused already.

    Values of `loose` names count where a filter has such a parameter, and nowhere else.
    """
    refusals = Refusals() if refusals is None else refusals
    _check_ids(ids, refusals)
    _check_names(given, refusals)
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
    maps = _read_adds(np.flatnonzero(is_add), texts, given, schema, refusals, loose=loose)
    return Proposal(kinds, ids, owners, texts, maps, given, refusals)


def _check_ids(ids: pa.Array, refusals: Refusals) -> None:
    missing = ids.is_null().to_numpy(zero_copy_only=False)
    refusals.add(np.flatnonzero(missing), SubscriptionError("there is no id: it is NULL"))
    empty = pc.equal(ids, "").fill_null(False).to_numpy(zero_copy_only=False)
    refusals.add(np.flatnonzero(empty), SubscriptionError("an id has at least one character"))


def _check_names(given: Given, refusals: Refusals) -> None:
    """A map may say a name twice, and then says nothing."""
    for name, value in given.items():
        again = value.rows[1:][np.diff(value.rows) == 0]
        refusals.add(again, ParameterError(f"parameter :{name} is given more than once"))


def _read_adds(
    rows: Rows,
    texts: pa.Array,
    given: Given,
    schema: Schema | None,
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
            filter = parse(text, schema)
        except TidegateError as error:
            refusals.add(group, error)
            continue
        if filter.parameters:
            columns = _required(filter, group, given, refusals)
            for row, said in stray(filter, group, strict, counts):
                refusals.add([row], ParameterError(f"the filter has {said}"))
            refuse_unfit(filter, columns, group, refusals)
            maps.put(group, {name: column.texts for name, column in columns.items()})
        else:
            plain.append(group)
    if plain:
        for row, said in stray(parse("TRUE"), np.concatenate(plain), strict, counts):
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


def _required(filter: Filter, rows: Rows, given: Given, refusals: Refusals) -> dict[str, Literals]:
    """The values of all parameters of these rows' filter."""
    columns: dict[str, Literals] = {}
    for name in filter.parameters:
        value = given.get(name, _NOTHING)
        where = value.where(rows)
        missing = where < 0
        if missing.any():
            error = ParameterError(f"parameter :{name} is missing; give it a value, None is NULL")
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


def stray(filter: Filter, rows: Rows, given: Given, counts: Rows) -> Iterator[tuple[int, str]]:
    """Rows that give values to parameters that their filter does not have, and what to say.

    Counting first keeps this apart from how many names other filters have.
    """
    named = np.zeros(len(rows), np.int64)
    for name in filter.parameters:
        if name in given:
            where = given[name].where(rows)
            named += (where >= 0) & ~np.append(given[name].is_null, True)[where]
    known = ", ".join(f":{name}" for name in filter.parameters) or "none"
    for row in rows[counts[rows] > named].tolist():
        for name in sorted(given.keys() - set(filter.parameters)):
            where = given[name].where(np.array([row]))
            if where[0] >= 0 and not given[name].is_null[where[0]]:
                yield row, f"no parameter :{name}; it has {known}"
                break


def refuse_unfit(
    filter: Filter, columns: Mapping[str, Literals], rows: Rows, refusals: Refusals
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
    for predicate in predicates(filter.tree) if len(rows) else ():
        names = sorted({c.name for c in predicate.constants if isinstance(c, Parameter)})
        if names:
            used = {name: columns[name] for name in names}
            _refuse_classes(predicate, used, filter.schema, rows, refusals)


def _unreadable(name: str, text: str) -> TidegateError:
    try:
        read_constant(text)
    except ValueError as error:
        return ParameterError(f"{name}: {error}")
    raise AssertionError(f"{text!r} is a literal")


def _refuse_classes(
    predicate: Predicate,
    columns: Mapping[str, Literals],
    schema: Schema | None,
    rows: Rows,
    refusals: Refusals,
) -> None:
    """Rows that fare alike form a class; one of each is tried."""
    kinds = {type(c) for c in predicate.constants if not isinstance(c, Parameter)}
    kinds = kinds.union(*(column.used_kinds() for column in columns.values()))
    by_value = _hangs_on_values(predicate, kinds, schema)
    together = np.zeros(len(rows), np.int64)
    for column in columns.values():
        codes = column.codes() if by_value else column.kinds.astype(np.int64)
        together = np.unique(together * (codes.max() + 1) + codes, return_inverse=True)[1]
    for number, first in enumerate(np.unique(together, return_index=True)[1]):
        constants = {name: column.constant(int(first)) for name, column in columns.items()}
        try:
            bind(predicate, constants, schema)
        except TidegateError as error:
            refusals.add(rows[together == number], error)


def _hangs_on_values(predicate: Predicate, kinds: set[type], schema: Schema | None) -> bool:
    """Whether of constants of these kinds some may fit the predicate and others not."""
    if always_fits(predicate.operator, kinds, schema) or kinds == {type(None)}:
        return False
    if schema is not None and predicate.attribute not in schema:
        return False  # none of them fits
    own = None if schema is None else schema[predicate.attribute].type
    if own is None or own.line is None or own.family == "string":
        return not always_fits(predicate.operator, kinds, None)
    return str in kinds or own.line.name == "bigint"
