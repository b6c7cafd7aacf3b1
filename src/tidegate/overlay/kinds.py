"""Which kinds of filters are there, by name?

`attributes`, `xml` (tree patterns on documents), and `attributes+xml`, which is both in one network
(`several`). Brokers and clients that talk to each other have the same kind: it says how filters and
events are written.
"""

from collections.abc import Mapping
from typing import Final

from tidegate.errors import TidegateError
from tidegate.filters.schema import Schema
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.patterns import Patterns
from tidegate.overlay.several import Several

BOTH: Final = f"{Attributes.name}+{Patterns.name}"
KINDS: Final = (Attributes.name, Patterns.name, BOTH)


def kind_called(
    name: str, schema: Schema | None = None, namespaces: Mapping[str, str] | None = None
) -> Attributes | Patterns | Several:
    """The kind of that name; a schema is for attributes, namespaces are for patterns.

    >>> kind_called("attributes+xml").parse("//quote[price < 10]").matches("<quote/>")
    False
    """
    if name not in KINDS:
        raise TidegateError(f"there is no kind {name!r} of filters, but {', '.join(KINDS)}")
    if schema is not None and name == Patterns.name:
        raise TidegateError("there is a schema; patterns on documents have none")
    if namespaces and name == Attributes.name:
        raise TidegateError(f"namespaces are for patterns on documents: kind {Patterns.name}")
    if name == Attributes.name:
        return Attributes(schema)
    patterns = Patterns(namespaces)
    return patterns if name == Patterns.name else Several(Attributes(schema), patterns)
