"""What does a document say, read plainly?

A document as XPath sees it: elements with attributes, and with elements and texts below them.
Comments and processing instructions are not kept, but what they part are two texts. This is the
slow and obvious way to a document, for single questions and as the reference of the fast one. What
that one (`reading`) refuses is refused here, too.
"""

from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from tidegate.documents.reading.limits import LIMITS
from tidegate.documents.reading.prolog import UnreadableError, is_crowded, prepared
from tidegate.errors import DocumentError


@dataclass(slots=True, eq=False)
class Element:
    """An element: its expanded name, attributes by theirs, elements and texts in order.

    The document itself is the element without a name, above the outermost one.
    """

    name: str
    attributes: dict[str, str]
    parent: "Element | None"
    children: "list[Element | str]" = field(default_factory=list)
    start: int = 0  # when it begins and ends, in the order of the document
    end: int = 0
    _value: str | None = None

    @property
    def elements(self) -> "list[Element]":
        """The elements directly below."""
        return [child for child in self.children if isinstance(child, Element)]

    @property
    def value(self) -> str:
        """The characters of all texts in it."""
        if self._value is None:
            parts: list[str] = []
            stack: list[Element | str] = [self]
            while stack:
                each = stack.pop()
                if isinstance(each, str):
                    parts.append(each)
                else:
                    stack += reversed(each.children)
            self._value = "".join(parts)
        return self._value


def read(document: bytes | str) -> Element:
    """The document's root; `DocumentError` if it cannot be read.

    >>> [child.name for child in read("<a><b/>x</a>").elements[0].elements]
    ['b']
    """
    reader = _Reader()
    parser = expat.ParserCreate("utf-8", "}")
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.buffer_text = True
    parser.ordered_attributes = True
    parser.StartElementHandler = reader.begin
    parser.EndElementHandler = reader.finish
    parser.CharacterDataHandler = reader.text
    parser.CommentHandler = reader.part
    parser.ProcessingInstructionHandler = reader.part
    parser.EntityDeclHandler = reader.refuse_entity
    parser.SkippedEntityHandler = reader.refuse_unknown
    try:
        is_text = isinstance(document, str)
        plain = document.encode() if isinstance(document, str) else document
        if len(plain) > LIMITS.size:
            raise UnreadableError(f"it has {len(plain):,} bytes; {LIMITS.size:,} are allowed")
        plain = prepared(plain, is_text=is_text, most=LIMITS.size)
        if is_crowded(plain, LIMITS.attributes):
            raise UnreadableError(f"an element has more than {LIMITS.attributes:,} attributes")
        parser.Parse(plain, True)
    except UnreadableError as error:
        raise DocumentError(f"the document cannot be read: {error}") from None
    except (expat.ExpatError, UnicodeEncodeError) as error:
        raise DocumentError(f"the document is not well-formed: {error}") from None
    return reader.root


class _Reader:
    """Makes elements of what the parser tells."""

    def __init__(self) -> None:
        self.root = Element("", {}, None)
        self._open = self.root
        self._depth = 0
        self._count = 0
        self._time = 0
        self._parted = True

    def begin(self, name: str, attributes: list[str]) -> None:
        self._depth += 1
        if self._depth > LIMITS.depth:
            raise DocumentError(f"the document is more than {LIMITS.depth} levels deep")
        self._count += 1
        if self._count > LIMITS.elements:
            raise DocumentError(f"the document has more than {LIMITS.elements:,} elements")
        if any(len(each.encode()) > LIMITS.name for each in (name, *attributes[::2])):
            raise DocumentError(f"a name has more than {LIMITS.name:,} bytes")
        pairs = zip(attributes[::2], attributes[1::2], strict=True)
        self._time += 1
        element = Element(_expanded(name), {_expanded(n): v for n, v in pairs}, self._open)
        element.start = self._time
        self._open.children.append(element)
        self._open = element
        self._parted = True

    def finish(self, name: str) -> None:
        self._time += 1
        self._open.end = self._time
        assert self._open.parent is not None
        self._open = self._open.parent
        self._depth -= 1
        self._parted = True

    def text(self, text: str) -> None:
        children = self._open.children
        if self._parted or not children:
            children.append(text)
        else:
            last = children[-1]
            assert isinstance(last, str)
            children[-1] = last + text
        self._parted = False

    def part(self, *_: Any) -> None:
        self._parted = True

    def refuse_entity(self, name: str, *_: Any) -> None:
        raise DocumentError(f"the document declares the entity {name}")

    def refuse_unknown(self, name: str, *_: Any) -> None:
        raise DocumentError(f"the document has the entity {name}, which is not declared in it")


def _expanded(name: str) -> str:
    return "{" + name if "}" in name else name
