"""What does a predicate mean, if it was asked before?

New subscriptions mostly have predicates that others had before them, and working out a set of
values takes longer than all the rest of compiling. So an index remembers what predicates mean, by
what they say, from segment to segment.

What is remembered has a bound, in bytes, however many predicates come and go: it is kept in two
generations. New ones join the young generation, as do old ones that are asked for again; when the
young have half of all bytes, they are the old ones, and those that were old are forgotten.

Invariant: `nbytes` is at most `MOST_BYTES`, but for one meaning that is larger.
"""

import threading
from typing import Any, Final, TypeAlias

from tidegate.engine.conditions.condition import Condition

Kind: TypeAlias = tuple[str, str, str]
"""An attribute, an operator, and when it holds."""
Key: TypeAlias = str | tuple[Any, ...]
"""The constants of a predicate, and of which types they are."""
Meaning: TypeAlias = Condition | int
"""A condition, or the number of one that no value meets, or all do."""

MOST_BYTES: Final = 16 * 2**20
"""The most that an index remembers."""

_BYTES_EACH: Final = 900  # bytes of a condition without constants, with its places in dictionaries
_CONSTANT: Final = 420  # bytes of a constant, and of its ends on three lines
_COPIES: Final = 4  # of a text: as a constant, and as both ends of what it allows


class Meanings:
    """What predicates mean, by what they say. Used by any number of threads."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._young: dict[tuple[Kind, Key], Meaning] = {}
        self._old: dict[tuple[Kind, Key], Meaning] = {}
        self._young_bytes = 0
        self._old_bytes = 0

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    @property
    def nbytes(self) -> int:
        """About the memory of all that is remembered."""
        return self._young_bytes + self._old_bytes

    def get(self, kind: Kind, key: Key) -> Meaning | None:
        """What the predicate means, if that is remembered."""
        found = self._young.get((kind, key))
        if found is None:
            found = self._old.get((kind, key))
            if found is not None:
                self.keep(kind, key, found)
        return found

    def keep(self, kind: Kind, key: Key, meaning: Meaning) -> None:
        """Remember one more, and perhaps forget those not asked for lately."""
        size = _size(key)
        with self._lock:
            if self._young_bytes + size > self._most // 2:
                self._old, self._young = self._young, {}
                self._old_bytes, self._young_bytes = self._young_bytes, 0
            if self._old.pop((kind, key), None) is not None:
                self._old_bytes -= size
            if (kind, key) not in self._young:
                self._young[kind, key] = meaning
                self._young_bytes += size


def _size(key: Key) -> int:
    """About the bytes of what is remembered of a predicate with these constants."""
    if type(key) is str:
        return _BYTES_EACH + _CONSTANT + _COPIES * _length(key)
    constants = key[0] if type(key[0]) is tuple else key[:1]
    texts = sum(_COPIES * _length(each) for each in constants if type(each) is str)
    return _BYTES_EACH + _CONSTANT * len(constants) + texts


def _length(text: str) -> int:
    """The bytes of a text's characters."""
    return len(text) if text.isascii() else 4 * len(text)
