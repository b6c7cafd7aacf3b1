"""By which names does compiled code find its parts?

Numba numbers the functions of a process, from 1 on, and names their machine code by these numbers.
Code that different processes have compiled and kept on disk can so have the same name for different
parts, a sort for one and a ranking for the other; and a process that loads both takes one of them
for the other, and crashes. Here, numbers start anywhere, and no two processes give the same.
"""

import itertools
import secrets

from numba.core.bytecode import FunctionIdentity

_BITS = 60


def number_anywhere() -> None:
    """Have functions that are compiled from now on numbered like nowhere else."""
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(_BITS))
