"""Which things do the words of a text make?

The tree that `grammar` makes of tokens, before anything is known of what it means: operands
(`Name`, `Given`, `Bound`, `Fixed`, `Call`, `Listed`), comparisons and tests of them, and how these
are joined. Everything that stands somewhere in the text knows its first token, for refusals.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from tidegate.filters.values import Constant


class Name(NamedTuple):
    """The name of an attribute, as `expression.attribute_name` writes it."""

    attribute: str
    at: int


class Given(NamedTuple):
    """A literal, or a run of them: its slots, the mark of the first, and what is done to it."""

    slots: range
    mark: str
    at: int
    cast: Callable[[Any], Constant] | None = None  # of a typed literal
    signs: int = 0  # minus signs before it


class Bound(NamedTuple):
    """A parameter."""

    parameter: str


class Fixed(NamedTuple):
    """TRUE, FALSE or NULL."""

    value: bool | None


class Call(NamedTuple):
    """A function and what it is called with."""

    function: str
    arguments: "tuple[Syntax, ...]"
    at: int


class Listed(NamedTuple):
    """Things in parentheses with commas between them, or nothing in parentheses."""

    members: "tuple[Syntax, ...]"


class Minus(NamedTuple):
    """A minus sign before something that is no literal."""

    operand: "Syntax"


class Compared(NamedTuple):
    """Two operands and the operator between them."""

    operator: str
    left: "Syntax"
    right: "Syntax"


class Between(NamedTuple):
    """`operand BETWEEN low AND high`."""

    operand: "Syntax"
    low: "Syntax"
    high: "Syntax"


class Within(NamedTuple):
    """`operand IN (…)`; what follows IN may be something else than a list."""

    operand: "Syntax"
    members: "Syntax"


class Like(NamedTuple):
    """`operand LIKE pattern ESCAPE escape`; or ILIKE, without regard to case.

    With ANY or ALL, the pattern is a list.
    """

    operand: "Syntax"
    pattern: "Syntax"
    escape: "Syntax | None"
    folded: bool
    quantifier: str
    negated: bool


class Is(NamedTuple):
    """`operand IS` NULL, TRUE, FALSE; None if something else stands there."""

    operand: "Syntax"
    test: Fixed | None


class Not(NamedTuple):
    """The opposite of something."""

    operand: "Syntax"


class Joined(NamedTuple):
    """Several conditions with AND, or with OR, between them."""

    word: str
    parts: "list[Syntax]"


class Parenthesised(NamedTuple):
    """A condition in parentheses of its own."""

    inside: "Syntax"


Syntax: TypeAlias = (
    Name | Given | Bound | Fixed | Call | Listed | Minus | Compared | Between | Within | Like | Is
    | Not | Joined | Parenthesised
)  # fmt: skip

CONDITIONS = (Compared, Between, Within, Like, Is, Not, Joined)
"""What holds or does not hold."""


def first_token(syntax: Syntax) -> int | None:
    """The first token of a name, a literal or a function in it, if there is one."""
    return min(_tokens(syntax), default=None)


def _tokens(syntax: Syntax) -> Iterator[int]:
    stack: list[Any] = [syntax]
    while stack:
        top = stack.pop()
        if isinstance(top, Name | Given | Call):
            yield top.at
        if isinstance(top, tuple | list) and not isinstance(top, Name | Given):
            stack += [part for part in top if isinstance(part, tuple | list)]
