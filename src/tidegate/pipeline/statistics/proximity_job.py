"""How near are all pairs of filters, by the events that both match?

From a table of which event matched which filter, as `match` makes one: equal rows count once, so
that it does not matter how many subscriptions have a filter. Pairs that no event has in common are
left out; they are 0 by every measure. For two filters that matched m and n events, and b of these
together, (b/m + b/n) / 2 is the metric f_s of Chand (2005), definition 8.

An event that k filters match makes k(k-1)/2 pairs, so this is for filters that differ, not for all
subscriptions of a store.
"""

from typing import TYPE_CHECKING

from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def all_pairs(matched: "DataFrame", event: str, filter: str) -> "DataFrame":
    """Both filters of each pair, how many events `both` match, and how near they are.

    `forth` is the share of the first one's events that match the second, `back` the other way
    round; `mean` is f_s, and `shared` the share of those that match both among those that match
    one. The first filter is the smaller one of a pair.
    """
    from pyspark.sql import functions as F  # noqa: N812

    for name in (event, filter):
        if name not in matched.columns:
            known = ", ".join(matched.columns)
            raise TidegateError(f"there is no column {name!r}, but {known}")
    rows = matched.select(matched[event].alias("event"), matched[filter].alias("filter")).distinct()
    totals = rows.groupBy("filter").agg(F.count("*").alias("total"))
    first = rows.select("event", F.col("filter").alias("first"))
    second = rows.select("event", F.col("filter").alias("second"))
    pairs = (
        first.join(second, "event")
        .where("first < second")
        .groupBy("first", "second")
        .agg(F.count("*").alias("both"))
    )
    of_first = totals.select(F.col("filter").alias("first"), F.col("total").alias("m"))
    of_second = totals.select(F.col("filter").alias("second"), F.col("total").alias("n"))
    return (
        pairs.join(of_first, "first")
        .join(of_second, "second")
        .selectExpr(
            "first",
            "second",
            "both",
            "both / m AS forth",
            "both / n AS back",
            "(both / m + both / n) / 2 AS mean",
            "both / (m + n - both) AS shared",
        )
    )
