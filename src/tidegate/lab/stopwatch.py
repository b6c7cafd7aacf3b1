"""How long did it take, on one core?

A timing is CPU seconds of this process, because the machine may be busy with other things, with the
garbage collector kept out of it.
"""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """CPU seconds of this process spent inside `with`."""

    seconds = 0.0


@contextmanager
def timed() -> Iterator[Stopwatch]:
    """Measure the CPU time of the block, the garbage collector kept out of it."""
    watch = Stopwatch()
    gc.collect()
    gc.disable()
    start = time.process_time()
    try:
        yield watch
    finally:
        watch.seconds = time.process_time() - start
        gc.enable()
