"""Filters on attributes in the engine's index: which of them match many events at once?

The box store answers all questions about one event or one filter. The engine's `Index` answers only
one, but for a batch of events at a tenth of the cost, or less. It is told of changes when it is
next asked: what comes and goes in between costs nothing, and filters that were read from one text
with parameters are taken in together, as columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

import pyarrow as pa

from tidegate.engine.index import Index
from tidegate.engine.segments.segment import Segment
from tidegate.engine.subscriptions.subscription import ARROW_TYPES, Block, Id, id_array
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.filters.values import Constant
from tidegate.overlay.filter import Event
from tidegate.overlay.pairs import Numbering, Pairs

Origin: TypeAlias = tuple[Filter, Mapping[str, Constant]]
"""A filter with parameters, and the values that made another one of it."""

_AT_ONCE: Final = 4_096  # filters that come together, after which all are compiled into one
_ALIKE: Final = 64  # filters of one text from which on they are taken in as columns


class AttributeBatches:
    """Filters by number, asked about batches of events."""

    def __init__(self, schema: Schema | None) -> None:
        self._index = Index(schema)
        self._held: set[int] = set()
        self._news: dict[int, tuple[Filter, Origin | None] | None] = {}
        self._numberings: WeakKeyDictionary[Segment, Numbering] = WeakKeyDictionary()

    def put(self, number: int, f: Filter, origin: Origin | None) -> None:
        """Have a filter under a number, in the place of one that may be there."""
        self._news[number] = f, origin

    def remove(self, number: int) -> None:
        """Have no filter under a number any more."""
        self._news[number] = None

    def match_batch(self, events: Sequence[Event]) -> list[Pairs]:
        """The filters that match each of many events."""
        self._follow()
        return [
            Pairs(self._numbering(segment), rows, codes)
            for segment, rows, codes in self._index.match_coded(events)
        ]

    def match(self, event: Event) -> list[int]:
        """The filters that match one event."""
        self._follow()
        coded, found = self._index.match_codes(event)
        for segment, codes in coded:
            found += self._numbering(segment).numbers[codes].tolist()
        return found  # type: ignore[return-value]  # all ids are numbers

    def _numbering(self, segment: Segment) -> Numbering:
        found = self._numberings.get(segment)
        if found is None:
            numbers = segment.ids.to_numpy()
            found = self._numberings[segment] = Numbering(numbers)
        return found

    def _follow(self) -> None:
        """Let the index have what has changed since it was last asked."""
        if not self._news:
            return
        news, self._news = self._news, {}
        gone = self._held & news.keys()
        if gone:
            self._index.remove_many(sorted(gone))
            self._held -= gone
        added = {number: new for number, new in news.items() if new is not None}
        self._held |= added.keys()
        rest: dict[Id, Filter] = {}
        by_text: dict[int, list[int]] = {}
        for number, (f, origin) in added.items():
            if origin is None:
                rest[number] = f
            else:
                by_text.setdefault(id(origin[0]), []).append(number)
        blocks: list[Block] = []
        for numbers in by_text.values():
            block = None if len(numbers) < _ALIKE else _block(added, numbers)
            if block is None:
                rest.update((number, added[number][0]) for number in numbers)
            else:
                blocks.append(block)
        self._index.add_together(blocks, rest)
        if len(added) > max(_AT_ONCE, len(self._held) // 10):
            self._index.flush()


def _block(added: Mapping[int, tuple[Filter, Origin | None]], numbers: list[int]) -> Block | None:
    """Filters of one text, their values as columns; None if some are not all of one type."""
    origins = [origin for number in numbers if (origin := added[number][1]) is not None]
    columns: dict[str, pa.Array] = {}
    for name in origins[0][1]:
        column = [given[name] for _, given in origins]
        arrow = _arrow_type(column)
        if arrow is None:
            return None
        columns[name] = pa.array(column, arrow)
    return Block(origins[0][0], id_array(list(numbers)), columns) if columns else None


def _arrow_type(column: Iterable[Constant]) -> pa.DataType | None:
    kinds = {type(value) for value in column if value is not None}
    return ARROW_TYPES.get(kinds.pop()) if len(kinds) == 1 else None
