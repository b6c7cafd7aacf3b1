"""Which language are the filters of a store in?

The table of contents of the languages: a new kind of filters is a line here, and one
in `kinds`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from tidegate.errors import StoreError, TidegateError
from tidegate.filters.schema import Schema
from tidegate.pipeline.store.attribute_language import AttributeLanguage
from tidegate.pipeline.store.language import ATTRIBUTES, XML, Language
from tidegate.pipeline.store.pattern_language import PatternLanguage

_MADE: Final[dict[str, Callable[[Schema | None, Mapping[str, str] | None], Language]]] = {
    ATTRIBUTES: AttributeLanguage.made,
    XML: PatternLanguage.made,
}
_STORED: Final[dict[str, Callable[[Mapping[str, str], str], Language]]] = {
    ATTRIBUTES: AttributeLanguage.stored,
    XML: PatternLanguage.stored,
}
KINDS: Final = tuple(_MADE)
"""The kinds of filters that a store can have."""


def new_language(
    kind: str, schema: Schema | None, namespaces: Mapping[str, str] | None
) -> Language:
    """The language of a store that is made with these arguments."""
    if kind not in _MADE:
        raise TidegateError(f"a kind of filters is one of {', '.join(KINDS)}, not {kind!r}")
    return _MADE[kind](schema, namespaces)


def stored_language(settings: Mapping[str, str], place: str) -> Language:
    """The language of the store at a place, by its settings; one without a kind has attributes."""
    kind = settings.get("kind", ATTRIBUTES)
    if kind not in _STORED:
        raise StoreError(f"{place} has filters of the kind {kind!r}, which this Tidegate lacks")
    return _STORED[kind](settings, place)
