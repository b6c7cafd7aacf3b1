"""The kind of filters on attributes: how they are read, written, kept, merged and pruned."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Final

from tidegate.algebra.distribution import Distribution
from tidegate.algebra.groups import Tried, merge_all
from tidegate.algebra.merge import Merger as Found
from tidegate.algebra.merge import assess
from tidegate.engine.boxes.space import Space
from tidegate.engine.events.columned_events import ColumnedEvents
from tidegate.errors import FilterError, MeasureError
from tidegate.filters import filter as language
from tidegate.filters.evaluate import value_of
from tidegate.filters.expression import MAX_DEPTH, Predicate
from tidegate.filters.filter import constant
from tidegate.filters.literals import spell
from tidegate.filters.notation import read_tree, reread, spell_tree
from tidegate.filters.schema import Schema
from tidegate.overlay.attribute_batches import AttributeBatches
from tidegate.overlay.attribute_columns import bound_many, reshaped_many
from tidegate.overlay.attribute_events import AttributeEvents
from tidegate.overlay.attribute_filter import AttributeFilter, attribute_filter, in_language
from tidegate.overlay.attribute_index import AttributeIndex, AttributeUnion
from tidegate.overlay.attribute_pruner import AttributePruner
from tidegate.overlay.attribute_template import AttributeTemplate
from tidegate.overlay.filter import Event, Filter, Merger, Plain, Pruner
from tidegate.overlay.structures import index_structure, union_structure

_TEXTS: Final = 1_000  # with parameters, that are kept
_DEEPEST: Final = 2 * (MAX_DEPTH + 1)  # an OR of ANDs within each of the parentheses of a text


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
        self._in_engine = True  # whether the engine matches batches of events
        self._union = union_structure("on-demand")
        self._tried = Tried()
        self._texts: dict[str, language.Filter] = {}
        checked = schema if schema is not None and schema.checked else ()
        self._universes = {
            name: (schema[name].lines, schema[name].universe(checked=True))
            for name in checked
            if schema is not None
        }

    def parse(self, text: str, /, **parameters: Any) -> AttributeFilter:
        """Read a filter and bind its parameters."""
        if not parameters:
            return AttributeFilter(language.parse(text, self.schema))
        f = self._open(text)
        given = {name: constant(name, value) for name, value in parameters.items()}
        return AttributeFilter(f.bind(**given), origin=(f, given))

    def parse_many(
        self, text: str, columns: Mapping[str, Sequence[Any]], /
    ) -> list[AttributeFilter]:
        """The same for many values of the parameters, as columns.

        >>> [str(f) for f in Attributes().parse_many("price < :limit", {"limit": [5, 2.5]})]
        ['price < 5', 'price < 2.5D']
        """
        rows = zip(*columns.values(), strict=True)
        if not any(map(len, columns.values())):
            return []
        f = self._open(text)
        if set(columns) != set(f.parameters):  # what is wrong with that is said of the first row
            return [self.parse(text, **dict(zip(columns, row, strict=True))) for row in rows]
        own = {name: [constant(name, value) for value in columns[name]] for name in columns}
        return bound_many(f, own)

    def template(self, text: str, /) -> AttributeTemplate:
        """Read a filter whose parameters are bound later."""
        return AttributeTemplate(self._open(text))

    def _open(self, text: str) -> language.Filter:
        """A filter whose parameters are open; those of one text are one, while it is in use."""
        found = self._texts.get(text)
        if found is None:
            if len(self._texts) >= _TEXTS:
                self._texts.clear()
            found = self._texts[text] = language.parse(text, self.schema)
        return found

    def keeping(self, index: str | None, union: str | None) -> "Attributes":
        """The same kind, its filters kept in the structures of these names."""
        kept = copy(self)
        kept._index = index_structure(index or "boxes")
        kept._in_engine = index in (None, "boxes")
        kept._union = union_structure(union or "on-demand")
        return kept

    def index(self) -> AttributeIndex:
        """An empty index."""
        engine = AttributeBatches(self.schema) if self._in_engine else None
        return AttributeIndex(self._index(self._space), engine)

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
        numbers = {id(in_language(f)): number for number, f in filters.items()}
        ads = None if advertised is None else [in_language(f) for f in advertised]
        own = (in_language(f) for f in filters.values())
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
        ads = None if advertised is None else [in_language(f) for f in advertised]
        own = [in_language(f) for f in members]
        try:
            return assess(in_language(merger), own, self.distribution, ads).imt
        except MeasureError:
            return float("inf")

    def pruner(self) -> Pruner:
        """Something that counts values of attributes, and tries what can be left out."""
        return AttributePruner(self.schema)

    def plain(self, f: Filter) -> Plain:
        """A filter as plain data: see `filters.notation`."""
        return spell_tree(in_language(f).tree)

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

    def reshaped_many(self, f: Filter, values: Sequence[Plain]) -> list[AttributeFilter]:
        """The same for the constants of many, as columns."""
        return reshaped_many(attribute_filter(f), values)

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

    def takes_all(self, events: Sequence[Event]) -> bool:
        """Whether they came as columns, and no schema is checked."""
        return isinstance(events, ColumnedEvents) and not self._universes


def _deeper(spelled: Plain, levels: int) -> bool:
    """Whether a spelled tree has more levels above its predicates."""
    if not isinstance(spelled, list) or spelled[:1] not in (["AND"], ["OR"]):
        return False
    return not levels or any(_deeper(part, levels - 1) for part in spelled[1:])
