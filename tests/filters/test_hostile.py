"""Whatever the text, the answer is a filter that means what it says, or a `TidegateError`.

Nothing here is timed, but everything ends: a text that made the parser, the printer or the
comparison of filters slow would be noticed.
"""

import logging
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from sqlglot.dialects.dialect import Dialect

from tidegate import Filter, Schema, TidegateError, parse
from tidegate.filters.expression import MAX_DEPTH
from tidegate.filters.lexer import MAX_LENGTH

FIXTURES: Final = Path(__file__).parents[1] / "fixtures"
SCHEMA: Final = Schema("x BIGINT, price DOUBLE, name STRING, day DATE, at TIMESTAMP, open BOOLEAN")
PLANES: Final = [
    chr(plane * 0x10000 + offset) for plane in range(17) for offset in (0x21, 0xABC, 0xFFFF)
]
ODD: Final[list[str]] = [
    *(chr(code) for code in range(0x21)),
    *"'\"`\\/*-+.,:;()[]{}<>=!%_&|^~@#$?0123456789eELDBFYSrR",
    *"\x7f\x80\x85\xa0\xad\u0300\u0660\u1680\u200b\u200d\u2028\u2029\u202e\ufeff\ufffd\ufffe\uffff",
    *("\ud800", "\udfff", "\udc00\ud800", "é", "ß", "İ", "ı", "K", "ſ", "①", "𝟙", "一", "😀"),
    *PLANES,
]
WORDS: Final[list[str]] = [
    *("AND", "OR", "NOT", "IN", "IS", "NULL", "TRUE", "FALSE", "BETWEEN", "LIKE", "ESCAPE", "FROM"),
    *(
        "DISTINCT",
        "UNKNOWN",
        "CAST",
        "AS",
        "DOUBLE",
        "DATE",
        "TIMESTAMP",
        "SELECT",
        "CASE",
        "(",
        ")",
    ),
    *(
        ",",
        "=",
        "<",
        "<=>",
        "!=",
        "-",
        "+",
        ".",
        ":p",
        "x",
        "`a b`",
        "1",
        "1.5",
        "1e0",
        "'a'",
        "--\n",
    ),
    *("/*", "*/", "'", '"', "`", "\\", "9223372036854775808", "128Y", "r'a'", "startswith(", "%"),
]


def corpus() -> list[str]:
    """Every text of the fixtures, accepted or not."""
    texts = []
    for file in ("normal.txt", "refusals.txt", "same.txt"):
        for block in (FIXTURES / file).read_text("utf-8").split("\n\n"):
            if not block.startswith("#"):
                texts += [line for line in block.split("\n") if not line.lstrip().startswith("^")]
    return texts


CORPUS: Final = corpus()


def mutated(random: Random, text: str) -> str:
    """The text with something done to it that people, programs or attackers do."""
    i, j = sorted(random.randrange(len(text) + 1) for _ in range(2))
    match random.randrange(11):
        case 0:
            return text[:i] + text[i + 1 :]
        case 1:
            return text[:i] + random.choice(ODD) + text[i:]
        case 2:
            return text[:i] + random.choice(ODD) + text[i + 1 :]
        case 3:
            return text[:i] + text[i:j] * random.randint(0, 3) + text[j:]
        case 4:
            return text[:i] + random.choice(CORPUS)[random.randrange(9) :]
        case 5:
            return f"{text} {random.choice(['AND', 'OR', 'AND NOT'])} ({random.choice(CORPUS)})"
        case 6:
            return text[:i] + text[i:j].swapcase() + text[j:]
        case _:
            words = re.findall(r"'[^']*'|\w+|\s+|.", text, re.DOTALL) or ["x"]
            k = random.randrange(len(words))
            match random.randrange(4):
                case 0:
                    del words[k]
                case 1:
                    words.insert(k, f" {random.choice(WORDS)} ")
                case 2:
                    words[k] = random.choice(WORDS)
                case _:
                    m = random.randrange(len(words))
                    words[k], words[m] = words[m], words[k]
            return "".join(words)


EVENTS: Final[list[dict[str, Any]]] = [
    {},
    {"x": 1, "price": 1.5, "name": "a", "open": True, "a": 1, "b": 2, "s": "ab"},
    {"x": 5, "price": 5, "name": "ab", "open": False, "a": True, "b": "a", "i": 6, "d": 0.0},
    {"x": Decimal("1.5"), "price": float("nan"), "name": "", "a": {"b": 1}, "trade": {"price": 5}},
]


def read(text: str, schema: Schema | None = None) -> Filter | None:
    """The filter, which must be what its print says; None for a text that is refused."""
    try:
        found = parse(text, schema)
    except TidegateError as error:
        str(error)  # which must not fail either
        return None
    printed = str(found)
    back = parse(printed, schema)
    assert str(back) == printed
    assert back == found
    assert hash(back) == hash(found)
    if not found.parameters and len(text) < 10_000:
        for event in EVENTS:
            assert back.matches(event) == found.matches(event)
    return found


@pytest.mark.parametrize("seed", range(10))
def test_mutated_filters_are_read_or_refused(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """Ten times a thousand; about a third of them is still a filter."""
    random = Random(seed)
    caplog.set_level(logging.DEBUG)
    accepted = 0
    for n in range(1000):
        text = random.choice(CORPUS)
        for _ in range(random.choice([1, 1, 1, 2, 5])):
            text = mutated(random, text)
        accepted += read(text, SCHEMA if n % 4 == 0 else None) is not None
    assert 150 < accepted < 700
    assert not caplog.records


def test_soup_of_words_is_read_or_refused() -> None:
    random = Random(11)
    soups = {" ".join(random.choices(WORDS, k=random.randint(1, 9))) for _ in range(4000)}
    found = [read(soup) for soup in sorted(soups)]
    assert 0 < sum(each is not None for each in found) < len(found) / 2


def test_soup_of_characters_is_read_or_refused() -> None:
    random = Random(12)
    soups = {"".join(random.choices(ODD, k=random.randint(1, 30))) for _ in range(2000)}
    found = [each for each in map(read, sorted(soups)) if each is not None]
    assert all(re.fullmatch(r"[A-Z_]\w* = TRUE", str(each), re.ASCII | re.I) for each in found)


def every_word_of_sql() -> Iterator[str]:
    dialect = Dialect.get_or_raise("spark")
    for names in (dialect.tokenizer_class.KEYWORDS, dialect.parser_class.FUNCTIONS):
        yield from (name for name in sorted(names) if name.isidentifier())


def test_no_word_of_sql_makes_the_parser_do_anything_else(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    words = list(every_word_of_sql())
    assert len(words) > 800
    for word in words:
        read(f"{word} = 5")
        read(f"x {word} 5")
        read(f"{word} (x) = 5")
        read(f"x = 1 AND {word} y")
        read(f"{word}(" * MAX_DEPTH + "x" + ")" * MAX_DEPTH)
    assert not caplog.records


@pytest.mark.parametrize(
    "character", [*dict.fromkeys([*map(chr, range(0x21)), *PLANES, "é", "\x7f"])], ids=ascii
)
def test_a_character_of_any_plane_means_itself_in_a_literal_a_name_and_a_comment(
    character: str,
) -> None:
    text = f"a{character}b"
    for literal in (f"'{text}'", f'"{text}"', f"r'{text}'", f"'a' '{character}' 'b'"):
        if literal.startswith("r") and character in "'\\":
            continue
        found = read(f"x = {literal}")
        assert found is not None
        assert found.matches({"x": text})
        assert not found.matches({"x": text + " "})
    named = read(f"`{text}` = 1 /* {character} */")
    assert named is not None
    assert named.matches({text: 1})
    assert not named.matches({"ab": 1})
    code = f"\\U{ord(character):08x}"
    escaped = read(f"x = 'a{code}b'")
    assert escaped is not None
    assert escaped.matches({"x": text})


STRAY: Final = [odd for odd in ODD if not re.fullmatch(r"[A-Za-z0-9_]", odd)]


@pytest.mark.parametrize("character", STRAY, ids=ascii)
def test_a_stray_character_is_a_blank_or_refused(character: str) -> None:
    for text in (f"x{character}= 1", f"x ={character}1", f"x = 1{character}", f"{character}x = 1"):
        found = read(text)
        assert found is None or found == parse("x = 1") or character in "!<>=-+."


LONG: Final = MAX_LENGTH - 64
REFUSED: Final[dict[str, Callable[[], str]]] = {
    "100,000 open parentheses": lambda: "(" * 100_000,
    "100,000 pairs of parentheses": lambda: "(" * 100_000 + "x" + ")" * 100_000,
    "100,000 closed parentheses": lambda: "x" + ")" * 100_000,
    "100,000 functions": lambda: "startswith(" * 90_000,
    "100,000 NOTs": lambda: "NOT " * 100_000 + "x",
    "a million exclamation marks": lambda: "!" * LONG + "x",
    "90,000 minus signs": lambda: "x = " + "- " * 90_000 + "5",
    "90,000 plus signs": lambda: "x = " + "+ " * 90_000 + "5",
    "a chain of IS": lambda: "x" + " IS NULL" * 20_000,
    "a chain of =": lambda: "x" + " = 1" * 20_000,
    "a chain of IN": lambda: "x" + " IN (1)" * 10_000,
    "a chain of BETWEEN": lambda: "x" + " BETWEEN 1 AND 2" * 10_000,
    "a chain of LIKE": lambda: "x" + " LIKE 'a'" * 20_000,
    "a chain of ESCAPE": lambda: "x LIKE 'a'" + " ESCAPE 'a'" * 20_000,
    "a chain of names": lambda: "x " * 90_000,
    "a chain of commas": lambda: "x IN (" + "," * LONG + ")",
    "a tower of IS NULL": lambda: "(" * 30 + "x = 1" + ") IS NULL" * 30,
    "too many words": lambda: "x" + " AND x" * 60_000,
    "a text that is too long": lambda: "x = '" + "a" * MAX_LENGTH + "'",
    "a string of quotes that does not end": lambda: "x = " + "'" * (LONG | 1),
    "a string of escapes that does not end": lambda: "x = '" + "\\'" * (LONG // 2),
    "a name that does not end": lambda: "`" * (LONG | 1),
    "comments that do not end": lambda: "x = " + "/* " * (LONG // 3),
    "strings between comments that do not end": lambda: "x = '/*" * (LONG // 7),
    "a number of a million digits": lambda: "x = " + "1" * LONG,
    "a fraction of a million digits": lambda: "x = 0." + "1" * LONG,
    "an exponent of a million digits": lambda: "x = 1e" + "1" * LONG,
    "a double of a million digits": lambda: "x = " + "1" * LONG + "D",
    "a number with a million points": lambda: "x = " + "1." * (LONG // 2),
    "a date of a million digits": lambda: "x = DATE '" + "1" * LONG + "'",
    "a zone of a million letters": lambda: (
        "x = TIMESTAMP '2020-01-01 00:00:00 " + "a/" * (LONG // 2) + "'"
    ),
    "a million control characters": lambda: "\x01" * LONG,
    "a million NULs": lambda: "x = 1" + "\0" * LONG,
    "a million colons": lambda: ":" * LONG,
    "300,000 negative numbers": lambda: "x IN (" + "-1," * 300_000 + "1)",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_text_made_to_exhaust_the_parser_is_refused(name: str) -> None:
    assert read(REFUSED[name]()) is None


ACCEPTED: Final[dict[str, Callable[[], tuple[str, Any]]]] = {
    "a literal of a million letters": lambda: ("x = '" + "a" * LONG + "'", "a" * LONG),
    "a literal of a million quotes": lambda: (
        "x = '" + "''" * (LONG // 2) + "'",
        "'" * (LONG // 2),
    ),
    "a literal of escapes": lambda: ("x = '" + "\\u0041" * (LONG // 6) + "'", "A" * (LONG // 6)),
    "a literal in 200,000 pieces": lambda: ("x = " + "'a' " * 200_000, "a" * 200_000),
    "a zero of a million digits": lambda: ("x = " + "0" * LONG, 0),
    "a fraction of a million zeros": lambda: ("x = 0." + "0" * LONG + "1D", 0.0),
    "an infinity of a million digits": lambda: (
        "x = CAST('" + "9" * LONG + "' AS DOUBLE)",
        float("inf"),
    ),
    "a million blanks": lambda: ("x =" + " " * LONG + "1", 1),
    "200,000 comments": lambda: ("x = 1" + "/**/" * 200_000, 1),
    "a comment of a million letters": lambda: ("x = 1 -- " + "'" * LONG, 1),
    "a list of 100,000 numbers": lambda: ("x IN (" + "7," * 100_000 + "8)", 8),
    "a list of 50,000 distinct numbers": lambda: (
        "x IN (" + ",".join(map(str, range(100_000, 150_000))) + ")",
        149_999,
    ),
    "a list of 60,000 strings": lambda: ("x IN (" + "'', " * 60_000 + "'a')", "a"),
    "a long chain of ANDs": lambda: (" AND ".join(f"x != {i}" for i in range(0, 8_000, 2)), 1),
    "a long chain of ORs": lambda: (" OR ".join(f"x = {i}" for i in range(0, 8_000, 2)), 7_998),
    "a long OR of ANDs": lambda: (
        " OR ".join(f"(x = {i} AND y IS NULL)" for i in range(3_000)),
        2_999,
    ),
    "a long AND of ORs": lambda: (" AND ".join(f"(x = 1 OR y{i} = 1)" for i in range(3_000)), 1),
    "many conditions on text": lambda: (
        " AND ".join(f"x LIKE '%{i},%'" for i in range(2_000)),
        ",".join(map(str, range(2_001))),
    ),
    "many alternatives on text": lambda: (
        " OR ".join(f"contains(x, '{i},')" for i in range(2_000)),
        "1999,",
    ),
    "a pattern of wild cards": lambda: ("x LIKE '" + "%_" * 100_000 + "'", "a" * 100_000),
    "a tower of IS NOT TRUE": lambda: ("(" * 30 + "x = 1" + ") IS NOT TRUE" * 30, 1),
    "a tower of NOTs": lambda: ("NOT (" * 16 + "x = 1" + ")" * 16, 1),
    "a low tower of IS NULL": lambda: ("(" * 9 + "x = 1" + ") IS NULL" * 9, 5),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ACCEPTED)
def test_a_text_that_is_only_large_is_read_and_means_what_it_says(name: str) -> None:
    text, value = ACCEPTED[name]()
    found = read(text)
    assert found is not None
    passes = not name.endswith("IS NULL")  # whether something is unknown is never unknown
    assert found.matches({"x": value}) is passes


def test_names_and_parameters_may_be_long_too() -> None:
    for name in ("a" * LONG, "." * LONG, "`" * (LONG // 2), "😀" * LONG):
        found = read("`" + name.replace("`", "``") + "` = 1")
        assert found is not None
        assert found.matches({name: 1})
    plain = read("a" * LONG + " = :" + "p" * 50)
    assert plain is not None
    assert plain.bind(**{"p" * 50: 1}).matches({"a" * LONG: 1})
    path = read(".".join(["a"] * 20_000) + " IS NULL")
    assert path is not None
    assert path.matches({"a": {"a": 1}})


def test_a_constant_of_a_million_letters_may_be_bound() -> None:
    bound = parse("x = :p").bind(p="\\'\0" * 300_000)
    assert bound.matches({"x": "\\'\0" * 300_000})
    with pytest.raises(TidegateError):  # its print is longer than a text may be
        parse(str(bound))


def test_deep_and_odd_events_are_matched() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert parse("a.a.a IS NOT NULL AND a.b IS NULL").matches(deep)
    assert not parse("x = 1").matches({"x": deep, 5: 6, None: 7})  # type: ignore[dict-item]
