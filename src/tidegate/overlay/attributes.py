"""Filters on attributes, as brokers and policies see them.

The language's own filters, related by the algebra and kept in the engine's box store or in another
of the `structures`. Shapes are the trees without their constants.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Final

from tidegate.algebra.distribution import Distribution
from tidegate.algebra.groups import Tried, merge_all
from tidegate.algebra.merge import Merger as Found
from tidegate.algebra.merge import assess
from tidegate.algebra.relate import covers, overlaps
from tidegate.algebra.widen import around, ranged, without
from tidegate.engine.boxes.space import Space
from tidegate.errors import FilterError, MeasureError
from tidegate.filters import filter as language
from tidegate.filters.evaluate import value_of
from tidegate.filters.expression import MAX_DEPTH, Parameter, Predicate, predicates
from tidegate.filters.filter import bind, constant
from tidegate.filters.literals import spell
from tidegate.filters.moved import moved, remade
from tidegate.filters.notation import read_tree, reread, spell_tree
from tidegate.filters.schema import Schema
from tidegate.filters.values import Constant
from tidegate.overlay.attribute_events import AttributeEvents
from tidegate.overlay.filter import Event, Filter, Merger, Plain, Pruner
from tidegate.overlay.structures import (
    FilterStructure,
    Retold,
    UnionStructure,
    index_structure,
    union_structure,
)

_NUMBER: Final = 8  # the size of a constant that is no text
_HOLE: Final = "?"  # where a constant was: no constant is spelled so
_DEEPEST: Final = 2 * (MAX_DEPTH + 1)  # an OR of ANDs within each of the parentheses of a text


class AttributeFilter:
    """A filter of the language, all parameters bound.

    >>> f = Attributes().parse("price < :limit", limit=10)
    >>> f.covers(Attributes().parse("price < 5 AND symbol = 'IBM'"))
    True
    >>> f.values
    ['10']
    """

    __slots__ = ("_shape", "_values", "filter")

    def __init__(
        self, f: language.Filter, shape: str | None = None, values: list[str] | None = None
    ) -> None:
        f.require_bound()
        self.filter: Final = f
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
            self._shape = repr(_hollow(spell_tree(self.filter.tree)))
        return self._shape

    @property
    def values(self) -> list[str]:
        """The constants in their order, as the language spells them."""
        if self._values is None:
            constants = [c for p in predicates(self.filter.tree) for c in p.constants]
            self._values = list(map(spell, constants))  # type: ignore[arg-type]  # all are bound
        return self._values

    def moved(
        self, change: Callable[[Predicate], Predicate], values: list[str] | None = None
    ) -> "AttributeFilter":
        """The filter with other constants in some predicates; its values, if they are known."""
        f = self.filter
        return AttributeFilter(moved(f, remade(f.tree, change)), self.shape, values)

    def matches(self, event: Event, /) -> bool:
        """Whether the event passes."""
        return self.filter.matches(event)

    def covers(self, other: Filter, /) -> bool:
        """Whether every event that matches the other is certain to match this one."""
        f, g = self.filter, _in_language(other)
        if f.schema is g.schema and _plainly_within(g.normal_form, f.normal_form):
            return True
        return covers(f, g)

    def overlaps(self, other: Filter, /) -> bool:
        """Whether some event may match both."""
        return overlaps(self.filter, _in_language(other))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AttributeFilter) and self.filter == other.filter

    def __hash__(self) -> int:
        return hash(self.filter)

    def __str__(self) -> str:
        return str(self.filter)

    def __repr__(self) -> str:
        return f"<AttributeFilter {self}>"


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
            found = AttributeFilter(self._open.bind(**given))
        else:
            before, last = self._last
            changed = {name for name, new in given.items() if not _is_same(new, before[name])}
            found = last.moved(self._changing(changed, given)) if changed else last
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


class AttributeIndex:
    """A `FilterIndex` of attribute filters, kept in a structure of the language's."""

    def __init__(self, structure: FilterStructure) -> None:
        self._structure = structure

    def __len__(self) -> int:
        return len(self._structure)

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        self._structure.add(number, _in_language(f))

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number."""
        self._structure.update(number, _in_language(f))

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        self._structure.remove(number)

    def match(self, event: Event, /) -> list[int]:
        """The filters that match an event."""
        return self._structure.match(event)

    def containing(self, f: Filter, /) -> list[int]:
        """The filters that cover this one."""
        return self._structure.containing(_in_language(f))

    def contained(self, f: Filter, /) -> list[int]:
        """The filters that this one covers."""
        return self._structure.contained(_in_language(f))

    def overlapping(self, f: Filter, /) -> list[int]:
        """The filters that overlap this one."""
        return self._structure.overlapping(_in_language(f))


class AttributeUnion:
    """A `FilterUnion` of attribute filters, kept in a structure of the language's."""

    def __init__(self, structure: UnionStructure, schema: Schema | None) -> None:
        self._structure = structure
        self._schema = schema

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        self._structure.add(number, _in_language(f))

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        self._structure.remove(number)

    def subsumes(self, f: Filter, /) -> bool:
        """Whether every event that matches f is certain to match one of the filters."""
        return self._structure.subsumes(_in_language(f))

    def state(self) -> Plain:
        """What answers depend on beside the filters that are there: what happened, if anything."""
        if not isinstance(self._structure, Retold):
            return None
        return [[n, None if f is None else spell_tree(f.tree)] for n, f in self._structure.history]

    def restore(self, filters: Mapping[int, Filter], state: Plain, /) -> None:
        """Take in filters, and answer as another union of them did that had this state."""
        if state is None:
            for number, f in filters.items():
                self.add(number, f)
            return
        for number, spelled in state:
            if spelled is None:
                self.remove(number)
            else:
                tree = read_tree(spelled, self._schema)
                self._structure.add(number, language.Filter.of(tree, self._schema))


class Attributes(AttributeEvents):
    """The kind of attribute filters, all read under one schema.

    A distribution says how likely values are; without one there is no imperfect merging. All
    indexes share one space, so all brokers of one kind are for one thread.
    """

    name: Final = "attributes"

    def __init__(
        self, schema: Schema | None = None, distribution: Distribution | None = None
    ) -> None:
        self.schema: Final = schema
        self.distribution: Final = distribution
        self._space = Space(schema)
        self._index = index_structure("boxes")
        self._union = union_structure("on-demand")
        self._tried = Tried()
        checked = schema if schema is not None and schema.checked else ()
        self._universes = {
            name: (schema[name].lines, schema[name].universe(checked=True))
            for name in checked
            if schema is not None
        }

    def parse(self, text: str, /, **parameters: Any) -> AttributeFilter:
        """Read a filter and bind its parameters."""
        f = language.parse(text, self.schema)
        return AttributeFilter(f.bind(**parameters) if parameters else f)

    def template(self, text: str, /) -> AttributeTemplate:
        """Read a filter whose parameters are bound later."""
        return AttributeTemplate(language.parse(text, self.schema))

    def keeping(self, index: str | None, union: str | None) -> "Attributes":
        """The same kind, its filters kept in the structures of these names."""
        kept = copy(self)
        kept._index = index_structure(index or "boxes")
        kept._union = union_structure(union or "on-demand")
        return kept

    def index(self) -> AttributeIndex:
        """An empty index."""
        return AttributeIndex(self._index(self._space))

    def union(self) -> AttributeUnion:
        """An empty union."""
        return AttributeUnion(self._union(self._space), self.schema)

    def mergers(
        self,
        filters: Mapping[int, Filter],
        imt: float,
        advertised: Sequence[Filter] | None,
    ) -> list[Merger]:
        """Which filters are worth merging, by the algebra's grouping."""
        numbers = {id(_in_language(f)): number for number, f in filters.items()}
        ads = None if advertised is None else [_in_language(f) for f in advertised]
        own = (_in_language(f) for f in filters.values())
        found = merge_all(own, self.distribution, imt, ads, concise=True, tried=self._tried)
        return [
            Merger(
                AttributeFilter(each.filter),
                tuple(sorted(numbers[id(member)] for member in each.members)),
                each.imt,
            )
            for each in found
            if isinstance(each, Found)
        ]

    def cost(
        self,
        merger: Filter,
        members: Iterable[Filter],
        advertised: Sequence[Filter] | None,
    ) -> float:
        """The IMT of a filter that covers all members; infinite if it cannot be told."""
        ads = None if advertised is None else [_in_language(f) for f in advertised]
        own = [_in_language(f) for f in members]
        try:
            return assess(_in_language(merger), own, self.distribution, ads).imt
        except MeasureError:
            return float("inf")

    def pruner(self) -> Pruner:
        """Something that counts values of attributes, and tries what can be left out."""
        from tidegate.overlay.attribute_pruner import AttributePruner  # which knows this module

        return AttributePruner(self.schema)

    def plain(self, f: Filter) -> Plain:
        """A filter as plain data: see `filters.notation`."""
        return spell_tree(_in_language(f).tree)

    def read(self, plain: Plain) -> AttributeFilter:
        """The filter that was written so."""
        if _deeper(plain, _DEEPEST):
            raise FilterError("this is no filter: it is nested deeper than any text can be")
        try:
            return AttributeFilter(language.Filter.of(read_tree(plain, self.schema), self.schema))
        except (ValueError, TypeError, KeyError) as error:
            raise FilterError(f"this is no filter: {error}") from None

    def reshaped(self, f: Filter, values: Plain) -> AttributeFilter:
        """The filter of the same shape with other constants."""
        assert isinstance(f, AttributeFilter)
        before = f.values
        if not isinstance(values, list) or len(values) != len(before):
            raise FilterError(f"{f} has {len(before)} constants: a list of as many is needed")
        place = 0
        known = before.copy()  # as the language spells them

        def change(predicate: Predicate) -> Predicate:
            nonlocal place
            start, place = place, place + len(predicate.constants)
            new = values[start:place]
            if new == before[start:place]:
                return predicate
            read = reread(predicate, new, self.schema)
            known[start:place] = map(spell, read.constants)  # type: ignore[arg-type]  # all are bound
            return read

        try:
            return f.moved(change, known)
        except (ValueError, TypeError, KeyError) as error:
            raise FilterError(f"this is no filter: {error}") from None

    def filter_refusal(self, f: object) -> str | None:
        """Why this cannot be taken as a filter, if it cannot."""
        if not isinstance(f, AttributeFilter):
            return "it is not a filter on attributes"
        if f.filter.schema is not self.schema and f.filter.schema != self.schema:
            return "it was read under another schema than the broker's"
        return None

    def event_refusal(self, event: object) -> str | None:
        """Why an event cannot be taken, if it cannot: it breaks a checked schema."""
        if not isinstance(event, Mapping) or not all(isinstance(name, str) for name in event):
            return "an event is attributes with their values"
        for name, (lines, universe) in self._universes.items():
            if not universe.has(value_of(event, name, self.schema), lines):
                return f"the value of {name} is not one that the schema allows"
        return None


def _in_language(f: Filter) -> language.Filter:
    """A filter in the language. A broker has refused those of another kind, which have none."""
    if not isinstance(f, AttributeFilter):
        raise TypeError(f"{f!r} is not a filter on attributes")
    return f.filter


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


def _deeper(spelled: Plain, levels: int) -> bool:
    """Whether a spelled tree has more levels above its predicates."""
    if not isinstance(spelled, list) or spelled[:1] not in (["AND"], ["OR"]):
        return False
    return not levels or any(_deeper(part, levels - 1) for part in spelled[1:])


def _hollow(spelled: Plain) -> Plain:
    """A spelled tree without its constants."""
    if not isinstance(spelled, list):
        return spelled
    if spelled[0] in ("AND", "OR"):
        return [spelled[0], *map(_hollow, spelled[1:])]
    return [*spelled[:3], *[_HOLE] * len(spelled[3:])]


def _is_same(one: Constant, other: Constant) -> bool:
    """Whether two constants are spelled alike."""
    return one is other or (type(one) is type(other) and spell(one) == spell(other))
