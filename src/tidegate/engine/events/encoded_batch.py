"""A batch of events, with what was worked out about it kept.

Several structures look at the same columns of a batch, and several indexes may; each column is read
once. What is kept stays with the axis or table it was worked out for: as a key, that is held.
"""

from collections.abc import Callable, Hashable
from typing import Any

from tidegate.engine.events.batch import Batch, Column
from tidegate.filters.schema import Schema


class EncodedBatch:
    """A batch and its columns, each made when first asked for. Used by one thread."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.size = len(batch)
        self._columns: dict[str, Column] = {}
        self._known: dict[Hashable, Any] = {}

    def column(self, attribute: str) -> Column:
        """One attribute of all events."""
        column = self._columns.get(attribute)
        if column is None:
            column = self._columns[attribute] = self.batch.column(attribute)
        return column

    def remember(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What `make` makes, made once for each key."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = make()
        return found


def encode(batch: Any, schema: Schema | None) -> EncodedBatch:
    """A batch of events as indexes of that schema read it."""
    return EncodedBatch(Batch(batch, schema))
