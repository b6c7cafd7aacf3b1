"""Ten thousand alert rules on stock quotes: an index finds for whom Spark SQL says they ring.

The quotes are daily ones of 80 US stocks, from the demo data of PADRES 2.1, if they are at hand:
in the folder that TIDEGATE_DATA names, or in `shared/data` beside the project. Otherwise quotes of
the same shape are made up. A quote without trades has no volume.
"""

import datetime as dt
import os
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import tidegate as tg
from tests import ROOT
from tests.filters.test_spark import settings
from tidegate.engine.index import Index

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER = Path(os.environ.get("TIDEGATE_DATA", ROOT.parent / "shared" / "data"))
QUOTES = FOLDER / "stock-quotes.csv.gz"
RULES = 10_000
EVENTS = 1_500
AT_ONCE = 1_000  # rules in one job of Spark's

Matrix = NDArray[np.bool_]


def read_quotes(path: Path) -> pa.Table:
    """The quotes of a file, dates as dates."""
    plain = pyarrow.csv.read_csv(path)
    days = [dt.datetime.strptime(day, "%d-%b-%y").date() for day in plain["date"].to_pylist()]
    return plain.set_column(1, "date", pa.array(days))


def made_up_quotes(stocks: int = 80, days: int = 500) -> pa.Table:
    """Random walks of as many stocks, in the same columns."""
    rng = np.random.default_rng(19)
    size = stocks * days
    close = np.exp(
        rng.normal(0, 0.03, (stocks, days)).cumsum(axis=1) + rng.normal(2, 1, (stocks, 1))
    )
    close = np.round(np.maximum(close, 0.1), 2).ravel()
    spread = np.round(np.abs(rng.normal(0, 0.02, (3, size))) * close, 2)
    dates = [dt.date(2004, 12, 28) - dt.timedelta(days=day) for day in range(days)]
    volume = (rng.pareto(0.7, size) * 1_000).astype(np.int64) // 100 * 100
    return pa.table(
        {
            "symbol": [
                f"{'ABCDEFGH'[i % 8]}{'XYZ'[i % 3]}{i:02}" for i in range(stocks) for _ in dates
            ],
            "date": pa.array(dates * stocks),
            "open": close + spread[2],
            "high": close + spread[0],
            "low": np.maximum(close - spread[1], 0.05),
            "close": close,
            "volume": np.minimum(volume, 600_000_000),
        }
    )


@dataclass(frozen=True)
class Asked:
    """Quotes, rules, and Spark's answers: a row for each quote, a column for each rule."""

    quotes: pa.Table
    rules: list[str]
    answers: Matrix


def typed(quotes: pa.Table) -> pa.Table:
    """Prices as doubles, floats and decimals, symbols as a dictionary, no trades as NULL."""
    traded = pc.if_else(pc.equal(quotes["volume"], 0), None, quotes["volume"])
    return pa.table(
        {
            "symbol": quotes["symbol"].combine_chunks().dictionary_encode(),
            "date": quotes["date"].cast(pa.date32()),
            "open": quotes["open"].cast(pa.float64()),
            "high": quotes["high"].cast(pa.float32()),
            "low": pc.round(quotes["low"], 2).cast(pa.decimal128(18, 2), safe=False),
            "close": quotes["close"].cast(pa.float64()),
            "volume": traded.cast(pa.int64()),
        }
    )


class Rules:
    """Alert rules whose constants are taken from quotes, so that thresholds are met exactly."""

    def __init__(self, quotes: pa.Table, seed: int) -> None:
        self.rng = Random(seed)
        self.quotes = quotes.to_pylist()
        self.shapes = [
            (10, self.crossing),
            (4, self.range_with_volume),
            (3, self.some_symbols),
            (2, self.family_of_symbols),
            (2, self.dates),
            (2, self.everything_but),
            (1, self.no_trades),
            (1, self.nested),
        ]

    def texts(self, number: int) -> list[str]:
        makers = [make for weight, make in self.shapes for _ in range(weight)]
        found: dict[str, None] = {}
        while len(found) < number:
            found[self.rng.choice(makers)()] = None
        return list(found)

    def quote(self) -> dict[str, Any]:
        return self.rng.choice(self.quotes)

    def price(self, quote: dict[str, Any]) -> str:
        """A price of the quote, or near it, as a double, a decimal or an integer."""
        value = float(quote[self.rng.choice(("open", "high", "low", "close"))])
        value = round(value * self.rng.choice((1, 1, 1, 0.9, 1.1, 0.5, 2)), 2)
        return self.rng.choice((f"{value!r}D", f"{value:.2f}", f"{value:.1f}", f"{int(value) + 1}"))

    def column(self) -> str:
        return self.rng.choice(("open", "high", "low", "close"))

    def crossing(self) -> str:
        quote = self.quote()
        sign = self.rng.choice(("<", "<=", ">", ">=", "="))
        return f"symbol = '{quote['symbol']}' AND {self.column()} {sign} {self.price(quote)}"

    def range_with_volume(self) -> str:
        quote = self.quote()
        low, high = sorted(
            (self.price(quote), self.price(quote)), key=lambda p: float(p.rstrip("D"))
        )
        between = f"{self.column()} BETWEEN {low} AND {high}"
        least = (quote["volume"] or 50) // 2
        return f"volume > {least} AND symbol = '{quote['symbol']}' AND {between}"

    def some_symbols(self) -> str:
        one, two, three = self.quote(), self.quote(), self.quote()
        names = ", ".join(f"'{quote['symbol']}'" for quote in (one, two, three))
        rising, falling = f"high >= {self.price(one)}", f"low < {self.price(two)}"
        return f"symbol IN ({names}) AND ({rising} OR {falling})"

    def family_of_symbols(self) -> str:
        quote = self.quote()
        name = quote["symbol"]
        match self.rng.randrange(3):
            case 0:
                family = f"symbol LIKE '{name[0]}%{name[-1]}'"
            case 1:
                family = f"endswith(symbol, '{name[-2:]}')"
            case _:
                family = f"symbol NOT LIKE '_{name[1]}%'"
        return f"{family} AND NOT ({self.column()} > {self.price(quote)})"

    def dates(self) -> str:
        one, two = sorted((self.quote()["date"], self.quote()["date"]))
        volume = self.quote()["volume"] or 0
        return f"date >= DATE'{one}' AND date < DATE'{two}' AND NOT volume <= {volume}"

    def everything_but(self) -> str:
        quote = self.quote()
        return f"NOT (symbol = '{quote['symbol']}' OR volume < {quote['volume'] or 7} OR open < 20)"

    def no_trades(self) -> str:
        return f"volume IS NULL AND {self.column()} < {self.price(self.quote())}"

    def nested(self) -> str:
        one, two = self.quote(), self.quote()
        return (
            f"(symbol = '{one['symbol']}' AND close < {self.price(one)}) OR (symbol = "
            f"'{two['symbol']}' AND (volume > {two['volume'] or 7}) IS NOT TRUE AND "
            f"date != DATE'{two['date']}')"
        )


@pytest.fixture(scope="module")
def asked(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Asked:
    quotes = typed(read_quotes(QUOTES) if QUOTES.exists() else made_up_quotes())
    rng = np.random.default_rng(20)
    sample = quotes.take(np.sort(rng.choice(len(quotes), EVENTS, replace=False)))
    rules = Rules(sample.slice(0, EVENTS // 2), 20).texts(RULES)
    path = tmp_path_factory.mktemp("quotes") / "quotes.parquet"
    pq.write_table(sample.append_column("row", pa.array(range(EVENTS))), path)
    return Asked(sample, rules, ask(spark.read.parquet(str(path)), rules))


def ask(table: "DataFrame", rules: list[str]) -> Matrix:
    """Which rows pass which rules, as WHERE has it: unknown is no."""
    parts = []
    with settings(table.sparkSession, {"wholeStage": "false", "factoryMode": "NO_CODEGEN"}):
        for start in range(0, len(rules), AT_ONCE):
            chunk = rules[start : start + AT_ONCE]
            answers = ", ".join(f"if(({rule}), true, false)" for rule in chunk)
            found = table.selectExpr("row", f"array({answers}) AS passed").toArrow().sort_by("row")
            flat = found["passed"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            parts.append(flat.reshape(found.num_rows, len(chunk)).astype(np.bool_))
    return np.concatenate(parts, axis=1)


def answers(index: Index, asked: Asked) -> Matrix:
    found = index.match_batch(asked.quotes)
    matrix = np.zeros((EVENTS, RULES), np.bool_)
    rows, rules = found["event"].to_numpy(), found["subscription"].cast(pa.int64()).to_numpy()
    matrix[rows, rules] = True
    assert int(matrix.sum()) == found.num_rows
    return matrix


def test_the_rules_ring_often_enough_and_not_too_often(asked: Asked) -> None:
    ringing = asked.answers.any(axis=0)
    print(f"{asked.answers.sum():,} of {asked.answers.size:,} pairs, {ringing.mean():.0%} of rules")
    assert ringing.mean() > 0.5
    assert 0.005 < asked.answers.mean() < 0.2
    assert asked.quotes["volume"].null_count > 10


@pytest.mark.parametrize("has_schema", [True, False])
def test_an_index_rings_for_whom_spark_does(asked: Asked, has_schema: bool) -> None:
    index = Index(tg.Schema(asked.quotes.schema) if has_schema else None)
    index.add_many(pa.table({"id": range(RULES), "filter": asked.rules}))
    wrong = np.argwhere(answers(index, asked) != asked.answers)
    assert [explained(index, asked, row, rule) for row, rule in wrong[:5]] == []
    assert np.array_equal(index.count_batch(asked.quotes), asked.answers.sum(axis=1))
    for row, event in enumerate(asked.quotes.slice(0, 50).to_pylist()):
        assert sorted(index.match(event)) == np.flatnonzero(asked.answers[row]).tolist()


def explained(index: Index, asked: Asked, row: int, rule: int) -> str:
    event = asked.quotes.slice(row, 1).to_pylist()[0]
    return f"Spark says {asked.answers[row, rule]}: {index.explain(int(rule), event)}"


def test_rules_with_parameters_ring_as_those_with_constants(asked: Asked) -> None:
    """Those of the commonest shape, added as columns of symbols and limits, and then moved."""
    shape = "symbol = :name AND close < :limit"
    simple = [
        (rule, *parts)
        for rule, text in enumerate(asked.rules)
        if (parts := read_simple(text)) is not None
    ]
    rules, names, limits = (list(column) for column in zip(*simple, strict=True))
    index = Index()
    cells = {"name": names, "limit": [0.0] * len(rules)}
    index.add_many(pa.table({"id": rules, **cells}), filter=shape)
    index.update_many(pa.table({"id": rules, "limit": limits}))
    expected = np.zeros_like(asked.answers)
    expected[:, rules] = asked.answers[:, rules]
    assert len(rules) > 50
    assert np.array_equal(answers(index, asked), expected)


def read_simple(text: str) -> tuple[str, float] | None:
    """Symbol and limit of a rule `symbol = '…' AND close < …D`."""
    start, _, limit = text.partition("' AND close < ")
    if not limit.endswith("D") or " " in limit or not start.startswith("symbol = '"):
        return None
    return start.removeprefix("symbol = '"), float(limit[:-1])


@pytest.mark.slow
def test_made_up_quotes_have_the_shape_of_real_ones() -> None:
    made_up = typed(made_up_quotes(stocks=8, days=20))
    assert made_up.num_rows == 160
    assert made_up["volume"].null_count > 0
    assert len(Rules(made_up, 1).texts(50)) == 50
    if QUOTES.exists():
        assert made_up.schema == typed(read_quotes(QUOTES)).schema
