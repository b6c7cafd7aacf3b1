"""Filters and events at random, over the whole language, the same for the same seed.

One wide table has a column of every type. Its values come from small pools around the places
where comparisons go wrong (ends of types, 2**53, NaN, -0.0, midnight, wild cards, surrogates), and
filters take their constants from the same pools and their neighbours, in every spelling: so the
interesting coincidences happen in a few dozen events. A filter comes as a `Condition`, which
renders as text and which `tests.oracle` evaluates without Tidegate's help.
"""

import ctypes
import datetime as dt
import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any, Final

import pyarrow as pa

from tests.oracle import (
    FUNCTIONS,
    ORDERINGS,
    SAME,
    Column,
    Condition,
    Fixed,
    Is,
    Junction,
    Leaf,
    Literal,
    Not,
    rounds,
)

COLUMNS: Final = (
    Column("flag", ("flag",), "boolean"),
    Column("level", ("level",), "tinyint"),
    Column("size", ("size",), "smallint"),
    Column("volume", ("volume",), "int"),
    Column("id", ("id",), "bigint"),
    Column("rate", ("rate",), "float"),
    Column("price", ("price",), "double"),
    Column("amount", ("amount",), "decimal(10,2)"),
    Column("ratio", ("ratio",), "decimal(38,30)"),
    Column("total", ("total",), "decimal(38,0)"),
    Column("symbol", ("symbol",), "string"),
    Column("day", ("day",), "date"),
    Column("at", ("at",), "timestamp"),
    Column("local", ("local",), "timestamp_ntz"),
    Column("trade.price", ("trade", "price"), "double"),
    Column("trade.note", ("trade", "note"), "string"),
    Column("trade.`done at`.local", ("trade", "done at", "local"), "timestamp_ntz"),
    Column("`odd ``name``.x`", ("odd `name`.x",), "bigint"),
)
DERIVED: Final = (
    Column("lower(symbol)", ("symbol",), "string", str.lower),
    Column("upper(trade.note)", ("trade", "note"), "string", str.upper),
)
TYPES: Final = {column.name: column.type for column in COLUMNS}

_ARROW: Final = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(38,30)": pa.decimal128(38, 30),
    "decimal(38,0)": pa.decimal128(38, 0),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def single(value: float) -> float:
    """The nearest float of single precision."""
    return ctypes.c_float(value).value


_DAYS: Final = [
    dt.date(1, 1, 1),
    dt.date(1582, 10, 4),
    dt.date(1582, 10, 15),
    dt.date(1969, 12, 31),
    dt.date(1970, 1, 1),
    dt.date(2024, 2, 28),
    dt.date(2024, 2, 29),
    dt.date(2024, 3, 1),
    dt.date(9999, 12, 31),
]
_MOMENTS: Final = [
    dt.datetime(1, 1, 1),
    dt.datetime(1582, 10, 15),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    dt.datetime(1970, 1, 1),
    dt.datetime(2024, 2, 28, 23, 59, 59, 999_999),
    dt.datetime(2024, 2, 29),
    dt.datetime(2024, 2, 29, 0, 0, 0, 1),
    dt.datetime(2024, 2, 29, 12),
    dt.datetime(2024, 2, 29, 12, 0, 0, 500_000),
    dt.datetime(2024, 3, 1),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999_999),
]
_TEXTS: Final = [
    *("", " ", "a", "A", "ab", "abc", "b", "ba", "z", "5", "true", "a b", " a", "a\nb", "a\0"),
    *("%", "_", "\\", "a%", "a%b", "a_b", "a\\b", "\\%", "100%", "it's", '"q"', "``", "!"),
    *(
        "AB",
        "aB",
        "İ",
        "ΟΣ",
        "oσ",
        "É",
        "é",
        "e\u0301",
        "ß",
        "日本",
        "日",
        "\ud7ff",
        "\ue000",
        "\uffff",
        "\U00010000",
        "😀",
    ),
    *("😀b", "a😀", "\U0010ffff"),
]

POOLS: Final[dict[str, list[Any]]] = {
    "boolean": [False, True],
    "tinyint": [-128, -127, -1, 0, 1, 2, 5, 126, 127],
    "smallint": [-32768, -32767, -129, -1, 0, 1, 5, 127, 128, 32766, 32767],
    "int": [-(2**31), -1, 0, 1, 5, 32768, 2**24, 2**24 + 1, 2**31 - 2, 2**31 - 1],
    "bigint": [
        *(-(2**63), -(2**63) + 1, -(2**53) - 1, -1, 0, 1, 5, 2**31, 2**53 - 1, 2**53),
        *(2**53 + 1, 2**53 + 2, 2**63 - 513, 2**63 - 512, 2**63 - 2, 2**63 - 1),
    ],
    "float": [
        *(-math.inf, single(-3.4028235e38), -1.5, -0.0, 0.0, 1.401298464324817e-45),
        *(single(0.1), 0.5, 1.0, 1.5, 5.0, 2.0**24, single(3.4028235e38), math.inf, math.nan),
    ],
    "double": [
        *(-math.inf, -1.7976931348623157e308, -1.5, -0.0, 0.0, 5e-324, 0.1, single(0.1)),
        *(0.5, 1.0, 1.5, 5.0, 2.0**53, 2.0**53 + 2, 2.0**63, 1.7976931348623157e308),
        *(math.inf, math.nan),
    ],
    "decimal(10,2)": [
        *(Decimal("-99999999.99"), Decimal("-1.50"), Decimal("-0.01"), Decimal("0.00")),
        *(Decimal("0.01"), Decimal("0.10"), Decimal("1.00"), Decimal("1.50"), Decimal("5.00")),
        Decimal("99999999.99"),
    ],
    # with 18 and 28 fractional digits (beside a bigint, an int) these become ties or vanish
    "decimal(38,30)": [
        *(Decimal("-99999999.999999999999999999999999999999"), Decimal("-1.5")),
        *(Decimal("-5E-19"), Decimal("-4E-19"), Decimal("-1E-30"), Decimal("0"), Decimal("1E-30")),
        *(Decimal("49E-30"), Decimal("5E-29"), Decimal("4E-19"), Decimal("5E-19")),
        *(Decimal("6E-19"), Decimal("0.1"), Decimal("0.5"), Decimal("1"), Decimal("1.5")),
        *(Decimal("1.000000000000000000000000000001"), Decimal("1.0000000000000000005")),
        *(Decimal("5"), Decimal("99999999.999999999999999999999999999999")),
    ],
    "decimal(38,0)": [
        *(Decimal(1 - 10**38), Decimal(-(2**63)), Decimal(-1), Decimal(0), Decimal(1), Decimal(5)),
        *(Decimal(2**53), Decimal(2**53 + 1), Decimal(2**63 - 1), Decimal(2**63)),
        *(Decimal(10**38 - 2), Decimal(10**38 - 1)),
    ],
    "string": _TEXTS,
    "date": _DAYS,
    "timestamp": _MOMENTS,
    "timestamp_ntz": _MOMENTS,
}
NUMBERS: Final = tuple(
    name
    for name in POOLS
    if name.split("(")[0] in ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
)
INTEGERS: Final = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}


def family(column: Column) -> str:
    """The family of a column's values."""
    if column.type in NUMBERS:
        return "number"
    return "timestamp" if column.type == "timestamp_ntz" else column.type


def events(rng: Random, n: int) -> list[dict[str, Any]]:
    """That many events; a tenth of their attributes is NULL and another tenth is absent."""
    return [_event(rng) for _ in range(n)]


def _event(rng: Random) -> dict[str, Any]:
    event: dict[str, Any] = {}
    for column in COLUMNS:
        here: dict[str, Any] | None = event
        for name in column.path[:-1]:
            if here is not None and name not in here and rng.random() < 0.9:
                here[name] = {} if rng.random() < 0.95 else None
            here = None if here is None else here.get(name)
        chance = rng.random()
        if here is not None and chance < 0.9:
            here[column.path[-1]] = None if chance < 0.1 else rng.choice(POOLS[column.type])
    return event


def arrow_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Events as an Arrow table, typed as `COLUMNS` say; absent attributes become NULLs."""
    return pa.Table.from_pylist(rows, schema=pa.schema(_arrow_fields(0, COLUMNS)))


def _arrow_fields(depth: int, columns: tuple[Column, ...]) -> list[pa.Field]:
    fields = []
    for name in dict.fromkeys(column.path[depth] for column in columns):
        inside = tuple(column for column in columns if column.path[depth] == name)
        if len(inside[0].path) > depth + 1:
            fields.append(pa.field(name, pa.struct(_arrow_fields(depth + 1, inside))))
        else:
            fields.append(pa.field(name, _ARROW[inside[0].type]))
    return fields


COMPARISONS: Final = ("=", "==", "!=", "<>", *ORDERINGS, *SAME)
_QUANTIFIED: Final = tuple(
    f"{operator} {word}"
    for operator in ("LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE")
    for word in ("ANY", "ALL")
)
_TEXT_OPERATORS: Final = ("LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE", *_QUANTIFIED, *FUNCTIONS)
_BOOLEAN_OPERATORS: Final = (
    *("bare", "NOT bare", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE"),
    *("IS UNKNOWN", "IS NOT UNKNOWN"),
)
_OPERATORS: Final = (
    *COMPARISONS,
    *("BETWEEN", "NOT BETWEEN", "IN", "NOT IN", "IS NULL", "IS NOT NULL"),
)
ALL_OPERATORS: Final = (*_OPERATORS, *_TEXT_OPERATORS, *_BOOLEAN_OPERATORS)


def operators(column: Column) -> tuple[str, ...]:
    """The operators that a column of this type takes."""
    if column.function is not None:
        return _OPERATORS + tuple(name for name in _TEXT_OPERATORS if "ILIKE" not in name)
    if column.type == "string":
        return _OPERATORS + _TEXT_OPERATORS
    return _OPERATORS + _BOOLEAN_OPERATORS if column.type == "boolean" else _OPERATORS


def filters(rng: Random, n: int, typed: bool) -> list[Condition]:
    """That many conditions with different texts.

    Constants of filters that are not `typed` are of their attribute's own family, so that they
    mean the same without a schema; the others take anything that Spark casts.
    """
    found: dict[str, Condition] = {}
    while len(found) < n:
        columns = rng.sample(COLUMNS + DERIVED, 4)
        condition = _tree(rng, columns, typed, rng.choice((1, 1, 2, 2, 3, 4)))
        found.setdefault(str(condition), condition)
    return list(found.values())


def each_operator(rng: Random, typed: bool) -> Iterator[Leaf]:
    """Every operator on every column at least once; on numbers, with NaN too."""
    for column in COLUMNS + DERIVED:
        for operator in operators(column):
            yield leaf(rng, column, typed, operator)
            if column.type in NUMBERS and "NULL" not in operator:
                yield _with_nan(leaf(rng, column, typed, operator))


def _with_nan(plain: Leaf) -> Leaf:
    """The leaf with NaN for its upper end or its first constant."""
    nan = Literal("CAST('NaN' AS DOUBLE)", "double", math.nan)
    if plain.operator.endswith("BETWEEN"):
        return replace(plain, literals=(plain.literals[0], nan))
    rest = tuple(literal for literal in plain.literals[1:] if literal.type != "string")
    return replace(plain, literals=(nan, *rest))


def _tree(rng: Random, columns: list[Column], typed: bool, depth: int) -> Condition:
    if depth == 0:
        if rng.random() < 0.03:
            return Fixed(rng.choice((True, False, None)))
        column = rng.choice(columns)
        return leaf(rng, column, typed, rng.choice(operators(column)))
    chance = rng.random()
    if chance < 0.15:
        inner = _tree(rng, columns, typed, depth - 1)
        # `NOT a = 1` negates the comparison, but `NOT a AND b` only a
        return Not(inner, rng.choice(("NOT ", "! ", "!")), isinstance(inner, Junction))
    if chance < 0.23:
        inner = _tree(rng, columns, typed, depth - 1)
        return Is(inner, rng.choice((True, False, None)), rng.random() < 0.5)
    parts = [
        _tree(rng, columns, typed, rng.randrange(depth)) for _ in range(rng.choice((2, 2, 2, 3)))
    ]
    return Junction(rng.choice(("AND", "OR")), tuple(parts), rng.random() < 0.5)


def leaf(rng: Random, column: Column, typed: bool, operator: str) -> Leaf:
    """A predicate with that operator on that column."""
    while True:
        drawn = _draw(rng, column, typed, operator)
        if _in_the_language(drawn) and (typed or not _needs_schema(drawn)):
            return drawn


def _draw(rng: Random, column: Column, typed: bool, operator: str) -> Leaf:
    if operator.endswith("NULL") or operator in _BOOLEAN_OPERATORS:
        return Leaf(operator, column)
    if operator.endswith(("ANY", "ALL")):
        patterns = [_pattern(rng, None) for _ in range(rng.choice((1, 2, 2, 3)))]
        return Leaf(operator, column, tuple(patterns))
    if operator.endswith("LIKE"):  # where case does not matter, a letter is no escape
        escape = rng.choice((None, None, "!", "!" if "ILIKE" in operator else "a", "\\\\"))
        return Leaf(operator, column, (_pattern(rng, escape),), escape=escape)
    if operator in FUNCTIONS:
        return Leaf(operator, column, (_perhaps_null(rng, _text(rng, _part_of_a_text(rng))),))
    if operator.endswith("BETWEEN"):
        low, high = (_perhaps_null(rng, constant(rng, column, typed)) for _ in range(2))
        return Leaf(operator, column, (low, high))
    if operator.endswith("IN"):
        return Leaf(operator, column, _list(rng, column, typed))
    literal = _perhaps_null(rng, constant(rng, column, typed))
    return Leaf(operator, column, (literal,), flipped=rng.random() < 0.3)


def _list(rng: Random, column: Column, typed: bool) -> tuple[Literal, ...]:
    """An IN list: Spark casts all of it to one type, so strings stay among themselves."""
    strings = typed and rng.random() < 0.2
    found: list[Literal] = []
    while len(found) < rng.choice((1, 2, 3, 3, 6)):
        literal = constant(rng, column, typed)
        if column.type == "string" or (literal.type == "string") == strings:
            found.append(literal)
    return tuple(_perhaps_null(rng, literal) for literal in found)


def _perhaps_null(rng: Random, literal: Literal) -> Literal:
    """Most of the time the literal, sometimes NULL instead, sometimes within parentheses."""
    chance = rng.random()
    if chance < 0.04:
        return Literal("NULL", "void", None)
    return literal if chance < 0.96 else Literal(f"({literal.text})", literal.type, literal.value)


def _in_the_language(drawn: Leaf) -> bool:
    """Whether Tidegate promises Spark's answer.

    It refuses to order an integer and a decimal beyond bigint, where Spark lets NULL pass. And it
    does not keep the suffixes of integers, which tell Spark how many digits `0Y` and `0L` have
    beside a decimal; that matters only where the shared type is too narrow for all fractions.
    """
    column, literals = drawn.column.type, drawn.literals
    listed = drawn.operator.endswith("IN")
    plain = tuple(map(_without_suffix, literals))
    if plain != literals and (
        rounds(column, literals, listed=listed) or rounds(column, plain, listed=listed)
    ):
        return False
    if column not in INTEGERS or drawn.operator not in (*ORDERINGS, "BETWEEN", "NOT BETWEEN"):
        return True
    return all(
        not literal.type.startswith("decimal") or -(2**63) <= literal.value <= 2**63 - 1
        for literal in literals
    )


def _without_suffix(literal: Literal) -> Literal:
    if literal.type not in INTEGERS:
        return literal
    kind = "int" if -(2**31) <= literal.value < 2**31 else "bigint"
    return Literal(literal.text, kind, literal.value)


def _needs_schema(drawn: Leaf) -> bool:
    """Without a schema a decimal's digits are not known, and every integer counts as a bigint."""
    column, listed = drawn.column.type, drawn.operator.endswith("IN")
    if column == "bigint":
        return False
    return rounds(column, drawn.literals, listed=listed) or (
        column in INTEGERS and rounds("bigint", drawn.literals, listed=listed)
    )


def constant(rng: Random, column: Column, typed: bool) -> Literal:
    """A constant that a predicate on the column may have."""
    match family(column):
        case "number":
            return _number(rng, column, typed)
        case "string":
            return _text(rng, rng.choice(_TEXTS))
        case "boolean":
            value = rng.random() < 0.5
            if typed and rng.random() < 0.3:
                words = (
                    ("true", "T", " yes ", "y", "1") if value else ("false", "F", "no", "n", "0")
                )
                return _text(rng, rng.choice(words))
            return Literal(rng.choice((str(value), str(value).upper())), "boolean", value)
        case "date":
            return _day(rng, typed)
        case _:
            return _moment(rng, column, typed)


def _number(rng: Random, column: Column, typed: bool) -> Literal:
    pool = POOLS[column.type if rng.random() < 0.85 else rng.choice(NUMBERS)]
    value = rng.choice(pool)
    if rng.random() < 0.25:
        value = _neighbour(rng, value)
    if isinstance(value, float):
        choices = _spelled_float(value)
    elif isinstance(value, Decimal):
        choices = _spelled_decimal(value)
    else:
        choices = _spelled_integer(value)
    if typed:
        choices += _spelled_in_quotes(column, value)
    return rng.choice(choices)


def _neighbour(rng: Random, value: Any) -> Any:
    match value:
        case float():
            return math.nextafter(value, rng.choice((-math.inf, math.inf)))
        case Decimal():
            text = f"{value:f}"
            near = Decimal(text + "5") if "." in text else Decimal(text + ".5")
            return near if len(near.as_tuple().digits) <= 38 else value
        case _:
            return value + rng.choice((-1, 1))


def _spelled_integer(value: int) -> list[Literal]:
    found = [_decimal(f"{value}BD"), _decimal(f"{value}.0"), _decimal(f"{value}.")]
    found.append(Literal(f"{value}D", "double", float(value)))
    found.append(Literal(f"{value}e0", "double", float(value)))
    if -(2**63) <= value < 2**63:
        kind = "int" if -(2**31) <= value < 2**31 else "bigint"
        found += [Literal(str(value).replace("-", minus), kind, value) for minus in ("-", "- ")]
        found.append(Literal(f"{value}L", "bigint", value))
    else:
        found.append(_decimal(str(value)))
    for suffix, name in (("S", "smallint"), ("y", "tinyint")):
        if -INTEGERS[name] <= value < INTEGERS[name]:
            found.append(Literal(f"{value}{suffix}", name, value))
    return found


def _spelled_float(value: float) -> list[Literal]:
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return [Literal(f"CAST('{name}' AS DOUBLE)", "double", value)]
    found = [Literal(f"{value!r}{suffix}", "double", value) for suffix in "dD"]
    if math.isfinite(single(value)) and abs(value) <= 3.4028234e38:
        found.append(Literal(f"{value!r}F", "float", single(value)))
    exact = Decimal(repr(value))
    _, digits, exponent = exact.as_tuple()
    if isinstance(exponent, int) and exponent >= -38 and len(digits) + max(0, exponent) <= 38:
        found.append(_decimal(f"{exact:f}BD"))
    return found


def _spelled_decimal(value: Decimal) -> list[Literal]:
    found = [_decimal(f"{value:f}BD"), _decimal(f"{value}BD")]
    if "." in f"{value:f}":
        found.append(_decimal(f"{value:f}"))
    found.append(Literal(f"{value}D", "double", float(value)))
    found.append(Literal(f"{value}F", "float", single(float(value))))
    return found


def _decimal(text: str) -> Literal:
    """A decimal literal; Spark types it by its digits."""
    value = Decimal(text.removesuffix("BD"))
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale)
    return Literal(text, f"decimal({precision},{scale})", value)


def _spelled_in_quotes(column: Column, value: Any) -> list[Literal]:
    """The number as a string: Spark casts it to bigint beside an integer, else to double."""
    if column.type in INTEGERS:
        whole = isinstance(value, int) or (isinstance(value, Decimal) and value == int(value))
        if not whole or not -(2**63) <= value < 2**63:
            return []
        return [Literal(f"'{int(value)}'", "string", str(int(value)))]
    texts = [str(value), f" {value} ", str(value).lower()]
    return [Literal(f"'{text}'", "string", text) for text in texts]


def _day(rng: Random, typed: bool) -> Literal:
    if typed and rng.random() < 0.3:
        return _stamp(rng, rng.choice(_MOMENTS))
    value = rng.choice(_DAYS)
    text = value.isoformat()
    if typed and rng.random() < 0.3:
        return _text(rng, text + rng.choice(("", "", " ", "T12:30", " 00:00:00")))
    return Literal(rng.choice((f"DATE '{text}'", f"date'{text}'")), "date", value)


def _moment(rng: Random, column: Column, typed: bool) -> Literal:
    if typed and rng.random() < 0.3:
        day = rng.choice(_DAYS)
        return Literal(f"DATE '{day.isoformat()}'", "date", day)
    value = rng.choice(_MOMENTS)
    if typed and rng.random() < 0.3:
        return _text(rng, _written(rng, value, column.type))
    return _stamp(rng, value)


def _stamp(rng: Random, value: dt.datetime) -> Literal:
    name = rng.choice(("TIMESTAMP", "timestamp", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"))
    kind = "timestamp_ntz" if name.endswith("NTZ") else "timestamp"
    return Literal(f"{name} '{_written(rng, value, kind)}'", kind, value)


def _written(rng: Random, value: dt.datetime, kind: str) -> str:
    """A text that stands for the moment, with or without a zone (which a timestamp_ntz ignores)."""
    zone, hours = rng.choice((("", 0), ("", 0), ("Z", 0), ("+02:00", 2), ("-11:30", -11.5)))
    if kind == "timestamp" and 1 < value.year < 9999:
        value += dt.timedelta(hours=hours)
    elif kind == "timestamp":
        zone = ""
    return value.isoformat(rng.choice(" T")) + zone


def _text(rng: Random, value: str) -> Literal:
    """A string literal in one of its spellings."""
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\0", "\\u0000")
    choices = ["'" + escaped.replace("'", "\\'") + "'", "'" + escaped.replace("'", "''") + "'"]
    choices.append('"' + escaped.replace('"', '\\"') + '"')
    if "'" not in value and "\0" not in value:
        choices.append(f"r'{value}'")
    if value and all(c > " " for c in value):
        codes = "".join(f"\\u{ord(c):04x}" if ord(c) < 2**16 else f"\\U{ord(c):08x}" for c in value)
        choices += [f"'{codes}'", f"'{codes}' ''"]
    return Literal(rng.choice(choices), "string", value)


def _part_of_a_text(rng: Random) -> str:
    text = rng.choice(_TEXTS)
    start = rng.randrange(len(text) + 1)
    return rng.choice((text, text[start:], text[:start], text[start : start + 1]))


def _pattern(rng: Random, escape: str | None) -> Literal:
    """A LIKE pattern made from a text: pieces of it become wild cards, wild cards are escaped."""
    sign = "\\" if escape is None else escape[0]
    pattern = ""
    for character in rng.choice(_TEXTS):
        chance = rng.random()
        if chance < 0.3:
            pattern += rng.choice("%_")
        elif character in ("%", "_", sign):
            pattern += sign + character
        else:
            pattern += character
    if rng.random() < 0.5:
        pattern = rng.choice((f"%{pattern}", f"{pattern}%", f"%{pattern}%", f"_{pattern}"))
    return _perhaps_null(rng, _text(rng, pattern))
