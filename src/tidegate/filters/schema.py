"""Which attributes do events have, and of which types?

A `Schema` gives each attribute a type, whether it may be NULL, and optionally a domain. With one,
filters are type-checked when they are read. It comes from a mapping, an Arrow schema, or a Spark
StructType or DDL string (see `sources`); fields of structs are attributes with dotted names.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from tidegate.errors import FilterTypeError, SchemaError
from tidegate.filters.attribute import Attribute
from tidegate.filters.expression import (
    attribute_name,
    attribute_path,
    base_attribute,
    function_of,
)
from tidegate.filters.recent import Recent
from tidegate.filters.sources import read_attributes
from tidegate.filters.types import Type
from tidegate.filters.valueset import ValueSet


class Schema:
    """The attributes of events.

    `checked` says that events are checked against the schema before they are matched; only then do
    relations between filters (covers, overlaps, …) rely on nullability and domains.

    >>> schema = Schema({"price": "double", "volume": Attribute("bigint", low=0)})
    >>> schema["price"].type.name
    'double'
    >>> Schema("id STRING NOT NULL, trade STRUCT<price: DECIMAL(10,2)>")["trade.price"].type.name
    'decimal(10,2)'
    """

    __slots__ = ("_attributes", "_hash", "_universes", "checked", "templates")

    def __init__(
        self,
        source: "Mapping[str, str | Type | Attribute] | str | Any",
        *,
        checked: bool = False,
    ) -> None:
        self.checked = checked
        self.templates: Recent[Any] = Recent()  # shapes read under this schema, kept by `shapes`
        self._attributes: dict[str, Attribute] = {}
        self._universes: dict[str, ValueSet] = {}
        for name, attribute in read_attributes(source):
            if name in self._attributes:
                raise SchemaError(f"the attribute {name} appears twice")
            self._attributes[name] = attribute
        for name in self._attributes:
            self._inherit_null(name)
        self._hash = hash((checked, frozenset(self._attributes.items())))

    def _inherit_null(self, name: str) -> None:
        """A field is absent where a struct around it is."""
        path = attribute_path(name)
        around = [self._attributes.get(attribute_name(path[:i])) for i in range(1, len(path))]
        if any(struct is not None and struct.nullable for struct in around):
            own = self._attributes[name]
            if not own.nullable:
                self._attributes[name] = own.as_nullable()

    def __getitem__(self, attribute: str) -> Attribute:
        """The attribute of that name; a name that is not there is a `FilterTypeError`."""
        found = self._attributes.get(attribute)
        if found is None:
            function = function_of(attribute)
            if function is not None:
                return self._derived(function, base_attribute(attribute))
            near = difflib.get_close_matches(attribute, self._attributes, n=1)
            known = ", ".join(sorted(self._attributes)[:8]) or "none"
            raise FilterTypeError(
                f"the schema has no attribute {attribute}",
                instead=near[0] if near else f"one of its attributes: {known}",
            )
        return found

    def _derived(self, function: str, attribute: str) -> Attribute:
        """The attribute that a function of another one is."""
        own = self[attribute]
        if own.type.refusal is not None:
            return own
        if own.type.family != "string":
            raise FilterTypeError(
                f"{function} is for strings, and {attribute} is a {own.type.name}",
                instead="a comparison of the attribute itself",
            )
        return Attribute("string", nullable=own.nullable)

    def universe(self, attribute: str) -> ValueSet:
        """Every value the attribute can have in an event."""
        found = self._universes.get(attribute)
        if found is None:
            found = self._universes[attribute] = self[attribute].universe(self.checked)
        return found

    def __contains__(self, attribute: object) -> bool:
        return attribute in self._attributes

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return self.checked == other.checked and self._attributes == other._attributes

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # not the templates, which cannot be pickled, nor the hash, which differs between processes
        return (_schema, (self._attributes, self.checked))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}: {a.type.name}" for name, a in self._attributes.items())
        return f"Schema({{{inside}}}{', checked=True' if self.checked else ''})"


def _schema(attributes: dict[str, Attribute], checked: bool) -> Schema:
    return Schema(attributes, checked=checked)
