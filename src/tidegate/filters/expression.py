"""What does a filter look like inside?

A tree of `And`, `Or`, `Truth` and `Predicate`, with every NOT already pushed to the predicates.
SQL's logic has three values; a filter passes an event only on *true*. So a predicate is asked one
of four questions, its **mode**: is it true, is it false (NOT), is it not true, is it not false
(`IS NOT TRUE`, `IS NOT FALSE`). The modes pass through AND and OR by De Morgan's rules, and then
nothing but "holds" or "does not hold" is left: unknown never has to travel up the tree.

A predicate's constants are plain values (see `values`), `Parameter`s still to be bound, or, inside
a template shared by many texts, `Slot`s for their literals.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from tidegate.filters.literals import spell
from tidegate.filters.values import Constant


class Operator(Enum):
    """The operators of predicates; the others of the language are these, asked another way."""

    EQUAL = "="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    SAME = "<=>"
    IN = "IN"
    LIKE = "LIKE"
    ILIKE = "ILIKE"
    STARTS = "startswith"
    ENDS = "endswith"
    CONTAINS = "contains"
    NULL = "IS NULL"


class Mode(Enum):
    """Which question a predicate is asked."""

    TRUE = "is true"
    FALSE = "is false"
    NOT_TRUE = "is not true"
    NOT_FALSE = "is not false"

    @property
    def negated(self) -> "Mode":
        """The question that NOT makes of this one."""
        return _NEGATED[self]

    @property
    def is_positive(self) -> bool:
        """Whether AND stays AND when it is asked this; otherwise it becomes OR."""
        return self is Mode.TRUE or self is Mode.NOT_FALSE

    def holds(self, truth: bool | None) -> bool:
        """The answer for something true, false or, None, unknown.

        >>> Mode.NOT_TRUE.holds(None), Mode.FALSE.holds(None)
        (True, False)
        """
        asked = self is Mode.TRUE or self is Mode.NOT_TRUE
        return (truth is asked) is (self is Mode.TRUE or self is Mode.FALSE)


_NEGATED: Final = {
    Mode.TRUE: Mode.FALSE,
    Mode.FALSE: Mode.TRUE,
    Mode.NOT_TRUE: Mode.NOT_FALSE,
    Mode.NOT_FALSE: Mode.NOT_TRUE,
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A constant to be bound later, written `:name`."""

    name: str


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one literal in a template."""

    index: int


Operand: TypeAlias = Constant | Parameter | Slot


@dataclass(frozen=True, slots=True)
class Predicate:
    """`attribute operator constant(s)`, asked in a mode. LIKE's second constant is its escape."""

    attribute: str
    operator: Operator
    constants: tuple[Operand, ...]
    mode: Mode = Mode.TRUE

    @property
    def is_open(self) -> bool:
        """Whether one of its parameters is still to be bound."""
        return Parameter in map(type, self.constants)

    def __str__(self) -> str:
        return _spell_predicate(self)


@dataclass(frozen=True, slots=True)
class And:
    """Holds where all its parts hold."""

    parts: tuple["Node", ...]

    def __str__(self) -> str:
        return spell_tree(self)


@dataclass(frozen=True, slots=True)
class Or:
    """Holds where one of its parts holds."""

    parts: tuple["Node", ...]

    def __str__(self) -> str:
        return spell_tree(self)


@dataclass(frozen=True, slots=True)
class Truth:
    """Always holds, or never."""

    value: bool

    def __str__(self) -> str:
        return "TRUE" if self.value else "FALSE"


Node: TypeAlias = Predicate | And | Or | Truth

ORDERINGS: Final = frozenset((Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST))
TEXT_OPERATORS: Final = frozenset(
    (Operator.LIKE, Operator.ILIKE, Operator.STARTS, Operator.ENDS, Operator.CONTAINS)
)
PATTERNS: Final = frozenset((Operator.LIKE, Operator.ILIKE))

_OPPOSITE: Final = {
    Operator.LESS: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.LESS,
    Operator.GREATER: Operator.AT_MOST,
    Operator.AT_MOST: Operator.GREATER,
}


def predicate(
    attribute: str, operator: Operator, constants: tuple[Operand, ...], mode: Mode
) -> Predicate:
    """A predicate, written positively where the language has the opposite operator."""
    if mode is Mode.FALSE and operator in ORDERINGS:
        return Predicate(attribute, _OPPOSITE[operator], constants)
    return Predicate(attribute, operator, constants, mode)


def conjunction(parts: list[Node]) -> Node:
    """AND of the parts, flattened; of nothing, TRUE."""
    flat: list[Node] = []
    for part in parts:
        flat.extend(conjuncts(part))
    if not flat:
        return Truth(True)
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def disjunction(parts: list[Node]) -> Node:
    """OR of the parts, flattened; of nothing, FALSE."""
    flat: list[Node] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Or) else (part,))
    if not flat:
        return Truth(False)
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def predicates(node: Node) -> Iterator[Predicate]:
    """The predicates of a tree, left to right, with repetitions."""
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Predicate):
            yield top
        elif isinstance(top, And | Or):
            stack.extend(reversed(top.parts))


def conjuncts(node: Node) -> tuple[Node, ...]:
    """What a tree is the AND of: itself alone, if it is no AND."""
    return node.parts if isinstance(node, And) else (node,)


def map_predicates(node: Node, change: Callable[[Predicate], Predicate]) -> Node:
    """The same tree with `change` applied to every predicate."""
    if isinstance(node, Predicate):
        return change(node)
    if isinstance(node, Truth):
        return node
    return type(node)(tuple([map_predicates(part, change) for part in node.parts]))


MAX_DEPTH: Final = 32
"""How deep parentheses and NOTs may nest in a text, counted together."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KEYWORDS: Final = frozenset(
    {
        "AND",
        "OR",
        "NOT",
        "IN",
        "IS",
        "NULL",
        "TRUE",
        "FALSE",
        "BETWEEN",
        "LIKE",
    }
)
"""Words that are never the name of an attribute, unless in back-quotes."""


def attribute_name(path: tuple[str, ...]) -> str:
    """How an attribute is written: dotted, with back-quotes where a name needs them.

    >>> attribute_name(("trade", "limit price"))
    'trade.`limit price`'
    """
    return ".".join(
        name
        if _PLAIN_NAME.fullmatch(name) and name.upper() not in KEYWORDS
        else "`" + name.replace("`", "``") + "`"
        for name in path
    )


def attribute_path(attribute: str) -> tuple[str, ...]:
    """The names an attribute is made of, a function around it left out.

    >>> attribute_path("trade.`limit price`"), attribute_path("lower(symbol)")
    (('trade', 'limit price'), ('symbol',))
    """
    attribute = base_attribute(attribute)
    if "`" not in attribute:
        return tuple(attribute.split("."))
    parts = re.findall(r"`((?:[^`]|``)*)`|([^.`]+)", attribute)
    return tuple(plain or quoted.replace("``", "`") for quoted, plain in parts)


FUNCTIONS: Final = {"LOWER": "lower", "LCASE": "lower", "UPPER": "upper", "UCASE": "upper"}
"""The functions of an attribute, by the words they are written with."""
_DERIVED: Final = re.compile(r"(lower|upper)\((.*)\)", re.DOTALL)


def derived(function: str, attribute: str) -> str:
    """The attribute that a function of another one is: it has values of its own.

    >>> derived("lower", "symbol")
    'lower(symbol)'
    """
    return f"{function}({attribute})"


def function_of(attribute: str) -> str | None:
    """The function that a derived attribute is of another one."""
    if attribute[-1:] != ")":
        return None
    found = _DERIVED.fullmatch(attribute)
    return None if found is None else found[1]


def base_attribute(attribute: str) -> str:
    """The attribute that a derived one is a function of; of any other, itself."""
    if attribute[-1:] != ")":
        return attribute
    found = _DERIVED.fullmatch(attribute)
    return attribute if found is None else found[2]


def spell_tree(node: Node) -> str:
    """A tree as text.

    An AND inside an OR stands in parentheses for the reader's sake, unless they are so many that
    the text would nest deeper than the one it was read from.
    """
    return _spell(node, sparing=_nesting(node) > MAX_DEPTH)


def _spell(node: Node, *, sparing: bool) -> str:
    if isinstance(node, And):
        return " AND ".join(
            f"({_spell(part, sparing=sparing)})" if isinstance(part, Or) else str(part)
            for part in node.parts
        )
    if isinstance(node, Or):
        parts = [_spell(part, sparing=sparing) for part in node.parts]
        return " OR ".join(
            f"({text})" if isinstance(part, And) and not sparing else text
            for text, part in zip(parts, node.parts, strict=True)
        )
    return str(node)


def _nesting(node: Node) -> int:
    """How deep the parentheses nest if every AND inside an OR has its own."""
    if isinstance(node, And | Or):
        return max(_nesting(part) + isinstance(part, And | Or) for part in node.parts)
    return int(isinstance(node, Predicate) and node.mode in (Mode.NOT_TRUE, Mode.NOT_FALSE))


def _spell_operand(operand: Operand) -> str:
    if isinstance(operand, Parameter):
        return f":{operand.name}"
    if isinstance(operand, Slot):
        return f"?{operand.index}"
    return spell(operand)


def _spell_predicate(asked: Predicate) -> str:
    plain = _spell_question(asked, negated=asked.mode is Mode.FALSE)
    if asked.mode is Mode.NOT_TRUE:
        return f"({plain}) IS NOT TRUE"
    if asked.mode is Mode.NOT_FALSE:
        return f"({plain}) IS NOT FALSE"
    return plain


def _spell_question(asked: Predicate, *, negated: bool) -> str:
    name, operator = asked.attribute, asked.operator
    constants = [_spell_operand(c) for c in asked.constants]
    no = "NOT " if negated else ""
    match operator:
        case Operator.NULL:
            return f"{name} IS {no}NULL"
        case Operator.IN:
            return f"{name} {no}IN ({', '.join(constants)})"
        case Operator.LIKE | Operator.ILIKE:
            if operator is Operator.ILIKE:
                name = base_attribute(name)
            escape = "" if asked.constants[1] == "\\" else f" ESCAPE {constants[1]}"
            return f"{name} {no}{operator.value} {constants[0]}{escape}"
        case Operator.STARTS | Operator.ENDS | Operator.CONTAINS:
            return f"{no}{operator.value}({name}, {constants[0]})"
        case Operator.EQUAL if negated:
            return f"{name} != {constants[0]}"
        case Operator.SAME if negated:
            return f"{name} IS DISTINCT FROM {constants[0]}"
        case _:
            return f"{name} {operator.value} {constants[0]}"
