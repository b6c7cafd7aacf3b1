"""The distinct strings of a column: as Arrow has them, and as Python has them.

Many are looked up without ever becoming Python's; so each form is made when first asked for.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, overload

import pyarrow as pa

from tidegate.errors import TidegateError


class Strings(Sequence[str]):
    """Strings, each of them once; without nulls."""

    def __init__(self, given: "pa.Array | Sequence[str]" = ()) -> None:
        self._given = given
        if isinstance(given, pa.Array):
            try:
                given.validate(full=True)
            except pa.ArrowInvalid as error:
                raise TidegateError(
                    f"a column of strings holds bytes that are no UTF-8: {error}"
                ) from None

    @cached_property
    def array(self) -> pa.Array:
        """As Arrow has them, of type string or large_string."""
        if isinstance(self._given, pa.Array):
            return self._given
        return pa.array(self._given, pa.large_string())

    @cached_property
    def _plain(self) -> Sequence[str]:
        return self._given.to_pylist() if isinstance(self._given, pa.Array) else self._given

    def __len__(self) -> int:
        return len(self._given)

    def __iter__(self) -> Iterator[str]:
        return iter(self._plain)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return self._plain[place]


NO_STRINGS: Final = Strings()
