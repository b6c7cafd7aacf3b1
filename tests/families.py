"""Filters and events at random in which values of all families meet on the same attributes.

Without a schema, an attribute may have numbers of three types, texts, booleans, dates and
timestamps, and a filter may ask for several of them at once: `y = 'b' OR y = 0.5`. Numbers come in
every combination of their types: `= NaN` holds for doubles alone, `= 0.5` for no bigint, a gap
narrower than a double's for decimals alone; and constants beyond 2**53 are rounded differently on
each line of numbers, so that their cuts cross.
"""

import datetime as dt
import math
from decimal import Decimal
from random import Random
from typing import Any, Final

import tidegate as tg

NUMBERS: Final = (
    *("0", "1", "2", "-1", "0.5", "0.1", "2.5", "-0.5", "0.5D", "0.1D", "1D", "-0.0D", "5e-324D"),
    *("9007199254740992", "9007199254740993", "9007199254740994", "9007199254740992D"),
    *("9007199254740994D", "9007199254740993BD", "9007199254740993.5BD", "9223372036854775807"),
    *("9223372036854775808D", "99999999999999999999BD", "1e300D", "0.5000000000000000000001BD"),
    *("CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)"),
)
ORDERINGS: Final = ("=", "=", "<", "<=", ">", ">=", "<>", "<=>")

OTHERS: Final[dict[str, tuple[str, ...]]] = {
    "decimal": ("{a} BETWEEN 0.5 AND 0.5000000000000000000001BD AND {a} <> 0.5",),
    "string": (
        *("{a} = 'b'", "{a} >= 'b'", "{a} < 'b'", "{a} <> ''", "startswith({a}, 'b')"),
        *("endswith({a}, 'b')", "{a} IN ('a', 'c', 'bb')", "{a} LIKE 'b%b'", "NOT {a} LIKE '%b'"),
    ),
    "boolean": ("{a}", "NOT {a}", "{a} IN (TRUE, FALSE)", "{a} <=> TRUE"),
    "date": (
        *("{a} = DATE '2024-02-29'", "{a} < DATE '2024-02-29'", "{a} <> DATE '1970-01-01'"),
        "{a} BETWEEN DATE '1970-01-01' AND DATE '2024-02-29'",
    ),
    "timestamp": (
        *("{a} = TIMESTAMP '2024-02-29 00:00:00'", "{a} > TIMESTAMP '1970-01-01 00:00:00'"),
        "{a} <= TIMESTAMP '2024-02-29 12:00:00'",
    ),
    "absent": ("{a} IS NULL", "{a} IS NOT NULL", "({a} = 0.5) IS NOT TRUE", "({a} > 'b') IS NULL"),
}
FAMILIES: Final = ("number", "number", *OTHERS)

VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, b"", "", "a", "b", "bb", "bcb", "c"),
    *(0, 1, 2, -1, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1),
    *(0.0, -0.0, 0.5, 0.1, 1.0, 2.5, -0.5, 5e-324, 2.0**53, 2.0**53 + 2, 2.0**63, 1e300),
    *(math.nan, math.inf, -math.inf),
    *(Decimal("0.5"), Decimal("0.1"), Decimal("0.5000000000000000000001"), Decimal(10**20)),
    *(Decimal("0.50000000000000000000005"), Decimal(2**53 + 1), Decimal("9007199254740993.5")),
    *(dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(2024, 3, 1)),
    *(dt.datetime(1970, 1, 1), dt.datetime(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30)),
)


def some_predicate(rng: Random, family: str, attribute: str) -> str:
    """A condition on the values of a family, others not excluded."""
    if family != "number":
        return rng.choice(OTHERS[family]).format(a=attribute)
    one, other = rng.choice(NUMBERS), rng.choice(NUMBERS)
    return rng.choice(
        (
            f"{attribute} {rng.choice(ORDERINGS)} {one}",
            f"{attribute} {rng.choice(ORDERINGS)} {one}",
            f"{attribute} BETWEEN {one} AND {other}",
            f"{attribute} IN ({one}, {other})",
            f"{attribute} > {one} AND {attribute} <> {other}",
        )
    )


def on_one_attribute(rng: Random, attribute: str) -> str:
    """A condition that allows, or excludes, values of one to four families."""
    chosen = rng.sample(FAMILIES, rng.choice((1, 2, 2, 2, 3, 4)))
    text = " OR ".join(f"({some_predicate(rng, family, attribute)})" for family in chosen)
    return f"({text}) IS NOT TRUE" if rng.random() < 0.1 else text


def mixed_filter(rng: Random, attributes: str = "yx") -> tg.Filter:
    """A filter on one attribute, sometimes on more; there is no schema."""
    text = on_one_attribute(rng, attributes[0])
    if rng.random() < 0.3:
        more = on_one_attribute(rng, rng.choice(attributes))
        text = f"({text}) {rng.choice(('AND', 'AND', 'OR'))} ({more})"
    return tg.parse(text)


def mixed_event(rng: Random, attributes: str = "yx") -> dict[str, Any]:
    """An event whose attributes have values of any family, or none."""
    return {name: rng.choice(VALUES) for name in attributes if rng.random() < 0.95}
