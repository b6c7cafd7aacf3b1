"""Many filters on attributes: which of them match, cover or overlap, and what they cover together.

They are kept in the engine's box store, or in another of the `structures`.
"""

from collections.abc import Mapping
from typing import Final

from tidegate.filters import filter as language
from tidegate.filters.notation import read_tree, spell_tree
from tidegate.filters.schema import Schema
from tidegate.overlay.attribute_filter import in_language
from tidegate.overlay.filter import Event, Filter, Plain
from tidegate.overlay.structures import FilterStructure, Retold, UnionStructure


class AttributeIndex:
    """A `FilterIndex` of attribute filters, kept in a structure of the language's."""

    def __init__(self, structure: FilterStructure) -> None:
        self.structure: Final = structure

    def __len__(self) -> int:
        return len(self.structure)

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        self.structure.add(number, in_language(f))

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number."""
        self.structure.update(number, in_language(f))

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        self.structure.remove(number)

    def match(self, event: Event, /) -> list[int]:
        """The filters that match an event."""
        return self.structure.match(event)

    def containing(self, f: Filter, /) -> list[int]:
        """The filters that cover this one."""
        return self.structure.containing(in_language(f))

    def contained(self, f: Filter, /) -> list[int]:
        """The filters that this one covers."""
        return self.structure.contained(in_language(f))

    def overlapping(self, f: Filter, /) -> list[int]:
        """The filters that overlap this one."""
        return self.structure.overlapping(in_language(f))


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
