"""What does a store ask of filters on documents?

Whether a text is an XPath expression of the language (`tidegate.documents`), with the namespaces
that the store has for its prefixes, and whether values fit its parameters. Values that fare alike
are tried once: a number is like another one, unless it is a position, and so is a text without
strange characters.

Invariant: a row is refused if and only if `XPath.bind` with its values is, or what it makes has no
normal form.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc

from tidegate.documents.syntax import Constant, Parameter, with_constants
from tidegate.documents.xpath import XPath, parse_xpath
from tidegate.errors import FilterError, StoreError, TidegateError
from tidegate.filters.schema import Schema
from tidegate.pipeline.store.language import XML, plain_text
from tidegate.pipeline.store.literals import KINDS, Literals, Rows
from tidegate.pipeline.store.refusals import Refusals

_STRANGE: Final = r"[^ -\[\]-~]"  # what a text may be refused for, and the sign of an escape


@dataclass(frozen=True, slots=True)
class PatternLanguage:
    """XPath expressions; `namespaces` are the URIs of prefixes."""

    namespaces: Mapping[str, str] = field(default_factory=dict)
    name = XML
    sign = "$"

    @classmethod
    def made(cls, schema: Schema | None, namespaces: Mapping[str, str] | None) -> "PatternLanguage":
        """That of a new store."""
        if schema is not None:
            raise TidegateError("a schema is of attributes: patterns for documents have none")
        return cls(_checked(dict(namespaces or {})))

    @classmethod
    def stored(cls, settings: Mapping[str, str], place: str) -> "PatternLanguage":
        """That of a store, by its settings."""
        try:
            return cls(_checked(json.loads(settings.get("namespaces", "{}"))))
        except (ValueError, TidegateError) as error:
            raise StoreError(f"the namespaces in the log of {place} are damaged: {error}") from None

    def settings(self) -> dict[str, str]:
        """What a store says of it."""
        return {"kind": XML, "namespaces": json.dumps(dict(self.namespaces), sort_keys=True)}

    def read(self, text: str) -> XPath:
        """The filter that a text is."""
        found = parse_xpath(text, namespaces=self.namespaces)
        if not found.parameters:
            _ = found.patterns  # what has no normal form is refused now
        return found

    def write(self, filter: Any) -> str:
        """A filter as a text, with the store's own prefixes."""
        if isinstance(filter, str):
            return plain_text(filter)
        if not isinstance(filter, XPath):
            raise TidegateError(
                f"the store has patterns for documents, and {filter} is a {type(filter).__name__}"
            )
        own = XPath(filter.expression, ordered=filter.ordered, namespaces=self.namespaces)
        text = str(own)
        try:
            same = self.read(text) == filter
        except FilterError:
            same = False
        if not same:
            raise TidegateError(
                f"{filter} cannot be written with the prefixes of the store; it knows "
                f"{', '.join(sorted(self.namespaces)) or 'none'}"
            )
        return text

    def refuse_unfit(
        self, filter: Any, columns: Mapping[str, Literals], rows: Rows, refusals: Refusals
    ) -> None:
        """Refuse rows whose values, a column for each parameter, do not fit the filter."""
        ranks = _ranks(filter)
        together = np.zeros(len(rows), np.int64)
        for name, column in columns.items():
            codes = column.kinds.astype(np.int64)
            strange = pc.match_substring_regex(column.texts, _STRANGE)
            apart = strange.to_numpy(zero_copy_only=False) | (name in ranks)
            codes = np.where(apart, len(KINDS) + column.codes(), codes)
            together = np.unique(together * (codes.max() + 1) + codes, return_inverse=True)[1]
        for number, first in enumerate(np.unique(together, return_index=True)[1]):
            values = {name: column.constant(int(first)) for name, column in columns.items()}
            try:
                _ = filter.bind(**values).patterns
            except TidegateError as error:
                refusals.add(rows[together == number], error)


def _ranks(filter: XPath) -> set[str]:
    """The parameters that are positions."""
    found: set[str] = set()

    def note(constant: Constant, is_rank: bool) -> Constant:
        if is_rank and isinstance(constant, Parameter):
            found.add(constant.name)
        return constant

    with_constants(filter.expression, note)
    return found


def _checked(namespaces: Any) -> dict[str, str]:
    """A map of prefixes to URIs, if it is one."""
    good = isinstance(namespaces, dict) and all(
        isinstance(text, str) and text for pair in namespaces.items() for text in pair
    )
    if not good:
        raise TidegateError("namespaces are a map from prefixes to URIs, which are texts")
    return dict(namespaces)
