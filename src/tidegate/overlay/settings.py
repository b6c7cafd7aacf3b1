"""How is a broker set up, beside its policy?"""

from dataclasses import dataclass

from tidegate.errors import TidegateError


@dataclass(frozen=True, slots=True)
class Settings:
    """All brokers of an overlay should have the same ones.

    With `advertisements`, publishers say first what they will publish, and subscriptions travel
    only where something they want may come from. `filter_size` and `event_size` are limits, in
    bytes; `patience` is for how many ticks a neighbour may leave something unacknowledged before it
    is suspected to have failed.
    """

    advertisements: bool = False
    filter_size: int = 2**20
    event_size: int = 2**20
    patience: int = 10

    def __post_init__(self) -> None:
        for name in ("filter_size", "event_size", "patience"):
            if getattr(self, name) < 1:
                raise TidegateError(f"{name} is at least 1, not {getattr(self, name)}")
