"""What does a broker have to tell its neighbours when the poset has changed?

A broker asks its neighbours for the least upper bound of its poset: one filter that covers all, or
else the OR of the roots. Fig. 6 of Jayaram, Jayalath, Eugster, *Parametric Subscriptions for
Content-Based Publish/Subscribe Networks* (2010) compares it before and after (PROPAGATE): if it is
the same, nothing is sent; if only values differ, they are sent (UPD); if its structure is another
one, the new bound is asked for and the old one given up (SUB, USUB).

The paper compares variables, too, because a neighbour knows them. Here the constants are what may
differ: the bound has the same structure if what takes the place of roots has the shapes that they
had. That is the step further that the paper proposes, every constant a variable.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from tidegate.filters.expression import And, Node, Or, Predicate, Slot, map_predicates
from tidegate.filters.filter import Filter


class Bound(Enum):
    """What has become of the least upper bound."""

    SAME = "the same"
    CONSTANTS = "other constants"
    STRUCTURE = "another structure"


@dataclass(frozen=True, slots=True)
class Change:
    """What has become of the least upper bound: the roots that have gone, and that have come."""

    bound: Bound
    gone: tuple[Filter, ...] = ()
    come: tuple[Filter, ...] = ()


def change(gone: Iterable[Filter], come: Iterable[Filter]) -> Change:
    """The change by which some roots go and others come.

    >>> from tidegate.filters.filter import parse
    >>> change([parse("price < 10")], [parse("price < 30")]).bound
    <Bound.CONSTANTS: 'other constants'>
    >>> change([parse("price < 10")], [parse("price < 30 AND volume > 5")]).bound
    <Bound.STRUCTURE: 'another structure'>
    """
    gone, come = tuple(gone), tuple(come)
    if not gone and not come:
        return Change(Bound.SAME)
    alike = len(gone) == len(come)
    if len(gone) == 1 == len(come):
        alike = same_shape(gone[0].tree, come[0].tree)
    elif alike:
        alike = Counter(map(shape, gone)) == Counter(map(shape, come))
    return Change(Bound.CONSTANTS if alike else Bound.STRUCTURE, gone, come)


def same_shape(one: Node, other: Node) -> bool:
    """Whether two trees differ in constants only: whether their filters have the same `shape`."""
    if isinstance(one, Predicate) and isinstance(other, Predicate):
        return (
            one.attribute == other.attribute
            and one.operator is other.operator
            and one.mode is other.mode
            and len(one.constants) == len(other.constants)
        )
    if isinstance(one, And | Or) and type(one) is type(other):
        assert isinstance(other, And | Or)
        parts = one.parts, other.parts
        return len(parts[0]) == len(parts[1]) and all(map(same_shape, *parts))
    return one == other


def shape(f: Filter) -> Node:
    """The tree of a filter with its constants taken out.

    >>> from tidegate.filters.filter import parse
    >>> shape(parse("x = 1 AND y < 2")) == shape(parse("x = 5 AND y < 7.5"))
    True
    """
    return map_predicates(f.tree, _hollow)


def _hollow(predicate: Predicate) -> Predicate:
    slots = tuple(Slot(i) for i in range(len(predicate.constants)))
    return Predicate(predicate.attribute, predicate.operator, slots, predicate.mode)
