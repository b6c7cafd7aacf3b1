"""Do names differ only in upper and lower case?

Names are case-sensitive here, whatever the session says: an event that has `PRICE` has no `price`,
and a filter on `price` sees NULL. That is lawful, and hardly ever meant. So where an attribute that
filters may ask for is missing from the events, and a column is there that differs in nothing but
case, a `TidegateWarning` points it out; nothing is refused, and nothing is matched differently.
"""

import re
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from tidegate.errors import TidegateError, TidegateWarning
from tidegate.filters.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_UNKNOWN: Final = re.compile(r"the schema has no attribute (\S+)")
_SHOWN: Final = 5


def differing(wanted: Iterable[str], there: Iterable[str]) -> dict[str, str]:
    """Names that are wanted and not there, each with one that is, but for upper and lower case.

    >>> differing(["price", "symbol", "volume"], ["PRICE", "symbol"])
    {'price': 'PRICE'}
    """
    known = set(there)
    folded = {name.casefold(): name for name in sorted(known, reverse=True)}
    missing = (name for name in wanted if name not in known)
    return {name: folded[name.casefold()] for name in missing if name.casefold() in folded}


def warn_of_case(
    events: "DataFrame",
    schema: Schema | None,
    refusals: Iterable[str] = (),
    stacklevel: int = 3,
) -> None:
    """Point out names of a store's schema, or in refusals of its filters, that may be misspelled.

    A store without a schema refuses filters whose attributes the events do not have.
    """
    refused = [found[1] for text in refusals for found in _UNKNOWN.finditer(text)]
    try:
        there = list(Schema(events.schema))
    except TidegateError:  # whoever compiles for these events refuses them
        return
    found = differing([*(schema or ()), *refused], there)
    if not found:
        return
    some = [f"{name!r} is {there!r} there" for name, there in list(found.items())[:_SHOWN]]
    more = f", and {len(found) - _SHOWN} more" * (len(found) > _SHOWN)
    warnings.warn(
        f"the events have columns that differ from attributes of the subscriptions only in upper "
        f"and lower case: {', '.join(some)}{more}. Names are case-sensitive, so filters see NULL; "
        "rename the columns if they are meant",
        TidegateWarning,
        stacklevel=stacklevel,
    )
