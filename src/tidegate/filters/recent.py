"""What was looked up lately?

A `Recent` keeps what was last used under texts, within a bound on how many there are and on how
long their keys are together. It has two halves, new and old: what is used goes to the new half;
when that is full it becomes the old one, and what the old one held is gone unless it was used
since. So looking up costs what a dictionary costs, and no order has to be kept.
"""

from typing import Final, Generic, TypeVar

_T = TypeVar("_T")

MAX_ENTRIES: Final = 20_000
MAX_CHARACTERS: Final = 400_000
"""The characters of all keys together."""
BYTES_EACH: Final = 60
"""About the bytes that are kept of a template for each character of its shape."""


class Recent(Generic[_T]):
    """At most so many things by text, of keys that have at most so many characters together."""

    __slots__ = ("_characters", "_entries", "_held", "_new", "_old")

    def __init__(self, entries: int = MAX_ENTRIES, characters: int = MAX_CHARACTERS) -> None:
        self._entries = entries // 2
        self._characters = characters // 2
        self._new: dict[str, _T] = {}
        self._old: dict[str, _T] = {}
        self._held = 0  # characters of the new half's keys

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    @property
    def nbytes(self) -> int:
        """About the memory of templates that are kept by their shapes."""
        return BYTES_EACH * (self._held + sum(map(len, self._old)))

    @property
    def most_bytes(self) -> int:
        """About the most that there can be."""
        return BYTES_EACH * 2 * self._characters

    def get(self, key: str) -> _T | None:
        """What is kept under the key, if it is still there."""
        found = self._new.get(key)
        if found is None and self._old:
            found = self._old.pop(key, None)
            if found is not None:
                self.keep(key, found)
        return found

    def keep(self, key: str, value: _T) -> None:
        """Keep something under a key."""
        if len(self._new) >= self._entries or self._held + len(key) > self._characters:
            self._old, self._new, self._held = self._new, {}, 0
        self._new[key] = value
        self._held += len(key)

    def clear(self) -> None:
        """Keep nothing."""
        self._new, self._old, self._held = {}, {}, 0
