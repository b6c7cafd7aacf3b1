"""What does an object hold that speaks Arrow?

Polars, DuckDB, nanoarrow, arro3, pandas and others hand over columns by the Arrow PyCapsule
interface: a table or a stream of batches has a method `__arrow_c_stream__`, one batch or array
`__arrow_c_array__`, a schema `__arrow_c_schema__`. Here such an object becomes pyarrow's own.

A stream may be read once, so each function here reads its object once. Whatever goes wrong at the
other end becomes a `TidegateError` that says what was read and what the other end said.
"""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tidegate.errors import TidegateError

_Read = TypeVar("_Read")


def speaks_arrow(given: Any) -> bool:
    """Whether the object hands over a table, a batch or an array."""
    return hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__")


def is_frame(given: Any, library: str) -> bool:
    """Whether the object is a `DataFrame` of that library, which is not imported for the answer."""
    module = sys.modules.get(library)
    return isinstance(given, getattr(module, "DataFrame", ()))


def table_of(given: Any) -> Any:
    """The object as an Arrow table; it has to speak Arrow.

    >>> import pyarrow as pa
    >>> table_of(pa.table({"x": [1, 2]}).to_reader()).to_pydict()
    {'x': [1, 2]}
    """
    import pyarrow as pa

    def read() -> Any:
        if is_frame(given, "pandas"):
            return pa.Table.from_pandas(given, preserve_index=False)
        table = pa.table(given)
        table.validate()
        return table

    return _read(read, given, "as a table")


def array_of(given: Any) -> Any:
    """The object as an Arrow array in chunks; it has to speak Arrow."""
    import pyarrow as pa

    def read() -> Any:
        array = pa.chunked_array(given if hasattr(given, "__arrow_c_stream__") else [given])
        array.validate()
        return array

    return _read(read, given, "as a column")


def schema_of(given: Any) -> Any:
    """The Arrow schema of an object that is one, or that has one; None if it speaks no Arrow.

    Of what is no schema, a table or a stream, nothing but the schema is read. That spends a stream
    all the same, unless it is one of pyarrow's own, which know their schema.
    """
    if not (hasattr(given, "__arrow_c_schema__") or speaks_arrow(given)):
        return None
    import pyarrow as pa

    def read() -> Any:
        known = getattr(given, "schema", None)
        if isinstance(known, pa.Schema):
            return known
        if is_frame(given, "pandas"):
            return pa.Schema.from_pandas(given, preserve_index=False)
        if hasattr(given, "__arrow_c_schema__"):
            return pa.schema(given)
        if hasattr(given, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(given).schema
        return pa.record_batch(given).schema

    return _read(read, given, "as a schema")


def _read(read: Callable[[], _Read], given: Any, how: str) -> _Read:
    try:
        return read()
    except BaseException as error:  # whatever the other end raises; a panic of Rust is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
            raise
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise TidegateError(
            f"this {type(given).__name__} cannot be read {how} by Arrow: {reason}"
        ) from error
