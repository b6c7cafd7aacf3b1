"""A text read through the template of its shape is what a full parse makes of it, or refuses."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import generate
from tests.oracle import Column
from tidegate import FilterError, FilterSyntaxError, Schema, parse
from tidegate.filters.lexer import lift
from tidegate.filters.parser import parse_template
from tidegate.filters.recent import Recent
from tidegate.filters.shapes import forget_templates

DDL = (
    "i BIGINT, n INT, d DOUBLE, m DECIMAL(10,2), w DECIMAL(38,30), s STRING, b BOOLEAN, "
    "day DATE, at TIMESTAMP, local TIMESTAMP_NTZ"
)
ATTRIBUTES = ["i", "n", "d", "m", "w", "s", "b", "day", "at", "local"]

NUMBERS = [
    *("0", "1", "5", "007", "128", "2147483648", "9007199254740993", "9223372036854775807"),
    *("9223372036854775808", "9223372036854775809", "9" * 38, "9" * 39, "5L", "127Y", "128Y"),
    *("129Y", "32768S", "32769S", "9223372036854775808L", "1.5", "1.50", ".5", "5.", "0.0"),
    *("1.5BD", "1e2BD", "1e39BD", "1e0", "1e308", "1e309", "1.5D", "0.0D", "1e-400D", "0.1F"),
    *("1e39F", "1e", "1_0", "0x1"),
]
STRINGS = [
    *("''", "'a'", "'5'", "' 7 '", "'1.5'", "'abc'", "'NaN'", "'-inf'", "'yes'", "'T'", "'%'"),
    *(
        "'a%'",
        r"'a\\%'",
        r"'a\\'",
        r"'a\\b'",
        r"'\ud800'",
        r"'\u0041'",
        "'it''s'",
        '"x"',
        '"it\'s"',
    ),
    *("r'a\\'", "'a' 'b'", "'2024-02-29'", "'2024-02-30'", "'2024-02-29 12:00:00'", "'now'"),
    *(
        "'2024-02-29 12:00:00+02:00'",
        "'99999999999999999999'",
        "'\0'",
        "'\0s'",
        "'!'",
        "'!!'",
        "'😀'",
    ),
    *("'--'", "'/*'", "'`'", "'a\nb'", "'unfinished"),
]
LITERALS = NUMBERS + STRINGS
SHAPES = [
    "{a} = {x}",
    "{x} <= {a}",
    "{a} < -{x}",
    "{a} >= - {x}",
    "{a} = +{x}",
    "{a} = - /* minus */ {x}",
    "{a} = (({x}))",
    "{a} <=> {x} OR {a} IS NULL",
    "NOT {a} BETWEEN {x} AND {y}",
    "{a} IN ({x}, {y})",
    "{a} NOT IN ({x}, NULL, -{y})",
    "{a} IN (-{x}, {y}) AND b",
    "{a} IN ({x})",
    "{a} LIKE {x}",
    "{a} NOT LIKE {x} ESCAPE {y}",
    "startswith({a}, {x})",
    "NOT contains({a}, {x}) OR {a} > :p",
    "{a} = DATE {x}",
    "{a} > timestamp {x}",
    "{a} < TIMESTAMP_NTZ {x}",
    "{a} = CAST({x} AS DOUBLE)",
    "{a} IN (DATE {x}, TIMESTAMP {y})",
    "({a} = {x}) IS NOT TRUE -- it's {x}",
    "{a} = {x} /* {y} */ AND `{a}` != {y}",
    "{a} = {x} {y}",
    "{a} = {x}, {y}",
    "{a}.{x} = {y}",
]


def outcome(text: str, schema: Schema | None) -> tuple[Any, ...]:
    """What a text says, with the types of its constants, or why it is refused."""
    try:
        found = parse(text, schema)
    except FilterError as error:
        return type(error), str(error), error.position, error.text
    return repr(found.tree), str(found), found.parameters, found.attributes


def forget(schema: Schema | None) -> None:
    if schema is None:
        forget_templates()
    else:
        schema.templates.clear()


def check(texts: Iterable[str], schema: Schema | None) -> None:
    """Read one after the other, the texts are what each of them is when it is the first."""
    texts = list(texts)
    forget(schema)
    warm = [outcome(text, schema) for text in texts]
    for text, found in zip(texts, warm, strict=True):
        forget(schema)
        assert found == outcome(text, schema), ascii(text)


schemas = st.sampled_from([None, Schema(DDL)])


@given(
    st.sampled_from(SHAPES),
    st.sampled_from(ATTRIBUTES),
    st.lists(st.tuples(st.sampled_from(LITERALS), st.sampled_from(LITERALS)), min_size=2),
    schemas,
)
def test_texts_of_one_shape_are_read_as_if_each_were_the_first(
    shape: str, attribute: str, literals: list[tuple[str, str]], schema: Schema | None
) -> None:
    check((shape.format(a=attribute, x=x, y=y) for x, y in literals), schema)


@pytest.mark.parametrize("schema", [None, Schema(DDL)], ids=["without a schema", "with a schema"])
@pytest.mark.parametrize("shape", SHAPES)
def test_all_literals_are_read_in_all_shapes_in_either_order(shape: str, schema: Schema) -> None:
    random = Random(shape)
    for literals in (NUMBERS, STRINGS, LITERALS):
        attribute, partner = random.choice(ATTRIBUTES), random.choice(literals)
        texts = [shape.format(a=attribute, x=x, y=partner) for x in literals]
        check(texts, schema)
        check(reversed(texts), schema)


def test_generated_filters_are_read_alike_through_warm_templates() -> None:
    """The filters that are also shown to Spark: read twice in a row, and each alone."""
    columns = ", ".join(
        f"{column.name} {column.type}" for column in generate.COLUMNS if plain(column)
    )
    for typed, schema in ((False, None), (True, Schema(columns))):
        texts = [str(condition) for condition in generate.filters(Random(7), 300, typed)]
        if schema is not None:
            texts = [text for text in texts if "trade" not in text]
        check(texts * 2, schema)


def plain(column: Column) -> bool:
    return len(column.path) == 1


SHARED: list[tuple[str, str]] = [
    ("x = 1", "x = 99"),
    ("x = 'a'", "x = 'b' 'c'"),
    ("x = 'a'", 'x = "b"'),
    ("x = 1.5", "x = 2.25BD"),
    ("x = 1e0", "x = 1.5D"),
    ("x = 5L", "x = 6l"),
    ("x = -128Y", "x = -128y"),
    ("x IN (1, 2)", "x IN (3, 4)"),
    ("x LIKE 'a%'", "x LIKE '%b%'"),
    ("x > DATE '2024-01-01'", "x > DATE '2024'"),
]
APART: list[tuple[str, str]] = [
    ("x = 1", "x = 1L"),
    ("x = 1", "x = 1.0"),
    ("x = 1", "x = '1'"),
    ("x = 1.0", "x = 1.0D"),
    ("x = 1", "x = -1"),
    ("x = -128Y", "x = -32768S"),
    ("x = -9223372036854775808", "x = -9223372036854775808L"),
    ("x = 1", "y = 1"),
    ("x = 1", "x = :p"),
    ("x = -9223372036854775808", "x = -9223372036854775809"),
    ("x = 9223372036854775807", "x = 9223372036854775808"),
    ("x IN (1, 2)", "x IN (1, 2, 3)"),
    ("x = `a`", "x = 'a'"),
    ("x = 1 -- a", "x = 1 -- b"),
]


@pytest.mark.parametrize(("one", "other"), SHARED)
def test_texts_that_differ_only_in_literals_have_one_shape(one: str, other: str) -> None:
    assert lift(one)[0] == lift(other)[0]
    check([one, other, one], None)


@pytest.mark.parametrize(("one", "other"), APART)
def test_literals_of_different_kinds_make_different_shapes(one: str, other: str) -> None:
    assert lift(one)[0] != lift(other)[0]
    check([one, other, one], None)


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        ("i < -9223372036854775808", "i < -9223372036854775809"),
        ("i < 9223372036854775807", "i < 9223372036854775808"),
        ("i = '5'", "i = 'five'"),
        ("i IN ('1', '2')", "i IN ('1', 'x')"),
        ("n = ' 7 '", "n = '7.0'"),
        ("d = '1.5'", "d = '1,5'"),
        ("b = 'yes'", "b = 'maybe'"),
        ("day = '2024-02-29'", "day = '2023-02-29'"),
        ("at > '2024-02-29 12:00:00'", "at > 'noon'"),
        ("day = DATE '2024-02-29'", "day = DATE '2023-02-29'"),
        ("at = TIMESTAMP '2024-01-01'", "at = TIMESTAMP 'today'"),
        ("d = CAST('NaN' AS DOUBLE)", "d = CAST('5' AS DOUBLE)"),
        ("s LIKE 'a%'", r"s LIKE 'a\\b'"),
        ("s LIKE '!%' ESCAPE '!'", "s LIKE '!a' ESCAPE '!'"),
        ("s LIKE 'a' ESCAPE '!'", "s LIKE 'a' ESCAPE '!!'"),
        ("s LIKE 'a' ESCAPE '!'", "s LIKE 'a!' ESCAPE '!'"),
        ("i = -128Y", "i = -129Y"),
        ("s = 'a'", r"s = '\ud800'"),
        ("d = 1e308", "d = 1e309"),
        ("i = 1 AND day = '2024-01-01'", "i = 2 AND day = '2024-01-32'"),
    ],
)
def test_what_the_second_text_of_a_shape_says_is_checked_too(accepted: str, refused: str) -> None:
    schema = Schema(DDL)
    parse(accepted, schema)
    with pytest.raises(FilterError) as warm:
        parse(refused, schema)
    with pytest.raises(FilterError) as cold:
        parse(refused, Schema(DDL))
    assert str(warm.value) == str(cold.value)
    assert warm.value.position == cold.value.position
    check([accepted, refused, accepted], schema)


PLAIN_TEXTS = ["x = 'a'", "x = 5", "x = 1.5", "x = -128Y", "x = 'a' AND y = 'b'", "x = 1 -- a"]


@pytest.mark.parametrize(
    "text",
    [
        *("x = \0s", "x = \0i", "\0 x = 1", "x = 1\0", "x \0= 1", "x = \0d\0d", "x = -\0m"),
        *("x = '\0s' AND y = \0s", "x = `\0s", "x = '\0s", "x = 1 /* \0s", "x = :p\0s"),
    ],
    ids=ascii,
)
def test_a_mark_in_the_text_is_not_taken_for_a_literal(text: str) -> None:
    """Shapes mark literals with NUL, and outside of literals and names no text may have one."""
    check([*PLAIN_TEXTS, text], None)
    with pytest.raises(FilterSyntaxError):
        parse(text)


@pytest.mark.parametrize(
    "text", ["x = '\0s'", "x = '\0'", "`\0s` = 1", "x = 1 /* \0s */", "x = 1 -- \0s"], ids=ascii
)
def test_a_mark_in_a_literal_a_name_or_a_comment_is_a_character_like_others(text: str) -> None:
    check([*PLAIN_TEXTS, text, text.replace("\0", "x"), text], None)
    assert parse(text).attributes <= {"x", "`\0s`"}


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("x = '\0s'", r"x = '\u0000s'"),
        ("x = '\0' '\0'", r"x = '\u0000\u0000'"),
        ("`\0s` = 1", "`\0s` = 1"),
        ("x = 1 -- '2'\n AND y = 3", "x = 1 AND y = 3"),
        ("x = 1 /* '2' */ AND y = 3", "x = 1 AND y = 3"),
        ("`'a'` = 'b'", "`'a'` = 'b'"),
        ("x = '`a`'", "x = '`a`'"),
        ("x='a'AND y=1", "x = 'a' AND y = 1"),
        ("x1 = 1 AND x2 = 2", "x1 = 1 AND x2 = 2"),
        ("r = 'a'", "r = 'a'"),
        ("r = r'a'", "r = 'a'"),
        ("xr = R'\\'", r"xr = '\\'"),
    ],
    ids=ascii,
)
def test_literals_are_found_where_they_are_and_nowhere_else(text: str, printed: str) -> None:
    check([text.replace("a", "c"), text], None)
    assert str(parse(text)) == printed


def test_filters_of_one_shape_do_not_share_their_constants() -> None:
    forget_templates()
    filters = [parse(f"x IN ({i}, -{i})") for i in range(50)]
    assert [str(each) for each in filters] == [f"x IN ({i}, {-i})" for i in range(50)]
    assert len({hash(each) for each in filters}) == 50
    assert [each.matches({"x": 7}) for each in filters].count(True) == 1


def test_templates_are_forgotten_when_there_are_too_many() -> None:
    schema = Schema({f"x{i}": "bigint" for i in range(10)})
    schema.templates = Recent(entries=4)
    texts = [f"x{i % 10} = {i} AND x{i % 7} > {i}" for i in range(40)]
    assert [str(parse(text, schema)) for text in texts] == texts
    assert len(schema.templates) <= 4


def test_what_was_used_lately_is_kept_and_the_rest_forgotten() -> None:
    kept: Recent[int] = Recent(entries=6, characters=1_000)
    for i in range(100):
        kept.keep(f"{i}", i)
        assert kept.get("0") == 0, "used again and again"
        assert kept.get(f"{i}") == i
        assert len(kept) <= 6
    assert kept.get("50") is None
    kept.keep("a" * 400, 1)
    kept.keep("b" * 400, 2)
    kept.keep("c" * 400, 3)
    assert (kept.get("a" * 400), kept.get("c" * 400)) == (None, 3)


CLAUSES = [
    *("x = 1", "y < 2.5", "s = 'a'", "NOT b", "!b", "s LIKE 'a%'", "x IN (1, 2)", "x IS NULL"),
    *("x BETWEEN 1 AND 2", "x NOT between 1 and 2", "(x = 1 OR y = 2)", "x = 1 OR y = 2", "TRUE"),
    *("(x = 1 AND y = 2)", "NOT (x = 1 OR y > 2)", "d = DATE '2024-01-01'", "x = :p", "x = -5"),
    *("`a AND b` = 1", "`a", "b` = 1", "(x = 1", "y = 2)", "x = 1 -- c", "x = 1 /* c", "c */ b"),
    *("x BETWEEN 1", "2", "x =", "s LIKE 'a' ESCAPE '!'", "x IS NOT", "b IS TRUE", "x <=> NULL"),
    *("lower(s) = 'a'", "s ILIKE 'A%'", "s LIKE ANY ('a', 'b%')", "x = 'a AND b'", "AND", ""),
    *("x BETWEEN 1 AND y BETWEEN 1", "x NOT", "IN (1)", "`\0i` = 1", "x = 5L", "x > -128Y"),
]


@given(
    st.lists(st.sampled_from(CLAUSES), min_size=1, max_size=5),
    st.sampled_from([" AND ", " and\n", "\tAnd "]),
)
def test_a_conjunction_of_clauses_is_what_a_full_parse_makes_of_it(
    clauses: list[str], word: str
) -> None:
    text = word.join(clauses)
    forget_templates()
    for _ in range(2):  # its clauses are new, and known
        for clause in clauses:
            outcome(clause, None)
        found = outcome(text, None)
        try:
            shape, values = lift(text)
            full = parse_template(shape, values, None, text)
            tree = full.filled(values)
            want = (repr(tree), str(tree), full.parameters, full.attributes)
        except FilterError as error:
            want = type(error), str(error), error.position, error.text  # type: ignore[assignment]
        assert found == want
