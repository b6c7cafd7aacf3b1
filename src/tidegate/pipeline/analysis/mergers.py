"""Which filters could be one?

Filters that allow the same in all attributes but one can be merged without adding anything: their
**file** (the word of `algebra.groups`) is the box without that attribute. A filter is in one file
for each of its attributes. Within a file, filters are brought into the order of the values that
they allow there; a merger is looked for among neighbours whose values touch, and grows as long as
the next one joins it. Only mergers that are no longer than their longest member count: a list of a
thousand ranges saves nobody anything.

Files are looked at as a stream in that order, so that it makes no difference how long one is.

Invariant: a merger that is found is perfect; it matches what its members match together.
"""

import math
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from tidegate.algebra.express import constants
from tidegate.algebra.merge import perfect_merger
from tidegate.algebra.normal import boxes
from tidegate.filters.filter import Filter
from tidegate.filters.lines import DECIMAL, TOP, double_at, float_at
from tidegate.filters.valueset import ValueSet
from tidegate.pipeline.analysis.meanings import SIZE, digest, spelled_set

_ROOM: Final = 1 << 8 * SIZE
_PREFIX: Final = 32  # bytes of a text that count for the order
_ABSENT: Final = b"\x00"
_RANKS: Final = {
    "boolean": b"\x01",
    "bigint": b"\x02",
    "double": b"\x02",
    "float": b"\x02",
    "decimal": b"\x02",
    "date": b"\x03",
    "timestamp": b"\x04",
    "string": b"\x05",
    "other": b"\x06",
}


class Place(NamedTuple):
    """The file of a filter, and from where to where its values are there, as bytes in order."""

    file: bytes
    start: bytes
    stop: bytes


def places(f: Filter) -> list[Place]:
    """The places of a filter that is one box, one for each attribute; of others there are none."""
    own = boxes(f)
    if own is None or len(own) != 1:
        return []
    sets = own[0].sets
    names = {name: _number(f"{name!r}{spelled_set(allowed)}") for name, allowed in sets.items()}
    whole = sum(names.values())
    return [
        Place(_file(name, whole - names[name]), *_reach(allowed)) for name, allowed in sets.items()
    ]


def _number(text: str) -> int:
    return int.from_bytes(digest(text), "big")


def _file(attribute: str, rest: int) -> bytes:
    """The name of a file: its attribute, and a sum over all other constraints."""
    return ((rest + _number(attribute)) % _ROOM).to_bytes(SIZE, "big")


def _reach(allowed: ValueSet) -> tuple[bytes, bytes]:
    starts = [_ABSENT] if allowed.absent else []
    stops = [_ABSENT] if allowed.absent else []
    for line, bounds in allowed.spans.items():
        starts.append(_RANKS[line] + _key(line, bounds[0]))
        stops.append(_RANKS[line] + _key(line, bounds[-1]))
    return min(starts), max(stops)


def _key(line: str, key: Any) -> bytes:
    """A key of a line as bytes, in the same order but for what is rounded."""
    if line == "string":
        return b"\xff" if key is TOP else key.encode("utf-8", "surrogatepass")[:_PREFIX]
    if line == "double":
        number = double_at(key)
    elif line == "float":
        number = float_at(key)
    elif line == "decimal":
        number = key / 10**DECIMAL.scale
    else:
        number = float(key)
    (bits,) = struct.unpack(">Q", struct.pack(">d", math.inf if math.isnan(number) else number))
    ordered = ~bits & (1 << 64) - 1 if bits >> 63 else bits | 1 << 63
    return struct.pack(">Q", ordered)


@dataclass(frozen=True, slots=True)
class Member:
    """A filter in a file, which is read if it comes to that."""

    name: str
    place: Place
    read: Callable[[], Filter]


Merger: TypeAlias = tuple[Filter, list[Member]]


def mergers(members: Iterable[Member]) -> Iterator[Merger]:
    """The mergers in files, whose members come one after the other, in the order of their places.

    >>> from functools import partial
    >>> from tidegate import parse
    >>> texts = ("a = 1 AND b < 5", "a = 1 AND b BETWEEN 5 AND 7", "a = 1 AND b > 9")
    >>> found = [Member(t, place, partial(parse, t)) for t in texts for place in places(parse(t))]
    >>> for merger, own in mergers(sorted(found, key=lambda each: each.place)):
    ...     print(merger, len(own))
    a = 1 AND b <= 7 2
    """
    run: _Run | None = None
    for member in members:
        if run is not None and run.takes(member):
            continue
        if run is not None and run.merged is not None and len(run.members) > 1:
            yield run.merged, run.members
        run = _Run([member], member.place.stop)
    if run is not None and run.merged is not None and len(run.members) > 1:
        yield run.merged, run.members


@dataclass(slots=True)
class _Run:
    """Neighbours that are one filter so far."""

    members: list[Member]
    stop: bytes
    merged: Filter | None = None

    def takes(self, member: Member) -> bool:
        """Take in a member, if it is one filter with those that are here."""
        if member.place.file != self.members[0].place.file or member.place.start > self.stop:
            return False
        if self.merged is None:
            self.merged = self.members[0].read()
        f = member.read()
        merger = perfect_merger([self.merged, f])
        longest = max(constants(self.merged.tree), constants(f.tree))
        if merger is None or constants(merger.tree) > longest:
            return False
        self.merged = merger
        self.stop = max(self.stop, member.place.stop)
        self.members.append(member)
        return True
