"""What do the peers of a containment tree say to each other, beside events?

The messages of Chand (2005), section 7.3.4, and those that it leaves out: whoever asks to be taken
in is answered, a promise is kept or called off, and a way to the top is looked at before somebody
moves. Who said something is told by the link it came on; no message says so itself.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, Final, TypeAlias

from tidegate.overlay.filter import Event, Filter, Kind
from tidegate.peers.messages import Contacts, LinkDown, LinkUp, Pass, Restart, Tick


class Relation(Enum):
    """How the filter of the peer that answers relates to that of the one who joins."""

    EQUIVALENT = "="
    CONTAINS = ">"
    CONTAINED = "<"
    NONE = ""


class Join(Enum):
    """How much of the tree is searched for a place, and whether others are moved."""

    FULL = "full"
    """Everything that may matter; peers that are better off under the new one are moved."""
    ADAPTIVE = "adaptive"
    """Full where peers have many children, and now and then; else basic. Thesis: APJ."""
    BASIC = "basic"
    """Only peers that contain the new one; nobody is moved."""


@dataclass(frozen=True, slots=True)
class Enter:
    """Somebody looks for a place; on its way up to the top, from where the search begins."""

    number: int
    joiner: str
    filter: Filter
    mode: Join


@dataclass(frozen=True, slots=True)
class Search:
    """The search on its way down (JOIN of the thesis): depth and children of who passes it on."""

    number: int
    joiner: str
    filter: Filter
    mode: Join
    depth: int
    load: int


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to a search; `load` counts children: one's own, or, if contained, the parent's."""

    number: int
    relation: Relation
    depth: int
    load: int
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Tops:
    """Where a search began: the peers at the top."""

    number: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """May I be your child? In the place of another child, if one is named that goes."""

    number: int
    filter: Filter
    instead: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """On its way up from who was asked: is the one who asks above it, or does anybody move?"""

    number: int
    asker: str
    candidate: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What the way up looks like: whether who asks may come below."""

    number: int
    asker: str
    clear: bool


@dataclass(frozen=True, slots=True)
class Grant:
    """You may be my child: my depth, and whether our filters are equivalent."""

    number: int
    depth: int
    equal: bool


@dataclass(frozen=True, slots=True)
class Refuse:
    """You may not."""

    number: int


@dataclass(frozen=True, slots=True)
class Attach:
    """I am your child now."""

    number: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """I shall not be your child."""

    number: int


@dataclass(frozen=True, slots=True)
class Still:
    """I have promised to take you in: is that still wanted?"""

    number: int


@dataclass(frozen=True, slots=True)
class Kin:
    """What a parent tells a child: who comes next if it fails, and who is in the child's cluster.

    `heir` is a child whose filter is equivalent to the parent's.
    """

    grandparent: str | None
    heir: str | None
    mates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reorganise:
    """You would be better off as a child of this peer (REORG of the thesis)."""

    target: str


@dataclass(frozen=True, slots=True)
class Reevaluate:
    """Your depth has fallen: look for a deeper parent."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Your parent is about to leave: who comes in its place, or who is at the top.

    With `full`, look for the best place; otherwise go to the grandparent.
    """

    successor: str | None
    tops: tuple[str, ...] = ()
    full: bool = False


@dataclass(frozen=True, slots=True)
class Promote:
    """A leaf of the equivalence tree is to take the leaver's place: the parent, or the tops."""

    leaver: str
    parent: str | None
    tops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Promoted:
    """I am in your place."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """I am at the top, and so are these; who did not know that, or knows more, answers."""

    tops: tuple[str, ...]
    answer: bool = False


@dataclass(frozen=True, slots=True)
class NotTop:
    """I am not at the top."""


@dataclass(frozen=True, slots=True)
class Meet:
    """Somebody at the top wants to know whether there is another top; on its way up to it."""

    who: str


@dataclass(frozen=True, slots=True)
class Hand:
    """An event that its publisher does not want, on its way to the top."""

    publisher: str
    number: int
    event: Event


@dataclass(frozen=True, slots=True)
class Relay:
    """An event for a whole cluster, all but one perhaps: pass it to the others, wanted or not."""

    passed: Pass
    skip: str | None


Message: TypeAlias = (
    Enter
    | Search
    | Reply
    | Tops
    | Ask
    | Check
    | Checked
    | Grant
    | Refuse
    | Attach
    | Cancel
    | Still
    | Kin
    | Reorganise
    | Reevaluate
    | Leave
    | Promote
    | Promoted
    | Sibling
    | NotTop
    | Meet
    | Hand
    | Relay
    | Pass
)


Input: TypeAlias = Message | LinkUp | LinkDown | Restart | Tick | Contacts

MOST_NAMES: Final = 100_000
"""How many names a message may have."""


def well_formed(message: Message, kind: Kind) -> bool:
    """Whether a message is formed as one; a peer does not believe whoever speaks to it."""
    if isinstance(message, Relay):
        passed: Any = message.passed
        fits = isinstance(passed, Pass) and well_formed(passed, kind)
        return fits and _perhaps_name(message.skip)
    for field in fields(message):
        value = getattr(message, field.name)
        if field.name == "filter":
            fits = kind.filter_refusal(value) is None
        elif field.name == "event":
            fits = kind.event_refusal(value) is None
        else:
            fits = _CHECKS[field.name](value)
        if not fits:
            return False
    return True


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _name(value: Any) -> bool:
    return isinstance(value, str)


def _perhaps_name(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _names(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) <= MOST_NAMES
        and all(isinstance(each, str) for each in value)
    )


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


_CHECKS: Final[dict[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("number", "depth", "load", "spare"), _count),
    **dict.fromkeys(
        ("joiner", "asker", "candidate", "leaver", "target", "who", "publisher"), _name
    ),
    **dict.fromkeys(("instead", "parent", "grandparent", "heir", "successor"), _perhaps_name),
    **dict.fromkeys(("names", "tops", "mates"), _names),
    **dict.fromkeys(("clear", "equal", "full", "answer"), _truth),
    "relation": lambda value: isinstance(value, Relation),
    "mode": lambda value: isinstance(value, Join),
}
