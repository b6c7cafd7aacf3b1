"""What do people hold in their hands who subscribe to documents?

An `XPath`: an expression of the language, immutable, with its parameters bound or open. It is equal
to others by its normal form. Its **shape** is what it says without its constants, its **values**
are those, so that an update need not say more than what has changed.
"""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

from tidegate.documents.containment import covers, overlaps
from tidegate.documents.evaluate import matches
from tidegate.documents.lexer import foreign_character
from tidegate.documents.normal import normal_form
from tidegate.documents.parser import parse
from tidegate.documents.pattern import ORDERED, Pattern
from tidegate.documents.syntax import (
    Absent,
    Constant,
    Expression,
    Parameter,
    constants,
    spell,
    with_constants,
)
from tidegate.documents.tree import Element, read
from tidegate.errors import FilterError, FilterTypeError, ParameterError

if TYPE_CHECKING:
    from tidegate.documents.explanation import DocumentExplanation


def parse_xpath(
    text: str, *, namespaces: Mapping[str, str] | None = None, ordered: bool = False
) -> "XPath":
    """The filter on documents that an XPath expression is.

    `namespaces` gives the URIs of the prefixes in it. If `ordered`, or if the text begins with
    `ordered:`, the branches of each node are met in the order of the document.

    >>> quote = parse_xpath("//quote[symbol = 'IBM'][price < $limit]")
    >>> quote.bind(limit=10).matches("<quote><symbol>IBM</symbol><price>9.5</price></quote>")
    True
    """
    expression, says_so = parse(text, namespaces)
    return XPath(expression, ordered=ordered or says_so, namespaces=namespaces)


class XPath:
    """A filter on documents.

    >>> parse_xpath("/*//a[b][b/c]") == parse_xpath("//*/a[b/c]")
    True
    >>> parse_xpath("//a").covers(parse_xpath("/b/a[@c = 1]"))
    True
    """

    __slots__ = ("_hash", "_parameters", "_patterns", "expression", "namespaces", "ordered")

    def __init__(
        self,
        expression: Expression,
        *,
        ordered: bool = False,
        namespaces: Mapping[str, str] | None = None,
    ) -> None:
        self.expression = expression
        self.ordered = ordered
        self.namespaces = dict(namespaces or {})
        named = (c.name for c in constants(expression) if isinstance(c, Parameter))
        self._parameters = tuple(dict.fromkeys(named))
        self._patterns: tuple[Pattern, ...] | None = None
        self._hash: int | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters still to be bound, in the order of the text."""
        return self._parameters

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns of which a document must match one; none if it cannot match."""
        if self._patterns is None:
            self.require_bound()
            self._patterns = normal_form(self.expression, ordered=self.ordered)
        return self._patterns

    @property
    def size(self) -> int:
        """How many nodes its patterns have."""
        return sum(pattern.size for pattern in self.patterns)

    def bind(self, /, **parameters: Any) -> "XPath":
        """The filter with these parameters bound; comparisons with None never hold.

        >>> str(parse_xpath("/a[b = $x]").bind(x=2.5))
        '/a[b = 2.5]'
        """
        unknown = sorted(parameters.keys() - set(self.parameters))
        if unknown:
            known = ", ".join(f"${name}" for name in self.parameters) or "none"
            raise ParameterError(f"the filter has no parameter ${unknown[0]}; it has {known}")
        given = {name: constant(name, value) for name, value in parameters.items()}

        def change(each: Constant, is_rank: bool) -> Constant:
            if not isinstance(each, Parameter) or each.name not in given:
                return each
            value = given[each.name]
            if is_rank and isinstance(value, str):
                raise FilterTypeError(
                    f"parameter ${each.name} is a position, and {value!r} is not a number",
                    instead="a number",
                )
            return value

        return self.saying(with_constants(self.expression, change))

    def require_bound(self) -> None:
        """Raise `ParameterError` if a parameter is still open."""
        if self.parameters:
            names = ", ".join(f"${name}" for name in self.parameters)
            hint = ", ".join(f"{name}=…" for name in self.parameters)
            raise ParameterError(f"unbound parameters: {names}; bind them first: .bind({hint})")

    @property
    def shape(self) -> tuple[str, tuple[str, ...], bool]:
        """All but the constants: the text with marks for them, its namespaces, whether ordered.

        >>> parse_xpath("//a[b = 'x']").shape
        ('//a[b = $_]', (), False)
        """
        uris = _namespaces(self.expression)
        prefixes = {uri: f"ns{number}" for number, uri in enumerate(uris)}
        return spell(self.expression, prefixes, lambda _: "$_"), uris, self.ordered

    @property
    def values(self) -> list[str | None]:
        """The constants in the order of the text: numbers, strings after a `'`, None.

        >>> parse_xpath("//a[b = 'x'][c < 2]").values
        ["'x", '2.0']
        """
        return [_plain(each) for each in constants(self.expression)]

    def with_values(self, values: Sequence[object]) -> "XPath":
        """The filter of the same shape with other constants.

        >>> str(parse_xpath("//a[b = 'x'][c < 2]").with_values(["'y", "3"]))
        "//a[b = 'y'][c < 3]"
        """
        given = iter([_read(value) for value in values])
        count = sum(1 for _ in constants(self.expression))
        if len(values) != count:
            raise FilterError(f"the filter has {count} constants, and {len(values)} are given")

        def change(_: Constant, is_rank: bool) -> Constant:
            value = next(given)
            if is_rank and isinstance(value, str):
                raise FilterTypeError(f"a position is a number, and {value!r} is not")
            return value

        return self.saying(with_constants(self.expression, change))

    def saying(self, expression: Expression) -> "XPath":
        """The filter that another expression is, if read as this one was."""
        return XPath(expression, ordered=self.ordered, namespaces=self.namespaces)

    def matches(self, document: bytes | str | Element) -> bool:
        """Whether a document passes; `DocumentError` if it cannot be read.

        >>> parse_xpath("/a/b[2]").matches("<a><b/></a>")
        False
        """
        patterns = self.patterns
        root = document if isinstance(document, Element) else read(document)
        return any(matches(pattern, root) for pattern in patterns)

    def explain(self, document: bytes | str | Element) -> "DocumentExplanation":
        """Why a document passes, or does not.

        >>> print(parse_xpath("/a[b][c]").explain("<a><b/></a>"))
        no: /a[b][c]
          yes: /a[b]
          no: /a[c]
        """
        from tidegate.documents.explanation import explain

        self.require_bound()
        return explain(self, document if isinstance(document, Element) else read(document))

    def covers(self, other: "XPath") -> bool:
        """Whether every document that matches the other is certain to match this one."""
        return all(any(covers(mine, each) for mine in self.patterns) for each in other.patterns)

    def overlaps(self, other: "XPath") -> bool:
        """Whether some document may match both."""
        return any(overlaps(mine, each) for mine in self.patterns for each in other.patterns)

    def _key(self) -> object:
        if self.parameters:
            return self.expression, self.ordered
        return self.patterns

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, XPath):
            return NotImplemented
        return self is other or self._key() == other._key()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._key())
        return self._hash

    def __str__(self) -> str:
        prefixes = {uri: prefix for prefix, uri in self.namespaces.items()}
        text = spell(self.expression, prefixes)
        return f"{ORDERED}: {text}" if self.ordered else text

    def __repr__(self) -> str:
        return f"<XPath {self}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return of_shape, (self.shape, self.values, self.namespaces)


def of_shape(
    shape: Sequence[Any], values: Sequence[object], namespaces: Mapping[str, str] | None = None
) -> XPath:
    """The filter with a shape and values that another one had.

    >>> f = parse_xpath("//a[b = 'x']")
    >>> of_shape(f.shape, f.values) == f
    True
    """
    text, uris, ordered = shape
    prefixes = {f"ns{number}": uri for number, uri in enumerate(uris)}
    expression, says_so = parse(text, prefixes)
    found = XPath(expression, ordered=ordered or says_so, namespaces=namespaces or prefixes)
    return found.with_values(values)


def _namespaces(expression: Expression) -> tuple[str, ...]:
    """The namespaces of an expression's names, in their order."""
    found: dict[str, None] = {}

    def note(label: str) -> None:
        name = label.removeprefix("@")
        if name.startswith("{"):
            found[name[1:].rpartition("}")[0]] = None

    stack: list[Any] = [*reversed(expression.paths)]
    while stack:
        each = stack.pop()
        if hasattr(each, "label"):
            note(each.label)
        below = (
            getattr(each, "steps", ())
            or getattr(each, "predicates", ())
            or getattr(each, "parts", ())
        )
        path = getattr(each, "path", None)
        stack += [*reversed(below), *([path] if path is not None else [])]
    return tuple(found)


def constant(name: str, value: object) -> str | float | Absent:
    """The value of a parameter as a constant of the language."""
    if value is None:
        return Absent()
    if isinstance(value, str):
        place = foreign_character(value)
        if place is not None:
            raise FilterTypeError(
                f"parameter ${name}: no document has the character {value[place]!r}",
                instead="a text without it",
            )
        return str(value)
    if isinstance(value, int | float | Decimal | Real) and value is not True and value is not False:
        try:
            return float(value)
        except OverflowError:
            return math.copysign(math.inf, 1 if value > 0 else -1)  # type: ignore[operator]
    raise FilterTypeError(
        f"parameter ${name} cannot be {value!r}, a {type(value).__name__}",
        instead="a number, a string or None",
    )


def _plain(constant: Constant) -> str | None:
    match constant:
        case str():
            return "'" + constant
        case Absent():
            return None
        case Parameter(name):
            return "$" + name
    return repr(constant)


def _read(value: object) -> Constant:
    """The constant that was written so."""
    if value is None:
        return Absent()
    if isinstance(value, str):
        if value.startswith("'") and foreign_character(value) is None:
            return value[1:]
        if value.startswith("$"):
            return Parameter(value[1:])
        try:
            return float(value)
        except ValueError:
            pass
    raise FilterError(f"{value!r} is not a constant of a pattern")
