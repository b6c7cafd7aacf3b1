"""What is at an address?

Expat hands over addresses, not arrays. These functions read and write there as C does, with the
place counted in items. Nothing is checked: who calls them knows how much room there is.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

Load: TypeAlias = Callable[[int, int], int]
Store: TypeAlias = Callable[[int, int, int], None]


def _load(bits: int, kind: Any) -> Any:
    item = ir.IntType(bits)

    @intrinsic
    def load(context: Any, address: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            pointer = builder.inttoptr(given[0], ir.PointerType(item))
            loaded = builder.load(builder.gep(pointer, [given[1]]))
            return loaded if bits == 64 else _widened(builder, loaded)

        def _widened(builder: Any, loaded: Any) -> Any:
            wide = ir.IntType(64)
            return builder.zext(loaded, wide) if kind == "u" else builder.sext(loaded, wide)

        return types.int64(types.int64, types.int64), generate

    return load


def _store(bits: int) -> Any:
    item = ir.IntType(bits)

    @intrinsic
    def store(context: Any, address: Any, place: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            pointer = builder.inttoptr(given[0], ir.PointerType(item))
            value = given[2] if bits == 64 else builder.trunc(given[2], item)
            builder.store(value, builder.gep(pointer, [given[1]]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return store


get_byte: Final[Load] = _load(8, "u")
get_32: Final[Load] = _load(32, "i")
get_64: Final[Load] = _load(64, "i")
put_byte: Final[Store] = _store(8)
put_32: Final[Store] = _store(32)
put_64: Final[Store] = _store(64)
