"""What do filters of many shapes ask for in the same words?

`a < 5 AND b = 'x'` and `c = 1 AND a < 7` have a predicate each that differs in its constant only.
So filters are taken apart: what a conjunction asks of one attribute is a **clause**, and clauses
that differ in constants only are a **column**, which can be read like a block of subscriptions.
What is not a predicate (an OR) stays what it is.

Invariant: a filter asks for the same as its clauses and what else it is the AND of, together.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, TypeAlias

import pyarrow as pa

from tidegate.engine.subscriptions.subscription import ARROW_TYPES, Block
from tidegate.filters.expression import And, Node, Parameter, Predicate, Slot, Truth, conjuncts
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.filters.template import Template, fill
from tidegate.filters.values import MAX_PRECISION

_FEWEST_OF_A_BLOCK: Final = 16  # clauses that make a block
_FIXED: Final = -1  # the constant, if there is one, stands in the predicate itself
_SEVERAL: Final = -2  # there are several constants
_Kind: TypeAlias = "type | int | None"
_Said: TypeAlias = tuple[str, str, str]
"""What a predicate says but for its constants: attribute, operator, and when it holds."""
_Ask: TypeAlias = tuple[_Said, Predicate, int]
"""The same, with the predicate, and the slot of its constant, or `_FIXED`, or `_SEVERAL`."""


class Clauses:
    """Filters, taken apart; they are known by their places.

    `columns` are their clauses, `others` what else they are the AND of, `never` the filters that
    have FALSE among it.

    >>> from tidegate.filters.filter import parse
    >>> texts = ["a < 5 AND b = 'x'", "c = 1 AND a < 7 AND (b = 'y' OR c = 2)", "FALSE"]
    >>> found = Clauses([parse(text) for text in texts])
    >>> [(str(column.predicates[0]), column.rows, column.constants) for column in found.columns]
    [('a < ?0', [0, 1], [[5, 7]]), ('b = ?0', [0], [['x']]), ('c = ?0', [1], [[1]])]
    >>> [(row, str(node)) for row, node in found.others], found.never
    ([(1, "b = 'y' OR c = 2")], [2])
    """

    def __init__(self, filters: Sequence[Filter]) -> None:
        self.others: list[tuple[int, Node]] = []
        self.never: list[int] = []
        self._columns: dict[tuple[Any, ...], ClauseColumn] = {}
        self._read(filters)

    @property
    def columns(self) -> "Iterable[ClauseColumn]":
        """The clauses, those that differ in constants only together."""
        return self._columns.values()

    def _read(self, filters: Sequence[Filter]) -> None:
        outlines: dict[int, _Outline] = {}
        for row, filter in enumerate(filters):
            clauses, values = filter.clauses, filter.constants
            found = []
            for clause in clauses:
                outline = outlines.get(id(clause))
                if outline is None:
                    outline = outlines[id(clause)] = _Outline(clause)
                found.append(outline)
            attributes = {outline.attribute for outline in found}
            if len(attributes) < len(found) or None in attributes:
                self._take_apart(row, found, values)
                continue
            base = 0
            for outline in found:  # each asks one thing, each of another attribute
                said, predicate, slot = outline.asked[0]
                constant = _constant(predicate, slot, values, base)
                kind = type(constant)
                column = outline.columns.get(kind)
                if column is None:
                    column = self._column([(said, predicate, constant)])
                    if kind is not Decimal:  # whose scale matters, too
                        outline.columns[kind] = column
                column.rows.append(row)
                column.constants[0].append(constant)
                base += outline.slots

    def _take_apart(self, row: int, found: "list[_Outline]", values: list[Any]) -> None:
        """The same for a filter that says several things of one attribute, or has ORs in it."""
        asked: dict[str, list[tuple[_Said, Predicate, Any]]] = {}
        base = 0
        for outline in found:
            for said, predicate, slot in outline.asked:
                constant = _constant(predicate, slot, values, base)
                asked.setdefault(said[0], []).append((said, predicate, constant))
            self.others += [(row, _filled(node, values, base)) for node in outline.others]
            if outline.never:
                self.never.append(row)
            base += outline.slots
        for together in asked.values():
            column = self._column(together)
            column.rows.append(row)
            for own, (_, _, constant) in zip(column.constants, together, strict=True):
                own.append(constant)

    def _column(self, together: list[tuple[_Said, Predicate, Any]]) -> "ClauseColumn":
        """The column of what is asked of one attribute; a new one if it is the first."""
        key = tuple([(said, _kind(constant)) for said, _, constant in together])
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = ClauseColumn([predicate for _, predicate, _ in together])
        return column


class _Nothing:
    """Stands for the constant of a predicate that has none."""


_NOTHING: Final = _Nothing()


class ClauseColumn:
    """What filters ask of one attribute in the same words: which, and with which constants."""

    __slots__ = ("constants", "predicates", "rows")

    def __init__(self, predicates: list[Predicate]) -> None:
        self.predicates = predicates
        self.rows: list[int] = []
        self.constants: list[list[Any]] = [[] for _ in predicates]

    def block(self, schema: Schema | None) -> Block | None:
        """The clauses as subscriptions of one filter, if there are enough of them.

        And if their constants have columns. The ids are places in `rows`.
        """
        if len(self.rows) < _FEWEST_OF_A_BLOCK:
            return None
        parts: list[Node] = []
        columns: dict[str, pa.Array] = {}
        for place, (predicate, given) in enumerate(
            zip(self.predicates, self.constants, strict=True)
        ):
            operands: tuple[Parameter, ...] = ()
            if given[0] is not _NOTHING:
                kind = _kind(given[0])
                if kind is None:
                    return None
                name = f"p{place}"
                operands = (Parameter(name),)
                columns[name] = _arrow_column(given, kind)
            parts.append(
                Predicate(predicate.attribute, predicate.operator, operands, predicate.mode)
            )
        tree = And(tuple(parts)) if len(parts) > 1 else parts[0]
        return Block(Filter.of(tree, schema), pa.array(range(len(self.rows)), pa.int64()), columns)

    def each(self) -> Iterator[tuple[int, list[Predicate]]]:
        """The clauses one by one: of which filter, and its predicates, with their constants."""
        for row, constants in zip(self.rows, zip(*self.constants, strict=True), strict=True):
            yield row, list(map(_bound, self.predicates, constants))


class _Outline:
    """What a clause asks of attributes, once for all filters that have it.

    `asked` are its predicates, `others` what else it is the AND of; `never`, that nothing matches
    it. `attribute` is the one that it asks one thing of, if that is all it does; its columns, by
    the type of the constant, are in `columns`.
    """

    __slots__ = ("asked", "attribute", "columns", "never", "others", "slots")

    def __init__(self, template: Template) -> None:
        self.asked: list[_Ask] = []
        self.others: list[Node] = []
        self.never = False
        self.slots = template.slots
        self.columns: dict[type, ClauseColumn] = {}
        tree = template.tree
        for node in conjuncts(tree):
            if isinstance(node, Truth):
                self.never = self.never or not node.value
            elif isinstance(node, Predicate):
                said = (node.attribute, node.operator._value_, node.mode._value_)
                first = node.constants[0] if node.constants else None
                slot = first.index if isinstance(first, Slot) else _FIXED
                self.asked.append((said, node, slot if len(node.constants) < 2 else _SEVERAL))
            else:
                self.others.append(node)
        alone = len(self.asked) == 1 and not self.others and not self.never
        self.attribute = self.asked[0][0][0] if alone else None


def _constant(predicate: Predicate, slot: int, values: list[Any], base: int) -> Any:
    """The constant of a predicate; several as a tuple, and `_NOTHING` if it has none."""
    if slot >= 0:
        return values[base + slot]
    if slot == _FIXED:
        return predicate.constants[0] if predicate.constants else _NOTHING
    return fill(predicate, values, base).constants


def _filled(node: Node, values: list[Any], base: int) -> Node:
    if isinstance(node, Predicate):
        return fill(node, values, base)
    if isinstance(node, Truth):
        return node
    return type(node)(tuple([_filled(part, values, base) for part in node.parts]))


def _bound(predicate: Predicate, constant: Any) -> Predicate:
    if constant is _NOTHING:
        return predicate
    return replace(predicate, constants=constant if type(constant) is tuple else (constant,))


def _kind(constant: Any) -> _Kind:
    """What constants of one column have in common: a type, or the scale of decimals."""
    kind = type(constant)
    if kind is Decimal:
        _, digits, exponent = constant.as_tuple()
        scale = -exponent if isinstance(exponent, int) else -1
        return scale if 0 <= scale <= MAX_PRECISION >= len(digits) else None
    return kind if kind in ARROW_TYPES or kind is _Nothing else None


def _arrow_column(constants: list[Any], kind: type | int) -> pa.Array:
    if isinstance(kind, int):
        return pa.array(constants, pa.decimal128(MAX_PRECISION, kind))
    return pa.array(constants, ARROW_TYPES[kind])
