"""Literals mean what Spark says they mean, and what is spelled is read back."""

import json
import math
import random
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tidegate.filters.literals import (
    NUMBER,
    STRING,
    decode,
    negate,
    spell,
    to_bigint,
    to_boolean,
    to_date,
    to_double,
    to_timestamp,
)
from tidegate.filters.values import Constant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIXTURE = Path(__file__).parents[1] / "fixtures" / "literals.txt"
EPOCH = datetime(1970, 1, 1)

PYTHON_TYPES = {
    "void": type(None),
    "boolean": bool,
    "tinyint": int,
    "smallint": int,
    "int": int,
    "bigint": int,
    "float": float,
    "double": float,
    "decimal": Decimal,
    "string": str,
    "date": date,
    "timestamp": datetime,
}


class Case(NamedTuple):
    spelling: str
    spark_type: str | None  # None: refused
    value: Constant
    spark_accepts: bool

    @property
    def python_type(self) -> type:
        assert self.spark_type is not None
        return PYTHON_TYPES[self.spark_type.partition("(")[0]]


READERS: dict[type, Callable[[str], Constant]] = {
    type(None): lambda text: None,
    bool: lambda text: {"true": True, "false": False}[text],
    int: int,
    float: float,
    Decimal: Decimal,
    str: json.loads,
    date: date.fromisoformat,
    datetime: datetime.fromisoformat,
}


def read_fixture() -> Iterator[Case]:
    for block in FIXTURE.read_text("utf-8").split("\n\n"):
        if block.startswith("-- "):
            continue
        spelling, answer = block.strip("\n").split("\n")
        if answer.startswith("refused"):
            yield Case(spelling, None, None, spark_accepts=answer.startswith("refused here: "))
        else:
            spark_type, _, value = answer.partition(" ")
            case = Case(spelling, spark_type, None, spark_accepts=True)
            yield case._replace(value=READERS[case.python_type](value))


CASES = list(read_fixture())
ACCEPTED = [case for case in CASES if case.spark_type is not None]
REFUSED = [case for case in CASES if case.spark_type is None]


def same(one: object, other: object) -> bool:
    """Equal, of the same type, the same sign of zero, the same scale, NaN equal to itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    if isinstance(one, Decimal) and isinstance(other, Decimal):
        return one.as_tuple() == other.as_tuple()
    return one == other


def ask_spark(spark: "SparkSession", spellings: list[str]) -> list[tuple[str, Any]]:
    """Type and value of each spelling, all in one query.

    Dates and timestamps come back as numbers of days and microseconds since 1970: the driver would
    turn them into local time otherwise.
    """
    columns = ", ".join(f"{spelling} AS c{i}" for i, spelling in enumerate(spellings))
    constants = spark.sql(f"SELECT {columns}")
    types = [field.dataType.simpleString() for field in constants.schema]
    wrap = {"date": "unix_date(c{})", "timestamp": "unix_micros(c{})"}
    [row] = constants.selectExpr(
        *(wrap.get(kind, "c{}").format(i) for i, kind in enumerate(types))
    ).collect()
    return list(zip(types, row, strict=True))


def as_spark_collects(value: Constant) -> Any:
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - EPOCH.date()).days
    return value


def equals_spark(value: Constant, collected: Any) -> bool:
    """Whether `value` is what Spark answered; a decimal's scale is in its type, not here."""
    if isinstance(value, Decimal):
        return isinstance(collected, Decimal) and value == collected
    return same(as_spark_collects(value), collected)


def test_the_fixture_is_read_whole() -> None:
    assert len(CASES) > 350
    assert len({case.spelling for case in CASES}) == len(CASES)
    assert len(ACCEPTED) > 200
    assert len(REFUSED) > 100


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: ascii(case.spelling))
def test_a_literal_has_the_value_the_fixture_says(case: Case) -> None:
    value = decode(case.spelling)
    assert type(value) is case.python_type
    assert same(value, case.value)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: ascii(case.spelling))
def test_a_refusal_says_what_is_wrong(case: Case) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode(case.spelling)


def test_spark_gives_the_fixture_its_types_and_values(spark: "SparkSession") -> None:
    answers = ask_spark(spark, [case.spelling for case in ACCEPTED])
    assert [case.spark_type for case in ACCEPTED] == [spark_type for spark_type, _ in answers]
    wrong = [
        (case, answer)
        for case, (_, answer) in zip(ACCEPTED, answers, strict=True)
        if not equals_spark(case.value, answer)
    ]
    assert wrong == []
    for case in ACCEPTED:
        if isinstance(case.value, Decimal):
            scale = case.value.as_tuple().exponent
            assert case.spark_type is not None
            assert case.spark_type.endswith(f",{-int(scale)})")


def test_spark_refuses_what_the_fixture_says_it_refuses(spark: "SparkSession") -> None:
    from pyspark.errors import PySparkException

    def accepts(spelling: str) -> bool:
        try:
            spark.sql(f"SELECT {spelling}")  # read and analysed, not run
        except PySparkException:
            return False
        return True

    casts = [case for case in REFUSED if case.spelling.startswith("CAST(")]
    literals = [case for case in REFUSED if case not in casts]
    wrong = [case for case in literals if accepts(case.spelling) is not case.spark_accepts]
    tried = (f"try_{case.spelling} IS NOT NULL" for case in casts)
    [row] = spark.sql(f"SELECT {', '.join(tried)}").collect()
    wrong += [case for case, ok in zip(casts, row, strict=True) if ok is not case.spark_accepts]
    assert wrong == []


TEXT = st.text() | st.text("'\"\\%_nrtuU01b \n\t\0\x1a\x7f\x85\u2028é😀", max_size=8)
TEXT |= st.text(st.characters(min_codepoint=0x10000), max_size=3)
CONSTANTS: st.SearchStrategy[Constant] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([2**63 - 1, -(2**63), -0.0, math.nan, math.inf, -math.inf, 5e-324, 1e22]),
    st.floats().map(lambda x: math.nan if math.isnan(x) else x),
    st.builds(
        lambda unscaled, scale: Decimal(f"{unscaled}E-{scale}"),
        st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-100, 100),
        st.integers(0, 38),
    ),
    TEXT,
    st.dates(),
    st.datetimes(),
)


@given(CONSTANTS)
def test_what_is_spelled_is_read_back(constant: Constant) -> None:
    assert same(decode(spell(constant)), constant)


@given(CONSTANTS)
def test_a_spelling_is_one_printable_line(constant: Constant) -> None:
    assert len(spell(constant).splitlines()) == 1
    assert re.search(r"[\x00-\x1f\x7f-\x9f]", spell(constant)) is None


@given(TEXT)
def test_a_spelled_string_is_one_token(text: str) -> None:
    assert re.fullmatch(STRING, spell(text))


def drawn(strategy: st.SearchStrategy[Constant], count: int) -> list[Constant]:
    """That many examples of a strategy, to be given to Spark in one job."""
    examples: list[Constant] = []

    @settings(max_examples=count, phases=[Phase.generate])
    @given(strategy)
    def draw(example: Constant) -> None:
        examples.append(example)

    draw()
    return examples


def test_spark_reads_what_is_spelled(spark: "SparkSession") -> None:
    constants = drawn(CONSTANTS, 500)
    assert len({type(constant) for constant in constants}) == len(set(PYTHON_TYPES.values()))
    answers = ask_spark(spark, [spell(constant) for constant in constants])
    wrong = [
        (constant, answer)
        for constant, answer in zip(constants, answers, strict=True)
        if PYTHON_TYPES[answer[0].partition("(")[0]] is not type(constant)
        or not equals_spark(constant, answer[1])
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("constant", "spelling"),
    [
        (Decimal("1E+2"), "100BD"),
        (Decimal("-0.00"), "0.00BD"),
        (Decimal("0E+50"), "0BD"),
        (1e300, "1E300D"),
        (-0.0, "-0.0D"),
        (-(2**63), "-9223372036854775808"),
        ("\0" + "01", r"'\u000001'"),
        (r"100\%", r"'100\\%'"),
        (date(44, 3, 15), "DATE '0044-03-15'"),
        (datetime(1, 1, 1, 0, 0, 0, 500_000), "TIMESTAMP '0001-01-01 00:00:00.5'"),
        (datetime(2020, 1, 31, 12), "TIMESTAMP '2020-01-31 12:00:00'"),
    ],
)
def test_spellings_people_will_see(constant: Constant, spelling: str) -> None:
    assert spell(constant) == spelling


@pytest.mark.parametrize(
    "constant",
    [2**63, -(2**63) - 1, Decimal(10**38), Decimal("1E-39"), Decimal("NaN"), "\ud800"],
)
def test_what_spark_has_no_constant_for_has_no_spelling(constant: Constant) -> None:
    with pytest.raises(ValueError, match=r"pass|at most 38|half a character"):
        spell(constant)


def test_a_timestamp_with_a_zone_has_no_spelling() -> None:
    with pytest.raises(ValueError, match="naive"):
        spell(datetime.fromisoformat("2020-01-31T12:00:00+02:00"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9223372036854775808", -(2**63)),
        ("9223372036854775808L", -(2**63)),
        ("128y", -128),
        ("9223372036854775809", Decimal(-(2**63) - 1)),
        ("0.0", Decimal("0.0")),
        ("0D", -0.0),
        ("99999999999999999999999999999999999999", Decimal(1 - 10**38)),
    ],
)
def test_a_minus_sign_belongs_to_the_number(text: str, value: Constant) -> None:
    assert same(negate(text), value)


@pytest.mark.parametrize("text", ["'5'", "129Y", "-5", "", "TRUE", "1e309"])
def test_not_everything_has_a_negative(text: str) -> None:
    with pytest.raises(ValueError, match="write"):
        negate(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("128Y", "128Y is beyond tinyint (-128 to 127): write 128"),
        ("1e39BD", "1e39BD has more than 38 digits"),
        (r"'\ud800'", r"\ud800 is half a character"),
        ("'\udc00'", r"\udc00 is half a character"),
        ("'abc", "close it with its quote"),
        ("DATE 'now'", "write the date itself"),
        ("DATE '10000-01-01'", "year 10000 is outside 0001..9999"),
        ("TIMESTAMP '12:00:00'", "write the date before the time"),
        ("TIMESTAMP '2020-01-31 12:00:00 PST'", "a region such as Europe/Paris"),
        ("CAST('5.0' AS BIGINT)", "'5.0' is not a bigint: write digits only"),
    ],
)
def test_reasons_people_will_see(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        decode(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a=1.5 AND b1<.5e-3", ["1.5", ".5e-3"]),
        ("a IN(1,2L,-3)", ["1", "2L", "3"]),
        ("a = 5.= b", ["5."]),
        ("a.5 1a 1_0 1e 1.5e :5 1.5L 1LL é1 1é x.1", []),
        ("1..5", ["1."]),
        ("a='x'AND b=\"y\" 'z'", ["'x'", "\"y\" 'z'"]),
        ("DATE'2020-01-31'", ["'2020-01-31'"]),
        (r"bar'x' r'\' 'a'r'b'", ["'x' r'\\' 'a'r'b'"]),
        (r"a = '\'' AND b = ''''", [r"'\''", "''''"]),
        ("'a' + 'b", ["'a'"]),
        ("'a\nb'", ["'a\nb'"]),
        ("'a'\u00a0\u3000\n'b'", ["'a'\u00a0\u3000\n'b'"]),
        ("'a'\u200b'b'", ["'a'", "'b'"]),
    ],
)
def test_where_a_literal_begins_and_ends(text: str, tokens: list[str]) -> None:
    assert re.findall(f"{STRING}|{NUMBER}", text) == tokens


PLAIN = [case.spelling for case in ACCEPTED if re.match(r"""[-.0-9'"]|[rR]['"]""", case.spelling)]


@pytest.mark.parametrize("spelling", PLAIN, ids=ascii)
def test_a_plain_literal_is_one_token(spelling: str) -> None:
    assert re.fullmatch(f"{STRING}|{NUMBER}", spelling.removeprefix("-").lstrip())


@pytest.mark.parametrize(
    "hostile",
    [
        "'" + "a" * 1_000_000,
        "'" + "''" * 500_000 + "a",
        "'" + r"\'" * 500_000,
        "'" + "\\" * 1_000_001,
        "r'" + "\\" * 1_000_000,
        "'a' " * 250_000 + "'",
        "'a'" + " " * 1_000_000 + "'",
        "\"'" * 500_000,
        "1" * 1_000_000 + "a",
        "1." * 500_000,
        "1e" * 500_000,
    ],
    ids=lambda hostile: ascii(hostile[:6]),
)
def test_hostile_text_is_read_in_one_pass(hostile: str) -> None:
    token = re.compile(f"{STRING}|{NUMBER}")
    found = token.match(hostile)
    assert found is None or found.end() < len(hostile)
    with pytest.raises(ValueError, match=r"write|close"):
        decode(hostile)


SEEDS = [
    *("2020-01-31 12:34:56.789", "2020-1-3", "1969-12-31T23:59:59Z", "0001-01-01 00:00:00+02:00"),
    *("2020-03-29 02:30:00 Europe/Paris", "1900-07-01 1:2:3 America/New_York", "2020"),
    *("2020-01-31 00:00:00 GMT-8:30", "2020-01-31 00:00:00+1234", "2020-01-31 00:00:00-1:2:03"),
    *("5", "-12", "+9223372036854775807", "-9223372036854775808", "0007"),
    *("1.5", "-2.25e10", "NaN", "-Infinity", "+inf", "0x1.8p3", "1e400", ".5d", "3f", "1e-320"),
    *("true", "False", "yes", "no", "t", "F", "1", "0"),
]
CASTS: dict[str, Callable[[str], Constant]] = {
    "try_cast(text AS BIGINT)": to_bigint,
    "try_cast(text AS DOUBLE)": to_double,
    "try_cast(text AS BOOLEAN)": to_boolean,
    "unix_date(try_cast(text AS DATE))": to_date,
    "unix_micros(try_cast(text AS TIMESTAMP))": to_timestamp,
}


def mutants(count: int) -> list[str]:
    """Strings near those that casts accept, some of them on either side of the border."""
    chance = random.Random(20)
    characters = "0123456789+-:.TZ /edx\t\x7f"
    strings = set(SEEDS)
    while len(strings) < count:
        text = list(chance.choice(SEEDS))
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(text) + 1)
            text[place : place + chance.randint(0, 1)] = chance.choice(characters)
        strings.add("".join(text))
    return sorted(strings)


def test_casts_agree_with_spark_on_strings_near_the_border(spark: "SparkSession") -> None:
    texts = spark.createDataFrame([(text,) for text in mutants(4_000)], "text STRING")
    wrong: list[tuple[object, ...]] = []
    accepted = dict.fromkeys(CASTS, 0)
    for text, *answers in texts.selectExpr("text", *CASTS).collect():
        for (expression, cast), answer in zip(CASTS.items(), answers, strict=True):
            accepted[expression] += answer is not None
            try:
                ours = as_spark_collects(cast(text))
            except ValueError as refusal:
                if not re.search("outside .*0001|has no date|not understood", str(refusal)):
                    wrong += [(expression, text, answer)] if answer is not None else []
            else:
                wrong += [] if same(ours, answer) else [(expression, text, answer, ours)]
    assert wrong == []
    assert min(accepted.values()) > 25
