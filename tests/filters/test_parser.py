r"""What is read, how it is printed, what is refused, and what is the same.

The cases are in fixture files, in blocks between blank lines; a block that starts with # is a
heading, and `# ... schema: DDL` or `# ..., with the [checked] schema DDL: ...` says under which
schema the blocks after it are read.
"""

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tidegate import Filter, FilterError, FilterSyntaxError, FilterTypeError, Schema, parse
from tidegate.filters.expression import MAX_DEPTH
from tidegate.filters.lexer import MAX_LENGTH, MAX_TOKENS
from tidegate.filters.shapes import forget_templates

FIXTURES = Path(__file__).parents[1] / "fixtures"
HEADING = re.compile(r"# (same|different)(?:, with the (checked )?schema ([^:]*))?:")


class Block(NamedTuple):
    heading: str
    schema: Schema | None
    lines: list[str]


def blocks(file: str) -> Iterator[Block]:
    heading, schema = "", None
    for block in (FIXTURES / file).read_text("utf-8").strip("\n").split("\n\n"):
        if not block.startswith("# "):
            yield Block(heading, schema, block.split("\n"))
        elif found := HEADING.match(block):
            heading, checked, ddl = found.groups()
            schema = None if ddl is None else Schema(ddl, checked=checked is not None)
        elif block.startswith("# schema: "):
            schema = Schema(block.removeprefix("# schema: "))


class Refusal(NamedTuple):
    text: str
    schema: Schema | None
    position: int
    error: str
    reason: str


REFUSALS = [
    Refusal(text, schema, why.index("^"), *why.strip(" ^").split(": ", 1))
    for _, schema, (text, why) in blocks("refusals.txt")
]
NORMAL = [(text, printed, schema) for _, schema, (text, printed) in blocks("normal.txt")]
GROUPS = list(blocks("same.txt"))
SAME = [block for block in GROUPS if block.heading == "same"]
DIFFERENT = [block for block in GROUPS if block.heading == "different"]


def test_the_fixtures_are_read_whole() -> None:
    assert len(REFUSALS) > 200
    assert len({(case.text, case.schema) for case in REFUSALS}) == len(REFUSALS)
    assert sum(case.schema is not None for case in REFUSALS) > 40
    assert len(NORMAL) > 170
    assert sum(schema is not None for _, _, schema in NORMAL) > 20
    assert len(SAME) > 40
    assert len(DIFFERENT) > 20
    assert {block.schema.checked for block in GROUPS if block.schema} == {True, False}


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case.text)
def test_a_refusal_says_where_and_why(case: Refusal) -> None:
    with pytest.raises(FilterError) as caught:
        parse(case.text, case.schema)
    error = caught.value
    assert type(error).__name__ == case.error
    assert error.position == case.position
    assert case.reason in error.reason
    assert error.text == case.text
    said = str(error).splitlines()
    assert f"(at position {case.position})" in said[0]
    assert said[2].endswith("^")


def test_nearly_every_refusal_says_what_to_write_instead() -> None:
    silent = []
    for case in REFUSALS:
        with pytest.raises(FilterError) as caught:
            parse(case.text, case.schema)
        if caught.value.instead is None and "write" not in caught.value.reason:
            silent.append(case.text)
    assert len(silent) < len(REFUSALS) // 8, silent


def test_an_unknown_attribute_is_refused_with_the_name_that_was_meant() -> None:
    schema = Schema("price DOUBLE, volume BIGINT, trade STRUCT<price: DOUBLE>")
    for text, meant in (("prise < 5", "price"), ("trade.prize = 1", "trade.price")):
        with pytest.raises(FilterTypeError, match="the schema has no attribute") as caught:
            parse(text, schema)
        assert caught.value.instead == meant
    with pytest.raises(FilterTypeError) as caught:
        parse("nothing_like_it = 1", schema)
    assert caught.value.instead == "one of its attributes: price, trade, trade.price, volume"


@pytest.mark.parametrize(
    "text", ["", " \n\t", "-- only a comment", "/* only a comment */", "--\n--"]
)
def test_a_text_without_a_condition_is_refused(text: str) -> None:
    with pytest.raises(FilterSyntaxError, match="no condition"):
        parse(text)


@pytest.mark.parametrize("text", [None, 5, b"price = 5", ["price = 5"], True])
def test_what_is_no_text_is_refused(text: object) -> None:
    with pytest.raises(FilterSyntaxError, match="a filter is a text"):
        parse(text)  # type: ignore[arg-type]


def test_texts_up_to_the_limits_are_read_and_longer_ones_refused() -> None:
    assert parse("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH) == parse("a")
    assert parse("NOT " * MAX_DEPTH + "a") == parse("a")
    padding = " " * (MAX_LENGTH - 1)
    assert parse("a" + padding) == parse("a")
    with pytest.raises(FilterSyntaxError, match="characters, more than"):
        parse("a" + padding + " ")
    words = (MAX_TOKENS - 1) // 2
    with pytest.raises(FilterSyntaxError, match="words and symbols"):
        parse("a" + " OR a" * (words + 1))


def test_an_unbound_parameter_is_refused_at_evaluation() -> None:
    limited = parse("price < :limit AND volume > :least")
    for use in (limited.matches, limited.explain):
        with pytest.raises(tg.ParameterError, match=r"unbound parameters: :limit, :least"):
            use({"price": 5})


@pytest.mark.parametrize(("text", "printed", "schema"), NORMAL, ids=lambda value: str(value)[:40])
def test_a_filter_is_printed_in_its_normal_spelling(
    text: str, printed: str, schema: Schema | None
) -> None:
    assert str(parse(text, schema)) == printed
    assert str(parse(printed, schema)) == printed


def check_the_print(filter_: Filter) -> None:
    """What is printed is read back as an equal filter, whose print is the same."""
    back = parse(str(filter_), filter_.schema)
    assert back == filter_
    assert hash(back) == hash(filter_)
    assert str(back) == str(filter_)
    assert back.parameters == filter_.parameters
    assert back.attributes == filter_.attributes


def test_everything_that_is_printed_is_read_back_as_an_equal_filter() -> None:
    for text, _, schema in NORMAL:
        check_the_print(parse(text, schema))
    for _, schema, texts in GROUPS:
        for text in texts:
            check_the_print(parse(text, schema))


@pytest.mark.parametrize("block", SAME, ids=lambda block: block.lines[0])
def test_filters_that_say_the_same_are_equal(block: Block) -> None:
    first, *others = (parse(text, block.schema) for text in block.lines)
    for other in others:
        assert other == first, str(other)
        assert hash(other) == hash(first), str(other)


@pytest.mark.parametrize("block", DIFFERENT, ids=lambda block: block.lines[0])
def test_filters_that_say_different_things_are_not_equal(block: Block) -> None:
    for one, other in combinations(block.lines, 2):
        assert parse(one, block.schema) != parse(other, block.schema), (one, other)


CONSTANTS = [
    "1",
    "2",
    "2.5",
    "1e0",
    "9007199254740993",
    "'a'",
    "'b'",
    "TRUE",
    "NULL",
    "DATE '2024-01-01'",
]
MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}
OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
TEXT_CONDITIONS = ["{} LIKE '%a'", "{} NOT LIKE '_b%'", "startswith({}, 'a')", "contains({}, 'ab')"]


def spellings(random: Random) -> tuple[str, str]:
    """One condition at random, in two spellings."""
    name, constant = random.choice("ab"), random.choice(CONSTANTS)
    match random.randrange(6):
        case 0:
            low, high = random.choice(CONSTANTS), random.choice(CONSTANTS)
            return f"{name} BETWEEN {low} AND {high}", f"({high} >= {name} AND {low} <= {name})"
        case 1:
            return f"{name} IN ({constant})", f"{name} = {constant}"
        case 2:
            return f"{name} IS NOT NULL", f"NOT ({name} <=> NULL)"
        case 3:
            text = random.choice(TEXT_CONDITIONS).format(name)
            return text, f"NOT (NOT {text})"
        case 4:
            operator = random.choice(list(OPPOSITE))
            return (
                f"{name} {operator} {constant}",
                f"NOT {name} {OPPOSITE[operator]} {constant}",
            )
        case _:
            operator = random.choice(list(MIRRORED))
            return (
                f"{name} {operator} {constant}",
                f"{constant} {MIRRORED[operator]} {name}",
            )


@given(st.randoms(use_true_random=False))
def test_a_conjunction_is_the_same_however_it_is_written(random: Random) -> None:
    conditions = [spellings(random) for _ in range(random.randint(1, 5))]
    plain = " AND ".join(one for one, _ in conditions)
    rewritten = [random.choice(condition) for condition in conditions * random.randint(1, 2)]
    rewritten += [other for _, other in conditions]
    random.shuffle(rewritten)
    middle = random.randrange(len(rewritten))
    grouped = [*rewritten[:middle], "(" + " AND ".join(rewritten[middle:]) + ")"]
    for text in (
        " AND ".join(rewritten),
        " AND ".join(grouped),
        "NOT (" + " OR ".join(f"NOT ({condition})" for condition in rewritten) + ")",
        f"({' AND '.join(grouped)}) IS TRUE",
        "NOT NOT (" + " AND ".join(f"({condition}) IS TRUE" for condition in grouped) + ")",
        f"TRUE AND ({' AND '.join(rewritten)}) OR FALSE",
    ):
        assert parse(text) == parse(plain), (text, plain)
        assert hash(parse(text)) == hash(parse(plain))


def test_filters_of_different_groups_are_not_equal() -> None:
    firsts = [parse(block.lines[0]) for block in SAME if block.schema is None]
    for one, other in combinations(firsts, 2):
        assert one != other, (str(one), str(other))


def test_filters_under_different_schemas_are_not_equal() -> None:
    integers, doubles = Schema("x BIGINT"), Schema("x DOUBLE")
    assert parse("x = 1", integers) != parse("x = 1", doubles)
    assert parse("x = 1", integers) != parse("x = 1")
    assert parse("x = 1", integers) == parse("x = 1", Schema({"x": "long"}))
    assert parse("x = 1") != "x = 1"


def test_spark_decides_what_a_comment_is() -> None:
    """A backslash carries a comment over the end of its line, a carriage return ends it."""
    forget_templates()
    assert str(parse("a = 1 -- one\n AND b = 2")) == "a = 1 AND b = 2"
    assert str(parse("a = 1 -- one\r AND b = 2")) == "a = 1 AND b = 2"
    assert str(parse("a = 1 -- one \\\n AND b = 2")) == "a = 1"
    assert str(parse("a = 1 -- 'one\n AND b = 2 -- it's")) == "a = 1 AND b = 2"
    assert str(parse("a = /* -- */ 1 /* ' */ AND b = '/* no comment */'")) == (
        "a = 1 AND b = '/* no comment */'"
    )


@pytest.mark.parametrize("space", list(" \t\n\v\f\r\xa0\u1680\u2003\u2028\u202f\u3000"))
def test_spark_decides_what_a_space_is(space: str) -> None:
    assert str(parse(space.join(["", "a", "=", "'x'", "'y'", ""]))) == "a = 'xy'"


@pytest.mark.parametrize(
    "character", list("\x00\x01\x08\x1c\x1f\x7f\x85\u200b\u2029\ufeff\ufffe😀")
)
def test_no_other_character_separates_words(character: str) -> None:
    for text in (f"a{character}= 1", f"a = 1{character}", f"{character}a = 1"):
        with pytest.raises(FilterSyntaxError) as caught:
            parse(text)
        assert caught.value.position == text.index(character)
        assert all(line.isprintable() for line in str(caught.value).splitlines())
