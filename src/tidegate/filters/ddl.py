"""Which columns does a DDL string declare?

`symbol STRING, trade STRUCT<price: DOUBLE NOT NULL>` as Spark's `StructType.fromDDL` reads it: a
name, a type, and behind it NOT NULL, a collation and a comment, in any order. The fields of structs
are columns too, by their paths. What a type is called is all that is said here; `types` says what
it is.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, NoReturn

from tidegate.errors import SchemaError
from tidegate.filters.literals import COMMENT, SPACE, STRING

_TOKEN: Final = re.compile(
    rf"(?:{SPACE}++|{COMMENT})*+({STRING}|`(?:[^`]|``)++`|[A-Za-z0-9_]++|[\s\S]|)"
)
_NAME: Final = re.compile(r"[A-Za-z0-9_]*[A-Za-z_][A-Za-z0-9_]*|`[\s\S]*`")
_DEEPEST: Final = 100  # structs inside each other
_UNITS: Final = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


class Declared(NamedTuple):
    """A column: its path, the name of its type, and whether it may be NULL."""

    path: tuple[str, ...]
    type: str
    nullable: bool


def read_ddl(ddl: str) -> Iterator[Declared]:
    """The columns of a DDL string; those of a struct follow it.

    >>> [
    ...     (".".join(c.path), c.type, c.nullable)
    ...     for c in read_ddl("a INT NOT NULL, b STRUCT<c: DATE>")
    ... ]
    [('a', 'int', False), ('b', 'struct', True), ('b.c', 'date', True)]
    """
    if ddl.strip():
        reader = _Reader(ddl)
        yield from reader.columns((), "")


class _Reader:
    """Reads tokens one after the other."""

    def __init__(self, ddl: str) -> None:
        self._ddl = ddl
        self._tokens = iter(_TOKEN.findall(ddl))
        self._token: str = next(self._tokens)

    def _next(self) -> str:
        """The token, and go to the next."""
        token, self._token = self._token, next(self._tokens, "")
        return token

    def _refuse(self) -> NoReturn:
        raise SchemaError(
            f"cannot read the DDL {self._ddl[:200]!r} at {self._token[:40] or 'its end'!r}; "
            "write it as 'symbol STRING, price DOUBLE NOT NULL', odd names in back-quotes"
        )

    def _take(self, token: str) -> None:
        if self._token.upper() != token:
            self._refuse()
        self._next()

    def columns(self, path: tuple[str, ...], end: str) -> Iterator[Declared]:
        """Columns with commas between them, up to the end of the text or of a struct."""
        yield from self._column(path)
        while self._token == ",":
            self._next()
            yield from self._column(path)
        if self._token != end:
            self._refuse()
        self._next()

    def _column(self, path: tuple[str, ...]) -> Iterator[Declared]:
        if not _NAME.fullmatch(self._token):
            self._refuse()
        token = self._next()
        name = token[1:-1].replace("``", "`") if token[0] == "`" else token
        if path and self._token == ":":
            self._next()
        here = (*path, name)
        fields: list[Declared] = []
        kind = self._type(here, fields)
        nullable = True
        while self._token not in (",", ">", ""):
            word = self._next().upper()
            if word == "NOT":
                self._take("NULL")
                nullable = False
            elif word == "NULL":
                nullable = True
            elif word == "COMMENT" and self._token[:1] in ("'", '"'):
                self._next()
            elif word == "COLLATE" and _NAME.fullmatch(self._token):
                kind += f" collate {self._next().lower()}"
            else:
                self._refuse()
        yield Declared(here, kind, nullable)
        yield from fields

    def _type(self, path: tuple[str, ...], fields: list[Declared]) -> str:
        """The name of a type; the fields of a struct are added to `fields`."""
        if not _NAME.fullmatch(self._token) or self._token[0] == "`" or len(path) > _DEEPEST:
            self._refuse()
        name = self._next().lower()
        if name == "struct" and self._token == "<":
            self._next()
            if self._token == ">":
                self._next()
            else:
                fields += self.columns(path, ">")
        elif self._token == "<":
            name += self._arguments(path)
        elif self._token == "(":
            name += self._numbers()
        elif name == "interval":
            while self._token.upper() in (*_UNITS, "TO"):
                name += f" {self._next().lower()}"
        return name

    def _arguments(self, path: tuple[str, ...]) -> str:
        """The types of an array or a map."""
        self._next()
        inner = [self._type((*path, "element"), [])]
        while self._token == ",":
            self._next()
            inner.append(self._type((*path, "element"), []))
        self._take(">")
        return f"<{', '.join(inner)}>"

    def _numbers(self) -> str:
        """The width of a decimal, a char or a varchar."""
        self._next()
        numbers = [self._next()]
        while self._token == ",":
            self._next()
            numbers.append(self._next())
        self._take(")")
        if not all(number.isdecimal() for number in numbers):
            self._refuse()
        return f"({','.join(numbers)})"
