"""How is a broker set up, beside its policy?"""

from dataclasses import dataclass

from tidegate.errors import TidegateError


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
    """

    advertisements: bool = False
    filter_size: int = 2**20
    event_size: int = 2**20
    patience: int = 10
    learn: int = 100
    memory: int | None = None
    bandwidth: int | None = None

    def __post_init__(self) -> None:
        for name in ("filter_size", "event_size", "patience", "learn", "memory", "bandwidth"):
            if (getattr(self, name) or 0) < 1 and (getattr(self, name) is not None):
                raise TidegateError(f"{name} is at least 1, not {getattr(self, name)}")
