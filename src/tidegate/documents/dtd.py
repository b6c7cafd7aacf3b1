"""What may documents of a type look like?

A document type definition, as XML 1.0 writes it: which elements there are, what may be in them, and
which attributes they have. Parameter entities (`%name;`) are put in where they stand; one that is
made of itself is refused. Nothing is fetched: one that lies elsewhere is refused unless its text is
given. Of conditional sections those to be included are read. Comments, notations, processing
instructions and general entities are passed over.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tidegate.errors import DocumentError

MAX_LENGTH: Final = 2**20
"""Characters of a definition, its parameter entities put in."""
MAX_NESTING: Final = 50
"""Parentheses of a content model, and parameter entities, one in the other."""

_NAME = r"[^\s<>()|,?*+%;'\"&#\[\]]+"
_ENTITY = re.compile(rf"%({_NAME});")
_DECLARATION = re.compile(
    r"\s+|<!--.*?-->|<\?.*?\?>|<!\[|\]\]>|<!(?P<word>[A-Z]+)(?P<rest>(?:[^>'\"]|'[^']*'|\"[^\"]*\")*)>",
    re.DOTALL,
)
_PARAMETER = re.compile(rf"\s+%\s+(?P<name>{_NAME})\s+(?P<value>'[^']*'|\"[^\"]*\")\s*", re.DOTALL)
_LITERAL = r"""(?:'[^']*'|"[^"]*")"""
_ELSEWHERE = re.compile(
    rf"\s+%\s+(?P<name>{_NAME})\s+(?:SYSTEM|PUBLIC\s+{_LITERAL})\s+(?P<address>{_LITERAL})\s*",
    re.DOTALL,
)
_SECTION = re.compile(r"\s*([^\s\[<>]+)\s*\[")
_EDGE = re.compile(r"<!\[|\]\]>")
_CHARACTER = re.compile("&#(?:x([0-9a-fA-F]{1,6})|([0-9]{1,7}));")
_TOKEN = re.compile(rf"\s*(?:(?P<symbol>[()|,?*+])|(?P<name>#?{_NAME})|(?P<other>\S))")
_ATTRIBUTE = re.compile(
    rf"\s*(?P<name>{_NAME})\s+(?P<type>NOTATION\s*\([^)]*\)|\([^)]*\)|[A-Z]+)\s*"
    r"(?P<default>#REQUIRED|#IMPLIED|(?:#FIXED\s+)?(?:'[^']*'|\"[^\"]*\"))",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Named:
    """An element of this name; `times` is `?`, `*`, `+` or nothing."""

    name: str
    times: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Parts one after the other (`,`), or one of them (`|`)."""

    sign: str
    parts: tuple["Named | Group", ...]
    times: str = ""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute: its type (CDATA, ID, …), the values of a list, whether it is there, default."""

    name: str
    type: str
    values: tuple[str, ...] = ()
    required: bool = False
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Declared:
    """An element: what may be in it, whether text may be among that, its attributes.

    In an element that is declared `ANY` there may be `anything`: text, and every declared element.
    """

    name: str
    content: Named | Group | None
    text: bool
    attributes: tuple[Attribute, ...] = ()
    anything: bool = False

    @property
    def children(self) -> tuple[str, ...]:
        """The names of elements that may be in it, in the order of the definition, each once."""
        return tuple(dict.fromkeys(_names(self.content))) if self.content is not None else ()


@dataclass(frozen=True)
class DTD:
    """Elements by their names, in the order of the definition."""

    elements: dict[str, Declared]

    @cached_property
    def root(self) -> str:
        """The first element that is in no other one; if there is none, the first."""
        inner = {name for each in self.elements.values() for name in each.children}
        outer = [name for name in self.elements if name not in inner]
        return outer[0] if outer else next(iter(self.elements))

    @cached_property
    def attribute_count(self) -> int:
        """How many attributes all elements have together."""
        return sum(len(each.attributes) for each in self.elements.values())


def parse_dtd(text: str, elsewhere: Mapping[str, str] | None = None) -> DTD:
    """The definition that a text is; `DocumentError` if it is none.

    `elsewhere` has the texts of parameter entities that lie elsewhere, by their addresses.

    >>> dtd = parse_dtd("<!ELEMENT a (b*, c?)><!ELEMENT b (#PCDATA)><!ATTLIST b k CDATA #IMPLIED>")
    >>> dtd.root, dtd.elements["a"].children, dtd.elements["b"].attributes[0].name
    ('a', ('b', 'c'), 'k')
    """
    return _Reader(text, elsewhere or {}).definition()


class _Reader:
    """Reads one definition."""

    def __init__(self, text: str, elsewhere: Mapping[str, str]) -> None:
        if len(text) > MAX_LENGTH:
            raise DocumentError(f"the definition is longer than {MAX_LENGTH:,} characters")
        self.text = _plain(text)
        self.elsewhere = elsewhere
        self.parameters: dict[str, str | None] = {}
        self.contents: dict[str, tuple[Named | Group | None, bool]] = {}
        self.attributes: dict[str, dict[str, Attribute]] = {}
        self.open: set[str] = set()  # the elements that are declared ANY
        self.grown = 0

    def definition(self) -> DTD:
        self.declarations(self.text, ())
        if not self.contents:
            raise DocumentError("the definition declares no element")
        return DTD(
            {
                name: Declared(
                    name,
                    content,
                    text,
                    tuple(self.attributes.get(name, {}).values()),
                    name in self.open,
                )
                for name, (content, text) in self.contents.items()
            }
        )

    def declarations(self, text: str, inside: tuple[str, ...]) -> None:
        """All declarations of a text, which is that of the parameter entities `inside`."""
        at, sections = 0, 0
        while at < len(text):
            entity = _ENTITY.match(text, at)
            if entity is not None:
                at = entity.end()
                name = entity[1]
                self.declarations(self.value(name, inside), (*inside, name))
                continue
            found = _DECLARATION.match(text, at)
            if found is None:
                raise DocumentError(f"this is no declaration: {text[at : at + 40]!r}")
            at = found.end()
            if found[0] == "<![":
                at, is_included = self.section(text, at, inside)
                sections += is_included
            elif found[0] == "]]>":
                sections -= 1
                if sections < 0:
                    raise DocumentError("]]> ends a conditional section, and none has begun")
            elif found["word"] is not None:
                self.declare(found["word"], found["rest"])
        if sections:
            raise DocumentError("a conditional section does not end")

    def section(self, text: str, at: int, inside: tuple[str, ...]) -> tuple[int, bool]:
        """Where to go on in or behind a conditional section, and whether it is included."""
        found = _SECTION.match(text, at)
        word = "" if found is None else self.expanded(found[1], inside).strip()
        if found is None or word not in ("INCLUDE", "IGNORE"):
            raise DocumentError(
                f"a conditional section is INCLUDE or IGNORE: {text[at - 3 : at + 40]!r}"
            )
        at = found.end()
        if word == "INCLUDE":
            return at, True
        depth = 1
        for edge in _EDGE.finditer(text, at):
            depth += 1 if edge[0] == "<![" else -1
            if not depth:
                return edge.end(), False
        raise DocumentError("a conditional section does not end")

    def declare(self, word: str, rest: str) -> None:
        match word:
            case "ENTITY":
                self.entity(rest)
            case "ELEMENT":
                self.element(self.expanded(rest, ()))
            case "ATTLIST":
                self.attlist(self.expanded(rest, ()))
            case "NOTATION":
                pass
            case _:
                raise DocumentError(f"<!{word} is no declaration of a definition")

    def entity(self, rest: str) -> None:
        """The first declaration of a parameter entity counts; general ones are passed over."""
        found = _PARAMETER.fullmatch(rest)
        if found is not None:
            value = _CHARACTER.sub(_character, found["value"][1:-1])
            self.parameters.setdefault(found["name"], value)
            return
        external = _ELSEWHERE.fullmatch(rest)
        if external is not None:
            given = self.elsewhere.get(external["address"][1:-1])
            self.parameters.setdefault(external["name"], None if given is None else _plain(given))

    def value(self, name: str, inside: tuple[str, ...]) -> str:
        if name in inside:
            circle = " -> ".join((*inside[inside.index(name) :], name))
            raise DocumentError(f"a parameter entity is made of itself: {circle}")
        if len(inside) >= MAX_NESTING:
            raise DocumentError("parameter entities are nested too deeply")
        if name not in self.parameters:
            raise DocumentError(f"the parameter entity %{name}; is not declared")
        value = self.parameters[name]
        if value is None:
            raise DocumentError(
                f"the parameter entity %{name}; lies elsewhere, and is not fetched: give its text"
            )
        self.grown += len(value)
        if self.grown > MAX_LENGTH:
            raise DocumentError(f"the definition grows longer than {MAX_LENGTH:,} characters")
        return value

    def expanded(self, text: str, inside: tuple[str, ...]) -> str:
        """A text with its parameter entities put in."""
        if "%" not in text:
            return text
        return _ENTITY.sub(
            lambda found: f" {self.expanded(self.value(found[1], inside), (*inside, found[1]))} ",
            text,
        )

    def element(self, rest: str) -> None:
        name, _, model = rest.strip().replace("\n", " ").replace("\t", " ").partition(" ")
        model = model.strip()
        if name in self.contents:
            raise DocumentError(f"the element {name} is declared twice")
        if model == "EMPTY":
            self.contents[name] = None, False
        elif model == "ANY":
            self.contents[name] = None, True
            self.open.add(name)
        else:
            self.contents[name] = _Model(name, model).content()

    def attlist(self, rest: str) -> None:
        name, *_ = rest.split(maxsplit=1) or [""]
        at = rest.index(name) + len(name)
        known = self.attributes.setdefault(name, {})
        while rest[at:].strip():
            found = _ATTRIBUTE.match(rest, at)
            if found is None:
                place = rest[at:].strip()[:40]
                raise DocumentError(f"this is no attribute of {name}: {place!r}")
            known.setdefault(found["name"], _attribute(found))
            at = found.end()


def _plain(text: str) -> str:
    """A text without a byte order mark, its lines ended alike."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _character(found: re.Match[str]) -> str:
    """A character that is written by its number."""
    number = int(found[1], 16) if found[1] else int(found[2])
    if number > sys.maxunicode:
        raise DocumentError(f"{found[0]} is no character")
    return chr(number)


def _attribute(found: re.Match[str]) -> Attribute:
    kind, default = found["type"], found["default"]
    values: tuple[str, ...] = ()
    if "(" in kind:
        inner = kind[kind.index("(") + 1 : -1]
        values = tuple(value.strip() for value in inner.split("|"))
        kind = "NOTATION" if kind.startswith("NOTATION") else "LIST"
    given = None if default[-1] not in "'\"" else default.removeprefix("#FIXED").strip()[1:-1]
    return Attribute(found["name"], kind, values, default == "#REQUIRED", given)


class _Model:
    """Reads the content of one element."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.tokens = [found[found.lastgroup or 0] for found in _TOKEN.finditer(text)]
        self.at = 0
        self.text = False

    def refuse(self) -> DocumentError:
        return DocumentError(f"the content of the element {self.name} cannot be read")

    def content(self) -> tuple[Named | Group | None, bool]:
        model = self.particle(0)
        if self.at != len(self.tokens) or isinstance(model, Named):
            raise self.refuse()
        return (model if model.parts else None), self.text

    def token(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def times(self) -> str:
        if self.token() in ("?", "*", "+"):
            self.at += 1
            return self.tokens[self.at - 1]
        return ""

    def particle(self, depth: int) -> Named | Group:
        token = self.token()
        self.at += 1
        if token != "(":
            if not token or token in ")|,?*+" or token.startswith("#"):
                raise self.refuse()
            return Named(token, self.times())
        if depth >= MAX_NESTING:
            raise DocumentError(f"the content of {self.name} is nested too deeply")
        parts: list[Named | Group] = []
        signs: set[str] = set()
        while True:
            if self.token() == "#PCDATA":
                self.at += 1
                self.text = True
            else:
                parts.append(self.particle(depth + 1))
            token = self.token()
            self.at += 1
            if token == ")":
                break
            if token not in ("|", ","):
                raise self.refuse()
            signs.add(token)
        if len(signs) > 1:
            raise self.refuse()
        return Group(signs.pop() if signs else ",", tuple(parts), self.times())


def _names(model: Named | Group) -> Iterator[str]:
    if isinstance(model, Named):
        yield model.name
    else:
        for part in model.parts:
            yield from _names(part)
