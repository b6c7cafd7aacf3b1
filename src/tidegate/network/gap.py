"""What a subscriber was not given, because it did not read.

The oldest events that waited for it were dropped. In their place, it is told how many there were
for each of its subscriptions: a count (u32), the ids (i64 each), and how many events for each (u64
each).
"""

from collections import Counter
from collections.abc import Mapping
from struct import Struct
from typing import Final

import numpy as np

from tidegate.errors import FrameError
from tidegate.network.frames import Frame, Sort, frame

_COUNT: Final = Struct("<I")


def gap_frame(missed: Mapping[int, int]) -> bytes:
    """How many events were dropped for each subscription, as a frame.

    >>> data = gap_frame({7: 2})
    >>> read_gap(Frame(Sort.GAP, data[8:]))
    Counter({7: 2})
    """
    owns = np.array(list(missed), "<i8").tobytes()
    counts = np.array(list(missed.values()), "<u8").tobytes()
    return frame(Sort.GAP, _COUNT.pack(len(missed)), owns, counts)


def read_gap(came: Frame) -> Counter[int]:
    """What such a frame says; `FrameError` if it is none."""
    body = came.body
    if len(body) < _COUNT.size or len(body) != _COUNT.size + 16 * _COUNT.unpack_from(body)[0]:
        raise FrameError("a gap is a count, ids, and how many events for each")
    middle = (len(body) + _COUNT.size) // 2
    owns = np.frombuffer(body[_COUNT.size : middle], "<i8").tolist()
    return Counter(dict(zip(owns, np.frombuffer(body[middle:], "<u8").tolist(), strict=True)))
