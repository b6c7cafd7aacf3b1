"""How does a peer come under its parent, and never under itself?

Chand (2005), Algorithm 23: a peer gathers the replies to a search (`searching`), chooses the best
parent (`quest`) and hangs under it. What the thesis leaves out is what happens meanwhile.

**The question.** Peers move at any time, so an answer may be old. A peer therefore asks before it
moves, and is taken in only by somebody who contains it, does not move itself, and has found the way
up to the top *clear*: nobody on it is the one who asks, nobody is moving or without a parent.
Whoever is asking counts as moving until it has moved or given up, and lets nobody pass.

That is why there is never a circle. Suppose one, and let P be the peer in it that moved last, under
Q. When the check of P went up from Q, it did not find P; so some peer x on the way from Q to P had
another parent then, and moved after it was passed. Then the check of x went up from its new parent
while P was moving, and so was stopped by P, or else met a peer further up with another parent than
now, that moved later still. There are finitely many between Q and P, and the last of them asked P
itself, which refused.

A peer goes to the top without asking: that makes no circle.

A *promise* to take somebody in is kept until it is redeemed, called off, or so old that whoever it
was made to has given up long since.
"""

from typing import Final

from tidegate.errors import TidegateError
from tidegate.overlay.filter import Filter, Kind
from tidegate.peers.branch import TreeSettings
from tidegate.peers.messages import Connect, Disconnect, Effect, Seek
from tidegate.peers.peer import drawn
from tidegate.peers.quest import Purpose, Quest, Stage, candidates, to_adopt
from tidegate.peers.searching import Promise, Searching, relate
from tidegate.peers.tree_messages import (
    Ask,
    Attach,
    Cancel,
    Check,
    Checked,
    Enter,
    Grant,
    Join,
    NotTop,
    Promoted,
    Reevaluate,
    Refuse,
    Relation,
    Reorganise,
    Reply,
    Sibling,
    Still,
    Tops,
)

_REMINDERS: Final = 5  # of a promise, before it is void


class Joining(Searching):
    """A peer that looks for a parent, and takes in others."""

    def __init__(
        self, name: str, kind: Kind, f: Filter, settings: TreeSettings | None = None
    ) -> None:
        super().__init__(name, kind, f, settings)
        self._quest: Quest | None = None
        self._quests = 0  # how many there were
        self._now = 0  # in ticks
        self._full_leave = False
        self._kept_until = 0  # when the link to the old parent is closed at the latest
        self._greeted: dict[str, bool] = {}  # tops that have been told of this one lately
        self._loose: dict[str, int] = {}  # links that are for nothing, and since when

    @property
    def moving(self) -> bool:
        """Whether nobody may come below for the time being."""
        quest = self._quest
        return not self.family.joined or (quest is not None and quest.stage is Stage.ASK)

    @property
    def stays(self) -> bool:
        """Whether it is not about to leave."""
        return not self._leaving

    @property
    def settled(self) -> bool:
        """Whether it has its place, and nothing is under way here."""
        return self.family.joined and not (
            self._quest or self._promises or self._leaving or self.family.old
        )

    def start(self, contacts: tuple[str, ...] = ()) -> list[Effect]:
        """Join the tree by way of a peer that is in it; the first peer knows none."""
        if self.family.joined or self._quest is not None:
            raise TidegateError(f"{self.name} has joined already, or is about to")
        self._effects = []  # none of them is about a link
        if contacts:
            self._begin(Purpose.JOIN, self.tree.join, list(contacts))
        else:
            self._to_top(())
        return self._effects

    # -- the search

    def _begin(self, purpose: Purpose, mode: Join, contacts: list[str]) -> None:
        """Begin a search by way of one of these, or of somebody who is yet to be found."""
        quest = self._new_quest(purpose, mode, Stage.SEEK)
        quest.contacts = contacts
        self._enter()

    def _new_quest(self, purpose: Purpose, mode: Join, stage: Stage) -> Quest:
        self._call_off()
        self._quests += 1
        self._quest = Quest(self._quests, purpose, mode, stage, self._now + self.tree.patience)
        self._quest.depth = self.depth
        return self._quest

    def _call_off(self) -> None:
        """Give up what was asked."""
        quest = self._quest
        if quest is not None and quest.stage is Stage.ASK and quest.asked is not None:
            self._send(quest.asked, Cancel(quest.number))
        self._quest = None

    def _enter(self) -> None:
        """Let the next contact begin the search; if there is none, look for one."""
        quest = self._quest
        assert quest is not None
        if quest.contacts:
            quest.stage, quest.deadline = Stage.GATHER, self._now + self.tree.gather
            contact = quest.contacts.pop(0)
            self._send(contact, Enter(quest.number, self.name, self.filter, quest.mode))
        else:
            quest.stage, quest.deadline = Stage.SEEK, self._now + self.tree.patience
            self._effects.append(Seek())

    def _entered(self, link: str, came: Enter) -> None:
        quest = self._quest
        if came.joiner != self.name:
            if self.family.joined and not self._is_flooded(link):
                self._lead(came)
        elif quest is not None and quest.number == came.number and quest.stage is Stage.GATHER:
            if quest.contacts:
                self._enter()  # the contact is below this peer: another one
            else:
                self._exhausted()

    def _found(self, names: tuple[str, ...]) -> None:
        """Somebody to begin with was found, or nobody is there."""
        quest = self._quest
        if quest is None or quest.stage is not Stage.SEEK:
            return
        quest.contacts = [name for name in names if name != self.name]
        if quest.contacts:
            self._enter()
        else:
            self._to_top(())

    def _replied(self, link: str, reply: Reply) -> None:
        quest = self._quest
        if quest is not None and quest.stage is Stage.GATHER and quest.number == reply.number:
            quest.replies.setdefault(link, reply)

    def _told_tops(self, link: str, came: Tops) -> None:
        quest = self._quest
        if quest is not None and quest.stage is Stage.GATHER and quest.number == came.number:
            quest.tops = [name for name in came.names if name != self.name]

    def _decide(self) -> None:
        """Algorithm 23, first phase: all replies are in, or will not be waited for."""
        quest = self._quest
        assert quest is not None
        deeper = max(0, self.depth - 1) if quest.purpose is Purpose.IMPROVE else 0
        quest.candidates = candidates(quest.replies, deeper)
        if quest.candidates:
            self._ask_next()
        elif quest.purpose is Purpose.IMPROVE:
            self._call_off()
            self._fallen(quest)
        elif quest.tops:
            self._to_top(tuple(quest.tops))
        else:
            self._exhausted()  # it has not been heard yet who is at the top

    # -- asking

    def _ask_next(self) -> None:
        quest = self._quest
        assert quest is not None
        if not quest.candidates:
            self._exhausted()
            return
        quest.asked = quest.candidates.pop(0)
        quest.stage, quest.deadline = Stage.ASK, self._now + self.tree.patience
        self._send(quest.asked, Ask(quest.number, self.filter, quest.instead))

    def _exhausted(self) -> None:
        """Nobody takes the peer in: try again, stay, or go to the top."""
        quest = self._quest
        assert quest is not None
        if quest.purpose in (Purpose.MOVE, Purpose.PROMOTE, Purpose.IMPROVE):
            self._call_off()
            self._fallen(quest)
            return
        quest.asked = None
        quest.tries += 1
        if quest.tries > self.tree.retries:
            self._to_top(tuple(quest.tops))
            return
        quest.stage = Stage.WAIT
        chance = drawn("wait", self.name, quest.number, quest.tries)
        quest.deadline = self._now + 1 + int(chance * self.tree.patience)

    def _again(self) -> None:
        """Begin the search anew."""
        quest = self._quest
        assert quest is not None
        tries, purpose, mode = quest.tries, quest.purpose, quest.mode
        self._begin(purpose, mode, [])
        self._quest.tries = tries  # type: ignore[union-attr]  # it has just begun

    def _asked(self, link: str, ask: Ask) -> None:
        family = self.family
        relation = relate(self.filter, ask.filter)
        equal = relation is Relation.EQUIVALENT
        fits = equal or relation is Relation.CONTAINS
        if (
            not fits
            or self.moving
            or self._leaving
            or link == self.name
            or (equal and not self._has_room(ask.instead))
        ):
            self._send(link, Refuse(ask.number))
            return
        self._promises[link] = Promise(ask.number, equal, self._now)
        if family.parent is None:
            self._promise(link)
        else:
            self._send(family.parent, Check(ask.number, link, self.name))

    def _check(self, check: Check) -> None:
        """Somebody below was asked: is the way up clear here?"""
        parent = self.family.parent
        if check.asker == self.name or self.moving:
            self._send(check.candidate, Checked(check.number, check.asker, clear=False))
        elif parent is None:
            self._send(check.candidate, Checked(check.number, check.asker, clear=True))
        else:
            self._send(parent, check)

    def _checked(self, link: str, checked: Checked) -> None:
        promise = self._promises.get(checked.asker)
        if promise is None or promise.made or promise.number != checked.number:
            return
        if checked.clear:
            self._promise(checked.asker)
        else:
            del self._promises[checked.asker]
            self._send(checked.asker, Refuse(checked.number))

    def _promise(self, asker: str) -> None:
        promise = self._promises[asker]
        promise.made, promise.since = True, self._now
        self._send(asker, Grant(promise.number, self.depth, promise.equal))

    def _granted(self, link: str, grant: Grant) -> None:
        if self._waits_for(link, grant.number):
            self._move(link, grant)
        else:
            self._send(link, Cancel(grant.number))

    def _waits_for(self, link: str, number: int) -> bool:
        quest = self._quest
        return (
            quest is not None
            and quest.stage is Stage.ASK
            and quest.asked == link
            and quest.number == number
        )

    def _move(self, parent: str, grant: Grant) -> None:
        """Hang under another parent."""
        quest, family = self._quest, self.family
        assert quest is not None
        self._leave_top(parent)
        self._close_old()
        self._remove_child(parent)  # which it was, if word that it has left is lost
        if family.parent is not None and family.parent != parent:
            family.old, self._kept_until = family.parent, self._now + self.tree.patience
        family.joined, family.parent, family.equal = True, parent, grant.equal
        family.grandparent, family.heir, family.mates = None, None, []
        self.depth = grant.depth + 1
        self._effects.append(Connect(parent))
        self._send(parent, Attach(quest.number))
        self._quest = None
        self._placed(quest)

    def _placed(self, quest: Quest) -> None:
        """What follows when a peer has its place: second and third phase of Algorithm 23."""
        family = self.family
        others = [child for child, equal in family.children.items() if not equal]
        if family.equal and family.parent is not None:
            for child in others:
                self._send(child, Reorganise(family.parent))
        else:
            for name in to_adopt(quest.replies, self.depth, len(family.children)):
                self._send(name, Reorganise(self.name))
        if quest.instead is not None:
            self._send(quest.instead, Promoted())
        self._fallen(quest)

    def _fallen(self, quest: Quest) -> None:
        """Let those below look for a deeper parent, if this one is less deep than before."""
        if self.depth < quest.depth and quest.purpose in (Purpose.LEFT, Purpose.IMPROVE):
            for child, equal in self.family.children.items():
                if not equal:
                    self._send(child, Reevaluate())

    def _attached(self, link: str, attach: Attach) -> None:
        promise = self._promises.get(link)
        if promise is not None and promise.made and promise.number == attach.number:
            del self._promises[link]
            self.family.siblings.pop(link, None)
            self._add_child(link, promise.equal)
        elif link not in self.family.children:
            self.refused += 1
            self._effects.append(Disconnect(link))

    def _cancelled(self, link: str, cancel: Cancel) -> None:
        promise = self._promises.get(link)
        if promise is not None and promise.number == cancel.number:
            del self._promises[link]

    def _reminded(self, link: str, still: Still) -> None:
        """Somebody has promised, and has not heard since."""
        if self._waits_for(link, still.number):
            return  # the time for that is not over; it will be said then
        if self.family.parent == link:
            self._send(link, Attach(still.number))
        else:
            self._send(link, Cancel(still.number))

    def _keep_promises(self) -> None:
        for name, promise in list(self._promises.items()):
            if self._now - promise.since < self.tree.patience:
                continue
            promise.reminders += 1
            if not promise.made or promise.reminders > _REMINDERS:
                del self._promises[name]
            else:
                promise.since = self._now
                self._send(name, Still(promise.number))

    # -- the top

    def _to_top(self, tops: tuple[str, ...]) -> None:
        """Have the virtual root as parent."""
        quest, family = self._quest, self.family
        self._call_off()
        self._close_old()
        if family.parent is not None:
            family.old, self._kept_until = family.parent, self._now + 1
        family.joined, family.parent, family.equal = True, None, False
        family.grandparent, family.heir, family.mates = None, None, []
        self.depth = 1
        names = [name for name in tops if name != self.name]
        self._greeted = dict.fromkeys(names, True)
        for name in names:
            self._send(name, Sibling((self.name, *names)))
        if quest is not None:
            self._placed(quest)

    def _leave_top(self, parent: str | None) -> None:
        """Be at the top no longer, but under a parent that may be there."""
        for sibling in self.family.siblings:
            if sibling != parent:  # which learns it by being told of its new child
                self._send(sibling, NotTop())
                self._effects.append(Disconnect(sibling))
        self.family.siblings.clear()
        self._greeted.clear()

    def _close_old(self) -> None:
        family = self.family
        if family.old is not None:
            if family.old != family.parent and not family.knows_beside_old(family.old):
                self._effects.append(Disconnect(family.old))
            family.old = None

    def _is_sibling(self, link: str, came: Sibling) -> None:
        family = self.family
        if not family.at_top:
            self._send(link, NotTop())
            return
        new = link not in family.siblings
        if new:
            self._remove_child(link)
            family.siblings[link] = True
            self._effects.append(Connect(link))
        tops = (self.name, *family.siblings)
        if not came.answer and (new or not set(tops) <= {link, *came.tops}):
            self._send(link, Sibling(tops, answer=True))
        for name in came.tops:
            known = name == self.name or name in family.siblings or name in self._greeted
            if not known:
                self._greeted[name] = True
                self._send(name, Sibling(tops))

    def _is_not_top(self, link: str, came: NotTop) -> None:
        if self.family.siblings.pop(link, None) and link not in self.family.children:
            self._effects.append(Disconnect(link))
