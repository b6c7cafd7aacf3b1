"""Which letters are the lower and upper case of others?

`lower(x)` and `upper(x)` of an attribute are attributes of their own, whose values are those of x
with their letters mapped as Spark maps them: by the whole of Unicode's rules, without regard to any
language. A letter may become several, and a sigma at the end of a word is another than within it.

Python and Spark both follow Unicode, but not the same edition of it, nor do two versions of Python.
Letters that came after the oldest edition that matters are therefore mapped by a table of our own.
"""

from collections.abc import Callable
from typing import Final

_NEWER: Final = {  # capital and small letters of Unicode 15 to 17
    0x1C89: 0x1C8A,
    0xA7CB: 0x264,
    0xA7CC: 0xA7CD,
    0xA7CE: 0xA7CF,
    0xA7D2: 0xA7D3,
    0xA7D4: 0xA7D5,
    0xA7DA: 0xA7DB,
    0xA7DC: 0x19B,
    **{code: code + 0x20 for code in range(0x10D50, 0x10D66)},
    **{code: code + 0x1B for code in range(0x16EA0, 0x16EB9)},
}
_NEWER_CAPITALS: Final = {small: capital for capital, small in _NEWER.items()}


def lower(text: str) -> str:
    """The text in lower case, as Spark's `lower` gives it.

    >>> lower("IBM"), lower("ΟΔΟΣ")
    ('ibm', 'οδος')
    """
    return text.lower() if text.isascii() else text.lower().translate(_NEWER)


def upper(text: str) -> str:
    """The text in upper case, as Spark's `upper` gives it.

    >>> upper("ibm"), upper("straße")
    ('IBM', 'STRASSE')
    """
    return text.upper() if text.isascii() else text.upper().translate(_NEWER_CAPITALS)


MAPPINGS: Final[dict[str, Callable[[str], str]]] = {"lower": lower, "upper": upper}
