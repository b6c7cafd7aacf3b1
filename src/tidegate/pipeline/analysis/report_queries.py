"""What comes of all that is known about single subscriptions?

Counts, distributions and a few examples of each kind, by small queries over the tables that
`jobs` has made: `every` has a row for each subscription, `facts` one for each distinct filter
(with its `leader`, the first id that has it, and its `members`), `merged` one for each filter in
each merger.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from tidegate.errors import TidegateError
from tidegate.filters.schema import Schema
from tidegate.pipeline.analysis.findings import (
    SHOWN,
    Cost,
    Coverer,
    Example,
    Kind,
    Slice,
    shortened,
)
from tidegate.pipeline.analysis.meanings import read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PLAIN: Final = "plain"  # it has boxes, and can be compared
NEVER: Final = "never"
ALWAYS: Final = "always"
REFUSED: Final = "refused"
LONG: Final = "long"  # it has no normal form

_MEMBERS: Final = 5  # of a group that an example shows
_SIZES: Final = (2, 3, 4, 5, 6, 11, 101, 1_001, 10_001)
_SHARES: Final = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)
_ATTRIBUTES: Final = 15
_DEAREST: Final = 0.01


class Summing:
    """The tables of an analysis, and what they say."""

    def __init__(
        self, schema: Schema | None, every: "DataFrame", facts: "DataFrame", merged: "DataFrame"
    ) -> None:
        self._schema = schema
        self._every, self._facts, self._merged = every, facts, merged

    def filters(self) -> int:
        """How many different filters there are."""
        return self._facts.where("same IS NULL").count()

    def texts(self) -> int:
        """How many filters have conditions on text."""
        return self._facts.where("texts").count()

    def long(self) -> int:
        """How many filters have no normal form."""
        return self._facts.where(f"kind = '{LONG}'").count()

    def uncompared(self) -> int:
        """How many filters others were not compared with, because there was no room."""
        return self._facts.where("NOT compared AND coverer IS NULL").count()

    # -- kinds

    def duplicate(self) -> Kind:
        """Those beyond the first of each meaning."""
        from pyspark.sql import Window
        from pyspark.sql import functions as sql

        groups = self._groups()
        several = groups.where("members > 1")
        count, surplus = self._numbers(several, "count(*)", "sum(members - 1)")
        top = several.orderBy(sql.desc("members"), "leader").limit(SHOWN).collect()
        leader = sql.coalesce("same", "leader").alias("group")
        wanted = self._facts.select(leader, "meaning").where(
            sql.col("group").isin([row["leader"] for row in top])
        )
        place = sql.row_number().over(Window.partitionBy("group").orderBy("id")).alias("place")
        own = self._every.join(wanted, "meaning").select(
            "group", place, "id", "filter", "parameters"
        )
        shown: dict[str, list[Example]] = {}
        for row in own.where(sql.col("place") <= _MEMBERS + 1).orderBy("group", "place").collect():
            shown.setdefault(row["group"], []).append(self._example(row))
        examples = []
        for row in top:
            first, *others = shown[row["leader"]]
            note = f"{row['members']:,} subscriptions mean the same"
            examples.append(Example(first.id, first.filter, note, tuple(others)))
        return Kind(surplus, count, groups=count, examples=tuple(examples))

    def covered(self) -> Kind:
        """Those that another filter covers."""
        own = self._facts.where("coverer IS NOT NULL")
        filters, members = self._numbers(own, "count(*)", "sum(members)")
        some = own.orderBy("leader").limit(SHOWN).collect()
        known = self._leaders({row["coverer"] for row in some})
        examples = tuple(self._example(row, others=[known[row["coverer"]]]) for row in some)
        undecided = self.long()
        return Kind(members, filters, undecided=undecided, examples=examples)

    def subsumed(self) -> Kind:
        """Those that no filter covers, but several together."""
        from pyspark.sql import functions as sql

        left = self._facts.where(f"kind = '{PLAIN}' AND coverer IS NULL AND same IS NULL")
        own = left.where("subsumed")
        filters, members = self._numbers(own, "count(*)", "sum(members)")
        (undecided,) = self._numbers(left.where("undecided"), "count(*)")
        some = own.orderBy(sql.isnull("by"), "leader").limit(SHOWN).collect()
        known = self._leaders({name for row in some for name in row["by"] or ()})
        examples = tuple(
            self._example(row, others=[known[name] for name in row["by"] or ()]) for row in some
        )
        return Kind(members, filters, undecided=undecided + self.long(), examples=examples)

    def mergeable(self) -> Kind:
        """Those that are one filter with others, exactly."""
        from pyspark.sql import functions as sql

        taking_part = self._merged.select("leader").distinct()
        filters, members = self._numbers(
            self._facts.join(taking_part, "leader"), "count(*)", "sum(members)"
        )
        groups = self._merged.groupBy("file", "first").agg(
            sql.count("*").alias("size"), sql.min("merger").alias("merger")
        )
        count = groups.count()
        top = groups.orderBy(sql.desc("size"), "first").limit(SHOWN).collect()
        inside = self._merged.join(
            groups.orderBy(sql.desc("size"), "first").limit(SHOWN).select("file", "first"),
            ["file", "first"],
        )
        names: dict[tuple[bytes, str], list[str]] = {}
        for row in inside.where(sql.col("place") < _MEMBERS).orderBy("place").collect():
            names.setdefault((bytes(row["file"]), row["first"]), []).append(row["leader"])
        known = self._leaders(name for own in names.values() for name in own)
        examples = []
        for row in top:
            own = [known[name] for name in names[bytes(row["file"]), row["first"]]]
            note = f"{row['size']:,} filters are exactly this one"
            examples.append(Example("", row["merger"], note, tuple(own)))
        return Kind(members, filters, groups=count, examples=tuple(examples))

    def of_kind(self, kind: str) -> Kind:
        """Those that can match nothing, or must match everything, or were refused."""
        own = self._every.where(f"kind = '{kind}'")
        members, filters = self._numbers(own, "count(*)", "count(DISTINCT meaning)")
        some = own.orderBy("id").limit(SHOWN).collect()
        return Kind(members, filters, examples=tuple(self._example(row) for row in some))

    # -- what events say

    def rated(
        self,
        rated: "DataFrame | None",
        events: int | None,
        almost: float,
        structures: Iterable[Slice],
    ) -> Mapping[str, Any]:
        """What hangs on how often a subscription matches; nothing if that is not known."""
        from pyspark.sql import functions as sql

        if rated is None:
            return {"almost_share": almost}
        sound = rated.where(f"kind NOT IN ('{NEVER}', '{REFUSED}') AND share IS NOT NULL")
        costly = sound.withColumn("cost", sql.col("share") * sql.col("size"))
        count, matches, cost = costly.agg(
            sql.count("*"), sql.sum("share"), sql.sum("cost")
        ).collect()[0]
        dearest = costly.orderBy(sql.desc("cost"), "id")
        few = dearest.limit(max(1, int(count * _DEAREST)))
        (top,) = few.agg(sql.sum("cost")).collect()[0]
        examples = [
            self._example(
                row, f"{row['cost'] / cost:.2%} of the cost, matches {row['share']:.2%} of events"
            )
            for row in (dearest.limit(SHOWN).collect() if cost else ())
        ]
        unmatched = sound.where("share = 0")
        often = sound.where(sql.col("share") >= almost)
        found = Cost(
            events,
            matches or 0.0,
            (top or 0.0) / cost if cost else 0.0,
            tuple(examples),
            self._histogram(sound),
            tuple(structures),
        )
        return {
            "cost": found,
            "almost_share": almost,
            "unmatched": self._plain_kind(unmatched) if events is not None else None,
            "almost": self._plain_kind(often),
        }

    def _plain_kind(self, own: "DataFrame") -> Kind:
        members, filters = self._numbers(own, "count(*)", "count(DISTINCT meaning)")
        some = own.orderBy("id").limit(SHOWN).collect()
        return Kind(members, filters, examples=tuple(self._example(row) for row in some))

    def _histogram(self, sound: "DataFrame") -> tuple[Slice, ...]:
        from pyspark.sql import functions as sql

        share = sql.col("share")
        number = sum((sql.when(share >= end, 1).otherwise(0) for end in _SHARES), sql.lit(0))
        bar = sql.when(share == 0, -1).otherwise(number).alias("bar")
        counts = {row["bar"]: row["count"] for row in sound.groupBy(bar).count().collect()}
        ends = [f"{end:.4g}" for end in (100 * end for end in _SHARES)]
        labels = ["none", f"up to {ends[0]}%"]
        labels += [f"{low} – {high}%" for low, high in zip(ends, [*ends[1:], "100"], strict=True)]
        return tuple(Slice(label, counts.get(place - 1, 0)) for place, label in enumerate(labels))

    # -- distributions

    def coverers(self) -> tuple[Coverer, ...]:
        """The filters that cover the most others."""
        from pyspark.sql import functions as sql

        own = self._facts.where("coverer IS NOT NULL").groupBy("coverer").count()
        top = own.orderBy(sql.desc("count"), "coverer").limit(SHOWN).collect()
        known = self._leaders({row["coverer"] for row in top})
        return tuple(
            Coverer(row["coverer"], known[row["coverer"]].filter, row["count"]) for row in top
        )

    def group_sizes(self) -> tuple[Slice, ...]:
        """How many meanings have how many subscriptions, of those with several."""
        from pyspark.sql import functions as sql

        size = sql.col("members")
        bar = sum((sql.when(size >= end, 1).otherwise(0) for end in _SIZES), sql.lit(0))
        counts = {
            row["bar"]: row["count"]
            for row in self._groups().groupBy(bar.alias("bar")).count().collect()
        }
        labels = []
        for low, after in zip(_SIZES, (*_SIZES[1:], None), strict=True):
            if after is None:
                labels.append(f"{low:,} and more")
            else:
                labels.append(f"{low:,}" if after == low + 1 else f"{low:,} – {after - 1:,}")
        return tuple(Slice(label, counts.get(i + 1, 0)) for i, label in enumerate(labels))

    def attributes(self) -> tuple[Slice, ...]:
        """The attributes that most subscriptions ask for."""
        from pyspark.sql import functions as sql

        named = self._every.select(sql.explode("attributes").alias("name")).groupBy("name").count()
        top = named.orderBy(sql.desc("count"), "name").limit(_ATTRIBUTES).collect()
        return tuple(Slice(row["name"], row["count"]) for row in top)

    def _groups(self) -> "DataFrame":
        """Filters that mean the same, whatever their canonical forms, as one.

        Those that match nothing or everything are kinds of their own.
        """
        from pyspark.sql import functions as sql

        leader = sql.coalesce("same", "leader").alias("leader")
        own = self._facts.where(f"kind IN ('{PLAIN}', '{LONG}')")
        return own.groupBy(leader).agg(sql.sum("members").alias("members"))

    # -- examples

    def _leaders(self, names: Iterable[str]) -> dict[str, Example]:
        from pyspark.sql import functions as sql

        wanted = sorted(set(names))
        if not wanted:
            return {}
        rows = self._facts.where(sql.col("leader").isin(wanted)).collect()
        return {row["leader"]: self._example(row) for row in rows}

    def _example(self, row: Any, note: str = "", others: Iterable[Example] = ()) -> Example:
        said = row.asDict()
        id = said.get("id") or said["leader"]
        try:
            f = read(row["filter"], (row["parameters"] or {}).items(), self._schema)
            text = str(f)
        except TidegateError:
            text = row["filter"]
        first = (said.get("reason") or "").partition("\n")[0]
        return Example(id, shortened(text), note or first, tuple(others))

    def _numbers(self, frame: "DataFrame", *expressions: str) -> list[int]:
        (row,) = frame.selectExpr(*expressions).collect()
        return [int(value or 0) for value in row]
