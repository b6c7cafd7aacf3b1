"""How does compiled code call expat?

Python comes with expat, and hands a table of its functions to other extension modules: the capsule
`pyexpat.expat_CAPI`. Here the addresses are taken out of it, once, and called from kernels without
the interpreter. Every argument is passed as a 64-bit integer, which is how pointers and small
integers are passed on all machines that Python has wheels for; what comes back is an integer too,
of which a function that returns an `int` fills the lower half only.

The table begins with a magic text, its own size and the version of expat; newer tables only have
more at their end. A table that begins otherwise is refused, for what would be called is unknown.
"""

import ctypes
import pyexpat
import secrets
from collections.abc import Callable
from typing import Any, Final

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from tidegate.errors import TidegateError

_MAGIC: Final = b"pyexpat.expat_CAPI 1.1"
_SIZE: Final = 176  # bytes of the table, at least: it has a hash salt from there on
_FIRST: Final = 24  # the byte at which the addresses begin
_ORDER: Final = (
    "ErrorString",
    "GetErrorCode",
    "GetErrorColumnNumber",
    "GetErrorLineNumber",
    "Parse",
    "ParserCreate_MM",
    "ParserFree",
    "SetCharacterDataHandler",
    "SetCommentHandler",
    "SetDefaultHandlerExpand",
    "SetElementHandler",
    "SetNamespaceDeclHandler",
    "SetProcessingInstructionHandler",
    "SetUnknownEncodingHandler",
    "SetUserData",
    "SetStartDoctypeDeclHandler",
    "SetEncoding",
    "DefaultUnknownEncodingHandler",
    "SetHashSalt",
)

_UTF_8: Final = ctypes.create_string_buffer(b"UTF-8")
UTF_8: Final = ctypes.addressof(_UTF_8)
"""The address of an encoding's name."""

SEPARATOR: Final = b"\x01"
"""What is between the address of a namespace and a name in it: no character of any document."""
_SEPARATOR: Final = ctypes.create_string_buffer(SEPARATOR)
SEPARATED: Final = ctypes.addressof(_SEPARATOR)
"""The address of the separator, by which a parser is asked to care about namespaces."""

SALT: Final = secrets.randbits(63) | 1
"""A number that nobody else knows, for hashing."""


def functions() -> dict[str, int]:
    """The addresses of expat's functions by name.

    >>> functions()["Parse"] != 0
    True
    """
    capsule: Any = pyexpat.expat_CAPI
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(capsule, b"pyexpat.expat_CAPI")
    magic = ctypes.string_at(ctypes.c_void_p.from_address(table).value or 0)
    size = ctypes.c_int.from_address(table + 8).value
    if magic != _MAGIC or size < _SIZE:
        raise TidegateError(f"this Python has an expat of another kind: {magic!r}, {size} bytes")
    return {
        name: ctypes.c_void_p.from_address(table + _FIRST + 8 * place).value or 0
        for place, name in enumerate(_ORDER)
    }


def error_text(code: int) -> str:
    """What expat says about an error.

    >>> error_text(3)
    'no element found'
    """
    say = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_int)(functions()["ErrorString"])
    found: bytes | None = say(code)
    return "unknown error" if found is None else found.decode()


_I64 = ir.IntType(64)


def _call(count: int) -> Any:
    """A function of an address and so many arguments, that calls what is there."""

    def typed(arguments: tuple[Any, ...]) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            kind = ir.FunctionType(_I64, [_I64] * count)
            function = builder.inttoptr(given[0], ir.PointerType(kind))
            return builder.call(function, given[1:])

        return types.int64(*[types.int64] * (count + 1)), generate

    if count == 1:

        @intrinsic
        def one(context: Any, address: Any, a: Any) -> Any:
            return typed((a,))

        return one
    if count == 2:

        @intrinsic
        def two(context: Any, address: Any, a: Any, b: Any) -> Any:
            return typed((a, b))

        return two
    if count == 3:

        @intrinsic
        def three(context: Any, address: Any, a: Any, b: Any, c: Any) -> Any:
            return typed((a, b, c))

        return three

    @intrinsic
    def four(context: Any, address: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        return typed((a, b, c, d))

    return four


call_1: Final[Callable[[int, int], int]] = _call(1)
call_2: Final[Callable[[int, int, int], int]] = _call(2)
call_3: Final[Callable[[int, int, int, int], int]] = _call(3)
call_4: Final[Callable[[int, int, int, int, int], int]] = _call(4)
