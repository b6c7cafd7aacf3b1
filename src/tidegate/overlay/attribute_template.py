"""A filter on attributes with parameters, which are given values again and again."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from tidegate.algebra.widen import around, ranged, without
from tidegate.filters import filter as language
from tidegate.filters.expression import Parameter, Predicate, predicates
from tidegate.filters.filter import bind, constant
from tidegate.filters.literals import spell
from tidegate.filters.values import Constant
from tidegate.overlay.attribute_filter import AttributeFilter


class AttributeTemplate:
    """A filter of the language with parameters: a `Template`.

    It remembers what it was last bound to: as a rule, hardly anything of that changes.
    """

    def __init__(self, f: language.Filter) -> None:
        self._open = f
        self._predicates = list(predicates(f.tree))
        self._last: tuple[dict[str, Constant], AttributeFilter] | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """Their names."""
        return self._open.parameters

    def bind(self, values: Mapping[str, Any], /) -> AttributeFilter:
        """The filter with a value for each parameter."""
        given = {name: constant(name, value) for name, value in values.items()}
        if self._last is None or self._last[0].keys() != given.keys():
            found = AttributeFilter(self._open.bind(**given), origin=(self._open, given))
        else:
            before, last = self._last
            changed = {name for name, new in given.items() if not _is_same(new, before[name])}
            if changed:
                found = last.moved(self._changing(changed, given), origin=(self._open, given))
            else:
                found = last
        self._last = given, found
        return found

    def _changing(
        self, changed: set[str], given: Mapping[str, Constant]
    ) -> Callable[[Predicate], Predicate]:
        """What to do to the predicates of a filter that was bound before, one after the other."""
        following = iter(self._predicates)

        def change(predicate: Predicate) -> Predicate:
            own = next(following)
            names = {c.name for c in own.constants if isinstance(c, Parameter)}
            return bind(own, given, self._open.schema) if names & changed else predicate

        return change

    def around(
        self, now: Mapping[str, Any], others: Sequence[Mapping[str, Any]], /
    ) -> AttributeFilter:
        """A filter wide enough for the values of now, and as far as possible for others."""
        return AttributeFilter(around(self._open, now, others))

    def ranged(self, names: Collection[str], /) -> "AttributeTemplate":
        """One in which equalities with these parameters are ranges."""
        return AttributeTemplate(ranged(self._open, names))

    def without(self, names: Collection[str], /) -> "AttributeTemplate":
        """One without the predicates that have these parameters."""
        return AttributeTemplate(without(self._open, names))


def _is_same(one: Constant, other: Constant) -> bool:
    """Whether two constants are spelled alike."""
    return one is other or (type(one) is type(other) and spell(one) == spell(other))
