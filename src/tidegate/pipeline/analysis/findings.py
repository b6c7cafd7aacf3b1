"""What was found out about the subscriptions of a store?

An `Analysis`: plain data for programs (`Analysis.plain`), for the terminal and for the page. Counts
are of subscriptions, with those of distinct filters beside them where that is something else.
"""

from dataclasses import asdict, dataclass, field
from typing import Any, Final

SHOWN: Final = 10
"""Examples of each kind that are kept."""

_CHARACTERS_SHOWN: Final = 300  # characters of a filter that are shown


def shortened(text: str, most: int = _CHARACTERS_SHOWN) -> str:
    """A text that is not too long to be shown.

    >>> shortened("x" * 500)[-3:], len(shortened("x" * 500))
    ('xx…', 300)
    """
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass(frozen=True, slots=True)
class Example:
    """A subscription, its filter, what there is to say about it, and others that belong to it."""

    id: str
    filter: str
    note: str = ""
    others: tuple["Example", ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """Subscriptions of one kind.

    `undecided` counts filters of which it could not be decided whether they are of that kind; they
    are not counted as such.
    """

    subscriptions: int = 0
    filters: int = 0
    groups: int | None = None
    undecided: int | None = None
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverer:
    """A filter that covers many others."""

    id: str
    filter: str
    covers: int


@dataclass(frozen=True, slots=True)
class Slice:
    """A bar of a plot."""

    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What matching is expected to cost, where events or a distribution say so.

    `dearest` are the subscriptions with the largest shares of expected matches × size; `top` says
    which part of the cost the dearest 1% have.
    """

    events: int | None
    matches: float  # of one event, on average
    top: float
    dearest: tuple[Example, ...]
    shares: tuple[Slice, ...]  # how many subscriptions match which share of the events
    structures: tuple[Slice, ...] = ()  # of the index, with their subscriptions


@dataclass(frozen=True, slots=True)
class Analysis:
    """The subscriptions of a version of a store, by what could be better about them."""

    store: str
    version: int
    subscriptions: int
    filters: int  # distinct ones
    duplicate: Kind
    covered: Kind
    subsumed: Kind
    mergeable: Kind
    never: Kind  # can match nothing
    refused: Kind  # do not fit the schema
    always: Kind  # match everything there can be
    unmatched: Kind | None = None  # by the events that were given
    almost: Kind | None = None  # match nearly all of them
    almost_share: float = 0.9
    cost: Cost | None = None
    texts: int = 0  # filters with conditions on text, of which only certain facts are used
    long: int = 0  # filters without a normal form: too many alternatives
    uncompared: int = 0  # filters that others were not compared with: there was no room
    coverers: tuple[Coverer, ...] = ()
    group_sizes: tuple[Slice, ...] = ()  # of duplicates
    attributes: tuple[Slice, ...] = ()  # how many subscriptions ask for them
    cells: int = 1
    seconds: dict[str, float] = field(default_factory=dict)  # of each step

    def plain(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return asdict(self)

    @property
    def spare(self) -> int:
        """Subscriptions that tell an index nothing new: those beyond distinct, uncovered ones."""
        surplus = self.duplicate.subscriptions + self.never.subscriptions
        surplus += self.refused.subscriptions
        return min(self.subscriptions, surplus + self.covered.filters)
