"""What does an XPath expression say?

Reads the words of a text (`lexer`) by the grammar of XPath 1.0, as far as the language has it:

    text       = [ "ordered" ":" ] expression
    expression = path { "|" path }
    path       = ("/" | "//") step { ("/" | "//") step }  |  "/"
    step       = name | "*" | "@" name | "text()"  { "[" predicate "]" }
    predicate  = number | "last()" | or
    or         = and { "or" and }
    and        = condition { "and" condition }
    condition  = "(" or ")" | operand [ comparison operand ]
               | ("starts-with" | "contains") "(" inner "," constant ")"
    operand    = inner | constant | "position()" | "last()"
    inner      = "." | [ "./" | ".//" ] step { ("/" | "//") step }
    constant   = string | [ "-" ] number | "$" name

Whatever XPath has besides is refused with its position and what to write instead. How deep a text
may be, and how many steps it may have, is limited, so that a hostile one is refused at once.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Final, NoReturn, TypeAlias

from tidegate.documents import refusals as no
from tidegate.documents.lexer import Token, tokens
from tidegate.documents.pattern import ANY, CONTAINS, EQUAL, ORDERED, STARTS, TEXT
from tidegate.documents.syntax import (
    All,
    Comparison,
    Condition,
    Exists,
    Expression,
    Parameter,
    Path,
    Rank,
    Some,
    Step,
)
from tidegate.errors import FilterSyntaxError

MAX_LEVELS: Final = 100
"""Steps from the document to the end of a path, and brackets and parentheses around it."""
MAX_STEPS: Final = 1_000
"""Steps of an expression, all paths taken together."""

_MIRRORED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ARITHMETIC: Final = {"+", "-", "*", "div", "mod"}
_NODE_TESTS: Final = {"node", "comment", "processing-instruction"}
_XML: Final = "http://www.w3.org/XML/1998/namespace"

_Given: TypeAlias = str | float | Parameter
_Counted: TypeAlias = tuple[str]  # position() or last()
_Operand: TypeAlias = Path | _Given | _Counted
_POSITION: Final = ("position()",)
_LAST: Final = ("last()",)


def parse(text: str, namespaces: Mapping[str, str] | None = None) -> tuple[Expression, bool]:
    """The expression that a text says, and whether it says that branches are met in order.

    >>> expression, ordered = parse("ordered: //a[b > 2]")
    >>> expression.paths[0].steps[0].label, ordered
    ('a', True)
    """
    parser = _Parser(text, namespaces or {})
    ordered = parser.order()
    return parser.expression(), ordered


class _Parser:
    """Reads one text, word by word."""

    def __init__(self, text: str, namespaces: Mapping[str, str]) -> None:
        self.text = text
        self.namespaces = namespaces
        self.tokens = tokens(text)
        self.at = 0
        self.steps = 0

    # -- words

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    @property
    def following(self) -> str:
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)].text

    def take(self) -> Token:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def skip(self, *texts: str) -> bool:
        """Pass over a symbol, if it stands here; strings are no symbols."""
        token = self.token
        if token.kind == "string" or token.text not in texts:
            return False
        self.at += 1
        return True

    def refuse(self, refusal: tuple[str, str] | str, token: Token | None = None) -> NoReturn:
        reason, instead = (refusal, None) if isinstance(refusal, str) else refusal
        place = (token or self.token).position
        raise FilterSyntaxError(reason, text=self.text, position=place, instead=instead)

    def deeper(self, level: int) -> int:
        if level >= MAX_LEVELS:
            self.refuse(
                (f"the expression is more than {MAX_LEVELS} levels deep", "a shallower pattern")
            )
        return level + 1

    # -- paths

    def order(self) -> bool:
        """Whether the text begins by saying that branches are met in order."""
        if self.token.kind == "name" and self.token.text == ORDERED and self.following == ":":
            self.at += 2
            return True
        return False

    def expression(self) -> Expression:
        if not self.text.strip(" \t\r\n"):
            self.refuse(("the expression is empty", "/ for every document, or a path"))
        paths = [self.absolute()]
        while self.skip("|"):
            paths.append(self.absolute())
        if self.token.kind != "end":
            self.not_after_path(top=True)
        return Expression(tuple(paths))

    def absolute(self) -> Path:
        first = self.token
        if first.kind == "symbol" and first.text in ("/", "//"):
            if first.text == "/" and not self.begins_step(self.tokens[self.at + 1]):
                self.take()
                if self.token.kind != "end" and self.token.text != "|":
                    self.not_a_step()
                return Path(())
            return self.relative((), 0)
        if first.text == "(" and first.kind == "symbol":
            self.refuse(no.NO_GROUP)
        if first.kind in ("string", "number", "parameter") or first.text == "-":
            self.refuse(no.NO_CONDITION_AT_TOP)
        if first.kind == "name" and self.following == "(" and first.text != "text":
            self.refuse(no.no_function(first.text))
        if first.kind == "end":
            self.refuse(("a path is missing here", "a path such as //quote"))
        self.refuse(no.NO_PARENT if first.text == ".." else no.RELATIVE)

    def begins_step(self, token: Token) -> bool:
        return token.kind == "name" or (token.kind == "symbol" and token.text in "@*...")

    def relative(self, begun: tuple[Step, ...], level: int) -> Path:
        """Steps that each have / or // before them; some may have been read."""
        steps = list(begun)
        while self.token.kind == "symbol" and self.token.text in ("/", "//"):
            if steps and (steps[-1].label[0] == "@" or steps[-1].label == TEXT):
                self.refuse(no.LAST_STEP)
            steps.append(self.step(self.take().text == "//", level + len(steps)))
        return Path(tuple(steps))

    def step(self, deep: bool, level: int) -> Step:
        level = self.deeper(level)
        self.steps += 1
        if self.steps > MAX_STEPS:
            self.refuse(
                (f"the expression has more than {MAX_STEPS:,} steps", "several subscriptions")
            )
        label = self.label()
        predicates: list[Condition] = []
        while self.token.kind == "symbol" and self.token.text == "[":
            opening = self.take()
            predicates.append(self.predicate(level))
            if not self.skip("]"):
                self.not_closed(opening)
        return Step(deep, label, tuple(predicates))

    def label(self) -> str:
        if self.skip("@"):
            if self.token.text == "*":
                self.refuse(no.NO_ANY_ATTRIBUTE)
            if self.token.kind != "name":
                self.refuse(("the name of an attribute is missing here", "@name"))
            return "@" + self.name()
        if self.skip("*"):
            return ANY
        if self.token.kind != "name":
            self.not_a_step()
        if self.following == "::":
            self.refuse(no.no_axis(self.token.text))
        if self.following == "(":
            return self.node_test()
        return self.name()

    def node_test(self) -> str:
        name = self.token
        if name.text == "text":
            self.at += 2
            if not self.skip(")"):
                self.refuse(("text() takes nothing", "text()"))
            return TEXT
        self.refuse(
            no.no_node_test(name.text) if name.text in _NODE_TESTS else no.no_function(name.text)
        )

    def name(self) -> str:
        token = self.take()
        prefix, colon, local = token.text.partition(":")
        if not colon:
            if self.token.text == ":" and self.token.kind == "symbol":
                self.refuse(no.NO_ANY_OF_PREFIX)
            return token.text
        uri = _XML if prefix == "xml" else self.namespaces.get(prefix)
        if uri is None:
            self.refuse(
                (
                    f"the prefix {prefix} is not bound to a namespace",
                    f"namespaces={{{prefix!r}: 'its URI'}} beside the expression",
                ),
                token,
            )
        return f"{{{uri}}}{local}"

    # -- predicates

    def predicate(self, level: int) -> Condition:
        token = self.token
        if token.kind == "number" and self.following == "]":
            return Rank(EQUAL, float(self.take().text))
        if token.kind == "parameter" and self.following == "]":
            self.refuse(no.BARE_PARAMETER)
        if token.text == "last" and self.following == "(":
            ahead = self.tokens[self.at + 2 : self.at + 4]
            if [each.text for each in ahead] == [")", "]"]:
                self.at += 3
                return Rank(EQUAL, None)
        return self.some(level)

    def some(self, level: int) -> Condition:
        parts = [self.all(level)]
        while self.token.kind == "name" and self.skip("or"):
            parts.append(self.all(level))
        if len(parts) == 1:
            return parts[0]
        flat = [part.parts if isinstance(part, Some) else (part,) for part in parts]
        return Some(tuple(chain.from_iterable(flat)))

    def all(self, level: int) -> Condition:
        parts = [self.condition(level)]
        while self.token.kind == "name" and self.skip("and"):
            parts.append(self.condition(level))
        if len(parts) == 1:
            return parts[0]
        flat = [part.parts if isinstance(part, All) else (part,) for part in parts]
        return All(tuple(chain.from_iterable(flat)))

    def condition(self, level: int) -> Condition:
        token = self.token
        if token.kind == "symbol" and token.text == "(":
            self.take()
            inside = self.some(self.deeper(level))
            if not self.skip(")"):
                self.not_closed(token)
            return self.nothing_compared(inside)
        if token.kind == "name" and self.following == "(" and token.text in (STARTS, CONTAINS):
            return self.nothing_compared(self.search(level))
        left = self.operand(level)
        operator = self.token
        if operator.kind != "symbol" or operator.text not in _MIRRORED:
            return self.alone(left, token)
        self.take()
        right = self.operand(level)
        if self.token.kind == "symbol" and self.token.text in _MIRRORED:
            self.refuse(("a comparison of a comparison", "and between two comparisons"))
        return self.compared(operator, left, right)

    def nothing_compared(self, condition: Condition) -> Condition:
        token = self.token
        if token.kind == "symbol" and token.text in _MIRRORED:
            self.refuse(("a condition is compared", "and between two conditions"))
        return condition

    def alone(self, operand: _Operand, token: Token) -> Condition:
        if isinstance(operand, Path):
            if self.token.kind == "symbol" and self.token.text == "|":
                self.refuse(no.NO_UNION_INSIDE)
            return Exists(operand)
        if isinstance(operand, tuple):
            self.refuse(no.RANK_CONSTANT if operand == _POSITION else no.LAST_ALONE, token)
        self.refuse(no.BARE_CONSTANT, token)

    def compared(self, operator: Token, left: _Operand, right: _Operand) -> Condition:
        if isinstance(left, Path) and isinstance(right, Path):
            self.refuse(no.TWO_PATHS, operator)
        if _POSITION in (left, right) and (isinstance(left, Path) or isinstance(right, Path)):
            self.refuse(no.RANK_CONSTANT, operator)
        sign = operator.text
        if isinstance(right, Path) or right == _POSITION:
            left, right, sign = right, left, _MIRRORED[sign]
        if left == _POSITION:
            if isinstance(right, str | Path) or right == _POSITION:
                self.refuse(no.RANK_CONSTANT, operator)
            return Rank(sign, None if isinstance(right, tuple) else right)
        if isinstance(left, tuple) or isinstance(right, tuple):
            self.refuse(no.LAST_ALONE, operator)
        if not isinstance(left, Path) or isinstance(right, Path):
            self.refuse(no.TWO_CONSTANTS, operator)
        return Comparison(sign, left, right)

    def search(self, level: int) -> Condition:
        name = self.take()
        self.take()
        first = self.token
        path = self.operand(level)
        if not isinstance(path, Path):
            self.refuse((f"{name.text} takes a path first", f"{name.text}(path, 'text')"), first)
        if any(step.deep for step in path.steps):
            self.refuse(no.FIRST_OF_DEEP, first)
        if not self.skip(","):
            self.refuse(no.SEARCHED)
        second = self.token
        constant = self.operand(level)
        if isinstance(constant, Path | tuple):
            self.refuse(no.SEARCHED, second)
        if not self.skip(")"):
            self.refuse((f"{name.text} takes a path and a string", no.SEARCHED[1]))
        return Comparison(name.text, path, constant)

    def operand(self, level: int) -> _Operand:
        token = self.token
        match token.kind:
            case "string":
                found: _Operand = self.take().text[1:-1]
            case "number":
                found = float(self.take().text)
            case "parameter":
                found = self.parameter()
            case "name" if self.following == "(" and token.text != "text":
                found = self.counted()
            case _:
                if token.text == "-":
                    found = self.negative()
                else:
                    found = self.inner(level)
        after = self.token
        if after.kind in ("symbol", "name") and after.text in _ARITHMETIC:
            self.refuse(no.NO_ARITHMETIC)
        return found

    def parameter(self) -> Parameter:
        name = self.token.text[1:]
        if ":" in name:
            self.refuse(("a parameter's name has no prefix", "$" + name.partition(":")[2]))
        self.take()
        return Parameter(name)

    def negative(self) -> float:
        self.take()
        if self.token.kind != "number":
            self.refuse(no.NO_ARITHMETIC)
        return -float(self.take().text)

    def counted(self) -> _Counted:
        name = self.token
        if name.text not in ("position", "last"):
            refusal = no.no_node_test if name.text in _NODE_TESTS else no.no_function
            self.refuse(refusal(name.text))
        self.at += 2
        if not self.skip(")"):
            self.refuse((f"{name.text}() takes nothing", f"{name.text}()"))
        return (name.text + "()",)

    def inner(self, level: int) -> Path:
        """A path within a predicate."""
        token = self.token
        if token.kind == "symbol" and token.text in ("/", "//"):
            self.refuse(no.INNER_ABSOLUTE)
        if token.kind == "symbol" and token.text == ".":
            self.take()
            if self.token.kind == "symbol" and self.token.text == "[":
                self.refuse(("XPath has no predicates after .", "the predicate further up"))
            return self.relative((), level)
        return self.relative((self.step(False, level),), level)

    # -- what should not stand here

    def not_a_step(self) -> NoReturn:
        token = self.token
        if token.kind == "end":
            self.refuse(("a step is missing at the end", "a name, *, @name or text()"))
        if token.text in (".", ".."):
            self.refuse(no.NO_PARENT if token.text == ".." else no.NO_DOT)
        self.refuse(no.NO_NODE)

    def not_closed(self, opening: Token) -> NoReturn:
        if self.token.kind == "end":
            self.refuse((no.UNCLOSED, "]" if opening.text == "[" else ")"), opening)
        self.not_after_path(top=False)

    def not_after_path(self, *, top: bool) -> NoReturn:
        token = self.token
        if token.kind == "symbol" and token.text == "|":
            self.refuse(no.NO_UNION_INSIDE)
        if token.text in _ARITHMETIC and token.kind in ("symbol", "name"):
            self.refuse(no.NO_ARITHMETIC)
        if top and (token.text in _MIRRORED or token.text in ("and", "or")):
            self.refuse(no.NO_CONDITION_AT_TOP)
        if token.text in ("[", "]", ")"):
            self.refuse(
                (
                    f"there is nothing that {token.text} belongs to here",
                    f"the expression without this {token.text}",
                )
            )
        if token.text == ":":
            self.refuse(no.NO_ANY_OF_PREFIX)
        self.refuse(
            (f"{token.text[:40]} does not follow what is before it", "and, or, or an operator")
        )
