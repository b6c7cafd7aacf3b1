"""How do subscriptions to documents come, change and go?

As subscriptions to attributes do (`engine.changes`): what is kept, how a change is made, and how
segments become few again is the engine's; what is here is how expressions are read.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, cast

import numpy as np
import pyarrow as pa

from tidegate.documents.matching.compiler import Expressions
from tidegate.documents.matching.originals import Form, Originals, form_of
from tidegate.documents.syntax import Absent
from tidegate.documents.xpath import XPath, constant, parse_xpath
from tidegate.engine.changes.content import Content
from tidegate.engine.changes.editor import Editor
from tidegate.engine.changes.merger import SegmentMerger
from tidegate.engine.primitives import background
from tidegate.engine.primitives.gc_pause import put_off
from tidegate.engine.segments.live import Live
from tidegate.engine.segments.parameter_updates import Place
from tidegate.engine.subscriptions.subscription import Id, Subscription, read_id
from tidegate.engine.subscriptions.table_columns import plain_column, read_ids, read_texts
from tidegate.engine.subscriptions.table_reader import columns_of, read_changes
from tidegate.errors import ParameterError, TidegateError
from tidegate.filters.filter import Filter


class Writer:
    """Changes the content of an index of documents."""

    def __init__(
        self, content: Content, merger: SegmentMerger, namespaces: Mapping[str, str]
    ) -> None:
        self._content = content
        self._merger = merger
        self._namespaces = namespaces
        self.editor = Editor(content, merger)

    def add(self, id: Id, filter: str | XPath, parameters: Mapping[str, Any]) -> None:
        """Add a subscription."""
        self.editor.add(subscribe(read_id(id), self._read(filter), parameters))

    def add_many(self, table: Any, filter: str | XPath | None) -> None:
        """Add the subscriptions of a table: all of them, or none."""
        content = self._content
        with background.first(), put_off(len(table) if hasattr(table, "__len__") else 0):
            expressions = self._expressions(table, filter)
            if not len(expressions.ids):
                return
            with self.editor.writing():
                with content.lock:
                    self.editor.begin()
                    content.require_all_new(expressions.ids)
                segment = self._merger.compiled(cast(Any, [expressions]), [])
                with self._merger.adding(), content.lock:
                    content.lives.append(Live(segment))
                    content.size += len(expressions.ids)
        self.editor.keep_up()

    def update(self, id: Id, parameters: Mapping[str, Any]) -> None:
        """Change parameters of a subscription."""
        self.editor.replace(id, lambda old: changed(old, parameters))

    def update_many(self, table: Any) -> None:
        """Change the parameters a table has columns for, of the ids in it: all rows, or none."""
        ids, columns = read_changes(table)
        content, merger = self._content, self._merger
        with background.first(), put_off(len(ids)), self.editor.writing():
            with content.lock:
                self.editor.begin()
                places = content.locate(ids)
                pending = dict(content.pending)
            cells = {name: column.to_pylist() for name, column in columns.items()}
            new = _changed_rows(ids, _subscriptions(ids, places, pending), cells)
            if not merger.compiles_at_once(len(new)):
                with content.lock:
                    content.drop(ids, places)
                    content.pending.update((each.id, each) for each in new)
            else:
                segment = merger.compiled([], new)
                with merger.adding(), content.lock:
                    content.drop(ids, places)
                    content.lives.append(Live(segment))
        self.editor.keep_up()

    def _read(self, filter: object) -> XPath:
        if isinstance(filter, XPath):
            return filter
        if not isinstance(filter, str):
            kind = type(filter).__name__
            raise TidegateError(f"a filter is an XPath expression or its text, not a {kind}")
        return parse_xpath(filter, namespaces=self._namespaces)

    def _expressions(self, table: Any, filter: str | XPath | None) -> Expressions:
        """The subscriptions of a table."""
        cells = columns_of(table)
        if "id" not in cells or (filter is None) != ("filter" in cells):
            raise TidegateError(
                "subscriptions have a column 'id', and a column 'filter' unless all rows have the "
                f"same; these columns are there: {', '.join(cells)}"
            )
        ids = read_ids(cells.pop("id"))
        texts = None if filter is not None else read_texts(cells.pop("filter"))
        columns = {name: plain_column(name, column).to_pylist() for name, column in cells.items()}
        forms, bound, place = self._forms(ids, texts, filter)
        if not columns:
            for xpath in bound:
                xpath.require_bound()
            return Expressions(ids, Originals(forms, place, None), bound)
        values, each = _rows(ids, columns, bound, place.tolist())
        return Expressions(ids, Originals(forms, place, values), each)

    def _forms(
        self, ids: pa.Array, texts: pa.Array | None, filter: str | XPath | None
    ) -> tuple[list[Form], list[XPath], Any]:
        """The different expressions of a table, as given and as read, and which each row has."""
        if texts is None:
            assert filter is not None
            xpath = self._read(filter)
            return [form_of(xpath)], [xpath], np.zeros(len(ids), np.int32)
        coded = texts.dictionary_encode()
        place = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
        named = tuple(sorted(self._namespaces.items()))
        forms, read = [], []
        for number, text in enumerate(coded.dictionary.to_pylist()):
            if number % 256 == 0:
                background.step()
            try:
                read.append(self._read(text))
            except TidegateError as error:
                _note(error, int(np.argmax(place == number)), ids)
                raise
            forms.append(Form(text, named))
        return forms, read, place


def subscribe(id: Id, xpath: XPath, parameters: Mapping[str, Any]) -> Subscription:
    """The subscription of that id; every parameter of the filter must be given."""
    missing = [f"${name}" for name in xpath.parameters if name not in parameters]
    if missing:
        raise ParameterError(f"parameter {missing[0]} is missing; give it a value, None is none")
    bound = xpath.bind(**parameters) if parameters else xpath
    _ = bound.patterns  # what cannot be told is refused now
    return Subscription(id, cast(Filter, xpath), _kept(parameters), cast(Filter, bound))


def changed(old: Subscription, parameters: Mapping[str, Any]) -> Subscription:
    """A subscription with other values of some of its parameters."""
    xpath: Any = old.filter
    unknown = sorted(parameters.keys() - set(xpath.parameters))
    if unknown:
        known = ", ".join(f"${name}" for name in xpath.parameters) or "none"
        raise ParameterError(
            f"the filter of {old.id!r} has no parameter ${unknown[0]}; it has {known}"
        )
    return subscribe(old.id, xpath, {**old.parameters, **parameters})


def _kept(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Values of parameters as they are kept, and written to files: of the types that JSON has."""
    return {name: _plain(name, value) for name, value in parameters.items()}


def _plain(name: str, value: Any) -> Any:
    found = constant(name, value)
    if isinstance(found, Absent):
        return None
    is_small = isinstance(value, Integral) and abs(int(value)) < 2**63
    return int(cast(Any, value)) if is_small else found


def _subscriptions(
    ids: pa.Array, places: Sequence[Place], pending: Mapping[Id, Subscription]
) -> list[Subscription]:
    """The subscriptions in these places, in the order of the ids."""
    names = ids.to_pylist()
    found: dict[int, Subscription] = {}
    for live, rows, codes in places:
        if live is None:
            found.update((row, pending[names[row]]) for row in rows.tolist())
            continue
        kept = live.segment.originals
        for row, code in zip(rows.tolist(), codes.tolist(), strict=True):
            found[row] = kept.subscription(code, names[row])
    return [found[row] for row in range(len(names))]


def _changed_rows(
    ids: pa.Array, old: Sequence[Subscription], cells: Mapping[str, Sequence[Any]]
) -> list[Subscription]:
    """Subscriptions with the values of a table's rows; a null that is no parameter is none."""
    found = []
    for row, each in enumerate(old):
        values = {name: column[row] for name, column in cells.items()}
        known = each.filter.parameters
        given = {n: value for n, value in values.items() if value is not None or n in known}
        try:
            found.append(changed(each, given))
        except TidegateError as error:
            _note(error, row, ids)
            raise
    return found


def _rows(
    ids: pa.Array, columns: Mapping[str, Sequence[Any]], forms: list[XPath], place: list[int]
) -> tuple[list[Any], list[XPath]]:
    """Of each row, the values of its parameters and its expression, all of it bound."""
    values: list[Any] = []
    bound: list[XPath] = []
    known: dict[tuple[int, tuple[Any, ...]], XPath] = {}
    for row, number in enumerate(place):
        xpath = forms[number]
        own = {name: columns[name][row] for name in xpath.parameters if name in columns}
        key = (number, tuple(own.values()))
        try:
            _require_columns(xpath, columns, row)
            if key not in known:
                known[key] = xpath.bind(**own) if own else xpath
            values.append(_kept(own) or None)
        except TidegateError as error:
            _note(error, row, ids)
            raise
        bound.append(known[key])
    return values, bound


def _require_columns(xpath: XPath, columns: Mapping[str, Sequence[Any]], row: int) -> None:
    """Refuse a parameter without a column, and a value that is none of a parameter."""
    missing = [f"${name}" for name in xpath.parameters if name not in columns]
    if missing:
        raise ParameterError(f"the table has no column for {', '.join(missing)}")
    for name, column in columns.items():
        if name not in xpath.parameters and column[row] is not None:
            known = ", ".join(f"${name}" for name in xpath.parameters) or "none"
            raise ParameterError(f"the filter has no parameter ${name}; it has {known}")


def _note(error: TidegateError, row: int, ids: pa.Array) -> None:
    error.add_note(f"in row {row}, subscription {ids[row].as_py()!r}")
