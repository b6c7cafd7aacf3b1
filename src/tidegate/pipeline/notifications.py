"""What comes out for a batch of events?

One of three forms: **pairs**, a row for each event and subscription; **lists**, a row for each
event with everybody who wants it; **counts**, a row for each event with how many do. All have the
chosen columns of the event, the version of the store that was matched, and `error`: an event that
is malformed comes out once, in any form, with the reason and without a subscription.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.pipeline.malformed import violations
from tidegate.pipeline.matcher import Matcher

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
_FIRST: Final = 512  # events that are matched to see how many pairs there are


class Notifier:
    """Turns batches of events into batches of notifications."""

    def __init__(self, matcher: Matcher, form: Form, columns: Sequence[str], error: str) -> None:
        self._matcher = matcher
        self._form = form
        self._columns = columns
        self._error = error
        self._size = _FIRST

    def notify(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The notifications for some events."""
        errors = batch.column(self._error)
        events = batch.drop_columns([self._error])
        if errors.null_count < len(errors):
            wrong = errors.is_valid()
            yield self._malformed(events.filter(wrong), errors.drop_null())
            events = events.filter(errors.is_null())
        schema = self._matcher.index.schema
        if schema is not None and schema.checked:
            wrong = violations(events, schema)
            if wrong.null_count < len(wrong):
                yield self._malformed(events.filter(wrong.is_valid()), wrong.drop_null())
                events = events.filter(wrong.is_null())
        start = 0
        while start < len(events):
            some = events.slice(start, self._size)
            start += len(some)
            yield from getattr(self, f"_{self._form}")(some)

    def _pairs(self, events: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        rows, numbers = self._met(events)
        step = 2 * _PAIRS
        for first in range(0, len(rows), step):
            here = slice(first, first + step)
            ids, subscribers = self._matcher.names.of(numbers[here])
            chosen = events.select(self._columns).take(pa.array(rows[here]))
            yield self._batch(chosen, [ids, subscribers])

    def _lists(self, events: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        rows, numbers = self._met(events)
        if len(rows) and (np.diff(rows) < 0).any():
            order = np.argsort(rows, kind="stable")
            rows, numbers = rows[order], numbers[order]
        ends = np.searchsorted(rows, np.arange(len(events) + 1)).astype(np.int32)
        ids, subscribers = self._matcher.names.of(numbers)
        lists = [
            pa.ListArray.from_arrays(pa.array(ends), values, type=kind)
            for values, (_, _, kind) in zip((ids, subscribers), FORMS["lists"], strict=True)
        ]
        yield self._batch(events.select(self._columns), lists)

    def _counts(self, events: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        counts = self._matcher.index.count_batch(events)
        self._size = 1 << 30
        yield self._batch(events.select(self._columns), [pa.array(counts)])

    def _met(self, events: pa.RecordBatch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of events and numbers of the subscriptions that they meet."""
        found = self._matcher.index.match_batch(events)
        rows = [np.empty(0, np.int64)]
        numbers = [np.empty(0, np.int64)]
        for events_met, met in zip(
            found["event"].chunks, found["subscription"].chunks, strict=True
        ):
            rows.append(events_met.to_numpy())
            numbers.append(met.dictionary.to_numpy()[met.indices.to_numpy()])
        self._size = max(64, min(_PAIRS * len(events) // max(len(found), 1), 1 << 16))
        return np.concatenate(rows), np.concatenate(numbers)

    def _malformed(self, events: pa.RecordBatch, errors: pa.Array) -> pa.RecordBatch:
        nulls = [pa.nulls(len(events), kind) for _, _, kind in FORMS[self._form]]
        return self._batch(events.select(self._columns), nulls, errors)

    def _batch(
        self, events: pa.RecordBatch, found: list[pa.Array], errors: pa.Array | None = None
    ) -> pa.RecordBatch:
        size = len(events)
        said = pa.array(np.full(size, self._matcher.version), pa.int64())
        errors = pa.nulls(size, pa.string()) if errors is None else errors
        names = [name for name, _, _ in (*FORMS[self._form], *ALWAYS)]
        fields = [*events.schema, *(pa.field(name, kind) for name, _, kind in
                                    (*FORMS[self._form], *ALWAYS))]  # fmt: skip
        assert len(names) == len(found) + 2
        return pa.RecordBatch.from_arrays(
            [*events.columns, *found, said, errors], schema=pa.schema(fields)
        )
