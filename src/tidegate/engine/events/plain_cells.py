"""The values of an attribute in many mappings, as an Arrow array, where they are all alike.

Most events of a batch have plain values of one type: numbers, or texts. Then Arrow reads them at
once, and what follows is the same as for a column of a table. Anything else is looked at value by
value, by whoever asks.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from tidegate.filters.lines import BIGINT, DOUBLE, STRING
from tidegate.filters.schema import Schema

WORTH: Final = 16  # events from which on it is worth it
_PLAIN: Final = {
    int: (BIGINT, pa.int64()),
    float: (DOUBLE, pa.float64()),
    str: (STRING, pa.string()),
}
_NULL: Final = type(None)


def plain_cells(
    events: Sequence[Mapping[str, Any]], name: str, schema: Schema | None
) -> pa.Array | None:
    """The values of an attribute that is no field of a struct; None if they are not all alike.

    >>> plain_cells([{"price": 5}] * 15 + [{}], "price", None).null_count
    1
    >>> plain_cells([{"price": 5}] * 15 + [{"price": 0.5}], "price", None)
    """
    if len(events) < WORTH:
        return None
    values = [event.get(name) for event in events]
    kinds = set(map(type, values))
    kinds.discard(_NULL)
    known = _PLAIN.get(kinds.pop()) if len(kinds) == 1 else None
    if known is None or (schema is not None and schema[name].type.line is not known[0]):
        return None
    try:
        return pa.array(values, known[1])
    except (pa.ArrowException, OverflowError, UnicodeError):  # no bigint, or half a character
        return None
