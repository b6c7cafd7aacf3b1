"""What does a store ask of filters on attributes?

Whether a text is a filter of the schema, and whether values fit its parameters. Values are looked
at by their kinds, and one by one only where whether they fit hangs on the value itself.

Invariant: a row is refused if and only if `Filter.bind` with its values is.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidegate.documents.lexer import is_pattern
from tidegate.errors import FilterError, StoreError, TidegateError
from tidegate.filters.admission import always_fits
from tidegate.filters.expression import Parameter, Predicate, predicates
from tidegate.filters.filter import Filter, bind, parse
from tidegate.filters.notation import read_schema, spell_schema
from tidegate.filters.schema import Schema
from tidegate.pipeline.store.language import ATTRIBUTES, plain_text
from tidegate.pipeline.store.literals import Literals, Rows
from tidegate.pipeline.store.refusals import Refusals


@dataclass(frozen=True, slots=True)
class AttributeLanguage:
    """Filters on attributes, of a schema if the store has one."""

    schema: Schema | None = None
    name = ATTRIBUTES
    sign = ":"

    @classmethod
    def made(
        cls, schema: Schema | None, namespaces: Mapping[str, str] | None
    ) -> "AttributeLanguage":
        """That of a new store."""
        if namespaces is not None:
            raise TidegateError("namespaces are of patterns for documents: say kind='xml' as well")
        return cls(schema)

    @classmethod
    def stored(cls, settings: Mapping[str, str], place: str) -> "AttributeLanguage":
        """That of a store, by its settings."""
        if "schema" not in settings:
            return cls()
        try:
            return cls(read_schema(json.loads(settings["schema"])))
        except (ValueError, KeyError, TypeError, TidegateError) as error:
            raise StoreError(f"the schema in the log of {place} is damaged: {error}") from None

    def settings(self) -> dict[str, str]:
        """What a store says of it."""
        if self.schema is None:
            return {}
        spelled = spell_schema(self.schema)
        if read_schema(spelled) != self.schema:
            raise TidegateError("a schema with types of its own making cannot be kept in a store")
        return {"schema": json.dumps(spelled)}

    def read(self, text: str) -> Filter:
        """The filter that a text is."""
        if is_pattern(text):
            raise FilterError(
                f"{text} is a pattern for documents, and these are filters on attributes",
                instead="a condition such as price < 10, or make a store with kind='xml'",
            )
        return parse(text, self.schema)

    def write(self, filter: Any) -> str:
        """A filter as a text."""
        if not isinstance(filter, str | Filter):
            raise TidegateError(
                f"the store has filters on attributes, and {filter} is a {type(filter).__name__}"
            )
        return plain_text(filter)

    def refuse_unfit(
        self, filter: Any, columns: Mapping[str, Literals], rows: Rows, refusals: Refusals
    ) -> None:
        """Refuse rows whose values, a column for each parameter, do not fit the filter."""
        for predicate in predicates(filter.tree) if len(rows) else ():
            names = sorted({c.name for c in predicate.constants if isinstance(c, Parameter)})
            if names:
                used = {name: columns[name] for name in names}
                _refuse_classes(predicate, used, filter.schema, rows, refusals)


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
