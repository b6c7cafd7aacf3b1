"""How do the words of a filter make a condition?

Spark's grammar, as far as the language goes, by operator precedence: OR, then AND, then NOT, then
one test (IS, IN, BETWEEN, LIKE) of a value, then comparisons, then operands. Nothing is tried
twice: the next token alone says what it begins. A token that may not stand where it stands is
a `MisplacedError`; whether the things that stand together make sense is for `parser` to say.
"""

from collections.abc import Callable
from typing import Any, Final, NoReturn

from tidegate.filters.expression import KEYWORDS, MAX_DEPTH, attribute_name
from tidegate.filters.literals import to_date, to_double, to_timestamp, to_timestamp_ntz
from tidegate.filters.refusals import NO_ARITHMETIC, NO_CONDITION
from tidegate.filters.syntax import (
    Between,
    Bound,
    Call,
    Compared,
    Fixed,
    Given,
    Is,
    Joined,
    Like,
    Listed,
    Minus,
    Name,
    Not,
    Parenthesised,
    Syntax,
    Within,
    first_token,
)
from tidegate.filters.values import Constant


class MisplacedError(Exception):
    """A token stands where it may not; `reason` and `instead` if there is more to say of it."""

    def __init__(self, at: int, reason: str | None = None, instead: str | None = None) -> None:
        self.at = at
        self.reason = reason
        self.instead = instead


_COMPARISONS: Final = frozenset(("=", "==", "<=>", "!=", "<>", "<", "<=", ">", ">="))
_FIXED: Final = {"TRUE": Fixed(True), "FALSE": Fixed(False), "NULL": Fixed(None)}
_AFTER_IS: Final = {**_FIXED, "UNKNOWN": Fixed(None)}
_TESTS: Final = frozenset(("IS", "IN", "BETWEEN", "LIKE", "ILIKE"))
_TYPED: Final[dict[str, Callable[[Any], Constant]]] = {
    "DATE": to_date,
    "TIMESTAMP": to_timestamp,
    "TIMESTAMP_NTZ": to_timestamp_ntz,
    "TIMESTAMP_LTZ": to_timestamp,
}
_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")


def condition_of(tokens: list[str]) -> tuple[Syntax, int]:
    """What the tokens of a text say, and how many literals there are; the last token is ''."""
    grammar = _Grammar(tokens)
    found = grammar.either()
    if grammar.token:
        grammar.refuse()
    return found, grammar.slots


class _Grammar:
    """Reads tokens one after the other."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self.token = tokens[0]
        self.slots = 0
        self._depth = 0

    def _next(self) -> str:
        """Go to the next token, and say which it is."""
        self._at += 1
        self.token = self._tokens[self._at]
        return self.token

    def refuse(self) -> NoReturn:
        """The token may not stand here; at the end of the text, something is missing."""
        if self.token:
            raise MisplacedError(self._at)
        raise MisplacedError(max(self._at - 1, 0), *NO_CONDITION)

    def _expect(self, word: str) -> None:
        if self.token.upper() != word:
            self.refuse()
        self._next()

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.refuse()  # which `flaws` puts into words

    # -- conditions

    def either(self) -> Syntax:
        """Conditions with OR between them."""
        first = self._all()
        if self.token.upper() != "OR":
            return first
        parts = [first]
        while self.token.upper() == "OR":
            self._next()
            parts.append(self._all())
        return Joined("OR", parts)

    def _all(self) -> Syntax:
        first = self._opposite()
        if self.token.upper() != "AND":
            return first
        parts = [first]
        while self.token.upper() == "AND":
            self._next()
            parts.append(self._opposite())
        return Joined("AND", parts)

    def _opposite(self) -> Syntax:
        token = self.token
        if token == "!" or token.upper() == "NOT":
            self._deeper()
            self._next()
            found = Not(self._opposite())
            self._depth -= 1
            return found
        value = self._value()
        word = self.token.upper()
        if word in _TESTS or word == "NOT":
            return self._tested(value)
        return value

    def _tested(self, operand: Syntax) -> Syntax:
        """A value and the one test that may follow it."""
        negated = self.token.upper() == "NOT"
        word = self._next().upper() if negated else self.token.upper()
        found: Syntax
        match word:
            case "IS" if not negated:
                found = self._is(operand)
            case "IN":
                self._next()
                found = Within(operand, self._listed() if self.token == "(" else self._operand())
            case "BETWEEN":
                self._next()
                low = self._value()
                self._expect("AND")
                found = Between(operand, low, self._value())
            case "LIKE" | "ILIKE":
                return self._like(operand, word == "ILIKE", negated)
            case _:
                self.refuse()
        return Not(found) if negated else found

    def _is(self, operand: Syntax) -> Syntax:
        negated = self._next().upper() == "NOT"
        word = self._next().upper() if negated else self.token.upper()
        found: Syntax
        if word == "DISTINCT":
            self._next()
            self._expect("FROM")
            compared = Compared("<=>", operand, self._value())
            return compared if negated else Not(compared)
        if word in _AFTER_IS:
            found = Is(operand, _AFTER_IS[word])
            self._next()
        elif not self.token or self.token == "!":
            self.refuse()
        else:
            self._operand()
            found = Is(operand, None)
        while self.token.upper() == "IS":
            self._next()
            found = Is(found, self._after_second_is())
        return Not(found) if negated else found

    def _after_second_is(self) -> Fixed | None:
        """What follows an IS behind an IS; it is refused later, with both of them in sight."""
        if self.token.upper() == "NOT":
            self._next()
        test = _AFTER_IS.get(self.token.upper())
        if test is None:
            self.refuse()
        self._next()
        return test

    def _like(self, operand: Syntax, folded: bool, negated: bool) -> Syntax:
        quantifier = self._next().upper()
        if quantifier in ("ANY", "SOME", "ALL") and self._tokens[self._at + 1] == "(":
            self._next()
            patterns = self._listed()
            return Like(operand, patterns, None, folded, quantifier, negated)
        pattern = self._value()
        escape = None
        if self.token.upper() == "ESCAPE":
            token = self._next()
            if token[:1] not in ("\0", ":") and token.upper() not in _FIXED:
                self.refuse()
            if token[:1] == "\0" and token[1] != "s":
                self.refuse()
            escape = self._operand()
        return Like(operand, pattern, escape, folded, "", negated)

    # -- operands

    def _value(self) -> Syntax:
        """Operands, and comparisons of them from left to right."""
        found = self._operand()
        while self.token in _COMPARISONS:
            operator = self.token
            self._next()
            found = Compared(operator, found, self._operand())
        return found

    def _operand(self) -> Syntax:
        found = self._plain_operand()
        if self.token == "+" or self.token == "-":
            raise MisplacedError(
                self._at if (at := first_token(found)) is None else at, *NO_ARITHMETIC
            )
        return found

    def _plain_operand(self) -> Syntax:
        token = self.token
        first = token[:1]
        if first in _LETTERS and token:
            return self._word()
        if first == "\0":
            return self._literal()
        if first == "(":
            return self._parentheses()
        if first == "`":
            return self._name()
        if first == ":" and len(token) > 1:
            self._next()
            return Bound(token[1:].lstrip())
        if first == "-":
            return self._minus()
        if first == "+":
            token = self._next()
            if token[:1] != "\0" or token[1] == "s":
                self.refuse()
            return self._literal()
        self.refuse()

    def _literal(self, cast: Callable[[Any], Constant] | None = None, signs: int = 0) -> Given:
        token = self.token
        first, count = self.slots, token.count("\0")
        self.slots += count
        mark = token[1:3] if token[2:3].isalpha() else token[1]
        found = Given(range(first, first + count), mark, self._at, cast, signs)
        self._next()
        return found

    def _minus(self) -> Syntax:
        """Minus signs belong to the literal behind them, if one follows at once."""
        signs = 0
        while self.token == "-":
            signs += 1
            self._next()
        if self.token[:1] == "\0":
            return self._literal(signs=signs)
        return Minus(self._plain_operand())

    def _parentheses(self) -> Syntax:
        self._deeper()
        found = self._inside() if self._next() != ")" else Listed(())
        self._expect(")")
        self._depth -= 1
        return found

    def _inside(self) -> Syntax:
        first = self.either()
        if self.token != ",":
            return Parenthesised(first)
        members = [first]
        while self.token == ",":
            self._next()
            members.append(self.either())
        return Listed(tuple(members))

    def _listed(self) -> Listed:
        """A list in parentheses, even if it has one member."""
        found = self._parentheses()
        return Listed((found.inside,)) if isinstance(found, Parenthesised) else found  # type: ignore[return-value]

    def _word(self) -> Syntax:
        token = self.token
        upper = token.upper()
        if upper in KEYWORDS:
            if upper not in _FIXED:
                self.refuse()
            self._next()
            return _FIXED[upper]
        follower = self._tokens[self._at + 1]
        if follower[:1] == "\0" and upper in _TYPED and follower[1] == "s":
            self._next()
            return self._literal(_TYPED[upper])
        if follower == "(":
            return self._cast() if self._is_cast() else self._call(token)
        return self._name()

    def _call(self, name: str) -> Call:
        at = self._at
        self._next()
        listed = self._listed()
        return Call(name, listed.members, at)

    def _is_cast(self) -> bool:
        """`CAST('NaN' AS DOUBLE)`: the one cast of the language, a literal in six words."""
        said = [token.upper() for token in self._tokens[self._at : self._at + 6]]
        return said == ["CAST", "(", "\0S", "AS", "DOUBLE", ")"]

    def _cast(self) -> Given:
        self._at += 1
        self._next()
        found = self._literal(_not_finite)
        self._at += 2
        self._next()
        return found

    def _name(self) -> Name:
        at = self._at
        path = [self._one_name()]
        while self.token == ".":
            self._next()
            path.append(self._one_name())
        return Name(attribute_name(tuple(path)), at)

    def _one_name(self) -> str:
        token = self.token
        if token[:1] == "`" and len(token) > 1:
            if token == "``":
                raise MisplacedError(self._at, "the name of an attribute is empty")
            self._next()
            return token[1:-1].replace("``", "`")
        if token[:1] not in _LETTERS or not token:
            self.refuse()
        self._next()
        return token


def _not_finite(text: str) -> float:
    value = to_double(text)
    if value - value == 0:
        raise ValueError(
            f"a cast is only for 'NaN', 'Infinity', '-Infinity': write {text.strip()}D"
        )
    return value
