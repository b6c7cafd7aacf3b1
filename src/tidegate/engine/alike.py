"""Which filters differ in their constants only?

Subscriptions that come one by one are mostly alike: the same comparisons of the same attributes,
with constants of their own. Seen as a block of one filter with parameters, they are drafted a
column at a time (`draft`), and not a predicate at a time. Only conjunctions are looked at, of
predicates with one constant at most.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa

from tidegate.engine.subscription import Block, Subscription, id_array
from tidegate.filters.expression import And, Node, Parameter, Predicate
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.filters.values import MAX_PRECISION

_ENOUGH: Final = 16  # subscriptions that make a block
_ARROW: Final[dict[type, pa.DataType]] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
}
_Outline: TypeAlias = tuple[Any, ...]  # for each predicate all but its constant, and the type of it


def alike(
    subscriptions: Sequence[Subscription], schema: Schema | None
) -> tuple[list[tuple[Block, list[Subscription]]], list[Subscription]]:
    """Blocks that ask for the same as some subscriptions each, and the subscriptions left."""
    by_outline: dict[_Outline, list[Subscription]] = {}
    rest: list[Subscription] = []
    for subscription in subscriptions:
        outline = _outline(subscription.bound.tree)
        if outline is None:
            rest.append(subscription)
        else:
            by_outline.setdefault(outline, []).append(subscription)
    blocks = []
    for outline, group in by_outline.items():
        if len(group) < _ENOUGH:
            rest += group
        else:
            blocks.append((_block(outline, group, schema), group))
    return blocks, rest


def _outline(tree: Node) -> _Outline | None:
    """What a conjunction says but for its constants; None if it is none, or not a plain one."""
    found: list[Any] = []
    for part in tree.parts if isinstance(tree, And) else (tree,):
        if not isinstance(part, Predicate):
            return None
        kind: Any = None
        if part.constants:
            (constant, *more) = part.constants
            kind = _kind(constant)
            if more or kind is None:
                return None
        found.append((part.attribute, part.operator, part.mode, kind))
    return tuple(found)


def _kind(constant: Any) -> pa.DataType | None:
    """The type of a column of such constants."""
    if type(constant) is Decimal:
        _, digits, exponent = constant.as_tuple()
        scale = -exponent if isinstance(exponent, int) else -1
        fits = 0 <= scale <= MAX_PRECISION >= len(digits)
        return pa.decimal128(MAX_PRECISION, scale) if fits else None
    return _ARROW.get(type(constant))


def _block(outline: _Outline, group: list[Subscription], schema: Schema | None) -> Block:
    trees = [each.bound.tree for each in group]
    rows = [tree.parts if isinstance(tree, And) else (tree,) for tree in trees]
    parts: list[Predicate] = []
    columns: dict[str, pa.Array] = {}
    for place, (attribute, operator, mode, kind) in enumerate(outline):
        operands: tuple[Parameter, ...] = ()
        if kind is not None:
            name = f"p{place}"
            operands = (Parameter(name),)
            columns[name] = pa.array([row[place].constants[0] for row in rows], kind)  # type: ignore[union-attr]
        parts.append(Predicate(attribute, operator, operands, mode))
    tree = And(tuple(parts)) if len(parts) > 1 else parts[0]
    return Block(Filter.of(tree, schema), id_array([each.id for each in group]), columns)
