"""A peer of the containment tree: what to do about whatever comes in.

**Theory of operation.** `branch` says who is next to a peer and where events go, `joining` how it
finds a parent. Here stands how it leaves, what it does when others are gone, and what time does.

**Leaving** (Chand, 2005, section 7.3.4). *Basic*: the children go to their grandparent, or to the
top. *Full*: they search the best place, and those below them whose depth fell do, too. If there are
children that want exactly the same, a leaf of the equivalence tree takes the leaver's place first,
and the others go there. A peer that leaves stays until its children have gone, or for a stated time
(`leave_time`), so that nothing is missed meanwhile.

**Failures** are leaves that somebody else notices, by the end of a link. Children go to the heir,
a child of the same parent that wants exactly what the parent wanted, then to the grandparent; if
neither takes them in, they search from any peer that is found; if that fails a few times, they go
to the top. So nobody is without a parent for longer than `orphan_time`, if messages take less than
`patience`.

**Several trees** may come of failures of many peers at once. One of the tops that know each other,
the first by name, therefore looks now and then whether there is a top that it does not know: there
is one tree again after `mend_time`.

State is plain data, as is that of every peer. Bad input has no effect, and is counted.
"""

from dataclasses import astuple, fields
from typing import Any, Final

from tidegate.errors import TidegateError
from tidegate.overlay.filter import Kind, Plain
from tidegate.peers.branch import Family, TreeSettings
from tidegate.peers.joining import Joining
from tidegate.peers.messages import (
    Connect,
    Contacts,
    Disconnect,
    Effect,
    Gone,
    LinkDown,
    LinkUp,
    Pass,
    Restart,
    Seek,
    Tick,
)
from tidegate.peers.peer import drawn
from tidegate.peers.quest import Purpose, Quest, Stage
from tidegate.peers.searching import Promise
from tidegate.peers.tree_messages import (
    Ask,
    Attach,
    Cancel,
    Check,
    Checked,
    Enter,
    Grant,
    Hand,
    Input,
    Join,
    Kin,
    Leave,
    Meet,
    Message,
    NotTop,
    Promote,
    Promoted,
    Reevaluate,
    Refuse,
    Relay,
    Reorganise,
    Reply,
    Search,
    Sibling,
    Still,
    Tops,
    well_formed,
)

FORMAT: Final = 1  # of snapshots


class TreePeer(Joining):
    """One peer of a containment tree.

    >>> from tidegate.overlay.attributes import Attributes
    >>> kind = Attributes()
    >>> ann, bob = (TreePeer(n, kind, kind.parse(f)) for n, f in [("ann", "x < 9"), ("bob", "x<5")])
    >>> ann.start()
    []
    >>> [effect.link for effect in bob.start(("ann",))]
    ['ann']
    """

    def handle(self, link: str, came: Input) -> list[Effect]:
        """What to do about something that came in on a link, in order."""
        self._effects = []
        match came:
            case LinkUp():
                self._links[link] = False
            case LinkDown():
                self._lost(link)
            case Restart():
                self._restarted()
            case Tick():
                self._ticked()
            case Contacts(names):
                self._contacts(names)
            case _ if link != self.name and self._is_message(came):
                self._told_by(link, came)
            case _:
                self.refused += 1
        self._tell_children()
        return self._done()

    def leave(self, *, full: bool = False) -> list[Effect]:
        """Leave the tree; when all is done, `Gone` is among the effects."""
        self._effects = []
        self._call_off()
        if not self.family.joined:
            self._go()
            return self._done()
        self._leaving = self._now + self.tree.leave_time
        self._full_leave = full
        members = [child for child, equal in self.family.children.items() if equal]
        if members:
            chosen = members[int(drawn("promote", self.name) * len(members))]
            self._send(chosen, Promote(self.name, self.family.parent, self._tops()))
        else:
            self._say_leave(None)
        self._go_if_free()
        return self._done()

    def snapshot(self) -> Plain:
        """The whole state as plain data; what is restored from it has the same future."""
        counts = [self._number, self._quests, self._now, self._leaving, self._kept_until]
        return [
            FORMAT,
            self.name,
            self.kind.plain(self.filter),
            [_plain(value) for value in astuple(self.tree)],
            [[field.name, _copied(getattr(self.family, field.name))] for field in fields(Family)],
            [self.refused, self.searches, self.depth, self._full_leave],
            counts,
            [list(seen) for seen in self._seen],
            [dict(self._heard_searches), [*self._links], dict(self._loose), [*self._greeted]],
            {name: list(astuple(promise)) for name, promise in self._promises.items()},
            None if self._quest is None else self._quest.plain(),
            {
                name: [kin.grandparent, kin.heir, list(kin.mates)]
                for name, kin in self._told.items()
            },
        ]

    @classmethod
    def restore(cls, kind: Kind, plain: Plain) -> "TreePeer":
        """The peer whose snapshot this is."""
        if not isinstance(plain, list) or plain[:1] != [FORMAT] or len(plain) != 12:
            raise TidegateError("this is no snapshot of a peer in a format that is known")
        _, name, f, settings, family, state, counts, seen, heard, promises, quest, told = plain
        values = dict(zip([field.name for field in fields(TreeSettings)], settings, strict=True))
        values["join"] = Join(values["join"])
        peer = cls(name, kind, kind.read(f), TreeSettings(**values))
        for key, value in family:
            setattr(peer.family, key, _copied(value))
        peer.refused, peer.searches, peer.depth, peer._full_leave = state
        peer._number, peer._quests, peer._now, peer._leaving, peer._kept_until = counts
        peer._seen.update(((publisher, each), None) for publisher, each in seen)
        peer._heard_searches.update(heard[0])
        peer._links.update(dict.fromkeys(heard[1], False))
        peer._loose.update(heard[2])
        peer._greeted = dict.fromkeys(heard[3], True)
        peer._promises.update((each, Promise(*values)) for each, values in promises.items())
        peer._quest = None if quest is None else Quest.read(quest)
        peer._told = {child: Kin(up, heir, tuple(m)) for child, (up, heir, m) in told.items()}
        return peer

    def _done(self) -> list[Effect]:
        """What was to be done; which links are up because of it."""
        for effect in self._effects:
            if isinstance(effect, Connect):
                self._links.setdefault(effect.link, False)
            elif isinstance(effect, Disconnect):
                self._links.pop(effect.link, None)
                self._loose.pop(effect.link, None)
        return self._effects

    # -- messages

    def _is_message(self, came: Message) -> bool:
        known = type(came) in _HANDLERS or isinstance(came, Pass)
        return known and well_formed(came, self.kind)

    def _told_by(self, link: str, came: Message) -> None:
        """A well-formed message has come."""
        family = self.family
        match came:
            case Pass() if family.knows(link):
                self._effects += self._heard(link, came)
            case Relay() if link in (family.parent, family.old):
                self._effects += self._relay(link, came)
            case Hand() if link in family.children:
                self._effects += self._hand(link, came)
            case Search() if self._may_search(link) and not self._is_flooded(link):
                self._searched(came)
            case Check() if link in family.children:
                self._check(came)
            case Kin() | Leave() | Promote() | Reevaluate() if link != family.parent:
                self.refused += link != family.old
            case Pass() | Relay() | Hand() | Search() | Check():
                self.refused += 1
            case _:
                getattr(self, _HANDLERS[type(came)])(link, came)

    def _may_search(self, link: str) -> bool:
        family = self.family
        return link == family.parent or (family.at_top and link in family.siblings)

    def _kin(self, link: str, kin: Kin) -> None:
        family = self.family
        family.grandparent, family.heir = kin.grandparent, kin.heir
        family.mates = list(kin.mates)
        self._close_old()

    def _refused(self, link: str, refuse: Refuse) -> None:
        if self._waits_for(link, refuse.number):
            self._ask_next()

    def _reorganised(self, link: str, came: Reorganise) -> None:
        family = self.family
        if (
            link in (came.target, family.parent)
            and came.target not in (self.name, family.parent)
            and family.joined
            and not (family.equal or self._quest or self._leaving)
        ):
            quest = self._new_quest(Purpose.MOVE, Join.BASIC, Stage.ASK)
            quest.candidates = [came.target]
            self._ask_next()

    def _reevaluated(self, link: str, came: Reevaluate) -> None:
        before = self.depth
        self.depth = max(1, before - 1)
        if not (self._quest or self._leaving or self.family.equal):
            self._begin(Purpose.IMPROVE, Join.BASIC, [link])
            assert self._quest is not None
            self._quest.depth = before

    def _met(self, link: str, came: Meet) -> None:
        family = self.family
        if family.parent is not None:
            self._send(family.parent, came)
        elif family.at_top and came.who != self.name and came.who not in family.siblings:
            self._send(came.who, Sibling(self._tops()))

    # -- leaving

    def _tops(self) -> tuple[str, ...]:
        return (self.name, *self.family.siblings) if self.family.at_top else ()

    def _say_leave(self, successor: str | None) -> None:
        tops = tuple(name for name in self._tops() if name != self.name)
        if self.family.at_top and not tops:
            tops = tuple(self.family.children)[:1]  # where the others meet
        for child in self.family.children:
            self._send(child, Leave(successor, tops, self._full_leave))

    def _left_by(self, link: str, leave: Leave) -> None:
        """The parent leaves: find another one, and keep it until then."""
        grandparent = self.family.grandparent
        if leave.full and leave.successor is None:
            self._begin(Purpose.LEFT, Join.BASIC, [link])
            return
        quest = self._new_quest(Purpose.LEFT, Join.BASIC, Stage.ASK)
        quest.depth = 0  # those below stay where they are, however deep that is
        quest.tops = list(leave.tops)
        wanted = (leave.successor, grandparent)
        quest.candidates = [each for each in wanted if each not in (None, self.name)]
        if quest.candidates:
            self._ask_next()
        else:
            self._to_top(leave.tops)

    def _promoted_to(self, link: str, promote: Promote) -> None:
        """Take the place of who leaves, or let a leaf below do it."""
        members = [child for child, equal in self.family.children.items() if equal]
        if members:
            chosen = members[int(drawn("promote", self.name, promote.leaver) * len(members))]
            self._send(chosen, promote)
        elif not self._quest and not self._leaving:
            quest = self._new_quest(Purpose.PROMOTE, Join.BASIC, Stage.ASK)
            quest.instead = promote.leaver
            if promote.parent is None:
                self._to_top((*promote.tops,))
            else:
                quest.candidates = [promote.parent]
                self._ask_next()

    def _replaced(self, link: str, came: Promoted) -> None:
        if self._leaving:
            self._say_leave(link)

    def _go_if_free(self) -> None:
        free = not self.family.children and not self._promises
        if self._leaving and (free or self._now >= self._leaving):
            self._go()

    def _go(self) -> None:
        """Be gone."""
        family = self.family
        self._leave_top(None)
        self._close_old()
        for name in (family.parent, *family.children):
            if name is not None:
                self._effects.append(Disconnect(name))
        self._forget()
        self._leaving = 0
        self._effects.append(Gone())

    def _forget(self) -> None:
        """Be next to nobody."""
        fresh = Family()
        for field in fields(Family):
            setattr(self.family, field.name, getattr(fresh, field.name))
        self._told.clear()
        self._promises.clear()
        self._links.clear()
        self._loose.clear()
        self._quest = None

    # -- others that are gone, and time

    def _lost(self, link: str) -> None:
        family = self.family
        self._links.pop(link, None)
        self._loose.pop(link, None)
        self._remove_child(link)
        self._promises.pop(link, None)
        family.siblings.pop(link, None)
        if link == family.old:
            family.old = None
        if link == family.parent:
            self._orphaned()
        self._go_if_free()

    def _orphaned(self) -> None:
        """The parent has failed."""
        family = self.family
        wanted = (family.heir, family.grandparent)
        family.joined, family.parent, family.equal = False, None, False
        if self._leaving:
            self._leaving = self._now
            return
        quest = self._new_quest(Purpose.ORPHAN, Join.BASIC, Stage.ASK)
        quest.candidates = [each for each in wanted if each not in (None, self.name)]
        if wanted[0] in quest.candidates:
            quest.deadline = self._now + max(
                1, self.tree.patience // 2
            )  # it looks for a place, too
        elif quest.candidates:
            self._ask_next()
        else:
            self._enter()

    def _restarted(self) -> None:
        """All links are down; whoever was below has gone elsewhere."""
        was = self.family.joined or self._quest is not None
        self._forget()
        if self._leaving:
            self._go()
        elif was:
            self._begin(Purpose.ORPHAN, Join.BASIC, [])

    def _contacts(self, names: tuple[str, ...]) -> None:
        if self.family.at_top and self._quest is None:
            for name in names:
                if name != self.name:
                    self._send(name, Meet(self.name))
        else:
            self._found(names)

    def _ticked(self) -> None:
        self._now += 1
        self._heard_searches.clear()
        self._keep_promises()
        if self.family.old is not None and self._now >= self._kept_until:
            self._close_old()
        self._close_loose()
        quest = self._quest
        if quest is not None and self._now >= quest.deadline:
            self._overdue(quest)
        if self._leaving:
            if self._now == self._leaving - 2 * self.tree.patience:
                self._say_leave(None)  # nobody has taken the place
            self._go_if_free()
        if self._now % self.tree.seek == 0:
            self._told.clear()  # what was said last may have been lost
            self._greeted.clear()
            siblings = list(self.family.siblings)
            if self.family.at_top and all(self.name < each for each in siblings):
                self._effects.append(Seek())
            if siblings:
                chosen = siblings[int(drawn("gossip", self.name, self._now) * len(siblings))]
                self._send(chosen, Sibling(self._tops()))

    def _close_loose(self) -> None:
        """Close links that have been for nothing for a while: the other side may think otherwise.

        So it learns that what it was told last was lost.
        """
        for link in list(self._links):
            if self.family.knows(link) or link in self._promises:
                self._loose.pop(link, None)
            elif self._now - self._loose.setdefault(link, self._now) >= self.tree.patience:
                self._effects.append(Disconnect(link))

    def _overdue(self, quest: Quest) -> None:
        match quest.stage:
            case Stage.GATHER:
                self._decide()
            case Stage.ASK:
                if quest.asked is not None:
                    self._send(quest.asked, Cancel(quest.number))
                self._ask_next()
            case Stage.SEEK:
                self._exhausted()
            case Stage.WAIT:
                self._again()


_HANDLERS: Final[dict[type, str]] = {
    Enter: "_entered",
    Search: "_searched",
    Reply: "_replied",
    Tops: "_told_tops",
    Ask: "_asked",
    Check: "_check",
    Checked: "_checked",
    Grant: "_granted",
    Refuse: "_refused",
    Attach: "_attached",
    Cancel: "_cancelled",
    Still: "_reminded",
    Kin: "_kin",
    Reorganise: "_reorganised",
    Reevaluate: "_reevaluated",
    Leave: "_left_by",
    Promote: "_promoted_to",
    Promoted: "_replaced",
    Sibling: "_is_sibling",
    NotTop: "_is_not_top",
    Meet: "_met",
    Hand: "_hand",
    Relay: "_relay",
}


def _plain(value: Any) -> Plain:
    return value.value if isinstance(value, Join) else value


def _copied(value: Any) -> Any:
    return type(value)(value) if isinstance(value, dict | list) else value
