"""Why is something that XPath has not in the language, and what can be written instead?

Each refusal is a pair: the reason, and what to write instead.
"""

from typing import Final

RELATIVE: Final = (
    "a subscription to documents begins at the document; this path begins nowhere",
    "/ or // before the first name, as in //quote/price",
)
INNER_ABSOLUTE: Final = (
    "a path in a predicate begins at the node that has the predicate",
    "the path without the / before it, or .// instead of //",
)
NO_CONDITION_AT_TOP: Final = (
    "an expression is a path; a comparison of it has no documents to select",
    "the comparison as a predicate, as in /quote[price > 15]",
)
NO_ARITHMETIC: Final = (
    "a path is compared with a constant; there is no arithmetic",
    "the constant that the arithmetic gives",
)
NO_UNION_INSIDE: Final = ("| stands between whole paths only", "or, as in [price or bid]")
NO_PARENT: Final = ("there is no way up in a pattern", "the condition as a predicate further up")
NO_DOT: Final = (". stands alone, or before the first step of a predicate", "the path without it")
NO_ANY_ATTRIBUTE: Final = ("@* is not in the language", "the name of the attribute")
NO_ANY_OF_PREFIX: Final = (
    "a name with a prefix and * is not in the language",
    "the whole name, or * alone",
)
NO_NODE: Final = ("a step is a name, *, @name or text()", "* for any element")
NO_GROUP: Final = (
    "a path in parentheses is not in the language",
    "the path without them; [1] after it counts among children of one parent",
)
LAST_STEP: Final = ("nothing is below an attribute or a text", "it as the last step of its path")
TWO_PATHS: Final = ("two paths are compared", "a constant, or a parameter such as $limit")
TWO_CONSTANTS: Final = ("two constants are compared", "a path on one side")
BARE_CONSTANT: Final = ("a constant is not a condition", "path = constant")
BARE_PARAMETER: Final = (
    "a parameter alone could be a position or a condition",
    "position() = $name, or path = $name",
)
RANK_CONSTANT: Final = ("a position is compared with a number or last()", "position() = 2")
LAST_ALONE: Final = ("last() is not compared with a constant", "position() = last()")
FIRST_OF_DEEP: Final = (
    "of several nodes, the function takes the first of the document; "
    "for a path with // that is not in the language",
    "a predicate at the end of the path, as in .//b[starts-with(., 'x')]",
)
SEARCHED: Final = ("the second argument is a constant string", "starts-with(path, 'text')")
UNCLOSED: Final = "this bracket is never closed"


def no_function(name: str) -> tuple[str, str]:
    """A function that the language does not have."""
    if name in ("not", "true", "false", "boolean"):
        return f"{name}() is not in the language", "conditions that hold, joined by and, or"
    if name == "ends-with":
        return "XPath 1.0 has no ends-with", "contains, or starts-with"
    if name in ("string", "number", "normalize-space"):
        return f"{name}() is not in the language", "the comparison without it"
    return (
        f"{name}() is not a function of the language",
        "a comparison, starts-with or contains",
    )


def no_node_test(name: str) -> tuple[str, str]:
    """A test of a node's sort that the language does not have."""
    return f"{name}() is not in the language", NO_NODE[1] + ", text() for a text"


def no_axis(name: str) -> tuple[str, str]:
    """An axis."""
    instead = {
        "child": "the name alone",
        "attribute": "@ before the name",
        "descendant": "// before the name",
        "descendant-or-self": "// before the next name",
        "self": ". for the node itself",
        "following-sibling": "the option that branches come in order",
        "preceding-sibling": "the option that branches come in order",
    }
    return f"the axis {name}:: is not in the language", instead.get(name, NO_PARENT[1])
