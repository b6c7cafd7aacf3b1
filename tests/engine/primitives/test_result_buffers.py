"""Memory for results is used again, and never beyond what was asked for."""

import gc

import numpy as np
import pytest

from tests.engine.sweep.test_sweep import WRITE, Swept, arguments
from tidegate.engine.partition import output_kernels
from tidegate.engine.primitives import result_buffers
from tidegate.engine.primitives.result_buffers import ResultColumn
from tidegate.engine.segments.live import ALL_ALIVE

LARGE = result_buffers._BYTES_WORTH_KEEPING // 4


@pytest.fixture(autouse=True)
def _own_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_buffers, "_pool", result_buffers._Pool())


def address(column: ResultColumn) -> int:
    return int(column.array.ctypes.data)


def test_a_column_has_the_size_asked_for_wherever_its_memory_comes_from() -> None:
    first = ResultColumn(4 * LARGE)
    place = address(first)
    del first
    gc.collect()
    again, new = ResultColumn(2 * LARGE), ResultColumn(2 * LARGE)
    assert address(again) == place
    assert len(again.array) == len(new.array) == 2 * LARGE


def test_results_keep_their_memory_as_long_as_they_are_used() -> None:
    column = ResultColumn(LARGE)
    column.array[:] = 7
    result = column.arrow(LARGE)
    del column
    gc.collect()
    other = ResultColumn(LARGE)
    other.array[:] = 8
    assert set(result.to_pylist()) == {7}


def test_what_has_waited_longest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_buffers, "_BYTES_KEPT", 40 * LARGE)
    sizes = [4 * LARGE, 5 * LARGE, 6 * LARGE]
    for size in sizes:
        result_buffers._pool.give(np.empty(size, np.int32))
    assert [len(free) for free in result_buffers._pool._free] == sizes[2:]


@pytest.mark.parametrize("most", [10, 3_000])
@pytest.mark.parametrize("begin", [0, 1, 15])
def test_rows_are_repeated_as_often_as_events_are_counted(most: int, begin: int) -> None:
    counts = np.random.default_rng(most).integers(0, most, 1_500)
    total = int(counts.sum())
    assert (total >= output_kernels._ROWS_PAST_THE_CACHE) == (most > 10)
    out = np.full(begin + total + 20, -7, np.int32)
    output_kernels.repeat(counts, out[begin : begin + total])
    assert np.array_equal(out[begin : begin + total], np.repeat(np.arange(1_500), counts))
    assert (np.delete(out, np.arange(begin, begin + total)) == -7).all()


@pytest.mark.parametrize("short", ["events", "codes"])
def test_a_sweep_writes_no_further_than_the_shorter_column(short: str) -> None:
    swept = Swept(3, "k = :k AND x >= :a", 65)
    for sweep, parts in zip(swept.sweeps, swept.parts, strict=True):
        for part in parts:
            few, many = np.full(200, -7, np.int32), np.full(50_000, -7, np.int32)
            rows, codes = (few[:100], many) if short == "events" else (many, few[:100])
            WRITE(*arguments(sweep, part, ALL_ALIVE), 0, rows, codes)
            assert (few[100:] == -7).all()


def test_memory_may_come_back_in_the_midst_of_taking_some() -> None:
    pool = result_buffers._pool
    with pool._lock:  # as somebody has it whom the collector of garbage interrupts
        pool.give(np.empty(LARGE, np.int32))
    assert not pool._free
    assert len(pool.take(LARGE)) == LARGE
    assert not pool._free
    assert not pool._returned
