"""What is in an index now?

A few immutable **segments** (`segments.segment`), for each a bit map of what is still **alive** in
it, and the subscriptions added since, **pending**. So every change is small: adding appends,
removing clears a bit, updating does both.

All of it is looked at and changed under one lock, which is held for moments only. A reader works on
one **version** from its beginning to its end: segments never change, and a bit map that a reader
has seen is copied before it is changed.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tidegate.engine.primitives.id_table import NOWHERE
from tidegate.engine.segments.live import Live
from tidegate.engine.segments.parameter_updates import Place
from tidegate.engine.segments.segment import Alive, Segment
from tidegate.engine.subscriptions.subscription import Id, Subscription, read_id
from tidegate.errors import SubscriptionError

Version: TypeAlias = tuple[tuple[Segment, Alive], ...]
Found: TypeAlias = Subscription | tuple[Live, int]
"""A subscription that is pending, or a segment and the code that it has there."""


class Content:
    """The subscriptions of an index.

    But for `has`, `get` and `know_ids`, call it with the lock held.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.lives: list[Live] = []
        self.pending: dict[Id, Subscription] = {}
        self.size = 0
        self.kind: type | None = None  # of the ids
        self.changes = 0  # so far

    def has(self, id: object) -> bool:
        """Whether there is a subscription of that id."""
        try:
            plain = read_id(id)
        except SubscriptionError:
            return False
        self.know_ids()
        with self.lock:
            return self.find(plain) is not None

    def get(self, id: Id) -> Subscription:
        """The subscription of that id; an unknown one is a `SubscriptionError`."""
        plain = read_id(id)
        self.know_ids()
        with self.lock:
            return self.subscription(plain, self.found(plain))

    def versions(self) -> Version:
        """What a reader takes along of the segments."""
        return tuple(live.version() for live in self.lives)

    def know_ids(self) -> None:
        """Make the dictionaries of ids that are not made yet, while readers go on."""
        for live in self.lives:
            _ = live.segment.codes

    def find(self, id: Id) -> Found | None:
        """Where a subscription is, if it is."""
        pending = self.pending.get(id)
        if pending is not None:
            return pending
        for live in reversed(self.lives):
            code = live.segment.codes.get(id)
            if code != NOWHERE and live.has(code):
                return live, code
        return None

    def found(self, id: Id) -> Found:
        """Where a subscription is; an unknown one is a `SubscriptionError`."""
        found = self.find(id)
        if found is None:
            raise SubscriptionError(f"there is no subscription {id!r}")
        return found

    def subscription(self, id: Id, found: Found) -> Subscription:
        """The subscription that was found there."""
        if isinstance(found, Subscription):
            return found
        live, code = found
        return live.segment.originals.subscription(code, id)

    def locate(self, ids: pa.Array) -> list[Place]:
        """Where many subscriptions are: a segment, or None for the pending ones; which of the ids
        are there; and their codes. An unknown id is a `SubscriptionError`.
        """
        places: list[Place] = []
        rest = np.arange(len(ids))
        if self.pending:
            here = np.array([id in self.pending for id in ids.to_pylist()], np.bool_)
            places.append((None, rest[here], rest[:0]))
            rest = rest[~here]
        for live in reversed(self.lives):
            codes = live.segment.codes.find(ids if len(rest) == len(ids) else ids.take(rest))
            here = (codes != NOWHERE) & live.have(codes)
            places.append((live, rest[here], codes[here]))
            rest = rest[~here]
        if len(rest):
            raise SubscriptionError(f"there is no subscription {ids[int(rest[0])].as_py()!r}")
        return [place for place in places if len(place[1])]

    def require_new(self, id: Id) -> None:
        """Refuse an id that is there, or of another kind than those that are."""
        if self.find(id) is not None:
            raise SubscriptionError(f"there is a subscription {id!r} already")
        self._require_kind(id)

    def require_all_new(self, ids: pa.Array) -> None:
        """The same of many ids, which are all of one kind."""
        for live in self.lives:
            codes = live.segment.codes.find(ids)
            here = np.flatnonzero(codes != NOWHERE)
            known = here[live.have(codes[here])]
            if len(known):
                first = ids[int(known[0])].as_py()
                raise SubscriptionError(f"there is a subscription {first!r} already")
        if self.pending:
            again = next((id for id in ids.to_pylist() if id in self.pending), None)
            if again is not None:
                raise SubscriptionError(f"there is a subscription {again!r} already")
        self._require_kind(ids[0].as_py())

    def _require_kind(self, id: Id) -> None:
        if self.kind is None or not self.size:
            self.kind = type(id)
        elif type(id) is not self.kind:
            raise SubscriptionError("the ids of an index are all strings or all integers")

    def take_out(self, id: Id, found: Found) -> None:
        """Take a subscription out of where it was found."""
        if isinstance(found, Subscription):
            del self.pending[id]
            return
        live, code = found
        live.kill_one(code)
        if not live.size:
            self.lives.remove(live)

    def drop(self, ids: pa.Array, places: Sequence[Place]) -> None:
        """Take many out that are, or were a moment ago, in these places."""
        if not all(live in self.lives for live, _, _ in places):  # merged since, or were pending
            places = self.locate(ids)
        for live, rows, codes in places:
            if live is None:
                for row in rows.tolist():
                    del self.pending[ids[row].as_py()]
            else:
                live.kill(codes)
        if any(not live.size for live in self.lives):
            self.lives = [live for live in self.lives if live.size]

    def publish(self, segment: Segment, taken: Mapping[Id, Subscription]) -> None:
        """Put a segment in the place of the pending subscriptions it was made of."""
        live = Live(segment)
        stale = []
        for id, subscription in taken.items():
            if self.pending.get(id) is subscription:
                del self.pending[id]
            else:
                stale.append(segment.codes.get(id))
        if len(stale) < len(taken):
            self.lives.append(live)
            if stale:
                live.kill(np.array(stale))

    def replace(self, old: Sequence[Live], new: Live) -> None:
        """Put a segment that was made of others in their place."""
        rest = [live for live in self.lives if live not in old]
        self.lives = [new, *rest] if new.size else rest
