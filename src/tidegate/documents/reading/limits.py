"""How large may a document be?

A document comes from anybody. What is beyond a limit is refused with the reason, before or while it
is read. Matching takes time in proportion to a document's size, and for patterns with branches also
to its depth, so these limits are what bounds the time of one document.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limits:
    """What a document may have at most."""

    size: int = 16 * 2**20
    """Bytes, as it came and as UTF-8."""
    depth: int = 256
    """Elements in each other."""
    attributes: int = 4_096
    """Attributes of one element, declarations of namespaces included."""
    name: int = 1_024
    """Bytes of a name, that of its namespace included."""
    elements: int = 2**18
    """Elements: where a document is tried as a tree, they take a hundred times their bytes."""

    def __post_init__(self) -> None:
        allowed = {"size": 2**30, "depth": 2**20, "attributes": 2**28, "elements": 2**28}
        for name, most in allowed.items():
            if not 1 <= getattr(self, name) <= most:
                raise ValueError(f"the limit {name!r} is a number from 1 to {most:,}")


LIMITS: Final = Limits()
"""Those that hold if nothing is said."""
