"""What does a structure do when it has met its memory limit?

It says so, once, by a warning, and keeps what does not fit **aside**: as filters that are asked one
by one. So answers stay right, and only slow down.
"""

import warnings
from typing import Final

from tidegate.errors import TidegateWarning

DEFAULT_LIMIT: Final = 2 * 2**30
"""Bytes that a structure may take if nothing else is said."""


class LimitWarning(TidegateWarning):
    """A structure has met its memory limit: it goes on, more slowly or less precisely."""


def warn_of_limit(structure: str, limit: int, instead: str) -> None:
    """Say that a structure has met its limit, and what it does instead."""
    warnings.warn(
        f"{structure} has met its limit of {limit:,} bytes; {instead}", LimitWarning, stacklevel=3
    )
