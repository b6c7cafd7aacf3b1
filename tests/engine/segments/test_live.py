"""What has died in a segment since a reader, or a merge, took its bit map along."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.engine.changes import merger
from tidegate.engine.changes.merger import SegmentMerger
from tidegate.engine.index import Index
from tidegate.engine.segments.live import Live, left, living_codes
from tidegate.engine.segments.segment import Segment


def segment(size: int) -> Segment:
    index = Index()
    index.add_many(pa.table({"id": range(size)}), filter="x > 1")
    index.flush()
    return index._content.lives[0].segment


SIZES = (1, 63, 64, 65, 200)
SEGMENTS = {size: segment(size) for size in SIZES}


@given(st.data())
def test_what_died_since_is_what_was_alive_and_is_not(data: st.DataObject) -> None:
    size = data.draw(st.sampled_from(SIZES))
    live = Live(SEGMENTS[size])
    codes = st.sets(st.integers(0, size - 1))
    first = data.draw(codes)
    later = data.draw(codes) - first
    if first:
        live.kill(np.array(sorted(first)))
    kept, alive = live.version()
    for code in sorted(later):
        live.kill_one(code)
    assert live.died_since(alive).tolist() == sorted(later)
    assert set(living_codes(kept, alive).tolist()) == set(range(size)) - first


def test_subscriptions_are_updated_where_a_merge_has_put_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are found first, and taken out when the new ones are compiled: much may happen."""
    monkeypatch.setattr(merger, "_AT_ONCE", 4)
    index = Index()
    for first in (0, 10):
        ids = range(first, first + 10)
        index.add_many(pa.table({"id": ids, "low": ids}), filter="x > :low")
    index._merger.wait()
    compiled = SegmentMerger.compiled

    def merge_meanwhile(self: SegmentMerger, *given: Any) -> Segment:
        monkeypatch.setattr(SegmentMerger, "compiled", compiled)
        self.merge(list(self._content.lives))
        return compiled(self, *given)

    monkeypatch.setattr(SegmentMerger, "compiled", merge_meanwhile)
    index.update_many(pa.table({"id": range(5, 15), "low": range(105, 115)}))
    assert len(index) == 20
    assert sorted(index.match({"x": 50})) == [*range(5), *range(15, 20)]
    assert sorted(index.match({"x": 108})) == [0, 1, 2, 3, 4, 5, 6, 7, *range(15, 20)]


def added(index: Index, first: int, count: int) -> None:
    ids = range(first, first + count)
    index.add_many(pa.table({"id": ids, "low": ids}), filter="x > :low")


def test_what_is_left_is_merged_when_changes_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merger, "_AT_ONCE", 4)
    monkeypatch.setattr(merger, "_PAUSE", 0.05)
    index = Index()
    added(index, 0, 1000)
    added(index, 1000, 10)
    assert len(index._content.lives) == 2  # too few to be merged at once
    index._merger.wait()
    assert [live.size for live in index._content.lives] == [1010]
    index.remove_many(range(5))
    index._merger.wait()
    assert [live.dead for live in index._content.lives] == [5]  # nothing new: that can wait
    assert sorted(index.match({"x": 8})) == [5, 6, 7]


def test_nobody_waits_for_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is due is merged, and a flush is made, though a thread waits for changes to pause."""
    monkeypatch.setattr(merger, "_AT_ONCE", 4)
    monkeypatch.setattr(merger, "_PAUSE", 1e6)
    index = Index()
    added(index, 0, 1000)
    for first in (1000, 1010, 1020, 1030, 1040):  # the last of three is due
        added(index, first, 10)
    waiting = index._merger._thread
    assert waiting is not None
    while len(index._content.lives) > 3:
        waiting.join(0.01)
    index.flush()
    assert not waiting.is_alive()
    assert [live.size for live in index._content.lives] == [1050]
    assert len(index.match({"x": 1e9})) == 1050


def test_all_or_the_small_ones_are_left() -> None:
    large, *small = (Live(SEGMENTS[size]) for size in (200, 64, 63, 1))
    assert left([]) == left([large]) == []
    assert left([large, small[0]]) == [large, small[0]]
    huge = Live(segment(20_000))
    assert left([huge, small[2]]) == []
    assert left([small[2], huge, Live(SEGMENTS[1])])[0] is small[2]
    assert huge not in left([small[2], huge, Live(SEGMENTS[1])])
