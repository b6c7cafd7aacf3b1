"""Who wants this event? Exact content-based publish/subscribe.

This module is the whole public interface of the library. What needs compiled kernels is loaded when
it is first asked for, so that reading and comparing filters costs no more than it needs.
"""

from typing import TYPE_CHECKING, Final

from tidegate.algebra.relate import Relation, covers, overlaps, relate, subsumed
from tidegate.algebra.union import Union
from tidegate.errors import (
    DocumentError,
    FilterError,
    FilterSyntaxError,
    FilterTypeError,
    IndexFileError,
    MeasureError,
    ParameterError,
    SchemaError,
    SubscriptionError,
    TidegateError,
)
from tidegate.filters.attribute import Attribute
from tidegate.filters.filter import Filter, parse
from tidegate.filters.schema import Schema
from tidegate.on_demand import on_demand

__version__ = "0.1.0"

__all__ = [
    "Attribute",
    "DocumentError",
    "DocumentIndex",
    "Filter",
    "FilterError",
    "FilterSyntaxError",
    "FilterTypeError",
    "Index",
    "IndexFileError",
    "MeasureError",
    "ParameterError",
    "Relation",
    "Schema",
    "SchemaError",
    "Subscription",
    "SubscriptionError",
    "TidegateError",
    "Union",
    "XPath",
    "covers",
    "overlaps",
    "parse",
    "parse_xpath",
    "relate",
    "subsumed",
]

_ON_DEMAND: Final = {
    "DocumentIndex": "tidegate.documents.index",
    "Index": "tidegate.engine.index",
    "Subscription": "tidegate.engine.subscriptions.subscription",
    "XPath": "tidegate.documents.xpath",
    "parse_xpath": "tidegate.documents.xpath",
}

if TYPE_CHECKING:
    from tidegate.documents.index import DocumentIndex
    from tidegate.documents.xpath import XPath, parse_xpath
    from tidegate.engine.index import Index
    from tidegate.engine.subscriptions.subscription import Subscription
else:  # type checkers would take any name for one that `__getattr__` knows
    __getattr__ = on_demand(globals(), _ON_DEMAND)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_DEMAND})
