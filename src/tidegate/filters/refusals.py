"""Why is something that SQL has not in the language, and what can be written instead?

Each refusal is a pair: the reason, and what to write instead.
"""

from typing import Final

NO_CONDITION: Final = (
    "this is not a condition of the language",
    "attribute, operator, constant, as in price < 10",
)
NO_SUBQUERY: Final = ("a filter has no subqueries", "constants, for instance in an IN list")
NO_ARITHMETIC: Final = (
    "a filter compares attributes with constants; there is no arithmetic in it",
    "the constant that the arithmetic gives",
)
_NO_REGEX: Final = ("a filter has no regular expressions", "LIKE, startswith, endswith, contains")
_NO_CAST: Final = ("a filter has no casts", "the constant as a literal of the type you want")
_NO_CASE: Final = ("a filter has no CASE", "AND and OR")
_NO_COLLATION: Final = ("a filter has no collations", "a plain string")
_NO_QUANTIFIER: Final = (
    "a filter has no ANY or ALL but after LIKE",
    "conditions joined by OR or AND, or LIKE ANY ('a%', 'b%')",
)
FOREIGN: Final = {
    "SELECT": NO_SUBQUERY,
    "EXISTS": NO_SUBQUERY,
    "RLIKE": _NO_REGEX,
    "REGEXP": _NO_REGEX,
    "CAST": _NO_CAST,
    "TRY_CAST": _NO_CAST,
    "CASE": _NO_CASE,
    "COLLATE": _NO_COLLATION,
    "DIV": NO_ARITHMETIC,
    "MOD": NO_ARITHMETIC,
    "INTERVAL": ("a filter has no intervals", "a date or timestamp"),
    "XOR": ("a filter has no XOR", "(a AND NOT b) OR (b AND NOT a)"),
    "ANY": _NO_QUANTIFIER,
    "ALL": _NO_QUANTIFIER,
}
"""Words of SQL that explain why a text with them could not be read."""


def no_function(name: str) -> tuple[str, str]:
    """A function that the language does not have."""
    if name.upper() == "ARRAY_CONTAINS":
        return (
            f"{name} is not a function of the language: an attribute has one value, not several",
            "explode the array before, and a condition on its elements",
        )
    return (
        f"{name} is not a function of the language",
        "startswith, endswith, contains, lower or upper, or a comparison with a constant",
    )
