"""How do segments become few again, while readers and writers go on?

Pending subscriptions are compiled into a segment of their own as soon as there are enough of them,
or when the next batch is matched. Segments of like size are merged, in a thread of its own, from
their arrays and not from the filters, and what was decided about their layout is decided anew (the
logarithmic method of Bentley and Saxe, 1980; Lucene keeps its index so). There are never more than
`live.MOST` segments: if the thread does not keep up, whoever would add one more merges some small
ones first. The thread ends when nothing is left to be merged; it knows the content, and not the
index that people hold in their hands.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

from tidegate.engine.changes.content import Content, Version
from tidegate.engine.compile.compiler import Compiler
from tidegate.engine.primitives import background
from tidegate.engine.segments.live import (
    ALL_ALIVE,
    MOST,
    TOGETHER,
    Live,
    crowd,
    due,
    left,
    living_codes,
)
from tidegate.engine.segments.segment import Segment
from tidegate.engine.subscriptions.subscription import Block, Subscription

_AT_ONCE: Final = 2_048  # come together and are compiled so; segments of so few are alike
_PENDING: Final = 8_192  # subscriptions that came one by one and are compiled together
_CROWDED: Final = MOST // 2  # segments from which on one more, of a reader, has some merged
_CHECKED: Final = 8_192  # single changes after which it is looked whether something is due
_GONE: Final = 65_536  # removed subscriptions, or as many as there are, writers do not wait for
_PAUSE: Final = 2.0  # seconds without a change, at least, after which what is left is merged


class SegmentMerger:
    """Makes the segments of an index, and merges them."""

    def __init__(self, content: Content, compiler: Compiler) -> None:
        self._content = content
        self._lock = content.lock
        self._compiler = compiler
        self._adding = threading.RLock()  # held by whoever adds a segment; taken before the lock
        self._taken: list[Live] = []  # are being merged
        self._merged = threading.Condition(content.lock)  # some are not any more
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()  # there is something to be merged before changes pause
        self._hurry = False  # what is left is not to be merged
        self.apart: Live | None = None
        """A segment that is not merged with the others, but by `flush`."""

    # -- segments that are new

    def compiled(self, blocks: list[Block], singles: list[Subscription]) -> Segment:
        """A segment of subscriptions, which is not added."""
        with self._lock:
            ranged = {name for live in self._content.lives for name in live.segment.ranged}
        with background.first():
            return self._compiler.compile(blocks, singles, ranged)

    def version(self, *, waiting: bool = False) -> Version:
        """What a reader works on; pending subscriptions are compiled first.

        They stay pending if somebody else adds a segment just now, unless that is waited for.
        """
        content = self._content
        with self._lock:
            version = content.versions()
            if not content.pending:
                return version
            taken = dict(content.pending)
        segment = self.compiled([], list(taken.values()))
        if self._adding.acquire(blocking=waiting):
            try:
                self._make_room()
                with self._lock:
                    content.publish(segment, taken)
            finally:
                self._adding.release()
            self._merge_if_due(now=len(content.lives) > _CROWDED)
        return (*version, (segment, ALL_ALIVE))

    def compiles_at_once(self, count: int) -> bool:
        """Whether so many subscriptions that come together are worth a segment."""
        return count >= _AT_ONCE

    @contextmanager
    def adding(self) -> Iterator[None]:
        """What is held while a segment is added, for which there is room."""
        with self._adding:
            self._make_room()
            yield

    def _make_room(self) -> None:
        """See to it that there may be one segment more, which whoever calls is about to add."""
        while True:
            with self._lock:
                if len(self._content.lives) < MOST:
                    return
                chosen = crowd(self._free(), _AT_ONCE)
                if not chosen:  # others are at it, with all of them
                    self._merged.wait(_PAUSE)
            self.merge(chosen, know_ids=True)

    # -- when to merge

    def keep_up(self, *, looking: bool = False) -> None:
        """After a change: compile what is pending if it is much, and have merged what is due.

        A writer that has removed more than there is waits until that is gone.
        """
        content = self._content
        if len(content.pending) >= _PENDING:
            self.version(waiting=True)
        elif not looking and content.changes % _CHECKED:
            return
        self._merge_if_due()
        while True:
            with self._lock:
                gone = [live for live in content.lives if live.dead and live is not self.apart]
                if sum(live.dead for live in gone) <= max(content.size, _GONE):
                    return
                if self._taken and not self._merged.wait(_PAUSE):
                    return  # until the next change
                free = [live for live in gone if live not in self._taken]
                gone = sorted(free, key=lambda live: -live.dead)[:TOGETHER]
            self.merge(gone, know_ids=True)

    def flush(self) -> None:
        """Compile what is pending and merge everything into one segment, now."""
        self.version(waiting=True)
        self._hurry = True
        self._wake.set()
        try:
            self.wait()
            while (lives := self._unmerged()) is not None:
                self.merge(lives)
        finally:
            self._hurry = False

    def wait(self) -> None:
        """Wait until the thread has nothing more to merge."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _unmerged(self) -> list[Live] | None:
        """Some segments to be merged if there is to be one in the end; None if there is."""
        with self._lock:
            while self._taken and self._merged.wait(_PAUSE):
                pass
            lives = self._content.lives
            if len(lives) < 2 and not any(live.dead for live in lives):
                return None
            return sorted(self._free(), key=lambda live: live.size)[:TOGETHER]

    def _merge_if_due(self, *, now: bool = True) -> None:
        """Have merged what is due, now or when changes pause, and what is left when they do."""
        with self._lock:
            is_due = bool(self._due())
            if is_due and now:
                self._wake.set()
            elif not is_due and not self._left():
                return
            if self._thread is None:
                self._thread = background.start(self._merge_aside, self._wake.set, "tidegate-merge")

    def _due(self) -> list[Live]:
        return due(self._mergeable(), _AT_ONCE)[:TOGETHER]

    def _left(self) -> list[Live]:
        return left(self._mergeable())[:TOGETHER]

    def _free(self) -> list[Live]:
        """The segments that nobody merges just now."""
        return [live for live in self._content.lives if live not in self._taken]

    def _mergeable(self) -> list[Live]:
        """Those of them that are not to stay as they are."""
        return [live for live in self._free() if live is not self.apart]

    # -- merging

    def _merge_aside(self) -> None:
        """Merge what is due, and what is left when changes pause for as long as that took."""
        took = 0.0
        try:
            while True:
                with self._lock:
                    changes = self._content.changes
                    if not self._due() and (self._hurry or not self._left()):
                        self._thread = None
                        return
                woken = self._hurry or self._wake.wait(max(_PAUSE, took))
                with self._lock:
                    paused = not woken and self._content.changes == changes
                    chosen = self._due() if woken or paused else []
                    if not chosen:
                        self._wake.clear()
                        chosen = self._left() if paused else []
                background.step()
                if chosen:
                    start = time.perf_counter()
                    self.merge(chosen, know_ids=True)
                    took = time.perf_counter() - start
        except BaseException:
            with self._lock:
                self._thread = None
            raise

    def merge(self, lives: list[Live], *, know_ids: bool = False) -> None:
        """Make one segment of several, and put it in their place.

        If changes go on, the next one needs its ids: they are entered here, beside them.
        """
        with self._lock:
            lives = [live for live in self._free() if live in lives]
            lives.sort(key=lambda live: -live.size)  # what the largest has stays as it is
            self._taken += lives
            versions = tuple(live.version() for live in lives)
        try:
            if lives:
                self._replace(lives, versions, know_ids)
        finally:
            with self._lock:
                self._taken = [live for live in self._taken if live not in lives]
                self._merged.notify_all()

    def _replace(self, lives: list[Live], versions: Version, know_ids: bool) -> None:
        kept = [living_codes(segment, alive) for segment, alive in versions]
        merged, place = self._compiler.merge([segment for segment, _ in versions], kept)
        if know_ids:
            _ = merged.codes
        with self._lock:
            new = Live(merged)
            before = 0
            for live, (_, alive), codes in zip(lives, versions, kept, strict=True):
                died = live.died_since(alive)
                if len(died):
                    new.kill(place[before + np.searchsorted(codes, died)])
                before += len(codes)
            self._content.replace(lives, new)
            if self.apart in lives:
                self.apart = None

    def whole(self) -> Segment | None:
        """All that is in the index as one segment, which is not put into it; None if it is empty.

        Other than by `flush`, which comes first, it is so even if changes go on.
        """
        content = self._content
        with self._lock:
            version, pending = content.versions(), list(content.pending.values())
        if pending:
            version = (*version, (self.compiled([], pending), ALL_ALIVE))
        kept = [living_codes(segment, alive) for segment, alive in version]
        if len(version) == 1 and len(kept[0]) == len(version[0][0]):
            return version[0][0]
        if not any(len(codes) for codes in kept):
            return None
        return self._compiler.merge([segment for segment, _ in version], kept)[0]
