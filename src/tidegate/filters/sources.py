"""Where do schemas come from?

A mapping, a Spark DDL string or StructType, an Arrow schema: each is read into the names of its
attributes, with the fields of structs as dotted names, and what is known of them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tidegate.errors import SchemaError
from tidegate.filters.attribute import Attribute
from tidegate.filters.expression import attribute_name, attribute_path
from tidegate.filters.types import NO_TYPE, REFUSALS, TYPES, Type, read_decimal_type, read_type

_NAMES: Final = re.compile(r"(?:`(?:[^`]|``)+`|[^.`]+)(?:\.(?:`(?:[^`]|``)+`|[^.`]+))*+")


def read_attributes(source: Any) -> Iterator[tuple[str, Attribute]]:
    """The attributes that a source of a schema declares."""
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
        return Type(name, "refused", refusal=NO_TYPE)


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
        (lambda t: is_.is_timestamp(t) and t.tz is None, "timestamp_ntz"),
        (is_.is_timestamp, "timestamp"),
    ):
        if test(arrow):
            return TYPES[name]
    if is_.is_decimal(arrow) and arrow.precision <= 38 and 0 <= arrow.scale <= arrow.precision:
        return read_decimal_type(str(arrow), f"{arrow.precision},{arrow.scale}")
    reason = NO_TYPE
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
            reason = REFUSALS[head]
    return Type(str(arrow), "refused", refusal=reason)
