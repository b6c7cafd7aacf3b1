"""What comes of all that is known about single subscriptions?

Counts, distributions and a few examples of each kind, by small queries over the tables that
`jobs` has made: `every` has a row for each subscription, `facts` one for each distinct filter
(with its `leader`, the first id that has it, and its `members`), `merged` one for each filter in
each merger.

A query of a few rows takes Spark a good part of a second, so whatever can be counted on the way
through one table is counted by one query, and the filters that examples name are looked up
together.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
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
    from pyspark.sql import Column, DataFrame

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

_LEFT: Final = f"kind = '{PLAIN}' AND coverer IS NULL AND same IS NULL"  # nobody else covers it
_SUBSUMED: Final = f"{_LEFT} AND subsumed"
_COVERED: Final = "coverer IS NOT NULL"
_COUNTED: Final = {
    "filters": "count_if(same IS NULL)",
    "texts": "count_if(texts)",
    "long": f"count_if(kind = '{LONG}')",
    "uncompared": "count_if(NOT compared AND coverer IS NULL)",
    "covered": f"count_if({_COVERED})",
    "members of covered": f"sum(members) FILTER (WHERE {_COVERED})",
    "subsumed": f"count_if({_SUBSUMED})",
    "members of subsumed": f"sum(members) FILTER (WHERE {_SUBSUMED})",
    "undecided": f"count_if({_LEFT} AND undecided)",
}
"""What is counted of the distinct filters."""


class Summing:
    """The tables of an analysis, and what they say."""

    def __init__(
        self, schema: Schema | None, every: "DataFrame", facts: "DataFrame", merged: "DataFrame"
    ) -> None:
        self._schema = schema
        self._every, self._facts, self._merged = every, facts, merged

    def filters(self) -> int:
        """How many different filters there are."""
        return self._counted["filters"]

    def texts(self) -> int:
        """How many filters have conditions on text."""
        return self._counted["texts"]

    def long(self) -> int:
        """How many filters have no normal form."""
        return self._counted["long"]

    def uncompared(self) -> int:
        """How many filters others were not compared with, because there was no room."""
        return self._counted["uncompared"]

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
        examples = tuple(
            self._example(row, others=[self._known[row["coverer"]]]) for row in self._covered
        )
        return Kind(
            self._counted["members of covered"],
            self._counted["covered"],
            undecided=self.long(),
            examples=examples,
        )

    def subsumed(self) -> Kind:
        """Those that no filter covers, but several together."""
        examples = tuple(
            self._example(row, others=[self._known[name] for name in row["by"] or ()])
            for row in self._subsumed
        )
        return Kind(
            self._counted["members of subsumed"],
            self._counted["subsumed"],
            undecided=self._counted["undecided"] + self.long(),
            examples=examples,
        )

    def mergeable(self) -> Kind:
        """Those that are one filter with others, exactly."""
        taking_part = self._merged.select("leader").distinct()
        filters, members = self._numbers(
            self._facts.join(taking_part, "leader"), "count(*)", "sum(members)"
        )
        examples = []
        for row in self._largest_mergers:
            own = [self._known[name] for name in self._merger_members[_merger(row)]]
            note = f"{row['size']:,} filters are exactly this one"
            examples.append(Example("", row["merger"], note, tuple(own)))
        return Kind(members, filters, groups=self._mergers.count(), examples=tuple(examples))

    def of_kind(self, kind: str) -> Kind:
        """Those that can match nothing, or must match everything, or were refused."""
        members, filters = self._of_kinds.get(kind, (0, 0))
        some = (row for row in self._first_of_kinds if row["kind"] == kind)
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
        often = f"share >= {float(almost)!r}D"
        numbers = costly.agg(
            *(sql.expr(each) for each in ("count(*)", "sum(share)", "sum(cost)")),
            *(sql.expr(each) for where in ("share = 0", often) for each in _number_where(where)),
            *(sql.count_if(_bar(sql.col("share")) == place) for place in _BARS),
        ).collect()[0]
        count, matches, cost = numbers[:3]
        dearest = costly.orderBy(sql.desc("cost"), "id")
        few = dearest.limit(max(1, int(count * _DEAREST)))
        (top,) = few.agg(sql.sum("cost")).collect()[0]
        examples = [
            self._example(
                row, f"{row['cost'] / cost:.2%} of the cost, matches {row['share']:.2%} of events"
            )
            for row in (dearest.limit(SHOWN).collect() if cost else ())
        ]
        found = Cost(
            events,
            matches or 0.0,
            (top or 0.0) / cost if cost else 0.0,
            tuple(examples),
            _histogram(numbers[7:]),
            tuple(structures),
        )
        return {
            "cost": found,
            "almost_share": almost,
            "unmatched": None
            if events is None
            else self._first_of(sound.where("share = 0"), *numbers[3:5]),
            "almost": self._first_of(sound.where(often), *numbers[5:7]),
        }

    def _first_of(self, own: "DataFrame", members: int, filters: int) -> Kind:
        some = own.orderBy("id").limit(SHOWN).collect() if members else ()
        return Kind(members, filters, examples=tuple(self._example(row) for row in some))

    # -- distributions

    def coverers(self) -> tuple[Coverer, ...]:
        """The filters that cover the most others."""
        return tuple(
            Coverer(row["coverer"], self._known[row["coverer"]].filter, row["count"])
            for row in self._broadest
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

    # -- queries that several ask

    @cached_property
    def _counted(self) -> Mapping[str, int]:
        return dict(zip(_COUNTED, self._numbers(self._facts, *_COUNTED.values()), strict=True))

    @cached_property
    def _of_kinds(self) -> Mapping[str, tuple[int, int]]:
        """How many subscriptions and meanings each kind has."""
        from pyspark.sql import functions as sql

        grouped = self._every.groupBy("kind").agg(sql.count("*"), sql.countDistinct("meaning"))
        return {kind: (members, filters) for kind, members, filters in grouped.collect()}

    @cached_property
    def _first_of_kinds(self) -> list[Any]:
        """The first subscriptions of each kind that is shown, by their ids."""
        from pyspark.sql import Window
        from pyspark.sql import functions as sql

        place = sql.row_number().over(Window.partitionBy("kind").orderBy("id"))
        shown = self._every.where(sql.col("kind").isin(NEVER, REFUSED, ALWAYS))
        first = shown.withColumn("place", place).where(sql.col("place") <= SHOWN)
        return first.orderBy("kind", "place").collect()

    @cached_property
    def _covered(self) -> list[Any]:
        return self._facts.where(_COVERED).orderBy("leader").limit(SHOWN).collect()

    @cached_property
    def _subsumed(self) -> list[Any]:
        from pyspark.sql import functions as sql

        own = self._facts.where(_SUBSUMED)
        return own.orderBy(sql.isnull("by"), "leader").limit(SHOWN).collect()

    @cached_property
    def _broadest(self) -> list[Any]:
        """Who covers the most others."""
        from pyspark.sql import functions as sql

        own = self._facts.where(_COVERED).groupBy("coverer").count()
        return own.orderBy(sql.desc("count"), "coverer").limit(SHOWN).collect()

    @property
    def _mergers(self) -> "DataFrame":
        from pyspark.sql import functions as sql

        return self._merged.groupBy("file", "first").agg(
            sql.count("*").alias("size"), sql.min("merger").alias("merger")
        )

    @cached_property
    def _largest_mergers(self) -> list[Any]:
        from pyspark.sql import functions as sql

        return self._mergers.orderBy(sql.desc("size"), "first").limit(SHOWN).collect()

    @cached_property
    def _merger_members(self) -> Mapping[tuple[bytes, str], list[str]]:
        """The first members of the largest mergers."""
        from pyspark.sql import functions as sql

        largest = {_merger(row) for row in self._largest_mergers}
        names: dict[tuple[bytes, str], list[str]] = {each: [] for each in largest}
        if largest:
            files, firsts = (sorted(set(each)) for each in zip(*largest, strict=True))
            near = sql.col("file").isin(files) & sql.col("first").isin(firsts)
            inside = self._merged.where(near & (sql.col("place") < _MEMBERS))
            for row in inside.orderBy("place").collect():
                if _merger(row) in names:
                    names[_merger(row)].append(row["leader"])
        return names

    @cached_property
    def _known(self) -> Mapping[str, Example]:
        """All filters that examples name."""
        from pyspark.sql import functions as sql

        wanted = {row["coverer"] for row in (*self._covered, *self._broadest)}
        wanted.update(name for row in self._subsumed for name in row["by"] or ())
        wanted.update(name for own in self._merger_members.values() for name in own)
        if not wanted:
            return {}
        rows = self._facts.where(sql.col("leader").isin(sorted(wanted))).collect()
        return {row["leader"]: self._example(row) for row in rows}

    # -- examples

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


def _merger(row: Any) -> tuple[bytes, str]:
    """What names a merger."""
    return bytes(row["file"]), row["first"]


def _number_where(condition: str) -> tuple[str, str]:
    """How many subscriptions and meanings meet a condition, as SQL."""
    return f"count_if({condition})", f"count(DISTINCT meaning) FILTER (WHERE {condition})"


_BARS: Final = range(-1, len(_SHARES) + 1)
"""The bars of the histogram of shares; -1 is for none."""


def _bar(share: "Column") -> "Column":
    from pyspark.sql import functions as sql

    number = sum((sql.when(share >= end, 1).otherwise(0) for end in _SHARES), sql.lit(0))
    return sql.when(share == 0, -1).otherwise(number)


def _histogram(counts: Iterable[int]) -> tuple[Slice, ...]:
    ends = [f"{end:.4g}" for end in (100 * end for end in _SHARES)]
    labels = ["none", f"up to {ends[0]}%"]
    labels += [f"{low} – {high}%" for low, high in zip(ends, [*ends[1:], "100"], strict=True)]
    return tuple(map(Slice, labels, counts))
