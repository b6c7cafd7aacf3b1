"""Where does a value, or a set of values, lie among the cuts of an attribute?

A `Ruler` is an `Axis` (`algebra.axis`) for a store that is asked more often than it is told: what
is stored gets labels of its own, and what is asked about is placed between them without leaving a
trace. It takes in cuts in any number, and gives those up that nothing stored needs any more.

Without a schema an attribute has three lines of numbers, and a comparison cuts all three of them at
once. Here they are one line, whose keys are triples: a key of each of the three. That is an order
as long as no two cuts cross (one lying before the other on one line, behind it on another), which
only rounding can bring about; a set with a cut that crosses others is **loose**: it has no place on
the ruler, and whoever asks has to look at it by itself.

Invariant: a cut is before another one on every line, or behind it, or both are the same.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.algebra.axis import HIGHEST, LOWEST, Axis, Cut
from tidegate.engine.columns import Column
from tidegate.filters import bounds as b
from tidegate.filters.lines import (
    ALL_LINES,
    BIGINT,
    DECIMAL,
    DOUBLE,
    Line,
    double_at,
    key_of,
    value_at,
)
from tidegate.filters.meaning import universe
from tidegate.filters.schema import Schema
from tidegate.filters.values import Value
from tidegate.filters.valueset import ValueSet, line_of

Stretches: TypeAlias = list[tuple[Cut, Cut | None]]
"""Runs of values, from a cut up to another one, or up to the end."""

_NUMBERS: Final = (BIGINT, DOUBLE, DECIMAL)
_NUMBER: Final = Line(
    BIGINT.name, tuple(line.low for line in _NUMBERS), tuple(line.high for line in _NUMBERS)
)
_PLACES: Final = {line.name: place for place, line in enumerate(_NUMBERS)}
_MERGED: Final = tuple(
    _NUMBER if line is BIGINT else line for line in ALL_LINES if line not in (DOUBLE, DECIMAL)
)
_PAGE: Final = 512  # cuts
