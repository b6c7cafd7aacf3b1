"""How does work go on beside its caller, without outliving the interpreter?

When the interpreter ends, Python ends the threads that are left wherever they are, and in the midst
of compiled code that aborts the process. So work aside is told to stop and waited for; between its
steps, it looks whether it was.

Nobody waits for work aside, so it also lets others go `first` between its steps: a processor less,
and an interpreter that is asked for by one thread more, would make them half as fast.
"""

import atexit
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_PATIENCE: Final = 0.5  # seconds, at most, that a step is put off

_ending = threading.Event()
_at_work: dict[threading.Thread, Callable[[], None]] = {}  # and how to wake each
_lock = threading.Lock()
_first = 0  # how many are to go first
_free = threading.Event()  # none is
_free.set()


class _Stopped(BaseException):
    """Work is left as it is, because the interpreter ends."""


def start(work: Callable[[], None], wake: Callable[[], None], name: str) -> threading.Thread:
    """Have a thread do some work, which `wake` wakes if it waits for something."""
    thread = threading.Thread(target=_do, args=(work,), name=name, daemon=True)
    _at_work[thread] = wake
    thread.start()
    return thread


@contextmanager
def first() -> Iterator[None]:
    """While this lasts, work aside waits at its next step."""
    global _first
    with _lock:
        _first += 1
        _free.clear()
    try:
        yield
    finally:
        with _lock:
            _first -= 1
            if not _first:
                _free.set()


def step() -> None:
    """Between two steps of some work: here, it may wait or be left, if it is done aside."""
    if threading.current_thread() in _at_work:
        if not _ending.is_set():
            _free.wait(_PATIENCE)
        if _ending.is_set():
            raise _Stopped


def _do(work: Callable[[], None]) -> None:
    try:
        step()
        work()
    except _Stopped:
        pass
    finally:
        del _at_work[threading.current_thread()]


@atexit.register
def _end() -> None:
    _ending.set()
    for thread, wake in list(_at_work.items()):
        wake()
        thread.join()
