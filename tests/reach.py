"""How much memory hangs on an object? Everything that can be reached from it, counted once.

What Python itself and the package are made of (modules, classes, functions) does not count, nor
what other objects own and only lend.
"""

import gc
import sys
import types
from collections.abc import Callable
from enum import Enum
from typing import Any, Final

_SHARED: Final = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.CodeType,
    Enum,
)


def reached(*roots: Any, without: tuple[Any, ...] = ()) -> int:
    """The bytes of all objects that can be reached."""
    seen = {id(each) for each in without}
    todo = list(roots)
    total = 0
    while todo:
        each = todo.pop()
        if id(each) in seen or isinstance(each, _SHARED):
            continue
        seen.add(id(each))
        total += sys.getsizeof(each)
        todo += gc.get_referents(each)
    return total


def assert_flat(rounds: int, step: Callable[[int], object], measure: Callable[[], int]) -> None:
    """Nothing grows: after as many rounds again, there is no more than there was at most before.

    Tidying up is done now and then, so it is the highest of several rounds that counts; a tenth is
    for numbers that have more digits than before.
    """
    sizes = []
    for number in range(rounds):
        step(number)
        sizes.append(measure())
    early, late = sizes[rounds // 5 : rounds // 2], sizes[rounds // 2 :]
    assert max(late) <= 1.1 * max(early), sizes
