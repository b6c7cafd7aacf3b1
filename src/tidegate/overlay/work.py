"""What has a broker done, in units that do not depend on the machine, and what has it noticed?"""

from dataclasses import dataclass
from typing import Final

NEWS: Final = ("duplicate", "supplementary", "new")
"""How much of a registration is news, from the least to the most; see `registrations`."""
ENDS: Final = ("partial", "total")
"""What a cancellation is: of a count, or of an entry."""


@dataclass(slots=True)
class Work:
    """Units of work since the broker was made; a cost model gives each its time."""

    inserts: int = 0  # filters put into an index
    removals: int = 0  # filters taken out of one
    questions: int = 0  # asked of an index of filters: who covers, is covered, overlaps, subsumes
    merged: int = 0  # filters that were looked at for mergers
    events: int = 0  # events matched
    found: int = 0  # filters that matched them
    updates: int = 0  # filters put in the place of another one in an index
    compared: int = 0  # filters asked one by one whether they cover another one
    rated: int = 0  # filters of which the best pruning was looked for


@dataclass(slots=True)
class Tally:
    """What a broker has noticed since it was made."""

    refused: int = 0  # inputs that were answered with a refusal
    repeated: int = 0  # inputs that had come before, or came too early
    rebuffed: int = 0  # refusals by others
    undelivered: int = 0  # events for a link that was not up
    duplicate: int = 0  # registrations known from their link; these five only where they count
    supplementary: int = 0  # registrations known from other links only
    new: int = 0  # registrations of filters that were not known
    partial: int = 0  # cancellations of which only counts change
    total: int = 0  # cancellations by which an entry goes
