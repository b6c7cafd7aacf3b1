"""Brokers that take events in batches, beside one that takes them one by one.

A `Beside` is a broker that is asked about one event at a time, as in every history. It has a shadow
that is told the same things, but gets the events of one link, or of all clients, together: as many
as come before anything else does, cut into batches where `cuts` says. Whatever the cuts, what the
shadow wants done with each event has to be what the broker itself wanted, and both have to be in
the same state.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle

from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Kind
from tidegate.overlay.messages import Batch, DeliverRows, Effect, Input, Publish
from tidegate.overlay.policy import Choice
from tidegate.overlay.rows import by_row
from tidegate.overlay.settings import Settings

Make = Callable[[str, Kind, Choice, Settings], Broker]


class Beside(Broker):
    """A broker and its shadow."""

    def __init__(
        self,
        name: str,
        kind: Kind,
        policy: Choice,
        settings: Settings,
        *,
        cuts: Sequence[int] = (1_000,),
        shadow: Make = Broker,
        together: bool = False,
    ) -> None:
        super().__init__(name, kind, policy, settings)
        self._shadow = shadow(name, kind, policy, settings)
        self._cuts: Iterator[int] = cycle(cuts)
        self._waiting: list[tuple[Publish, list[Effect]]] = []
        self._from: list[str] = []  # the links of those that wait
        self._together = together  # whether events of several clients are

    def handle(self, link: str, came: Input) -> list[Effect]:
        if not isinstance(came, Publish) or not self._goes_with(link):
            self.catch_up()
        effects = super().handle(link, came)
        if isinstance(came, Publish) and link in self.routing.links:
            self._from.append(link)
            self._waiting.append((came, effects))
        else:
            assert self._shadow.handle(link, came) == effects
        return effects

    def _goes_with(self, link: str) -> bool:
        """Whether events of a link can be in one batch with those that wait."""
        if not self._from or self._from[-1] == link:
            return True
        links = self.routing.links
        return self._together and all(
            x in links and links[x].client for x in (link, self._from[-1])
        )

    def catch_up(self) -> None:
        """Let the shadow have what has come, in batches."""
        waiting, self._waiting = self._waiting, []
        links, self._from = self._from, []
        while waiting:
            size = next(self._cuts)
            self._compare(waiting[:size], links[:size])
            waiting, links = waiting[size:], links[size:]

    def _compare(self, taken: list[tuple[Publish, list[Effect]]], links: list[str]) -> None:
        client = self.routing.links[links[0]].client
        batch = self._batch([came for came, _ in taken], client=client)
        if client and self._together:
            batch = replace(batch, links=links)
        found = by_row(self._shadow.handle("" if batch.links else links[0], batch))
        for row, (came, effects) in enumerate(taken):
            mine = sorted(found.get(row, ()), key=_on)
            assert mine == sorted(effects, key=_on), came

    def _batch(self, events: list[Publish], *, client: bool) -> Batch:
        """The events as the shadow gets them."""
        numbers, told = [came.number for came in events], [came.event for came in events]
        return Batch(numbers, told, [] if client else [came.publisher for came in events])

    def check(self) -> None:
        """Both are in the same state, whatever events have come."""
        self.catch_up()
        mine, theirs = self.snapshot(), self._shadow.snapshot()
        assert mine == theirs


def _on(effect: Effect) -> str:
    assert not isinstance(effect, DeliverRows)
    return effect.link
