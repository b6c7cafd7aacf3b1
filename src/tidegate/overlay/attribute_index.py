"""Many filters on attributes: which of them match, cover or overlap, and what they cover together.

They are kept in the engine's box store, or in another of the `structures`; which of many match many
events is a question for the engine's index (`attribute_batches`).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from tidegate.engine.primitives.gc_pause import put_off
from tidegate.filters import filter as language
from tidegate.filters.notation import read_tree, spell_tree
from tidegate.filters.schema import Schema
from tidegate.overlay.attribute_batches import AttributeBatches
from tidegate.overlay.attribute_filter import AttributeFilter, attribute_filter, in_language
from tidegate.overlay.filter import Event, Filter, Plain
from tidegate.overlay.pairs import Pairs, one_by_one
from tidegate.overlay.structures import FilterStructure, Retold, UnionStructure

MANY_FILTERS: Final = 1_000  # from which on the engine is asked about many events
MANY_EVENTS: Final = 32  # of a batch, below which each is matched on its own


class AttributeIndex:
    """A `FilterIndex` of attribute filters, kept in a structure of the language's.

    A filter is put into the structure when that is first asked about anything. Where many have come
    before that, and events are all that is asked about, the `engine` is asked instead, if there is
    one; so it is about many events, where there are many filters.
    """

    def __init__(self, structure: FilterStructure, engine: AttributeBatches | None = None) -> None:
        self._structure = structure
        self._engine = engine
        self._in_use = False  # whether the engine has been told of the filters
        self._filters: dict[int, AttributeFilter] = {}
        self._waiting: dict[int, None] = {}  # filters that the structure has not been told of

    def __len__(self) -> int:
        return len(self._filters)

    @property
    def structure(self) -> FilterStructure:
        """Where filters are kept, with all of them in it."""
        if self._waiting:
            with put_off(len(self._waiting)):
                for number in self._waiting:
                    self._structure.add(number, self._filters[number].filter)
            self._waiting.clear()
        return self._structure

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        self._put(number, f)
        self._waiting[number] = None

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number."""
        self._put(number, f)
        if number not in self._waiting:
            self._structure.update(number, in_language(f))

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        del self._filters[number]
        if self._engine is not None and self._in_use:
            self._engine.remove(number)
        if number in self._waiting:
            del self._waiting[number]
        else:
            self._structure.remove(number)

    def match(self, event: Event, /) -> list[int]:
        """The filters that match an event."""
        if self._engine is not None and len(self._waiting) >= MANY_FILTERS:
            return self._told(self._engine).match(event)
        return self.structure.match(event)

    def match_batch(self, events: Sequence[Event], /) -> list[Pairs]:
        """The filters that match each of many events."""
        few = len(self) < MANY_FILTERS or len(events) < MANY_EVENTS
        if self._engine is None or few:
            return one_by_one(self.match, events)
        return self._told(self._engine).match_batch(events)

    def containing(self, f: Filter, /) -> list[int]:
        """The filters that cover this one."""
        return self.structure.containing(in_language(f))

    def contained(self, f: Filter, /) -> list[int]:
        """The filters that this one covers."""
        return self.structure.contained(in_language(f))

    def overlapping(self, f: Filter, /) -> list[int]:
        """The filters that overlap this one."""
        return self.structure.overlapping(in_language(f))

    def _put(self, number: int, f: Filter) -> None:
        known = attribute_filter(f)
        self._filters[number] = known
        if self._engine is not None and self._in_use:
            self._engine.put(number, known.filter, known.origin)

    def _told(self, engine: AttributeBatches) -> AttributeBatches:
        """The engine, with all filters in it."""
        if not self._in_use:
            self._in_use = True
            for number, f in self._filters.items():
                engine.put(number, f.filter, f.origin)
        return engine


class AttributeUnion:
    """A `FilterUnion` of attribute filters, kept in a structure of the language's."""

    def __init__(self, structure: UnionStructure, schema: Schema | None) -> None:
        self._structure = structure
        self._schema = schema

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        self._structure.add(number, in_language(f))

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        self._structure.remove(number)

    def subsumes(self, f: Filter, /) -> bool:
        """Whether every event that matches f is certain to match one of the filters."""
        return self._structure.subsumes(in_language(f))

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
