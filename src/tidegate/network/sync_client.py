"""A client for programs that do not use `asyncio`: the same names, and calls that wait.

An event loop runs in a thread of its own, with a `client.Client` in it. Any number of threads may
call.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Coroutine, Iterable, Iterator
from typing import Any, Final, TypeVar

from tidegate.errors import LinkError
from tidegate.network import client as live
from tidegate.network import notification
from tidegate.network.client import Watch
from tidegate.network.notification import Notification
from tidegate.network.tls import Tls
from tidegate.overlay.filter import Event, Filter, Kind

Found = TypeVar("Found")


class Subscription:
    """One subscription: an iterator of notifications, each `next` of which waits."""

    def __init__(self, own: notification.Subscription, client: "SyncClient") -> None:
        self.own: Final = own
        self._client = client

    @property
    def id(self) -> int:
        """Its id."""
        return self.own.id

    @property
    def missed(self) -> int:
        """How many events were dropped, in all."""
        return self.own.missed

    @property
    def waiting(self) -> int:
        """How many notifications wait for the application."""
        return self.own.waiting

    def __iter__(self) -> Iterator[Notification]:
        return self

    def __next__(self) -> Notification:
        found = self.next()
        if found is None:
            raise StopIteration
        return found

    def next(self, timeout: float | None = None) -> Notification | None:
        """The next notification; None if it was cancelled. `TimeoutError` after so many seconds."""
        return self._client.wait(_next(self.own), timeout)


async def _next(subscription: notification.Subscription) -> Notification | None:
    return await anext(subscription, None)


class SyncClient:
    """A client; `connect` makes it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._client: live.Client | None = None

    def __enter__(self) -> "SyncClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        """Its name."""
        return self.client.name

    @property
    def kind(self) -> Kind:
        """Its kind of filters."""
        return self.client.kind

    @property
    def refused(self) -> deque[str]:
        """Why the last of its events that were not taken were not."""
        return self.client.refused

    @property
    def client(self) -> live.Client:
        """The client in the other thread."""
        assert self._client is not None
        return self._client

    def wait(self, doing: Coroutine[Any, Any, Found], timeout: float | None = None) -> Found:
        """Let something be done in the other thread, and wait for it."""
        if self._loop.is_closed():
            doing.close()
            raise LinkError("the client was closed")
        future = asyncio.run_coroutine_threadsafe(doing, self._loop)
        try:
            return future.result(timeout)
        except TimeoutError:
            future.cancel()
            raise

    def open(self, address: str, **given: Any) -> None:
        """Connect."""
        try:
            self._client = self.wait(live.connect(address, **given))
        except BaseException:
            self._stop()
            raise

    def subscribe(self, f: Filter | str, /, **parameters: Any) -> Subscription:
        """Want the events that match a filter; a text may have parameters."""
        return Subscription(self.wait(self.client.subscribe(f, **parameters)), self)

    def subscribe_many(self, text: str, rows: Iterable[dict[str, Any]], /) -> list[Subscription]:
        """Subscriptions of one text, each with its values of the parameters, in one message."""
        return [Subscription(x, self) for x in self.wait(self.client.subscribe_many(text, rows))]

    def update(self, subscription: Subscription, f: Filter | str, /, **parameters: Any) -> None:
        """Give a subscription another filter, or other values, without a gap."""
        self.wait(self.client.update(subscription.own, f, **parameters))

    def cancel(self, subscription: Subscription) -> None:
        """Want something no more."""
        self.wait(self.client.cancel(subscription.own))

    def advertise(self, f: Filter | str, /, **parameters: Any) -> int:
        """Say what it will publish; the advertisement's id."""
        return self.wait(self.client.advertise(f, **parameters))

    def publish(self, event: Event) -> int:
        """Publish an event; its number."""
        return self.wait(self.client.publish(event))

    def publish_many(self, events: Any) -> None:
        """Publish many events: mappings, or an Arrow table or what speaks Arrow."""
        self.wait(self.client.publish_many(events))

    def confirmed(self) -> None:
        """Wait until the broker has taken, or refused, all that was published."""
        self.wait(self.client.confirmed())

    def close(self) -> None:
        """End the connection."""
        if not self._loop.is_closed():
            self.wait(self.client.close())
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def connect(
    address: str,
    *,
    name: str = "",
    kind: Kind | None = None,
    watch: Watch | None = None,
    unconfirmed: int = 100_000,
    tls: Tls | None = None,
    token: str = "",
    patience: float = 0.0,
) -> SyncClient:
    """A client of the broker at an address; `watch` is called in another thread."""
    made = SyncClient()
    made.open(
        address,
        name=name,
        kind=kind,
        watch=watch,
        unconfirmed=unconfirmed,
        tls=tls,
        token=token,
        patience=patience,
    )
    return made
