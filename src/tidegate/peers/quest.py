"""Where should a peer hang, and who should hang under it?

A **quest** is one search for a parent, from the first message to the last. What it is about is the
*proximity by containment* f_c of Chand (2005), section 7.3.1: the nearest peer is the deepest that
contains one's own filter; among equally deep ones, the one with fewest children. A peer that wants
exactly the same is nearer than all of them. (The thesis prints the first case of f_c the other way
round: it must say that the other does not contain one's own.)

When the parent is found, those are moved under the newcomer that are then deeper than before
(*reorganisation*), and those that are as deep, as long as their parent has more children than the
newcomer, those of the most loaded parent first (*balancing*). The thesis sorts the latter by
increasing load, against its own text; counts change while peers are moved, and are kept current.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from tidegate.overlay.filter import Plain
from tidegate.peers.tree_messages import Join, Relation, Reply


class Purpose(Enum):
    """Why a parent is looked for."""

    JOIN = "join"
    """The peer is new."""
    ORPHAN = "orphan"
    """Its parent has failed."""
    LEFT = "left"
    """Its parent is about to leave."""
    MOVE = "move"
    """Somebody is said to be better: it stays where it is if that comes to nothing."""
    PROMOTE = "promote"
    """It is to take the place of somebody who leaves."""
    IMPROVE = "improve"
    """Its depth has fallen: it looks for a deeper parent."""


class Stage(Enum):
    """How far a quest is."""

    SEEK = "seek"
    """Waiting for somebody to begin with."""
    GATHER = "gather"
    """Waiting for replies to a search."""
    ASK = "ask"
    """Waiting for the answer of the peer that was asked. The peer counts as moving."""
    WAIT = "wait"
    """Waiting until it begins again."""


@dataclass(slots=True)
class Quest:
    """A search for a parent."""

    number: int
    purpose: Purpose
    mode: Join
    stage: Stage
    deadline: int
    asked: str | None = None
    candidates: list[str] = field(default_factory=list)
    contacts: list[str] = field(default_factory=list)
    replies: dict[str, Reply] = field(default_factory=dict)
    tops: list[str] = field(default_factory=list)
    tries: int = 0
    instead: str | None = None  # whose place it is
    depth: int = 0  # of the peer when it began

    def plain(self) -> Plain:
        """All of it as plain data."""
        return [
            self.number,
            self.purpose.value,
            self.mode.value,
            self.stage.value,
            self.deadline,
            self.asked,
            list(self.candidates),
            list(self.contacts),
            {
                name: [reply.number, reply.relation.value, reply.depth, reply.load, reply.parent]
                for name, reply in self.replies.items()
            },
            list(self.tops),
            self.tries,
            self.instead,
            self.depth,
        ]

    @classmethod
    def read(cls, plain: Plain) -> "Quest":
        """The quest that was written so."""
        number, purpose, mode, stage, deadline, asked, chosen, contacts, replies, *rest = plain
        tops, tries, instead, depth = rest
        return cls(
            number,
            Purpose(purpose),
            Join(mode),
            Stage(stage),
            deadline,
            asked,
            list(chosen),
            list(contacts),
            {
                name: Reply(own, Relation(relation), deep, load, parent)
                for name, (own, relation, deep, load, parent) in replies.items()
            },
            list(tops),
            tries,
            instead,
            depth,
        )


def candidates(replies: dict[str, Reply], deeper_than: int = 0) -> list[str]:
    """Whom to ask, best first.

    >>> reply = {
    ...     "ann": Reply(1, Relation.CONTAINS, 2, 9),
    ...     "bob": Reply(1, Relation.CONTAINS, 3, 9),
    ...     "cid": Reply(1, Relation.CONTAINS, 3, 4),
    ...     "dan": Reply(1, Relation.CONTAINED, 7, 0),
    ... }
    >>> candidates(reply)
    ['cid', 'bob', 'ann']
    """
    equal = [(r.depth, name) for name, r in replies.items() if r.relation is Relation.EQUIVALENT]
    containing = [
        (-r.depth, r.load, name)
        for name, r in replies.items()
        if r.relation is Relation.CONTAINS and r.depth > deeper_than
    ]
    return [name for _, name in sorted(equal)] + [name for _, _, name in sorted(containing)]


def to_adopt(replies: dict[str, Reply], depth: int, children: int) -> list[str]:
    """Who should move under a peer of this depth that has so many children.

    >>> reply = {
    ...     "ann": Reply(1, Relation.CONTAINED, 2, 9, "x"),
    ...     "bob": Reply(1, Relation.CONTAINED, 3, 2, "y"),
    ...     "cid": Reply(1, Relation.CONTAINED, 3, 4, "z"),
    ...     "dan": Reply(1, Relation.CONTAINED, 4, 9, "z"),
    ... }
    >>> to_adopt(reply, 2, 0)
    ['ann', 'cid']
    """
    contained = {name: r for name, r in replies.items() if r.relation is Relation.CONTAINED}
    taken = sorted(name for name, r in contained.items() if r.depth <= depth)
    moved = Counter(contained[name].parent for name in taken)
    alike = [(-r.load, name) for name, r in contained.items() if r.depth == depth + 1]
    for _, name in sorted(alike):
        reply = contained[name]
        if children + len(taken) < reply.load - moved[reply.parent]:
            taken.append(name)
            moved[reply.parent] += 1
    return taken
