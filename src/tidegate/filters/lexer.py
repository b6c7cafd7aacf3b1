"""Where are the literals in a text, and which words are left without them?

Texts that differ only in their literals share one parse. `lift` takes the literals out, as values,
and leaves the **shape**: the text with a mark for each literal that says only its kind. A shape
that is new is cut into **tokens** (`tokens`), of which the first character tells the kind: a word,
a `name` in back-quotes, a :parameter, a mark, a symbol. How things are spelled is decided here, as
Spark decides it.

Shapes have no positions. Only a refusal needs one, and then the text is cut into the very same
tokens once more (`places`).
"""

import re
from bisect import bisect_right
from decimal import Decimal
from typing import Final, NoReturn

from tidegate.errors import FilterSyntaxError
from tidegate.filters.literals import COMMENT, NUMBER, SPACE, STRING, decode, negate
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
_BROKEN = r"[0-9.][\w.]*+|['\"`/][\s\S]*+"
_PIECES = re.compile(f"({_PLAIN})({_NAME}|{COMMENT}|{STRING}|{NUMBER}|{_BROKEN}|)")
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
    position = literals(text)[slot][0]
    check_characters(text, position)
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


_MARKED = re.compile(r"\0(?:[im][LSY]?|[sdfn])")
_TOKEN = re.compile(
    rf"(?:{SPACE}++|{COMMENT})*+("
    rf"{_MARKED.pattern}(?:{SPACE}*+,{SPACE}*+{_MARKED.pattern})*+"  # a run of constants
    r"|[A-Za-z_][A-Za-z0-9_]*+"
    r"|<=>|<=|>=|<>|!=|==|[=<>(),.!+-]"
    r"|:[ \t\n]*+[A-Za-z_][A-Za-z0-9_]*+"
    rf"|{_NAME}|[\s\S]|)"
)


def tokens(shape: str) -> list[str]:
    """The words, symbols, names, parameters and runs of marks of a shape; at its end there is ''.

    What has no meaning in a filter is a token too, which no grammar has a place for.

    >>> tokens("price IN (\\0i, \\0i) AND `a b` <= :p")
    ['price', 'IN', '(', '\\x00i, \\x00i', ')', 'AND', '`a b`', '<=', ':p', '']
    """
    found: list[str] = _TOKEN.findall(shape)
    if len(found) > MAX_TOKENS + 1:
        raise FilterSyntaxError(
            f"the filter has more than {MAX_TOKENS:,} words and symbols",
            instead="several subscriptions, or IN (…) for long lists of constants",
        )
    return found


def places(text: str, shape: str) -> list[int]:
    """Where the tokens of a text's shape stand in the text."""
    of_shape, of_text = [0], [0]
    for plain, piece in _PIECES.findall(text):
        of_shape.append(of_shape[-1] + len(plain))
        of_text.append(of_text[-1] + len(plain))
        end = of_shape[-1] + len(piece)
        if piece and piece[0] not in "`-/":
            mark = _MARKED.match(shape, of_shape[-1])
            assert mark is not None
            end = mark.end()
        of_shape.append(end)
        of_text.append(of_text[-1] + len(piece))
    found = []
    for token in _TOKEN.finditer(shape):
        piece_before = bisect_right(of_shape, token.start(1)) - 1
        found.append(of_text[piece_before] + token.start(1) - of_shape[piece_before])
    return found


def literals(text: str) -> list[tuple[int, str]]:
    """The literals of a text, and where they stand in it."""
    found, position = [], 0
    for plain, piece in _PIECES.findall(text):
        position += len(plain)
        if piece and piece[0] not in "`-/":
            found.append((position, piece))
        position += len(piece)
    return found


def check_characters(text: str, until: int = MAX_LENGTH) -> None:
    """Refuse what is outside the language's alphabet, and what does not end as it should."""
    position = 0
    for plain, piece in _PIECES.findall(text):
        if position >= until:
            return
        for found in _TOKEN.finditer(plain):
            if found[1] and not _WORD_OR_SYMBOL.match(found[1]):
                _refuse_character(text, position + found.start(1))
        position += len(plain)
        if piece[:1] == "`" and not re.fullmatch(_NAME, piece):
            _refuse(text, position, "a back-quoted name that does not end", "a closing `")
        if piece[:1] == "/":
            _check_comment(text, piece, position)
        position += len(piece)


_WORD_OR_SYMBOL = re.compile(r"[A-Za-z_=<>(),.!+-]|:.")


def _check_comment(text: str, piece: str, position: int) -> None:
    if piece.startswith("/*+"):
        _refuse(text, position, "a filter has no hints", "the filter without it")
    end = piece.find("*/", 2)
    if end < 0:
        _refuse(text, position, "a comment that does not end", "a closing */")
    if "/*" in piece[2:end]:
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
