"""What do brokers and clients say to each other, and what does a broker want done?

Messages are values. `Change` and `Advertise` are numbered, one after the other on each link and in
each direction, so that a duplicate is known for one and a gap is noticed. They are applied as a
whole, what is added before what is removed. Entries have ids that belong to the link: a broker
never forwards an id of a client. Many events of one link may come in together, as a `Batch`; what
is to be done with them then names rows of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.overlay.counts import Counts
from tidegate.overlay.filter import Event, Filter, Plain
from tidegate.overlay.pairs import Rows


@dataclass(frozen=True, slots=True)
class Entry:
    """A filter under its id, and how many registrations that is told for (see `Counts`).

    Only brokers that count say more than 1 and 0. An update never does: it leaves counts as they
    are.
    """

    id: int
    filter: Filter
    own: int = 1
    behind: int = 0

    @property
    def counted(self) -> bool:
        """Whether it is told for more than one registration of its own filter."""
        return self.own != 1 or self.behind != 0

    @property
    def counts(self) -> Counts:
        """How many registrations it is told for."""
        return Counts(self.own, self.behind)


@dataclass(frozen=True, slots=True)
class Recount:
    """How many registrations the entry with this id is told for from now on."""

    id: int
    own: int
    behind: int

    @property
    def counts(self) -> Counts:
        """How many registrations that is."""
        return Counts(self.own, self.behind)


@dataclass(frozen=True, slots=True)
class Change:
    """What is wanted behind a link: entries that are new, have other constants, or are gone.

    An update keeps the shape of the filter. `whole` says that nothing else is wanted: entries that
    are not among those added are gone. What stays may be recounted, by neighbours that count; a
    recount says how many there are, not how many more.
    """

    seq: int
    add: tuple[Entry, ...] = ()
    update: tuple[Entry, ...] = ()
    remove: tuple[int, ...] = ()
    whole: bool = False
    recount: tuple[Recount, ...] = ()


@dataclass(frozen=True, slots=True)
class Advertise:
    """What may be published behind a link, told as `Change` tells what is wanted; never counted."""

    seq: int
    add: tuple[Entry, ...] = ()
    update: tuple[Entry, ...] = ()
    remove: tuple[int, ...] = ()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Publish:
    """An event, the number that its publisher gave it, and, between brokers, who that is.

    A publisher's numbers rise. Where events are kept until they are acknowledged, `seq` numbers it
    on its link, together with changes and advertisements; elsewhere it is 0.
    """

    number: int
    event: Event
    publisher: str = ""
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """All numbered messages up to this one have arrived, and none after it."""

    seq: int


@dataclass(frozen=True, slots=True)
class Refuse:
    """Something was not taken, and has changed nothing: a numbered message, or an event."""

    seq: int | None
    number: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Hello:
    """Who speaks, and what it has heard of the other one so far.

    A broker that has lost its memory comes back in another `life`. Where brokers have parents, the
    `way` names who stands above the speaker, itself first, up to the root; `joins` says that it
    takes the other one for its parent, or wants to.
    """

    life: int
    heard_life: int
    heard: int
    way: tuple[str, ...] = ()
    joins: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """Who stands above the speaker from now on, itself first; told to those below."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Farewell:
    """The speaker has left: all that came from it is to be forgotten, and the link to be closed."""


@dataclass(frozen=True, slots=True)
class Report:
    """How a broker fares, told to a neighbour at a tick, at most once; nobody has to.

    `memory` and `bandwidth` are what is in use of those, `share` how far the broker would prune its
    own table: all from 0 to 1, None where it does not say. Numbers rise from one to the next, since
    the link came up.
    """

    number: int
    memory: float | None = None
    bandwidth: float | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Many events of one link, in the order in which they came; each is a row.

    As `Publish` says it of one: `numbers`, `events` and, from a neighbour, `publishers`, which a
    client's events do not have; `seqs`, where whoever sends them keeps them. Where it is known what
    events take in a message, in bytes, `sizes` say so, and nobody needs to write them to measure
    them. What is `carried` is of no matter to a broker: whoever drives it finds it again with what
    is to be done.

    Events of several clients may come in together, on no link: then `links` says, row by row, whose
    they are. It is as if each client's had come in by itself.
    """

    numbers: Sequence[int] | NDArray[np.int64]
    events: Sequence[Event]
    publishers: Sequence[str] = ()
    sizes: Sequence[int] | NDArray[np.int64] = ()
    carried: Any = None
    links: Sequence[str] = ()
    seqs: Sequence[int] = ()

    def row(self, row: int) -> Publish:
        """One of them."""
        publisher = self.publishers[row] if len(self.publishers) else ""
        seq = self.seqs[row] if self.seqs else 0
        return Publish(int(self.numbers[row]), self.events[row], publisher, seq)


Message: TypeAlias = (
    Change | Advertise | Publish | Acknowledge | Refuse | Hello | Report | Way | Farewell
)
Told: TypeAlias = Change | Advertise


@dataclass(frozen=True, slots=True)
class LinkUp:
    """A link has come up, to a broker or to a client."""

    client: bool


@dataclass(frozen=True, slots=True)
class LinkDown:
    """A link has gone down; what was under way on it may be lost."""


@dataclass(frozen=True, slots=True)
class LinkGone:
    """A link will not come up again: what came from it is forgotten, in one step."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Some time has passed.

    What is done then may depend on what nobody has written down: which events came, what neighbours
    have reported. The broker `noted` that, as plain data, when it wrote the tick down; a tick that
    comes from a clock has nothing noted.
    """

    noted: Plain = None


@dataclass(frozen=True, slots=True)
class Restart:
    """The broker runs again, with the memory it had; every link is down until it comes up."""


Input: TypeAlias = Message | Batch | LinkUp | LinkDown | LinkGone | Tick | Restart


@dataclass(frozen=True, slots=True)
class Persist:
    """Before anything that follows is done, write down that this came in on that link.

    All that was written down since a snapshot, handled again, gives the same state.
    """

    link: str
    input: Input


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message on a link."""

    link: str
    message: Message


@dataclass(frozen=True, slots=True)
class Deliver:
    """Hand an event to a client, for these subscriptions of it.

    Where events are kept, the client acknowledges it by its `seq`, and may get it again until then.
    """

    link: str
    event: Event
    publisher: str
    number: int
    subscriptions: tuple[int, ...]
    seq: int = 0


Numbered: TypeAlias = Change | Advertise | Publish | Deliver
"""What is kept until it is acknowledged."""


@dataclass(frozen=True, slots=True)
class Connect:
    """Open a link to the broker of this name; if there is one, nothing has to be done."""

    link: str


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close a link, when all that was sent on it has arrived."""

    link: str


@dataclass(frozen=True, slots=True, eq=False)
class SendRows:
    """Send these events of a batch to a neighbour, in their order."""

    link: str
    batch: Batch
    rows: Rows


@dataclass(frozen=True, slots=True, eq=False)
class DeliverRows:
    """Hand events of a batch to clients, to each in their order.

    To `links[i]` go the `rows` from `bounds[i, 0]` to `bounds[i, 1]`. Event `rows[k]` is for the
    `subscriptions` from `starts[k]` to `starts[k + 1]`.
    """

    links: Sequence[str]
    batch: Batch
    bounds: Rows
    rows: Rows
    starts: Rows
    subscriptions: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RefuseRows:
    """Tell whoever sent a batch which of its events were not taken, and why."""

    link: str
    batch: Batch
    reasons: Mapping[int, str]  # by row, in order


Effect: TypeAlias = (
    Persist | Send | Deliver | Connect | Disconnect | SendRows | DeliverRows | RefuseRows
)

EMPTY: Final = 0  # the number before the first message of a link
