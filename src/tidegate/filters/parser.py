"""What does a text say?

The grammar is sqlglot's (Spark dialect) on a text whose literals and names were replaced (see
`lexer`); the tree it gives is read strictly here: an attribute, an operator, constants. Whatever
sqlglot accepts and the language does not is refused with its position and what to write instead,
so no construct that sqlglot and Spark read differently gets through.
"""

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NoReturn

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import TokenType

from tidegate.errors import FilterSyntaxError, FilterTypeError
from tidegate.filters.admission import admit, always_fits, check_suffixes
from tidegate.filters.expression import (
    KEYWORDS,
    TEXT_OPERATORS,
    Mode,
    Node,
    Operand,
    Operator,
    Parameter,
    Predicate,
    Slot,
    Truth,
    attribute_name,
    conjunction,
    disjunction,
    predicate,
    predicates,
)
from tidegate.filters.grammar import misplaced
from tidegate.filters.lexer import MAX_TOKENS, scan
from tidegate.filters.refusals import FOREIGN, NO_CONDITION, NO_SUBQUERY, no_function, why
from tidegate.filters.schema import Schema
from tidegate.filters.template import Step, Template, fill
from tidegate.filters.values import Constant


def parse_template(text: str, values: list[Constant], schema: Schema | None) -> Template:
    """The template of a text's shape; `values`, its literals, become the text's own constants."""
    return _Reader(text, values, schema).template()


@lru_cache(maxsize=1)
def _dialect() -> Dialect:
    return Dialect.get_or_raise("spark")


class _Reader:
    """Reads one text in full."""

    def __init__(self, text: str, values: list[Constant], schema: Schema | None) -> None:
        self.text = text
        self.values = values
        self.schema = schema
        self.source = scan(text)
        self.steps: list[Step] = []
        self.size = 0

    def template(self) -> Template:
        """The template of the text's shape; `values` become the text's own constants."""
        root = self._parse()
        for slot, cast in self.source.conversions.items():
            self._convert(slot, cast)
        tree = self._node(root, Mode.TRUE)
        self._check_order()
        attributes = frozenset(p.attribute for p in predicates(tree))
        parameters = tuple(dict.fromkeys(self.source.parameters))
        return Template(tree, tuple(self.steps), parameters, attributes)

    def _parse(self) -> exp.Expr:
        try:
            found = _dialect().parser().parse(self.source.tokens, self.text)
        except sqlglot.errors.ParseError as error:
            detail: dict[str, Any] = error.errors[0] if error.errors else {}
            reason = next(filter(None, map(FOREIGN.get, self.source.foreign)), None)
            if reason is None:
                self._check_order()
            self._refuse_at(int(detail.get("col") or 1) - 1, *(reason or NO_CONDITION))
        except RecursionError:
            self._refuse_at(0, "the text nests too deep", "the same condition with less nesting")
        except Exception as error:  # a parser's own accident on hostile text is a refusal too
            self._refuse_at(0, f"the text cannot be read ({type(error).__name__})")
        if len(found) != 1 or not isinstance(found[0], exp.Expr):
            self._refuse_at(0, "there is no condition in the text", "price < 10, or TRUE")
        return found[0]

    def _check_order(self) -> None:
        token = misplaced(self.source.tokens)
        if token is not None:
            said = self.text[token.start : token.end + 1][:40]
            if token.token_type is TokenType.VAR:
                self._refuse_at(token.start, *no_function(said))
            instead = NO_CONDITION[1]
            if token.token_type is not TokenType.NOT and said.upper() in KEYWORDS:
                instead = f"`{said}` in back-quotes, if it is the name of an attribute"
            self._refuse_at(token.start, f"{said} may not stand here", instead)

    # -- refusals

    def _refuse_at(self, position: int, reason: str, instead: str | None = None) -> NoReturn:
        raise FilterSyntaxError(reason, text=self.text, position=position, instead=instead)

    def _refuse(self, node: exp.Expr, reason: str, instead: str | None = None) -> NoReturn:
        self._refuse_at(self._position(node), reason, instead)

    def _position(self, node: exp.Expr) -> int:
        offsets = [n.meta["start"] for n in node.walk() if "start" in n.meta]
        return min(offsets, default=0)

    # -- conditions

    def _node(self, node: exp.Expr, mode: Mode) -> Node:
        self.size += 1
        if self.size > MAX_TOKENS:
            self._refuse_at(0, "the condition grows too large when its NOTs are pushed down")
        if isinstance(node, exp.Paren):
            return self._node(node.this, mode)
        if isinstance(node, exp.And | exp.Or):
            return self._junction(node, mode)
        if isinstance(node, exp.Not):
            return self._node(node.this, mode.negated)
        if isinstance(node, exp.Is):
            return self._is(node, mode)
        if isinstance(node, exp.Boolean | exp.Null):
            value = None if isinstance(node, exp.Null) else bool(node.this)
            return Truth(mode.holds(value))
        if isinstance(node, exp.Column | exp.Dot):
            return self._predicate(node, self._attribute(node), Operator.EQUAL, (True,), mode)
        for kinds, method in _CONDITIONS:
            if isinstance(node, kinds):
                found: Node = method(self, node, mode)
                return found
        return self._no_condition(node)

    def _junction(self, node: exp.Expr, mode: Mode) -> Node:
        """AND or OR: a chain is a left-deep tree, walked without recursion."""
        kind = type(node)
        parts: list[exp.Expr] = []
        while type(node) is kind:
            parts.append(node.args["expression"])
            node = node.this
        parts.append(node)
        nodes = [self._node(part, mode) for part in reversed(parts)]
        stays = (kind is exp.And) is mode.is_positive
        return conjunction(nodes) if stays else disjunction(nodes)

    def _is(self, node: exp.Is, mode: Mode) -> Node:
        inner, test = node.this, node.args["expression"]
        if isinstance(inner, exp.Is):
            self._refuse(node, "IS after IS", "parentheses around the first of them")
        if not isinstance(test, exp.Boolean | exp.Null):
            self._refuse(node, "IS takes [NOT] NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
        if isinstance(_bare(inner), exp.Column | exp.Dot):
            attribute = self._attribute(_bare(inner))
            if isinstance(test, exp.Null):
                return self._predicate(node, attribute, Operator.NULL, (), mode)
            return self._predicate(node, attribute, Operator.SAME, (bool(test.this),), mode)
        positive = mode.is_positive
        if isinstance(test, exp.Null):
            modes = (Mode.NOT_TRUE, Mode.NOT_FALSE) if positive else (Mode.TRUE, Mode.FALSE)
            nodes = [self._node(inner, each) for each in modes]
            return conjunction(nodes) if positive else disjunction(nodes)
        asked = Mode.TRUE if test.this else Mode.FALSE
        return self._node(inner, asked if positive else _OUTSIDE[asked])

    def _comparison(self, node: exp.Expr, mode: Mode) -> Node:
        operator, mirrored, negative = _COMPARISONS[type(node)]
        left, right = node.this, node.args["expression"]
        if self._is_constant(left) and not self._is_constant(right):
            left, right, operator = right, left, mirrored
        attribute = self._operand_attribute(node, left)
        constant = self._constant(right, attribute)
        asked = mode.negated if negative else mode
        return self._predicate(node, attribute, operator, (constant,), asked)

    def _between(self, node: exp.Between, mode: Mode) -> Node:
        attribute = self._operand_attribute(node, node.this)
        low = self._constant(node.args["low"], attribute)
        high = self._constant(node.args["high"], attribute)
        nodes: list[Node] = [
            self._predicate(node, attribute, Operator.AT_LEAST, (low,), mode),
            self._predicate(node, attribute, Operator.AT_MOST, (high,), mode),
        ]
        return conjunction(nodes) if mode.is_positive else disjunction(nodes)

    def _in(self, node: exp.In, mode: Mode) -> Node:
        attribute = self._operand_attribute(node, node.this)
        if node.args.get("field") is not None:
            self._refuse(node, "IN takes a list in parentheses", "IN (1, 2), or IN (:parameter)")
        if any(node.args.get(key) is not None for key in ("query", "unnest")):
            self._refuse(node, *NO_SUBQUERY)
        if not node.expressions:
            self._refuse(node, "the list after IN is empty", "at least one constant, or FALSE")
        constants: list[Operand] = []
        for member in node.expressions:
            is_run = isinstance(member.this if isinstance(member, exp.Neg) else member, exp.Literal)
            first = self._constant(member, attribute, in_list=is_run)
            if isinstance(first, Slot) and first.index in self.source.lists:
                constants += [Slot(index) for index in self.source.lists[first.index]]
            else:
                constants.append(first)
        return self._predicate(node, attribute, Operator.IN, tuple(constants), mode)

    def _like(self, node: exp.Like | exp.Escape, mode: Mode) -> Node:
        escape: Operand = "\\"
        pattern: exp.Expr = node
        if isinstance(node, exp.Escape):
            pattern = node.this
            escape = self._escape(node)
            if not isinstance(pattern, exp.Like):
                self._no_condition(pattern)
        attribute = self._operand_attribute(pattern, pattern.this)
        constant = self._constant(pattern.args["expression"], attribute)
        asked = mode.negated if pattern.args.get("negate") else mode
        return self._predicate(node, attribute, Operator.LIKE, (constant, escape), asked)

    def _escape(self, node: exp.Escape) -> Operand:
        literal = node.args["expression"]
        slot = self._constant(literal, "ESCAPE")

        def check(values: list[Constant]) -> None:
            value = values[slot.index] if isinstance(slot, Slot) else None
            if not isinstance(value, str) or len(value) != 1 or value > "\uffff":
                raise ValueError("ESCAPE takes a string of one character, up to U+FFFF")

        if not isinstance(slot, Slot):
            self._refuse(node, "ESCAPE takes a string of one character", "ESCAPE '!'")
        self._do(check, lambda: self._position(literal))
        self.steps.append(check)
        return slot

    def _function(self, node: exp.Func, mode: Mode) -> Node:
        operator = _FUNCTIONS[type(node)]
        if self._is_constant(node.this):
            self._refuse(node, f"{operator.value} takes an attribute first, then a string")
        attribute = self._operand_attribute(node, node.this)
        extra = [value for key, value in node.args.items() if key not in ("this", "expression")]
        if node.args.get("expression") is None or any(extra):
            self._refuse(node, f"{operator.value} takes an attribute and a string")
        constant = self._constant(node.args["expression"], attribute)
        return self._predicate(node, attribute, operator, (constant,), mode)

    def _no_condition(self, node: exp.Expr) -> NoReturn:
        if isinstance(node, exp.Alias):
            self._refuse(node, "something is missing between two conditions", "AND or OR")
        if self._is_constant(node):
            self._refuse(node, "a constant is not a condition", "attribute = constant")
        if isinstance(node, exp.Tuple):
            self._refuse(node, "an empty or listed pair of parentheses is not a condition")
        self._refuse(node, *why(node))

    # -- operands

    def _operand_attribute(self, node: exp.Expr, operand: exp.Expr) -> str:
        plain = _bare(operand)
        if isinstance(plain, exp.Column | exp.Dot):
            return self._attribute(plain)
        if isinstance(plain, _CONDITION_KINDS):
            self._refuse(node, "a comparison of a comparison", "AND, or parentheses and IS TRUE")
        if self._is_constant(plain):
            self._refuse(node, "two constants are compared", "an attribute on one side, or TRUE")
        self._refuse(operand, *why(plain))

    def _attribute(self, node: exp.Expr) -> str:
        path: list[str] = []
        while isinstance(node, exp.Dot):
            path.append(self._name(node.args["expression"]))
            node = node.this
        if not isinstance(node, exp.Column):
            self._refuse(node, *why(node))
        path.extend(self._name(part) for part in reversed(node.parts))
        return attribute_name(tuple(reversed(path)))

    def _name(self, node: Any) -> str:
        if not isinstance(node, exp.Identifier):
            self._refuse(node, "this is not the name of an attribute")
        if not node.this:
            self._refuse(node, "the name of an attribute is empty")
        return str(node.this)

    def _is_constant(self, node: exp.Expr) -> bool:
        plain = _bare(node)
        if isinstance(plain, exp.Neg):
            plain = _bare(plain.this)
        return isinstance(plain, exp.Literal | exp.Placeholder | exp.Null | exp.Boolean)

    def _constant(self, node: exp.Expr, attribute: str, *, in_list: bool = False) -> Operand:
        plain = _bare(node)
        if isinstance(plain, exp.Placeholder) and plain.name:
            return Parameter(plain.name)
        if isinstance(plain, exp.Null):
            return None
        if isinstance(plain, exp.Boolean):
            return bool(plain.this)
        if isinstance(plain, exp.Literal):
            return self._literal(plain, in_list)
        if isinstance(plain, exp.Neg) and isinstance(plain.this, exp.Literal):
            return self._minus(plain.this, in_list)
        if isinstance(plain, exp.Column | exp.Dot):
            other = self._attribute(plain)
            self._refuse(
                plain,
                f"{attribute} is compared with another attribute, {other}",
                f"a constant, or a parameter such as :{other.split('.')[-1].strip('`')}",
            )
        if isinstance(plain, _CONDITION_KINDS):
            self._refuse(node, "a comparison of a comparison", "AND, or parentheses and IS TRUE")
        self._refuse(plain, *why(plain))

    def _literal(self, node: exp.Literal, in_list: bool) -> Slot:
        if not node.this.isdecimal():
            self._refuse(node, "a point without a number")  # sqlglot joins `. 5`
        slot = int(node.this)
        if slot in self.source.lists and not in_list:
            self._refuse(node, "several constants where one is expected", "IN (…) for a list")
        return Slot(slot)

    def _minus(self, node: Any, in_list: bool) -> Slot:
        slot = self._literal(node, in_list)
        value = self.values[slot.index]
        if isinstance(value, str | bool) or node.is_string:
            self._refuse(node, "a minus sign before something that is no number")
        if not (value < 0):  # type: ignore[operator]
            self._convert(slot.index, _minus)
        return slot

    # -- constants that depend on the text

    def _convert(self, slot: int, cast: Callable[[Any], Constant]) -> None:
        def step(values: list[Constant]) -> None:
            values[slot] = cast(values[slot])

        self._do(step, lambda: self._slot_position(slot))
        self.steps.append(step)

    def _slot_position(self, slot: int) -> int:
        said = str(slot)
        literals = (TokenType.STRING, TokenType.NUMBER)
        places = (
            t.start for t in self.source.tokens if t.token_type in literals and t.text == said
        )
        return next(places, 0)

    def _do(self, step: Step, position: Callable[[], int]) -> None:
        """Do a step for this text; an error gets its place in it."""
        try:
            step(self.values)
        except FilterTypeError as error:
            raise FilterTypeError(
                error.reason, text=self.text, position=position(), instead=error.instead
            ) from None
        except ValueError as error:
            raise FilterTypeError(str(error), text=self.text, position=position()) from None

    def _predicate(
        self,
        node: exp.Expr,
        attribute: str,
        operator: Operator,
        constants: tuple[Operand, ...],
        mode: Mode,
    ) -> Predicate:
        asked = predicate(attribute, operator, constants, mode)
        schema = self.schema
        if schema is None and operator in _ANY_CONSTANT:
            return asked

        letters = self.source.suffixes
        suffixes = [letters.get(c.index, "") if isinstance(c, Slot) else "" for c in constants]
        suffixed = schema is not None and any(suffixes)

        def step(values: list[Constant]) -> None:
            if asked.is_open:
                return  # until its parameters are bound
            filled = fill(asked, values)
            if suffixed:
                check_suffixes(filled, suffixes, schema)
            admitted = admit(filled, schema)
            for operand, constant in zip(constants, admitted, strict=True):
                if isinstance(operand, Slot):
                    values[operand.index] = constant

        kinds = {type(self.values[c.index]) for c in constants if isinstance(c, Slot)}
        self._do(step, lambda: self._position(node))
        if kinds and (suffixed or not always_fits(operator, kinds, schema)):
            self.steps.append(step)
        return asked


def _minus(value: Any) -> Constant:
    if isinstance(value, Decimal):  # its minus sign would round it to 28 digits
        return value.copy_negate() if value else value
    negative: Constant = -value
    return negative


def _bare(node: Any) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    assert isinstance(node, exp.Expr)
    return node


_ANY_CONSTANT: Final = frozenset(Operator) - TEXT_OPERATORS - {Operator.IN}
_OUTSIDE: Final = {Mode.TRUE: Mode.NOT_TRUE, Mode.FALSE: Mode.NOT_FALSE}
# operator, the operator with its sides exchanged, asked negatively
_COMPARISONS: Final[dict[type, tuple[Operator, Operator, bool]]] = {
    exp.EQ: (Operator.EQUAL, Operator.EQUAL, False),
    exp.NEQ: (Operator.EQUAL, Operator.EQUAL, True),
    exp.LT: (Operator.LESS, Operator.GREATER, False),
    exp.LTE: (Operator.AT_MOST, Operator.AT_LEAST, False),
    exp.GT: (Operator.GREATER, Operator.LESS, False),
    exp.GTE: (Operator.AT_LEAST, Operator.AT_MOST, False),
    exp.NullSafeEQ: (Operator.SAME, Operator.SAME, False),
    exp.NullSafeNEQ: (Operator.SAME, Operator.SAME, True),
}
_FUNCTIONS: Final[dict[type, Operator]] = {
    exp.StartsWith: Operator.STARTS,
    exp.EndsWith: Operator.ENDS,
    exp.Contains: Operator.CONTAINS,
}
_CONDITIONS: Final[tuple[tuple[Any, Any], ...]] = (
    (tuple(_COMPARISONS), _Reader._comparison),
    (exp.Between, _Reader._between),
    (exp.In, _Reader._in),
    ((exp.Like, exp.Escape), _Reader._like),
    (tuple(_FUNCTIONS), _Reader._function),
)
_CONDITION_KINDS: Final = (
    *_COMPARISONS,
    *_FUNCTIONS,
    exp.Between,
    exp.In,
    exp.Like,
    exp.Escape,
    exp.Is,
    exp.And,
    exp.Or,
    exp.Not,
)
