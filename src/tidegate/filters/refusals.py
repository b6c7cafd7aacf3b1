"""Why is something that SQL has not in the language, and what can be written instead?

Each refusal is a pair: the reason, and what to write instead.
"""

from typing import Final

from sqlglot import exp

NO_CONDITION: Final = (
    "this is not a condition of the language",
    "attribute, operator, constant, as in price < 10",
)
NO_SUBQUERY: Final = ("a filter has no subqueries", "constants, for instance in an IN list")
_NO_REGEX: Final = ("a filter has no regular expressions", "LIKE, startswith, endswith, contains")
_NO_ILIKE: Final = ("ILIKE ignores case, and a filter does not", "LIKE on a lower-case attribute")
_NO_CAST: Final = ("a filter has no casts", "the constant as a literal of the type you want")
_NO_CASE: Final = ("a filter has no CASE", "AND and OR")
_NO_COLLATION: Final = ("a filter has no collations", "a plain string")
_NO_ARITHMETIC: Final = (
    "a filter compares attributes with constants; there is no arithmetic in it",
    "the constant that the arithmetic gives",
)
FOREIGN: Final = {
    "SELECT": NO_SUBQUERY,
    "EXISTS": NO_SUBQUERY,
    "RLIKE": _NO_REGEX,
    "REGEXP": _NO_REGEX,
    "ILIKE": _NO_ILIKE,
    "CAST": _NO_CAST,
    "TRY_CAST": _NO_CAST,
    "CASE": _NO_CASE,
    "COLLATE": _NO_COLLATION,
    "DIV": _NO_ARITHMETIC,
    "MOD": _NO_ARITHMETIC,
    "INTERVAL": ("a filter has no intervals", "a date or timestamp"),
    "XOR": ("a filter has no XOR", "(a AND NOT b) OR (b AND NOT a)"),
    "ANY": ("a filter has no ANY or ALL", "conditions joined by OR or AND"),
    "ALL": ("a filter has no ANY or ALL", "conditions joined by OR or AND"),
}
"""Words of SQL that explain why a text with them could not be read."""


def no_function(name: str) -> tuple[str, str]:
    """A function that is none of the language's three."""
    return (
        f"{name} is not a function of the language",
        "startswith, endswith or contains, or a comparison with a constant",
    )


def why(node: exp.Expr) -> tuple[str, str | None]:
    """Why something sqlglot understood is not in the language, and what to write instead."""
    if isinstance(node, exp.Any | exp.All):
        return FOREIGN["ANY"]
    if isinstance(node, exp.Subquery | exp.Query | exp.Exists | exp.SubqueryPredicate):
        return NO_SUBQUERY
    if isinstance(node, exp.Cast):
        return _NO_CAST
    if isinstance(node, exp.Func):
        name = str(node.this) if type(node) is exp.Anonymous else node.sql_name().lower()
        return no_function(name)
    if isinstance(node, exp.Binary | exp.Unary):
        return _NO_ARITHMETIC
    return "this is not in the language", "attribute, operator, constant"
