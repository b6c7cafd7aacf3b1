"""How are workloads of any size made, here or by many tasks at once?

A workload is a stream of Arrow tables of `ROWS` rows. Each is drawn from the seed and its own
number alone, so whoever makes number 7 makes the same, whether or not they have made those before
it: a stream needs no memory, and tasks share the work by number (`lab.runner.frames` makes Spark
DataFrames so). What all tables of a workload have in common, such as a pool of predicates or a
market, is drawn from the seed by each of them.

Subscriptions have columns as `add_many` reads them: `id`, which counts from 0 over all tables,
`filter`, and parameters, if any. Events have their attributes, or one `document`.

Invariant: all tables of a stream have the same columns, of the same types. A larger set begins with
the smaller one.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from tidegate.errors import LabError
from tidegate.lab.workloads import auctions, matching, mixed, padres, trade
from tidegate.lab.workloads.dtds import news
from tidegate.lab.workloads.highway import Highway
from tidegate.lab.workloads.movement import Movement
from tidegate.lab.workloads.rectangles import EXPONENT, Rectangles, rectangles
from tidegate.lab.workloads.trading import Trading
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource

ROWS: Final = 10_000
"""Rows of a table, but for the last one."""

What: TypeAlias = Literal["subscriptions", "events"]
Make: TypeAlias = Callable[[int, int, int], pa.Table]
"""Makes so many rows of a table, by its number and the seed."""


@dataclass(frozen=True)
class Stream:
    """A workload by name, and how its tables are made."""

    name: str
    tells: str
    subscriptions: Make
    events: Make

    def table(self, what: What, number: int, seed: int, rows: int = ROWS) -> pa.Table:
        """The first rows of one table."""
        if what == "events":
            return self.events(rows, number, seed).combine_chunks()
        made = self.subscriptions(rows, number, seed)
        ids = pa.array(np.arange(number * ROWS, number * ROWS + made.num_rows))
        made = made.set_column(made.column_names.index("id"), "id", ids)
        return _plain(made)

    def batches(self, what: What, count: int, seed: int = 1) -> Iterator[pa.RecordBatch]:
        """So many rows, in batches.

        >>> [some] = STREAMS["trade"].batches("subscriptions", 3)
        >>> some.column("filter")[0].as_py()
        'symbol = :symbol AND price BETWEEN :low AND :high'
        """
        for number, rows in shares(count):
            yield from self.table(what, number, seed, rows).to_batches()


def shares(count: int) -> Iterator[tuple[int, int]]:
    """The numbers of the tables that have so many rows, and how many each has.

    >>> list(shares(25_000))
    [(0, 10000), (1, 10000), (2, 5000)]
    """
    if count < 0:
        raise LabError(f"a workload has 0 rows or more, not {count}")
    for number, start in enumerate(range(0, count, ROWS)):
        yield number, min(ROWS, count - start)


def stream(name: str) -> Stream:
    """A stream by its name."""
    try:
        return STREAMS[name]
    except KeyError:
        known = ", ".join(STREAMS)
        raise LabError(f"there is no workload {name!r}; there are: {known}") from None


def _plain(made: pa.Table) -> pa.Table:
    """The same with texts in place of dictionaries, which differ from table to table."""
    for place, field in enumerate(made.schema):
        if pa.types.is_dictionary(field.type):
            made = made.set_column(place, field.name, made[field.name].cast(field.type.value_type))
    return made.combine_chunks()


def _own(seed: int, number: int) -> int:
    """A seed for each table, where there is nothing that they have in common."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def _whole(make: Callable[[int], pa.Table], rows: int) -> pa.Table:
    """The first rows of a whole table: drawn in columns, a shorter one would not begin as it."""
    return make(ROWS).slice(0, rows)


# -- workloads


def _boxes(dimensions: int, rows: int, number: int, seed: int) -> Rectangles:
    return Rectangles(*rectangles(rows, dimensions, EXPONENT, _own(seed, number)))


def _rectangles(dimensions: int) -> Stream:
    return Stream(
        f"rectangles-{dimensions}",
        f"rectangles in {dimensions} dimensions, with Zipfian low ends",
        lambda rows, n, seed: _whole(lambda size: _boxes(dimensions, size, n, seed).table(), rows),
        lambda rows, n, seed: _whole(
            lambda size: _boxes(dimensions, 1, 0, seed).events(size, _own(seed, n)), rows
        ),
    )


def _set(name: str, distinct: int) -> Stream:
    choices = padres.Choices()
    return Stream(
        name,
        f"conjunctions of {distinct:,} distinct predicates on twenty attributes",
        lambda rows, n, seed: _whole(
            lambda size: padres.conjunctions(size, distinct, seed, choices, n).table(), rows
        ),
        lambda rows, n, seed: _whole(
            lambda size: padres.conjunctions(1, distinct, seed, choices).events(size, n), rows
        ),
    )


def _moving(name: str, tells: str, make: Callable[[int], Movement]) -> Stream:
    return Stream(
        name,
        tells,
        lambda rows, n, seed: _movers(make(_own(seed, n)), rows),
        lambda rows, n, seed: _whole(lambda size: _published(make(_own(seed, n)), n, size), rows),
    )


def _movers(work: Movement, rows: int) -> pa.Table:
    """Subscriptions as they begin."""
    made = work.movers[:rows]
    names = [*made[0].fixed, *made[0].start] if made else []
    columns: dict[str, list[object]] = {
        "id": list(range(len(made))),
        "filter": [each.text for each in made],
    }
    for name in names:
        columns[name] = [{**each.fixed, **each.start}[name] for each in made]
    return pa.table(columns)


def _published(work: Movement, number: int, rows: int) -> pa.Table:
    """One event a second, numbered over all tables."""
    events = [each.event for each in work.events(1.0, float(rows))]
    columns = {name: [event[name] for event in events] for name in work.schema}
    columns["number"] = [number * ROWS + own for own in columns["number"]]
    return pa.table(columns)


def _patterns(rows: int, number: int, seed: int) -> pa.Table:
    source = PatternSource(news(), PatternChoices(), _own(seed, number))
    texts = [source.draw().text for _ in range(rows)]
    return pa.table({"id": list(range(rows)), "filter": pa.array(texts, pa.string())})


def _documents(rows: int, number: int, seed: int) -> pa.Table:
    source = DocumentSource(news(), DocumentChoices(), _own(seed, number))
    return pa.table({"document": pa.array([source.draw() for _ in range(rows)], pa.string())})


def _rules(rows: int, number: int, seed: int) -> pa.Table:
    """Rules as people write them, with a column for each parameter that any table has."""
    made = mixed.rules_of(number, number * ROWS, rows, seed)
    columns = {
        name: made[name] if name in made.column_names else pa.nulls(rows, kind)
        for name, kind in mixed.parameters(seed).items()
    }
    return pa.table({"id": made["id"], "filter": made["filter"], **columns})


def _all() -> Iterator[Stream]:
    for dimensions in (2, 3, 4, 5):
        yield _rectangles(dimensions)
    yield _set("set-a", padres.DISTINCT_A)
    yield _set("set-b", padres.DISTINCT_B)
    yield Stream(
        "trees",
        "Boolean trees on twenty attributes",
        lambda rows, n, seed: _whole(lambda size: matching.trees(size, seed, n).table(), rows),
        lambda rows, n, seed: _whole(lambda size: matching.trees(1, seed).events(size, n), rows),
    )
    yield Stream(
        "auctions",
        "three classes of subscriptions to book auctions",
        lambda rows, n, seed: _whole(
            lambda size: auctions.auctions(size, seed, part=n).table(), rows
        ),
        lambda rows, n, seed: _whole(lambda size: auctions.auctions(1, seed).events(size, n), rows),
    )
    yield Stream(
        "trade",
        "alert rules on trades",
        lambda rows, n, seed: _whole(lambda size: trade.trade(size, seed, n).table(), rows),
        lambda rows, n, seed: _whole(lambda size: trade.trade(1, seed).events(size, n), rows),
    )
    yield _moving(
        "trading",
        "limits of traders; the traders of each table are others",
        lambda seed: Trading(seed, subscribers=ROWS // 10),
    )
    yield _moving(
        "highway",
        "what cars look at; the cars and sensors of each table are others",
        lambda seed: Highway(seed=seed, cars=ROWS),
    )
    yield Stream(
        "mixed",
        "rules as people write them, half of them rows of templates",
        _rules,
        lambda rows, n, seed: mixed.events_of(n, ROWS, seed).slice(0, rows),
    )
    yield Stream("news", "patterns on documents, and documents, of NITF", _patterns, _documents)


STREAMS: Final[Mapping[str, Stream]] = {each.name: each for each in _all()}
"""All workloads, by name."""
