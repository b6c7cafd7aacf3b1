"""How is a broker set up, beside its policy?"""

from dataclasses import dataclass
from typing import Final

from tidegate.errors import TidegateError
from tidegate.overlay.upstream import Parents, Paths


@dataclass(frozen=True, slots=True)
class Settings:
    """All brokers of an overlay should have the same ones.

    With `advertisements`, publishers say first what they will publish, and subscriptions travel
    only where something they want may come from. `filter_size` and `event_size` are limits, in
    bytes; `patience` is for how many ticks a neighbour may leave something unacknowledged before it
    is suspected to have failed. `learn` is how many events a broker counts before it prunes filters
    by them; each time twice as many until it looks again, up to 64 times as many.

    `memory`, in bytes of filters, and `bandwidth`, in events from a neighbour in a tick, are what a
    broker has: where one of them is given, and filters are pruned before they are forwarded,
    neighbours are told how much of it is in use.

    `upstream` is what is the broker's own: who its parent is and who its backups, or which links
    lead to which publishers. A neighbour that stays away for `forget` ticks is taken to be gone for
    good, and what came from it is forgotten; by default it never is. That is longer than
    `patience`, since who is below a broker that fails has to turn to somebody else first. Where an
    event may come on several ways, the last `window` numbers of each publisher are remembered;
    elsewhere the last one; all that of `publishers`, those that were heard last.

    With `keep_events`, events are written down and kept until the next broker, or the client, has
    acknowledged them: none is lost when a broker crashes and comes back with its memory. Where
    clients acknowledge nothing, `keep_deliveries` is False, and events are kept between brokers.
    """

    advertisements: bool = False
    filter_size: int = 2**20
    event_size: int = 2**20
    patience: int = 10
    learn: int = 100
    memory: int | None = None
    bandwidth: int | None = None
    forget: int | None = None
    window: int = 1_024
    publishers: int = 100_000
    keep_events: bool = False
    keep_deliveries: bool = True
    upstream: Parents | Paths | None = None

    def __post_init__(self) -> None:
        for name in _FROM_ONE:
            if (getattr(self, name) or 0) < 1 and (getattr(self, name) is not None):
                raise TidegateError(f"{name} is at least 1, not {getattr(self, name)}")
        if self.forget is not None and self.forget <= self.patience:
            raise TidegateError(f"forget is more than patience, {self.patience}, not {self.forget}")

    def keeps(self, *, client: bool) -> bool:
        """Whether events are kept until a client, or a neighbour, has acknowledged them."""
        return self.keep_events and (self.keep_deliveries or not client)


_FROM_ONE: Final = (
    *("filter_size", "event_size", "patience", "learn", "memory", "bandwidth"),
    *("forget", "window", "publishers"),
)
