"""How many registrations does an entry stand for?

A registration is one subscription of one client. An entry that a broker tells a neighbour stands
for all registrations of its own filter behind the link, and for those of other filters that it
covers and that are not told. Chand, "Large scale diffusion of information in Publish/Subscribe
systems" (2005), section 4.2.1, calls the two numbers *x* and *z*. Only the policy `xroute` counts.
"""

from typing import Final, NamedTuple


class Counts(NamedTuple):
    """How many registrations have the entry's own filter, and how many others it stands for."""

    own: int = 1
    behind: int = 0

    @property
    def all(self) -> int:
        """How many registrations there are of either sort."""
        return self.own + self.behind

    def __add__(self, other: "Counts") -> "Counts":  # type: ignore[override]
        return Counts(self.own + other.own, self.behind + other.behind)

    def __sub__(self, other: "Counts") -> "Counts":
        return Counts(self.own - other.own, self.behind - other.behind)


ONCE: Final = Counts()
"""What a client's subscription counts, and what an entry does where nobody says more."""

NONE: Final = Counts(0, 0)
