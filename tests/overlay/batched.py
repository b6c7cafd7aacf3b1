"""Brokers that take events in batches, beside one that takes them one by one.

A `Beside` is a broker that is asked about one event at a time, as in every history. It has a shadow
that is told the same things, but gets the events of one link together: as many as come before
anything else does, cut into batches where `cuts` says. Whatever the cuts, what the shadow wants
done with each event has to be what the broker itself wanted, and both have to be in the same state.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle

from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Kind
from tidegate.overlay.messages import Batch, Effect, Input, Publish
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
    ) -> None:
        super().__init__(name, kind, policy, settings)
        self._shadow = shadow(name, kind, policy, settings)
        self._cuts: Iterator[int] = cycle(cuts)
        self._waiting: list[tuple[Publish, list[Effect]]] = []
        self._from = ""

    def handle(self, link: str, came: Input) -> list[Effect]:
        if not isinstance(came, Publish) or link != self._from:
            self.catch_up()
        effects = super().handle(link, came)
        if isinstance(came, Publish) and link in self.routing.links:
            self._from = link
            self._waiting.append((came, effects))
        else:
            assert self._shadow.handle(link, came) == effects
        return effects

    def catch_up(self) -> None:
        """Let the shadow have what has come, in batches."""
        waiting, self._waiting = self._waiting, []
        while waiting:
            size = next(self._cuts)
            taken, waiting = waiting[:size], waiting[size:]
            self._compare(taken)

    def _compare(self, taken: list[tuple[Publish, list[Effect]]]) -> None:
        events = [came for came, _ in taken]
        batch = self._batch(events, client=self.routing.links[self._from].client)
        found = by_row(self._shadow.handle(self._from, batch))
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
    return effect.link
