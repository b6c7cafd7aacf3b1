"""Which predicates on one line hold for a key, hold a set of keys, lie in one or meet one?

On a line (see `filters.lines`) nearly every predicate is one of five things: all keys before some
key (`<`, `<=`), all from some key on (`>`, `>=`), one single key (`=`), all but one (`<>`), or
everything. The first four are kept sorted by that key, so that each question is answered by a
bisection and a slice.
Lists of single keys (`IN`) are found by their members. Whatever is left, several stretches or
conditions on text, is **loose**: looked at one by one.

Invariant: a variable on the line stands in exactly one of these places.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.filters import bounds as b
from tidegate.filters.lines import DECIMAL, Line, first_decimal
from tidegate.filters.valueset import ValueSet

Variables: TypeAlias = NDArray[np.int32]

NONE: Final = np.empty(0, np.int32)
_FIRST_ROOM: Final = 8
_KEYS: Final = 256  # for which it is remembered what holds,
_VARIABLES: Final = 1024  # if it is not more than so many variables,
_LETTERS: Final = 64  # and if the key is no longer than this


class Slope:
    """Variables in the order of their keys."""

    __slots__ = ("_keys", "_variables")

    def __init__(self) -> None:
        self._keys: list[Any] = []
        self._variables = np.empty(_FIRST_ROOM, np.int32)

    def __len__(self) -> int:
        return len(self._keys)

    def put(self, key: Any, variable: int) -> None:
        """Put a variable in its place."""
        size = len(self._keys)
        if size == len(self._variables):
            self._variables = np.resize(self._variables, 2 * size)
        at = bisect_right(self._keys, key)
        self._keys.insert(at, key)
        self._variables[at + 1 : size + 1] = self._variables[at:size]
        self._variables[at] = variable

    def drop(self, key: Any, variable: int) -> None:
        """Take a variable away."""
        size = len(self._keys)
        at = bisect_left(self._keys, key)
        while self._variables[at] != variable:
            at += 1
        del self._keys[at]
        self._variables[at : size - 1] = self._variables[at + 1 : size]
        if size < len(self._variables) // 4 and size > _FIRST_ROOM:
            self._variables = self._variables[: size * 2].copy()

    def before(self, key: Any) -> Variables:
        """The variables whose keys are below this one."""
        return self._variables[: bisect_left(self._keys, key)]

    def upto(self, key: Any) -> Variables:
        """The variables whose keys are not above this one."""
        return self._variables[: bisect_right(self._keys, key)]

    def after(self, key: Any) -> Variables:
        """The variables whose keys are above this one."""
        return self._variables[bisect_right(self._keys, key) : len(self._keys)]

    def since(self, key: Any) -> Variables:
        """The variables whose keys are not below this one."""
        return self._variables[bisect_left(self._keys, key) : len(self._keys)]

    def between(self, low: Any, high: Any) -> Variables:
        """The variables whose keys are from `low` up to, but not including, `high`."""
        return self._variables[bisect_left(self._keys, low) : bisect_left(self._keys, high)]

    def outside(self, bounds: b.Bounds) -> list[Variables]:
        """The variables whose keys are not in a set."""
        ends = [0, *(bisect_left(self._keys, bound) for bound in bounds), len(self._keys)]
        return [self._variables[ends[i] : ends[i + 1]] for i in range(0, len(ends), 2)]

    def at(self, key: Any) -> Variables:
        """The variables with this very key."""
        return self._variables[bisect_left(self._keys, key) : bisect_right(self._keys, key)]


class Bag:
    """Variables in the order in which they came, and as an array when somebody asks."""

    __slots__ = ("_array", "members")

    def __init__(self) -> None:
        self.members: dict[int, None] = {}
        self._array: Variables | None = None

    def __len__(self) -> int:
        return len(self.members)

    def put(self, variable: int) -> None:
        """Put a variable in."""
        self.members[variable] = None
        self._array = None

    def drop(self, variable: int) -> None:
        """Take a variable out."""
        del self.members[variable]
        self._array = None

    @property
    def array(self) -> Variables:
        """All of them."""
        if self._array is None:
            self._array = np.fromiter(self.members, np.int32, len(self.members))
        return self._array


class OnLine:
    """The variables of one attribute on one line, of which keys from `low` to `high` can occur."""

    def __init__(self, line: Line, low: Any, high: Any) -> None:
        self._line = line
        self._low = low
        self._high = high
        self._whole = Bag()
        self._below = Slope()  # by the first key that no longer belongs to it
        self._above = Slope()  # by the first key that does
        self._single = Slope()
        self._but = Slope()  # by the one key that does not belong to it
        self._listed: dict[int, ValueSet] = {}
        self._members: dict[Any, list[int]] = {}  # the lists in which a key is
        self._loose: dict[int, ValueSet] = {}
        self._answers: dict[Any, Variables] = {}  # which variables hold for keys asked about

    def put(self, variable: int, allowed: ValueSet) -> None:
        """Put a variable in its place."""
        self._place(variable, allowed, present=True)

    def drop(self, variable: int, allowed: ValueSet) -> None:
        """Take a variable away."""
        self._place(variable, allowed, present=False)

    def _place(self, variable: int, allowed: ValueSet, *, present: bool) -> None:
        self._answers.clear()
        bounds = allowed.spans[self._line.name]
        if allowed.texts and self._line.name == "string":
            self._keep(self._loose, variable, allowed, present)
        elif len(bounds) == 2:
            self._place_stretch(variable, allowed, *bounds, present=present)
        elif all(self._is_point(*bounds[i : i + 2]) for i in range(0, len(bounds), 2)):
            self._keep(self._listed, variable, allowed, present)
            for key in bounds[::2]:
                self._keep_member(key, variable, present)
        elif self._is_all_but_one(bounds):
            (self._but.put if present else self._but.drop)(bounds[1], variable)
        else:
            self._keep(self._loose, variable, allowed, present)

    def _place_stretch(
        self, variable: int, allowed: ValueSet, first: Any, after: Any, *, present: bool
    ) -> None:
        slope, key = self._single, first
        if first <= self._low:
            if after >= self._high:
                (self._whole.put if present else self._whole.drop)(variable)
                return
            slope, key = self._below, after
        elif after >= self._high:
            slope = self._above
        elif not self._is_point(first, after):
            self._keep(self._loose, variable, allowed, present)
            return
        (slope.put if present else slope.drop)(key, variable)

    @staticmethod
    def _keep(kept: dict[int, ValueSet], variable: int, allowed: ValueSet, present: bool) -> None:
        if present:
            kept[variable] = allowed
        else:
            del kept[variable]

    def _keep_member(self, key: Any, variable: int, present: bool) -> None:
        if present:
            self._members.setdefault(key, []).append(variable)
            return
        self._members[key].remove(variable)
        if not self._members[key]:
            del self._members[key]

    def _is_point(self, first: Any, after: Any) -> bool:
        """Whether there is only one key in a stretch."""
        if self._line.name == "string":
            return bool(after == first + "\0")
        return bool(after == (first_decimal(first + 1) if self._line is DECIMAL else first + 1))

    def _is_all_but_one(self, bounds: b.Bounds) -> bool:
        return (
            len(bounds) == 4
            and bounds[0] <= self._low
            and bounds[3] >= self._high
            and self._is_point(*bounds[1:3])
        )

    def holding(self, key: Any) -> Variables:
        """Those that hold for a key; what was found is kept until there is another variable."""
        found = self._answers.get(key)
        if found is None:
            found = self._holding(key)
            if len(found) <= _VARIABLES and (type(key) is int or len(key) <= _LETTERS):
                if len(self._answers) == _KEYS:
                    self._answers.clear()
                self._answers[key] = found
        return found

    def _holding(self, key: Any) -> Variables:
        parts = [
            self._whole.array,
            self._below.after(key),
            self._above.upto(key),
            self._single.at(key),
            self._but.before(key),
            self._but.after(key),
        ]
        if self._members and key in self._members:
            parts.append(np.array(self._members[key], np.int32))
        if self._loose:
            name = self._line.name
            parts.append(self._chosen(self._loose, lambda own: _holds(own, name, key)))
        return np.concatenate(parts)

    def containing(self, allowed: ValueSet) -> Variables:
        """Those in which all of a set lies that is on this line."""
        name = self._line.name
        bounds = allowed.spans[name]
        parts = [
            self._whole.array,
            self._below.since(bounds[-1]),
            self._above.upto(bounds[0]),
            *self._but.outside(bounds),
        ]
        if len(bounds) == 2 and self._is_point(*bounds):
            parts.append(self._single.at(bounds[0]))
        if self._loose or self._listed:

            def fits(own: ValueSet) -> bool:
                if own.texts and name == "string":
                    return allowed.within(own) is True
                return b.within(bounds, own.spans[name])

            parts += [self._chosen(self._loose, fits), self._chosen(self._listed, fits)]
        return np.concatenate(parts)

    def contained(self, allowed: ValueSet, allowed_of: Callable[[int], ValueSet]) -> Variables:
        """Those that lie on this line in the set."""
        name = self._line.name
        bounds = allowed.spans[name]
        if allowed.texts and name == "string":
            mine = [v for v in self._all().tolist() if _strings_within(allowed_of(v), allowed)]
            return np.array(mine, np.int32)
        parts = [NONE]
        if bounds[0] <= self._low:
            parts.append(self._below.upto(bounds[1]))
            if bounds[-1] >= self._high and len(bounds) == 2:
                parts += [self._whole.array, self._but.since(self._low)]
        if self._is_all_but_one(bounds):
            parts.append(self._but.at(bounds[1]))
        if bounds[-1] >= self._high:
            parts.append(self._above.since(bounds[-2]))
        for i in range(0, len(bounds), 2):
            parts.append(self._single.between(bounds[i], bounds[i + 1]))

        def fits(own: ValueSet) -> bool:
            return b.within(own.spans[name], bounds)

        parts += [self._chosen(self._loose, fits), self._chosen(self._listed, fits)]
        return np.concatenate(parts)

    def meeting(self, allowed: ValueSet, allowed_of: Callable[[int], ValueSet]) -> Variables:
        """Those that may have a key on this line in common with the set."""

        def may_meet(own: ValueSet) -> bool:
            return own.meets(allowed) is not False

        name = self._line.name
        bounds = allowed.spans[name]
        if allowed.texts and name == "string":
            mine = [v for v in self._all().tolist() if may_meet(allowed_of(v))]
            return np.array(mine, np.int32)
        parts = [
            self._whole.array,
            self._below.after(bounds[0]),
            self._above.before(bounds[-1]),
        ]
        if len(bounds) == 2 and self._is_point(*bounds):
            parts += [self._but.before(bounds[0]), self._but.after(bounds[0])]
        else:
            parts.append(self._but.since(self._low))
        for i in range(0, len(bounds), 2):
            parts.append(self._single.between(bounds[i], bounds[i + 1]))
        parts += [self._chosen(self._loose, may_meet), self._chosen(self._listed, may_meet)]
        return np.concatenate(parts)

    def _all(self) -> Variables:
        slopes = (self._below, self._above, self._single, self._but)
        apart = [np.fromiter(kept, np.int32, len(kept)) for kept in (self._loose, self._listed)]
        everything = [slope.before(self._high) for slope in slopes]
        return np.concatenate([self._whole.array, *everything, *apart])

    @staticmethod
    def _chosen(kept: dict[int, ValueSet], wanted: Callable[[ValueSet], bool]) -> Variables:
        if not kept:
            return NONE
        return np.array([v for v, own in kept.items() if wanted(own)], np.int32)


def _holds(own: ValueSet, line: str, key: Any) -> bool:
    if not b.has(own.spans[line], key):
        return False
    return line != "string" or all(text.holds(key) for text in own.texts)


def _strings_within(own: ValueSet, allowed: ValueSet) -> bool:
    """Whether the strings of one set surely lie in another."""
    strings = ValueSet(False, {"string": own.spans["string"]}, own.texts)
    return strings.within(allowed) is True
