"""What do texts of one shape have in common?

A `Template` is a parsed filter with slots where the literals of a text go. A conjunction need not
be parsed as a whole: its template is **joined** of those of its clauses, each of which is the
template of a text of its own, and is shared by all conjunctions that have the clause. The slots of
a clause are counted from its own first literal; what it is filled with stands at its `base` among
the literals of the text.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from tidegate.filters.expression import (
    Node,
    Predicate,
    Slot,
    conjunction,
    map_predicates,
    predicates,
)
from tidegate.filters.values import Constant

Step: TypeAlias = Callable[[list[Constant], int], None]
"""Turns literals into constants, in place, or refuses them; the slots it is about follow a base."""


class Template:
    """What all texts of one shape have in common: a tree with slots for their literals; immutable.

    `steps` turn literals into constants (typed literals, signs, checks against a schema), each with
    the base it is done at.
    `alternatives` says that the text is conditions joined by OR without parentheses around them.
    `attributes` are those of the tree, where they are known.
    """

    __slots__ = ("_attributes", "_tree", "alternatives", "clauses", "parameters", "slots", "steps")

    def __init__(
        self,
        tree: Node,
        steps: Iterable[Step] = (),
        parameters: tuple[str, ...] = (),
        slots: int = 0,
        alternatives: bool = False,
        attributes: frozenset[str] | None = None,
    ) -> None:
        self._tree: Final[Node | None] = tree
        self.steps: tuple[tuple[Step, int], ...] = tuple([(step, 0) for step in steps])
        self.parameters = parameters
        self.slots = slots
        self.alternatives = alternatives
        self.clauses: tuple[Template, ...] = (self,)
        self._attributes = attributes

    @classmethod
    def joined(cls, clauses: Sequence["Template"], slots: int) -> "Template":
        """The template of a conjunction of these clauses."""
        self = cls.__new__(cls)
        self._tree = None  # type: ignore[misc]
        self.clauses = tuple(clauses)
        self.slots = slots
        self.steps = ()
        self.alternatives = False
        self._attributes = None
        self.parameters = ()
        base = 0
        for clause in clauses:
            if clause.parameters:
                self.parameters = tuple(dict.fromkeys((*self.parameters, *clause.parameters)))
            if clause.steps:
                self.steps += tuple([(step, base + own) for step, own in clause.steps])
            base += clause.slots
        return self

    def admit(self, values: list[Constant]) -> None:
        """Make constants of a text's literals; what is refused raises."""
        for step, base in self.steps:
            step(values, base)

    def filled(self, values: list[Constant]) -> Node:
        """The tree with these constants in its slots."""
        if self._tree is not None:
            return _filled(self._tree, self.slots, values, 0)
        base, parts = 0, []
        for clause in self.clauses:
            parts.append(_filled(clause.tree, clause.slots, values, base))
            base += clause.slots
        return conjunction(parts)

    @property
    def tree(self) -> Node:
        """The tree of a template that is not joined of others."""
        assert self._tree is not None
        return self._tree

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes the filter mentions."""
        if self._attributes is None:
            if self._tree is not None:
                self._attributes = frozenset([p.attribute for p in predicates(self._tree)])
            else:
                self._attributes = frozenset().union(*[c.attributes for c in self.clauses])
        return self._attributes

    @property
    def nested(self) -> bool:
        """Whether an attribute is a field of a struct."""
        return any("." in name for name in self.attributes)


def _filled(tree: Node, slots: int, values: list[Constant], base: int) -> Node:
    if not slots:
        return tree
    if type(tree) is Predicate:
        return fill(tree, values, base)
    return map_predicates(tree, lambda p: fill(p, values, base))


def fill(predicate: Predicate, values: list[Constant], base: int = 0) -> Predicate:
    """The predicate with its slots filled."""
    constants: tuple[Any, ...] = tuple(
        [values[base + c.index] if type(c) is Slot else c for c in predicate.constants]
    )
    return Predicate(predicate.attribute, predicate.operator, constants, predicate.mode)
