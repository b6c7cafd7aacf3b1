"""How is a Boolean filter written down in a few bytes?

A **subscription tree** is the tree of a filter in preorder: an operator with the number of its
parts and the width of all of them together, so that what is behind it is found without reading
them; or the number of a predicate, its variable (see `papers.predicates`). Nearly always, an
operator takes two bytes and a predicate one to three. NOT is in the predicates already. This is the
space efficient encoding that Bittner and Hinze use, "A Detailed Investigation of Memory
Requirements for Publish/Subscribe Filtering Algorithms" (2005); the bytes themselves are ours.

A tree is **normal** before it is written: no AND in an AND, no OR in an OR, at least two parts to
each, and TRUE or FALSE only as a whole. Between Python and the bytes stand **tokens**: the same
preorder as integers, the kind in the last two bits, before it the variable, the number of parts, or
1 for TRUE.

The first byte, kind in the highest two bits:

- `LEAF`: two bits for how many bytes follow, four bits and those bytes for the variable;
- `AND`, `OR`: one bit for whether numbers take two bytes, five bits for the number of parts, then
  the width; 0 parts means that their number follows, before the width;
- `TRUTH`: the last bit is the truth.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.filters.expression import And, Node, Or, Predicate, Truth
from tidegate.jit import inlined, kernel

Tree: TypeAlias = NDArray[np.uint8]
Integers: TypeAlias = NDArray[np.int64]

LEAF: Final = 0
AND: Final = 1
OR: Final = 2
TRUTH: Final = 3

MOST_LEAVES: Final = 1023
"""Predicates that a tree may have here."""
MOST_TOKENS: Final = 2 * MOST_LEAVES
SPILL: Final = 3
MOST_BYTES: Final = 5 * MOST_TOKENS + SPILL
MOST_VARIABLES: Final = 1 << 28

_NARROW: Final = 32  # parts, and more, whose number does not fit into the first byte
_WIDE: Final = 256  # bytes, or parts, of which the number takes two bytes


@inlined
def read(tree: Tree, at: int) -> tuple[int, int, int, int]:
    """The node there: its kind, its operand, where its parts begin, and where it ends.

    A predicate is read as if it had four bytes, which takes no branch: behind the last tree there
    are `SPILL` bytes that mean nothing.
    """
    first: Any = np.int64(tree[at])
    kind = first >> 6
    if kind == LEAF:
        more = first >> 4
        four = first << 24 | np.int64(tree[at + 1]) << 16
        four |= np.int64(tree[at + 2]) << 8 | np.int64(tree[at + 3])
        at += 1 + more
        return kind, (four & 0xFFF_FFFF) >> (24 - 8 * more), at, at
    at += 1
    if kind == TRUTH:
        return kind, first & 1, at, at
    parts = first & 31
    if first & 32:
        if parts == 0:
            parts = np.int64(tree[at]) << 8 | np.int64(tree[at + 1])
            at += 2
        width: Any = np.int64(tree[at]) << 8 | np.int64(tree[at + 1])
        at += 2
    else:
        if parts == 0:
            parts = np.int64(tree[at])
            at += 1
        width = np.int64(tree[at])
        at += 1
    return kind, parts, at, at + width


@kernel
def encode(tokens: Integers, count: int, out: Tree, widths: Integers) -> int:
    """Write a tree to the end of `out`, before `SPILL` bytes; where it begins there.

    From the last token to the first: what an operator is the width of stands there already.
    """
    at = len(out) - SPILL
    done = 0  # parts that are written and have no operator yet; their widths are on a stack
    for i in range(count - 1, -1, -1):
        kind = tokens[i] & 3
        operand = tokens[i] >> 2
        end = at
        if kind == LEAF:
            extra = 0
            while operand >= 16:
                at -= 1
                out[at] = np.uint8(operand & 255)
                operand >>= 8
                extra += 1
            at -= 1
            out[at] = np.uint8(extra << 4 | operand)
        elif kind == TRUTH:
            at -= 1
            out[at] = np.uint8(TRUTH << 6 | operand)
        else:
            width: Any = np.int64(0)
            for part in range(operand):
                width += widths[done - 1 - part]
            done -= operand
            end = at + width
            at = _encode_operator(kind, operand, width, out, at)
        widths[done] = end - at
        done += 1
    return at


@kernel
def _encode_operator(kind: int, parts: int, width: int, out: Tree, at: int) -> int:
    wide = 0
    if width >= _WIDE or parts >= _WIDE:
        wide = 32
    at = _encode_number(width, wide, out, at)
    inside = parts
    if parts >= _NARROW:
        at = _encode_number(parts, wide, out, at)
        inside = 0
    at -= 1
    out[at] = np.uint8(kind << 6 | wide | inside)
    return at


@kernel
def _encode_number(number: int, wide: int, out: Tree, at: int) -> int:
    at -= 1
    out[at] = np.uint8(number & 255)
    if wide:
        at -= 1
        out[at] = np.uint8(number >> 8)
    return at


@kernel
def decode(tree: Tree, at: int, tokens: Integers, places: Integers) -> int:
    """The tokens of the tree there, and where each of them stands; how many they are."""
    end = read(tree, at)[3]
    count = 0
    while at < end:
        kind, operand, body, _ = read(tree, at)
        tokens[count] = operand << 2 | kind
        places[count] = at
        count += 1
        at = body
    return count


def normal(node: Node) -> Node:
    """The same filter as a normal tree.

    >>> from tidegate import parse
    >>> a, b = parse("a = 1 OR b = 2").tree.parts
    >>> print(normal(And((Truth(True), Or((a, Or((b, Truth(False)))))))))
    a = 1 OR b = 2
    """
    if isinstance(node, Predicate | Truth):
        return node
    kind, decisive = type(node), isinstance(node, Or)
    parts: list[Node] = []
    for each in node.parts:
        part = normal(each)
        if isinstance(part, Truth):
            if part.value is decisive:
                return part
        elif isinstance(part, kind):
            parts.extend(part.parts)
        else:
            parts.append(part)
    if not parts:
        return Truth(not decisive)
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def tokens_of(node: Node, variable: Callable[[Predicate], int]) -> list[int]:
    """The tokens of a normal tree."""
    tokens: list[int] = []
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Predicate):
            tokens.append(variable(top) << 2 | LEAF)
        elif isinstance(top, Truth):
            tokens.append(top.value << 2 | TRUTH)
        else:
            tokens.append(len(top.parts) << 2 | (AND if isinstance(top, And) else OR))
            stack.extend(reversed(top.parts))
    return tokens


def node_of(tokens: Sequence[int], predicate: Callable[[int], Predicate]) -> Node:
    """The tree that has these tokens."""
    done: list[Node] = []
    for token in reversed(tokens):
        kind, operand = token & 3, token >> 2
        if kind == LEAF:
            done.append(predicate(operand))
        elif kind == TRUTH:
            done.append(Truth(operand == 1))
        else:
            parts = tuple(reversed(done[len(done) - operand :]))
            del done[len(done) - operand :]
            done.append(And(parts) if kind == AND else Or(parts))
    return done[0]
