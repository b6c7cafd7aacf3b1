"""Which events are malformed?

An event is malformed if the source could not read it (its column of corrupt records is not NULL),
if a value cannot be cast to the type that the store's schema has for it, or if it violates that
schema, if it is one that events are checked against: NULL where no NULL may be, or a value outside
of the domain. Casts are Spark's own, in its expressions (`checked`); domains are looked at where
events are matched (`violations`), on the lines that filters are matched on.
"""

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.events.arrow_keys import Stretch
from tidegate.engine.events.batch import Batch
from tidegate.errors import SchemaError
from tidegate.filters.bounds import has
from tidegate.filters.expression import attribute_path
from tidegate.filters.lines import STRING
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ERROR: Final = "__tidegate_error"
"""The column that says what is wrong with an event; NULL if nothing is."""


def checked(events: "DataFrame", schema: Schema | None, corrupt: str | None) -> "DataFrame":
    """The events with their values cast to the schema's types, and what is wrong with each."""
    from pyspark.sql import functions

    problems: list[Column] = []
    if corrupt is not None and corrupt in events.columns:
        text = functions.concat(
            functions.lit("corrupt record: "),
            functions.substring(functions.col(quoted(corrupt)), 1, 200),
        )
        problems.append(functions.when(functions.col(quoted(corrupt)).isNotNull(), text))
    casts: dict[str, Column] = {}
    if schema is not None:
        for name in _columns(schema):
            if name not in events.columns:
                continue
            problems += _cast(events, schema, name, casts)
    said = functions.coalesce(*problems) if problems else functions.lit(None)
    found = events.withColumn(ERROR, said.cast("string"))
    return found.withColumns(casts) if casts else found


def _columns(schema: Schema) -> list[str]:
    """The names of whole columns, without fields of structs."""
    return list(dict.fromkeys(attribute_path(name)[0] for name in schema))


def _cast(
    events: "DataFrame", schema: Schema, name: str, casts: dict[str, "Column"]
) -> list["Column"]:
    from pyspark.sql import functions

    escaped = quoted(name)
    wanted = schema[escaped if escaped in schema else name].type
    own = events.schema[name].dataType
    if wanted.name == "struct":
        if own.typeName() != "struct":
            raise SchemaError(f"the column {name} is of type {own.simpleString()}, not a struct")
        return []
    if own.simpleString() == wanted.name or wanted.line is None:
        return []
    if own.typeName() in ("struct", "array", "map", "binary", "variant"):
        raise SchemaError(
            f"the column {name} is of type {own.simpleString()}, but the store's schema has "
            f"{wanted.name}"
        )
    value, cast = functions.col(escaped), functions.col(escaped).try_cast(wanted.name)
    casts[name] = cast
    text = functions.concat(
        functions.lit(f"{name}: "), functions.substring(value.cast("string"), 1, 200),
        functions.lit(f" is not of type {wanted.name}"),
    )  # fmt: skip
    return [functions.when(value.isNotNull() & cast.isNull(), text)]


def quoted(name: str) -> str:
    """A column's name as Spark's expressions take it."""
    return f"`{name.replace('`', '``')}`"


def sound(batch: pa.RecordBatch, schema: Schema) -> tuple[pa.RecordBatch, pa.RecordBatch, pa.Array]:
    """The events of a batch that can be matched; the others, and what is wrong with each."""
    errors = batch.column(ERROR)
    events = batch.drop_columns([ERROR])
    if schema.checked:
        errors = pc.coalesce(errors, violations(events, schema))
    if errors.null_count == len(errors):
        return events, events.slice(0, 0), errors.slice(0, 0)
    return events.filter(errors.is_null()), events.filter(errors.is_valid()), errors.drop_null()


def violations(events: pa.RecordBatch, schema: Schema) -> pa.Array:
    """Of each event, what it violates of a schema that it is checked against; NULL: nothing."""
    found: list[str | None] = [None] * len(events)
    batch = Batch(events, schema)
    for name in schema:
        own = schema[name]
        if own.type.line is None or (own.nullable and own.domain is None):
            continue
        column = batch.column(name)
        if not own.nullable:
            for row in column.absent.tolist():
                found[row] = found[row] or f"{name}: NULL is not allowed"
        if own.domain is None:
            continue
        for stretch in column.stretches:
            for row in _outside(stretch, own.domain).tolist():
                found[row] = found[row] or f"{name} is outside of the schema's domain"
    return pa.array(found, pa.string())


def _outside(stretch: Stretch, domain: ValueSet) -> "np.ndarray[tuple[int], np.dtype[np.int32]]":
    """The rows of a stretch whose values are not in a domain."""
    bounds = domain.spans.get(stretch.line.name, ())
    if stretch.line is STRING:
        kept = [has(bounds, text) for text in stretch.texts]
        inside = np.array(kept, np.bool_)[stretch.keys]
    else:
        inside = np.array([has(bounds, key) for key in stretch.keys.tolist()], np.bool_)
    return stretch.rows[~inside]
