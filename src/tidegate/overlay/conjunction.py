"""The conjunction of two filters on attributes: exactly the events that match both.

Its parts are those of the first filter and, behind them, those of the second: nothing is simplified
away. So conjunctions with one filter have one shape where the others have, and their constants can
be updated as those of the others are.
"""

from tidegate.errors import FilterError
from tidegate.filters import filter as language
from tidegate.filters.expression import MAX_DEPTH, And, Node, Or, conjunction
from tidegate.overlay.attribute_filter import AttributeFilter, attribute_filter
from tidegate.overlay.filter import Filter


def both(f: Filter, g: Filter) -> AttributeFilter:
    """The filter that matches what both match; `FilterError` if it is nested too deep.

    >>> from tidegate.overlay.attributes import Attributes
    >>> kind = Attributes()
    >>> both(kind.parse("price < 10 OR urgent = TRUE"), kind.parse("symbol = 'IBM'"))
    <AttributeFilter (price < 10 OR urgent = TRUE) AND symbol = 'IBM'>
    """
    one, other = attribute_filter(f).filter, attribute_filter(g).filter
    tree = conjunction([one.tree, other.tree])
    if _levels(tree) > 2 * (MAX_DEPTH + 1):  # as deep as texts are
        raise FilterError("together with what may be seen or published, it is nested too deep")
    return AttributeFilter(language.Filter.of(tree, one.schema))


def _levels(node: Node) -> int:
    return 1 + max(map(_levels, node.parts)) if isinstance(node, And | Or) else 0
