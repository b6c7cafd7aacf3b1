"""How do subscriptions come, change and go?

One change at a time: writers that come together wait for each other, readers for no longer than it
takes to note a change. A change has taken effect when its call returns, all of it or, if something
is refused, nothing. Few subscriptions are left pending; many that come together are compiled at
once, and added as a segment.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tidegate.engine.changes.content import Content
from tidegate.engine.changes.merger import SegmentMerger
from tidegate.engine.primitives import background
from tidegate.engine.primitives.gc_pause import put_off
from tidegate.engine.segments.live import Live
from tidegate.engine.segments.parameter_updates import Place, changed_rows
from tidegate.engine.subscriptions.subscription import (
    Block,
    Id,
    Subscription,
    changed,
    id_array,
    read_id,
    subscribe,
)
from tidegate.engine.subscriptions.table_columns import read_ids
from tidegate.engine.subscriptions.table_reader import read_changes, read_table
from tidegate.errors import TidegateError
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema


class Writer:
    """Changes the content of an index."""

    def __init__(self, content: Content, merger: SegmentMerger, schema: Schema | None) -> None:
        self._content = content
        self._merger = merger
        self._schema = schema
        self._writing = threading.Lock()  # held by one writer during its change
        self.read_only = False

    def add(self, id: Id, filter: str | Filter, parameters: Mapping[str, Any]) -> None:
        """Add a subscription."""
        new = subscribe(id, filter, parameters, self._schema)
        content = self._content
        with self._writing:
            content.know_ids()
            with content.lock:
                self._begin()
                content.require_new(new.id)
                content.pending[new.id] = new
                content.size += 1
            self._merger.keep_up()

    def add_many(self, table: Any, filter: str | Filter | None) -> None:
        """Add the subscriptions of a table: all of them, or none."""
        content = self._content
        with background.first(), put_off(len(table) if hasattr(table, "__len__") else 0):
            blocks, singles = read_table(table, filter, self._schema)
            if not blocks and not singles:
                return
            ids = [block.ids for block in blocks]
            if singles:
                ids.append(id_array([subscription.id for subscription in singles]))
            with self._writing:
                content.know_ids()
                with content.lock:
                    self._begin()
                    content.require_all_new(pa.concat_arrays(ids))
                self._put(blocks, singles)
        self._keep_up()

    def update(self, id: Id, parameters: Mapping[str, Any]) -> None:
        """Change parameters of a subscription."""
        plain = read_id(id)
        content = self._content
        with self._writing:
            content.know_ids()
            with content.lock:
                self._begin()
                found = content.found(plain)
                new = changed(content.subscription(plain, found), parameters, self._schema)
                content.take_out(plain, found)
                content.pending[plain] = new
            self._merger.keep_up()

    def update_many(self, table: Any) -> None:
        """Change the parameters a table has columns for, of the ids in it: all rows, or none."""
        ids, columns = read_changes(table)
        content = self._content
        with background.first(), self._writing:
            content.know_ids()
            with content.lock:
                self._begin()
                places = content.locate(ids)
                pending = {
                    row: content.pending[ids[row].as_py()]
                    for live, rows, _ in places
                    if live is None
                    for row in rows.tolist()
                }
            blocks, singles = changed_rows(ids, columns, places, pending, self._schema)
            self._put(blocks, singles, ids, places)
        self._keep_up()

    def remove(self, id: Id) -> None:
        """Remove a subscription."""
        plain = read_id(id)
        content = self._content
        with self._writing:
            content.know_ids()
            with content.lock:
                self._begin()
                content.take_out(plain, content.found(plain))
                content.size -= 1
            self._merger.keep_up()

    def remove_many(self, ids: Iterable[Id] | pa.Array) -> None:
        """Remove subscriptions: all of them, or none if one is unknown."""
        leaving = read_ids(ids)
        content = self._content
        with self._writing:
            content.know_ids()
            with content.lock:
                self._begin()
                content.drop(leaving, content.locate(leaving))
                content.size -= len(leaving)
            self._merger.keep_up(looking=True)

    def flush(self) -> None:
        """Compile and merge everything into one segment, now."""
        with self._writing:
            self._merger.flush()

    def _begin(self) -> None:
        if self.read_only:
            raise TidegateError("the index was opened to be read only")
        self._content.changes += 1

    def _keep_up(self) -> None:
        with self._writing:
            self._merger.keep_up(looking=True)

    def _put(
        self,
        blocks: list[Block],
        singles: list[Subscription],
        old: pa.Array | None = None,
        places: Sequence[Place] = (),
    ) -> None:
        """Add many subscriptions, for old ones if any, which are in these places, in one step."""
        content = self._content
        count = sum(len(block) for block in blocks) + len(singles)
        growth = count - (0 if old is None else len(old))
        if not self._merger.compiles_at_once(count):
            new = singles + [each for block in blocks for each in block.subscriptions()]
            with content.lock:
                if old is not None:
                    content.drop(old, places)
                content.pending.update((subscription.id, subscription) for subscription in new)
                content.size += growth
        else:
            segment = self._merger.compiled(blocks, singles)
            with self._merger.adding(), content.lock:
                if old is not None:
                    content.drop(old, places)
                content.lives.append(Live(segment))
                content.size += growth
