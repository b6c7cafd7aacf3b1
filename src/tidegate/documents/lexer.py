"""Which words does an XPath expression have?

As XPath 1.0 cuts a text: names (with a prefix or without), numbers, strings in either quotes, which
know no escapes, `$name`, and symbols. Whether a name is an operator is decided by where it stands,
so an element may be called `or`.
"""

import re
from dataclasses import dataclass
from typing import Final

from tidegate.documents.pattern import ORDERED
from tidegate.documents.values import spelled
from tidegate.errors import FilterSyntaxError

MAX_LENGTH: Final = 2**20
"""Characters a text may have."""
MAX_TOKENS: Final = 10_000
"""Words and symbols a text may have."""
_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_REST = _START + "0-9.\u00b7\u0300-\u036f\u203f-\u2040\\-"
_NAME = f"[{_START}][{_REST}]*+"
_QNAME = rf"{_NAME}(?::(?!:){_NAME})?+"
_TOKEN = re.compile(
    rf"[ \t\r\n]*+(?:(?P<name>{_QNAME})"
    r"|(?P<number>[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)"
    r"|(?P<string>'[^']*+'|\"[^\"]*+\")"
    rf"|(?P<parameter>\${_QNAME})"
    r"|(?P<symbol>//|\.\.|::|!=|<=|>=|[/.@\[\](),|+\-=<>*:])"
    r"|(?P<end>\Z)|(?P<other>[\s\S]))"
)
_BEGINNING = re.compile(rf"[ \t\r\n]*+(?:/|{ORDERED}[ \t\r\n]*+:)")
_STUCK = re.compile(rf"[0-9]++[{_REST}]*+")
_FOREIGN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Token:
    """A word or symbol of a text; at its end there is an empty one."""

    kind: str
    text: str
    position: int


def is_name(text: str) -> bool:
    """Whether a text is a name without a prefix."""
    return re.fullmatch(_NAME, text) is not None


def is_pattern(text: str) -> bool:
    """Whether a text is a pattern, and no condition on attributes, which never begins like one.

    >>> is_pattern(" //quote"), is_pattern("ordered: /a[b][c]"), is_pattern("ordered = 1")
    (True, True, False)
    """
    return _BEGINNING.match(text) is not None


def foreign_character(text: str) -> int | None:
    """Where a character stands that no document can have, if there is one."""
    found = _FOREIGN.search(text)
    return None if found is None else found.start()


def tokens(text: str) -> list[Token]:
    """The words and symbols of a text.

    >>> [token.text for token in tokens("//a[@b = '1']")]
    ['//', 'a', '[', '@', 'b', '=', "'1'", ']', '']
    """
    if len(text) > MAX_LENGTH:
        raise FilterSyntaxError(
            f"the expression is longer than {MAX_LENGTH:,} characters",
            text=text,
            position=MAX_LENGTH,
            instead="several subscriptions",
        )
    place = foreign_character(text)
    if place is not None:
        raise FilterSyntaxError(
            "no document has this character", text=text, position=place, instead="a text without it"
        )
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        assert kind is not None
        token = Token(kind, match[kind], match.start(kind))
        if kind == "other":
            _refuse(text, token)
        if kind == "number":
            _require_apart(text, token)
        found.append(token)
        if kind == "end":
            break
        if len(found) > MAX_TOKENS:
            raise FilterSyntaxError(
                f"the expression has more than {MAX_TOKENS:,} words and symbols",
                text=text,
                position=token.position,
                instead="several subscriptions",
            )
    return found


def _require_apart(text: str, token: Token) -> None:
    """Refuse a number with letters behind it."""
    end = token.position + len(token.text)
    stuck = _STUCK.match(text, token.position)
    if stuck is None or stuck.end() <= end or text[end] == "-":
        return
    written = stuck[0]
    instead = f"{token.text}, and a space before what follows"
    if re.fullmatch(r"[0-9]+(\.[0-9]*)?[eE]-?[0-9]{1,2}", written):
        instead = spelled(float(written))
    raise FilterSyntaxError(
        f"{written[:40]} is not a number of XPath 1.0, which knows digits and a point only",
        text=text,
        position=token.position,
        instead=instead,
    )


def _refuse(text: str, token: Token) -> None:
    if token.text in "'\"":
        raise FilterSyntaxError(
            "this string does not end",
            text=text,
            position=token.position,
            instead=f"a {token.text} at its end; a string with ' is put between \"",
        )
    if token.text == "$":
        raise FilterSyntaxError("a parameter needs a name", text, token.position, "$name")
    instead = {"&": "and", "!": "!=", ";": "one expression"}.get(token.text, "the text without it")
    raise FilterSyntaxError(f"{token.text!r} has no meaning here", text, token.position, instead)
