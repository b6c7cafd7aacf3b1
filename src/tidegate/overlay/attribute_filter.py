"""A filter on attributes, as brokers and policies see it.

A filter of the language with all parameters bound, related to others by the algebra. Its shape is
the tree without its constants.
"""

from collections.abc import Callable
from sys import intern
from typing import Any, Final

from tidegate.algebra.relate import covers, overlaps
from tidegate.filters import filter as language
from tidegate.filters.expression import And, Node, Predicate, Truth, predicates
from tidegate.filters.literals import spell
from tidegate.filters.moved import moved, remade
from tidegate.overlay.attribute_batches import Origin
from tidegate.overlay.filter import Event, Filter

_NUMBER: Final = 8  # the size of a constant that is no text


class AttributeFilter:
    """A filter of the language, all parameters bound.

    >>> from tidegate import parse
    >>> f = AttributeFilter(parse("price < :limit").bind(limit=10))
    >>> f.covers(AttributeFilter(parse("price < 5 AND symbol = 'IBM'")))
    True
    >>> f.values
    ['10']
    """

    __slots__ = ("_shape", "_values", "filter", "origin")

    def __init__(
        self,
        f: language.Filter,
        shape: str | None = None,
        values: list[str] | None = None,
        origin: Origin | None = None,
    ) -> None:
        f.require_bound()
        self.filter: Final = f
        self.origin: Final = origin  # the text with parameters that it is of, if it is known
        self._shape = shape  # if it is known
        self._values = values  # if they are known

    @property
    def size(self) -> int:
        """How much there is to it, about as many as the bytes it takes to write it down."""
        size = 0
        for predicate in predicates(self.filter.tree):
            size += len(predicate.attribute)
            for each in predicate.constants:
                size += len(each) if type(each) is str else _NUMBER
        return size

    @property
    def shape(self) -> str:
        """The tree without its constants."""
        if self._shape is None:
            self._shape = shape_of(self.filter.tree)
        return self._shape

    @property
    def values(self) -> list[str]:
        """The constants in their order, as the language spells them."""
        if self._values is None:
            constants = [c for p in predicates(self.filter.tree) for c in p.constants]
            self._values = list(map(spell, constants))  # type: ignore[arg-type]  # all are bound
        return self._values

    def moved(
        self,
        change: Callable[[Predicate], Predicate],
        values: list[str] | None = None,
        origin: Origin | None = None,
    ) -> "AttributeFilter":
        """The filter with other constants in some predicates; its values, if they are known."""
        f = self.filter
        return AttributeFilter(moved(f, remade(f.tree, change)), self.shape, values, origin)

    def matches(self, event: Event, /) -> bool:
        """Whether the event passes."""
        return self.filter.matches(event)

    def covers(self, other: Filter, /) -> bool:
        """Whether every event that matches the other is certain to match this one."""
        f, g = self.filter, in_language(other)
        if f.schema is g.schema and _plainly_within(g.normal_form, f.normal_form):
            return True
        return covers(f, g)

    def overlaps(self, other: Filter, /) -> bool:
        """Whether some event may match both."""
        return overlaps(self.filter, in_language(other))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AttributeFilter) and self.filter == other.filter

    def __hash__(self) -> int:
        return hash(self.filter)

    def __str__(self) -> str:
        return str(self.filter)

    def __repr__(self) -> str:
        return f"<AttributeFilter {self}>"


def in_language(f: Filter) -> language.Filter:
    """A filter in the language. A broker has refused those of another kind, which have none."""
    return attribute_filter(f).filter


def attribute_filter(f: Filter) -> AttributeFilter:
    """A filter, which is of this kind."""
    if not isinstance(f, AttributeFilter):
        raise TypeError(f"{f!r} is not a filter on attributes")
    return f


def _plainly_within(inner: Any, outer: Any) -> bool:
    """Whether boxes, as `algebra.normal` keeps them, are one each, and one is seen at once to lie
    in the other: by one stretch of values on each line. If not, the algebra is to be asked.

    A policy asks this of all that hangs under a filter, so it is without calls.
    """
    if not inner or not outer:
        return False
    small, large = inner[0], outer[0]
    if not small or not large or len(small) > 1 or len(large) > 1:
        return False
    mine = small[0].sets
    for attribute, theirs in large[0].sets.items():
        own = mine.get(attribute)
        if own is theirs:
            continue
        if own is None or own.absent or theirs.texts:
            return False
        for line, bounds in own.spans.items():
            around = theirs.spans.get(line)
            if around is None or len(bounds) != 2 or len(around) != 2:
                return False
            if bounds[0] < around[0] or bounds[1] > around[1]:
                return False
    return True


def shape_of(tree: Node) -> str:
    """A tree without its constants, or parameters."""
    return intern(_hollow(tree))


def _hollow(node: Node) -> str:
    """A tree without its constants, as text: another one has another text."""
    if isinstance(node, Predicate):
        asked = f"{node.mode._value_} {node.operator._value_}"
        return f"[{asked} {len(node.constants)} {node.attribute!r}]"
    if isinstance(node, Truth):
        return str(node)
    parts = ", ".join(map(_hollow, node.parts))
    return f"{'AND' if isinstance(node, And) else 'OR'}({parts})"
