"""Where are the literals in a text, and what is left without them?

Texts that differ only in their literals share one parse. `lift` takes the literals out, as values,
and leaves the **shape**: the text with a mark for each literal that says only its kind. A shape
that is new is cut into sqlglot's tokens by `scan`: literals are tokens that carry their slot
number, names are tokens that are nothing but names. So how things are spelled, and what a word
means, is decided here, as Spark decides it, and never by sqlglot. Limits are checked before
anything is parsed.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple, NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from tidegate.errors import FilterSyntaxError
from tidegate.filters.expression import KEYWORDS, MAX_DEPTH
from tidegate.filters.literals import (
    NUMBER,
    SPACE,
    STRING,
    decode,
    negate,
    to_date,
    to_double,
    to_timestamp,
    to_timestamp_ntz,
)
from tidegate.filters.values import Constant

MAX_LENGTH: Final = 2**20
"""Characters a filter's text may have."""
MAX_TOKENS: Final = 100_000
"""Words, symbols and literals a text may have; a run of constants in an IN list counts once."""

# A text is a sequence of (plain stretch, lifted piece). Plain are words and symbols; lifted are
# literals, and besides them what must not be searched for literals: back-quoted names, comments,
# and whatever does not end as it should, up to the end of the text. Nothing is tried twice.
_PLAIN = (  # long runs in one step; a digit or an r within a word starts no literal
    r"(?:[^0-9'\"`./\-rR]++|[rR](?!['\"])|(?<=[A-Za-z0-9_])(?:[rR]|[0-9]++)"
    r"|-(?!-)|/(?!\*)|\.(?![0-9]))*+"
)
_NAME = r"`[^`]*+(?:``[^`]*+)*+`(?!`)"
_COMMENT = r"--(?:\\\n|[^\r\n])*+|/\*(?!\+)[^*]*+(?:\*(?!/)[^*]*+)*+\*/"
_BROKEN = r"[0-9.][\w.]*+|['\"`/][\s\S]*+"
_PIECES = re.compile(f"({_PLAIN})({_NAME}|{_COMMENT}|{STRING}|{NUMBER}|{_BROKEN}|)")
_LITERAL = re.compile(f"{STRING}|{NUMBER}")
_SUFFIXES: Final = "lLsSyY"  # of integers; they give a literal a type of its own
_MARK: Final = "\0"
_KINDS: Final = {str: "\0s", int: "\0i", Decimal: "\0d", float: "\0f"}
_NEGATED: Final = {int: "\0m", Decimal: "\0n"}  # numbers that are read with the minus before them


def lift(text: str) -> tuple[str, list[Constant]]:
    """The shape of a text and the values of its literals, in order.

    >>> lift("price < 9.5 AND symbol = 'IBM'")
    ('price < \\x00d AND symbol = \\x00s', [Decimal('9.5'), 'IBM'])
    """
    shape: list[str] = []
    values: list[Constant] = []
    for plain, piece in _PIECES.findall(text):
        shape.append(plain)
        if piece.isascii():  # most literals are plain strings and plain integers
            if piece[:1] == "'" and piece.find("'", 1) == len(piece) - 1 and "\\" not in piece:
                shape.append("\0s")
                values.append(piece[1:-1])
                continue
            if piece.isdecimal() and len(piece) < 19:
                shape.append("\0i")
                values.append(int(piece))
                continue
        if not piece or piece[0] in "`-/":
            shape.append(piece)
            continue
        try:
            value = decode(piece)
            kind = _KINDS[type(value)]
        except ValueError as error:
            value = _negative(text, shape, piece, len(values), str(error))
            kind = _NEGATED[type(value)]
        if kind == "\0d" and piece.isdigit() and plain.rstrip().endswith("-"):
            value = negate(piece)  # -9223372036854775808 is a bigint
            kind = _NEGATED[type(value)]
        if piece[-1] in _SUFFIXES:
            kind += piece[-1].upper()
        shape.append(kind)
        values.append(value)
    if _MARK in text:
        _refuse_marks(text)
    return "".join(shape), values


def _negative(text: str, shape: list[str], piece: str, slot: int, refusal: str) -> Constant:
    """A literal that is refused alone may be in range behind a minus sign."""
    if shape[-1].rstrip().endswith("-"):
        try:
            return negate(piece)
        except ValueError:
            pass
    position = next(word.position for word in _words(text) if word.slot == slot)
    if _LITERAL.fullmatch(piece) is None:
        if piece[0] in "'\"":
            _refuse_character(text, position)
        _refuse(
            text,
            position,
            f"{piece[:40]} is neither a number nor a name",
            f"`{piece[:40]}` in back-quotes, if it is the name of an attribute",
        )
    raise FilterSyntaxError(refusal, text=text, position=position)


def _refuse_marks(text: str) -> None:
    position = 0
    for plain, piece in _PIECES.findall(text):
        if _MARK in plain:
            _refuse_character(text, position + plain.index(_MARK))
        position += len(plain) + len(piece)


class Word(NamedTuple):
    """A word, symbol or literal of a text: its kind, what it says, where it stands."""

    kind: str  # word, name, symbol, parameter, string, number
    text: str
    position: int
    slot: int = -1


@dataclass(slots=True)
class Scan:
    """A text as sqlglot's tokens, and what they do not say.

    `conversions` are the typed literals (slot → cast from string), `lists` the runs of constants
    that are written as their first slot, `suffixes` those of integers (slot → letter), `foreign`
    the words that mean something in SQL but nothing here, unless they are names. Tokens carry
    positions in the text.
    """

    tokens: list[Token] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    conversions: dict[int, Callable[[Any], Constant]] = field(default_factory=dict)
    lists: dict[int, range] = field(default_factory=dict)
    suffixes: dict[int, str] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)


def scan(text: str) -> Scan:
    """Cut a text into tokens, refusing what is outside the language's alphabet and limits."""
    words = list(_words(text))
    _check_nesting(text, words)
    result = Scan()
    result.suffixes = {
        w.slot: w.text[-1].upper() for w in words if w.kind == "number" and w.text[-1] in _SUFFIXES
    }
    tokens = result.tokens
    i = 0
    while i < len(words):
        word = words[i]
        kind = _SYMBOLS.get(word.text) if word.kind == "symbol" else None
        if kind is not None:
            tokens.append(_token(kind, word))
            i += 1
        else:
            i += _take(result, words, i)
        if len(tokens) > MAX_TOKENS:
            raise FilterSyntaxError(
                f"the filter has more than {MAX_TOKENS:,} words and symbols",
                instead="several subscriptions, or IN (…) for long lists of constants",
            )
    return result


_SYMBOLS: Final = {
    "=": TokenType.EQ,
    "==": TokenType.EQ,
    "<=>": TokenType.NULLSAFE_EQ,
    "!=": TokenType.NEQ,
    "<>": TokenType.NEQ,
    "<": TokenType.LT,
    "<=": TokenType.LTE,
    ">": TokenType.GT,
    ">=": TokenType.GTE,
    "(": TokenType.L_PAREN,
    ")": TokenType.R_PAREN,
    ",": TokenType.COMMA,
    ".": TokenType.DOT,
    "!": TokenType.NOT,
    "+": TokenType.PLUS,
    "-": TokenType.DASH,
}
_IN_CONTEXT: Final = ("ESCAPE", "DISTINCT", "FROM", "UNKNOWN")  # elsewhere they are names
_KEYWORDS: Final = {word: TokenType[word] for word in (*KEYWORDS, *_IN_CONTEXT)}
_TYPED: Final[dict[str, Callable[[Any], Constant]]] = {
    "DATE": to_date,
    "TIMESTAMP": to_timestamp,
    "TIMESTAMP_NTZ": to_timestamp_ntz,
    "TIMESTAMP_LTZ": to_timestamp,
}
_WORD = re.compile(
    rf"(?P<blank>{SPACE}+)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol><=>|<=|>=|<>|!=|==|[=<>(),.!+-])"
    r"|(?P<parameter>:[ \t\n]*[A-Za-z_][A-Za-z0-9_]*)|(?P<bad>[\s\S])"
)


def _token(kind: TokenType, word: Word, text: str | None = None) -> Token:
    start = word.position
    said = word.text if text is None else text
    return Token(kind, said, 1, start + 1, start, start + len(word.text) - 1)


def _words(text: str) -> Iterator[Word]:
    position = 0
    slot = 0
    for plain, piece in _PIECES.findall(text):
        for found in _WORD.finditer(plain):
            kind = found.lastgroup
            if kind == "blank":
                continue
            if kind == "bad":
                _refuse_character(text, position + found.start())
            yield Word(str(kind), found[0], position + found.start())
        position += len(plain)
        if piece:
            first = piece[0]
            if first == "`":
                yield Word("name", _unquoted(text, piece, position), position)
            elif first == "/":
                _check_comment(text, piece, position)
            elif first != "-":
                yield Word("string" if first in "'\"rR" else "number", piece, position, slot)
                slot += 1
            position += len(piece)


def _unquoted(text: str, piece: str, position: int) -> str:
    if not re.fullmatch(_NAME, piece):
        _refuse(text, position, "a back-quoted name that does not end", "a closing `")
    return piece[1:-1].replace("``", "`")


def _check_comment(text: str, piece: str, position: int) -> None:
    if piece.startswith("/*+"):
        _refuse(text, position, "a filter has no hints", "the filter without it")
    if not piece.endswith("*/") or len(piece) < 4:
        _refuse(text, position, "a comment that does not end", "a closing */")
    if "/*" in piece[2:]:
        _refuse(text, position, "a comment inside a comment", "one comment, or none")


def _refuse_character(text: str, position: int) -> NoReturn:
    character = text[position]
    if character in "'\"":
        _refuse(text, position, "a string that does not end", f"a closing {character}")
    if character in "*/%|&^~":
        _refuse(
            text,
            position,
            "a filter compares attributes with constants; there is no arithmetic in it",
            "the constant that the arithmetic gives",
        )
    if character == ":":
        _refuse(text, position, "a colon without the name of a parameter", ":name")
    if character.isalpha():
        _refuse(
            text,
            position,
            f"{character!r} may stand in a name only within back-quotes",
            "the name in back-quotes, as in `größe`",
        )
    shown = repr(character) if character.isprintable() else f"U+{ord(character):04X}"
    _refuse(text, position, f"the character {shown} has no meaning in a filter", None)


def _refuse(text: str, position: int, reason: str, instead: str | None) -> NoReturn:
    raise FilterSyntaxError(reason, text=text, position=position, instead=instead)


def _check_nesting(text: str, words: list[Word]) -> None:
    """Refuse what nests too deep before a recursive parser sees it."""
    opened: list[int] = []  # how deep it was before each open parenthesis
    depth = negations = 0
    for kind, said, position, _ in words:
        if kind == "symbol" and said == "(":
            opened.append(depth)
            depth += 1 + negations
            negations = 0
        elif kind == "symbol" and said == ")":
            if not opened:
                _refuse(text, position, "a ) that closes nothing", "an ( before it")
            depth = opened.pop()
        elif said == "!" or (kind == "word" and said.upper() == "NOT"):
            negations += 1
        else:
            negations = 0
        if depth + negations > MAX_DEPTH:
            _refuse(
                text,
                position,
                f"parentheses and NOTs nest deeper than {MAX_DEPTH}",
                "the same condition with fewer parentheses",
            )
    if opened:
        _refuse(text, len(text), "an ( is not closed", "a ) for each (")


def _take(result: Scan, words: list[Word], i: int) -> int:
    """Write the tokens for the word, and say how many words they take up."""
    word = words[i]
    if word.kind == "word":
        return _take_word(result, words, i)
    if word.kind == "name":
        result.tokens.append(_token(TokenType.IDENTIFIER, word))
        return 1
    if word.kind == "parameter":
        name = word.text[1:].lstrip()
        result.parameters.append(name)
        result.tokens += (_token(TokenType.COLON, word, ":"), _token(TokenType.VAR, word, name))
        return 1
    kind = TokenType.STRING if word.kind == "string" else TokenType.NUMBER
    result.tokens.append(_token(kind, word, str(word.slot)))
    last = i
    while (
        last + 2 < len(words)
        and words[last + 1].text == ","
        and words[last + 1].kind == "symbol"
        and words[last + 2].slot >= 0
    ):
        last += 2
    if last > i:
        result.lists[word.slot] = range(word.slot, words[last].slot + 1)
    return last - i + 1


def _take_word(result: Scan, words: list[Word], i: int) -> int:
    word = words[i]
    upper = word.text.upper()
    follower = words[i + 1] if i + 1 < len(words) else None
    if i > 0 and words[i - 1].kind == "symbol" and words[i - 1].text == ".":
        result.tokens.append(_token(TokenType.IDENTIFIER, word))
        return 1
    if _is_keyword(words, i, upper):
        result.tokens.append(_token(_KEYWORDS[upper], word, upper))
        return 1
    if follower is not None:
        if upper in _TYPED and follower.kind == "string":
            _convert(result, follower, _TYPED[upper])
            return 2
        if upper == "CAST" and _is_cast(words[i : i + 6]):
            _convert(result, words[i + 2], _not_finite)
            return 6
        if follower.kind == "symbol" and follower.text == "(":
            result.foreign.append(upper)
            result.tokens.append(_token(TokenType.VAR, word))
            return 1
    result.foreign.append(upper)
    result.tokens.append(_token(TokenType.IDENTIFIER, word))
    return 1


def _is_keyword(words: list[Word], i: int, upper: str) -> bool:
    """Whether the word is a keyword where it stands."""
    if upper not in _IN_CONTEXT:
        return upper in _KEYWORDS
    before = [
        word.text.upper() if word.kind in ("word", "symbol") else "" for word in words[:i][-2:]
    ]
    last = before[-1] if before else None
    if upper == "ESCAPE":  # behind an operand
        return last in ("", ")", "NULL", "TRUE", "FALSE") and words[i - 1].kind != "name"
    if upper == "FROM":
        return last == "DISTINCT"
    return last == "IS" or before == ["IS", "NOT"]


def _convert(result: Scan, literal: Word, cast: Callable[[Any], Constant]) -> None:
    result.conversions[literal.slot] = cast
    result.tokens.append(_token(TokenType.STRING, literal, str(literal.slot)))


def _is_cast(words: list[Word]) -> bool:
    """`CAST('NaN' AS DOUBLE)`: the one cast of the language, a literal in six words."""
    said = [word.text.upper() if word.kind != "string" else "string" for word in words]
    return said == ["CAST", "(", "string", "AS", "DOUBLE", ")"]


def _not_finite(text: str) -> float:
    value = to_double(text)
    if value - value == 0:
        raise ValueError(
            f"a cast is only for 'NaN', 'Infinity', '-Infinity': write {text.strip()}D"
        )
    return value
