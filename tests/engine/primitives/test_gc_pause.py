"""The search for cycles is put off while many subscriptions are read, and goes on afterwards."""

import gc
import threading
from typing import Any

import pyarrow as pa
import pytest

import tidegate as tg
from tidegate.engine.changes import writer
from tidegate.engine.primitives import gc_pause
from tidegate.engine.primitives.gc_pause import put_off
from tidegate.engine.subscriptions.table_reader import read_table


def test_it_goes_on_after_the_last_of_several_and_after_an_error() -> None:
    assert gc.isenabled()
    with put_off(10**6):
        with put_off(10**6):
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), put_off(10**6):
        _ = 1 // 0
    assert gc.isenabled()


def test_few_do_not_put_it_off_and_what_was_off_stays_off() -> None:
    with put_off(10):
        assert gc.isenabled()
    gc.disable()
    try:
        with put_off(10**6):
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_two_threads_put_it_off_together() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with put_off(10**6):
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with put_off(10**6):
        thread.start()
        inside.wait()
    assert not gc.isenabled(), "the other still reads"
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_reading_a_table_puts_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    monkeypatch.setattr(gc_pause, "_SUBSCRIPTIONS_WORTH_A_PAUSE", 3)

    def read(*given: Any) -> Any:
        seen.append(gc.isenabled())
        return read_table(*given)

    monkeypatch.setattr(writer, "read_table", read)
    index = tg.Index()
    index.add_many(pa.table({"id": [1, 2, 3], "filter": ["x = 1", "x = 2", "y < 3"]}))
    assert index.match({"x": 1, "y": 5}) == [1]
    with pytest.raises(tg.FilterSyntaxError):
        index.add_many(pa.table({"id": [4, 5, 6], "filter": ["x = 1", "x =", "y < 3"]}))
    assert seen == [False, False]
    assert gc.isenabled()
