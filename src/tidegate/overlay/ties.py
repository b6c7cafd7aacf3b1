"""What does a broker do about neighbours that it takes up with, leaves, or has lost for good?

Here decisions about parents and backups (`failover`) become effects: greetings that tell the way to
the root, farewells, links that are asked for and closed. And here a link is forgotten: everything
that came from it goes, in one step, so that each neighbour that is left hears of it in one message.

Invariant: whoever is left has been sent a farewell, or its link was down; then it is told when it
greets. So no broker goes on for ever with what came from one that has another parent.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from tidegate.overlay.difference import Difference
from tidegate.overlay.failover import Answer, Failover
from tidegate.overlay.link import Link
from tidegate.overlay.messages import (
    Advertise,
    Change,
    Connect,
    Effect,
    Farewell,
    Hello,
    Send,
    Way,
)
from tidegate.overlay.routing import Routing

Tell: TypeAlias = Callable[
    [type[Change] | type[Advertise], dict[str, Difference], list[Effect]], None
]


class Ties:
    """The neighbours of one broker, as they come and go; `tell` tells them what has changed."""

    def __init__(
        self, routing: Routing, failover: Failover | None, forget: int | None, tell: Tell
    ) -> None:
        self.failover: Final = failover
        self._routing = routing
        self._patience = forget
        self._tell = tell

    def hello(self, link: Link, life: int) -> Hello:
        """The greeting to a neighbour."""
        stream, above = link.stream, self.failover
        if above is None:
            return Hello(life, stream.heard_life, stream.heard)
        return Hello(life, stream.heard_life, stream.heard, above.way, above.above(link.name))

    def unwelcome(self, link: Link, hello: Hello) -> list[Effect] | None:
        """What to do about a neighbour that has greeted, if it is not to stay."""
        if self.failover is None or self.failover.greeted(link.name, hello) is Answer.STAY:
            return None
        return self.leave(link.name)

    def settle(self, link: Link, way: tuple[str, ...] | None) -> list[Effect]:
        """Leave the old parent, if its successor has acknowledged everything.

        And tell a way that differs from the one before.
        """
        above, effects = self.failover, list[Effect]()
        if above is None:
            return effects
        if above.settles(link):
            old = above.parent
            if old in self._routing.links:
                effects += self._farewell(old)
                effects += self.forget(old)
            above.moved()
        if above.way != way:
            effects += self._tell_way()
        return effects

    @property
    def way(self) -> tuple[str, ...] | None:
        """The way to the root, where brokers have parents."""
        return None if self.failover is None else self.failover.way

    def told_way(self, link: Link, way: tuple[str, ...]) -> list[Effect]:
        """A neighbour has told its way to the root."""
        above, before = self.failover, self.way
        if above is None:
            return []
        if above.told(link.name, way) is Answer.LEAVE:
            return self.leave(link.name)
        return self._tell_way() if above.way != before else []

    def left(self, link: str) -> list[Effect]:
        """A neighbour has left."""
        effects, before = self.forget(link), self.way
        if self.failover is not None:
            self.failover.left(link)
        return [*effects, *(self._tell_way() if self.way != before else ())]

    def leave(self, link: str) -> list[Effect]:
        """Leave a neighbour."""
        return [*self._farewell(link), *self.left(link)]

    def forget(self, link: str) -> list[Effect]:
        """Know a link no more."""
        effects: list[Effect] = []
        if link in self._routing.links:
            wanted, offered = self._routing.forget(link)
            self._tell(Advertise, offered, effects)
            self._tell(Change, wanted, effects)
        return effects

    def tick(self) -> list[Effect]:
        """Some time has passed."""
        effects: list[Effect] = []
        for link in list(self._routing.neighbours):
            link.absent = 0 if link.up else link.absent + 1
            if self._patience is not None and link.absent >= self._patience:
                effects += self.gone(link.name)
        if self.failover is not None:
            overdue = self.failover.tick(self._routing.links)
            if overdue is not None:
                effects += self.leave(overdue)
            asked = self.failover.ask(self._routing.links)
            if asked is not None:
                effects.append(Connect(asked))
        return effects

    def gone(self, link: str) -> list[Effect]:
        """A neighbour is gone for good; a parent that is keeps its name, as it may be mistaken."""
        effects = [*self._farewell(link), *self.forget(link)]
        if self.failover is not None:
            self.failover.lost(link)
        return effects

    def _farewell(self, link: str) -> list[Effect]:
        known = self._routing.links.get(link)
        return [Send(link, Farewell())] if known is not None and known.up else []

    def _tell_way(self) -> list[Effect]:
        """Tell those below the way to the root."""
        above = self.failover
        assert above is not None
        below = (x for x in self._routing.neighbours if x.ready and not above.above(x.name))
        return [Send(link.name, Way(above.way)) for link in below]
