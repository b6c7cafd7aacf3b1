"""Does a string match a LIKE pattern, and what does one pattern say about another?

A pattern is a sequence of pieces: a literal run, `ONE` (any one character, written `_`) or `RUN`
(any run of characters, written `%`). `startswith`, `endswith` and `contains` are patterns too, so
every condition on text that is not a range has one form here. Matching looks each stretch between
two `%` up once, leftmost first: linear for plain text, never exponential.

`implies` and `disjoint` state only what is certain; False means "not known".
"""

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias


class _Wild(Enum):
    ONE = "_"
    RUN = "%"


ONE: Final = _Wild.ONE
RUN: Final = _Wild.RUN

Piece: TypeAlias = str | _Wild


class PatternError(ValueError):
    """A LIKE pattern that Spark refuses."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A LIKE pattern in its one normal form: runs of wild cards sorted, literals joined."""

    pieces: tuple[Piece, ...]

    @property
    def literal(self) -> str | None:
        """The only string that matches, if there is just one."""
        if not self.pieces:
            return ""
        if len(self.pieces) == 1 and isinstance(self.pieces[0], str):
            return self.pieces[0]
        return None

    @property
    def prefix(self) -> str:
        """What every matching string starts with."""
        return self.pieces[0] if self.pieces and isinstance(self.pieces[0], str) else ""

    @property
    def suffix(self) -> str:
        """What every matching string ends with."""
        return self.pieces[-1] if self.pieces and isinstance(self.pieces[-1], str) else ""

    @property
    def is_prefix(self) -> bool:
        """Whether the pattern says nothing but how a string starts (`abc%`, or `%`)."""
        return self.pieces == (RUN,) or (
            len(self.pieces) == 2 and isinstance(self.pieces[0], str) and self.pieces[1] is RUN
        )

    def matches(self, text: str) -> bool:
        """Whether the whole of `text` matches.

        >>> like("a%b_").matches("axxb1"), like("a%b_").matches("ab")
        (True, False)
        """
        first, *rest = _stretches(self.pieces)
        start = _at(text, 0, first)
        if start is None:
            return False
        if not rest:
            return start == len(text)
        *middle, last = rest
        for stretch in middle:
            start = _find(text, start, stretch)
            if start is None:
                return False
        end = len(text) - _width(last)
        return end >= start and _at(text, end, last) is not None


def like(pattern: str, escape: str = "\\") -> Pattern:
    """Read a LIKE pattern; an escape that Spark refuses raises `PatternError`."""
    pieces: list[Piece] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped is None:
                raise PatternError(f"the pattern ends with its escape character {escape}")
            if escaped not in ("_", "%", escape):
                raise PatternError(
                    f"in a pattern, {escape} may stand only before %, _ or itself, "
                    f"not before {escaped!r}"
                )
            pieces.append(escaped)
        elif character == "_":
            pieces.append(ONE)
        elif character == "%":
            pieces.append(RUN)
        else:
            pieces.append(character)
    return _normal(pieces)


def starting(text: str) -> Pattern:
    """The pattern of strings that start with `text`."""
    return _normal([text, RUN])


def ending(text: str) -> Pattern:
    """The pattern of strings that end with `text`."""
    return _normal([RUN, text])


def containing(text: str) -> Pattern:
    """The pattern of strings that contain `text`."""
    return _normal([RUN, text, RUN])


def implies(narrow: Pattern, wide: Pattern) -> bool:
    """Whether every string that matches `narrow` is known to match `wide`.

    >>> implies(ending("abc"), containing("bc")), implies(containing("bc"), ending("abc"))
    (True, False)
    """
    if narrow.literal is not None:
        return wide.matches(narrow.literal)
    if len(narrow.pieces) > _SYMBOLIC or len(wide.pieces) > _SYMBOLIC:
        return narrow == wide
    return _implies(narrow, wide)


def disjoint(one: Pattern, other: Pattern) -> bool:
    """Whether it is known that no string matches both.

    >>> disjoint(ending("a"), ending("b")), disjoint(ending("a"), containing("b"))
    (True, False)
    """
    if one.literal is not None:
        return not other.matches(one.literal)
    if other.literal is not None:
        return not one.matches(other.literal)
    heads = sorted((one.prefix, other.prefix), key=len)
    tails = sorted((one.suffix, other.suffix), key=len)
    return not (heads[1].startswith(heads[0]) and tails[1].endswith(tails[0]))


_SYMBOLIC: Final = 200  # pieces; beyond it two different patterns are not compared


@lru_cache(maxsize=4096)
def _implies(narrow: Pattern, wide: Pattern) -> bool:
    """Match `wide` against the symbols of `narrow`, whose own `%` only a `%` can take in."""
    symbols = _symbols(narrow.pieces)
    if len(symbols) > _SYMBOLIC:
        return narrow == wide
    reach = {0}
    for want in _symbols(wide.pieces):
        if want is RUN:
            reach = set(range(min(reach), len(symbols) + 1))
        else:
            reach = {
                i + 1
                for i in reach
                if i < len(symbols)
                and (symbols[i] == want or (want is ONE and symbols[i] is not RUN))
            }
        if not reach:
            return False
    return len(symbols) in reach


def _symbols(pieces: tuple[Piece, ...]) -> list[Piece]:
    symbols: list[Piece] = []
    for piece in pieces:
        symbols.extend(piece if isinstance(piece, str) else (piece,))
    return symbols


def _normal(pieces: list[Piece]) -> Pattern:
    """Join literals; write a run of wild cards as its `_`s followed by at most one `%`."""
    done: list[Piece] = []
    literal: list[str] = []
    open_run = False
    for piece in pieces:
        if piece == "":
            continue
        if isinstance(piece, str):
            if open_run:
                done.append(RUN)
                open_run = False
            literal.append(piece)
            continue
        if literal:
            if text := "".join(literal):
                done.append(text)
            literal = []
        if piece is ONE:
            done.append(ONE)
        else:
            open_run = True
    if open_run:
        done.append(RUN)
    if text := "".join(literal):
        done.append(text)
    return Pattern(tuple(done))


def _stretches(pieces: tuple[Piece, ...]) -> list[list[Piece]]:
    """The pieces between the `%`s: n of them give n + 1 stretches."""
    stretches: list[list[Piece]] = [[]]
    for piece in pieces:
        if piece is RUN:
            stretches.append([])
        else:
            stretches[-1].append(piece)
    return stretches


def _width(stretch: list[Piece]) -> int:
    return sum(len(piece) if isinstance(piece, str) else 1 for piece in stretch)


def _at(text: str, start: int, stretch: list[Piece]) -> int | None:
    """Where the stretch ends if it stands in `text` at `start`."""
    for piece in stretch:
        if isinstance(piece, str):
            if not text.startswith(piece, start):
                return None
            start += len(piece)
        elif start < len(text):
            start += 1
        else:
            return None
    return start


def _find(text: str, start: int, stretch: list[Piece]) -> int | None:
    """Where the leftmost occurrence of the stretch at or after `start` ends."""
    if all(piece is ONE for piece in stretch):
        past = start + len(stretch)
        return past if past <= len(text) else None
    if len(stretch) == 1:
        [literal] = stretch
        assert isinstance(literal, str)
        at = text.find(literal, start)
        return None if at < 0 else at + len(literal)
    found = _expression(tuple(stretch)).search(text, start)
    return None if found is None else found.end()


@lru_cache(maxsize=1024)
def _expression(stretch: tuple[Piece, ...]) -> re.Pattern[str]:
    """A stretch as a regular expression; it repeats nothing, so it has nothing to go back to."""
    return re.compile(
        "".join(re.escape(piece) if isinstance(piece, str) else "." for piece in stretch), re.DOTALL
    )
