"""What do texts of one shape have in common?

A `Template` is a parsed filter with slots where the literals of a text go.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from tidegate.filters.expression import Node, Predicate, Slot
from tidegate.filters.values import Constant

Step: TypeAlias = Callable[[list[Constant]], None]


@dataclass(frozen=True, slots=True)
class Template:
    """What all texts of one shape have in common: a tree with slots for their literals.

    `steps` turn literals into constants, in place: typed literals, signs, checks against a schema.
    """

    tree: Node
    steps: tuple[Step, ...]
    parameters: tuple[str, ...]
    attributes: frozenset[str]
    nested: bool = field(init=False)  # whether an attribute is a field of a struct

    def __post_init__(self) -> None:
        object.__setattr__(self, "nested", any("." in name for name in self.attributes))


def fill(predicate: Predicate, values: list[Constant]) -> Predicate:
    """The predicate with its slots filled."""
    constants = tuple([values[c.index] if type(c) is Slot else c for c in predicate.constants])
    return Predicate(predicate.attribute, predicate.operator, constants, predicate.mode)
