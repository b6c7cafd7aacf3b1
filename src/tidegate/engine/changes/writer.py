"""How do subscriptions to events come, change and go?

Filters and tables are read here, and parameters changed; how a change is made is `editor`'s.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from tidegate.engine.changes.content import Content
from tidegate.engine.changes.editor import Editor
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
    subscribe,
)
from tidegate.engine.subscriptions.table_reader import read_changes, read_table
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema


class Writer:
    """Changes the content of an index of events."""

    def __init__(self, content: Content, merger: SegmentMerger, schema: Schema | None) -> None:
        self._content = content
        self._merger = merger
        self._schema = schema
        self.editor = Editor(content, merger)

    def add(self, id: Id, filter: str | Filter, parameters: Mapping[str, Any]) -> None:
        """Add a subscription."""
        self.editor.add(subscribe(id, filter, parameters, self._schema))

    def add_many(self, table: Any, filter: str | Filter | None) -> None:
        """Add the subscriptions of a table: all of them, or none."""
        with background.first(), put_off(len(table) if hasattr(table, "__len__") else 0):
            self._add_all(*read_table(table, filter, self._schema))
        self.editor.keep_up()

    def add_together(self, blocks: Sequence[Block], filters: Mapping[Id, Filter]) -> None:
        """Add blocks, and filters without parameters under their ids: all of them, or none."""
        with background.first(), put_off(sum(map(len, blocks)) + len(filters)):
            singles = [subscribe(id, f, {}, self._schema) for id, f in filters.items()]
            self._add_all(list(blocks), singles)
        self.editor.keep_up()

    def _add_all(self, blocks: list[Block], singles: list[Subscription]) -> None:
        content = self._content
        ids = [block.ids for block in blocks]
        if singles:
            ids.append(id_array([subscription.id for subscription in singles]))
        if not ids:
            return
        with self.editor.writing():
            with content.lock:
                self.editor.begin()
                content.require_all_new(pa.concat_arrays(ids))
            self._put(blocks, singles)

    def update(self, id: Id, parameters: Mapping[str, Any]) -> None:
        """Change parameters of a subscription."""
        self.editor.replace(id, lambda old: changed(old, parameters, self._schema))

    def update_many(self, table: Any) -> None:
        """Change the parameters a table has columns for, of the ids in it: all rows, or none."""
        ids, columns = read_changes(table)
        content = self._content
        with background.first(), self.editor.writing():
            with content.lock:
                self.editor.begin()
                places = content.locate(ids)
                pending = {
                    row: content.pending[ids[row].as_py()]
                    for live, rows, _ in places
                    if live is None
                    for row in rows.tolist()
                }
            blocks, singles = changed_rows(ids, columns, places, pending, self._schema)
            self._put(blocks, singles, ids, places)
        self.editor.keep_up()

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
