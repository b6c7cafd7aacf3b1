"""Who wants this event? Exact content-based publish/subscribe.

This module is the whole public interface of the library.
"""

from tidegate.algebra.relate import Relation, covers, overlaps, relate, subsumed
from tidegate.algebra.union import Union
from tidegate.errors import (
    FilterError,
    FilterSyntaxError,
    FilterTypeError,
    MeasureError,
    ParameterError,
    SchemaError,
    TidegateError,
)
from tidegate.filters.attribute import Attribute
from tidegate.filters.filter import Filter, parse
from tidegate.filters.schema import Schema

__version__ = "0.1.0"

__all__ = [
    "Attribute",
    "Filter",
    "FilterError",
    "FilterSyntaxError",
    "FilterTypeError",
    "MeasureError",
    "ParameterError",
    "Relation",
    "Schema",
    "SchemaError",
    "TidegateError",
    "Union",
    "covers",
    "overlaps",
    "parse",
    "relate",
    "subsumed",
]
