"""Can one filter cover another at all?

Most pairs of filters have nothing to do with each other, and a few integers tell: how far each of
them reaches on the attributes that limit it. That is its **outline**. Values of all families stand
in one order of 63 bits, weakly: what is smaller is not larger there, though it may be the same
(texts keep their first seven bytes, doubles most of their digits). So of two outlines that do not
fit, neither do the filters; of two that fit, the algebra has to say.

This is no part of the poset as it is published. There, a new filter is compared with every root,
and there may be a hundred thousand of them. It still is: with most of them by their outlines.

Invariant: if `covers(f, g)`, the outline of g is within that of f; if f and g overlap, their
outlines meet.
"""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

from tidegate.algebra.normal import Box, boxes
from tidegate.filters.filter import Filter
from tidegate.filters.lines import TOP, double_key
from tidegate.filters.meaning import universe
from tidegate.filters.values import MAX_PRECISION
from tidegate.filters.valueset import ValueSet

Reach: TypeAlias = tuple[int, int]
"""From where to where values go, both ends included."""

_BITS: Final = 59  # of a key within its line; the bits above say which line it is
_MIDDLE: Final = 1 << (_BITS - 1)
_BYTES: Final = _BITS // 8  # of a text
_DOUBLE: Final = 5  # bits of a double that are left out
_UNIT: Final = 10**MAX_PRECISION  # of the line of all decimals
_RANKS: Final = {
    "boolean": 1,
    "bigint": 2,  # numbers of all types go together, as doubles
    "double": 2,
    "decimal": 2,
    "float": 3,
    "string": 4,
    "date": 5,
    "timestamp": 6,
    "other": 7,
}
_NAMES: Final = 8192  # attributes whose numbers are kept


class Outline(NamedTuple):
    """How far a filter reaches on the attributes that limit it, the narrowest first.

    Attributes are numbers. On those that are **soft**, the filter may be smaller than it looks:
    conditions on text may take anything away from it. A filter without a normal form is **blind**:
    nothing is known of it.
    """

    limits: dict[int, Reach]
    soft: frozenset[int] = frozenset()
    blind: bool = False

    @property
    def loose(self) -> bool:
        """Whether the algebra may fail to decide what the filter is covered by."""
        return self.blind or bool(self.soft)

    def within(self, other: "Outline") -> bool:
        """Whether a filter with this outline may lie in one with the other."""
        if self.soft or self.blind:
            return self._softly_within(other)
        mine = self.limits
        for attribute, (low, high) in other.limits.items():
            own = mine.get(attribute)
            if own is None or own[0] < low or high < own[1]:
                return False
        return True

    def _softly_within(self, other: "Outline") -> bool:
        """The same; on soft attributes, the one only has to touch the other."""
        if self.blind:
            return True
        for attribute, (low, high) in other.limits.items():
            own = self.limits.get(attribute)
            if attribute in self.soft:
                if own is not None and (own[1] < low or high < own[0]):
                    return False
            elif own is None or own[0] < low or high < own[1]:
                return False
        return True

    def meets(self, other: "Outline") -> bool:
        """Whether a filter with this outline may overlap one with the other."""
        mine = self.limits
        for attribute, (low, high) in other.limits.items():
            own = mine.get(attribute)
            if own is not None and (own[1] < low or high < own[0]):
                return False
        return True


def outline(f: Filter) -> Outline:
    """The outline of a filter, all parameters bound.

    >>> from tidegate.filters.filter import parse
    >>> one = outline(parse("price < 10 AND (symbol = 'IBM' OR symbol = 'SAP')"))
    >>> other = outline(parse("price BETWEEN 20 AND 30"))
    >>> len(one.limits), one.within(other), one.meets(other)
    (2, False, False)
    """
    own = boxes(f)
    if not own:
        return Outline({}, blind=True)
    found = []
    for name in _limited(own):
        low, high = _hull(box.sets[name] for box in own)
        if (low, high) != _reach(universe(name, f.schema)):
            found.append((high - low, number_of(name), low, high))
    soft = [name for box in own for name, allowed in box.sets.items() if allowed.texts]
    return Outline(
        {number: (low, high) for _, number, low, high in sorted(found)},
        frozenset(map(number_of, soft)),
    )


@lru_cache(maxsize=_NAMES)
def number_of(attribute: str) -> int:
    """A number for an attribute, the same everywhere.

    Should two attributes have the same number, covers would be missed, and none claimed.
    """
    digest = blake2b(attribute.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _limited(own: tuple[Box, ...]) -> list[str]:
    """The attributes that all boxes limit."""
    first, *others = own
    return [name for name in first.sets if all(name in box.sets for box in others)]


def _hull(sets: Iterable[ValueSet]) -> Reach:
    reaches = [_reach(each) for each in sets]
    return min(low for low, _ in reaches), max(high for _, high in reaches)


def _reach(allowed: ValueSet) -> Reach:
    """From where to where the values of a set go; the set is not empty."""
    ends = [0] if allowed.absent else []
    for line, bounds in allowed.spans.items():
        last = bounds[-1] if line == "string" else bounds[-1] - 1
        ends += (_place(line, bounds[0]), _place(line, last))
    return min(ends), max(ends)


def _place(line: str, key: Any) -> int:
    """Where a key of a line stands in the one order."""
    return (_RANKS[line] << _BITS) + _squeezed(line, key)


def _squeezed(line: str, key: Any) -> int:
    """A key in 59 bits, in the same order, weakly."""
    if line == "string":
        if key is TOP:
            return (1 << _BITS) - 1
        # A character has a byte at least: no need to write down more of a long text.
        text = key[:_BYTES].encode("utf-8", "surrogatepass")[:_BYTES]
        return int.from_bytes(text.ljust(_BYTES, b"\0"), "big")
    if line == "bigint":
        key = double_key(float(key))
    elif line == "decimal":
        key = double_key(key / _UNIT)
    if _RANKS[line] == _RANKS["double"]:
        key >>= _DOUBLE
    return int(min(max(key, -_MIDDLE), _MIDDLE - 1)) + _MIDDLE
