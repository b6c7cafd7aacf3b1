"""What does a broker still know after a crash?

What it has written down: a snapshot, and the inputs since, which it handles again. A snapshot is
kept as text, so nothing comes back but plain data.
"""

import json
from typing import Any, Final

from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Kind
from tidegate.overlay.messages import Input, Persist
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings


class Memory:
    """What one broker has written down; a snapshot is taken after so many inputs."""

    def __init__(self, broker: Broker, every: int) -> None:
        self._every: Final = every
        self._snapshot = ""
        self._journal: list[tuple[str, Input]] = []
        self.take(broker)

    def take(self, broker: Broker) -> None:
        """Take a snapshot, which makes all earlier inputs needless."""
        self._snapshot = json.dumps(broker.snapshot())
        self._journal.clear()

    def note(self, written: Persist, broker: Broker) -> None:
        """Write down an input that the broker has handled, and nothing after it."""
        self._journal.append((written.link, written.input))
        if len(self._journal) >= self._every:
            self.take(broker)

    def recall(self, kind: Kind, policy: Choice, settings: Settings) -> tuple[Broker, Any]:
        """The broker as it was, and its units of work at the snapshot."""
        snapshot = json.loads(self._snapshot)
        broker = Broker.restore(snapshot, kind, policy, settings)
        for link, came in self._journal:
            broker.handle(link, came)
        return broker, snapshot["work"]
