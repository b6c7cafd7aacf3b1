"""How many neighbours does a peer choose, and how long does it wait for answers?"""

from dataclasses import dataclass

from tidegate.errors import TidegateError
from tidegate.peers.peer import Settings


@dataclass(frozen=True, slots=True)
class NearSettings(Settings):
    """How neighbours are chosen; all peers should have the same ones. Times are in ticks."""

    near: int = 5
    """n: how many peers are chosen for being near."""
    random: int = 1
    """r: how many are chosen at random."""
    limit: int = 0
    """How many neighbours a peer has at most; 0: any number."""
    gathered: bool = False
    """Whether replies are gathered on the way back."""
    gather: int = 4
    """How long replies are waited for; if they are gathered, by those furthest away."""
    reach: int = 8
    """How many steps away replies are gathered, about."""

    def __post_init__(self) -> None:
        super(NearSettings, self).__post_init__()
        if self.near < 0 or self.random < 0 or self.near + self.random < 1:
            raise TidegateError("a peer chooses at least 1 neighbour")
        if self.limit and self.limit < self.near + self.random:
            raise TidegateError("a limit of neighbours leaves room for those one chooses oneself")
        if self.gather < 1 or self.reach < 1:
            raise TidegateError("gather and reach are at least 1")

    @property
    def mend_time(self) -> int:
        """How long it takes, at most, until whoever is gone has been replaced."""
        probing = self.gather * (self.reach + 1) if self.gathered else self.gather
        return 2 * self.gather + probing + 2 * self.gather  # asked; probed; chosen
