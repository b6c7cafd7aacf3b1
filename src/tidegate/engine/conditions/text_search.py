"""Which strings meet a condition on text?

Suffixes, contents and general LIKE patterns have no place in an order, so they are looked up in the
distinct strings of a batch, by Arrow's compiled searches.

Invariant: for every string, `hold` says what `filters.valueset.ValueSet.has` says.
"""

import re
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.engine.events.strings import Strings
from tidegate.filters import bounds as b
from tidegate.filters.patterns import ONE, RUN, Pattern
from tidegate.filters.valueset import ValueSet

Mask: TypeAlias = NDArray[np.bool_]


def hold(held: ValueSet, texts: Strings) -> Mask:
    """Which of the strings are in a set with conditions on text."""
    bounds = held.spans.get("string", ())
    found = np.array([b.has(bounds, text) for text in texts], np.bool_)
    for condition in held.texts:
        found &= _matching(condition.pattern, texts.array) ^ condition.negated
    return found


def _matching(pattern: Pattern, texts: pa.Array) -> Mask:
    pieces = pattern.pieces
    if len(pieces) == 2 and pieces[0] is RUN and isinstance(pieces[1], str):
        found = pc.ends_with(texts, pieces[1])
    elif len(pieces) == 3 and pieces[0] is pieces[2] is RUN and isinstance(pieces[1], str):
        found = pc.match_substring(texts, pieces[1])
    else:
        found = pc.match_substring_regex(texts, _expression(pattern))
    mask: Mask = found.to_numpy(zero_copy_only=False)
    return mask


def _expression(pattern: Pattern) -> str:
    """The pattern as a regular expression for a whole string."""
    parts = [
        "." if piece is ONE else ".*" if piece is RUN else re.escape(str(piece))
        for piece in pattern.pieces
    ]
    return rf"(?s)\A{''.join(parts)}\z"
