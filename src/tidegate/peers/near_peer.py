"""A peer of an overlay by similarity: who is next to it, and how it finds them.

**The overlay** (Chand, 2005, section 7.4). A peer chooses the n peers that are nearest to it by a
metric, r others at random, and is next to whoever chose it, too. Which metric, is for whoever makes
the peer to say: all peers have the same.

**Joining** (Algorithms 24 and 25). A probe goes to everybody. Each peer that hears it answers how
near it is; the newcomer chooses among those. With `gathered`, each peer that passes the probe on
waits for the answers of those it passed it to, and sends back only the n nearest and r others. A
peer that the newcomer is nearer to than the last of its own n chooses it instead.

**A link has two sides.** A peer that chooses another one instead releases the old one; if that one
still counts the peer among its own, the link stays, which the thesis leaves open. It goes when
neither side needs it.

**Leaving**: *full*, all neighbours probe again; *basic*, they look among the neighbours of their
neighbours. Failures are basic leaves that are noticed by the end of a link. A peer with `limit`
neighbours declines others, who choose the next best.

Invariant, at rest: a peer is chosen by exactly those who have chosen it.
"""

from collections.abc import Callable
from dataclasses import astuple
from typing import Any, Final, TypeAlias

from tidegate.errors import TidegateError
from tidegate.overlay.filter import Filter, Kind, Plain
from tidegate.peers.looking import Looking
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
    Send,
    Tick,
)
from tidegate.peers.near_messages import (
    Acquaintances,
    Agree,
    Candidate,
    Choose,
    Compare,
    Decline,
    Farewell,
    Found,
    Input,
    Inquire,
    Message,
    Probe,
    Release,
)
from tidegate.peers.near_settings import NearSettings
from tidegate.peers.peer import Peer, drawn

Metric: TypeAlias = Callable[[Filter, Filter], float]
"""How near two filters are, from 0 to 1."""
FORMAT: Final = 1  # of snapshots
_PROBES: Final = 10_000  # that a peer knows again


class NearPeer(Peer):
    """One peer of an overlay by similarity."""

    def __init__(
        self,
        name: str,
        kind: Kind,
        f: Filter,
        metric: Metric,
        settings: NearSettings | None = None,
    ) -> None:
        super().__init__(name, kind, f, settings or NearSettings())
        self.near: Final[dict[str, float]] = {}  # chosen for being near
        self.random: Final[dict[str, bool]] = {}  # chosen at random
        self.chosen_by: Final[dict[str, bool]] = {}  # who chose this peer; whether for being near
        self.probes = 0  # that it has handled
        self._metric = metric
        self._joined = False
        self._effects: list[Effect] = []
        self._now = 0
        self._asked: dict[str, tuple[bool, float, int]] = {}  # chosen, no answer yet: since when
        self._spares: list[Candidate] = []  # who could be chosen if somebody declines
        self._looking: dict[tuple[str, int], Looking] = {}
        self._heard_of: dict[tuple[str, int], None] = {}
        self._probed = 0

    @property
    def chosen(self) -> NearSettings:
        """The settings."""
        assert isinstance(self.settings, NearSettings)
        return self.settings

    @property
    def settled(self) -> bool:
        """Whether it has its neighbours, and nothing is under way here."""
        return self._joined and not self._looking and not self._asked

    @property
    def stays(self) -> bool:
        """Whether it is not about to leave; leaving takes no time."""
        return True

    def start(self, contacts: tuple[str, ...] = ()) -> list[Effect]:
        """Join by way of a peer that is there; the first peer knows none."""
        if self._joined or self._looking:
            raise TidegateError(f"{self.name} has joined already, or is about to")
        self._effects = []
        if contacts:
            self._probe(contacts[:1])
        else:
            self._joined = True
        return self._effects

    def leave(self, *, full: bool = False) -> list[Effect]:
        """Leave at once; the neighbours look for others."""
        farewell = Farewell(tuple(self.near), full)
        links = list(self._neighbours())
        self._effects = [Send(link, farewell) for link in links]
        self._effects += [Disconnect(link) for link in links]
        self._effects.append(Gone())
        return self._effects

    def handle(self, link: str, came: Input) -> list[Effect]:
        """What to do about something that came in on a link, in order."""
        self._effects = []
        match came:
            case LinkUp():
                pass  # who wants it says so
            case LinkDown():
                self._lost(link, (), full=False)
            case Restart():
                self._restarted()
            case Tick():
                self._ticked()
            case Contacts(names):
                self._meet(names)
            case _ if link != self.name and self._is_message(came):
                self._told(link, came)
            case _:
                self.refused += 1
        self._note_links()
        return self._effects

    def snapshot(self) -> Plain:
        """The whole state as plain data; what is restored from it has the same future."""
        return [
            FORMAT,
            self.name,
            self.kind.plain(self.filter),
            list(astuple(self.chosen)),
            [self.refused, self.probes, self._number, self._joined, self._now, self._probed],
            [dict(self.near), dict(self.random), dict(self.chosen_by)],
            [list(seen) for seen in self._seen],
            [list(heard) for heard in self._heard_of],
            {name: list(asked) for name, asked in self._asked.items()},
            [list(astuple(spare)) for spare in self._spares],
            [[*key, looking.plain()] for key, looking in self._looking.items()],
        ]

    @classmethod
    def restore(cls, kind: Kind, plain: Plain, metric: Metric | None = None) -> "NearPeer":
        """The peer whose snapshot this is; the metric, which is none of its state, is needed."""
        if not isinstance(plain, list) or plain[:1] != [FORMAT] or len(plain) != 11:
            raise TidegateError("this is no snapshot of a peer in a format that is known")
        if metric is None:
            raise TidegateError("a peer that chooses the nearest is restored with its metric")
        _, name, f, settings, counts, known, seen, heard, asked, spares, looking = plain
        peer = cls(name, kind, kind.read(f), metric, NearSettings(*settings))
        peer.refused, peer.probes, peer._number, peer._joined, peer._now, peer._probed = counts
        peer.near.update(known[0])
        peer.random.update(known[1])
        peer.chosen_by.update(known[2])
        peer._seen.update(((publisher, each), None) for publisher, each in seen)
        peer._heard_of.update(((joiner, each), None) for joiner, each in heard)
        peer._asked.update((each, tuple(values)) for each, values in asked.items())
        peer._spares = [Candidate(*each) for each in spares]
        peer._looking.update(((j, number), Looking.read(each)) for j, number, each in looking)
        peer._note_links()
        return peer

    def _told(self, link: str, came: Message) -> None:
        match came:
            case Pass() if link in self._links:
                self._effects += self._heard(link, came)
            case Pass():
                self.refused += 1
                self._send(link, Release())  # it thinks that it is a neighbour
            case Probe():
                self._probed_by(link, came)
            case Found():
                self._found(link, came)
            case Choose():
                self._chosen(link, came)
            case Agree() | Decline():
                self._answered(link, came)
            case Release():
                self._released(link)
            case Farewell():
                self._lost(link, came.near, full=came.full)
            case Inquire():
                self._send(link, Acquaintances(tuple(self.near), tuple(self.random)))
            case Acquaintances():
                self._acquainted(came)
            case Compare():
                own = self._candidate(came.filter)
                self._send(link, Found(came.number, link, (own,)))

    # -- looking for neighbours

    def _probe(self, contacts: tuple[str, ...]) -> None:
        """Look for neighbours among all peers."""
        self._probed += 1
        chosen = self.chosen
        time = chosen.gather * chosen.reach if chosen.gathered else 0
        wait = time + chosen.gather if chosen.gathered else chosen.gather
        self._heard_of[self.name, self._probed] = None
        looking = Looking(self._now + wait, waiting=set(contacts))
        self._looking[self.name, self._probed] = looking
        for contact in contacts:
            self._send(contact, Probe(self._probed, self.name, self.filter, time))

    def _probed_by(self, link: str, probe: Probe) -> None:
        """Algorithm 25."""
        key = probe.joiner, probe.number
        if key in self._heard_of:
            if probe.time:
                self._send(link, Found(probe.number, probe.joiner, ()))
            return
        self._heard_of[key] = None
        if len(self._heard_of) > _PROBES:
            del self._heard_of[next(iter(self._heard_of))]
        self.probes += 1
        own = self._candidate(probe.filter)
        others = [each for each in self._neighbours() if each not in (link, probe.joiner)]
        passed = Probe(
            probe.number, probe.joiner, probe.filter, max(0, probe.time - self.chosen.gather)
        )
        if probe.time and others and passed.time:
            deadline = self._now + passed.time
            looking = Looking(deadline, link, set(others), {self.name: own})
            self._looking[key] = looking
        else:
            self._send(link if probe.time else probe.joiner, Found(*key[::-1], (own,)))
        if not probe.time or passed.time:
            for other in others:
                self._send(other, passed)
        self._prefer(probe.joiner, own.proximity)

    def _prefer(self, joiner: str, proximity: float) -> None:
        """Choose a newcomer, if it is nearer than the last of those that were chosen."""
        if not self._joined or joiner in self.near or joiner in self._asked:
            return
        asked = sum(near for near, _, _ in self._asked.values())
        room = len(self.near) + asked < self.chosen.near
        if room or (self.near and proximity > min(self.near.values())):
            if not self._is_full(joiner) or (not room and self._loses_worst()):
                self._choose(joiner, proximity, near=True)
        elif joiner not in self.random and self._lacks_random() and not self._is_full(joiner):
            self._choose(joiner, proximity, near=False)

    def _is_full(self, name: str) -> bool:
        """Whether there is no room for one more neighbour."""
        known = self._neighbours() | dict.fromkeys(self._asked)
        return bool(self.chosen.limit) and name not in known and len(known) >= self.chosen.limit

    def _loses_worst(self) -> bool:
        """Whether the link to the last of those that were chosen goes with the choice."""
        worst = self._worst()
        return not self._asked and worst not in self.chosen_by and worst not in self.random

    def _worst(self) -> str:
        return min(self.near, key=lambda name: (self.near[name], name))

    def _lacks_random(self) -> bool:
        asked = sum(not near for near, _, _ in self._asked.values())
        return len(self.random) + asked < self.chosen.random

    def _candidate(self, f: Filter) -> Candidate:
        return Candidate(self.name, self._metric(f, self.filter), len(self._neighbours()))

    def _found(self, link: str, found: Found) -> None:
        looking = self._looking.get((found.joiner, found.number))
        if looking is None:
            return
        for each in found.near:
            if each.name != found.joiner:
                looking.found[each.name] = each
        looking.others.update(name for name in found.others if name != found.joiner)
        looking.waiting.discard(link)
        gathered = looking.source is not None or (self.chosen.gathered and found.number)
        if not looking.waiting and gathered:
            self._finish(found.joiner, found.number)

    def _finish(self, joiner: str, number: int) -> None:
        """All replies are in, or are not waited for any longer."""
        looking = self._looking.pop((joiner, number))
        ranked = sorted(looking.found.values(), key=lambda c: (-c.proximity, c.links, c.name))
        if looking.source is None:
            self._take(ranked, looking.others)
            missing = len(self.near) + len(self.random) + len(self._asked)
            others = tuple(self._neighbours())
            if number == 0 and others and missing < self.chosen.near + self.chosen.random:
                self._probe(others[:1])  # not enough of them nearby
            return
        chosen = self.chosen
        best = ranked[: chosen.near + chosen.random]
        names = {each.name for each in ranked[len(best) :]} | looking.others
        rest = sorted(names, key=lambda name: drawn(self.name, joiner, number, name))
        others = tuple(rest[: chosen.random])
        self._send(looking.source, Found(number, joiner, tuple(best), others))

    def _take(self, ranked: list[Candidate], others: set[str]) -> None:
        """Algorithm 24: the n best, and r others."""
        chosen, self._joined = self.chosen, True
        free = [c for c in ranked if c.name not in self.near and c.name != self.name]
        known = {**self.near, **{c.name: c.proximity for c in free}}
        best = sorted(known, key=lambda name: -known[name])[: chosen.near]
        for candidate in free:
            if candidate.name in best and not self._is_full(candidate.name):
                self._choose(candidate.name, candidate.proximity, near=True)
        self._spares = [c for c in free if c.name not in best]
        rest = {c.name for c in self._spares} | others
        taken = {self.name, *self.random, *self._asked, *self.near}
        pool = sorted(rest - taken, key=lambda name: drawn(self.name, self._probed, name))
        while pool and self._lacks_random() and not self._is_full(pool[0]):
            self._choose(pool.pop(0), 0.0, near=False)

    # -- choosing and being chosen

    def _choose(self, name: str, proximity: float, *, near: bool) -> None:
        self._asked[name] = (near, proximity, self._now)
        self._send(name, Choose(near, self.filter))

    def _chosen(self, link: str, choose: Choose) -> None:
        if self._is_full(link):
            self._send(link, Decline(choose.near))
            return
        self.chosen_by[link] = choose.near
        self._send(link, Agree(choose.near))

    def _answered(self, link: str, answer: Agree | Decline) -> None:
        asked = self._asked.pop(link, None)
        if asked is None or asked[0] != answer.near:
            return
        near, proximity, _ = asked
        if isinstance(answer, Decline):
            self._next_best(near)
            return
        self._effects.append(Connect(link))
        if not near:
            self.random[link] = True
            return
        self.random.pop(link, None)
        self.near[link] = proximity
        if len(self.near) > self.chosen.near:
            worst = self._worst()
            del self.near[worst]
            self._release(worst)

    def _next_best(self, near: bool) -> None:
        """Somebody declined: choose another one."""
        while self._spares:
            spare = self._spares.pop(0)
            taken = spare.name in self.near or spare.name in self._asked
            if not taken and not self._is_full(spare.name):
                self._choose(spare.name, spare.proximity, near=near)
                return

    def _release(self, name: str) -> None:
        """Need somebody no longer."""
        if name in self.random:
            return
        self._send(name, Release())
        if name not in self.chosen_by:
            self._effects.append(Disconnect(name))

    def _released(self, link: str) -> None:
        """Somebody does not need this peer; the link stays if this peer needs it."""
        self.chosen_by.pop(link, None)
        if link not in self.near and link not in self.random:
            self._effects.append(Disconnect(link))

    # -- others that are gone, and time

    def _lost(self, link: str, acquaintances: tuple[str, ...], *, full: bool) -> None:
        was_near = self.near.pop(link, None) is not None
        was_random = self.random.pop(link, None) is not None
        self.chosen_by.pop(link, None)
        if self._asked.pop(link, None) is not None:
            self._next_best(near=True)
        for looking in self._looking.values():
            looking.waiting.discard(link)
        if not (was_near or was_random):
            return
        others = tuple(self._neighbours())
        if full or not others:
            if others:
                self._probe(others[:1])
            else:
                self._effects.append(Seek())
            return
        key = self.name, 0
        self._looking.setdefault(key, Looking(self._now + 2 * self.chosen.gather))
        if was_near:
            for name in self.near or others:
                self._send(name, Inquire())
        else:
            for name in acquaintances:
                self._compare(name)
            if not acquaintances:
                self._send(others[0], Inquire())

    def _acquainted(self, came: Acquaintances) -> None:
        """Look among the neighbours of a neighbour."""
        if len(self.near) < self.chosen.near:
            for name in came.near:
                self._compare(name)
        if self._lacks_random():
            for name in (*came.random, *came.near):
                self._compare(name)

    def _compare(self, name: str) -> None:
        if name == self.name or name in self.near or name in self.random or name in self._asked:
            return
        looking = self._looking.get((self.name, 0))
        if looking is not None and name not in looking.found:
            looking.waiting.add(name)
            self._send(name, Compare(0, self.filter))

    def _meet(self, names: tuple[str, ...]) -> None:
        others = tuple(name for name in names if name != self.name)
        if others and not self._neighbours():
            self._probe(others[:1])

    def _restarted(self) -> None:
        for known in (self.near, self.random, self.chosen_by, self._asked, self._looking):
            known.clear()
        self._links.clear()
        if self._joined:
            self._effects.append(Seek())

    def _ticked(self) -> None:
        self._now += 1
        for (joiner, number), looking in list(self._looking.items()):
            if self._now >= looking.deadline:
                self._finish(joiner, number)
        for name, (near, proximity, since) in list(self._asked.items()):
            if self._now - since >= 2 * self.chosen.gather:
                del self._asked[name]
                self._next_best(near)
            elif self._now - since == self.chosen.gather:
                self._asked[name] = (near, proximity, since)
                self._send(name, Choose(near, self.filter))  # the answer may be lost
        if self._joined and not self._neighbours() and not self._looking and not self._asked:
            self._effects.append(Seek())

    def _neighbours(self) -> dict[str, None]:
        return dict.fromkeys((*self.near, *self.random, *self.chosen_by))

    def _note_links(self) -> None:
        """Which links events take, and whether they are random for both sides."""
        self._links = {
            name: name not in self.near and not self.chosen_by.get(name, False)
            for name in self._neighbours()
        }

    def _send(self, link: str, message: Message) -> None:
        self._effects.append(Send(link, message))

    def _is_message(self, came: Any) -> bool:
        if isinstance(came, Pass):
            return self._fits(came)
        if isinstance(came, Probe | Choose | Compare):
            return self.kind.filter_refusal(came.filter) is None
        if isinstance(came, Found):
            return all(isinstance(each, Candidate) for each in came.near)
        return isinstance(came, Agree | Decline | Release | Farewell | Inquire | Acquaintances)
