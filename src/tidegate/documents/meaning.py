"""Which pattern does an expression mean?

Step by step: a predicate that compares the node itself is a test of it, one with a path is a
branch, `or` is a choice, a number is a position among the siblings that the predicates before it
left over. As XPath counts, `//a[2]` is the second `a` of its parent, wherever that is, and
`a[@x][2]` the second of those with an `@x`.

`starts-with` and `contains` look at the first node of a path only, in the order of the document.
For a path without `//` that can be said by positions: the first `b/c` is the first `c` of the first
`b` that has a `c`, so `[starts-with(b/c, 'x')]` is `[b[c][1]/c[1][starts-with(., 'x')]]`.
"""

import math
from dataclasses import dataclass, field
from typing import Final

from tidegate.documents.pattern import (
    AT_LEAST,
    AT_MOST,
    CONTAINS,
    EQUAL,
    ROOT,
    STARTS,
    UNEQUAL,
    Branch,
    Choice,
    Distance,
    Node,
    Position,
    ValueTest,
)
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
from tidegate.documents.values import spelled
from tidegate.errors import FilterSyntaxError

MAX_NODES: Final = 10_000
"""How large a pattern may grow: each position repeats what it counts."""

_CHILD: Final = Distance(1)
_DEEP: Final = Distance(1, False)


class NeverError(Exception):
    """No document meets this condition."""


@dataclass(slots=True)
class _Draft:
    """A node while its conditions are read."""

    label: str
    tests: list[ValueTest] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)

    def node(self) -> Node:
        made = Node(
            self.label,
            tuple(self.tests),
            tuple(self.branches),
            tuple(self.positions),
            tuple(self.choices),
        )
        if made.size > MAX_NODES:
            raise FilterSyntaxError(
                "the pattern grows too large when its positions are written out",
                instead="fewer positions, one within the other",
            )
        return made


def pattern_of(expression: Expression) -> Node | None:
    """The root of what an expression means, not in normal form; None if it is nothing."""
    options: list[Node] = []
    for path in expression.paths:
        try:
            options.append(_root(path))
        except NeverError:
            continue
    if not options:
        return None
    if len(options) == 1:
        return options[0]
    return Node(ROOT, choices=(Choice(tuple(options)),))


def _root(path: Path) -> Node:
    return Node(ROOT, branches=(_branch(path.steps, None),) if path.steps else ())


def _branch(steps: tuple[Step, ...], test: ValueTest | None) -> Branch:
    """The steps as a branch, with a test of what is at their end."""
    branch: Branch | None = None
    for step in reversed(steps):
        draft = _conditions(step)
        if branch is not None:
            draft.branches.append(branch)
        elif test is not None:
            draft.tests.append(test)
        branch = Branch(_DEEP if step.deep else _CHILD, draft.node())
    assert branch is not None
    return branch


def _first(steps: tuple[Step, ...], test: ValueTest) -> Branch:
    """The steps as a branch to the first of all nodes at their end, which passes a test."""
    some: Branch | None = None
    first: Branch | None = None
    for step in reversed(steps):
        draft = _conditions(step)
        if some is not None:
            draft.branches.append(some)
        among = draft.node()
        some = Branch(_CHILD, among)
        if not among.is_attribute:  # of which there is but one
            draft.positions.append(Position(EQUAL, 1, among))
        if first is not None:
            draft.branches.append(first)
        else:
            draft.tests.append(test)
        first = Branch(_CHILD, draft.node())
    assert first is not None
    return first


def _conditions(step: Step) -> _Draft:
    draft = _Draft(step.label)
    for predicate in step.predicates:
        _add(draft, predicate, draft.node())
    return draft


def _add(draft: _Draft, condition: Condition, among: Node) -> None:
    """Add a condition; positions in it count what fits `among`."""
    match condition:
        case Exists(path):
            if path.steps:
                draft.branches.append(_branch(path.steps, None))
        case Comparison(operator, path, constant):
            _compare(draft, operator, path, constant)
        case Rank(operator, number):
            position = _position(operator, number, among)
            if position is not None:
                draft.positions.append(position)
        case All(parts):
            for part in parts:
                _add(draft, part, among)
        case Some(parts):
            _choose(draft, parts, among)


def _choose(draft: _Draft, parts: tuple[Condition, ...], among: Node) -> None:
    options: list[Node] = []
    for part in parts:
        option = _Draft(draft.label)
        try:
            _add(option, part, among)
        except NeverError:
            continue
        options.append(option.node())
    if not options:
        raise NeverError
    draft.choices.append(Choice(tuple(options)))


def _compare(draft: _Draft, operator: str, path: Path, constant: object) -> None:
    assert not isinstance(constant, Parameter)
    if isinstance(constant, Absent):
        raise NeverError
    assert isinstance(constant, str | float)
    if operator in (STARTS, CONTAINS):
        sought = constant if isinstance(constant, str) else spelled(constant)
        test = ValueTest(operator, sought)
        if not sought:
            return  # even where there is no node to look at
    else:
        test = ValueTest(operator, constant)
    if not path.steps:
        draft.tests.append(test)
    elif operator in (STARTS, CONTAINS):
        draft.branches.append(_first(path.steps, test))
    else:
        draft.branches.append(_branch(path.steps, test))


def _position(operator: str, number: object, among: Node) -> Position | None:
    """A position in its one form; None if every node has it."""
    if isinstance(number, Absent):
        raise NeverError
    if among.is_attribute:
        return _settled(_of_one(operator, number))
    if number is None:
        if operator == "<=":
            return None
        if operator == ">":
            raise NeverError
        return Position(EQUAL if operator in ("=", ">=") else UNEQUAL, None, among)
    assert isinstance(number, float)
    if math.isnan(number):
        return _settled(operator == UNEQUAL)
    if operator in (EQUAL, UNEQUAL):
        if number < 1 or not number.is_integer():
            return _settled(operator == UNEQUAL)
        return Position(operator, int(number), among)
    if operator in ("<", "<="):
        if math.isinf(number):
            return _settled(number > 0)
        most = math.floor(number) if operator == "<=" else math.ceil(number) - 1
        if most < 1:
            raise NeverError
        return Position(EQUAL, 1, among) if most == 1 else Position(AT_MOST, most, among)
    if math.isinf(number):
        return _settled(number < 0)
    least = math.ceil(number) if operator == ">=" else math.floor(number) + 1
    return None if least <= 1 else Position(AT_LEAST, least, among)


def _of_one(operator: str, number: object) -> bool:
    """An attribute is the first and the last of its name."""
    rank = 1.0 if number is None else number
    assert isinstance(rank, float)
    holds = {
        "=": rank == 1,
        "!=": rank != 1,
        "<": rank > 1,
        "<=": rank >= 1,
        ">": rank < 1,
        ">=": rank <= 1,
    }
    return holds[operator]


def _settled(holds: bool) -> Position | None:
    """Nothing to ask for, or nothing to be had."""
    if not holds:
        raise NeverError
    return None
