"""How is a Boolean tree evaluated for 512 events at once?

What of a filter is no conjunction becomes a **program**: its tree in postfix notation over
conditions (`numbered`), with no NOTs left, as they were pushed to the predicates. A token is an
operation and the number of a condition; operations that take their condition along keep the stack
short, and so does putting the trees first that need it high (Sethi and Ullman, 1970): a stack of 64
serves 2**63 leaves. Parts of an AND or OR are sorted, so that trees which differ only in their
order are one program; and programs of one skeleton can be kept side by side, which processors
predict better.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.conditions.numbered import ALWAYS, NEVER, Conditions
from tidegate.engine.partition.arrays import AND, AND_ROW, DEPTH, OPERAND, OR, OR_ROW, PUSH
from tidegate.filters.expression import And, Node, Or, Predicate, Truth, predicates

Tokens: TypeAlias = tuple[int, ...]
_Form: TypeAlias = "int | Tokens"  # a condition's number (or NEVER, ALWAYS), or a program

NO_PROGRAM: Final = -1

_ROW_OPERATION: Final = {And: AND_ROW, Or: OR_ROW}
_OPERATION: Final = {And: AND, Or: OR}


class Programs:
    """Programs over the same conditions, numbered from 0; equal ones have one number."""

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._tokens: list[Tokens] = []
        self._numbers: dict[Tokens, int] = {}

    def __len__(self) -> int:
        return len(self._tokens)

    def tokens(self, number: int) -> Tokens:
        """The tokens of a program."""
        return self._tokens[number]

    def leaves(self, node: Node) -> list[Predicate]:
        """The predicates of a tree, in the order in which `of` replaces them."""
        return list(predicates(node))

    def of(self, node: Node, bound: list[Predicate] | None = None) -> int:
        """The number of the tree's program, or NEVER or ALWAYS if it is that.

        `bound` are predicates that stand for those of the tree.
        """
        form = self._form(node, None if bound is None else iter(bound))
        if isinstance(form, int):
            if form < 0:
                return form
            form = (PUSH | form,)
        return self._number(form)

    def adopt(self, tokens: Tokens, number: Callable[[int], int]) -> int:
        """The number of a program over other conditions, which `number` gives their own here."""
        return self._number(
            tuple(
                token if token & ~OPERAND in (AND, OR)
                else token & ~OPERAND | number(token & OPERAND)
                for token in tokens
            )
        )  # fmt: skip

    def keep(self, tokens: Tokens) -> int:
        """The number of a program given as its tokens; none is NO_PROGRAM."""
        return self._number(tokens) if tokens else NO_PROGRAM

    def _number(self, tokens: Tokens) -> int:
        number = self._numbers.get(tokens)
        if number is None:
            assert _height(tokens) < DEPTH
            number = self._numbers[tokens] = len(self._tokens)
            self._tokens.append(tokens)
        return number

    def _form(self, node: Node, bound: Iterator[Predicate] | None) -> _Form:
        if isinstance(node, Predicate):
            return self._conditions.of(node if bound is None else next(bound))
        if isinstance(node, Truth):
            return ALWAYS if node.value else NEVER
        forms = [self._form(part, bound) for part in node.parts]
        decisive, neutral = (NEVER, ALWAYS) if isinstance(node, And) else (ALWAYS, NEVER)
        if decisive in forms:
            return decisive
        leaves = sorted({form for form in forms if isinstance(form, int) and form != neutral})
        trees = sorted({form for form in forms if isinstance(form, tuple)}, key=_highest_first)
        return _combine(type(node), leaves, trees) if leaves or trees else neutral


def _combine(kind: type[And] | type[Or], leaves: list[int], trees: list[Tokens]) -> _Form:
    """AND or OR of conditions and programs."""
    if len(leaves) + len(trees) == 1:
        return leaves[0] if leaves else trees[0]
    tokens: list[int] = []
    for tree in trees:
        joint = [_OPERATION[kind]] if tokens else []
        tokens += [*tree, *joint]
    if not tokens:
        tokens.append(PUSH | leaves.pop(0))
    tokens += [_ROW_OPERATION[kind] | leaf for leaf in leaves]
    return tuple(tokens)


def _highest_first(tokens: Tokens) -> tuple[int, Tokens]:
    """By how high a stack the program needs, and then by its tokens."""
    return -_height(tokens), tokens


def _height(tokens: Tokens) -> int:
    """How many rows a program keeps at once, at most."""
    height = highest = 0
    for token in tokens:
        if token < AND_ROW:  # PUSH
            height += 1
            highest = max(highest, height)
        elif token >= AND:  # or OR
            height -= 1
    return highest


def skeleton(tokens: Tokens) -> bytes:
    """The operations of a program without their conditions."""
    return bytes(token >> 29 for token in tokens)


def flat(programs: Programs, numbers: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """The tokens of programs one after the other, and how many each has; -1 has none."""
    chosen = [programs.tokens(number) if number >= 0 else () for number in numbers.tolist()]
    counts = np.array([len(tokens) for tokens in chosen], np.int64)
    return np.array([token for tokens in chosen for token in tokens], np.uint32), counts
