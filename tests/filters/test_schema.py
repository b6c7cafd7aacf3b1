"""A schema can be written in four ways, says what each attribute holds, and refuses the rest."""

import datetime as dt
import math
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import types as spark

from tests.generate import POOLS
from tidegate import Attribute, FilterTypeError, Schema, SchemaError, covers, parse
from tidegate.filters.compare import compare
from tidegate.filters.types import read_type
from tidegate.filters.values import OTHER

TYPES: list[tuple[str, Any, Any, str]] = [  # in DDL, Arrow and Spark; the name it has here
    ("BOOLEAN", pa.bool_(), spark.BooleanType(), "boolean"),
    ("TINYINT", pa.int8(), spark.ByteType(), "tinyint"),
    ("SMALLINT", pa.int16(), spark.ShortType(), "smallint"),
    ("INT", pa.int32(), spark.IntegerType(), "int"),
    ("BIGINT", pa.int64(), spark.LongType(), "bigint"),
    ("FLOAT", pa.float32(), spark.FloatType(), "float"),
    ("DOUBLE", pa.float64(), spark.DoubleType(), "double"),
    ("DECIMAL(10,2)", pa.decimal128(10, 2), spark.DecimalType(10, 2), "decimal(10,2)"),
    ("DECIMAL(38,38)", pa.decimal128(38, 38), spark.DecimalType(38, 38), "decimal(38,38)"),
    ("STRING", pa.string(), spark.StringType(), "string"),
    ("DATE", pa.date32(), spark.DateType(), "date"),
    ("TIMESTAMP", pa.timestamp("us", "UTC"), spark.TimestampType(), "timestamp"),
]
REFUSED: list[tuple[str, Any, Any, str]] = [  # and why nothing can be said about it
    ("BINARY", pa.binary(), spark.BinaryType(), "binary"),
    ("ARRAY<INT>", pa.list_(pa.int32()), spark.ArrayType(spark.IntegerType()), "array"),
    (
        "MAP<STRING, INT>",
        pa.map_(pa.string(), pa.int32()),
        spark.MapType(spark.StringType(), spark.IntegerType()),
        "entries of a map",
    ),
    ("TIME", pa.time64("us"), spark.StringType("UNICODE_CI"), ""),
]


def described(schema: Schema) -> dict[str, tuple[str, bool]]:
    return {name: (schema[name].type.name, schema[name].nullable) for name in schema}


@pytest.mark.parametrize(("ddl", "arrow", "from_spark", "name"), TYPES)
def test_a_type_is_the_same_however_it_is_written(
    ddl: str, arrow: Any, from_spark: Any, name: str
) -> None:
    schemas = [
        Schema(f"x {ddl}"),
        Schema({"x": ddl}),
        Schema({"x": f"  {name.upper()} "}),
        Schema({"x": read_type(name)}),
        Schema({"x": Attribute(name)}),
        Schema(pa.schema([("x", arrow)])),
        Schema(spark.StructType([spark.StructField("x", from_spark)])),
    ]
    for schema in schemas:
        assert described(schema) == {"x": (name, True)}
        assert schema == schemas[0]
        assert hash(schema) == hash(schemas[0])


@pytest.mark.parametrize(("ddl", "arrow", "from_spark", "reason"), REFUSED)
def test_a_type_the_language_cannot_compare_is_in_the_schema_with_the_reason(
    ddl: str, arrow: Any, from_spark: Any, reason: str
) -> None:
    for schema in (
        Schema(f"x {ddl}, y INT"),
        Schema({"x": ddl, "y": "int"}),
        Schema(pa.schema([("x", arrow), ("y", pa.int32())])),
        Schema(spark.StructType().add("x", from_spark).add("y", spark.IntegerType())),
    ):
        assert reason in (schema["x"].type.refusal or "")
        with pytest.raises(FilterTypeError, match="x is of type"):
            parse("x IS NULL", schema)
        assert parse("y = 1", schema).matches({"x": b"bytes", "y": 1})


@pytest.mark.parametrize(
    ("written", "name"),
    [
        *(("bool", "boolean"), ("byte", "tinyint"), ("short", "smallint"), ("integer", "int")),
        *(("long", "bigint"), ("real", "float"), ("text", "string"), ("varchar(5)", "string")),
        *(
            ("decimal", "decimal(10,0)"),
            ("numeric(5)", "decimal(5,0)"),
            ("dec(5, 2)", "decimal(5,2)"),
        ),
        *(("timestamp_ltz", "timestamp"), ("timestamp_ntz", "timestamp_ntz")),
        ("string collate utf8_binary", "string"),
    ],
)
def test_types_have_the_other_names_that_spark_gives_them(written: str, name: str) -> None:
    assert described(Schema({"x": written})) == {"x": (name, True)}


@pytest.mark.parametrize(
    "written",
    ["char(5)", "character(5)", "string collate utf8_lcase", "variant", "interval day", "void"],
)
def test_other_types_of_spark_are_known_and_refused(written: str) -> None:
    assert Schema({"x": written})["x"].type.refusal


@pytest.mark.parametrize(
    "kind", [spark.VariantType(), spark.NullType(), spark.CharType(3), spark.GeometryType(4326)]
)
def test_other_columns_of_a_spark_schema_do_not_keep_it_from_being_read(kind: Any) -> None:
    schema = Schema(spark.StructType().add("x", kind).add("y", spark.IntegerType()))
    assert schema["x"].type.refusal
    assert schema["y"].type.name == "int"


@pytest.mark.parametrize(
    ("arrow", "name"),
    [
        *((pa.uint8(), "smallint"), (pa.uint16(), "int"), (pa.uint32(), "bigint")),
        *((pa.float16(), "float"), (pa.large_string(), "string"), (pa.string_view(), "string")),
        *(
            (pa.date64(), "date"),
            (pa.timestamp("ns"), "timestamp_ntz"),
            (pa.decimal256(20, 3), "decimal(20,3)"),
        ),
        (pa.dictionary(pa.int32(), pa.string()), "string"),
    ],
    ids=str,
)
def test_types_of_arrow_widen_exactly(arrow: Any, name: str) -> None:
    assert Schema(pa.schema([("x", arrow)]))["x"].type.name == name


@pytest.mark.parametrize(
    "arrow", [pa.uint64(), pa.null(), pa.decimal256(60, 3), pa.duration("s"), pa.binary(4)], ids=str
)
def test_types_that_only_arrow_has_are_refused_with_a_reason(arrow: Any) -> None:
    schema = Schema(pa.schema([("x", arrow)]))
    with pytest.raises(FilterTypeError, match="x is of type"):
        parse("x = 1", schema)


def nested_schemas() -> list[Schema]:
    inner = spark.StructType(
        [
            spark.StructField("price", spark.DoubleType()),
            spark.StructField("limit price", spark.LongType(), nullable=False),
        ]
    )
    arrow = pa.struct(
        [("price", pa.float64()), pa.field("limit price", pa.int64(), nullable=False)]
    )
    return [
        Schema("trade STRUCT<price: DOUBLE, `limit price`: BIGINT NOT NULL>, id BIGINT NOT NULL"),
        Schema(spark.StructType().add("trade", inner).add("id", spark.LongType(), nullable=False)),
        Schema(pa.schema([("trade", arrow), pa.field("id", pa.int64(), nullable=False)])),
        Schema(
            {
                "trade": {"price": "double", "limit price": Attribute("bigint", nullable=False)},
                "id": Attribute("bigint", nullable=False),
            }
        ),
        Schema(
            {
                "trade": "struct<price:double,`limit price`:bigint>",
                "id": Attribute("bigint", nullable=False),
            }
        ),
        Schema(
            {
                "trade": "struct",
                "trade.price": "double",
                "trade.`limit price`": "bigint",
                "id": Attribute("long", nullable=False),
            }
        ),
    ]


def test_fields_of_structs_are_attributes_and_null_where_the_struct_is() -> None:
    for schema in nested_schemas():
        assert described(schema) == {
            "trade": ("struct", True),
            "trade.price": ("double", True),
            "trade.`limit price`": ("bigint", True),
            "id": ("bigint", False),
        }
        assert schema == nested_schemas()[0]
        assert parse("trade.`limit price` = 5", schema).matches({"trade": {"limit price": 5}})
        assert parse("trade IS NOT NULL", schema).matches({"trade": {}})
        assert parse("trade.price IS NULL", schema).matches({"trade": None})
        with pytest.raises(FilterTypeError, match="is a struct"):
            parse("trade = 5", schema)


def test_fields_that_cannot_be_null_stay_so_in_structs_that_cannot() -> None:
    schema = Schema("a STRUCT<b: STRUCT<c: INT NOT NULL> NOT NULL, d: INT> NOT NULL")
    assert described(schema) == {
        "a": ("struct", False),
        "a.b": ("struct", False),
        "a.b.c": ("int", False),
        "a.d": ("int", True),
    }


def test_columns_are_nullable_unless_they_say_not_null() -> None:
    schema = Schema(
        "a INT, b INT NOT NULL, c INT COMMENT 'NOT NULL', d INT NULL, `e f` STRING NOT NULL"
    )
    assert [schema[name].nullable for name in schema] == [True, False, True, True, False]
    assert list(schema) == ["a", "b", "c", "d", "`e f`"]
    assert len(schema) == 5
    assert "`e f`" in schema
    assert "e f" not in schema


@pytest.mark.parametrize(
    "source",
    [
        *(
            "a",
            "INT",
            "a INT b",
            "a INT); DROP TABLE t; --",
            "a.b INT",
            "a NONSENSE",
        ),
        *(
            "a DECIMAL(39,0)",
            "a DECIMAL(5,6)",
            "a STRUCT<INT>",
            "a STRUCT<b>",
            "a: INT",
            "a INT DEFAULT 5",
            "a INT COMMENT",
            "a ARRAY<INT",
            "a DECIMAL(x)",
            "a STRUCT<b: INT>>",
            "a INT,",
            "a INT, a INT",
        ),
        "a " + "STRUCT<a: " * 500 + "INT" + ">" * 500,
    ],
)
def test_a_ddl_that_spark_could_not_read_is_refused(source: str) -> None:
    with pytest.raises(SchemaError):
        Schema(source)


def test_words_of_sql_are_names_of_columns_as_they_are_for_spark() -> None:
    schema = Schema(
        "select INT, from STRING NOT NULL COMMENT 'a \"name\"', `1 a` DATE, 1b INT -- x"
    )
    assert list(schema) == ["select", "from", "`1 a`", "`1b`"]
    assert [schema[name].nullable for name in schema] == [True, False, True, True]
    nested = Schema("a STRUCT<b INT, c: ARRAY<STRUCT<d: INT>>, e: STRUCT<>> COMMENT 'x', f TIME(3)")
    assert list(nested) == ["a", "a.b", "a.c", "a.e", "f"]
    assert nested["a.c"].type.name == "array<struct>"


@pytest.mark.parametrize(
    "source",
    [
        *(
            {"a": "nonsense"},
            {"a": 5},
            {"a": None},
            {5: "int"},
            {None: "int"},
            {"": "int"},
            {"a.": "int"},
        ),
        *(
            {"a`b": "int"},
            {"a": {"b": None}},
            {"a": {5: "int"}},
            {"a": {"": "int"}},
            {"a": "struct<b"},
        ),
        *({"a": "int", "`a`": "int"}, {"a": {"b": "int"}, "a.b": "int"}, {"a": "decimal(x)"}),
        *({"a": "decimal(1,2,3)"}, 5, None, ["a INT"], b"a INT", pa.array([1]), pa.int32()),
        pa.schema([("a", pa.int32()), ("a", pa.int32())]),
    ],
    ids=lambda source: str(source)[:40],
)
def test_what_is_no_schema_is_refused(source: Any) -> None:
    with pytest.raises(SchemaError):
        Schema(source)


def test_an_empty_schema_has_no_attributes() -> None:
    sources: list[Any] = ["", "  ", {}, pa.schema([]), spark.StructType()]
    for source in sources:
        assert len(Schema(source)) == 0
        assert parse("TRUE", Schema(source)).matches({})
        with pytest.raises(FilterTypeError, match="no attribute x"):
            parse("x = 1", Schema(source))


def test_schemas_are_equal_if_their_attributes_and_their_checking_are() -> None:
    schema = Schema("a INT, b STRING")
    assert schema == Schema("b STRING, a INT")
    assert hash(schema) == hash(Schema("b STRING, a INT"))
    for other in (
        Schema("a INT, b STRING", checked=True),
        Schema("a INT, b STRING NOT NULL"),
        Schema("a INT, b DATE"),
        Schema("a INT"),
        Schema({"a": Attribute("int", low=0), "b": "string"}),
    ):
        assert schema != other
    assert schema != "a INT, b STRING"
    assert repr(schema) == "Schema({a: int, b: string})"
    assert repr(Schema("a INT", checked=True)) == "Schema({a: int}, checked=True)"


def test_a_schema_survives_pickling_with_the_filters_read_under_it() -> None:
    schema = Schema(
        {"a": Attribute("date", values=[dt.date(2024, 1, 1)]), "b": "string"}, checked=True
    )
    parse("a = '2024-01-01' AND b LIKE 'x%'", schema)
    copy = pickle.loads(pickle.dumps(schema))
    assert copy == schema
    assert hash(copy) == hash(schema)
    assert copy.checked
    assert parse("a = '2024-01-01'", copy) == parse("a = '2024-01-01'", schema)


# What an attribute holds


@pytest.mark.parametrize("name", POOLS)
def test_values_of_the_type_are_held_as_they_are(name: str) -> None:
    own = read_type(name)
    for value in POOLS[name]:
        held = own.conform(value)
        assert held is not OTHER
        assert compare(held, value) == 0
    assert own.conform(None) is None


@pytest.mark.parametrize(
    ("name", "value", "held"),
    [
        ("tinyint", 127, 127),
        ("tinyint", 128, OTHER),
        ("tinyint", -129, OTHER),
        ("smallint", 2**15, OTHER),
        ("int", 2**31, OTHER),
        ("bigint", 2**63, OTHER),
        ("bigint", True, OTHER),
        ("bigint", 1.0, OTHER),
        ("bigint", "1", OTHER),
        ("bigint", np.int8(5), 5),
        ("double", 5, 5.0),
        ("double", 2**53 + 1, 2.0**53),
        ("double", Decimal("0.5"), OTHER),
        ("double", True, OTHER),
        ("double", np.float32(0.1), 0.10000000149011612),
        ("float", 0.1, 0.10000000149011612),
        ("float", 1e300, math.inf),
        ("float", -1e300, -math.inf),
        ("float", 16777217, 16777216.0),
        ("decimal(4,1)", Decimal("1.5"), Decimal("1.5")),
        ("decimal(4,1)", Decimal("1.50"), Decimal("1.5")),
        ("decimal(4,1)", Decimal("1.55"), OTHER),
        ("decimal(4,1)", Decimal("999.9"), Decimal("999.9")),
        ("decimal(4,1)", Decimal("1000"), OTHER),
        ("decimal(4,1)", 5, Decimal(5)),
        ("decimal(4,1)", 1.5, OTHER),
        ("decimal(4,1)", Decimal("NaN"), OTHER),
        ("string", "a", "a"),
        ("string", b"a", OTHER),
        ("boolean", 1, OTHER),
        ("boolean", np.True_, True),
        ("date", dt.date(2024, 1, 1), dt.date(2024, 1, 1)),
        ("date", dt.datetime(2024, 1, 1), OTHER),
        ("timestamp", dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)),
        (
            "timestamp",
            dt.datetime(2024, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))),
            dt.datetime(2024, 1, 1),
        ),
        ("struct", {"a": 1}, OTHER),
    ],
)
def test_conform_brings_a_value_to_the_type_or_calls_it_other(
    name: str, value: Any, held: Any
) -> None:
    found = read_type(name).conform(value)
    assert found == held
    assert type(found) is type(held)


def test_a_value_that_violates_the_schema_is_present_and_compares_with_nothing() -> None:
    schema = Schema("x BIGINT")
    for value in ("text", 1.5, 2**70, b"bytes", [1], {"a": 1}):
        for text in (
            "x = 1",
            "x != 1",
            "x IS NULL",
            "x IN (1)",
            "x NOT IN (1)",
            "(x = 1) IS NOT TRUE",
        ):
            assert not parse(text, schema).matches({"x": value}), (text, value)
        assert parse("x IS NOT NULL", schema).matches({"x": value})


# Domains, and whether events are checked


def test_a_domain_is_relied_on_only_where_events_are_checked() -> None:
    attribute = Attribute("bigint", nullable=False, low=1, high=5)
    values: list[Any] = [None, 0, 1, 5, 6, OTHER]
    held = {
        checked: [
            value for value in values if attribute.universe(checked).has(value, attribute.lines)
        ]
        for checked in (True, False)
    }
    assert held == {True: [1, 5], False: values}
    for checked in (True, False):
        schema = Schema({"x": attribute, "y": "bigint"}, checked=checked)
        everything, most = parse("x BETWEEN 1 AND 5", schema), parse("x IS NOT NULL", schema)
        assert covers(everything, most) is checked
        assert (parse("x IN (1, 2, 3, 4, 5)", schema) == parse("TRUE", schema)) is checked
        assert (parse("x = 6 OR y = 1", schema) == parse("y = 1", schema)) is checked


@pytest.mark.parametrize(
    ("attribute", "inside", "outside"),
    [
        (Attribute("int", low=0), [0, 5, 2**31 - 1, None], [-1]),
        (Attribute("double", high=1.5), [1.5, -math.inf, None], [1.5000000000000002, math.nan]),
        (
            Attribute("decimal(4,1)", low=Decimal("0.5"), high=2),
            [Decimal("0.5"), Decimal(2)],
            [Decimal("2.1")],
        ),
        (Attribute("string", low="a", high="c"), ["a", "bzzz", "c"], ["", "c\0", "d"]),
        (Attribute("string", values=["x", "y"]), ["x", "y", None], ["", "z", "xx"]),
        (Attribute("bigint", values=[1, 5, 9]), [1, 5, 9, None], [0, 2, 4, 6, 10]),
        (Attribute("boolean", values=[True], nullable=False), [True], [False, None]),
        (
            Attribute("date", low=dt.date(2024, 1, 1)),
            [dt.date(2024, 1, 1)],
            [dt.date(2023, 12, 31)],
        ),
        (Attribute("float", values=[0.1]), [0.10000000149011612], [0.1]),
        (
            Attribute("timestamp", high=dt.date(2024, 1, 1)),
            [dt.datetime(2024, 1, 1)],
            [dt.datetime(2024, 1, 1, 1)],
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_domain_holds_its_ends_and_nothing_beyond(
    attribute: Attribute, inside: list[Any], outside: list[Any]
) -> None:
    held = attribute.universe(checked=True)
    for value in inside:
        assert held.has(value, attribute.lines), value
    for value in (*outside, OTHER):
        if not (isinstance(value, float) and attribute.type.name == "float"):
            assert not held.has(value, attribute.lines), value


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("bigint", {"low": 5, "high": 1}),
        ("bigint", {"low": "a"}),
        ("bigint", {"low": 1.5}),
        ("bigint", {"values": []}),
        ("bigint", {"values": [1, None]}),
        ("bigint", {"values": [1], "low": 0}),
        ("tinyint", {"high": 128}),
        ("string", {"values": [5]}),
        ("struct", {"low": 1}),
        ("binary", {"values": [b"a"]}),
    ],
)
def test_a_domain_that_the_type_cannot_have_is_refused(name: str, domain: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        Attribute(name, **domain)


def test_an_attribute_of_an_unknown_type_is_refused() -> None:
    with pytest.raises(
        SchemaError, match="unknown type 'number'; the language's types are boolean"
    ):
        Attribute("number")
