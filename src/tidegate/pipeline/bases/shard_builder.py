"""How do subscriptions become the files of a base?

Of each shard, the filters are parsed and checked for the events, an index is built of them
(subscriptions of the same filter share an entry there), and it is written together with the names.
Where there are several shards, filters that cover each (`Kind.summary`) are put into one more index
(`summary_index`).

Names have the text of a filter as well, if it has parameters: when these are changed later, the
change does not repeat the filter.
"""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.pipeline.bases import catalog
from tidegate.pipeline.bases.catalog import Base, File, Shard
from tidegate.pipeline.bases.summary_index import summary_index, visited
from tidegate.pipeline.kinds.kind import Kind, KindIndex, Plan
from tidegate.pipeline.store.literals import PARAMETERS

ROWS: Final = pa.schema(
    {
        "id": pa.string(),
        "subscriber": pa.string(),
        "filter": pa.string(),
        "parameters": PARAMETERS,
    }
)
"""Subscriptions as they are built from."""

_REASONS: Final = 20  # that are kept


@dataclass(frozen=True, slots=True)
class Built:
    """A shard whose files are written, what does not fit the events, and what covers the rest."""

    shard: Shard
    refused: int
    reasons: list[str]
    summary: list[str]

    @classmethod
    def read(cls, said: dict[str, Any]) -> "Built":
        """What was written down by `dataclasses.asdict`."""
        return cls(**{**said, "shard": catalog.shard_from(said["shard"])})


@dataclass(frozen=True, slots=True)
class Builder:
    """How the shards of a base are built; `plan` is None if there is only one."""

    store: str
    name: str
    version: int
    kind: Kind
    plan: Plan | None = None

    def shard(self, number: int, tables: list[pa.Table]) -> Built:
        """Write the files of a shard; `tables` have the columns `ROWS`, all together sorted by id.

        The list is emptied, so that subscriptions are not in memory twice.
        """
        columns = _whole(tables)
        ids, filters, parameters = (columns[name] for name in ("id", "filter", "parameters"))
        stem = f"{self.name}-{number:05d}-{uuid.uuid4().hex}"  # a task may be run twice
        with catalog.writing(self.store) as folder:
            names_path = folder / f"names-{stem}.arrow"
            index_path = folder / f"index-{stem}.tidegate"
            _write_names(str(names_path), columns)
            columns.clear()
            index = self.kind.new_index()
            refused = self.kind.add(index, pa.array(np.arange(len(ids))), filters, parameters)
            index.save(index_path)
            del index
            files = catalog.written(index_path), catalog.written(names_path)
        covering: list[str] = []
        if self.plan is not None:
            covering = self.kind.summary(filters, parameters, self.plan)
        reasons = [f"{ids[row].as_py()}: {error}" for row, error in refused[:_REASONS]]
        return Built(Shard(len(ids), *files), len(refused), reasons, covering)

    def base(self, built: Sequence[Built], events: pa.Table | None, started: float) -> Base:
        """The base of these shards, in their order; `events` tell how often each is visited."""
        shards = [each.shard for each in built]
        file = None
        if self.plan is not None:
            index = summary_index([each.summary for each in built], self.kind)
            file = self._write_summary(index)
            if events is not None and len(events):
                shares = visited(index, len(shards), self.kind.read(events)).mean(axis=1)
                shards = [
                    replace(shard, visits=float(share))
                    for shard, share in zip(shards, shares, strict=True)
                ]
        return Base(
            self.name,
            self.version,
            catalog.fingerprint(self.kind),
            self.kind.spelled(),
            tuple(shards),
            file,
            sum(each.refused for each in built),
            [reason for each in built for reason in each.reasons][:_REASONS],
            time.time() - started,
            kind=self.kind.name,
        )

    def _write_summary(self, index: KindIndex) -> File:
        with catalog.writing(self.store) as folder:
            path = folder / f"summary-{self.name}.tidegate"
            index.save(path)
            return catalog.written(path)


def _whole(tables: list[pa.Table]) -> dict[str, pa.Array]:
    """The columns of tables, each in one piece; nothing of the tables is left."""
    rows = pa.concat_tables([ROWS.empty_table(), *(table.cast(ROWS) for table in tables)])
    tables.clear()
    found = {}
    for name in ROWS.names:
        found[name] = rows[name].combine_chunks()
        rows = rows.drop_columns([name])
    return found


def _write_names(path: str, columns: dict[str, pa.Array]) -> None:
    given = np.diff(columns["parameters"].offsets.to_numpy()) > 0
    texts = pc.if_else(pa.array(given), columns["filter"], pa.scalar(None, pa.string()))
    names = pa.table(
        {
            "id": columns["id"],
            "subscriber": columns["subscriber"],
            "filter": texts.dictionary_encode(),
        }
    )
    with pa.OSFile(path, "wb") as out, pa.ipc.new_file(out, names.schema) as writer:
        writer.write_table(names)
