"""What comes for a client, for which of its subscriptions, and how much more may come.

While `MANY` notifications wait for one of the subscriptions, no credits are given: answers come,
events do not.
"""

from collections import Counter
from typing import Final

from tidegate.errors import FrameError
from tidegate.network.credits import Credits
from tidegate.network.event_frames import read_events_frame
from tidegate.network.frames import HEAD, Frame
from tidegate.network.gap import read_gap
from tidegate.network.notification import MANY, Notification, Subscription
from tidegate.network.payloads import read_events
from tidegate.overlay.client import Client
from tidegate.overlay.filter import Kind

CREDITS: Final = 2**20  # bytes of deliveries that may come before those that came are taken


class Inbox:
    """The subscriptions of a client, by id."""

    def __init__(self) -> None:
        self.subscriptions: Final[dict[int, Subscription]] = {}
        self._crowded: set[int] = set()  # subscriptions with many notifications that wait
        self._credits = Credits(CREDITS)

    def begin(self) -> None:
        """There is a new connection."""
        self._credits = Credits(CREDITS)

    def take(self, came: Frame, client: Client, kind: Kind) -> None:
        """Hand on what a frame delivers, to those for which the client says that it is."""
        self._credits.take(HEAD.size + len(came.body))
        table = read_events_frame(came, most=2**31)
        events = read_events(table.payloads, kind)
        owns, start = table.subscriptions.tolist(), 0
        counts = table.counts.tolist()
        columns = zip(table.numbers.tolist(), table.publishers, events, counts, strict=True)
        for number, publisher, event, count in columns:
            if isinstance(event, Exception):
                raise FrameError(str(event))
            handed = client.receive(event, tuple(owns[start : start + count]))
            start += count
            for own in handed:
                subscription = self.subscriptions.get(own)
                if subscription is not None:
                    subscription.put(Notification(event, handed, publisher, number))
                    if subscription.waiting > MANY:
                        self._crowded.add(own)

    def miss(self, came: Frame, client: Client) -> Counter[int]:
        """Events were dropped: how many for each subscription."""
        missed: Counter[int] = Counter()
        for entry, count in read_gap(came).items():
            own = client.subscription_of(entry)
            if own in self.subscriptions:
                missed[own] += count
        for own, count in missed.items():
            self.subscriptions[own].skip(count)
        return missed

    def more(self) -> int | None:
        """How many credits there are in all now, if that is to be said."""
        known = self.subscriptions
        if self._crowded:
            self._crowded = {x for x in self._crowded if x in known and known[x].waiting > MANY}
        return None if self._crowded else self._credits.more()

    def end(self, failure: str) -> None:
        """Let there be no more notifications; why, if something has failed."""
        for subscription in self.subscriptions.values():
            subscription.end(failure)
