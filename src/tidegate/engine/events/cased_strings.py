"""What becomes of a column of strings when the case of their letters does not matter?

`lower(x)` and `upper(x)` are attributes of their own, whose columns are made from that of x: each
distinct string is mapped once, and those that become the same are one.
"""

import numpy as np

from tidegate.engine.events.arrow_keys import Stretch
from tidegate.engine.events.strings import Strings
from tidegate.filters.letters import MAPPINGS


def mapped_stretch(function: str, stretch: Stretch) -> Stretch:
    """The stretch with its strings mapped; what is no string stays what it is.

    >>> from tidegate.filters.lines import STRING
    >>> rows = np.arange(3, dtype=np.int32)
    >>> found = mapped_stretch("lower", Stretch(STRING, rows, rows, Strings(["A", "b", "a"])))
    >>> found.keys.tolist(), list(found.texts)
    ([0, 1, 0], ['a', 'b'])
    """
    if not stretch.texts:
        return stretch
    change = MAPPINGS[function]
    places: dict[str, int] = {}
    mapped = [places.setdefault(change(text), len(places)) for text in stretch.texts]
    keys = np.array(mapped, np.int64)[stretch.keys]
    return Stretch(stretch.line, stretch.rows, keys, Strings(tuple(places)))
