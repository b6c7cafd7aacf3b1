"""What do the tasks of an analysis do?

`Read` reads subscriptions: what they mean, whether a scout covers them, which cells they touch,
where they could be merged. `Compare` finds who covers whom in a cell, `Subsume` who is covered by
several of those that are left; `Merge` looks through files. Filters travel between them as their
boxes: a text is read once.
"""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

import pyarrow as pa

from tidegate.algebra.distribution import Distribution, probability
from tidegate.algebra.express import constants
from tidegate.algebra.normal import Box, boxes
from tidegate.errors import MeasureError, TidegateError
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.pipeline.analysis.cells import Cells
from tidegate.pipeline.analysis.covering import rank
from tidegate.pipeline.analysis.findings import shortened
from tidegate.pipeline.analysis.meanings import meaning, read
from tidegate.pipeline.analysis.mergers import Member, Place, mergers, places
from tidegate.pipeline.analysis.pieces import of_boxes
from tidegate.pipeline.analysis.redundancy import compare, subsume
from tidegate.pipeline.analysis.report_queries import ALWAYS, LONG, NEVER, PLAIN, REFUSED
from tidegate.pipeline.analysis.scouts import Scouts

Batches: TypeAlias = Iterator[pa.RecordBatch]

_BATCH: Final = 2_000  # rows that a task looks at, and hands back, at a time

READ: Final = (
    "id string, filter string, parameters map<string,string>, meaning binary, kind string, "
    "reason string, size int, chance double, texts boolean, attributes array<string>, "
    "scout binary, boxes binary, rank struct<group: int, attributes: int, narrowness: double>, "
    "cells array<int>, places array<struct<file: binary, start: binary, stop: binary>>"
)
_READ_ARROW: Final = pa.schema(
    {
        "id": pa.string(),
        "filter": pa.string(),
        "parameters": pa.map_(pa.string(), pa.string()),
        "meaning": pa.binary(),
        "kind": pa.string(),
        "reason": pa.string(),
        "size": pa.int32(),
        "chance": pa.float64(),
        "texts": pa.bool_(),
        "attributes": pa.list_(pa.string()),
        "scout": pa.binary(),
        "boxes": pa.binary(),
        "rank": pa.struct(
            {"group": pa.int32(), "attributes": pa.int32(), "narrowness": pa.float64()}
        ),
        "cells": pa.list_(pa.int32()),
        "places": pa.list_(
            pa.struct({"file": pa.binary(), "start": pa.binary(), "stop": pa.binary()})
        ),
    }
)
COMPARED: Final = "meaning binary, coverer string, same string, compared boolean"
_COMPARED_ARROW: Final = {
    "meaning": pa.binary(),
    "coverer": pa.string(),
    "same": pa.string(),
    "compared": pa.bool_(),
}
SUBSUMED: Final = "meaning binary, subsumed boolean, by array<string>"
_SUBSUMED_ARROW: Final = {
    "meaning": pa.binary(),
    "subsumed": pa.bool_(),
    "by": pa.list_(pa.string()),
}
MERGED: Final = "file binary, first string, merger string, leader string, place int"
_MERGED_ARROW: Final = {
    "file": pa.binary(),
    "first": pa.string(),
    "merger": pa.string(),
    "leader": pa.string(),
    "place": pa.int32(),
}


@dataclass(frozen=True, slots=True)
class Read:
    """Read subscriptions."""

    schema: Schema | None
    cells: Cells
    scouts: Scouts
    distribution: Distribution | None

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            for start in range(0, len(batch), _BATCH):
                rows = batch.slice(start, _BATCH).to_pylist()
                yield pa.RecordBatch.from_pylist(self._rows(rows), _READ_ARROW)

    def _rows(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        read = [self._read(**row) for row in rows]
        compared = [(row, f) for row, f in read if row["kind"] == PLAIN]
        scouts = self.scouts.coverers([f for _, f in compared])
        for (row, f), scout in zip(compared, scouts, strict=True):
            row["scout"] = None if scout == row["meaning"] else scout
            if row["scout"] is None:
                own = boxes(f) or ()
                row["boxes"] = pickle.dumps(own, pickle.HIGHEST_PROTOCOL)
                row["rank"] = rank(f)._asdict()
                row["cells"] = self.cells.touched(own)
                row["places"] = [place._asdict() for place in places(f)]
        return [row for row, _ in read]

    def _read(
        self, id: str, filter: str, parameters: list[tuple[str, str]]
    ) -> tuple[dict[str, Any], Filter]:
        row: dict[str, Any] = {"id": id, "filter": filter, "parameters": parameters}
        try:
            f = read(filter, parameters, self.schema)
            form = f.form
        except TidegateError as error:
            return {**row, "kind": REFUSED, "reason": shortened(str(error))}, _NO_FILTER
        row |= {
            "meaning": meaning(form),
            "size": max(1, constants(f.tree)),
            "attributes": sorted(f.attributes),
            "texts": False,
        }
        if form is True or form is False:
            return {**row, "kind": ALWAYS if form else NEVER, "chance": float(form)}, f
        row["chance"] = _chance(f, self.distribution)
        own = boxes(f)
        if own is None:
            return {**row, "kind": LONG}, f
        if not own:
            return {**row, "kind": NEVER, "chance": 0.0}, f
        texts = any(allowed.texts for box in own for allowed in box.sets.values())
        return {**row, "kind": PLAIN, "texts": texts}, f


_NO_FILTER: Final = of_boxes((), None)


def _chance(f: Filter, distribution: Distribution | None) -> float | None:
    if distribution is None:
        return None
    try:
        return probability(f, distribution)
    except MeasureError:
        return None


@dataclass(frozen=True, slots=True)
class Compare:
    """Find who covers whom; filters come cell after cell, in the order of their ranks."""

    cells: Cells

    def __call__(self, batches: Batches) -> Batches:
        for _, rows in groupby(_columns(batches), key=itemgetter(0)):
            meanings: list[bytes] = []
            names: list[str] = []
            found = compare(names, self._filters(rows, meanings, names), self.cells)
            for start in range(0, len(names), _BATCH):
                some = found[start : start + _BATCH]
                columns: dict[str, list[Any]] = {
                    "meaning": meanings[start : start + _BATCH],
                    "coverer": [each.coverer for each in some],
                    "same": [each.same for each in some],
                    "compared": [each.compared for each in some],
                }
                yield _batch(columns, _COMPARED_ARROW)

    def _filters(
        self, rows: Iterator[tuple[Any, ...]], meanings: list[bytes], names: list[str]
    ) -> Iterator[Filter]:
        """The filters as they come, whose names are noted."""
        for _, own, leader, packed in rows:
            meanings.append(own)
            names.append(leader)
            yield _unpacked(packed, self.cells.schema)


@dataclass(frozen=True, slots=True)
class Subsume:
    """Find who is subsumed; filters of a cell come once for each share that is asked about."""

    cells: Cells

    def __call__(self, batches: Batches) -> Batches:
        for (cell, _), rows in groupby(_columns(batches), key=itemgetter(0, 1)):
            meanings: list[bytes] = []
            names: list[str] = []
            asked: dict[int, Filter] = {}
            others: dict[int, Filter] = {}
            for number, (_, _, is_asked, compared, own, leader, packed) in enumerate(rows):
                meanings.append(own)
                names.append(leader)
                f = _unpacked(packed, self.cells.schema)
                if is_asked:
                    asked[number] = f
                if compared:
                    others[number] = f
            found = list(subsume(asked, others, self.cells, cell))
            columns: dict[str, list[Any]] = {
                "meaning": [meanings[number] for number, _, _ in found],
                "subsumed": [answer for _, answer, _ in found],
                "by": [[names[i] for i in by] or None for _, _, by in found],
            }
            yield _batch(columns, _SUBSUMED_ARROW)


def _unpacked(packed: bytes, schema: Schema | None) -> Filter:
    own: tuple[Box, ...] = pickle.loads(packed)  # `Read` has packed it, in the same job
    return of_boxes(own, schema)


def _columns(batches: Batches) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        for start in range(0, len(batch), _BATCH):
            some = batch.slice(start, _BATCH)
            yield from zip(*(column.to_pylist() for column in some.columns), strict=True)


@dataclass(frozen=True, slots=True)
class Merge:
    """Look through files, whose members come in the order of their places."""

    schema: Schema | None

    def __call__(self, batches: Batches) -> Batches:
        for merger, own in mergers(self._members(batches)):
            columns: dict[str, list[Any]] = {
                "file": [member.place.file for member in own],
                "first": [own[0].name] * len(own),
                "merger": [shortened(str(merger))] * len(own),
                "leader": [member.name for member in own],
                "place": list(range(len(own))),
            }
            yield _batch(columns, _MERGED_ARROW)

    def _members(self, batches: Batches) -> Iterator[Member]:
        for leader, filter, parameters, file, start, stop in _columns(batches):
            place = Place(file, start, stop)
            yield Member(leader, place, partial(read, filter, parameters, self.schema))


def _batch(columns: dict[str, list[Any]], types: dict[str, pa.DataType]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {name: pa.array(columns[name], kind) for name, kind in types.items()}
    )
