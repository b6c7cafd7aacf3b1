"""How often does each value of an attribute occur, if there may be any number of values?

The values of an attribute are counted line by line (see `filters.lines`), so that families stay
apart. Of each line a bounded number of values is kept with their counts: all of them, and exactly,
while there are not more; of more, the **heavy** ones, by the summary of Misra and Gries ("Finding
repeated elements", 1982), which can be merged (Agarwal et al., "Mergeable Summaries", PODS 2012).
What is subtracted to make room is added up: it is how far a count can be too small.

How many different values there are is then estimated from the smallest of their hashes (Bar-Yossef
et al., "Counting Distinct Elements in a Data Stream", 2002), with a standard error of 3%.

Spark and its companions have sketches for each of these, but no two share an order of values with
`filters.lines` or can be read without a JVM, as whoever plans by the counts wants to.

Invariant: a value's true count is at least what is kept (nothing, if it is not) and at most that
plus `error`, which is at most `total / (limit + 1)`; whatever the order of additions and merges.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tidegate.filters.lines import Line

LISTED: Final = 8_192
"""Values of a line that are kept."""

_HASHES: Final = 1_024
_WORD: Final = 0xFFFF_FFFF_FFFF_FFFF


@dataclass(slots=True)
class LineCounts:
    """The values of an attribute that lie on one line, by their keys."""

    line: str
    scale: int = 0  # of decimals
    limit: int = LISTED
    total: int = 0
    error: int = 0  # by which counts can be too small
    low: Any = None  # the least and the greatest key
    high: Any = None
    counts: dict[Any, int] = field(default_factory=dict)
    hashes: NDArray[np.uint64] | None = None  # the smallest; None: `counts` has all values

    def add(self, keys: NDArray[Any] | Sequence[str], counts: NDArray[np.int64]) -> None:
        """Count keys, each of which occurs so often; they are in order, and differ."""
        if not len(keys):
            return
        self.total += int(counts.sum())
        self._widen(_plain(keys[0]), _plain(keys[-1]))
        if self.hashes is None and len(self.counts) + len(keys) > self.limit:
            self.hashes = _hashes(list(self.counts))
        if self.hashes is not None:
            self.hashes = _smallest(self.hashes, _hashes(keys))
        kept: Iterable[Any] = keys
        if len(keys) > self.limit:
            cut = _cut(counts, self.limit)
            where = np.flatnonzero(counts > cut)
            kept = (
                keys[where] if isinstance(keys, np.ndarray) else [keys[i] for i in where.tolist()]
            )
            counts = counts[where] - cut
            self.error += cut
        listed = kept.tolist() if isinstance(kept, np.ndarray) else kept
        self._join(zip(listed, counts.tolist(), strict=True))

    def merge(self, other: "LineCounts") -> None:
        """Count what another one has counted, of the same line."""
        if not other.total:
            return
        self._widen(other.low, other.high)
        self.total += other.total
        self.error += other.error
        sketched = self.hashes is not None or other.hashes is not None
        if sketched or len(self.counts) + len(other.counts) > self.limit:
            self.hashes = _smallest(
                _hashes(list(self.counts)) if self.hashes is None else self.hashes,
                _hashes(list(other.counts)) if other.hashes is None else other.hashes,
            )
        self._join(other.counts.items())

    @property
    def distinct(self) -> int:
        """How many different values there are; an estimate if `error` is not 0."""
        if self.error == 0 or self.hashes is None:
            return len(self.counts)
        if len(self.hashes) < _HASHES:
            return len(self.hashes)
        return round((_HASHES - 1) / (int(self.hashes[-1]) / 2**64))

    def on_line(self) -> Line:
        """A line on which the keys stand for the same values."""
        return Line(self.line, self.low, self.high, self.scale)

    def heaviest(self, times: int = 1) -> list[tuple[Any, int]]:
        """Keys whose counts are above so many times the error, the most frequent first."""
        known = [each for each in self.counts.items() if each[1] > times * self.error]
        return sorted(known, key=lambda each: (-each[1], each[0]))

    def spelled(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return {
            "line": self.line,
            "scale": self.scale,
            "limit": self.limit,
            "total": self.total,
            "error": self.error,
            "ends": [self.low, self.high],
            "keys": list(self.counts),
            "counts": list(self.counts.values()),
            "hashes": None if self.hashes is None else self.hashes.tolist(),
        }

    @classmethod
    def read(cls, said: dict[str, Any]) -> "LineCounts":
        """What was spelled so."""
        low, high = said["ends"]
        own = {name: said[name] for name in ("line", "scale", "limit", "total", "error")}
        counts = dict(zip(said["keys"], said["counts"], strict=True))
        hashes = None if said["hashes"] is None else np.array(said["hashes"], np.uint64)
        return cls(**own, low=low, high=high, counts=counts, hashes=hashes)

    def _widen(self, low: Any, high: Any) -> None:
        self.low = low if self.low is None else min(self.low, low)
        self.high = high if self.high is None else max(self.high, high)

    def _join(self, more: Iterable[tuple[Any, int]]) -> None:
        counts = self.counts
        for key, count in more:
            counts[key] = counts.get(key, 0) + count
        if len(counts) > self.limit:
            cut = _cut(np.fromiter(counts.values(), np.int64, len(counts)), self.limit)
            self.counts = {key: count - cut for key, count in counts.items() if count > cut}
            self.error += cut


@dataclass(slots=True)
class AttributeCounts:
    """The values of an attribute: absent, of no type that filters compare, and on lines."""

    absent: int = 0
    other: int = 0
    lines: dict[tuple[str, int], LineCounts] = field(default_factory=dict)

    def on(self, line: Line, limit: int = LISTED) -> LineCounts:
        """The counts of a line."""
        key = (line.name, line.scale)
        found = self.lines.get(key)
        if found is None:
            found = self.lines[key] = LineCounts(line.name, line.scale, limit)
        return found

    @property
    def total(self) -> int:
        """In how many events it was looked for."""
        return self.absent + self.other + sum(each.total for each in self.lines.values())

    def merge(self, other: "AttributeCounts") -> None:
        """Count what another one has counted."""
        self.absent += other.absent
        self.other += other.other
        for key, counts in other.lines.items():
            if key not in self.lines:
                self.lines[key] = LineCounts(counts.line, counts.scale, counts.limit)
            self.lines[key].merge(counts)

    def spelled(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        lines = [counts.spelled() for counts in self.lines.values()]
        return {"absent": self.absent, "other": self.other, "lines": lines}

    @classmethod
    def read(cls, said: dict[str, Any]) -> "AttributeCounts":
        """What was spelled so."""
        lines = [LineCounts.read(each) for each in said["lines"]]
        return cls(said["absent"], said["other"], {(own.line, own.scale): own for own in lines})


def _cut(counts: NDArray[np.int64], limit: int) -> int:
    """What to subtract so that at most `limit` counts are left: the next largest of them."""
    place = len(counts) - limit - 1
    return int(np.partition(counts, place)[place])


def _plain(key: Any) -> Any:
    return key.item() if isinstance(key, np.generic) else key


def _smallest(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return np.unique(np.concatenate([first, second]))[:_HASHES]


def _hashes(keys: NDArray[Any] | Sequence[Any]) -> NDArray[np.uint64]:
    """A hash of each key, the same in every process."""
    if len(keys) and isinstance(keys[0], str):
        digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in keys)
        return np.frombuffer(digests, np.uint64)
    if isinstance(keys, np.ndarray) and keys.dtype != object:
        words = keys.astype(np.int64).view(np.uint64)
    else:
        words = np.array([int(key) & _WORD for key in keys], np.uint64)
    # the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)
    words = words + np.uint64(0x9E37_79B9_7F4A_7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return words ^ (words >> np.uint64(31))
