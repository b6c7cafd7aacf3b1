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
_Outline: TypeAlias = tuple[Any, ...]  # of each predicate all but its constant, and its kind


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
    for group in by_outline.values():
        if len(group) < _ENOUGH:
            rest += group
        else:
            blocks.append((_block(group, schema), group))
    return blocks, rest


def _outline(tree: Node) -> _Outline | None:
    """What a conjunction says but for its constants; None if it is none, or not a plain one."""
    found: list[Any] = []
    for part in tree.parts if isinstance(tree, And) else (tree,):
        if not isinstance(part, Predicate) or len(part.constants) > 1:
            return None
        kind = None
        if part.constants:
            kind = _kind(part.constants[0])
            if kind is None:
                return None
        found += (part.attribute, part.operator._value_, part.mode._value_, kind)
    return tuple(found)


def _kind(constant: Any) -> type | int | None:
    """What constants of one column have in common: a type, or the scale of decimals."""
    kind = type(constant)
    if kind is Decimal:
        _, digits, exponent = constant.as_tuple()
        scale = -exponent if isinstance(exponent, int) else -1
        return scale if 0 <= scale <= MAX_PRECISION >= len(digits) else None
    return kind if kind in _ARROW else None


def _column(constants: list[Any]) -> pa.Array:
    """Constants of one kind as a column."""
    kind = _kind(constants[0])
    if isinstance(kind, int):
        return pa.array(constants, pa.decimal128(MAX_PRECISION, kind))
    assert kind is not None
    return pa.array(constants, _ARROW[kind])


def _block(group: list[Subscription], schema: Schema | None) -> Block:
    """Subscriptions of one outline as a block."""
    trees = [each.bound.tree for each in group]
    rows = [tree.parts if isinstance(tree, And) else (tree,) for tree in trees]
    parts: list[Predicate] = []
    columns: dict[str, pa.Array] = {}
    for place, part in enumerate(rows[0]):
        assert isinstance(part, Predicate)
        operands: tuple[Parameter, ...] = ()
        if part.constants:
            name = f"p{place}"
            operands = (Parameter(name),)
            columns[name] = _column([row[place].constants[0] for row in rows])  # type: ignore[union-attr]
        parts.append(Predicate(part.attribute, part.operator, operands, part.mode))
    tree = And(tuple(parts)) if len(parts) > 1 else parts[0]
    return Block(Filter.of(tree, schema), id_array([each.id for each in group]), columns)
