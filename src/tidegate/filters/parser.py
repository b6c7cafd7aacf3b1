"""What does a text say?

`grammar` says how the words of a text's shape stand together; here that is read strictly, as an
attribute, an operator and constants each, with every NOT pushed down to them. Whatever the grammar
has and the language does not is refused with its position and what to write instead.

What hangs on the values of literals, and not on their kinds alone, becomes a **step** of the
template (`template`), which is done for every text of the shape; a step that fails says of which
token it speaks.
"""

from collections.abc import Callable
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, NoReturn

from tidegate.errors import FilterError, FilterSyntaxError, FilterTypeError
from tidegate.filters import syntax as s
from tidegate.filters.admission import admit, always_fits, check_suffixes
from tidegate.filters.expression import (
    FUNCTIONS,
    TEXT_OPERATORS,
    Mode,
    Node,
    Operand,
    Operator,
    Parameter,
    Predicate,
    Slot,
    Truth,
    conjunction,
    derived,
    disjunction,
    predicate,
)
from tidegate.filters.flaws import refuse_misplaced
from tidegate.filters.grammar import MisplacedError, condition_of
from tidegate.filters.lexer import MAX_TOKENS, literals, places, tokens
from tidegate.filters.refusals import FOREIGN, NO_ARITHMETIC, NO_CONDITION, no_function
from tidegate.filters.schema import Schema
from tidegate.filters.template import Step, Template, fill
from tidegate.filters.values import Constant


def parse_template(
    shape: str, values: list[Constant], schema: Schema | None, text: str | None = None
) -> Template:
    """The template of a shape; `values`, which begin with its literals, become constants.

    Without the text that the shape was taken from, a refusal does not say where.
    """
    return _Reader(shape, values, schema, text).template()


class _Reader:
    """Reads one text in full."""

    def __init__(
        self, shape: str, values: list[Constant], schema: Schema | None, text: str | None
    ) -> None:
        self.text = text
        self.shape = shape
        self.values = values
        self.schema = schema
        self.tokens = tokens(shape)
        self.steps: list[Step] = []
        self.parameters: dict[str, None] = {}
        self._converted: set[int] = set()
        self.size = 0

    def template(self) -> Template:
        """The template of the text's shape; `values` become the text's own constants."""
        try:
            root, slots = condition_of(self.tokens)
        except MisplacedError as flaw:
            self._explain(flaw)
        tree = self._node(root, Mode.TRUE)
        alternatives = isinstance(root, s.Joined) and root.word == "OR"
        return Template(tree, self.steps, tuple(self.parameters), slots, alternatives)

    # -- refusals

    def _explain(self, flaw: MisplacedError) -> NoReturn:
        if self.text is None:
            raise FilterSyntaxError(NO_CONDITION[0])
        refuse_misplaced(self.text, self.shape, self.tokens, flaw)

    def _place(self, at: int) -> int:
        """Where a token stands in the text."""
        return 0 if self.text is None else places(self.text, self.shape)[at]

    def _refuse_at(self, position: int, reason: str, instead: str | None = None) -> NoReturn:
        raise FilterSyntaxError(reason, text=self.text, position=position, instead=instead)

    def _refuse(self, node: s.Syntax, reason: str, instead: str | None = None) -> NoReturn:
        self._refuse_at(self._position(node), reason, instead)

    def _position(self, node: s.Syntax) -> int:
        at = s.first_token(node)
        return 0 if at is None else self._place(at)

    # -- conditions

    def _node(self, node: s.Syntax, mode: Mode) -> Node:
        self.size += 1
        if self.size > MAX_TOKENS:
            self._refuse_at(0, "the condition grows too large when its NOTs are pushed down")
        read = _CONDITIONS.get(type(node))
        if read is None:
            self._no_condition(node)
        found: Node = read(self, node, mode)
        return found

    def _parenthesised(self, node: s.Parenthesised, mode: Mode) -> Node:
        return self._node(node.inside, mode)

    def _not(self, node: s.Not, mode: Mode) -> Node:
        return self._node(node.operand, mode.negated)

    def _name(self, node: s.Name, mode: Mode) -> Node:
        return self._predicate(node, node.attribute, Operator.EQUAL, (True,), mode)

    def _fixed(self, node: s.Fixed, mode: Mode) -> Node:
        return Truth(mode.holds(node.value))

    def _joined(self, node: s.Joined, mode: Mode) -> Node:
        nodes = [self._node(part, mode) for part in node.parts]
        stays = (node.word == "AND") is mode.is_positive
        return conjunction(nodes) if stays else disjunction(nodes)

    def _is(self, node: s.Is, mode: Mode) -> Node:
        inner = node.operand
        if isinstance(inner, s.Is):
            self._refuse(node, "IS after IS", "parentheses around the first of them")
        if node.test is None:
            self._refuse(node, "IS takes [NOT] NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
        value = node.test.value
        attribute = self._attribute_of(inner)
        if attribute is not None:
            if value is None:
                return self._predicate(node, attribute, Operator.NULL, (), mode)
            return self._predicate(node, attribute, Operator.SAME, (value,), mode)
        positive = mode.is_positive
        if value is None:
            modes = (Mode.NOT_TRUE, Mode.NOT_FALSE) if positive else (Mode.TRUE, Mode.FALSE)
            nodes = [self._node(inner, each) for each in modes]
            return conjunction(nodes) if positive else disjunction(nodes)
        asked = Mode.TRUE if value else Mode.FALSE
        return self._node(inner, asked if positive else _OUTSIDE[asked])

    def _comparison(self, node: s.Compared, mode: Mode) -> Node:
        operator, mirrored, negative = _COMPARISONS[node.operator]
        left, right = node.left, node.right
        if self._is_constant(left) and not self._is_constant(right):
            left, right, operator = right, left, mirrored
        attribute = self._operand_attribute(node, left)
        constant = self._constant(right, attribute)
        asked = mode.negated if negative else mode
        return self._predicate(node, attribute, operator, (constant,), asked)

    def _between(self, node: s.Between, mode: Mode) -> Node:
        attribute = self._operand_attribute(node, node.operand)
        low = self._constant(node.low, attribute)
        high = self._constant(node.high, attribute)
        nodes: list[Node] = [
            self._predicate(node, attribute, Operator.AT_LEAST, (low,), mode),
            self._predicate(node, attribute, Operator.AT_MOST, (high,), mode),
        ]
        return conjunction(nodes) if mode.is_positive else disjunction(nodes)

    def _within(self, node: s.Within, mode: Mode) -> Node:
        attribute = self._operand_attribute(node, node.operand)
        constants = self._listed(node, node.members, attribute)
        return self._predicate(node, attribute, Operator.IN, tuple(constants), mode)

    def _listed(self, node: s.Syntax, members: s.Syntax, attribute: str) -> list[Operand]:
        """The constants of a list in parentheses."""
        if not isinstance(members, s.Listed):
            self._refuse(node, "IN takes a list in parentheses", "IN (1, 2), or IN (:parameter)")
        if not members.members:
            self._refuse(node, "the list after IN is empty", "at least one constant, or FALSE")
        constants: list[Operand] = []
        for member in members.members:
            constants.append(self._constant(member, attribute, in_list=True))
            if isinstance(member, s.Given):
                constants += map(Slot, member.slots[1:])
        return constants

    def _like(self, node: s.Like, mode: Mode) -> Node:
        attribute = self._operand_attribute(node, node.operand)
        operator = Operator.LIKE
        if node.folded:
            operator = Operator.ILIKE
            attribute = self._derived(node, "lower", attribute)
        escape: Operand = "\\" if node.escape is None else self._escape(node, node.escape)
        asked = mode.negated if node.negated else mode
        if not node.quantifier:
            constant = self._constant(node.pattern, attribute)
            return self._predicate(node, attribute, operator, (constant, escape), asked)
        if isinstance(node.pattern, s.Listed) and not node.pattern.members:
            self._refuse(node, "the list of patterns is empty", "at least one pattern, or FALSE")
        nodes: list[Node] = [
            self._predicate(node, attribute, operator, (constant, escape), asked)
            for constant in self._listed(node, node.pattern, attribute)
        ]
        stays = (node.quantifier == "ALL") is mode.is_positive
        return conjunction(nodes) if stays else disjunction(nodes)

    def _escape(self, node: s.Like, escape: s.Syntax) -> Operand:
        slot = self._constant(escape, "ESCAPE")
        if not isinstance(slot, Slot):
            self._refuse(node, "ESCAPE takes a string of one character", "ESCAPE '!'")

        def check(values: list[Constant], base: int) -> None:
            value = values[base + slot.index]
            if not isinstance(value, str) or len(value) != 1 or value > "\uffff":
                raise ValueError("ESCAPE takes a string of one character, up to U+FFFF")

        self._do(check, lambda: self._position(escape), keep=True)
        return slot

    def _call(self, node: s.Call, mode: Mode) -> Node:
        operator = _TEXT_FUNCTIONS.get(node.function.upper())
        if operator is None:
            attribute = self._attribute_of(node)
            if attribute is not None:
                return self._predicate(node, attribute, Operator.EQUAL, (True,), mode)
            self._no_function(node)
        arguments = node.arguments
        if len(arguments) < 2 and arguments and not isinstance(arguments[0], s.Given):
            at = self._closing(node)
            self._refuse_at(self._place(at), *NO_CONDITION)
        if not arguments or self._is_constant(arguments[0]):
            self._refuse(node, f"{operator.value} takes an attribute first, then a string")
        attribute = self._operand_attribute(node, arguments[0])
        if len(arguments) != 2:
            self._refuse(node, f"{operator.value} takes an attribute and a string")
        constant = self._constant(arguments[1], attribute)
        return self._predicate(node, attribute, operator, (constant,), mode)

    def _closing(self, node: s.Call) -> int:
        """The token that closes the parentheses of a call."""
        depth, at = 1, node.at + 1
        while depth:
            at += 1
            depth += (self.tokens[at] == "(") - (self.tokens[at] == ")")
        return at

    def _no_function(self, node: s.Call) -> NoReturn:
        foreign = FOREIGN.get(node.function.upper())
        if foreign is not None:
            self._refuse(node.arguments[0] if node.arguments else node, *foreign)
        if node.function.upper() == "IF" and node.arguments:
            self._refuse(node.arguments[0], *no_function(node.function))
        self._refuse(node, *no_function(node.function))

    def _no_condition(self, node: s.Syntax) -> NoReturn:
        if self._is_constant(node):
            self._refuse(node, "a constant is not a condition", "attribute = constant")
        if isinstance(node, s.Listed):
            self._refuse(node, "an empty or listed pair of parentheses is not a condition")
        self._refuse(node, *NO_ARITHMETIC)

    # -- operands

    def _attribute_of(self, node: s.Syntax) -> str | None:
        """The attribute that an operand is, if it is one."""
        plain = _bare(node)
        if isinstance(plain, s.Name):
            return plain.attribute
        if isinstance(plain, s.Call) and plain.function.upper() in FUNCTIONS:
            function = FUNCTIONS[plain.function.upper()]
            if len(plain.arguments) != 1 or isinstance(_bare(plain.arguments[0]), s.Call):
                self._refuse(plain, f"{function} takes one attribute")
            return self._derived(plain, function, self._operand_attribute(plain, *plain.arguments))
        return None

    def _derived(self, node: s.Syntax, function: str, attribute: str) -> str:
        """The attribute that a function of another one is."""
        if "(" in attribute and not attribute.startswith("`"):
            self._refuse(node, f"{function} takes an attribute, and not a function of one")
        return derived(function, attribute)

    def _operand_attribute(self, node: s.Syntax, operand: s.Syntax) -> str:
        attribute = self._attribute_of(operand)
        if attribute is not None:
            return attribute
        plain = _bare(operand)
        if isinstance(plain, s.Call) and plain.function.upper() not in _TEXT_FUNCTIONS:
            self._no_function(plain)
        if isinstance(plain, (*s.CONDITIONS, s.Call)):
            self._refuse(node, "a comparison of a comparison", "AND, or parentheses and IS TRUE")
        if self._is_constant(plain):
            self._refuse(node, "two constants are compared", "an attribute on one side, or TRUE")
        self._no_operand(operand, plain)

    def _no_operand(self, node: s.Syntax, plain: s.Syntax) -> NoReturn:
        if isinstance(plain, s.Listed):
            inside = plain.members[0] if plain.members else node
            self._refuse(inside, "this is not in the language", "attribute, operator, constant")
        self._refuse(node, *NO_ARITHMETIC)

    def _is_constant(self, node: s.Syntax) -> bool:
        return isinstance(_bare(node), s.Given | s.Bound | s.Fixed)

    def _constant(self, node: s.Syntax, attribute: str, *, in_list: bool = False) -> Operand:
        plain = _bare(node)
        if isinstance(plain, s.Given):
            return self._literal(plain, in_list and plain is node)
        if isinstance(plain, s.Bound):
            self.parameters[plain.parameter] = None
            return Parameter(plain.parameter)
        if isinstance(plain, s.Fixed):
            return plain.value
        other = self._attribute_of(plain)
        if other is not None:
            self._refuse(
                plain,
                f"{attribute} is compared with another attribute, {other}",
                f"a constant, or a parameter such as :{other.split('.')[-1].strip('`')}",
            )
        if isinstance(plain, s.Call) and plain.function.upper() not in _TEXT_FUNCTIONS:
            self._no_function(plain)
        if isinstance(plain, (*s.CONDITIONS, s.Call)):
            self._refuse(node, "a comparison of a comparison", "AND, or parentheses and IS TRUE")
        self._no_operand(node, plain)

    def _literal(self, node: s.Given, in_list: bool) -> Slot:
        if len(node.slots) > 1 and not in_list:
            self._refuse(node, "several constants where one is expected", "IN (…) for a list")
        if node.signs > 1:
            self._refuse(node, *NO_ARITHMETIC)
        slot = node.slots[0]
        if node.signs:
            if node.mark == "s":
                self._refuse(node, "a minus sign before something that is no number")
            if node.mark[0] not in "mn":  # those are read together with their sign
                self._convert(slot, _minus)
        if node.cast is not None:
            self._convert(slot, node.cast)
        return Slot(slot)

    # -- constants that depend on the text

    def _convert(self, slot: int, cast: Callable[[Any], Constant]) -> None:
        if slot in self._converted:  # a condition may be asked in two ways at once
            return
        self._converted.add(slot)

        def step(values: list[Constant], base: int) -> None:
            values[base + slot] = cast(values[base + slot])

        self._do(step, lambda: literals(self.text or "")[slot][0], keep=True)

    def _do(self, step: Step, position: Callable[[], int], keep: bool) -> None:
        """Do a step for this text, and keep it for others; an error gets its place in the text."""
        try:
            step(self.values, 0)
        except (FilterError, ValueError) as error:
            if self.text is None:
                raise
            reason = error.reason if isinstance(error, FilterError) else str(error)
            instead = error.instead if isinstance(error, FilterError) else None
            raise FilterTypeError(
                reason, text=self.text, position=position(), instead=instead
            ) from None
        if keep:
            self.steps.append(step)

    def _predicate(
        self,
        node: s.Syntax,
        attribute: str,
        operator: Operator,
        constants: tuple[Operand, ...],
        mode: Mode,
    ) -> Predicate:
        asked = predicate(attribute, operator, constants, mode)
        schema = self.schema
        if schema is None and operator in _ANY_CONSTANT and "(" not in attribute:
            return asked

        letters = self._letters if schema is not None else {}
        suffixes = [letters.get(c.index, "") if isinstance(c, Slot) else "" for c in constants]
        suffixed = any(suffixes)

        def step(values: list[Constant], base: int) -> None:
            if asked.is_open:
                return  # until its parameters are bound
            filled = fill(asked, values, base)
            if suffixed:
                check_suffixes(filled, suffixes, schema)
            admitted = admit(filled, schema)
            for operand, constant in zip(constants, admitted, strict=True):
                if isinstance(operand, Slot):
                    values[base + operand.index] = constant

        kinds = {type(self.values[c.index]) for c in constants if isinstance(c, Slot)}
        keep = bool(kinds) and (suffixed or not always_fits(operator, kinds, schema))
        self._do(step, lambda: self._position(node), keep)
        return asked

    @cached_property
    def _letters(self) -> dict[int, str]:
        """The letters behind integers such as 5L, by slot."""
        marks = "".join(token for token in self.tokens if token[:1] == "\0").split("\0")[1:]
        return {slot: mark[1] for slot, mark in enumerate(marks) if mark[1:2] in _SUFFIXES}


def _minus(value: Any) -> Constant:
    if isinstance(value, Decimal):  # its minus sign would round it to 28 digits
        return value.copy_negate() if value else value
    negative: Constant = -value
    return negative


def _bare(node: s.Syntax) -> s.Syntax:
    while isinstance(node, s.Parenthesised):
        node = node.inside
    return node


_SUFFIXES: Final = ("L", "S", "Y")
_ANY_CONSTANT: Final = frozenset(Operator) - TEXT_OPERATORS - {Operator.IN}
_OUTSIDE: Final = {Mode.TRUE: Mode.NOT_TRUE, Mode.FALSE: Mode.NOT_FALSE}
# operator, the operator with its sides exchanged, asked negatively
_COMPARISONS: Final[dict[str, tuple[Operator, Operator, bool]]] = {
    "=": (Operator.EQUAL, Operator.EQUAL, False),
    "==": (Operator.EQUAL, Operator.EQUAL, False),
    "!=": (Operator.EQUAL, Operator.EQUAL, True),
    "<>": (Operator.EQUAL, Operator.EQUAL, True),
    "<": (Operator.LESS, Operator.GREATER, False),
    "<=": (Operator.AT_MOST, Operator.AT_LEAST, False),
    ">": (Operator.GREATER, Operator.LESS, False),
    ">=": (Operator.AT_LEAST, Operator.AT_MOST, False),
    "<=>": (Operator.SAME, Operator.SAME, False),
}
_TEXT_FUNCTIONS: Final[dict[str, Operator]] = {
    "STARTSWITH": Operator.STARTS,
    "ENDSWITH": Operator.ENDS,
    "CONTAINS": Operator.CONTAINS,
}
_CONDITIONS: Final[dict[type, Callable[..., Node]]] = {
    s.Parenthesised: _Reader._parenthesised,
    s.Not: _Reader._not,
    s.Name: _Reader._name,
    s.Fixed: _Reader._fixed,
    s.Joined: _Reader._joined,
    s.Is: _Reader._is,
    s.Compared: _Reader._comparison,
    s.Between: _Reader._between,
    s.Within: _Reader._within,
    s.Like: _Reader._like,
    s.Call: _Reader._call,
}
