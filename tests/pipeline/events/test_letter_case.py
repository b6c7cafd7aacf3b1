"""Columns that are not there, or only in another case, are pointed out, and in time."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import tidegate as tg
from tidegate.cli import app
from tidegate.errors import SchemaError, TidegateWarning
from tidegate.pipeline import Store, gather, match
from tidegate.pipeline.analysis.jobs import analyse
from tidegate.pipeline.bases import compile_job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = tg.Schema("symbol STRING, price DOUBLE")
SHOUTED = "'price' is 'PRICE' there"


@pytest.fixture(params=[SCHEMA, None], ids=["schema", "no schema"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    made = Store.create(tmp_path / "store", request.param)
    made.add("a", "price < 10")
    return made


@pytest.fixture
def shouting(spark: "SparkSession") -> "DataFrame":
    return spark.createDataFrame([("IBM", 9.5)], "symbol STRING, PRICE DOUBLE")


@contextmanager
def warned() -> Iterator[None]:
    """Some warning points it out; Spark's own do not count."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    ours = [str(each.message) for each in caught if each.category is TidegateWarning]
    assert len(ours) == 1
    assert SHOUTED in ours[0]


@pytest.mark.parametrize("sensitive", ["true", "false"])
def test_a_column_in_another_case_is_pointed_out_and_not_matched(
    store: Store, shouting: "DataFrame", spark: "SparkSession", sensitive: str
) -> None:
    spark.conf.set("spark.sql.caseSensitive", sensitive)
    try:
        with warned():
            assert match(shouting, store).count() == 0
    finally:
        spark.conf.set("spark.sql.caseSensitive", "true")


def test_counting_and_analysing_point_it_out_as_well(
    tmp_path: Path, shouting: "DataFrame", spark: "SparkSession"
) -> None:
    store = Store.create(tmp_path / "store", SCHEMA)
    with warned():
        gather(shouting, store)
    with warned():
        analyse(spark, store, events=shouting.limit(0))


@pytest.mark.usefixtures("spark")
def test_a_command_says_so_in_a_line(tmp_path: Path) -> None:
    Store.create(tmp_path / "store", SCHEMA).add("a", "price < 10")
    (tmp_path / "trades.json").write_text('{"symbol": "IBM", "PRICE": 9.5}\n')
    (tmp_path / "schema.ddl").write_text("symbol STRING, PRICE DOUBLE")
    arguments = ["match", "--subscriptions", tmp_path / "store", "--events"]
    arguments += [tmp_path / "trades.json", "--schema", tmp_path / "schema.ddl"]
    said = CliRunner().invoke(app, [*map(str, arguments), "--out", str(tmp_path / "out")])
    assert said.exit_code == 0, said.output
    assert "warning: the events have columns" in said.stderr
    assert SHOUTED in said.stderr


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (["nothing"], "no column 'nothing'; they have symbol, price, version"),
        (["PRICE"], "no column 'PRICE'; there is 'price', and case counts"),
        (["price", "price"], "'price' was chosen more than once"),
        (None, "a column 'version' of their own"),
    ],
)
def test_columns_are_refused_before_anything_is_compiled(
    tmp_path: Path,
    spark: "SparkSession",
    monkeypatch: pytest.MonkeyPatch,
    columns: list[str] | None,
    reason: str,
) -> None:
    def compiled(*arguments: object, **options: object) -> None:
        raise AssertionError("a base was compiled")

    monkeypatch.setattr(compile_job, "ensure_base", compiled)
    store = Store.create(tmp_path / "store")
    events = spark.createDataFrame([], "symbol STRING, price DOUBLE, version INT")
    with pytest.raises(SchemaError, match=reason):
        match(events, store, columns=columns)


@pytest.mark.usefixtures("spark")
def test_a_command_refuses_columns_before_it_imports_subscriptions(tmp_path: Path) -> None:
    (tmp_path / "rules.csv").write_text("id,filter\na,price <\n")
    (tmp_path / "trades.csv").write_text("symbol,price\nIBM,9.5\n")
    arguments = ["match", "--subscriptions", tmp_path / "rules.csv", "--events"]
    arguments += [tmp_path / "trades.csv", "--columns", "symbol,prize", "--out", tmp_path / "out"]
    said = CliRunner().invoke(app, list(map(str, arguments)))
    assert said.exit_code == 2
    assert "no column 'prize'" in said.stderr
    assert "rules.csv" not in said.stderr
