r"""How is a constant spelled?

Literals are read as Spark 4.3 reads them: the two regular expressions `STRING` and `NUMBER` say
where a literal ends, `decode` says what it is worth, and `spell` writes a constant back. The casts
(`to_bigint`, `to_double`, ...) say what a string is worth where another type is expected.

A minus sign belongs to the number right behind it, as in Spark's grammar: 9223372036854775808 is a
decimal, -9223372036854775808 a bigint, and -128Y a tinyint although 128Y is refused. Hence
`negate`, which takes the literal after the sign; it is not the negation of what `decode` answers.

Invariant: `decode(spell(c))` is `c`, of the same type, and Spark reads `spell(c)` as `c` too. What
is refused raises ValueError, saying why and what to write instead; the caller knows the position.
"""

import math
import re
import struct
import sys
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Final

from tidegate.filters.datetimes import BLANKS, to_date, to_timestamp, to_timestamp_ntz
from tidegate.filters.values import (
    BIGINT_MAX,
    BIGINT_MIN,
    MAX_PRECISION,
    Constant,
    decimal_type,
)

__all__ = [
    "COMMENT",
    "NUMBER",
    "SPACE",
    "STRING",
    "decode",
    "negate",
    "spell",
    "to_bigint",
    "to_boolean",
    "to_date",
    "to_double",
    "to_timestamp",
    "to_timestamp_ntz",
]

# Nothing here gives back what it has taken (`++`, `*+`, `?+`), so hostile input costs one pass.
SPACE: Final[str] = r"[\t-\r \xa0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000]"
_QUOTED = r"'[^'\\]*+(?:(?:\\[\s\S]|'')[^'\\]*+)*+'|\"[^\"\\]*+(?:(?:\\[\s\S]|\"\")[^\"\\]*+)*+\""
_RAW = r"(?<!\w)[rR](?:'[^']*+'|\"[^\"]*+\")"
_PIECE = rf"(?:{_QUOTED}|{_RAW})"
_DIGITS = r"(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)"
_EXPONENT = r"[eE][+-]?+[0-9]++"

COMMENT: Final[str] = r"--(?:\\\n|[^\r\n])*+|/\*(?!\+)[^*/]*+(?:(?:\*(?!/)|/(?!\*))[^*/]*+)*+\*/"
"""One comment: to the end of the line, or between `/*` and `*/` and without another inside."""

_BETWEEN = rf"(?:{SPACE}++|{COMMENT})*+"
STRING: Final[str] = rf"{_PIECE}(?:{_BETWEEN}{_PIECE})*+"
r"""One string literal: quoted, raw (`r'\d'`), or several in a row, which Spark joins.

Blanks and comments may stand between them.
"""

NUMBER: Final[str] = (
    rf"(?<![\w.:])(?:[0-9]++[lLsSyY]|{_DIGITS}(?:{_EXPONENT})?+(?:[fFdD]|[bB][dD])?+)(?!\w)"
)
"""One number without its sign. `1e` and `1_000` are none: Spark takes them for identifiers."""

_NEXT_PIECE = re.compile(rf"{_BETWEEN}({_PIECE})")
_NUMBER = re.compile(r"([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?(BD|[LSYFD])?", re.I | re.A)
_TYPED = re.compile(rf"(DATE|TIMESTAMP){SPACE}*({_PIECE})", re.I | re.A)
_CAST = re.compile(
    rf"CAST{SPACE}*\({SPACE}*({STRING}){SPACE}*AS{SPACE}+(\w+){SPACE}*\)", re.I | re.A
)
_ESCAPE = r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|([\s\S]))"
_ESCAPES = {quote: re.compile(rf"{_ESCAPE}|{quote}({quote})") for quote in "'\""}
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a", "%": "\\%"}
_ESCAPED["_"] = "\\_"

_KEYWORDS: Final[dict[str, Constant]] = {"TRUE": True, "FALSE": False, "NULL": None}
_INTEGERS = {"L": ("bigint", BIGINT_MAX), "S": ("smallint", 32767), "Y": ("tinyint", 127)}
_LARGEST_DOUBLE = Decimal("1.7976931348623157E308")
_LARGEST_FLOAT = Decimal("3.4028234663852886E38")
_LARGEST_EXPONENT = 2**31 - 1


def decode(text: str) -> Constant:
    r"""The value of one literal, as `STRING` or `NUMBER` match it, or of anything `spell` writes.

    >>> decode("42"), decode("1.50"), decode("1e3"), decode("'it''s'"), decode(r"r'\d'")
    (42, Decimal('1.50'), 1000.0, "it's", '\\d')
    >>> decode("128Y")
    Traceback (most recent call last):
        ...
    ValueError: 128Y is beyond tinyint (-128 to 127): write 128
    """
    if text[:1] in ("'", '"') or (text[:1] in ("r", "R") and text[1:2] in ("'", '"')):
        return _string(text)
    if text[:1].isdigit() or text[:1] == ".":
        whole, _, fraction = text.partition(".")
        if fraction.isdecimal() and whole.isdecimal() and len(text) < 40 and text.isascii():
            return Decimal(text)
        return _number(text, "")
    return _phrase(text)


def negate(text: str) -> Constant:
    """The value of a minus sign followed by that literal.

    >>> negate("9223372036854775808"), decode("9223372036854775808")
    (-9223372036854775808, Decimal('9223372036854775808'))
    """
    if text[:1].isdigit() or text[:1] == ".":
        return _number(text, "-")
    raise ValueError(f"{_show(text)} has no negative: write a number after the minus sign")


def spell(constant: Constant) -> str:
    r"""The canonical spelling of a constant, the same for Spark and for `decode`.

    >>> print(spell("it's"), spell(-2), spell(1e300), spell(Decimal("1.50")), spell(None))
    'it\'s' -2 1E300D 1.50BD NULL
    >>> spell(datetime(2020, 1, 31, 12, 0, 0, 500_000)), spell(float("nan"))
    ("TIMESTAMP '2020-01-31 12:00:00.5'", "CAST('NaN' AS DOUBLE)")
    """
    if isinstance(constant, str):
        return f"'{_TO_ESCAPE.sub(_escape, _whole(constant))}'"
    if constant is None or isinstance(constant, bool):
        return str(constant).upper() if constant is not None else "NULL"
    if isinstance(constant, int):
        if not BIGINT_MIN <= constant <= BIGINT_MAX:
            raise ValueError("an integer beyond bigint has no spelling: pass a Decimal")
        return str(constant)
    if isinstance(constant, float):
        if math.isfinite(constant):
            return float.__repr__(constant).upper().replace("E+", "E") + "D"
        name = "NaN" if math.isnan(constant) else "Infinity" if constant > 0 else "-Infinity"
        return f"CAST('{name}' AS DOUBLE)"
    if isinstance(constant, Decimal):
        kind = decimal_type(constant)
        if kind is None:
            raise ValueError(f"{constant} has no spelling: a decimal has at most 38 digits")
        return f"{constant:f}BD" if constant else f"{Decimal(0):.{kind[1]}f}BD"
    if isinstance(constant, datetime):
        if constant.tzinfo is not None:
            raise ValueError("a timestamp with a zone has no spelling: pass it naive, in UTC")
        whole, _, fraction = constant.isoformat(" ").partition(".")
        return f"TIMESTAMP '{whole}{'.' if fraction else ''}{fraction.rstrip('0')}'"
    return f"DATE '{constant.isoformat()}'"


def to_bigint(text: str) -> int:
    """The integer of `CAST(text AS BIGINT)`: digits and a sign, nothing else.

    >>> to_bigint(" +5 ")
    5
    """
    trimmed = text.strip(BLANKS)
    digits = trimmed[1:] if trimmed[:1] in ("+", "-") else trimmed
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"{_show(repr(text))} is not a bigint: write digits only, such as 5")
    significant = digits.lstrip("0") or "0"
    value = int(significant) if len(significant) < 20 else BIGINT_MAX + 2
    value = -value if trimmed[0] == "-" else value
    if not BIGINT_MIN <= value <= BIGINT_MAX:
        raise ValueError(f"{_show(repr(text))} is beyond bigint: write a decimal, as 1e19BD")
    return value


_DOUBLE = re.compile(rf"([+-]?{_DIGITS}(?:{_EXPONENT})?)[dDfF]?")
_HEX_DOUBLE = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[dDfF]?"
)
_NOT_FINITE = re.compile(r"(?i:nan)|[+-]NaN|(?i:[+-]?inf(?:inity)?)", re.A)


def to_double(text: str) -> float:
    """The double of `CAST(text AS DOUBLE)`; beyond the largest double it is infinite.

    >>> to_double("1.5"), to_double("-inf"), to_double("1e400"), to_double("0x1p3")
    (1.5, -inf, inf, 8.0)
    """
    trimmed = text.strip(BLANKS[:-1])
    if found := _DOUBLE.fullmatch(trimmed):
        return float(found[1])
    if _NOT_FINITE.fullmatch(trimmed):
        return float(trimmed) if trimmed[-1] not in "nN" else math.nan
    if found := _HEX_DOUBLE.fullmatch(trimmed):
        try:
            return float.fromhex(found[1])
        except OverflowError:
            return -math.inf if trimmed[0] == "-" else math.inf
    raise ValueError(f"{_show(repr(text))} is not a double: write it as 1.5 or 1.5e3")


def to_boolean(text: str) -> bool:
    """The boolean of `CAST(text AS BOOLEAN)`.

    >>> to_boolean("true"), to_boolean(" N ")
    (True, False)
    """
    word = text.strip(BLANKS).lower()
    if word in ("true", "t", "yes", "y", "1"):
        return True
    if word in ("false", "f", "no", "n", "0"):
        return False
    raise ValueError(f"{_show(repr(text))} is not a boolean: write true or false")


def _number(text: str, sign: str) -> Constant:
    """The value of `sign` (empty or a minus) and the number `text` behind it."""
    found = _NUMBER.fullmatch(text)
    if found is None or not (found[1] or found[2]):
        raise ValueError(f"{_show(text)} is not a number: write it as 5, 1.5 or 1.5e3")
    whole, fraction, exponent, suffix = found.groups()
    suffix = (suffix or "").upper()
    if fraction is None and exponent is None and suffix not in ("F", "D", "BD"):
        return _integer(whole.lstrip("0") or "0", suffix, sign)
    if suffix in _INTEGERS:
        raise ValueError(f"{_show(text)} is not an integer: write it without the {text[-1]}")
    if exponent is not None:
        _check_exponent(text, exponent, fraction or "")
    if suffix == "BD" or (exponent is None and not suffix):
        return _decimal(text, whole, fraction or "", int(exponent or 0), sign)
    body = text[:-1] if suffix else text
    if suffix == "F":
        if Decimal(body) > _LARGEST_FLOAT:
            raise ValueError(f"{_show(text)} is beyond float: write {_show(body + 'D')}, a double")
        return _round_to_float(sign + body)
    value = float(body)
    if value >= sys.float_info.max and Decimal(body) > _LARGEST_DOUBLE:
        raise ValueError(
            f"{_show(text)} is beyond double: write CAST('{sign}Infinity' AS DOUBLE) or less"
        )
    return -value if sign else value


def _integer(digits: str, suffix: str, sign: str) -> Constant:
    """An integer; without a suffix it becomes a decimal where bigint ends, as in Spark."""
    kind, largest = _INTEGERS[suffix or "L"]
    if len(digits) < 20:
        value = int(sign + digits)
        if -largest - 1 <= value <= largest:
            return value
    if not suffix:
        return _decimal(digits, digits, "", 0, sign)
    plain = f"{sign}{digits}" + ("BD" if suffix == "L" else "")
    raise ValueError(
        f"{_show(sign + digits + suffix)} is beyond {kind} ({-largest - 1} to {largest}): "
        f"write {_show(plain)}"
    )


def _decimal(text: str, whole: str, fraction: str, exponent: int, sign: str) -> Decimal:
    """A decimal as Spark types it: a scale below zero is filled up with zeros."""
    unscaled = (whole + fraction).lstrip("0")
    scale = len(fraction) - exponent
    digits = max(len(unscaled), 1) + max(-scale, 0)
    if max(digits, scale) > MAX_PRECISION:
        raise ValueError(
            f"{_show(text)} has more than {MAX_PRECISION} digits: "
            "write fewer, or a double such as 1e50"
        )
    if not unscaled:
        sign = ""
    return Decimal(f"{sign}{unscaled or '0'}{'0' * max(-scale, 0)}E{-max(scale, 0)}")


def _check_exponent(text: str, exponent: str, fraction: str) -> None:
    """Refuse the exponents that Spark's own reader (java.math.BigDecimal) has no room for."""
    significant = exponent.lstrip("+-").lstrip("0") or "0"
    size = int(significant) if len(significant) < 11 else _LARGEST_EXPONENT + 1
    scale = len(fraction) + (size if exponent[0] == "-" else -size)
    if size > _LARGEST_EXPONENT or scale > _LARGEST_EXPONENT:
        raise ValueError(f"the exponent of {_show(text)} is out of reach: write a smaller one")


def _round_to_float(body: str) -> float:
    """The float nearest to the decimal number `body`, rounded once.

    Rounding to a double first and then to a float may go wrong by one unit, unless the first
    rounding, where it is not exact, leaves the last bit of the double set ("round to odd").
    """
    value = float(body)
    exact = Decimal(body)
    if Decimal(value) != exact and not struct.unpack("<Q", struct.pack("<d", value))[0] & 1:
        value = math.nextafter(value, math.inf if exact > Decimal(value) else -math.inf)
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded


def _string(text: str) -> str:
    """The value of a string literal: its pieces, each with its own quotes, joined."""
    values = []
    position = 0
    while position < len(text):
        found = _NEXT_PIECE.match(text, position)
        if found is None:
            raise ValueError(f"{_show(text[position:])} is not a string: close it with its quote")
        position = found.end()
        piece = found[1]
        if piece[0] in "rR":
            values.append(piece[2:-1])
        else:
            values.append(_ESCAPES[piece[0]].sub(_unescape, piece[1:-1]))
    return _whole("".join(values))


def _unescape(found: re.Match[str]) -> str:
    code, long_code, octal, other, doubled = found.groups()
    if other is not None:
        return _ESCAPED.get(other, other)
    if doubled is not None:
        return doubled
    if octal is not None:
        return chr(int(octal, 8))
    point = int(code or long_code, 16)
    if point > sys.maxunicode:
        raise ValueError(f"{found[0]} is not a character: the last one is \\U0010FFFF")
    return chr(point)


def _whole(value: str) -> str:
    """The same string with surrogate pairs joined; half a pair is no character."""
    if value.isascii():
        return value
    try:
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError as problem:
        half = int.from_bytes(problem.object[problem.start : problem.start + 2], "little")
        raise ValueError(
            f"\\u{half:04x} is half a character: write the pair, or \\U and eight digits"
        ) from None


_TO_ESCAPE = re.compile(r"['\\\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SHORT_ESCAPES = {"'": "\\'", "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _escape(found: re.Match[str]) -> str:
    # NUL is \u0000 because \0 in front of two octal digits would read as one character
    return _SHORT_ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}"


def _phrase(text: str) -> Constant:
    """What `spell` writes with more than one literal token, or with a keyword."""
    if text[:1] == "-":
        return negate(text[1:].lstrip())
    if text.upper() in _KEYWORDS:
        return _KEYWORDS[text.upper()]
    if found := _TYPED.fullmatch(text):
        value = _string(found[2])
        return to_date(value) if found[1].upper() == "DATE" else to_timestamp(value)
    if (found := _CAST.fullmatch(text)) and found[2].upper() in _CASTS:
        return _CASTS[found[2].upper()](_string(found[1]))
    raise ValueError(f"{_show(text)} is not a constant: write a number, a string, true, ...")


_CASTS: Final[dict[str, Callable[[str], Constant]]] = {
    "BIGINT": to_bigint,
    "DOUBLE": to_double,
    "BOOLEAN": to_boolean,
    "DATE": to_date,
    "TIMESTAMP": to_timestamp,
}


def _show(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
