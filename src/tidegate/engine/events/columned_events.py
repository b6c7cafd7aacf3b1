"""Events that can be read one by one, and column by column.

Whoever has events in a form of its own, such as bytes that came over a connection, says here how
one attribute of all of them is read at once. Then matching many of them needs none of them as a
mapping; a mapping is made when somebody asks for one event.

Invariant: both ways, the values are the same.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa


class ColumnedEvents(Sequence[Mapping[str, Any]]):
    """Events as mappings, which are columns as well."""

    @abstractmethod
    def columns(self, name: str) -> list[int]:
        """The places of the columns of that name: one, or none where no event has it."""

    @abstractmethod
    def values(self, place: int) -> "pa.Array | list[Any]":
        """The values of a column."""
