"""What does a containment tree of tens of thousands of peers look like?

The tree that `tree_peer` builds when peers join and leave one after the other, without messages:
for experiments of the thesis's size (Chand, 2005, section 9.1.2). All choices are those of the
protocol, by the same functions and the same draws, so that the same history gives the same tree: a
test holds one against the other.

A search of the protocol goes through a large part of the tree. Here the peers that would answer are
found from the filters that relate to the newcomer's (`relations`), and for each of them it is
looked at whether the search would have come there. `search` goes the whole way, to count whom it
passes; a test holds that against the other, too.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tidegate.errors import TidegateError
from tidegate.overlay.filter import Event, Filter, Kind
from tidegate.peers.branch import TreeSettings
from tidegate.peers.peer import drawn
from tidegate.peers.quest import candidates, to_adopt
from tidegate.peers.relations import Relations
from tidegate.peers.tree_messages import Join, Relation, Reply


@dataclass(slots=True, eq=False)
class Member:
    """A peer in the tree."""

    name: str
    filter: int  # its number
    parent: "Member | None" = None
    equal: bool = False
    children: dict[str, "Member"] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """How far below the virtual root."""
        depth, at = 1, self.parent
        while at is not None:
            depth, at = depth + 1, at.parent
        return depth

    @property
    def degree(self) -> int:
        """How many neighbours, the virtual root and siblings left out."""
        return len(self.children) + (self.parent is not None)

    @property
    def equals(self) -> list["Member"]:
        """The children that want exactly the same."""
        return [child for child in self.children.values() if child.equal]


class Hierarchy:
    """A containment tree, one step after the other.

    >>> from tidegate.overlay.attributes import Attributes
    >>> kind = Attributes()
    >>> tree = Hierarchy(kind, TreeSettings())
    >>> for name, text in {"all": "x < 9", "few": "x < 1", "some": "x < 5"}.items():
    ...     tree.join(name, kind.parse(text))
    >>> tree.parents()
    {'all': None, 'few': 'some', 'some': 'all'}
    """

    def __init__(self, kind: Kind, settings: TreeSettings) -> None:
        self.settings: Final = settings
        self.members: Final[dict[str, Member]] = {}
        self.relations: Final = Relations(kind)
        self._tops: dict[str, Member] = {}
        self._heads: list[dict[str, Member]] = []  # by filter: members that no equal one is above

    def __len__(self) -> int:
        return len(self.members)

    def parents(self) -> dict[str, str | None]:
        """Who hangs under whom."""
        return {n: None if m.parent is None else m.parent.name for n, m in self.members.items()}

    def join(self, name: str, f: Filter) -> None:
        """Let a peer join."""
        if name in self.members:
            raise TidegateError(f"there is a peer {name!r} already")
        member = Member(name, self._number(f))
        replies = self.replies(member, self.settings.join)
        self._place(member, replies, self.settings.join)
        self.members[name] = member

    def leave(self, name: str) -> None:
        """Let a peer leave, by a basic leave."""
        member = self.members.pop(name)
        equals = member.equals
        if equals:
            chosen = equals[int(drawn("promote", member.name) * len(equals))]
            while chosen.equals:
                below = chosen.equals
                chosen = below[int(drawn("promote", chosen.name, name) * len(below))]
            self._hang(chosen, member.parent, member.equal)
            for child in list(member.children.values()):
                self._hang(child, chosen, child.equal)
        else:
            for child in list(member.children.values()):
                self._move_up(child, member.parent)
        self._take_out(member)

    def replies(self, joiner: Member, mode: Join) -> dict[str, Reply]:
        """Who answers a search, found from the filters that relate to the joiner's."""
        relations, number = self.relations, joiner.filter
        asked = relations.containing[number] | {number}
        if mode is not Join.BASIC:
            asked |= relations.contained[number]  # in a basic search these do not answer
        come: dict[str, bool] = {}
        found: dict[str, Reply] = {}
        for other in asked:
            for member in self._heads[other].values():
                if self._comes_to(member, joiner, mode, come):
                    self._answer(member, joiner, mode, found)
        return found

    def search(self, joiner: Member, mode: Join) -> tuple[dict[str, Reply], set[str]]:
        """Who answers a search, and who handles it: Algorithm 22, from the root down."""
        found: dict[str, Reply] = {}
        passed: set[str] = set()
        stack = list(self._tops.values())
        while stack:
            member = stack.pop()
            passed.add(member.name)
            if member is joiner:
                continue
            passed |= self._answer(member, joiner, mode, found)
            if self._lets_pass(member, joiner, mode):
                stack += [child for child in member.children.values() if not child.equal]
        return found, passed

    def probe(self, name: str, f: Filter, mode: Join) -> int:
        """How many peers would handle the search of a newcomer; nothing changes."""
        return len(self.search(Member(name, self._number(f)), mode)[1])

    def probe_full_leave(self, name: str) -> int:
        """How many peers would handle searches if a peer left by a full leave; nothing changes.

        Its children search, and so do those below who would then be less deep than before.
        """
        leaver = self.members[name]
        passed: set[str] = set()
        stack = [child for child in leaver.children.values() if not child.equal]
        while stack:
            member = stack.pop()
            replies, handled = self.search(member, Join.BASIC)
            passed |= handled
            replies.pop(name, None)
            best = candidates(replies)
            depth = 1 + (replies[best[0]].depth if best else 0)
            if depth < member.depth:
                stack += [child for child in member.children.values() if not child.equal]
        return len(passed - {name})

    def spread(self) -> "Flow":
        """The tree as it is now, to route many events through."""
        places = {name: place for place, name in enumerate(self.members)}
        filters = np.array([member.filter for member in self.members.values()], dtype=np.int64)
        above = [
            -1 if member.parent is None else places[member.parent.name]
            for member in self.members.values()
        ]
        return Flow(self.relations, filters, np.array(above, dtype=np.int64))

    def misplaced(self) -> float:
        """Which share of the peers is not under a deepest one that contains it."""
        depths = {name: member.depth for name, member in self.members.items()}
        deepest = [
            max((depths[name] for name in heads), default=0) for heads in self._heads
        ]  # of those that stand for their equivalence trees
        wrong = 0
        for member in self.members.values():
            if not member.equal:
                strict = self.relations.containing[member.filter]
                strict = strict - self.relations.contained[member.filter]
                best = max((deepest[other] for other in strict), default=0)
                wrong += depths[member.name] - 1 < best
        return wrong / len(self.members) if self.members else 0.0

    # -- how it is done

    def _number(self, f: Filter) -> int:
        number = self.relations.number(f)
        while len(self._heads) < len(self.relations):
            self._heads.append({})
        return number

    def _answer(
        self, member: Member, joiner: Member, mode: Join, found: dict[str, Reply]
    ) -> set[str]:
        """What a peer replies; who of its equivalence tree handles the search for that."""
        relation = self.relations.of(member.filter, joiner.filter)
        passed: set[str] = set()
        if relation is Relation.EQUIVALENT:
            at = member
            while not self._has_room(at) and at.equals:
                equals = at.equals
                at = equals[int(drawn(at.name, joiner.name, 1) * len(equals))]
                passed.add(at.name)
            if self._has_room(at):
                found[at.name] = Reply(1, relation, at.depth, len(at.children))
        elif relation is Relation.CONTAINS:
            found[member.name] = Reply(1, relation, member.depth, len(member.children))
        elif relation is Relation.CONTAINED and self._is_full_at(member, joiner, mode):
            above = None if member.parent is None else member.parent.name
            found[member.name] = Reply(1, relation, member.depth, self._load_above(member), above)
        return passed

    def _comes_to(self, member: Member, joiner: Member, mode: Join, come: dict[str, bool]) -> bool:
        """Whether a search gets to a peer, past all that are above it."""
        way: list[Member] = []
        at: Member | None = member
        while at is not None and at.name not in come:
            way.append(at)
            at = at.parent
        comes = True if at is None else come[at.name]
        for each in reversed(way):
            above = each.parent
            comes = comes and (above is None or self._lets_pass(above, joiner, mode))
            come[each.name] = comes
        return comes

    def _lets_pass(self, member: Member, joiner: Member, mode: Join) -> bool:
        relation = self.relations.of(member.filter, joiner.filter)
        if relation is Relation.NONE:
            return self._is_full_at(member, joiner, mode)
        return relation is Relation.CONTAINS

    def _is_full_at(self, member: Member, joiner: Member, mode: Join) -> bool:
        if mode is not Join.ADAPTIVE:
            return mode is Join.FULL
        load = max(len(member.children), self._load_above(member))
        return load > self.settings.adaptive_limit or (
            drawn("adaptive", member.name, joiner.name, 1) < self.settings.adaptive_rate
        )

    def _load_above(self, member: Member) -> int:
        """How many children a peer's parent has; the virtual root is one, too."""
        return len(self._tops if member.parent is None else member.parent.children)

    def _has_room(self, member: Member) -> bool:
        limit = self.settings.degree if member.equal else self.settings.root_degree
        return sum(child.equal for child in member.children.values()) < limit

    def _place(self, member: Member, replies: dict[str, Reply], mode: Join) -> None:
        best = candidates(replies)
        parent = self.members[best[0]] if best else None
        equal = bool(best) and replies[best[0]].relation is Relation.EQUIVALENT
        depth = 1 + (replies[best[0]].depth if best else 0)
        self._hang(member, parent, equal)
        if not equal and mode is not Join.BASIC:
            for name in to_adopt(replies, depth, len(member.children)):
                self._hang(self.members[name], member, equal=False)

    def _move_up(self, member: Member, parent: Member | None) -> None:
        """Hang a peer under its grandparent; search, if that does not contain it."""
        if parent is not None:
            relation = self.relations.of(parent.filter, member.filter)
            if relation is not Relation.CONTAINS:
                replies = self.search(member, Join.BASIC)[0]
                del member.parent.children[member.name]  # type: ignore[union-attr]
                self._place(member, replies, Join.BASIC)
                return
        self._hang(member, parent, equal=False)

    def _hang(self, member: Member, parent: Member | None, equal: bool) -> None:
        self._take_out(member)
        member.parent, member.equal = parent, equal
        if parent is None:
            self._tops[member.name] = member
        else:
            parent.children[member.name] = member
        if not equal:
            self._heads[member.filter][member.name] = member

    def _take_out(self, member: Member) -> None:
        if member.parent is not None:
            member.parent.children.pop(member.name, None)
        self._tops.pop(member.name, None)
        self._heads[member.filter].pop(member.name, None)


@dataclass(frozen=True)
class Flow:
    """A tree as arrays: the number of each peer's filter, and the place of its parent."""

    relations: Relations
    filters: NDArray[np.int64]
    parents: NDArray[np.int64]

    def route(self, event: Event) -> tuple[int, int]:
        """How many peers want an event that comes from the root, and how many get it in vain."""
        matches = np.zeros(len(self.relations), dtype=bool)
        matches[self.relations.matching(event)] = True
        wants = matches[self.filters]
        # who wants an event has only parents that want it: all of these are reached
        reached = np.where(self.parents < 0, True, wants[self.parents])
        return int(wants.sum()), int((reached & ~wants).sum())


def degrees(members: Iterable[Member]) -> tuple[float, int]:
    """The mean number of neighbours of those that have children, and the largest."""
    found = [member.degree for member in members if member.children]
    return (sum(found) / len(found), max(found)) if found else (0.0, 0)
