"""Which pattern holds for several values of its parameters, and keeps its shape?

The questions of `algebra.widen`, about patterns: `around` gives one that is wide enough for what
was wanted of late, or will be soon; `ranged` writes an equality so that it has two ends to move
apart; `without` leaves out what has certain parameters.

What widens a comparison widens the whole expression, because there is no `not` in the language. But
for two things, which **count** nodes: a position counts the siblings that the predicates before it
left over (`a[@x < 5][2]`), and `starts-with` and `contains` look at the first node of their path
(`contains(b[c < 5], 'x')`). More nodes that pass are other nodes that are second or first. So what
is counted stays as it is now in `around`; and where `without` leaves something out of it, whoever
counts it goes as well.

Invariant: every expression returned here covers the one it was made from, bound to the values of
now.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tidegate.documents.pattern import AT_LEAST, AT_MOST, CONTAINS, STARTS, ValueTest
from tidegate.documents.syntax import (
    Absent,
    All,
    Comparison,
    Condition,
    Exists,
    Expression,
    Parameter,
    Path,
    Rank,
    Some,
    Step,
)
from tidegate.documents.values import NEVER, implies, reduced, spelled
from tidegate.documents.xpath import XPath, constant

Leaf: TypeAlias = Comparison | Rank
"""A condition that has a constant."""

FIRST: Final = (STARTS, CONTAINS)
"""Comparisons with the first node of a path."""


def counts(condition: Condition) -> bool:
    """Whether a predicate counts what those before it have left over."""
    match condition:
        case Rank():
            return True
        case All(parts) | Some(parts):
            return any(map(counts, parts))
    return False


def counted(step: Step) -> int:
    """How many predicates of a step stand before the last one that counts them."""
    return max((place for place, each in enumerate(step.predicates) if counts(each)), default=0)


# -- several values


def around(xpath: XPath, now: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> XPath:
    """The pattern bound to the values of `now`, and as far as possible wide enough for others.

    Each of `now` and `others` gives all parameters a value.

    >>> from tidegate.documents.xpath import parse_xpath
    >>> f = parse_xpath("//quote[price < $limit][@symbol = $symbol]")
    >>> now = {"limit": 5, "symbol": "IBM"}
    >>> print(around(f, now, [{"limit": 7, "symbol": "SAP"}]))
    //quote[price < 7][@symbol = 'IBM']
    """
    xpath.bind(**now)  # which refuses what cannot be
    bindings = [{name: constant(name, x) for name, x in each.items()} for each in (now, *others)]

    def widest(leaf: Leaf, is_counted: bool) -> Condition:
        bound = list(_bound(leaf, bindings[:1] if is_counted else bindings))
        return next((each for each in bound if all(implied(x, each) for x in bound)), bound[0])

    return xpath.saying(_Changed(widest).expression(xpath.expression))


def _bound(leaf: Leaf, bindings: Sequence[Mapping[str, str | float | Absent]]) -> Iterator[Leaf]:
    """What the bindings make of a condition, each but once."""
    seen: set[str] = set()
    for each in bindings:
        made = _with(leaf, each)
        if repr(made) not in seen:
            seen.add(repr(made))
            yield made


def _with(leaf: Leaf, values: Mapping[str, str | float | Absent]) -> Leaf:
    match leaf:
        case Comparison(operator, path, Parameter(name)):
            return Comparison(operator, path, values[name])
        case Rank(operator, Parameter(name)):
            value = values[name]
            assert not isinstance(value, str)
            return Rank(operator, value)
    return leaf


def implied(given: Leaf, asked: Leaf) -> bool:
    """Whether one of two conditions on the same path implies the other, of one node there."""
    if given == asked:
        return True
    one, other = _tests(given), _tests(asked)
    return one is NEVER or (other is not NEVER and all(implies(one, test) for test in other))


def _tests(leaf: Leaf) -> tuple[ValueTest, ...] | None:
    """What a value, or the number of a node, is asked for."""
    operator, asked = leaf.operator, leaf.constant if isinstance(leaf, Comparison) else leaf.number
    if isinstance(asked, Absent):
        return NEVER
    assert isinstance(asked, str | float)
    if operator in FIRST and isinstance(asked, float):
        asked = spelled(asked)
    return reduced([ValueTest(operator, asked)])


@dataclass(frozen=True, slots=True)
class _Changed:
    """Puts something in the place of conditions; `change` is told whether one is counted."""

    change: Callable[[Leaf, bool], Condition]

    def expression(self, expression: Expression) -> Expression:
        return Expression(tuple(self._path(path, False) for path in expression.paths))

    def _path(self, path: Path, is_counted: bool) -> Path:
        return Path(tuple(self._step(step, is_counted) for step in path.steps))

    def _step(self, step: Step, is_counted: bool) -> Step:
        before = counted(step)
        predicates = [
            self._condition(each, is_counted or place < before)
            for place, each in enumerate(step.predicates)
        ]
        return Step(step.deep, step.label, tuple(predicates))

    def _condition(self, condition: Condition, is_counted: bool) -> Condition:
        match condition:
            case Exists(path):
                return Exists(self._path(path, is_counted))
            case Comparison(operator, path, own):
                path = self._path(path, is_counted or operator in FIRST)
                return self.change(Comparison(operator, path, own), is_counted)
            case Rank(_, None):
                return condition
            case Rank():
                return self.change(condition, is_counted)
            case All(parts):
                return All(tuple(self._condition(part, is_counted) for part in parts))
            case Some(parts):
                return Some(tuple(self._condition(part, is_counted) for part in parts))


# -- equalities as ranges


def ranged(xpath: XPath, names: Collection[str]) -> XPath:
    """The pattern with equalities on these parameters written as ranges.

    That means the same as long as they are bound to numbers. Positions stay as they are.

    >>> from tidegate.documents.xpath import parse_xpath
    >>> print(ranged(parse_xpath("//car[cell = $cell][@lane = $lane]"), {"cell"}))
    //car[cell[. >= $cell and . <= $cell]][@lane = $lane]
    """

    def written(leaf: Leaf, _: bool) -> Condition:
        match leaf:
            case Comparison("=", Path(steps), Parameter(name)) if name in names:
                own = Parameter(name)
                ends = All(tuple(Comparison(each, Path(()), own) for each in (AT_LEAST, AT_MOST)))
                return Exists(_narrowed(steps, ends)) if steps else ends
        return leaf

    return xpath.saying(_Changed(written).expression(xpath.expression))


def _narrowed(steps: tuple[Step, ...], condition: Condition) -> Path:
    """A path to what meets one more condition."""
    last = steps[-1]
    return Path((*steps[:-1], Step(last.deep, last.label, (*last.predicates, condition))))


# -- parameters left out


def without(xpath: XPath, names: Collection[str]) -> XPath:
    """The pattern without the conditions that have one of these parameters.

    Each of them is taken to hold; of a comparison, that there is something to compare is left.

    >>> from tidegate.documents.xpath import parse_xpath
    >>> print(without(parse_xpath("//quote[@symbol = 'IBM'][price < $limit]"), {"limit"}))
    //quote[@symbol = 'IBM'][price]
    >>> print(without(parse_xpath("//quote[price < $limit][1]/note"), {"limit"}))
    //quote[price]/note
    """
    return xpath.saying(_Without(frozenset(names)).expression(xpath.expression))


@dataclass(frozen=True, slots=True)
class _Without:
    """Leaves out conditions with certain parameters; a condition that is None holds always."""

    names: frozenset[str]

    def expression(self, expression: Expression) -> Expression:
        return Expression(tuple(map(self._path, expression.paths)))

    def _path(self, path: Path) -> Path:
        return Path(tuple(map(self._step, path.steps)))

    def _step(self, step: Step) -> Step:
        kept: list[Condition] = []
        changed = False
        for predicate in step.predicates:
            left = self._condition(predicate, changed)
            changed = changed or left != predicate
            if left is not None:
                kept.append(left)
        return Step(step.deep, step.label, tuple(kept))

    def _condition(self, condition: Condition, changed: bool) -> Condition | None:
        """What is left of a condition, if what positions in it count has changed."""
        match condition:
            case Exists(path):
                return Exists(self._path(path))
            case Comparison(operator, path, own):
                left = self._path(path)
                if self._has(own) or (operator in FIRST and left != path):
                    return Exists(left) if left.steps and not may_be_empty(condition) else None
                return Comparison(operator, left, own)
            case Rank(_, number):
                return None if changed or self._has(number) else condition
            case All(parts):
                some = [each for part in parts if (each := self._condition(part, changed))]
                return All(tuple(some)) if len(some) > 1 else some[0] if some else None
            case Some(parts):
                every = [self._condition(part, changed) for part in parts]
                return None if None in every else Some(tuple(each for each in every if each))

    def _has(self, own: object) -> bool:
        return isinstance(own, Parameter) and own.name in self.names


def may_be_empty(comparison: Comparison) -> bool:
    """Whether it may hold where there is nothing at the end of its path.

    That every text begins with the empty one is true of no text as well.
    """
    own = comparison.constant
    return comparison.operator in FIRST and (isinstance(own, Parameter) or own == "")
