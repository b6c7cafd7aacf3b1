"""Is a value in a long IN list?

Comparing it with every member takes as long as the list is. A `Listing` brings the members, once
for each type of value that it is asked about, to what that value is compared with (see `compare`:
doubles if a double takes part, midnights beside timestamps, decimals rounded to the shared scale),
and keeps them as a set: then a value is brought to the same and looked up. Python's equality of
bigints and decimals is the language's; NaN, which equals itself here and nowhere else, is put
beside the set.

Invariant: the answer is `evaluate`'s, which compares the value with one member after the other. At
most three sets are kept, one for each type of numbers; they belong to the filter that asked.
"""

import datetime as dt
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from tidegate.filters.attribute import Attribute
from tidegate.filters.compare import list_constants, midnight, rounded, shared_scale
from tidegate.filters.values import Constant, Value, family

MANY: Final = 16
"""Members from which on a list is looked up rather than compared."""


class Listing:
    """The members of an IN list.

    >>> Listing((1, 2.5, None), None).has(1), Listing((1, 2), None).has(3)
    (True, False)
    """

    __slots__ = ("_constants", "_families", "_listed", "_own", "_sets", "null")

    def __init__(self, constants: tuple[Constant, ...], own: Attribute | None) -> None:
        self.null: Final = None in constants
        self._constants = constants
        self._own = own
        self._listed = list_constants(constants)
        self._families = {family(constant) for constant in self._listed}
        self._sets: dict[type, tuple[Callable[[Any], Any], frozenset[Any], bool]] = {}

    def __bool__(self) -> bool:
        return bool(self._listed)

    def compares(self, value: Value) -> bool:
        """Whether a present value can be compared with every member, there being no schema."""
        return len(self._families) == 1 and family(value) in self._families

    def has(self, value: Any) -> bool:
        """Whether a value that can be compared with the members equals one."""
        known = self._sets.get(type(value))
        if known is None:
            known = self._sets[type(value)] = self._made(value)
        brought, members, nan = known
        key = brought(value)
        return nan if key != key else key in members

    def _made(self, value: Any) -> tuple[Callable[[Any], Any], frozenset[Any], bool]:
        """How to bring a value of this type to a key, the keys, and whether NaN is one."""
        scale = shared_scale(self._width(value), self._constants, listed=True)
        members: list[Any] = [rounded(constant, scale) for constant in self._listed]
        brought: Callable[[Any], Any] = _as_it_is
        if isinstance(value, float) or any(isinstance(each, float) for each in members):
            brought, members = float, [float(each) for each in members]
        elif any(isinstance(each, dt.datetime) for each in (*members, value)):
            brought, members = _moment, [_moment(each) for each in members]
        elif scale is not None:
            brought = partial(rounded, scale=scale)
        keys = frozenset(each for each in members if each == each)
        return brought, keys, len(keys) < len(members) and any(each != each for each in members)

    def _width(self, value: Value) -> tuple[int, int] | None:
        """The value's type as a decimal, where Spark would compare it as one."""
        if self._own is not None:
            return self._own.type.decimal
        return (20, 0) if isinstance(value, int) else None


def _as_it_is(value: Any) -> Any:
    return value


def _moment(value: Any) -> Any:
    return midnight(value) if type(value) is dt.date else value
