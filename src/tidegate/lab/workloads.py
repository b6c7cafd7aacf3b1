"""What do the papers' experiments run on?

Each function draws one paper's workload from a seed. Where a paper leaves something open, its
docstring says what we chose.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

DOMAIN: Final = 1000  # `rectangles` are in [0, DOMAIN] in every dimension


def rectangles(
    count: int, dimensions: int, exponent: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The subscriptions of Jafarpour et al. (2008), section 5.

    The paper is "Subscription Subsumption Evaluation for Content-Based Publish/Subscribe Systems".
    In each dimension, on its own, the low end is drawn from a Zipfian distribution over the
    integers of [0, 1000] and the size of the range uniformly from [0, 1000 - low end]. Returns the
    low and the high ends (both included), one row per subscription.

    The paper prints neither the exponent nor which value has which rank. Here value v has rank
    v + 1, so its probability is proportional to (v + 1) ** -exponent: 0 is the most frequent low
    end, and ranges are large. Exponent 0 is the uniform distribution. Sizes are integers, and a
    size of 0 is a single value.

    >>> lows, highs = rectangles(10_000, 3, 0.5, seed=1)
    >>> lows.shape, highs.dtype
    ((10000, 3), dtype('int64'))
    >>> bool((lows >= 0).all() and (lows <= highs).all() and (highs <= 1000).all())
    True
    >>> again, _ = rectangles(10_000, 3, 0.5, seed=1)
    >>> bool((lows == again).all())
    True
    """
    random = np.random.default_rng(seed)
    upto = np.cumsum(np.arange(1, DOMAIN + 2, dtype=np.float64) ** -exponent)
    draws = random.random((count, dimensions)) * upto[-1]
    # A draw may round up to the whole sum, which would be one past the last value.
    lows = np.minimum(np.searchsorted(upto, draws, side="right"), DOMAIN).astype(np.int64)
    return lows, lows + random.integers(0, DOMAIN - lows, endpoint=True)
