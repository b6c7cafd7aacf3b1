"""What does a broker still know after a crash?

What it has written down: a snapshot, and the inputs since, which it handles again. Where that is
kept is the business of a **storage**: the simulator has one in memory, the live network one on
disk. A **keeper** stands between a broker and its storage.

Invariant: what a keeper has been told of is safe before anything that depends on it is done. So
whoever drives a broker hands the effects of one input, or of many, to `Keeper.note`, and only when
that has returned does the rest of them. (In Chand's thesis, "Large scale diffusion of information
in Publish/Subscribe systems" (2005), section 6.1.2, the storage is the *recovery database*.)
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from tidegate.engine.primitives.gc_pause import put_off
from tidegate.errors import StorageError
from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Kind, Plain
from tidegate.overlay.messages import Effect, Persist
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings


class Written(NamedTuple):
    """A snapshot, and what was written down after it, in order."""

    snapshot: Plain
    records: Sequence[Persist]


class Storage(Protocol):
    """Where a broker writes down what it needs after a crash.

    Both `write` and `keep` return when all of it is safe, and not before. If one of them raises,
    the storage takes nothing more, and the broker has to stop.
    """

    def write(self, records: Sequence[Persist], /) -> None:
        """Write these down, after all before."""

    def keep(self, snapshot: Plain, /) -> None:
        """Keep a snapshot, which makes all that was written down before it needless."""

    def recall(self) -> Written | None:
        """What was written down; None if nothing ever was."""


class Keeper:
    """Writes down what one broker wants written down; a snapshot after so many inputs."""

    def __init__(self, broker: Broker, storage: Storage, every: int, since: int = 0) -> None:
        self.broker: Final = broker
        self.storage: Final = storage
        self._every = every
        self._since = since  # inputs written down since the last snapshot
        self._failed = False

    @classmethod
    def begin(cls, broker: Broker, storage: Storage, every: int) -> "Keeper":
        """Keep a broker that has not written anything down yet."""
        keeper = cls(broker, storage, every)
        storage.keep(broker.snapshot())
        return keeper

    @classmethod
    def recall(
        cls,
        storage: Storage,
        every: int,
        kind: Kind,
        policy: Choice | None = None,
        settings: Settings | None = None,
    ) -> "Keeper | None":
        """Keep the broker that a storage knows, as it was; None if it knows none."""
        written = storage.recall()
        if written is None:
            return None
        broker = restored(written, kind, policy, settings)
        return cls(broker, storage, every, since=len(written.records))

    def note(self, effects: Iterable[Effect]) -> None:
        """Write down what has to be, before the rest of these effects is done.

        To be told after the broker has handled the inputs they follow from, and no other ones.
        """
        if self._failed:
            raise StorageError("what was done last could not be written down: the broker stops")
        records = [effect for effect in effects if type(effect) is Persist]
        if not records:
            return
        self._failed = True  # until all went well
        self.storage.write(records)
        self._since += len(records)
        if self._since >= self._every:
            self.storage.keep(self.broker.snapshot())
            self._since = 0
        self._failed = False


def restored(
    written: Written,
    kind: Kind,
    policy: Choice | None = None,
    settings: Settings | None = None,
) -> Broker:
    """The broker that wrote this down, as it was then."""
    with put_off(len(written.snapshot["wanted"]) + len(written.records)):
        broker = Broker.restore(written.snapshot, kind, policy, settings)
        for link, came in ((each.link, each.input) for each in written.records):
            broker.handle(link, came)
    return broker
