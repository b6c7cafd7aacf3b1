"""How does a change on one link change what is forwarded to the others?

What is wanted behind a link is forwarded to every other neighbour, reduced by that neighbour's
policy. With advertisements, only what overlaps something that the neighbour has advertised is: an
advertisement constrains what it names and nothing else. So a new advertisement pulls towards it
everything that overlaps it, and when one goes, what overlaps none of the others is withdrawn.
Advertisements themselves go to every other neighbour, by a policy of their own.

Every change is one step: all tables and policies follow before anything is sent.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from tidegate.overlay.asked import Asked, Filters
from tidegate.overlay.counts import ONCE, Counts
from tidegate.overlay.difference import Difference
from tidegate.overlay.filter import Event, Filter, FilterIndex, Kind, Plain, Pruner
from tidegate.overlay.ledger import Ledger, read_ledger
from tidegate.overlay.link import Link
from tidegate.overlay.policy import Choice
from tidegate.overlay.policy.queue import PruningQueue
from tidegate.overlay.policy.sources import NOT_COUNTED, Source
from tidegate.overlay.registrations import Registrations
from tidegate.overlay.table import Table
from tidegate.overlay.upstream import Passage, Tree
from tidegate.overlay.work import Tally, Work

_OFFERS_ASKED_ONE_BY_ONE: Final = 16
"""Advertisements of a link that are asked one by one."""


class Offers:
    """What is advertised behind one link."""

    def __init__(self, kind: Kind, work: Work) -> None:
        self.filters: Filters = {}
        self._kind = kind
        self._work = work
        self._index: FilterIndex | None = None

    def follow(self, asked: Asked) -> None:
        """Take in a change."""
        self.filters.update(asked.add | asked.update)
        for own in asked.remove:
            del self.filters[own]
        self._index = None

    def allow(self, event: Event) -> bool:
        """Whether an event is among what is advertised."""
        return any(f.matches(event) for f in self.filters.values())

    def overlap(self, f: Filter) -> bool:
        """Whether something that is advertised may match a filter."""
        if len(self.filters) <= _OFFERS_ASKED_ONE_BY_ONE:
            return any(advertised.overlaps(f) for advertised in self.filters.values())
        if self._index is None:
            self._index = self._kind.index()
            for own, advertised in self.filters.items():
                self._index.add(own, advertised)
        self._work.questions += 1
        return bool(self._index.overlapping(f))


class Routing:
    """The tables of a broker, and the policies of its links."""

    def __init__(
        self,
        kind: Kind,
        choice: Choice,
        advertisements: bool,
        work: Work,
        pruner: Pruner | None = None,
        *,
        weighed: bool = False,
        tally: Tally | None = None,
        passage: Passage | None = None,
    ) -> None:
        self.links: Final[dict[str, Link]] = {}
        self.neighbours: Final[list[Link]] = []
        queue: PruningQueue | None = None
        if pruner is not None and choice.prune in ("after", "both"):
            queue = PruningQueue(kind, pruner, choice.rule, work)
        self.wanted: Final = Table(kind, work, queue, weighed=weighed)
        self.offered: Final[dict[str, Offers]] = {}
        self._kind = kind
        self._choice = choice
        self._advertisements = advertisements
        self._work = work
        self._pruner = pruner
        self._registrations = Registrations(tally or Tally()) if choice.counts else None
        self.passage: Final = passage or Tree()

    def add_link(self, name: str, client: bool) -> Link:
        """Know another link; to a neighbour, everything known so far is to be forwarded."""
        link = self._known(name, client)
        if not client and not self._choice.floods:
            link.wanted.advertised(self._advertised(name))
            known = [
                (source, f)
                for source, f in self.wanted.by_age()
                if self._passes(source[0], name) and self._admitted(name, f)
            ]
            link.wanted.step(known, (), (), self._counts(source for source, _ in known))
            offers = (
                ((other, own), f)
                for other, offered in self.offered.items()
                if self._offers(other, name)
                for own, f in offered.filters.items()
            )
            link.offered.step(offers, (), ())
        return link

    def forget(self, name: str) -> tuple[dict[str, Difference], dict[str, Difference]]:
        """Know a link no more: all that came from it goes, in one step.

        How what is wanted, and what is advertised, changes for each neighbour that is left.
        """
        offered, _ = self.offer(name, Asked({}, {}, list(self.offered[name].filters)))
        wanted = self.want(name, Asked({}, {}, list(self.wanted.of(name))))
        link = self.links.pop(name)
        del self.offered[name]
        self.wanted.forget(name)
        if not link.client:
            self.neighbours.remove(link)
        return wanted, offered

    def want(self, origin: str, asked: Asked) -> dict[str, Difference]:
        """Follow a change of what is wanted; what that changes for each neighbour."""
        exact = self.links[origin].client
        if self._registrations is not None:
            self._registrations.follow(origin, asked, self.wanted, client=exact)
        for own, f in asked.add.items():
            self.wanted.add((origin, own), f, exact=exact)
        for own, f in asked.update.items():
            self.wanted.update((origin, own), f)
        for own, counts in asked.counts.items():
            self.wanted.count((origin, own), counts)
        for own in asked.remove:
            self.wanted.remove((origin, own))
        return {
            link.name: self._want(link, origin, asked)
            for link in self._others()
            if self._passes(origin, link.name)
        }

    def offer(self, origin: str, asked: Asked) -> tuple[dict[str, Difference], Difference]:
        """Follow a change of what is advertised.

        What that changes for each neighbour; and how what is wanted of the link where it came from
        changes.
        """
        before = dict(self.offered[origin].filters)
        self.offered[origin].follow(asked)
        told = {
            link.name: link.offered.step(
                [((origin, own), f) for own, f in asked.add.items()],
                [((origin, own), f) for own, f in asked.update.items()],
                [(origin, own) for own in asked.remove],
            )
            for link in self._others()
            if self._offers(origin, link.name)
        }
        link = self.links[origin]
        if link.client or self._choice.floods:
            return told, Difference()
        return told, self._pull(link, asked, before)

    def tick(self, *, learned: bool = False) -> list[tuple[Link, Difference, Difference]]:
        """Let policies do what they do now and then: how what each link is told changes.

        Where something was `learned` of events, tables and policies are pruned by that.
        """
        if learned:
            self.wanted.prune(self._agreed())
        found = []
        for link in self._others():
            wanted = link.wanted.tick()
            if learned:
                wanted = wanted.then(link.wanted.learned(link.weight))
            found.append((link, wanted, link.offered.tick()))
        return found

    @property
    def share(self) -> float | None:
        """How far the own table would be pruned, if everyone agreed."""
        return None if self.wanted.pruned is None else self.wanted.pruned.found

    def _agreed(self) -> float:
        """How far the own table may be pruned: as far as all neighbours would prune theirs."""
        if not self._choice.agreed:
            return 1.0
        said = [link.report and link.report.share for link in self.neighbours]
        return min((each or 0.0 for each in said), default=1.0)

    def state(self) -> dict[str, Plain]:
        """All of it as plain data."""
        ledger = Ledger(self._kind)
        place = ledger.place
        found = {
            "links": [link.state(self._kind, place) for link in self.links.values()],
            "wanted": [
                [*source, place(f), *self._told(source)] for source, f in self.wanted.by_age()
            ],
            "pruned": self.wanted.state(),
            "offered": [
                [link, own, place(f)]
                for link, offers in self.offered.items()
                for own, f in offers.filters.items()
            ],
        }
        return {**found, "filters": ledger.state()}

    def restore(self, state: dict[str, Plain]) -> None:
        """Be as another one was."""
        filters = read_ledger(state["filters"], self._kind)
        for own in state["links"]:
            self._known(*own[:2])
        entries = [
            ((name, number), filters[place], self.links[name].client)
            for name, number, place, *_ in state["wanted"]
        ]
        self.wanted.restore(entries, state["pruned"])
        self._recount(state["wanted"])
        for name, number, place in state["offered"]:
            self.offered[name].filters[number] = filters[place]
        for own in state["links"]:
            link = self.links[own[0]]
            link.restore(own, self._kind, filters.__getitem__)
            link.wanted.advertised(self._advertised(link.name))

    # -- what is forwarded to a neighbour

    def _known(self, name: str, client: bool) -> Link:
        link = self.links[name] = Link(
            name, client, self._choice, self._kind, self._work, self._pruner
        )
        self.offered[name] = Offers(self._kind, self._work)
        self.wanted.know(name)
        if not client:
            self.neighbours.append(link)
        return link

    def _others(self) -> Iterable[Link]:
        """The neighbours that are told what is wanted and advertised."""
        return () if self._choice.floods else self.neighbours

    def _passes(self, origin: str, goal: str) -> bool:
        return self.passage.passes(None if self.links[origin].client else origin, goal)

    def _offers(self, origin: str, goal: str) -> bool:
        return self.passage.offers(None if self.links[origin].client else origin, goal)

    def _want(self, link: Link, origin: str, asked: Asked) -> Difference:
        add = [((origin, own), f) for own, f in asked.add.items() if self._admitted(link.name, f)]
        update: list[tuple[Source, Filter]] = []
        remove = [(origin, own) for own in asked.remove if (origin, own) in link.wanted]
        for own, f in asked.update.items():
            source = origin, own
            admitted, before = self._admitted(link.name, f), source in link.wanted
            if admitted:
                (update if before else add).append((source, f))
            elif before:
                remove.append(source)
        named = [source for source, _ in add]
        if asked.counts:
            gone = set(remove)
            counted = [(origin, own) for own in asked.counts]
            named += [x for x in counted if x in link.wanted and x not in gone]
        return link.wanted.step(add, update, remove, self._counts(named))

    def _pull(self, link: Link, asked: Asked, before: Filters) -> Difference:
        """Forward to a link what its new advertisements ask for, and withdraw what none does."""
        policy = link.wanted
        widened = {*asked.add.values(), *asked.update.values()}
        narrowed = {before[own] for own in (*asked.update, *asked.remove)}
        add = {
            source: self.wanted[source]
            for f in widened
            for source in self.wanted.overlapping(f)
            if self._passes(source[0], link.name) and source not in policy
        }
        remove = {
            source: None
            for f in narrowed
            for source in self.wanted.overlapping(f)
            if source in policy and not self._admitted(link.name, self.wanted[source])
        }
        first = policy.advertised(self._advertised(link.name))
        pulled = sorted(add.items(), key=_source)
        return first.then(policy.step(pulled, (), sorted(remove), self._counts(add)))

    def _counts(self, sources: Iterable[Source]) -> Mapping[Source, Counts]:
        """What entries count, where that is counted."""
        if not self._choice.counts:
            return NOT_COUNTED
        return {source: self.wanted.counts(source) for source in sources}

    def _told(self, source: Source) -> Iterable[int]:
        """What is written down of what an entry counts: nothing, if it counts once."""
        counts = self.wanted.counts(source)
        return () if counts == ONCE else counts

    def _recount(self, written: list[Plain]) -> None:
        """Have the counts that were written down, and know what registrations are of."""
        for name, number, _, *counts in written:
            if counts:
                self.wanted.count((name, number), Counts(*counts))
            if self._registrations is not None:
                f, client = self.wanted[name, number], self.links[name].client
                self._registrations.known(f, client=client)

    def _admitted(self, link: str, f: Filter) -> bool:
        """Whether a filter is forwarded to a neighbour, by what that has advertised."""
        return not self._advertisements or self.offered[link].overlap(f)

    def _advertised(self, link: str) -> list[Filter] | None:
        return list(self.offered[link].filters.values()) if self._advertisements else None


def _source(item: tuple[Source, Filter]) -> Source:
    return item[0]
