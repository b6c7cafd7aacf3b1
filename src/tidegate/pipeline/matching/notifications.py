"""What comes out for a batch of events?

One of three forms: **pairs**, a row for each event and subscription; **lists**, a row for each
event with everybody who wants it; **counts**, a row for each event with how many do. All have the
chosen columns of the event, the version of the store that was matched, and `error`: an event that
is malformed comes out once, in any form, with the reason and without a subscription.

Events are matched with every shard that they visit (`matcher`); where they were sent to each of
these (`routing`), with the one that they were sent to.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.pipeline.events.malformed import ERROR
from tidegate.pipeline.kinds.kind import Kind, ReadEvents
from tidegate.pipeline.matching.matcher import Matcher, Visits
from tidegate.pipeline.matching.routing import MALFORMED, SHARD
from tidegate.pipeline.store.literals import Rows

Form = Literal["pairs", "lists", "counts"]

FORMS: Final[dict[str, list[tuple[str, str, pa.DataType]]]] = {
    "pairs": [("subscription", "string", pa.string()), ("subscriber", "string", pa.string())],
    "lists": [
        ("subscriptions", "array<string>", pa.list_(pa.field("element", pa.string()))),
        ("subscribers", "array<string>", pa.list_(pa.field("element", pa.string()))),
    ],
    "counts": [("matches", "bigint", pa.int64())],
}
"""The columns of a form: name, type in Spark, type in Arrow."""
ALWAYS: Final = [("version", "bigint", pa.int64()), ("error", "string", pa.string())]

_PAIRS: Final = 500_000  # of one batch that goes back to Spark, about
_BYTES: Final = 2**28  # of a column of one such batch, at most
_FIRST: Final = 512  # events that are matched to see how many pairs there are
_EVENTS_IN_ORDER: Final = 2**16  # events at once, if they are put in order
_NO_TEXTS: Final = pa.array([], pa.string())


class Notifier:
    """Turns batches of events into batches of notifications."""

    def __init__(self, matcher: Matcher, kind: Kind, form: Form, columns: Sequence[str]) -> None:
        self._matcher = matcher
        self._kind = kind  # for these events; the matcher's own knows subscriptions only
        self._form = form
        self._columns = columns
        self._size = _FIRST

    def notify(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The notifications for some events, matched with every shard that they visit."""
        for some in self._few(batch):
            read, wrong, errors = self._kind.judge(some)
            if len(wrong):
                yield self._malformed(wrong, errors)
            if len(read.events):
                yield from self._found(read, self._matcher.visits(read))

    def arrived(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Pairs for some events, each matched with the shard that it was sent to."""
        shards = batch.column(SHARD).to_numpy()
        wrong = shards == MALFORMED
        if wrong.any():
            some = batch.filter(pa.array(wrong))
            yield self._malformed(some, some.column(ERROR))
            batch, shards = batch.filter(pa.array(~wrong)), shards[~wrong]
        start = 0
        for some in self._few(batch):
            own = shards[start : start + len(some)]
            visits: Visits = [
                (int(shard), np.flatnonzero(own == shard)) for shard in np.unique(own)
            ]
            yield from self._found(self._kind.read(some), visits)
            start += len(some)

    def _malformed(self, events: pa.RecordBatch, errors: pa.Array) -> pa.RecordBatch:
        """Events that are not matched, and why."""
        nulls = [pa.nulls(len(events), kind) for _, _, kind in FORMS[self._form]]
        return self._batch(events.select(self._columns), nulls, errors)

    def _few(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """A batch, as many events at a time as can be read and matched at once."""
        for piece in self._kind.pieces(batch):
            start = 0
            while start < len(piece):
                some = piece.slice(start, self._size)
                start += len(some)
                yield some

    def _found(self, read: ReadEvents, visits: Visits) -> Iterator[pa.RecordBatch]:
        found: Iterator[pa.RecordBatch] = getattr(self, f"_{self._form}")(read, visits)
        return found

    def _pairs(self, read: ReadEvents, visits: Visits) -> Iterator[pa.RecordBatch]:
        events = read.events
        chosen = events.select(self._columns)
        step = min(2 * _PAIRS, max(1, _BYTES // max(_longest(chosen), 1)))
        found = 0
        for shard, rows, numbers in self._met(read, visits):
            found += len(rows)
            names = self._matcher.part(shard).names
            for first in range(0, len(rows), step):
                here = slice(first, first + step)
                ids, subscribers = names.of(numbers[here])
                yield self._batch(chosen.take(pa.array(rows[here])), [ids, subscribers])
        self._fit(len(events), found)

    def _lists(self, read: ReadEvents, visits: Visits) -> Iterator[pa.RecordBatch]:
        events = read.events
        found = list(self._met(read, visits))
        rows = np.concatenate([np.empty(0, np.int64), *(own for _, own, _ in found)])
        order = None
        if (np.diff(rows) < 0).any():
            order = np.argsort(rows.astype(np.uint16), kind="stable")  # by counting, not comparing
            rows = rows[order]
        values = self._named(found, order)
        ends = np.searchsorted(rows, np.arange(len(events) + 1)).astype(np.int32)
        lists = [
            pa.ListArray.from_arrays(pa.array(ends), column, type=kind)
            for column, (_, _, kind) in zip(values, FORMS["lists"], strict=True)
        ]
        yield self._batch(events.select(self._columns), lists)
        self._fit(len(events), len(rows))

    def _counts(self, read: ReadEvents, visits: Visits) -> Iterator[pa.RecordBatch]:
        events = read.events
        counts = np.zeros(len(events), np.int64)
        for shard, visiting in visits:
            own = read.counts(self._matcher.part(shard).index, visiting)
            counts[slice(None) if visiting is None else visiting] += own
        self._size = 1 << 30
        yield self._batch(events.select(self._columns), [pa.array(counts)])

    def _met(self, read: ReadEvents, visits: Visits) -> Iterator[tuple[int, Rows, Rows]]:
        """Shards, rows of events, and the numbers that these meet there."""
        for shard, visiting in visits:
            yield shard, *read.met(self._matcher.part(shard).index, visiting)

    def _named(
        self, found: list[tuple[int, Rows, Rows]], order: Rows | None
    ) -> tuple[pa.Array, pa.Array]:
        """The ids and the subscribers of numbers of some shards, in an order of all of them."""
        if len(found) == 1:
            shard, _, numbers = found[0]
            return self._matcher.part(shard).names.of(numbers if order is None else numbers[order])
        named = [self._matcher.part(shard).names.of(numbers) for shard, _, numbers in found]
        ids, subscribers = (
            pa.concat_arrays([_NO_TEXTS, *(each[column] for each in named)]) for column in (0, 1)
        )
        if order is None:
            return ids, subscribers
        return ids.take(pa.array(order)), subscribers.take(pa.array(order))

    def _fit(self, events: int, found: int) -> None:
        """Take as many events at once as make about so many pairs."""
        self._size = max(64, min(_PAIRS * events // max(found, 1), _EVENTS_IN_ORDER))

    def _batch(
        self, events: pa.RecordBatch, found: list[pa.Array], errors: pa.Array | None = None
    ) -> pa.RecordBatch:
        size = len(events)
        said = pa.array(np.full(size, self._matcher.version), pa.int64())
        errors = pa.nulls(size, pa.string()) if errors is None else errors
        added = [pa.field(name, kind) for name, _, kind in (*FORMS[self._form], *ALWAYS)]
        return pa.RecordBatch.from_arrays(
            [*events.columns, *found, said, errors], schema=pa.schema([*events.schema, *added])
        )


def _longest(events: pa.RecordBatch) -> int:
    """The bytes of the longest text in a batch: pairs repeat it, and a column has its limits."""
    lengths = [
        pc.max(pc.binary_length(column)).as_py() or 0
        for column in events.columns
        if pa.types.is_string(column.type) or pa.types.is_binary(column.type)
    ]
    return max(lengths, default=0)
