"""How is one change made to what is in an index?

One at a time: writers that come together wait for each other, readers for no longer than it takes
to note a change. A change has taken effect when it is made, all of it or, if something is refused,
nothing. Few subscriptions are left pending; many that come together are a segment at once.

What the filters say does not matter here, so every kind of index changes in this way.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from tidegate.engine.changes.content import Content
from tidegate.engine.changes.merger import SegmentMerger
from tidegate.engine.subscriptions.subscription import Id, Subscription, read_id
from tidegate.engine.subscriptions.table_columns import read_ids
from tidegate.errors import TidegateError


class Editor:
    """Changes the content of an index, one change at a time."""

    def __init__(self, content: Content, merger: SegmentMerger) -> None:
        self._content = content
        self._merger = merger
        self._writing = threading.Lock()  # held by one writer during its change
        self.read_only = False

    def add(self, new: Subscription) -> None:
        """Add a subscription."""
        with self._changing() as content:
            content.require_new(new.id)
            content.pending[new.id] = new
            content.size += 1

    def replace(self, id: Id, make: Callable[[Subscription], Subscription]) -> None:
        """Put another subscription in the place of one, made of it."""
        plain = read_id(id)
        with self._changing() as content:
            found = content.found(plain)
            new = make(content.subscription(plain, found))
            content.take_out(plain, found)
            content.pending[plain] = new

    def remove(self, id: Id) -> None:
        """Remove a subscription."""
        plain = read_id(id)
        with self._changing() as content:
            content.take_out(plain, content.found(plain))
            content.size -= 1

    def remove_many(self, ids: Iterable[Id] | pa.Array) -> None:
        """Remove subscriptions: all of them, or none if one is unknown."""
        leaving = read_ids(ids)
        with self._changing(looking=True) as content:
            content.drop(leaving, content.locate(leaving))
            content.size -= len(leaving)

    def flush(self) -> None:
        """Compile and merge everything into one segment, now."""
        with self._writing:
            self._merger.flush()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make a change in several steps, with nobody else in between; `begin` it with the lock."""
        with self._writing:
            self._content.know_ids()
            yield

    def begin(self) -> None:
        """Note that a change is made, if there may be one."""
        if self.read_only:
            raise TidegateError("the index was opened to be read only")
        self._content.changes += 1

    def keep_up(self) -> None:
        """Compile and merge as far as it is time for it, after many have come."""
        with self._writing:
            self._merger.keep_up(looking=True)

    @contextmanager
    def _changing(self, *, looking: bool = False) -> Iterator[Content]:
        """Make a change in one step."""
        with self.writing():
            with self._content.lock:
                self.begin()
                yield self._content
            self._merger.keep_up(looking=looking)
