"""What a subscriber gets, and how it waits for it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Final, NamedTuple

from tidegate.errors import LinkError
from tidegate.overlay.filter import Event

MANY: Final = 10_000  # notifications that wait for an application, from which on none are read


class Notification(NamedTuple):
    """This event, for these subscriptions: who published it, and its number there.

    `missed` says how many events were dropped before this one, because they were not read in time.
    """

    event: Event
    subscriptions: tuple[int, ...]
    publisher: str
    number: int
    missed: int = 0


class Subscription:
    """One subscription of a client: an asynchronous iterator of notifications.

    It ends when it is cancelled; if its client cannot go on, that is a `LinkError`.
    """

    def __init__(self, own: int, drained: Callable[[], None]) -> None:
        self.id: Final = own
        self.missed = 0  # events that were dropped, in all
        self._gap = 0  # those after the last notification
        self._waiting: deque[Notification] = deque()
        self._ended = False
        self._failure = ""
        self._drained = drained
        self._news = asyncio.Event()

    def __aiter__(self) -> AsyncIterator[Notification]:
        return self

    async def __anext__(self) -> Notification:
        while not self._waiting:
            if self._failure:
                raise LinkError(self._failure)
            if self._ended:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        found = self._waiting.popleft()
        if len(self._waiting) == MANY // 2:
            self._drained()
        return found

    @property
    def waiting(self) -> int:
        """How many notifications wait for the application."""
        return len(self._waiting)

    def put(self, notification: Notification) -> None:
        """Hand on a notification."""
        if self._gap:
            notification = notification._replace(missed=self._gap)
            self._gap = 0
        self._waiting.append(notification)
        self._news.set()

    def skip(self, count: int) -> None:
        """Some events were dropped that would have come now."""
        self.missed += count
        self._gap += count

    def end(self, failure: str = "") -> None:
        """Let there be no more of them; why, if something has failed."""
        self._ended, self._failure = True, failure
        self._news.set()
