"""How is something tried that changes what is there, and nothing has changed after it?

In a copy of this process: a fork sees all that is there as it was, and what it changes is its own.
Its result comes back through a pipe. So what took long to build can be tried on many times, without
being able to copy itself. Memory is shared until somebody writes to it.

Times that are measured in a fork have the copying of pages in them: only what is counted should be
tried so. Where there are no forks (Windows), `FORKS` is false, and others have to do without.
"""

import os
import pickle
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Final, TypeVar

from tidegate.errors import LabError

T = TypeVar("T")

FORKS: Final = hasattr(os, "fork")


def aside(function: Callable[[], T]) -> T:
    """What a function returns; whatever it changes stays as it was.

    >>> seen = [1]
    >>> aside(lambda: seen.append(2) or seen), seen
    ([1, 2], [1])
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reads, writes = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns where there are threads; the child needs none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        _answer(function, writes)
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if not told:
        raise LabError(f"what was tried ended without an answer (status {status})")
    found, answer = pickle.loads(told)
    if not found:
        raise LabError(f"what was tried aside failed:\n{answer}")
    result: T = answer
    return result


def _answer(function: Callable[[], object], writes: int) -> None:
    """Write down what comes of a function, and end without any of this process's own endings."""
    try:
        try:
            told = pickle.dumps((True, function()))
        except BaseException:
            told = pickle.dumps((False, traceback.format_exc()))
        with os.fdopen(writes, "wb") as pipe:
            pipe.write(told)
    finally:
        os._exit(0)
