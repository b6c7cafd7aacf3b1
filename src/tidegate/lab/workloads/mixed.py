"""What do the rules of many people look like, who never met?

Subscriptions as they pile up where applications register **templates** with parameters, thousands
of rows each, and people write **texts** of their own: two to six conditions on twenty attributes,
favourites among them, by equality with names that follow Zipf's law, ranges, lists, prefixes,
tests for NULL, negations, and ORs of any of these. Nothing is planted, so that nobody knows what is
redundant in them; some always is, because all draw from the same favourites.

Both rules and events come in tables of bounded size, one after the other, each drawn from the seed
and its own number alone.

Invariant: rules and events are functions of the seed. A larger set begins with the smaller one, up
to the last table of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidegate.filters.filter import constant
from tidegate.filters.literals import spell
from tidegate.filters.schema import Schema

ROWS: Final = 20_000
"""Rows of a table, but for the last one."""

TEMPLATES: Final = 40
"""Texts with parameters that rules share."""

FROM_TEMPLATES: Final = 0.5
"""Of the rules, those that are a row of a template."""

_TEMPLATE_SKEW: Final = 0.8
_ATTRIBUTE_SKEW: Final = 0.7  # how unevenly conditions are spread over the attributes
_DAY: Final = date(2024, 1, 1)
_MOMENT: Final = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Names:
    """Names by Zipf's law; the first is the most frequent one."""

    stem: str
    many: int
    skew: float
    absent: float = 0.0  # of the events, those without

    kind = "string"

    def upto(self) -> list[float]:
        """The sums of the names' weights."""
        weights = np.arange(1, self.many + 1, dtype=np.float64) ** -self.skew
        return [float(upto) for upto in np.cumsum(weights)]

    def values(self, random: np.random.Generator, count: int) -> pa.Array:
        """Those of events."""
        upto = np.array(self.upto())
        drawn = np.searchsorted(upto, random.random(count) * upto[-1], side="right")
        names = pa.array([self.name(i) for i in range(self.many)])
        return names.take(pa.array(np.minimum(drawn, self.many - 1)))

    def name(self, rank: int) -> str:
        """The name of a rank. Neighbours in the alphabet are not neighbours in rank."""
        turned = rank * 7_919 % self.many if self.many % 7_919 else rank
        letters = "".join(chr(65 + turned // 26**place % 26) for place in range(3))
        return f"{self.stem}{letters}{turned}"


@dataclass(frozen=True, slots=True)
class _Amounts:
    """Numbers, many small and few large ones; or days, moments."""

    kind: str
    most: float
    absent: float = 0.0

    def of(self, share: float) -> Any:
        """The value at a share of the range, those near 0 being denser."""
        if self.kind == "double":
            return round(self.most * share, 2)
        if self.kind == "bigint":
            return int(self.most * share)
        if self.kind == "date":
            return _DAY + timedelta(days=int(self.most * share))
        return _MOMENT + timedelta(seconds=int(self.most * share))

    def values(self, random: np.random.Generator, count: int) -> pa.Array:
        """Those of events."""
        drawn = [self.of(share) for share in (random.random(count) ** 2).tolist()]
        return pa.array(drawn, _ARROW[self.kind])


@dataclass(frozen=True, slots=True)
class _Flag:
    """True or false."""

    true: float
    absent: float = 0.0

    kind = "boolean"

    def values(self, random: np.random.Generator, count: int) -> pa.Array:
        """Those of events."""
        return pa.array(random.random(count) < self.true)


_ARROW: Final = {
    "string": pa.string(),
    "double": pa.float64(),
    "bigint": pa.int64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
_ATTRIBUTES: Final[dict[str, _Names | _Amounts | _Flag]] = {
    "symbol": _Names("", 5_000, 1.1),
    "price": _Amounts("double", 1_000.0),
    "venue": _Names("V", 20, 1.0),
    "volume": _Amounts("bigint", 100_000),
    "account": _Names("AC", 50_000, 0.8, absent=0.1),
    "country": _Names("", 120, 1.2),
    "sector": _Names("S", 30, 0.8),
    "spread": _Amounts("double", 5.0, absent=0.1),
    "trader": _Names("T-", 2_000, 0.9, absent=0.2),
    "currency": _Names("C", 25, 1.3),
    "desk": _Names("D", 200, 0.9, absent=0.1),
    "fee": _Amounts("double", 50.0),
    "orders": _Amounts("bigint", 1_000),
    "urgent": _Flag(0.05, absent=0.5),
    "settles": _Amounts("date", 365, absent=0.1),
    "status": _Names("ST", 6, 0.5),
    "at": _Amounts("timestamp", 366 * 86_400),
    "broker": _Names("B", 400, 1.0),
    "rating": _Amounts("bigint", 100, absent=0.3),
    "reference": _Names("R/", 100_000, 0.6, absent=0.3),
}
SCHEMA: Final = Schema({name: own.kind for name, own in _ATTRIBUTES.items()})
_FAVOUR: Final = [rank**-_ATTRIBUTE_SKEW for rank in range(1, len(_ATTRIBUTES) + 1)]
_USAGE: Final = [rank**-_TEMPLATE_SKEW for rank in range(1, TEMPLATES + 1)]
_KINDS: Final = {
    str: "string",
    float: "double",
    int: "bigint",
    date: "date",
    datetime: "timestamp",
}


def rules(count: int, seed: int, rows: int = ROWS) -> Iterator[pa.Table]:
    """So many subscriptions, in tables as `Store.add_many` reads them.

    >>> [some] = rules(1_000, seed=1)
    >>> some.num_rows, len(set(some["filter"].to_pylist())) > 400
    (1000, True)
    """
    for number, start in enumerate(range(0, count, rows)):
        yield rules_of(number, start, min(rows, count - start), seed)


def rules_of(part: int, start: int, rows: int, seed: int) -> pa.Table:
    """So many subscriptions of one table of them, whose ids count from a number."""
    drawing = _Drawing(f"{seed} rules {part}")
    return _table(start, [drawing.rule(seed) for _ in range(rows)])


def parameters(seed: int) -> dict[str, pa.DataType]:
    """All parameters that a seed's templates have, and their types."""
    drawing = _Drawing("parameters")
    names = {name for k in range(TEMPLATES) for name in drawing.row(k, seed)[1]}
    return {name: _ARROW[name.rstrip("0123456789")] for name in sorted(names)}


def events(count: int, seed: int, rows: int = ROWS) -> Iterator[pa.Table]:
    """So many events, in tables.

    >>> [some] = events(100, seed=1)
    >>> some.num_rows, len(some.column_names)
    (100, 20)
    """
    for number, start in enumerate(range(0, count, rows)):
        yield events_of(number, min(rows, count - start), seed)


def events_of(part: int, rows: int, seed: int) -> pa.Table:
    """So many events of one table of them."""
    random = np.random.default_rng([seed, part])
    columns = {}
    for name, own in _ATTRIBUTES.items():
        values = own.values(random, rows)
        there = pa.array(random.random(rows) >= own.absent)
        columns[name] = pc.if_else(there, values, pa.scalar(None, values.type))
    return pa.table(columns)


def write_events(folder: Path, count: int, seed: int) -> None:
    """Write events as Parquet files into a folder that is there."""
    for number, table in enumerate(events(count, seed)):
        pq.write_table(table, folder / f"events-{number:05}.parquet")


_Rule = tuple[str, dict[str, Any]]


def _table(start: int, drawn: Sequence[_Rule]) -> pa.Table:
    columns: dict[str, Any] = {
        "id": [f"rule-{start + i:07}" for i in range(len(drawn))],
        "filter": [text for text, _ in drawn],
    }
    parameters = sorted({name for _, values in drawn for name in values})
    for name in parameters:
        values = [own.get(name) for _, own in drawn]
        columns[name] = pa.array(values, _ARROW[name.rstrip("0123456789")])
    return pa.table(columns)


class _Drawing:
    """Rules at random: how they are made, by one sequence, and their constants, by another."""

    def __init__(self, seed: str) -> None:
        self._values = Random(seed)
        self._shape = self._values
        self._parameters: dict[str, Any] | None = None  # of a template; a text has literals
        self._upto = {n: own.upto() for n, own in _ATTRIBUTES.items() if isinstance(own, _Names)}

    def rule(self, seed: int) -> _Rule:
        """A row of one of a seed's templates, or a text."""
        if self._values.random() >= FROM_TEMPLATES:
            return self._text(), {}
        (template,) = self._values.choices(range(TEMPLATES), _USAGE)
        return self.row(template, seed)

    def row(self, template: int, seed: int) -> _Rule:
        """A row of a template."""
        self._shape, self._parameters = Random(f"{seed} template {template}"), {}
        row = self._text(), self._parameters
        self._shape, self._parameters = self._values, None
        return row

    def _text(self) -> str:
        """Two to six conditions, some of them in an OR or negated."""
        (count,) = self._shape.choices((2, 3, 4, 5, 6), (3, 4, 3, 2, 1))
        names: dict[str, None] = {}
        while len(names) < count:
            names |= dict.fromkeys(self._shape.choices(list(_ATTRIBUTES), _FAVOUR))
        draw = self._shape.random()
        if draw < 0.12 and count > 2:
            return self._tree(list(names))
        parts = [self._condition(name) for name in names]
        if draw < 0.2:
            parts[-1] = f"NOT ({parts[-1]})"
        return " AND ".join(parts)

    def _tree(self, names: list[str]) -> str:
        """A condition, and an OR of the others or of two groups of them."""
        parts = [self._condition(name) for name in names]
        if len(parts) < 5:
            return f"{parts[0]} AND ({' OR '.join(parts[1:])})"
        return f"{parts[0]} AND (({' AND '.join(parts[1:3])}) OR ({' AND '.join(parts[3:])}))"

    def _condition(self, name: str) -> str:
        own = _ATTRIBUTES[name]
        draw = self._shape.random()
        if own.absent and draw < 0.08:
            return f"{name} IS {'NOT ' * (draw < 0.06)}NULL"
        if isinstance(own, _Flag):
            return name if draw < 0.7 else f"NOT {name}"
        return self._on_names(name) if isinstance(own, _Names) else self._on_amounts(name, own)

    def _on_names(self, name: str) -> str:
        draw = self._shape.random()
        if draw < 0.7:
            return f"{name} = {self._constant(self._name(name))}"
        if draw < 0.85:
            many = self._shape.randint(2, 4)
            return f"{name} IN ({', '.join(self._constant(self._name(name)) for _ in range(many))})"
        if draw < 0.95 or self._parameters is not None:
            return f"{name} <> {self._constant(self._name(name))}"
        return f"{name} LIKE '{self._name(name)[: self._shape.randint(2, 3)]}%'"

    def _on_amounts(self, name: str, own: _Amounts) -> str:
        draw = self._shape.random()
        if draw < 0.9:
            operators = ("<", "<=", ">", ">=") if draw < 0.6 else ("BETWEEN",)
            operator = self._shape.choice(operators)
        else:
            operator = "="
        first = own.of(share := self._share())
        if operator != "BETWEEN":
            return f"{name} {operator} {self._constant(first)}"
        last = own.of(min(1.0, share + 0.2 * self._share()))
        return f"{name} BETWEEN {self._constant(first)} AND {self._constant(last)}"

    def _share(self) -> float:
        """People like round numbers: half of them are one of a hundred."""
        share = self._values.random() ** 2
        return round(share, 2) if self._values.random() < 0.5 else share

    def _name(self, name: str) -> str:
        own = _ATTRIBUTES[name]
        assert isinstance(own, _Names)
        (rank,) = self._values.choices(range(own.many), cum_weights=self._upto[name])
        return own.name(rank)

    def _constant(self, value: Any) -> str:
        """A constant as the text has it: a literal, or a parameter that is bound to it."""
        if self._parameters is None:
            return spell(constant("constant", value))
        kind = _KINDS[type(value)]
        name = f"{kind}{sum(each.startswith(kind) for each in self._parameters)}"
        self._parameters[name] = value
        return f":{name}"
