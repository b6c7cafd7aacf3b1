"""Which values of one attribute does a condition allow?

A `ValueSet` is a set of values of one attribute: whether *absent* (NULL) is in it, and for each
line (see `lines`) the bounds of what is in it. Conditions on text that are not ranges (suffix,
contains, general LIKE) cannot be bounds; they stay beside the bounds of the strings as **texts**,
all of which a string must meet. Only certain facts about them are used.

Questions about sets with texts can be undecidable here, so they have three answers: True, False,
and None for "not known". Without texts the answer is never None.

Equal sets without texts compare and hash equal, whatever they were made from.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from tidegate.filters import bounds as b
from tidegate.filters.lines import ALL_LINES, OTHER_LINE, TOP, Line, key_of
from tidegate.filters.patterns import Pattern, disjoint, implies
from tidegate.filters.values import OTHER, FarDate, FarTimestamp, Value

_COMPARED: Final = 64  # conditions on text; more of them are not compared with each other


class Text(NamedTuple):
    """A string matches the pattern (or, negated, does not)."""

    pattern: Pattern
    negated: bool

    def holds(self, text: str) -> bool:
        """Whether the condition holds for a string."""
        return self.pattern.matches(text) is not self.negated

    def implies(self, other: "Text") -> bool:
        """Whether each string that meets this is known to meet the other."""
        if self.negated:
            return other.negated and implies(other.pattern, self.pattern)
        if other.negated:
            return disjoint(self.pattern, other.pattern)
        return implies(self.pattern, other.pattern)

    def opposite(self) -> "Text":
        """The condition that the other strings meet."""
        return Text(self.pattern, not self.negated)


class ValueSet:
    """A set of values of one attribute; immutable."""

    __slots__ = ("_hash", "absent", "spans", "texts")

    absent: bool
    spans: Mapping[str, b.Bounds]
    texts: frozenset[Text]

    def __init__(
        self,
        absent: bool,
        spans: Mapping[str, b.Bounds],
        texts: Iterable[Text] = (),
    ) -> None:
        kept = {line: bounds for line, bounds in spans.items() if bounds}
        conditions = frozenset(texts)
        if conditions:
            strings, conditions = _settle(kept.get("string", ()), conditions)
            kept["string"] = strings
            if not strings:
                del kept["string"]
        self.absent = absent
        self.spans = kept
        self.texts = conditions
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueSet):
            return NotImplemented
        return (
            self.absent == other.absent and self.spans == other.spans and self.texts == other.texts
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.absent, frozenset(self.spans.items()), self.texts))
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # without the hash: another process has another one
        return (ValueSet, (self.absent, self.spans, self.texts))

    def __repr__(self) -> str:
        return f"ValueSet({self.absent}, {self.spans}, {set(self.texts) or '{}'})"

    def has(self, value: Value, lines: Iterable[Line] = ALL_LINES) -> bool:
        """Whether a normal value is in the set; `lines` are those of its attribute."""
        if value is None:
            return self.absent
        line = line_of(value, lines)
        bounds = self.spans.get(line.name)
        if bounds is None or not b.has(bounds, key_of(line, value)):
            return False
        return not isinstance(value, str) or all(text.holds(value) for text in self.texts)

    def is_empty(self) -> bool | None:
        """Whether nothing is in the set."""
        spans = self.spans
        if self.absent or len(spans) > 1:
            return False
        if not spans:
            return True
        return None if self.texts and "string" in spans else False

    def within(self, other: "ValueSet") -> bool | None:
        """Whether everything in this set is in the other."""
        if self.absent and not other.absent:
            return False
        spans = other.spans
        for line, bounds in self.spans.items():
            theirs = spans.get(line)
            if theirs is None or not b.within(bounds, theirs):
                return None if line == "string" and self.texts else False
        if other.texts and "string" in self.spans:
            return self._strings_meet(other.texts)
        return True

    def _strings_meet(self, wanted: Iterable[Text]) -> bool | None:
        """Whether all strings of this set meet the conditions."""
        strings = self.spans["string"]
        if _single(strings):
            return all(text.holds(single) for text in wanted for single in strings[::2])
        for text in wanted:
            if not any(own.implies(text) for own in self.texts):
                return None if self.texts or not self._misses(text) else False
        return True

    def _misses(self, wanted: Text) -> bool:
        """Whether some string of this set, which has no texts, certainly fails the condition."""
        strings = self.spans["string"]
        return any(
            not wanted.holds(sample)
            for i in range(0, len(strings), 2)
            for sample in _samples(strings[i], strings[i + 1])
        )

    def meets(self, other: "ValueSet") -> bool | None:
        """Whether some value is in both."""
        if self.absent and other.absent:
            return True
        theirs = other.spans
        for line, bounds in self.spans.items():
            if line != "string" and line in theirs and b.meets(bounds, theirs[line]):
                return True
        if "string" in self.spans and "string" in theirs:
            if not (self.texts or other.texts):
                return b.meets(self.spans["string"], theirs["string"])
            empty = (self & other).is_empty()
            return None if empty is None else not empty
        return False

    def __and__(self, other: "ValueSet") -> "ValueSet":
        """What is in both."""
        theirs = other.spans
        spans = {
            line: b.meet(bounds, theirs[line])
            for line, bounds in self.spans.items()
            if line in theirs
        }
        return ValueSet(self.absent and other.absent, spans, self.texts | other.texts)

    def union(self, other: "ValueSet") -> "ValueSet | None":
        """What is in at least one, or None where texts leave no set that says just that."""
        texts = self.texts
        if self.texts != other.texts:
            if self.within(other):
                return other
            if other.within(self):
                return self
            if "string" in self.spans and "string" in other.spans:
                return None
            texts = self.texts | other.texts  # only one of the two has strings
        spans = {
            line: b.join(self.spans.get(line, ()), other.spans.get(line, ()))
            for line in (*self.spans, *(key for key in other.spans if key not in self.spans))
        }
        return ValueSet(self.absent or other.absent, spans, texts)

    def minus(self, other: "ValueSet") -> list["ValueSet"]:
        """What is in this set and not in the other, as disjoint sets; may be too large where
        texts are involved, never too small."""
        spans = {
            line: b.minus(bounds, other.spans.get(line, ())) for line, bounds in self.spans.items()
        }
        pieces = [ValueSet(self.absent and not other.absent, spans, self.texts)]
        if other.texts and "string" in self.spans:
            shared = b.meet(self.spans["string"], other.spans.get("string", ()))
            passed: frozenset[Text] = frozenset()
            for text in sorted(other.texts, key=repr):
                failed = ValueSet(
                    False, {"string": shared}, self.texts | passed | {text.opposite()}
                )
                pieces.append(failed)
                passed |= {text}
        return [piece for piece in pieces if piece.is_empty() is not True]


NOTHING: Final = ValueSet(False, {})


def intersection(sets: Sequence[ValueSet]) -> ValueSet:
    """What is in all of the sets, in whatever order they come; there is at least one.

    >>> intersection([ValueSet(False, {"bigint": (1, 9)}), ValueSet(True, {"bigint": (5, 20)})])
    ValueSet(False, {'bigint': (5, 9)}, {})
    """
    lines = [line for line in sets[0].spans if all(line in each.spans for each in sets)]
    return ValueSet(
        all(each.absent for each in sets),
        {line: _fold(b.meet, [each.spans[line] for each in sets]) for line in lines},
        frozenset().union(*(each.texts for each in sets)),
    )


def union(sets: Sequence[ValueSet]) -> list[ValueSet]:
    """The fewest sets that together hold what is in at least one, in whatever order they come.

    Texts keep sets of strings apart, all else is in one set.

    >>> union([ValueSet(False, {"bigint": (1, 9)}), ValueSet(True, {"bigint": (5, 20)})])
    [ValueSet(True, {'bigint': (1, 20)}, {})]
    """
    spans: dict[str, list[b.Bounds]] = {}
    for each in sets:
        for line, bounds in each.spans.items():
            if line != "string" or not each.texts:
                spans.setdefault(line, []).append(bounds)
    plain = ValueSet(
        any(each.absent for each in sets),
        {line: _fold(b.join, bounds) for line, bounds in spans.items()},
    )
    strings: dict[frozenset[Text], list[b.Bounds]] = {}
    for each in sets:
        if each.texts:
            strings.setdefault(each.texts, []).append(each.spans["string"])
    apart = [
        ValueSet(False, {"string": _fold(b.join, bounds)}, texts)
        for texts, bounds in sorted(strings.items(), key=lambda item: sorted(map(repr, item[0])))
    ]
    apart = _maximal([each for each in apart if not each.within(plain)])
    if len(apart) == 1 and "string" not in plain.spans:
        return [ValueSet(plain.absent, {**plain.spans, **apart[0].spans}, apart[0].texts)]
    return apart if plain == NOTHING else [plain, *apart]


def _maximal(sets: list[ValueSet]) -> list[ValueSet]:
    """The sets that are not known to be within another one; too many are not compared."""
    if len(sets) > _COMPARED:
        return sets
    kept: list[ValueSet] = []
    for each in sets:
        if not any(each.within(other) for other in kept):
            kept = [other for other in kept if not other.within(each)]
            kept.append(each)
    return kept


def _fold(operation: Callable[[b.Bounds, b.Bounds], b.Bounds], bounds: list[b.Bounds]) -> b.Bounds:
    """Combine neighbours until one is left: n short bounds take n log n steps."""
    while len(bounds) > 1:
        pairs = zip(bounds[::2], bounds[1::2], strict=False)
        bounds = [operation(*pair) for pair in pairs] + bounds[len(bounds) & ~1 :]
    return bounds[0]


def line_of(value: Value, lines: Iterable[Line]) -> Line:
    """The line a normal, present value lies on, among the lines of its attribute."""
    name = _LINE_NAMES[type(value)]
    for line in lines:
        if line.name == name or (name == "double" and line.name == "float"):
            return line
    return OTHER_LINE


def whole(lines: Iterable[Line], *, absent: bool) -> ValueSet:
    """Everything on the lines, with or without absent."""
    return ValueSet(absent, {line.name: line.full for line in lines})


def _single(strings: b.Bounds) -> bool:
    """Whether the bounds hold nothing but single strings."""
    return all(strings[i] + "\0" == strings[i + 1] for i in range(0, len(strings), 2))


def _settle(strings: b.Bounds, texts: frozenset[Text]) -> tuple[b.Bounds, frozenset[Text]]:
    """Draw the certain conclusions from texts: single strings are tried, prefixes cut, and what
    contradicts or follows from the rest is found."""
    for text in texts:
        if not text.negated and text.pattern.prefix:
            strings = b.meet(strings, prefix_bounds(text.pattern.prefix))
    if not strings:
        return (), frozenset()
    if _single(strings):
        kept = [
            bound
            for i in range(0, len(strings), 2)
            if all(text.holds(strings[i]) for text in texts)
            for bound in strings[i : i + 2]
        ]
        return tuple(kept), frozenset()
    if len(texts) == 1 or len(texts) > _COMPARED:
        return strings, texts
    needed: list[Text] = []
    for text in sorted(texts, key=repr):
        if any(other.implies(text.opposite()) for other in texts):
            return (), frozenset()
        if any(
            other != text and other.implies(text) and not text.implies(other) for other in texts
        ):
            continue
        if not any(other.implies(text) for other in needed):
            needed.append(text)
    return strings, frozenset(needed)


def prefix_bounds(prefix: str) -> b.Bounds:
    """The strings that start with `prefix`, as bounds.

    >>> prefix_bounds("ab")
    ('ab', 'ac')
    """
    for i in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[i]) + 1
        if code <= 0x10FFFF:
            code = 0xE000 if 0xD800 <= code <= 0xDFFF else code
            return (prefix, prefix[:i] + chr(code))
    return (prefix, TOP)


def _samples(low: str, high: str) -> Iterable[str]:
    """A few strings from low up to high."""
    return (text for text in (low, low + "\0", low + "\0\0") if text < high)


_LINE_NAMES: Final[dict[type, str]] = {
    bool: "boolean",
    int: "bigint",
    float: "double",
    Decimal: "decimal",
    str: "string",
    dt.date: "date",
    dt.datetime: "timestamp",
    type(OTHER): "other",
    FarDate: "date",
    FarTimestamp: "timestamp",
}
