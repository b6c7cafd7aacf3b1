"""A filter as a union of boxes.

A **box** is a conjunction seen as one set of allowed values for each attribute it constrains; an
attribute it does not name is free. Distributing AND over OR makes every filter a union of boxes,
up to a bound: beyond it a filter has no normal form, and relations that would need it answer "not
known". Ranges, IN lists and negations on one attribute are one value set, so they never multiply.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from tidegate.filters.canonical import Constraint, Every, Form, Some
from tidegate.filters.filter import Filter
from tidegate.filters.valueset import ValueSet

MAX_BOXES: Final = 256
"""Boxes a filter's normal form may have."""


class Box:
    """A set of allowed values for each constrained attribute; no set in it is known to be empty.

    `certain` tells that an event in the box surely exists (conditions on text leave doubt).
    """

    __slots__ = ("_hash", "certain", "sets")

    def __init__(self, sets: Mapping[str, ValueSet]) -> None:
        self.sets = sets
        self.certain = all(allowed.is_empty() is False for allowed in sets.values())
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self.sets == other.sets

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.sets.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"Box({dict(self.sets)})"

    def within(self, other: "Box") -> bool | None:
        """Whether every event in this box is in the other."""
        sure = True
        mine = self.sets
        for attribute, theirs in other.sets.items():
            own = mine.get(attribute)
            if own is None:  # conditions on text may still allow every value there is
                inside = None if theirs.texts else False
            else:
                inside = own.within(theirs)
            if inside is not True:
                if inside is False and self.certain:
                    return False
                sure = False
        return True if sure else None

    def meets(self, other: "Box") -> bool | None:
        """Whether some event is in both."""
        sure = self.certain and other.certain
        theirs = other.sets
        for attribute, own in self.sets.items():
            set_ = theirs.get(attribute)
            if set_ is not None:
                shared = own.meets(set_)
                if shared is False:
                    return False
                sure = sure and shared is True
        return True if sure else None

    def __and__(self, other: "Box") -> "Box | None":
        """What is in both, or None if that is nothing."""
        sets = dict(self.sets)
        for attribute, theirs in other.sets.items():
            own = sets.get(attribute)
            shared = theirs if own is None else own & theirs
            if shared.is_empty():
                return None
            sets[attribute] = shared
        return Box(sets)


def boxes(f: Filter) -> tuple[Box, ...] | None:
    """The filter's boxes, none inside another; None if there are more than `MAX_BOXES`.

    >>> from tidegate.filters.filter import parse
    >>> len(boxes(parse("a = 1 AND (b < 2 OR b > 5 OR c = 3)")))
    2
    """
    if f.normal_form is None:
        f.require_bound()
        found = _boxes(f.form)
        f.normal_form = (None if found is None else tuple(found),)
    kept: tuple[Box, ...] | None = f.normal_form[0]
    return kept


def _boxes(form: Form) -> list[Box] | None:
    if isinstance(form, bool):
        return [Box({})] if form else []
    if isinstance(form, Constraint):
        return [Box({form.attribute: form.allowed})]
    if isinstance(form, Some):
        united: list[Box] = []
        for part in form.parts:
            found = _boxes(part)
            if found is None or len(united) + len(found) > MAX_BOXES:
                return None
            united += found
        return _maximal(united)
    assert isinstance(form, Every), "parameters are bound"
    return _product(form)


def _product(form: Every) -> list[Box] | None:
    own = {part.attribute: part.allowed for part in form.parts if isinstance(part, Constraint)}
    product = [Box(own)]
    for part in form.parts:
        if isinstance(part, Constraint):
            continue
        factor = _boxes(part)
        if factor is None or len(product) * len(factor) > MAX_BOXES * 16:
            return None
        met = [one & other for one in product for other in factor]
        product = _maximal([box for box in met if box is not None])
        if len(product) > MAX_BOXES:
            return None
    return product


def _maximal(found: Iterable[Box]) -> list[Box]:
    """The boxes that lie in no other one."""
    kept: list[Box] = []
    for box in sorted(set(found), key=lambda box: len(box.sets)):
        if any(box.within(other) for other in kept):
            continue
        kept = [other for other in kept if not other.within(box)]
        kept.append(box)
    return kept
