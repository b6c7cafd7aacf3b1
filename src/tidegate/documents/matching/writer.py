"""How do subscriptions to documents come, change and go?

As subscriptions to attributes do (`engine.changes`): what is kept, how a change is made, and how
segments become few again is the engine's; what is here is how expressions are read.
"""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pyarrow as pa

from tidegate.capsules import speaks_arrow, table_of
from tidegate.documents.matching.compiler import Expressions
from tidegate.documents.matching.originals import Form, Originals, form_of
from tidegate.documents.xpath import XPath, parse_xpath
from tidegate.engine.changes.content import Content
from tidegate.engine.changes.editor import Editor
from tidegate.engine.changes.merger import SegmentMerger
from tidegate.engine.primitives import background
from tidegate.engine.primitives.gc_pause import put_off
from tidegate.engine.segments.live import Live
from tidegate.engine.subscriptions.subscription import Id, Subscription, read_id
from tidegate.engine.subscriptions.table_columns import read_ids
from tidegate.errors import ParameterError, SubscriptionError, TidegateError
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

    def _read(self, filter: str | XPath) -> XPath:
        if isinstance(filter, XPath):
            return filter
        return parse_xpath(filter, namespaces=self._namespaces)

    def _expressions(self, table: Any, filter: str | XPath | None) -> Expressions:
        """The subscriptions of a table."""
        if not isinstance(table, pa.Table) and not speaks_arrow(table):
            raise TidegateError(
                f"subscriptions come as an Arrow table, not as a {type(table).__name__}"
            )
        given = table_of(table)
        names = given.column_names
        if "id" not in names or (filter is None) != ("filter" in names):
            raise TidegateError(
                "subscriptions have a column 'id', and a column 'filter' unless all rows have the "
                f"same; these columns are there: {', '.join(names)}"
            )
        ids = read_ids(given["id"])
        forms, bound, place = self._forms(given, filter)
        columns = [name for name in names if name not in ("id", "filter")]
        if not columns:
            for xpath in bound:
                xpath.require_bound()
            return Expressions(ids, Originals(forms, place, None), bound)
        values, each = _rows(given.select(columns), bound, place.tolist())
        return Expressions(ids, Originals(forms, place, values), each)

    def _forms(
        self, table: pa.Table, filter: str | XPath | None
    ) -> tuple[list[Form], list[XPath], Any]:
        """The different expressions of a table, as given and as read, and which each row has."""
        if filter is not None:
            xpath = self._read(filter)
            return [form_of(xpath)], [xpath], np.zeros(len(table), np.int32)
        column = table["filter"].combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
        if column.null_count:
            raise SubscriptionError("a row has no filter: it is NULL")
        coded = column.dictionary_encode() if not pa.types.is_dictionary(column.type) else column
        texts = coded.dictionary.to_pylist()
        named = tuple(sorted(self._namespaces.items()))
        forms = [Form(text, named) for text in texts]
        read = []
        for number, text in enumerate(texts):
            if number % 256 == 0:
                background.step()
            read.append(self._read(text))
        place = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
        return forms, read, place


def subscribe(id: Id, xpath: XPath, parameters: Mapping[str, Any]) -> Subscription:
    """The subscription of that id; every parameter of the filter must be given."""
    missing = [f"${name}" for name in xpath.parameters if name not in parameters]
    if missing:
        raise ParameterError(f"parameter {missing[0]} is missing; give it a value, None is none")
    bound = xpath.bind(**parameters) if parameters else xpath
    _ = bound.patterns  # what cannot be told is refused now
    return Subscription(id, cast(Filter, xpath), dict(parameters), cast(Filter, bound))


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


def _rows(columns: pa.Table, forms: list[XPath], place: list[int]) -> tuple[list[Any], list[XPath]]:
    """Of each row, the values of its parameters and its expression, all of it bound."""
    values: list[Any] = []
    bound: list[XPath] = []
    known: dict[tuple[int, tuple[Any, ...]], XPath] = {}
    for number, row in zip(place, columns.to_pylist(), strict=True):
        xpath = forms[number]
        own = {name: row[name] for name in xpath.parameters if name in row}
        strange = [n for n, value in row.items() if n not in own and value is not None]
        if strange:
            raise ParameterError(f"the filter {xpath} has no parameter ${strange[0]}")
        key = (number, tuple(own.values()))
        if key not in known:
            new = xpath.bind(**own) if own else xpath
            new.require_bound()
            known[key] = new
        values.append(own or None)
        bound.append(known[key])
    return values, bound
