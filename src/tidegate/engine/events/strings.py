"""The distinct strings of a column: as Arrow has them, and as Python has them.

Many are looked up without ever becoming Python's; so each form is made when first asked for.
"""

from collections.abc import Iterator, Sequence
from typing import Final, overload

import pyarrow as pa

from tidegate.errors import TidegateError


class Strings(Sequence[str]):
    """Strings, each of them once; without nulls."""

    def __init__(self, given: "pa.Array | Sequence[str]" = ()) -> None:
        self._array: pa.Array | None = None
        self._plain: Sequence[str] | None = None
        self._size = len(given)
        if not isinstance(given, pa.Array):
            self._plain = given
            return
        require_utf8(given)
        self._array = given

    @property
    def array(self) -> pa.Array:
        """As Arrow has them, of type string or large_string."""
        if self._array is None:
            self._array = pa.array(self._plain, pa.large_string())
        return self._array

    @property
    def plain(self) -> Sequence[str]:
        """As Python has them."""
        if self._plain is None:
            assert self._array is not None
            self._plain = self._array.to_pylist()
        return self._plain

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[str]:
        return iter(self.plain)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return self.plain[place]


def require_utf8(texts: pa.Array) -> None:
    """Refuse an array of strings that holds other bytes."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        raise TidegateError(f"a column of strings holds bytes that are no UTF-8: {error}") from None


NO_STRINGS: Final = Strings()
