"""Many subscriptions, compiled.

A `Segment` is made once (`compiler`) and never changes: its partitions hold the entries, `ids` the
subscriptions' ids in the order of their codes, `originals` what they were given as. What has been
removed since is said by whoever asks: `alive` has a bit for each code, and is empty if all are.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.description import Structure
from tidegate.engine.events.encoded_batch import EncodedBatch
from tidegate.engine.partition.output_kernels import repeat
from tidegate.engine.partition.partition import Partition
from tidegate.engine.partition.range_ends import RangeAxes
from tidegate.engine.partition.rows import AxisTable
from tidegate.engine.primitives.id_table import IdTable
from tidegate.engine.primitives.result_buffers import ResultColumn
from tidegate.engine.single.single_events import Parts, SingleEvents
from tidegate.engine.subscriptions.originals import Originals
from tidegate.engine.subscriptions.subscription import Subscription
from tidegate.engine.sweep.end_numbers import EndTable
from tidegate.engine.sweep.sweep import Sweep
from tidegate.filters.expression import Predicate, predicates
from tidegate.filters.lines import ALL_LINES, FAMILY_LINES
from tidegate.filters.schema import Schema
from tidegate.filters.values import family

Alive: TypeAlias = NDArray[np.uint64]
Integers: TypeAlias = NDArray[np.int64]


class Segment:
    """Compiled subscriptions, by code. Immutable, but for what is worked out on first use."""

    def __init__(
        self,
        table: AxisTable,
        partitions: Sequence[Partition],
        ends: EndTable,
        sweeps: Sequence[Sweep],
        ids: pa.Array,
        originals: Originals | Callable[[], Originals],
    ) -> None:
        self.table = table
        self.partitions = partitions
        self.ends = ends
        self.sweeps = sweeps
        self.ids = ids
        self._originals = originals

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def originals(self) -> Originals:
        """What the subscriptions were given as; of a file it is read when first asked for."""
        return self._originals if isinstance(self._originals, Originals) else self._originals()

    def subscription(self, code: int) -> Subscription:
        """The subscription of a code."""
        return self.originals.subscription(code, self.ids[code].as_py())

    @cached_property
    def codes(self) -> IdTable:
        """The code of each id."""
        return IdTable(self.ids)

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The attributes that conditions and ranges look at."""
        found = {name for partition in self.partitions for name in partition.attributes}
        for sweep in self.sweeps:
            found.update(sweep.attributes, sweep.key.attributes)
        return frozenset(found)

    @cached_property
    def ranged(self) -> frozenset[str]:
        """The attributes on which entries have ranges of their own."""
        owners: list[RangeAxes | Sweep] = [partition.axes for partition in self.partitions]
        return frozenset(name for each in (*owners, *self.sweeps) for name in each.attributes)

    @cached_property
    def compared(self) -> dict[str, frozenset[str]]:
        """For each attribute, the names of the lines on which some predicate compares."""
        found: dict[str, set[str]] = {}
        conditions = self.table.conditions
        seen: set[tuple[Any, ...]] = set()  # it is a matter of types
        for condition in conditions:
            attribute, node = condition.attribute, condition.node
            for predicate in (node,) if isinstance(node, Predicate) else predicates(node):
                kind = (attribute, *map(type, predicate.constants))
                if kind not in seen:
                    seen.add(kind)
                    lines = compared_lines(predicate, conditions.schema)
                    found.setdefault(attribute, set()).update(lines)
        axes: list[RangeAxes | Sweep] = [partition.axes for partition in self.partitions]
        for ranged in (*axes, *self.sweeps):
            for attribute, lines in ranged.compared():
                found.setdefault(attribute, set()).update(lines)
        return {attribute: frozenset(lines) for attribute, lines in found.items()}

    @cached_property
    def single(self) -> SingleEvents:
        """The segment as it is asked about one event."""
        return SingleEvents(
            Parts(
                len(self),
                self.table,
                self.partitions,
                self.ends,
                self.sweeps,
                self.attributes,
                self.compared,
            )
        )

    def structures(self) -> list[Structure]:
        """What the segment is made of."""
        parts: list[Sweep | Partition] = [*self.sweeps, *self.partitions]
        found = [part.structure() for part in parts]
        placed = sum(part.codes for part in parts)
        if placed < len(self):
            found.append(Structure("filters that nothing can match", len(self) - placed, 0, 0))
        if "single" in self.__dict__ and self.single.nbytes:
            size = self.single.nbytes
            found.append(Structure("conditions of single events", 0, 0, size, size))
        if self.ends.nbytes:
            found.append(Structure("ends of the ranges by key", 0, 0, self.ends.nbytes))
        conditions = self.table.conditions
        texts = sum(bool(condition.allowed.texts) for condition in conditions)
        for name, shown, size in (
            ("values of the keys", conditions.points.nbytes, conditions.points.nbytes),
            (f"{len(conditions):,} conditions", len(conditions), conditions.nbytes),
            ("cuts of the conditions", self.table.nbytes, self.table.nbytes),
            (f"{texts:,} of them on text: each string of a batch is searched", texts, 0),
        ):
            if shown:
                found.append(Structure(name, 0, 0, size))
        return found

    def count(self, batch: EncodedBatch, alive: Alive) -> Integers:
        """How many subscriptions each event meets."""
        counts = np.zeros(batch.size, np.int64)
        for sweep in self.sweeps:
            sweep.count(batch, alive, counts)
        for partition in self.partitions:
            for work in partition.work(batch):
                partition.count(work, alive, counts)
        return counts

    def pairs(self, batch: EncodedBatch, alive: Alive) -> Iterator[tuple[pa.Array, pa.Array]]:
        """The events' rows and the ids of the subscriptions they meet, chunk by chunk.

        In a chunk, pairs are grouped by event.
        """
        return ((rows, self._ids(codes)) for rows, codes in self.coded_pairs(batch, alive))

    def coded_pairs(self, batch: EncodedBatch, alive: Alive) -> Iterator[tuple[pa.Array, pa.Array]]:
        """The events' rows and the codes of the subscriptions they meet, chunk by chunk."""
        for sweep in self.sweeps:
            yield from sweep.pairs(batch, alive)
        counts = np.zeros(batch.size, np.int64)
        todo = []
        for partition in self.partitions:
            for work in partition.work(batch):
                partition.count(work, alive, counts)
                todo.append((partition, work))
        total = int(counts.sum())
        if total:
            end = np.cumsum(counts)
            cursor = end - counts
            events, codes = ResultColumn(total), ResultColumn(total)
            for partition, work in todo:
                partition.write(work, alive, cursor, end, codes.array)
            repeat(counts, events.array)
            yield events.arrow(total), codes.arrow(total)

    def _ids(self, codes: pa.Array) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(codes, self.ids, safe=False)


def compared_lines(predicate: Predicate, schema: Schema | None) -> set[str]:
    """The names of the lines whose values the predicate can compare."""
    if all(constant is None for constant in predicate.constants):  # IS NULL, or `= NULL`
        return {line.name for line in ALL_LINES}
    if schema is not None:
        own = schema[predicate.attribute].type.line
        return set() if own is None else {own.name}
    return {
        line.name
        for constant in predicate.constants
        if constant is not None
        for line in FAMILY_LINES[family(constant)]  # type: ignore[arg-type]
    }
