"""May each word stand where it stands?

sqlglot reads more than Spark does: a list that ends with a comma, `x NOT NULL`, `x BETWEEN 1 2`, a
plus sign before anything. What it made sense of is therefore checked once more, word by word: an
operand comes where an operand is expected, an operator where an operator is, each operator brings
its own words along (`IS NOT NULL`, `NOT IN (`), and IS, IN, BETWEEN and LIKE do not follow each
other without parentheses. The nesting needs no check: there sqlglot is as strict as Spark.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from sqlglot.tokenizer_core import Token, TokenType

Expected: TypeAlias = Mapping[TokenType, Any]  # what may come, and what is expected after it

FUNCTIONS: Final = frozenset({"STARTSWITH", "ENDSWITH", "CONTAINS"})

_OPERAND: Final[dict[TokenType, Any]] = {}
_OPERATOR: Final[dict[TokenType, Any]] = {}
_AFTER_IS: Final = {
    TokenType.NULL: _OPERATOR,
    TokenType.TRUE: _OPERATOR,
    TokenType.FALSE: _OPERATOR,
    TokenType.UNKNOWN: _OPERATOR,
    TokenType.DISTINCT: {TokenType.FROM: _OPERAND},
}
_RANGES: Final = {
    TokenType.IN: {TokenType.L_PAREN: _OPERAND},
    TokenType.BETWEEN: _OPERAND,
    TokenType.LIKE: _OPERAND,
}
_OPERAND.update(
    {
        TokenType.L_PAREN: _OPERAND,
        TokenType.NOT: _OPERAND,
        TokenType.DASH: _OPERAND,
        TokenType.PLUS: {TokenType.NUMBER: _OPERATOR},
        TokenType.VAR: {TokenType.L_PAREN: _OPERAND},
        TokenType.COLON: {TokenType.VAR: _OPERATOR},
        TokenType.IDENTIFIER: _OPERATOR,
        TokenType.STRING: _OPERATOR,
        TokenType.NUMBER: _OPERATOR,
        TokenType.NULL: _OPERATOR,
        TokenType.TRUE: _OPERATOR,
        TokenType.FALSE: _OPERATOR,
    }
)
_OPERATOR.update(
    {
        TokenType.R_PAREN: _OPERATOR,
        TokenType.COMMA: _OPERAND,
        TokenType.DOT: {TokenType.IDENTIFIER: _OPERATOR},
        TokenType.AND: _OPERAND,
        TokenType.OR: _OPERAND,
        TokenType.EQ: _OPERAND,
        TokenType.NEQ: _OPERAND,
        TokenType.NULLSAFE_EQ: _OPERAND,
        TokenType.LT: _OPERAND,
        TokenType.LTE: _OPERAND,
        TokenType.GT: _OPERAND,
        TokenType.GTE: _OPERAND,
        TokenType.ESCAPE: {TokenType.STRING: _OPERATOR},
        TokenType.IS: {TokenType.NOT: _AFTER_IS, **_AFTER_IS},
        TokenType.NOT: _RANGES,
        **_RANGES,
    }
)


def misplaced(tokens: Iterable[Token]) -> Token | None:
    """The first token that may not stand where it stands, if there is one."""
    expected: Expected = _OPERAND
    taken = [False]  # for each open parenthesis: is there an IS, IN, BETWEEN or LIKE already?
    between = [False]  # and is its next AND the one of a BETWEEN?
    for token in tokens:
        kind = token.token_type
        if kind not in expected or not _is_spelled_well(token, expected):
            return token
        if between[-1] and kind in (TokenType.OR, TokenType.COMMA, TokenType.R_PAREN):
            return token
        if kind is TokenType.L_PAREN:
            taken.append(False)
            between.append(False)
        elif kind is TokenType.R_PAREN:
            taken.pop()
            between.pop()
        elif kind is TokenType.AND and between[-1]:
            between[-1] = False
        elif kind in (TokenType.AND, TokenType.OR, TokenType.COMMA):
            taken[-1] = False
        elif kind is TokenType.IS or kind in _RANGES:
            if taken[-1]:
                return token
            taken[-1] = True
            between[-1] = kind is TokenType.BETWEEN
        expected = expected[kind]
    return None


def _is_spelled_well(token: Token, expected: Expected) -> bool:
    """`!` stands for NOT only before a condition; and there are three functions."""
    if token.token_type is TokenType.NOT:
        return token.text != "!" or expected is _OPERAND
    if token.token_type is TokenType.VAR and expected is _OPERAND:
        return token.text.upper() in FUNCTIONS
    return True
