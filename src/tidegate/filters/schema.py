"""Which attributes do events have, and of which types?

A `Schema` gives each attribute a type, whether it may be NULL, and optionally a domain. With one,
filters are type-checked when they are read. It comes from a mapping, an Arrow schema, or a Spark
StructType or DDL string; fields of structs are attributes with dotted names.

Types the language cannot compare stand in the schema with the reason, which a filter that mentions
such an attribute is told.
"""

import datetime as dt
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from tidegate.errors import FilterTypeError, SchemaError
from tidegate.filters import bounds as b
from tidegate.filters.compare import midnight
from tidegate.filters.expression import attribute_name, attribute_path
from tidegate.filters.lines import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    OTHER_LINE,
    STRING,
    TIMESTAMP,
    Line,
    cut,
    decimal_line,
    single,
)
from tidegate.filters.values import OTHER, Constant, Value, family, normal
from tidegate.filters.valueset import ValueSet, whole


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


_TYPES: Final = {
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
_REFUSALS: Final = {
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


_NO_TYPE: Final = "the language has no type for it"


@dataclass(frozen=True, slots=True)
class Attribute:
    """Type, nullability and domain of one attribute (`low` to `high`, or a set of `values`).

    >>> Attribute("bigint", nullable=False, low=0, high=1000).type.name
    'bigint'
    """

    type: Type
    nullable: bool = True
    domain: ValueSet | None = field(default=None, compare=True)

    def __init__(
        self,
        type: "str | Type",
        *,
        nullable: bool = True,
        low: Constant = None,
        high: Constant = None,
        values: Iterable[Constant] | None = None,
    ) -> None:
        own = type if isinstance(type, Type) else read_type(type)
        object.__setattr__(self, "type", own)
        object.__setattr__(self, "nullable", nullable)
        object.__setattr__(self, "domain", _domain(own, low, high, values))

    def as_nullable(self) -> "Attribute":
        """The same attribute where NULL may stand."""
        changed = Attribute(self.type)
        object.__setattr__(changed, "domain", self.domain)
        return changed

    @property
    def lines(self) -> tuple[Line, ...]:
        """Where the attribute's values lie, values that violate the schema included."""
        return (OTHER_LINE,) if self.type.line is None else (self.type.line, OTHER_LINE)

    def universe(self, checked: bool) -> ValueSet:
        """Every value the attribute can have; `checked` tells that events obey the schema."""
        if not checked or self.type.line is None:
            return whole(self.lines, absent=self.nullable or not checked)
        if self.domain is not None:
            return ValueSet(self.nullable, self.domain.spans)
        return whole((self.type.line,), absent=self.nullable)


class Schema:
    """The attributes of events.

    `checked` says that events are checked against the schema before they are matched; only then do
    relations between filters (covers, overlaps, …) rely on nullability and domains.

    >>> schema = Schema({"price": "double", "volume": Attribute("bigint", low=0)})
    >>> schema["price"].type.name
    'double'
    >>> Schema("symbol STRING NOT NULL, trade STRUCT<price: DECIMAL(10,2)>")[
    ...     "trade.price"
    ... ].type.name
    'decimal(10,2)'
    """

    __slots__ = ("_attributes", "_hash", "checked", "templates")

    def __init__(
        self,
        source: "Mapping[str, str | Type | Attribute] | str | Any",
        *,
        checked: bool = False,
    ) -> None:
        self.checked = checked
        self.templates: dict[str, Any] = {}  # the shapes read under this schema, kept by the parser
        self._attributes: dict[str, Attribute] = {}
        for name, attribute in _read(source):
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
            near = difflib.get_close_matches(attribute, self._attributes, n=1)
            known = ", ".join(sorted(self._attributes)[:8]) or "none"
            raise FilterTypeError(
                f"the schema has no attribute {attribute}",
                instead=near[0] if near else f"one of its attributes: {known}",
            )
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
        return _decimal_type(name, rest.rstrip(") "))
    if base in _TYPES and (not rest or base == "string"):
        return _TYPES[base]
    if " collate " in f" {text} ":
        if text.endswith("collate utf8_binary"):
            return _TYPES["string"]
        return Type(text, "refused", refusal="a collated string does not compare by its bytes")
    head = base.split("<")[0].split(" ")[0]
    if head == "struct":
        return Type("struct", "struct")
    if head == "character":
        head = "char"
    if head in _REFUSALS:
        return Type(text, "refused", refusal=_REFUSALS[head])
    known = ", ".join((*_TYPES, "decimal(p,s)"))
    raise SchemaError(f"unknown type {name!r}; the language's types are {known}")


def _decimal_type(name: str, arguments: str) -> Type:
    try:
        numbers = [int(part) for part in arguments.split(",")] if arguments else [10]
        precision, scale = (*numbers, 0)[:2]
    except ValueError:
        raise SchemaError(f"unknown type {name!r}; write decimal(precision, scale)") from None
    if len(numbers) > 2 or not 1 <= precision <= 38 or not 0 <= scale <= precision:
        raise SchemaError(f"{name!r}: a decimal has 1 to 38 digits, and no more of them fractional")
    line = decimal_line(precision, scale)
    return Type(f"decimal({precision},{scale})", "number", line, (precision, scale))


def _domain(
    own: Type, low: Constant, high: Constant, values: Iterable[Constant] | None
) -> ValueSet | None:
    if low is None and high is None and values is None:
        return None
    if own.line is None:
        raise SchemaError(f"an attribute of type {own.name} has no domain")
    line = own.line
    if values is not None and not (low is None and high is None):
        raise SchemaError("a domain is given by low and high, or by values, not by both")
    if values is not None:
        points: b.Bounds = ()
        for value in values:
            points = b.join(points, cut(line, _member(own, value)))
        if not points:
            raise SchemaError("a domain of no values is empty; leave it out")
        return ValueSet(False, {line.name: points})
    first = line.low if low is None else cut(line, _member(own, low))[0]
    after = line.high if high is None else cut(line, _member(own, high))[1]
    if first >= after:
        raise SchemaError(f"the domain from {low!r} to {high!r} is empty")
    return ValueSet(False, {line.name: (first, after)})


def _member(own: Type, value: Constant) -> Constant:
    plain = own.conform(value)
    if plain is None or plain is OTHER:
        raise SchemaError(f"{value!r} is no value of type {own.name}")
    return plain


_NAMES: Final = re.compile(r"(?:`(?:[^`]|``)+`|[^.`]+)(?:\.(?:`(?:[^`]|``)+`|[^.`]+))*+")


def _read(source: Any) -> Iterator[tuple[str, Attribute]]:
    if isinstance(source, str):
        yield from _read_ddl(source)
    elif isinstance(source, Mapping):
        for name, entry in source.items():
            if not isinstance(name, str) or not _NAMES.fullmatch(name):
                raise SchemaError(f"{name!r} is not the name of an attribute")
            yield from _expand(attribute_path(name), entry)
    elif hasattr(source, "fields") and hasattr(source, "jsonValue"):
        yield from _read_spark((), source)
    elif type(source).__module__ == "pyarrow.lib" and type(source).__name__ == "Schema":
        yield from _read_arrow((), source)
    else:
        raise SchemaError(
            "a schema is made from a mapping, an Arrow schema, a Spark StructType or a DDL string, "
            f"not from {type(source).__name__}"
        )


def _expand(path: tuple[str, ...], entry: Any) -> Iterator[tuple[str, Attribute]]:
    """One entry of a mapping; a struct brings its fields along."""
    if isinstance(entry, Attribute):
        yield attribute_name(path), entry
    elif isinstance(entry, Type):
        yield attribute_name(path), Attribute(entry)
    elif isinstance(entry, Mapping):
        yield attribute_name(path), Attribute("struct")
        for name, inner in entry.items():
            if not isinstance(name, str) or not name:
                raise SchemaError(f"{name!r} is not the name of a field")
            yield from _expand((*path, name), inner)
    elif isinstance(entry, str) and entry.strip().lower().startswith("struct<"):
        for name, attribute in _read_ddl(f"this {entry}"):
            yield attribute_name((*path, *attribute_path(name)[1:])), attribute
    elif isinstance(entry, str):
        yield attribute_name(path), Attribute(entry)
    else:
        raise SchemaError(f"{attribute_name(path)}: {entry!r} is not a type")


def _read_ddl(ddl: str) -> Iterator[tuple[str, Attribute]]:
    import sqlglot

    if not ddl.strip():
        return
    try:
        table = sqlglot.parse_one(f"CREATE TABLE t ({ddl})", dialect="spark")
        columns = list(table.this.expressions)
    except (sqlglot.errors.SqlglotError, AttributeError, RecursionError):
        raise SchemaError(
            f"cannot read the DDL {ddl[:200]!r}; write it as 'symbol STRING, price DOUBLE NOT NULL'"
        ) from None
    if not columns:
        raise SchemaError(f"there is no column in the DDL {ddl[:200]!r}; back-quote its names")
    for column in columns:
        yield from _read_column((), column)


def _read_column(path: tuple[str, ...], column: Any) -> Iterator[tuple[str, Attribute]]:
    from sqlglot import exp

    if not isinstance(column, exp.ColumnDef) or not (column.name and column.args.get("kind")):
        raise SchemaError(f"cannot read the DDL: {column.sql('spark')!r} is not a column")
    here = (*path, column.name)
    constraints = [constraint.kind for constraint in column.args.get("constraints") or ()]
    nullable = not any(
        isinstance(kind, exp.NotNullColumnConstraint) and not kind.args.get("allow_null")
        for kind in constraints
    )
    collation = [k for k in constraints if isinstance(k, exp.CollateColumnConstraint)]
    kind = column.args["kind"]
    if kind.this == exp.DataType.Type.STRUCT:
        yield attribute_name(here), Attribute("struct", nullable=nullable)
        for inner in kind.expressions:
            yield from _read_column(here, inner)
        return
    is_time = kind.this == exp.DataType.Type.TIME  # which sqlglot would write as a timestamp
    name = "time" if is_time else kind.sql("spark")
    if collation:
        name += f" collate {collation[0].this.sql('spark')}"
    yield attribute_name(here), Attribute(name, nullable=nullable)


def _read_spark(path: tuple[str, ...], struct: Any) -> Iterator[tuple[str, Attribute]]:
    for entry in struct.fields:
        here = (*path, entry.name)
        if hasattr(entry.dataType, "fields"):
            yield attribute_name(here), Attribute("struct", nullable=entry.nullable)
            yield from _read_spark(here, entry.dataType)
        else:
            own = _spark_type(entry.dataType.simpleString())
            yield attribute_name(here), Attribute(own, nullable=entry.nullable)


def _spark_type(name: str) -> Type:
    try:
        return read_type(name)
    except SchemaError:  # a geometry, or a type of the user's own
        return Type(name, "refused", refusal=_NO_TYPE)


def _read_arrow(path: tuple[str, ...], fields: Any) -> Iterator[tuple[str, Attribute]]:
    import pyarrow as pa

    for entry in fields:
        here = (*path, entry.name)
        if pa.types.is_struct(entry.type):
            yield attribute_name(here), Attribute("struct", nullable=entry.nullable)
            yield from _read_arrow(here, entry.type)
        else:
            yield attribute_name(here), Attribute(_arrow_type(entry.type), nullable=entry.nullable)


def _arrow_type(arrow: Any) -> Type:
    import pyarrow as pa

    is_ = pa.types
    if is_.is_dictionary(arrow):
        return _arrow_type(arrow.value_type)
    for test, name in (
        (is_.is_boolean, "boolean"),
        (is_.is_int8, "tinyint"),
        (lambda t: is_.is_int16(t) or is_.is_uint8(t), "smallint"),
        (lambda t: is_.is_int32(t) or is_.is_uint16(t), "int"),
        (lambda t: is_.is_int64(t) or is_.is_uint32(t), "bigint"),
        (lambda t: is_.is_float32(t) or is_.is_float16(t), "float"),
        (is_.is_float64, "double"),
        (lambda t: is_.is_string(t) or is_.is_large_string(t) or is_.is_string_view(t), "string"),
        (is_.is_date, "date"),
        (is_.is_timestamp, "timestamp"),
    ):
        if test(arrow):
            return _TYPES[name]
    if is_.is_decimal(arrow) and arrow.precision <= 38 and 0 <= arrow.scale <= arrow.precision:
        return _decimal_type(str(arrow), f"{arrow.precision},{arrow.scale}")
    reason = _NO_TYPE
    if is_.is_uint64(arrow):
        reason = "unsigned 64-bit integers do not fit bigint"
    for test, head in (
        (lambda t: is_.is_binary(t) or is_.is_large_binary(t), "binary"),
        (is_.is_nested, "array"),
        (is_.is_map, "map"),
        (is_.is_time, "time"),
        (is_.is_null, "null"),
    ):
        if test(arrow):
            reason = _REFUSALS[head]
    return Type(str(arrow), "refused", refusal=reason)
