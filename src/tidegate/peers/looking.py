"""What has a search for neighbours found so far?"""

from dataclasses import astuple, dataclass, field

from tidegate.overlay.filter import Plain
from tidegate.peers.near_messages import Candidate


@dataclass(slots=True)
class Looking:
    """A search for neighbours: of one's own, or of somebody whose replies are gathered."""

    deadline: int
    source: str | None = None  # where what is gathered goes; None: it is one's own
    waiting: set[str] = field(default_factory=set)
    found: dict[str, Candidate] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)

    def plain(self) -> Plain:
        """All of it as plain data."""
        found = [list(astuple(each)) for each in self.found.values()]
        return [self.deadline, self.source, sorted(self.waiting), found, sorted(self.others)]

    @classmethod
    def read(cls, plain: Plain) -> "Looking":
        """The search that was written so."""
        deadline, source, waiting, found, others = plain
        candidates = {each[0]: Candidate(*each) for each in found}
        return cls(deadline, source, set(waiting), candidates, set(others))
