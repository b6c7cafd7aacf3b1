"""How are kernels compiled?

A **kernel** is a function over plain arrays that Numba compiles to machine code, keeps on disk for
the next process, and runs without the interpreter's lock.

Numba counts references to arrays, also when one kernel calls another, and cannot always see that
nothing comes of it: in an inner loop, counting took ten times as long as the work. A kernel here
therefore counts none. It neither makes arrays nor returns any; those it is given stay alive because
its caller holds them. What has to make arrays is `allocating`, and leaves the loops to kernels.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

_njit: Final[Any] = numba.njit  # whose types do not know `_nrt`
_OPTIONS: Final = {"cache": True, "nogil": True, "error_model": "numpy"}


def kernel(function: Function) -> Function:
    """Compile a function that makes no arrays."""
    compiled: Function = _njit(**_OPTIONS, _nrt=False)(function)
    return compiled


def inlined(function: Function) -> Function:
    """The same, and put it into its callers, where arguments may turn out constant."""
    compiled: Function = _njit(**_OPTIONS, _nrt=False, forceinline=True)(function)
    return compiled


def allocating(function: Function) -> Function:
    """Compile a function that makes arrays."""
    compiled: Function = _njit(**_OPTIONS, _nrt=True)(function)
    return compiled
