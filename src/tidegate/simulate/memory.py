"""What does a simulated broker still know after a crash?

A storage that survives crashes, since they are simulated. A snapshot is kept as text, so nothing
comes back but plain data; what is written down since is values.
"""

import json
from collections.abc import Sequence

from tidegate.overlay.filter import Plain
from tidegate.overlay.messages import Persist
from tidegate.overlay.storage import Written


class Memory:
    """What one broker has written down: a `Storage`."""

    def __init__(self) -> None:
        self._snapshot: str | None = None
        self._records: list[Persist] = []

    def write(self, records: Sequence[Persist]) -> None:
        """Write these down, after all before."""
        self._records += records

    def keep(self, snapshot: Plain) -> None:
        """Keep a snapshot, which makes all that was written down before it needless."""
        self._snapshot = json.dumps(snapshot)
        self._records.clear()

    def recall(self) -> Written | None:
        """What was written down; None if nothing ever was."""
        if self._snapshot is None:
            return None
        return Written(json.loads(self._snapshot), list(self._records))
