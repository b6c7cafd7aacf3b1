"""Who is next to a peer of the containment tree, and where does an event go from there?

**The tree** (Chand, 2005, section 7.3): a peer's parent wants all that the peer wants. Peers that
want exactly the same form an *equivalence tree*, whose root stands for all of them: other children
hang at the root. There is no peer that contains all others, so the root of the whole is virtual:
peers at the top are *siblings*, all linked to each other.

**Events.** What comes from below, or is one's own, goes up and to all other children; what comes
from above goes to the children, if it is wanted here. At the top, up is to all siblings, and what
comes from a sibling goes down only: so an event takes the edges of a tree whose root is the virtual
one. An event that its publisher does not want is handed up to the top, which sends it out.

**Clusters** (section 7.3.5). A peer with many children puts them into clusters, and sends an event
to one of each, drawn anew each time; that one passes it to the rest, whether it wants it or not.

Invariant: a peer that has joined and has no parent is at the top, and only such a one has siblings.
"""

from dataclasses import dataclass, field
from typing import Final

from tidegate.errors import TidegateError
from tidegate.overlay.filter import Event, Filter, Kind
from tidegate.peers.messages import Effect, Pass, Send
from tidegate.peers.peer import Peer, Settings, drawn
from tidegate.peers.tree_messages import Hand, Join, Kin, Message, Relay


@dataclass(frozen=True, slots=True)
class TreeSettings(Settings):
    """How a tree is built and mended; all peers should have the same ones. Times are in ticks."""

    join: Join = Join.FULL
    degree: int = 100
    """L: how many children a member of an equivalence tree has in it."""
    root_share: int = 2
    """r: the root of an equivalence tree has only the r-th part of that."""
    adaptive_limit: int = 100
    """L_APJ: above so many children an adaptive join is a full one."""
    adaptive_rate: float = 0.1
    """γ_APJ: how probable it is that it is one elsewhere."""
    cluster: int = 0
    """How many children a cluster has; 0: there are none."""
    loaded: int = 100
    """Above so many children there are clusters."""
    gather: int = 4
    """How long replies to a search are waited for."""
    patience: int = 4
    """How long an answer is waited for."""
    retries: int = 3
    """How often a search is tried again before a peer goes to the top."""
    seek: int = 16
    """How often a top looks whether there is another one that it does not know."""
    flood: int = 1_000
    """How many searches of one neighbour a peer takes between two ticks."""

    def __post_init__(self) -> None:
        super(TreeSettings, self).__post_init__()
        if not 1 <= self.root_share <= self.degree:
            raise TidegateError("the root of an equivalence tree has at least 1 child in it")
        if not 0 <= self.adaptive_rate <= 1:
            raise TidegateError(f"a rate is from 0 to 1, not {self.adaptive_rate}")
        if min(self.gather, self.patience, self.seek, self.flood) < 1:
            raise TidegateError("gather, patience, seek and flood are at least 1")
        if min(self.cluster, self.loaded, self.retries, self.adaptive_limit) < 0:
            raise TidegateError("cluster, loaded, retries and adaptive_limit are not negative")

    @property
    def root_degree(self) -> int:
        """L/r: how many children of its own equivalence tree its root has."""
        return self.degree // self.root_share

    @property
    def leave_time(self) -> int:
        """How long it takes a peer to leave, at most."""
        return 4 * self.patience + self.gather

    @property
    def orphan_time(self) -> int:
        """How long a peer is without a parent, at most, before it goes to the top."""
        asked = 3 * self.patience  # the heir, after a while, and the grandparent
        tried = self.patience + self.gather + 3 * self.patience  # looking, searching, asking
        return asked + (self.retries + 1) * (tried + self.patience)

    @property
    def mend_time(self) -> int:
        """How long it takes, at most, until there is one tree again after a failure."""
        return self.orphan_time + 2 * self.seek


@dataclass(slots=True)
class Family:
    """Who is next to a peer."""

    joined: bool = False
    parent: str | None = None
    equal: bool = False  # whether the parent wants exactly the same
    old: str | None = None  # the parent before, whose link is kept until the new one has answered
    grandparent: str | None = None
    heir: str | None = None  # the child of the parent that takes its place, if it fails
    mates: list[str] = field(default_factory=list)  # the rest of the own cluster
    children: dict[str, bool] = field(default_factory=dict)  # whether they want exactly the same
    places: dict[str, int] = field(default_factory=dict)  # of children, by which they are clustered
    siblings: dict[str, bool] = field(default_factory=dict)

    @property
    def at_top(self) -> bool:
        """Whether the virtual root is the parent."""
        return self.joined and self.parent is None

    def above(self, link: str) -> bool:
        """Whether events that come on a link go down only."""
        return link in (self.parent, self.old) or link in self.siblings or link in self.mates

    def knows(self, link: str) -> bool:
        """Whether events may come on a link."""
        return link in self.children or self.above(link)

    def knows_beside_old(self, link: str) -> bool:
        """Whether a link is more than that to the old parent."""
        return link == self.parent or link in self.children or link in self.siblings


class Branch(Peer):
    """A peer with the peers next to it, and what it does about events."""

    def __init__(
        self, name: str, kind: Kind, f: Filter, settings: TreeSettings | None = None
    ) -> None:
        super().__init__(name, kind, f, settings or TreeSettings())
        self.family: Final = Family()
        self._effects: list[Effect] = []
        self._told: dict[str, Kin] = {}  # what children know

    @property
    def tree(self) -> TreeSettings:
        """The settings."""
        assert isinstance(self.settings, TreeSettings)
        return self.settings

    def publish(self, event: Event) -> list[Effect]:
        """What to do about an event of one's own; one that is not wanted here is handed up."""
        if self.kind.event_refusal(event) is None and not self.filter.matches(event):
            self._number += 1
            return self._hand(None, Hand(self.name, self._number, event))
        return super().publish(event)

    def clusters(self) -> list[list[str]]:
        """The children, in their clusters; each by itself, as long as there are few."""
        children, size = self.family.children, self.tree.cluster
        if not size or len(children) <= self.tree.loaded:
            return [[child] for child in children]
        groups: dict[int, list[str]] = {}
        for child in children:
            groups.setdefault(self.family.places[child] // size, []).append(child)
        return list(groups.values())

    def _send(self, link: str, message: Message) -> None:
        self._effects.append(Send(link, message))

    def _add_child(self, name: str, equal: bool) -> None:
        taken = set(self.family.places.values())
        free = next(place for place in range(len(taken) + 1) if place not in taken)
        self.family.places.setdefault(name, free)
        self.family.children[name] = equal

    def _remove_child(self, name: str) -> None:
        self.family.children.pop(name, None)
        self.family.places.pop(name, None)
        self._told.pop(name, None)

    def _tell_children(self) -> None:
        """Tell each child what it has to know, if that has changed."""
        family = self.family
        heir = next((child for child, equal in family.children.items() if equal), None)
        for group in self.clusters():
            for child in group:
                mates = tuple(each for each in group if each != child)
                kin = Kin(family.parent, heir, mates)
                if self._told.get(child) != kin:
                    self._told[child] = kin
                    self._send(child, kin)

    def _pass_on(self, source: str | None, message: Pass) -> list[Effect]:
        effects: list[Effect] = []
        if source is None or not self.family.above(source):
            effects += self._up(message)
        return effects + self._down(source, message)

    def _up(self, message: Pass) -> list[Effect]:
        parent = self.family.parent
        if parent is not None:
            return [Send(parent, message)]
        return [Send(sibling, message) for sibling in self.family.siblings]

    def _down(self, source: str | None, message: Pass) -> list[Effect]:
        effects: list[Effect] = []
        for group in self.clusters():
            others = [child for child in group if child != source]
            if others:
                chance = drawn(self.name, group[0], message.publisher, message.number)
                chosen = others[int(chance * len(others))]
                whole = len(others) > 1
                effects.append(Send(chosen, Relay(message, source) if whole else message))
        return effects

    def _relay(self, link: str, relayed: Relay) -> list[Effect]:
        """Pass an event to the rest of the cluster, and treat it as any from above."""
        message = relayed.passed
        mates = [mate for mate in self.family.mates if mate != relayed.skip]
        return [*(Send(mate, message) for mate in mates), *self._heard(link, message)]

    def _hand(self, source: str | None, handed: Hand) -> list[Effect]:
        """Hand an event up; at the top, send it out as the virtual root would."""
        parent = self.family.parent
        if parent is not None:
            return [Send(parent, handed)]
        message = Pass(handed.publisher, handed.number, handed.event)
        if source is not None and not self._remember(message):
            return []
        delivered = self._deliver(message) if source is not None else []
        down = self._down(None, message) if delivered else []
        return [*delivered, *self._up(message), *down]
