"""Which codes are still wanted? A bit for each, in words of 64; no words at all if all are."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import kernel

Alive: TypeAlias = NDArray[np.uint64]


@kernel
def is_alive(alive: Alive, code: int) -> bool:
    """Whether a subscription is alive; all are if there is no bit map."""
    if len(alive) == 0:
        return True
    return bool(alive[code >> 6] >> np.uint64(code & 63) & np.uint64(1))
