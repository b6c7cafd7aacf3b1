"""How does work go on beside its caller, without outliving the interpreter?

When the interpreter ends, Python ends the threads that are left wherever they are, and in the midst
of compiled code that aborts the process. So work aside is told to stop and waited for; between its
steps, it looks whether it was.
"""

import atexit
import threading
from collections.abc import Callable

_ending = threading.Event()
_at_work: dict[threading.Thread, Callable[[], None]] = {}  # and how to wake each


class _Stopped(BaseException):
    """Work is left as it is, because the interpreter ends."""


def start(work: Callable[[], None], wake: Callable[[], None], name: str) -> threading.Thread:
    """Have a thread do some work, which `wake` wakes if it waits for something."""
    thread = threading.Thread(target=_do, args=(work,), name=name, daemon=True)
    _at_work[thread] = wake
    thread.start()
    return thread


def step() -> None:
    """Between two steps of some work: here, it may be left, if it is done aside."""
    if _ending.is_set() and threading.current_thread() in _at_work:
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
