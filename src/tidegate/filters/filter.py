"""A filter: a condition on events, as people use it.

`parse` reads a text; the `Filter` it gives can be bound, asked, explained, printed and compared.
What is derived from the text (its tree, its canonical form) is made when first asked for, so that
reading a million texts costs little more than looking up their shapes.
"""

from collections.abc import Mapping
from typing import Any

from tidegate.errors import FilterTypeError, ParameterError
from tidegate.filters.admission import admit
from tidegate.filters.canonical import Form, canonical_form
from tidegate.filters.evaluate import Explanation, matches
from tidegate.filters.expression import (
    Node,
    Parameter,
    Predicate,
    map_predicates,
    predicates,
)
from tidegate.filters.listing import Listing
from tidegate.filters.literals import decode, spell
from tidegate.filters.schema import Schema
from tidegate.filters.shapes import read
from tidegate.filters.template import Template
from tidegate.filters.values import BIGINT_MAX, BIGINT_MIN, Constant, is_constant, normal


def parse(text: str, schema: Schema | None = None) -> "Filter":
    """Read a filter.

    >>> f = parse("symbol = 'IBM' AND price < :limit")
    >>> f.parameters
    ('limit',)
    >>> f.bind(limit=10.0).matches({"symbol": "IBM", "price": 9.5})
    True
    >>> parse("low < high")
    Traceback (most recent call last):
    ...
    tidegate.errors.FilterSyntaxError: low is compared with another attribute, high (at position 6)
      low < high
            ^
      write instead: a constant, or a parameter such as :high
    """
    template, values = read(text, schema)
    return Filter(template, values, schema)


class Filter:
    """A Boolean condition on an event's content; immutable.

    Filters are equal, and hash equal, if their canonical forms are: see `canonical`.
    """

    __slots__ = (
        *("_form", "_hash", "_listings", "_template", "_tree", "_values"),
        *("meanings", "normal_form", "schema"),
    )

    def __init__(
        self,
        template: Template,
        values: list[Constant],
        schema: Schema | None = None,
        form: Form | None = None,
    ) -> None:
        self._template = template
        self._values = values
        self.schema = schema
        self._tree: Node | None = None
        self._form = form  # if it is known
        self._hash: int | None = None
        self._listings: dict[int, Listing] | None = None  # of long lists, by predicates of the tree
        self.normal_form: Any = None  # the boxes of the filter, kept here by `algebra.normal`
        self.meanings: Any = None  # what predicates of the tree allow, kept here by `moved`

    @classmethod
    def of(cls, tree: Node, schema: Schema | None = None) -> "Filter":
        """The filter with that tree; its constants were admitted before."""
        named = [c.name for p in predicates(tree) for c in p.constants if isinstance(c, Parameter)]
        return cls(Template(tree, (), tuple(dict.fromkeys(named))), [], schema)

    @property
    def tree(self) -> Node:
        """The expression tree, literals in place, NOTs pushed down."""
        if self._tree is None:
            self._tree = self._template.filled(self._values)
        return self._tree

    @property
    def clauses(self) -> tuple[Template, ...]:
        """Templates of which the filter is the AND; `constants` fill their slots, one by one."""
        return self._template.clauses

    @property
    def constants(self) -> list[Constant]:
        """The constants of the text's literals, in order."""
        return self._values

    @property
    def form(self) -> Form:
        """The canonical form."""
        if self._form is None:
            self._form = canonical_form(self.tree, self.schema)
        return self._form

    @property
    def known_form(self) -> Form | None:
        """The canonical form, if it has been asked for."""
        return self._form

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters still to be bound, in the order of the text."""
        return self._template.parameters

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes the filter mentions."""
        return self._template.attributes

    @property
    def nested(self) -> bool:
        """Whether the filter mentions a field of a struct."""
        return self._template.nested

    def bind(self, /, **parameters: Any) -> "Filter":
        """The filter with these parameters bound; None is NULL. The others stay open.

        >>> str(parse("price BETWEEN :low AND :high").bind(low=1, high=2.5))
        'price >= 1 AND price <= 2.5D'
        """
        unknown = sorted(parameters.keys() - set(self.parameters))
        if unknown:
            known = ", ".join(f":{name}" for name in self.parameters) or "none"
            raise ParameterError(f"the filter has no parameter :{unknown[0]}; it has {known}")
        constants = {name: constant(name, value) for name, value in parameters.items()}
        return Filter.of(
            map_predicates(self.tree, lambda p: bind(p, constants, self.schema)), self.schema
        )

    def matches(self, event: Mapping[str, Any]) -> bool:
        """Whether the event passes; absent attributes are NULL.

        >>> parse("price NOT IN (1, 2)").matches({"price": None})
        False
        """
        self.require_bound()
        return matches(self.tree, event, self.schema, self._listing)

    def _listing(self, predicate: Predicate) -> Listing:
        """The members of a long list, made when first asked about and kept with the filter."""
        known = self._listings
        if known is None:
            known = self._listings = {}
        found = known.get(id(predicate))  # which lives as long as the tree, and the filter
        if found is None:
            own = None if self.schema is None else self.schema[predicate.attribute]
            found = known[id(predicate)] = Listing(predicate.constants, own)  # type: ignore[arg-type]
        return found

    def explain(self, event: Mapping[str, Any]) -> Explanation:
        """Why the event passes or does not: which predicates held, failed or were unknown.

        >>> print(parse("symbol = 'IBM' AND price < 10").explain({"symbol": "IBM"}))
        the event does not pass
          ✗ all of
            ✓ symbol = 'IBM': held, symbol is 'IBM'
            ✗ price < 10: unknown, price is absent (NULL)
        """
        self.require_bound()
        return Explanation(self.tree, event, self.schema)

    def require_bound(self) -> None:
        """Raise `ParameterError` if a parameter is still open."""
        if self.parameters:
            names = ", ".join(f":{name}" for name in self.parameters)
            hint = ", ".join(f"{name}=…" for name in self.parameters)
            raise ParameterError(f"unbound parameters: {names}; bind them first: .bind({hint})")

    def __str__(self) -> str:
        return str(self.tree)

    def __repr__(self) -> str:
        return f"<Filter {self}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Filter):
            return NotImplemented
        return self is other or (self.schema == other.schema and self.form == other.form)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.form)
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return (Filter.of, (self.tree, self.schema))


def constant(name: str, value: Any) -> Constant:
    """The value of a parameter as a constant of the language."""
    kind = type(value)
    if (kind is float and value - value == 0.0 != value) or (kind is str and value.isascii()):
        return value  # type: ignore[no-any-return]
    if kind is int and BIGINT_MIN <= value <= BIGINT_MAX:
        return value  # type: ignore[no-any-return]
    plain = value if type(value) is str else normal(value)
    if not is_constant(plain):
        raise FilterTypeError(
            f"parameter :{name} cannot be {value!r}, a {type(value).__name__}",
            instead="a number, a string, a boolean, a date, a datetime or None",
        )
    try:
        return decode(spell(plain))  # one form for all that are spelled alike
    except ValueError as error:
        raise FilterTypeError(f"parameter :{name}: {error}") from None


def bind(predicate: Predicate, given: Mapping[str, Constant], schema: Schema | None) -> Predicate:
    """The predicate with these parameters bound, and what that makes of its constants."""
    if not predicate.is_open:
        return predicate
    constants = tuple(
        given.get(c.name, c) if isinstance(c, Parameter) else c for c in predicate.constants
    )
    bound = Predicate(predicate.attribute, predicate.operator, constants, predicate.mode)
    if bound.is_open:
        return bound
    admitted = admit(bound, schema)
    return Predicate(predicate.attribute, predicate.operator, admitted, predicate.mode)
