"""A client at its broker: how it speaks to it, and what becomes of what it gets.

The client itself is that of the overlay; here is its wire, and what the simulator notes about it.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from tidegate.overlay.client import Client
from tidegate.overlay.conversation import Told
from tidegate.overlay.filter import Event
from tidegate.overlay.messages import Deliver
from tidegate.overlay.template import Language

Handler: TypeAlias = Callable[[Event, tuple[int, ...]], object]
"""The application: is handed an event, and the subscriptions that it is for."""


class Seat:
    """One client's place at a broker; `send` and `publish` take what it says there."""

    __slots__ = ("_publish", "_send", "advertised", "client", "handed", "handler")

    def __init__(
        self,
        name: str,
        language: Language | None,
        updates: str,
        send: "Callable[[Seat, Told], None]",
        publish: "Callable[[Seat, int, Event], None]",
        *,
        keep_events: bool = False,
    ) -> None:
        self._send = send
        self._publish = publish
        self.advertised = 0  # the marker after its last advertisement
        self.handed = 0  # notifications that the application has got
        self.handler: Handler | None = None
        self.client: Final = Client(
            name, self, language, updates, carry=self._carry, keep_events=keep_events
        )

    def send(self, message: Told, /) -> None:
        """Send a message, which is lost if the broker is down."""
        self._send(self, message)

    def _carry(self, number: int, event: Event) -> None:
        self._publish(self, number, event)

    def deliver(self, effect: Deliver) -> None:
        """The broker has delivered an event: the application is handed it, if it is wanted now."""
        owns = self.client.receive(effect.event, effect.subscriptions)
        self.handed += len(owns)
        if owns and self.handler is not None:
            self.handler(effect.event, owns)
