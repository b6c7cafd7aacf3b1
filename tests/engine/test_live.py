"""What has died in a segment since a reader, or a merge, took its bit map along."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.engine import index as index_module
from tidegate.engine.index import Index
from tidegate.engine.live import Live, living_codes
from tidegate.engine.segment import Segment


def segment(size: int) -> Segment:
    index = Index()
    index.add_many(pa.table({"id": range(size)}), filter="x > 1")
    index.flush()
    return index._lives[0].segment


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
    monkeypatch.setattr(index_module, "_PENDING", 4)
    index = Index()
    for first in (0, 10):
        ids = range(first, first + 10)
        index.add_many(pa.table({"id": ids, "low": ids}), filter="x > :low")
    index._wait()
    compiled = Index._compiled

    def merge_meanwhile(self: Index, *given: object) -> Segment:
        monkeypatch.setattr(Index, "_compiled", compiled)
        self._merge(list(self._lives))
        return compiled(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Index, "_compiled", merge_meanwhile)
    index.update_many(pa.table({"id": range(5, 15), "low": range(105, 115)}))
    assert len(index) == 20
    assert sorted(index.match({"x": 50})) == [*range(5), *range(15, 20)]
    assert sorted(index.match({"x": 108})) == [0, 1, 2, 3, 4, 5, 6, 7, *range(15, 20)]
