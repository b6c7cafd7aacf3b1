"""Spark's tables of letters and of time zones are ours, entry by entry."""

import datetime as dt
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.filters.datetimes import to_timestamp
from tidegate.filters.letters import lower, upper

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

WORDS = [
    "ΟΔΟΣ",
    "ΑΣ.",
    "aΣb",
    "AΣ AΣB",
    "aΣ'b",
    "İI",
    "straße",
    "ŉ",
    "ﬁ",
    "aΣ\u0301",
    "ǅ",
    "ẞ",
    "1Σ",
]
REVISED = ("America/Tijuana", "America/Ensenada", "America/Santa_Isabel", "Mexico/BajaNorte")
MOMENTS = [
    dt.datetime(year, month, 29, hour, 17, 5)
    for year in (1, 1582, 1850, 1883, 1900, 1916, 1920, 1937, 1942, 1945, 1960, 1969, 1980, 2024)
    for month, hour in ((1, 0), (3, 2), (7, 12), (10, 1))
]


def read(spark: "SparkSession", folder: "Path", table: pa.Table) -> "DataFrame":
    pq.write_table(table, folder / "asked.parquet")
    return spark.read.parquet(str(folder / "asked.parquet"))


def test_every_letter_has_the_cases_that_spark_gives_it(
    spark: "SparkSession", tmp_path: "Path"
) -> None:
    texts = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000] + WORDS
    table = read(spark, tmp_path, pa.table({"s": texts}))
    rows = table.selectExpr("s", "lower(s) l", "upper(s) u").where("s != l OR s != u").collect()
    assert len(rows) > 2_500
    theirs = {row.s: (row.l, row.u) for row in rows}
    ours = {text: (lower(text), upper(text)) for text in texts}
    assert {text: cases for text, cases in ours.items() if cases != (text, text)} == theirs


def test_every_region_is_as_far_from_utc_as_it_is_for_spark(
    spark: "SparkSession", tmp_path: "Path"
) -> None:
    """But for regions whose past was revised after the edition that we have."""
    known = spark.sparkContext._jvm.java.time.ZoneId.getAvailableZoneIds()  # type: ignore[union-attr]
    regions = sorted(z for z in known if "/" in z and "SystemV" not in z and z not in REVISED)
    assert len(regions) > 500
    texts = [f"{at:%m-%d %H:%M:%S} {zone}" for zone in regions for at in MOMENTS]
    years = [f"{at.year:04d}" for _ in regions for at in MOMENTS]
    rows = pa.table({"t": [f"{year}-{text}" for year, text in zip(years, texts, strict=True)]})
    epoch = dt.datetime(1970, 1, 1)
    wrong = [
        row.t
        for row in read(spark, tmp_path, rows)
        .selectExpr("t", "unix_micros(CAST(t AS TIMESTAMP)) u")
        .collect()
        if (to_timestamp(row.t) - epoch) // dt.timedelta(microseconds=1) != row.u
    ]
    assert wrong == []
