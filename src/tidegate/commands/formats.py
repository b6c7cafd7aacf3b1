"""How are subscriptions written in CSV, in JSON lines, in Parquet?

A row is a subscription with an `id`, a `filter`, perhaps a `subscriber` and `parameters` as a JSON
object; every other column is a parameter by name, for the rows whose filter has it. In CSV the
values of parameters are literals, such as `'IBM'` and `10.5`, and an empty cell is no value; in
JSON and Parquet they are values.

Each reader makes a `FilePart`: columns, and of each row the line it is on. A line that is no row
(broken JSON, a line of CSV with too many cells) is one nevertheless, with what is wrong with it
beside it.
"""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.engine.subscriptions.table_columns import plain_column
from tidegate.errors import ParameterError, SubscriptionError, TidegateError
from tidegate.filters.filter import constant
from tidegate.filters.literals import spell
from tidegate.pipeline.store.language import is_whole
from tidegate.pipeline.store.literals import Given, Value, given_columns, given_maps, read_literals

Tick: TypeAlias = Callable[[int], None]  # told now and then how many bytes were read
_CsvRow: TypeAlias = tuple[int, list[str], str | None]  # its first line, cells, what is wrong

_TEXTS: Final = ("id", "filter", "subscriber")
_OWN: Final = (*_TEXTS, "parameters")
_EVERY: Final = 8192  # rows between ticks


@dataclass(frozen=True, slots=True)
class FilePart:
    """What one file holds. Values of `loose` names count only where a filter has them."""

    ids: pa.Array
    filters: pa.Array
    subscribers: pa.Array
    given: Given
    loose: frozenset[str]
    lines: Sequence[int]
    wrong: Sequence[tuple[int, TidegateError]]  # rows that cannot be read, by line


def read_csv(file: BinaryIO, tick: Tick) -> FilePart:
    """Rows of CSV in UTF-8, after a line that names the columns."""
    csv.field_size_limit(sys.maxsize)  # a filter may be long
    with io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="") as text:
        rows = _csv_rows(csv.reader(text, strict=True))
        _, header, _ = next(rows, (1, [], None))
        _check_header(header)
        return _collected(header, rows, lambda: tick(file.tell()))


def _collected(header: list[str], rows: Iterator[_CsvRow], tick: Callable[[], None]) -> FilePart:
    parameters = [name for name in header if name not in _OWN]
    collector = _Collector()
    for number, (line, cells, wrong) in enumerate(rows):
        if number % _EVERY == 0:
            tick()
        row = dict(zip(header, cells, strict=False))
        try:
            if wrong is None and len(cells) != len(header):
                wrong = f"the line has {len(cells)} cells, and the header {len(header)}"
            if wrong is not None:
                raise SubscriptionError(wrong)
            literals = {name: row[name] for name in parameters if row[name].strip()}
            cell = row.get("parameters")
            said = _spelled(_read_object(cell)) if cell else {}
            _check_once(said, literals)
            collector.add(line, _own(row, ""), {**literals, **said})
        except TidegateError as error:
            collector.refuse(line, row.get("id"), error)
    return collector.part(frozenset(parameters))


def _csv_rows(reader: Any) -> Iterator[_CsvRow]:
    """All rows; empty lines are passed over."""
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, [], f"the line is not CSV: {error}"
            continue
        if cells:
            yield line, cells, None


def read_json_lines(file: BinaryIO, tick: Tick) -> FilePart:
    """A JSON object on each line; empty lines are passed over."""
    collector = _Collector()
    loose: set[str] = set()
    for line, text in enumerate(file, 1):
        if line % _EVERY == 1:
            tick(file.tell())
        if not text.strip():
            continue
        row: dict[str, Any] = {}
        try:
            row = _read_object(text)
            said = row.get("parameters") or {}
            if not isinstance(said, dict):
                raise ParameterError('parameters is not an object, such as {"limit": 10}')
            others = {name: value for name, value in row.items() if name not in _OWN}
            _check_once(said, others)
            collector.add(line, _own(row, None), _spelled({**said, **others}))
            loose |= others.keys()
        except TidegateError as error:
            collector.refuse(line, row.get("id"), error)
    return collector.part(frozenset(loose))


def read_parquet(file: BinaryIO, tick: Tick) -> FilePart:
    """A Parquet file; its lines are the numbers of its rows, from 1."""
    try:
        table = pq.read_table(file)
    except (pa.ArrowException, OSError) as error:
        raise TidegateError(f"this is not Parquet: {error}") from None
    tick(file.tell())
    _check_header(table.column_names)
    ids, filters, subscribers = (_text_column(table, name) for name in _TEXTS)
    parameters = [name for name in table.column_names if name not in _OWN]
    given = given_columns({name: plain_column(name, table[name]) for name in parameters})
    lines = range(1, len(table) + 1)
    part = FilePart(ids, filters, subscribers, given, frozenset(parameters), lines, [])
    return _with_objects(part, table["parameters"]) if "parameters" in table.column_names else part


def _text_column(table: pa.Table, name: str) -> pa.Array:
    if name not in table.column_names:
        return pa.nulls(len(table), pa.string())
    array = plain_column(name, table[name])
    if not (pa.types.is_string(array.type) or pa.types.is_null(array.type)):
        raise SubscriptionError(f"the column {name} is not of texts but of type {array.type}")
    return array.cast(pa.string())


def _with_objects(part: FilePart, objects: pa.ChunkedArray) -> FilePart:
    """The part with a column of JSON objects too, or of maps from names to literals."""
    more: Given
    wrong: Sequence[tuple[int, TidegateError]] = []
    if pa.types.is_map(objects.type):
        more = given_maps(objects.combine_chunks())
    else:
        collector = _Collector()
        for row, text in enumerate(objects.to_pylist()):
            try:
                collector.add(row, dict.fromkeys(_TEXTS), _spelled(_read_object(text or "{}")))
            except TidegateError as error:
                collector.refuse(row, None, error)
        read = collector.part(frozenset())
        more, wrong = read.given, read.wrong
    _check_once(more, part.given)
    return replace(part, given={**part.given, **more}, wrong=wrong)


class _Collector:
    """Rows one by one, made columns at the end."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str | None]] = {name: [] for name in _TEXTS}
        self._values: dict[str, tuple[list[int], list[str]]] = {}
        self._lines: list[int] = []
        self._wrong: list[tuple[int, TidegateError]] = []

    def add(self, line: int, own: Mapping[str, str | None], literals: Mapping[str, str]) -> None:
        """A row and its parameters."""
        row = len(self._lines)
        self._lines.append(line)
        for name, texts in self._texts.items():
            texts.append(own[name])
        for name, text in literals.items():
            rows, found = self._values.setdefault(name, ([], []))
            rows.append(row)
            found.append(text)

    def refuse(self, line: int, id: Any, error: TidegateError) -> None:
        """A line that is no row."""
        self._wrong.append((len(self._lines), error))
        shown = id if isinstance(id, str) and is_whole(id) else None
        self.add(line, {"id": shown, "filter": None, "subscriber": None}, {})

    def part(self, loose: frozenset[str]) -> FilePart:
        """All rows as columns."""
        ids, filters, subscribers = (pa.array(self._texts[name], pa.string()) for name in _TEXTS)
        given = {
            name: Value(
                np.array(rows, np.int64),
                read_literals(pa.array(texts, pa.string())),
                np.zeros(len(rows), np.bool_),
            )
            for name, (rows, texts) in self._values.items()
        }
        return FilePart(ids, filters, subscribers, given, loose, self._lines, self._wrong)


def _check_header(names: Sequence[str]) -> None:
    for name in ("id", "filter"):
        if name not in names:
            raise TidegateError(f"there is no column {name}")
    again = [name for name in names if names.count(name) > 1]
    if again:
        raise TidegateError(f"there are {names.count(again[0])} columns named {again[0]}")


def _own(row: Mapping[str, Any], nobody: str | None) -> dict[str, str | None]:
    """The texts of a row; the subscriber `nobody` is read as no subscriber."""
    own = {name: row.get(name) for name in _TEXTS}
    for name, text in own.items():
        if text is not None and not isinstance(text, str):
            raise SubscriptionError(f"{name} is not a text: {json.dumps(text)}")
        if text is not None and not is_whole(text):
            raise SubscriptionError(f"{name} is not valid UTF-8")
    own["subscriber"] = None if own["subscriber"] == nobody else own["subscriber"]
    return own


def _read_object(text: str | bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise SubscriptionError(f"this is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise SubscriptionError("this is JSON, but not an object")
    return found


def _check_once(some: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    for name in sorted(some.keys() & others.keys()):
        raise ParameterError(f"parameter :{name} is given more than once")


def _spelled(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: spell(constant(name, value)) for name, value in values.items()}
