"""Where does an event have to go?

To every shard that may have somebody for it (`Matcher.visits`), and nowhere else: a `Router` makes
of each event a row for each shard that it visits, and says which of Spark's partitions that row
goes to. What came since the base is matched for every event, and sent only if somebody there wants
it. A shard that many events visit has several partitions (`Slots`): its index is mapped, so
any number of tasks can match with it.

Where one row is owed for each event, as for lists and counts, an event goes to one shard only, its
**home**: the first that it visits. Matching finishes there, with the other shards that it visits
mapped as well, and nothing has to be put together again.

Events that nobody can want go no further, unless a row is owed for them; malformed ones do, with
what is wrong with them.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.pipeline.events.malformed import ERROR
from tidegate.pipeline.kinds.kind import Kind
from tidegate.pipeline.matching.matcher import TAIL, Matcher, Visits

SHARD: Final = "__tidegate_shard"
"""The column that says which shard a row was sent to."""
SLOT: Final = "__tidegate_slot"
"""The column that says which partition that is."""

NOBODY: Final = -2
"""In place of a shard: nobody wants the event."""
MALFORMED: Final = -3
"""In place of a shard: the event is malformed."""


class Slots:
    """Which partitions belong to each shard.

    Every shard has at least one; there may be fewer partitions than shards. The rest goes to those
    that are visited most. What goes to no shard is spread over all.

    >>> slots = Slots([0.1, 0.7, 0.2], 6)
    >>> slots.counts.tolist()
    [1, 4, 1]
    >>> slots.of(1, 5, turn=0).tolist(), slots.of(-1, 3, turn=5).tolist()
    ([1, 2, 3, 4, 1], [5, 0, 1])
    """

    def __init__(self, visits: Sequence[float], partitions: int) -> None:
        self._partitions = partitions
        share = np.asarray(visits, np.float64)
        self.counts: Final = np.ones(len(share), np.int64)
        for _ in range(partitions - len(share)):
            self.counts[np.argmax(share / self.counts)] += 1
        self._first = np.concatenate([[0], np.cumsum(self.counts)[:-1]])

    def of(self, shard: int, rows: int, turn: int) -> NDArray[np.int32]:
        """Partitions for so many rows of a shard, in turns, beginning with that one."""
        turns = turn + np.arange(rows)
        found = turns if shard < 0 else self._first[shard] + turns % self.counts[shard]
        return (found % self._partitions).astype(np.int32)


class Router:
    """Turns batches of events into batches of rows for shards."""

    def __init__(
        self, matcher: Matcher, kind: Kind, partitions: int, *, once: bool, turn: int
    ) -> None:
        self._matcher = matcher
        self._kind = kind
        self._once = once  # whether one row is owed for each event
        self._slots = Slots([shard.visits for shard in matcher.base.shards], partitions)
        self._turn = turn

    def route(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows for some events."""
        for piece in self._kind.pieces(batch):
            yield from self._route(piece)

    def _route(self, piece: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        read, wrong, errors = self._kind.judge(piece)
        events = read.events
        if len(wrong):
            yield self._sent(MALFORMED, wrong, errors)
        if not len(events):
            return
        visits = [(shard, self._matcher.wanted_since(read) if shard == TAIL else rows)
                  for shard, rows in self._matcher.visits(read)]  # fmt: skip
        for shard, rows in self._homes(visits, len(events)) if self._once else visits:
            own = events if rows is None else events.take(pa.array(rows))
            if len(own):
                yield self._sent(shard, own, pa.nulls(len(own), pa.string()))

    def _homes(self, visits: Visits, size: int) -> Visits:
        """Each event once: at the first shard that it visits, or at `NOBODY` if it visits none."""
        home = np.full(size, NOBODY, np.int32)
        for shard, rows in reversed(visits):
            home[slice(None) if rows is None else rows] = shard
        return [(int(shard), np.flatnonzero(home == shard)) for shard in np.unique(home)]

    def _sent(self, shard: int, events: pa.RecordBatch, errors: pa.Array) -> pa.RecordBatch:
        slots = self._slots.of(shard, len(events), self._turn)
        self._turn += len(events)
        shards = np.full(len(events), shard, np.int32)
        return pa.RecordBatch.from_arrays(
            [*events.columns, errors, pa.array(shards), pa.array(slots)],
            names=[*events.schema.names, ERROR, SHARD, SLOT],
        )
