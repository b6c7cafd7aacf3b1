"""Why is no garbage collected while a million subscriptions are read?

Each of them is a few objects that stay, so the interpreter's search for cycles goes through more
and more of them and finds nothing: a third of the time of `add_many` went there. While many
subscriptions are read the search is put off, for the whole process; it goes on afterwards. What is
freed because nobody refers to it is freed at once, as always.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SUBSCRIPTIONS_WORTH_A_PAUSE: Final = 10_000  # subscriptions from which on the search is put off
_RARELY: Final = 100_000, 20, 10  # objects, and searches of younger ones, until the next search
_lock: Final = threading.Lock()
_putting_off: set[object] = set()
_was_enabled = False


@contextmanager
def put_off(count: int) -> Iterator[None]:
    """Put the search for cycles off while so many subscriptions are read, if they are many.

    >>> with put_off(1_000_000):
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    if count < _SUBSCRIPTIONS_WORTH_A_PAUSE:
        yield
        return
    global _was_enabled
    mine = object()
    with _lock:
        if not _putting_off:
            _was_enabled = gc.isenabled()
            gc.disable()
        _putting_off.add(mine)
    try:
        yield
    finally:
        with _lock:
            _putting_off.discard(mine)
            if not _putting_off and _was_enabled:
                gc.enable()


@contextmanager
def rarely() -> Iterator[None]:
    """Search for cycles a hundred times more rarely: where it is not known what will be many.

    A broker is told subscriptions by a hundred clients, of each a few.

    >>> before = gc.get_threshold()
    >>> with rarely():
    ...     gc.get_threshold()[0]
    100000
    >>> gc.get_threshold() == before
    True
    """
    before = gc.get_threshold()
    gc.set_threshold(*_RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*before)
