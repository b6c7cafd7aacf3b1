"""Where are the literals in a text, and what is left without them?

Texts that differ only in their literals share one parse. `lift` takes the literals out, as values,
and leaves the **shape**: the text with a mark for each literal that says only its kind. A shape
that is new goes through `canonical`, which rewrites it into plain SQL for sqlglot: names become
`n0`, `n1`, …, parameters `:p0`, literals their slot numbers, so that how they are spelled is
decided here, as Spark decides it, and never by sqlglot. Limits are checked before anything is
parsed.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NoReturn

from tidegate.errors import FilterSyntaxError
from tidegate.filters.literals import (
    NUMBER,
    STRING,
    decode,
    negate,
    to_date,
    to_double,
    to_timestamp,
)
from tidegate.filters.values import Constant

MAX_LENGTH: Final = 2**20
"""Characters a filter's text may have."""
MAX_DEPTH: Final = 32
"""How deep parentheses and NOTs may nest, counted together."""
MAX_TOKENS: Final = 100_000
"""Words, symbols and literals a text may have; a run of constants in an IN list counts once."""

_QUOTED_NAME = r"`[^`]*+(?:``[^`]*+)*+`"
_COMMENT = r"--[^\n]*+|/\*(?!\+)[^*]*+(?:\*(?!/)[^*]*+)*+\*/"
_LIFT = re.compile(f"({_QUOTED_NAME}|{_COMMENT}|{STRING}|{NUMBER})")
_MARK: Final = "\0"
_KINDS: Final = {str: "\0s", int: "\0i", Decimal: "\0d", float: "\0f"}
_NEGATED: Final = "\0m"  # a number that exists only together with the minus sign before it


def lift(text: str) -> tuple[str, list[Constant]]:
    """The shape of a text and the values of its literals, in order.

    >>> lift("price < 9.5 AND symbol = 'IBM'")
    ('price < \\x00d AND symbol = \\x00s', [Decimal('9.5'), 'IBM'])
    """
    pieces = _LIFT.split(text)
    values: list[Constant] = []
    for i in range(1, len(pieces), 2):
        literal = pieces[i]
        if literal[0] in "`-/":
            continue
        try:
            value = decode(literal)
        except ValueError as error:
            value = _negative(text, pieces, i, str(error))
            pieces[i] = _NEGATED
        else:
            pieces[i] = _KINDS[type(value)]
            if type(value) is Decimal and literal.isdigit() and _after_minus(pieces, i):
                value = negate(literal)  # -9223372036854775808 is a bigint, without - a decimal
                pieces[i] = _NEGATED
        values.append(value)
    if _MARK in text:
        _refuse_marks(text)
    return "".join(pieces), values


def _after_minus(pieces: list[str], i: int) -> bool:
    return pieces[i - 1].rstrip().endswith("-")


def _negative(text: str, pieces: list[str], i: int, refusal: str) -> Constant:
    """A literal that is refused alone may be in range behind a minus sign."""
    if _after_minus(pieces, i):
        try:
            return negate(pieces[i])
        except ValueError:
            pass
    position = sum(len(m) for m in _LIFT.split(text)[:i])
    raise FilterSyntaxError(refusal, text=text, position=position)


def _refuse_marks(text: str) -> None:
    position = 0
    for i, piece in enumerate(_LIFT.split(text)):
        if not i & 1 and _MARK in piece:
            _refuse_character(text, position + piece.index(_MARK))
        position += len(piece)


_TOKEN = re.compile(
    r"(?P<blank>[\s\u2028]+)|(?P<word>[A-Za-z0-9_]+)|(?P<symbol><=>|<=|>=|<>|!=|==|[=<>(),.!+-])"
    r"|(?P<parameter>:[ \t\n]*[A-Za-z_][A-Za-z0-9_]*)|(?P<bad>[\s\S])"
)
_KEYWORDS: Final = frozenset(
    "AND OR NOT IN IS NULL TRUE FALSE BETWEEN LIKE ESCAPE DISTINCT FROM UNKNOWN".split()
)
_TYPED: Final[dict[str, Callable[[Any], Constant]]] = {
    "DATE": to_date,
    "TIMESTAMP": to_timestamp,
    "TIMESTAMP_NTZ": to_timestamp,
    "TIMESTAMP_LTZ": to_timestamp,
}


@dataclass(slots=True)
class _Token:
    """A token of the original text: what it is, its text, where it starts."""

    kind: str  # word, name, symbol, parameter, or the kind of a literal: s i d f m
    text: str
    position: int
    slot: int = -1


@dataclass(slots=True)
class Canonical:
    """A text rewritten for sqlglot, and the way back.

    `names` and `parameters` are what n0, p0, … stand for; `conversions` the typed literals (slot →
    cast from string); `lists` the runs of constants that are written as their first slot;
    `foreign` are the words that mean something in SQL and nothing here, unless they are names.
    """

    text: str
    sql: str = ""
    names: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    conversions: dict[int, Callable[[Any], Constant]] = field(default_factory=dict)
    lists: dict[int, range] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def origin(self, offset: int) -> int:
        """The position in the original text of an offset in the rewritten one."""
        at = bisect_right(self.starts, offset) - 1
        return self.origins[at] if at >= 0 else 0

    def slot_position(self, slot: int) -> int:
        """Where the literal of a slot stands in the original text."""
        for token in _tokens(self.text):
            if token.slot == slot:
                return token.position
        return 0


def canonical(text: str) -> Canonical:
    """Rewrite a text for sqlglot, refusing what is outside the language's alphabet and limits."""
    result = Canonical(text)
    tokens = list(_tokens(text))
    _check_nesting(text, tokens)
    out: list[str] = []
    length = 0
    i = 0
    while i < len(tokens):
        written, used = _write(result, tokens, i)
        result.starts.append(length)
        result.origins.append(tokens[i].position)
        out.append(written)
        length += len(written) + 1
        i += used
        if len(out) > MAX_TOKENS:
            raise FilterSyntaxError(
                f"the filter has more than {MAX_TOKENS:,} words and symbols",
                instead="several subscriptions, or IN (…) for long lists of constants",
            )
    result.sql = " ".join(out)
    return result


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    slot = 0
    for i, piece in enumerate(_LIFT.split(text)):
        if not i & 1:
            yield from _plain_tokens(text, piece, position)
        elif piece[0] == "`":
            yield _Token("name", piece[1:-1].replace("``", "`"), position)
        elif piece[0] == "/" and "/*" in piece[2:]:
            _refuse(text, position, "a comment inside a comment", "one comment, or none")
        elif piece[0] not in "-/":
            kind = "s" if piece[0] in "'\"rR" else "n"
            yield _Token(kind, piece, position, slot)
            slot += 1
        position += len(piece)


def _plain_tokens(text: str, piece: str, start: int) -> Iterator[_Token]:
    for found in _TOKEN.finditer(piece):
        kind, token, position = found.lastgroup, found[0], start + found.start()
        if kind == "blank":
            continue
        if kind == "bad":
            _refuse_character(text, position)
        assert kind is not None
        if kind == "word" and token[0].isdigit():
            _refuse(
                text,
                position,
                f"{token[:40]} is neither a number nor a name",
                f"`{token[:40]}` in back-quotes if it is the name of an attribute",
            )
        if kind == "parameter":
            token = token[1:].lstrip()
        yield _Token(kind, token, position)


def _refuse_character(text: str, position: int) -> NoReturn:
    character = text[position]
    if character in "'\"":
        _refuse(text, position, "a string that does not end", f"a closing {character}")
    if character == "`":
        _refuse(text, position, "a back-quoted name that does not end", "a closing `")
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


def _check_nesting(text: str, tokens: list[_Token]) -> None:
    """Refuse what nests too deep before a recursive parser sees it."""
    opened: list[int] = []  # how deep it was before each open parenthesis
    depth = negations = 0
    for token in tokens:
        is_not = (token.kind == "word" and token.text.upper() == "NOT") or token.text == "!"
        if token.kind == "symbol" and token.text == "(":
            opened.append(depth)
            depth += 1 + negations
            negations = 0
        elif token.kind == "symbol" and token.text == ")":
            if not opened:
                _refuse(text, token.position, "a ) that closes nothing", "an ( before it")
            depth = opened.pop()
        elif is_not and token.kind in ("word", "symbol"):
            negations += 1
        else:
            negations = 0
        if depth + negations > MAX_DEPTH:
            _refuse(
                text,
                token.position,
                f"parentheses and NOTs nest deeper than {MAX_DEPTH}",
                "the same condition with fewer parentheses",
            )
    if opened:
        _refuse(text, len(text), "an ( is not closed", "a ) for each (")


def _write(result: Canonical, tokens: list[_Token], i: int) -> tuple[str, int]:
    """What stands for the token, and how many tokens that takes up."""
    token = tokens[i]
    follower = tokens[i + 1] if i + 1 < len(tokens) else None
    match token.kind:
        case "symbol":
            return token.text, 1
        case "parameter":
            result.parameters.append(token.text)
            return f":p{len(result.parameters) - 1}", 1
        case "name":
            return _name(result, token.text), 1
        case "word":
            return _word(result, tokens, i, follower)
        case kind:
            quote = "'" if kind == "s" else ""
            return f"{quote}{token.slot}{quote}", _run(result, tokens, i)


def _name(result: Canonical, name: str) -> str:
    result.names.append(name)
    return f"`n{len(result.names) - 1}`"


def _word(
    result: Canonical, tokens: list[_Token], i: int, follower: _Token | None
) -> tuple[str, int]:
    word = tokens[i].text
    upper = word.upper()
    after_dot = i > 0 and tokens[i - 1].kind == "symbol" and tokens[i - 1].text == "."
    if after_dot:
        return _name(result, word), 1
    if upper in _TYPED and follower is not None and follower.kind == "s":
        result.conversions[follower.slot] = _TYPED[upper]
        return f"'{follower.slot}'", 2
    if upper == "CAST" and (cast := _cast(result, tokens, i)):
        return cast, 6
    if upper in _KEYWORDS:
        return upper, 1
    if follower is not None and follower.kind == "symbol" and follower.text == "(":
        result.foreign.append(upper)
        return word, 1
    result.foreign.append(upper)
    return _name(result, word), 1


def _cast(result: Canonical, tokens: list[_Token], i: int) -> str | None:
    """`CAST('NaN' AS DOUBLE)`: the one cast of the language, a literal in six tokens."""
    span = tokens[i : i + 6]
    shape = [token.text.upper() if token.kind != "s" else "s" for token in span]
    if shape != ["CAST", "(", "s", "AS", "DOUBLE", ")"]:
        return None
    result.conversions[span[2].slot] = _not_finite
    return f"'{span[2].slot}'"


def _not_finite(text: str) -> float:
    value = to_double(text)
    if value - value == 0:
        raise ValueError(f"a cast is only for 'NaN', 'Infinity', '-Infinity': write {text.strip()}D")
    return value


def _run(result: Canonical, tokens: list[_Token], i: int) -> int:
    """How many tokens belong to the run of constants, separated by commas, that starts here."""
    last = i
    while (
        last + 2 < len(tokens)
        and tokens[last + 1].text == ","
        and tokens[last + 1].kind == "symbol"
        and tokens[last + 2].slot >= 0
    ):
        last += 2
    if last > i:
        result.lists[tokens[i].slot] = range(tokens[i].slot, tokens[last].slot + 1)
    return last - i + 1
