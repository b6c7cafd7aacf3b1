"""What does a broker know of one neighbour or client?

For a neighbour, how to decide what is forwarded to it: a policy for what is wanted by all others,
and one for what all others advertise. What came from the link itself stands in the broker's tables.
"""

from collections.abc import Callable, Mapping
from dataclasses import astuple, replace
from typing import Final

from tidegate.overlay.counts import Counts
from tidegate.overlay.difference import Difference
from tidegate.overlay.filter import Filter, Kind, Plain, Pruner
from tidegate.overlay.form import LARGEST
from tidegate.overlay.messages import (
    Advertise,
    Change,
    Deliver,
    Entry,
    Numbered,
    Publish,
    Recount,
    Report,
    Send,
)
from tidegate.overlay.policy import Choice, Policy
from tidegate.overlay.stream import Stream
from tidegate.overlay.work import Work

_FOR_CLIENTS: Final = Choice("identity")  # nothing is forwarded to them: it is to cost least


class Link:
    """One link of a broker.

    `ready` says that messages can be sent: the link is up and, to a neighbour, greetings have been
    exchanged.
    """

    def __init__(
        self,
        name: str,
        client: bool,
        choice: Choice,
        kind: Kind,
        work: Work,
        pruner: Pruner | None = None,
    ) -> None:
        self.name: Final = name
        self.client: Final = client
        self.stream: Final = Stream()
        self.up = False
        self.greeted = False
        self.absent = 0  # ticks since a neighbour was last there
        self.report: Report | None = None  # the last one that was noted
        own = _FOR_CLIENTS if client else choice
        self.wanted: Final = Policy(own, kind, work, pruner)  # by all others
        self.offered: Final = Policy(own.advertisements, kind, work)  # by all others

    @property
    def ready(self) -> bool:
        """Whether messages can be sent."""
        return self.up and (self.client or self.greeted)

    @property
    def forwards(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.wanted.active or self.offered.active)

    @property
    def weight(self) -> float:
        """How much pruning before forwarding suits the neighbour, by what it has reported.

        As much as it is short of memory, and no more than it has bandwidth to spare.
        """
        if self.report is None:
            return 1.0
        memory, bandwidth = self.report.memory, self.report.bandwidth
        spare = 1.0 if bandwidth is None else 1.0 - bandwidth
        return spare if memory is None else min(memory, spare)

    def tell(
        self, message: type[Change] | type[Advertise], difference: Difference
    ) -> Change | Advertise | None:
        """The message that tells what has changed, if anything has, kept until acknowledged."""
        if not difference:
            return None
        told = message(
            self.stream.number(),
            _entries(difference.add, difference.counts),
            _entries(difference.update),
            tuple(difference.remove),
        )
        if isinstance(told, Change) and difference.counts:
            told = replace(told, recount=_recounts(difference))
        self.stream.keep(told)
        return told

    def carry(
        self, event: Publish, subscriptions: tuple[int, ...], *, keep: bool
    ) -> Send | Deliver | None:
        """What takes an event further, to be kept until it is acknowledged or not; None if nothing
        can be sent now.
        """
        if not (keep or self.ready):
            return None
        seq = self.stream.number() if keep else 0
        onward: Publish | Deliver = replace(event, seq=seq) if keep else event
        if self.client:
            told = event.event, event.publisher, event.number
            onward = Deliver(self.name, *told, subscriptions, seq)
        if keep:
            self.stream.keep(onward)
        return self.sending(onward) if self.ready else None

    def sending(self, message: Numbered) -> Send | Deliver:
        """The effect by which a message, or what is delivered, gets to the other end."""
        return message if isinstance(message, Deliver) else Send(self.name, message)

    def everything(self) -> list[Numbered]:
        """The messages that tell all of it afresh."""
        offered, wanted = (dict(sorted(x.active.items())) for x in (self.offered, self.wanted))
        found: list[Numbered] = [
            Advertise(self.stream.number(), _entries(offered), whole=True),
            Change(self.stream.number(), _entries(wanted, self.wanted.counts), whole=True),
        ]
        for message in found:
            self.stream.keep(message)
        return found

    def state(self, kind: Kind, plain: Callable[[Filter], Plain]) -> Plain:
        """All of it as plain data; `plain` writes what the policies work on."""
        policies = [self.wanted.state(plain), self.offered.state(plain)]
        said = None if self.report is None else list(astuple(self.report))
        stream = self.stream.state(kind)
        place = [self.name, self.client, self.up, self.greeted]
        return [*place, stream, policies, said, self.absent]

    def restore(self, state: Plain, kind: Kind, read: Callable[[Plain], Filter]) -> None:
        """Be as another one of that name was; `read` reads what the policies work on."""
        _, _, self.up, self.greeted, stream, (wanted, offered), said, self.absent = state
        self.report = None if said is None else Report(*said)
        self.stream.restore(stream, kind)
        self.wanted.restore(wanted, read)
        self.offered.restore(offered, read)


def _entries(filters: Mapping[int, Filter], counts: Mapping[int, Counts] = {}) -> tuple[Entry, ...]:
    if not counts:
        return tuple(Entry(number, f) for number, f in filters.items())
    return tuple(Entry(number, f, *_told(counts[number])) for number, f in filters.items())


def _recounts(difference: Difference) -> tuple[Recount, ...]:
    """What entries that stay count from now on."""
    return tuple(
        Recount(number, *_told(counts))
        for number, counts in difference.counts.items()
        if number not in difference.add
    )


def _told(counts: Counts) -> Counts:
    """Counts as they are told: what is too large is told as large as can be."""
    return Counts(min(counts.own, LARGEST), min(counts.behind, LARGEST))
