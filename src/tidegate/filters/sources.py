"""Where do schemas come from?

A mapping, a Spark DDL string or StructType, an Arrow schema or what has one: each is read into the
names of its attributes, with the fields of structs as dotted names, and what is known of them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tidegate.capsules import schema_of
from tidegate.errors import SchemaError, TidegateError
from tidegate.filters.attribute import Attribute
from tidegate.filters.ddl import read_ddl
from tidegate.filters.expression import attribute_name, attribute_path
from tidegate.filters.types import NO_TYPE, REFUSALS, TYPES, Type, read_decimal_type, read_type

_NAMES: Final = re.compile(r"(?:`(?:[^`]|``)+`|[^.`]+)(?:\.(?:`(?:[^`]|``)+`|[^.`]+))*+")


def read_attributes(source: Any) -> Iterator[tuple[str, Attribute]]:
    """The attributes that a source of a schema declares."""
    if isinstance(source, str):
        yield from _read_ddl(source)
    elif isinstance(source, Mapping) and not hasattr(source, "__arrow_c_schema__"):
        for name, entry in source.items():
            if not isinstance(name, str) or not _NAMES.fullmatch(name):
                raise SchemaError(f"{name!r} is not the name of an attribute")
            yield from _expand(attribute_path(name), entry)
    elif hasattr(source, "fields") and hasattr(source, "jsonValue"):
        yield from _read_spark((), source)
    else:
        arrow = _arrow_schema(source)
        if arrow is None:
            raise SchemaError(
                "a schema is made from a mapping, an Arrow schema, a Spark StructType or a DDL "
                f"string, not from {type(source).__name__}"
            )
        yield from _read_arrow((), arrow)


def _arrow_schema(source: Any) -> Any:
    try:
        return schema_of(source)
    except TidegateError as error:
        raise SchemaError(str(error)) from error


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
    for path, kind, nullable in read_ddl(ddl):
        yield attribute_name(path), Attribute(kind, nullable=nullable)


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
        here, own = (*path, entry.name), _within(entry.type)
        if pa.types.is_struct(own):
            yield attribute_name(here), Attribute("struct", nullable=entry.nullable)
            yield from _read_arrow(here, own)
        else:
            yield attribute_name(here), Attribute(_arrow_type(own), nullable=entry.nullable)


def _within(arrow: Any) -> Any:
    """The type of the values, behind encodings and extension types."""
    import pyarrow as pa

    while True:
        if pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
            arrow = arrow.value_type
        elif isinstance(arrow, pa.BaseExtensionType):
            is_bool = arrow.extension_name == "arrow.bool8"
            arrow = pa.bool_() if is_bool else arrow.storage_type
        else:
            return arrow


def _arrow_type(arrow: Any) -> Type:
    import pyarrow as pa

    is_ = pa.types
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
        (lambda t: is_.is_binary_view(t) or is_.is_fixed_size_binary(t), "binary"),
        (lambda t: is_.is_nested(t) and not is_.is_union(t), "array"),
        (is_.is_map, "map"),
        (is_.is_time, "time"),
        (lambda t: is_.is_duration(t) or is_.is_interval(t), "interval"),
        (is_.is_null, "null"),
    ):
        if test(arrow):
            reason = REFUSALS[head]
    return Type(str(arrow), "refused", refusal=reason)
