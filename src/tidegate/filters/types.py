"""Which types can an attribute have?

Those of Spark that the language compares, each with its family, the line its values lie on, and its
width where Spark compares it as a decimal. Types the language cannot compare carry the reason,
which a filter that mentions such an attribute is told.
"""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from tidegate.errors import SchemaError
from tidegate.filters.compare import midnight
from tidegate.filters.lines import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    Line,
    cut,
    decimal_line,
    single,
)
from tidegate.filters.values import DAY, OTHER, FarDate, Value, family, normal, timestamp_at


@dataclass(frozen=True, slots=True)
class Type:
    """A type of the language: its name in Spark, its family, its line, its width as a decimal."""

    name: str
    family: str
    line: Line | None = None
    decimal: tuple[int, int] | None = None
    refusal: str | None = None

    def conform(self, value: Any) -> Value:
        """The value as this type holds it, or `OTHER` if it is no value of the type."""
        plain = normal(value)
        if plain is None or self.line is None:
            return plain if plain is None else OTHER
        match self.line.name, plain:
            case "bigint", int() if not isinstance(plain, bool):
                return plain if self.line.low <= plain < self.line.high else OTHER
            case "double", int() | float() if not isinstance(plain, bool):
                return float(plain)
            case "float", int() | float() if not isinstance(plain, bool):
                return single(float(plain))
            case "decimal", int() | Decimal() if not isinstance(plain, bool):
                return self._decimal(Decimal(plain))
            case "timestamp", dt.date():
                return plain if isinstance(plain, dt.datetime) else midnight(plain)
            case "timestamp", FarDate():
                return timestamp_at(plain.key * DAY)
            case name, _ if name == family(plain):
                return plain
            case _:
                return OTHER

    def _decimal(self, value: Decimal) -> Value:
        assert self.line is not None
        first, after = cut(self.line, value)
        return value if first + 1 == after else OTHER


def _integer(name: str, bits: int, digits: int) -> Type:
    line = Line("bigint", -(2 ** (bits - 1)), 2 ** (bits - 1))
    return Type(name, "number", line, (digits, 0))


TYPES: Final = {
    "boolean": Type("boolean", "boolean", BOOLEAN),
    "tinyint": _integer("tinyint", 8, 3),
    "smallint": _integer("smallint", 16, 5),
    "int": _integer("int", 32, 10),
    "bigint": Type("bigint", "number", BIGINT, (20, 0)),
    "float": Type("float", "number", FLOAT),
    "double": Type("double", "number", DOUBLE),
    "string": Type("string", "string", STRING),
    "date": Type("date", "date", DATE),
    "timestamp": Type("timestamp", "timestamp", TIMESTAMP),
    "timestamp_ntz": Type("timestamp_ntz", "timestamp", TIMESTAMP),
}
_ALIASES: Final = {
    "bool": "boolean",
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "str": "string",
    "text": "string",
    "varchar": "string",
    "timestamp_ltz": "timestamp",
    "dec": "decimal",
    "numeric": "decimal",
}
REFUSALS: Final = {
    "binary": "binary values have no order in the language",
    "array": "a filter says nothing about the elements of an array",
    "map": "a filter says nothing about the entries of a map",
    "variant": "a variant has no type that could be compared",
    "char": "char(n) is padded with spaces before it is compared; use string",
    "interval": "intervals are not comparable in the language",
    "time": "the language has no type for a time of day; use string or bigint",
    "null": "a column that is always NULL has no type",
    "void": "a column that is always NULL has no type",
}


NO_TYPE: Final = "the language has no type for it"


def read_type(name: str) -> Type:
    """The type of that name, as Spark writes it.

    >>> read_type("DECIMAL(10, 2)").decimal
    (10, 2)
    """
    text = " ".join(name.lower().split())
    base, _, rest = text.partition("(")
    base = base.strip()
    base = _ALIASES.get(base, base)
    if base == "decimal":
        return read_decimal_type(name, rest.rstrip(") "))
    if base in TYPES and (not rest or base == "string"):
        return TYPES[base]
    if " collate " in f" {text} ":
        if text.endswith("collate utf8_binary"):
            return TYPES["string"]
        return Type(text, "refused", refusal="a collated string does not compare by its bytes")
    head = base.split("<")[0].split(" ")[0]
    if head == "struct":
        return Type("struct", "struct")
    if head == "character":
        head = "char"
    if head in REFUSALS:
        return Type(text, "refused", refusal=REFUSALS[head])
    known = ", ".join((*TYPES, "decimal(p,s)"))
    raise SchemaError(f"unknown type {name!r}; the language's types are {known}")


def read_decimal_type(name: str, arguments: str) -> Type:
    """The decimal type with these arguments, written `precision,scale`."""
    try:
        numbers = [int(part) for part in arguments.split(",")] if arguments else [10]
        precision, scale = (*numbers, 0)[:2]
    except ValueError:
        raise SchemaError(f"unknown type {name!r}; write decimal(precision, scale)") from None
    if len(numbers) > 2 or not 1 <= precision <= 38 or not 0 <= scale <= precision:
        raise SchemaError(f"{name!r}: a decimal has 1 to 38 digits, and no more of them fractional")
    line = decimal_line(precision, scale)
    return Type(f"decimal({precision},{scale})", "number", line, (precision, scale))
