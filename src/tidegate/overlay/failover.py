"""Whom does a broker turn to when its parent fails?

*Crash/Failover* of Chand, "Large scale diffusion of information in Publish/Subscribe systems"
(2005), section 6.1.3. A broker has a parent and, in order, backups. When the parent has been away,
or silent, for longer than `patience` ticks, the broker asks for a link to the first backup, the
**candidate**; greets it, and so tells it everything; and when the candidate has acknowledged that,
and not before, leaves the old parent: it forgets what came from there, and says farewell. So there
is no time at which nobody is told what is wanted here. While there are two, they are one: nothing
goes from one to the other, and an event that comes from both is known by its number.

What the thesis leaves open is settled so:

- **A candidate that fails, refuses, or takes too long** (`patience` ticks) is left, and the next
  one asked; after the last one, the first again, the old parent among them.
- **A parent that returns before the candidate has acknowledged** keeps the broker; the candidate is
  left.
- **A parent that returns later** greets a broker that has another parent, is answered with a
  farewell, and forgets what came from it. One that never returns is forgotten (`Settings.forget`).
- **A wrong suspicion** is the same: the old parent is told farewell, at once or when it is reached.
- **No circles**: a greeting tells the way to the root, and a way that leads through oneself is
  refused. Ways change while greetings are under way, so they are told again, downwards, when they
  do; whoever hears its own name from its parent leaves it. Where brokers ask each other, all of
  them give way, and the one whose name comes first waits longer before it asks again.
- **A broker that has lost its memory** has its first parent again; it says farewell to others that
  take it for their child.

A broker whose neighbours have no parents, and so tell no way, has them as in any tree.
"""

from enum import Enum
from typing import Final

from tidegate.overlay.filter import Plain
from tidegate.overlay.link import Link
from tidegate.overlay.messages import Hello
from tidegate.overlay.upstream import Parents, Tree


class Answer(Enum):
    """What to do with a neighbour that has greeted."""

    STAY = "go on as ever"
    LEAVE = "say farewell"


class Failover(Tree):
    """Who is above one broker; `parent` is None where nobody is, at the root or for now."""

    def __init__(self, name: str, known: Parents, patience: int) -> None:
        self.parent = known.parent
        self.candidate: str | None = None
        self._name: Final = name
        self._known: Final = known
        self._patience: Final = patience
        self._above: tuple[str, ...] = ()  # the parent's way, as it told it
        self._offered_way: tuple[str, ...] = ()  # the candidate's
        self._waited = 0  # ticks that the parent has been away, or silent
        self._asked = 0  # ticks since the candidate was asked
        self._turn = 0  # whose turn it is to be asked next

    # -- what goes from one link to another

    def passes(self, origin: str | None, goal: str) -> bool:
        """Whether what is wanted behind one link is told to another one."""
        return origin != goal and not (self.above(origin) and self.above(goal))

    def offers(self, origin: str | None, goal: str) -> bool:
        """Whether what is advertised behind one link is told to another one."""
        return self.passes(origin, goal)

    def carries(self, publisher: str, origin: str, goal: str) -> bool:
        """Whether events of a publisher go on from one link to another."""
        return self.passes(origin, goal)

    def above(self, link: str | None) -> bool:
        """Whether a link is to the parent, or to the one that may become it."""
        return link is not None and link in (self.parent, self.candidate)

    def knows(self, link: str) -> bool:
        """Whether a link may be above some time: to the first parent, or to a backup."""
        return link in self._known.known

    # -- the way to the root

    @property
    def way(self) -> tuple[str, ...]:
        """Who stands above, the broker itself first, as far as it knows."""
        if self.parent is None:
            return (self._name,)
        return (self._name, *(self._above or (self.parent,)))

    def told(self, link: str, way: tuple[str, ...]) -> Answer:
        """Somebody has told its way; what to do about it."""
        if not self.above(link):
            return Answer.STAY
        if self._name in way or way[:1] != (link,):
            if link == self.parent and self._name in way:
                self._give_way(way)
            return Answer.LEAVE
        if link == self.candidate:
            self._offered_way = way
        else:
            self._above = way
        return Answer.STAY

    def greeted(self, link: str, hello: Hello) -> Answer:
        """Somebody has greeted; what to do about it."""
        if not hello.way:
            return Answer.STAY
        if not self.above(link):
            return Answer.STAY if hello.joins else Answer.LEAVE
        if hello.joins:
            self._give_way((link,))
            return Answer.LEAVE
        return self.told(link, hello.way)

    def _give_way(self, others: tuple[str, ...]) -> None:
        """Wait longer than all others of a circle, if the own name is the first of them."""
        first = self._name <= min(others)
        self._waited = -2 * self._patience if first else self._patience

    # -- time

    def tick(self, links: dict[str, Link]) -> str | None:
        """Some time has passed; who is to be left now, as the wait for it is over."""
        if self._known.parent is None:
            return None
        link = links.get(self.parent or "")
        ready = link is not None and link.ready
        self._waited = link.stream.waited if link is not None and ready else self._waited + 1
        self._turn = 0 if ready and not self._waited else self._turn
        if self.candidate is None:
            return None
        self._asked += 1
        returned = ready and self._waited < self._patience
        return self.candidate if returned or self._asked >= self._patience else None

    def ask(self, links: dict[str, Link]) -> str | None:
        """Who is to be asked for a link now, if anybody is."""
        if self._known.parent is None or self.candidate is not None:
            return None
        if self._waited < self._patience:
            return self.parent if self.parent not in links else None
        known = self._known.known
        for place in range(len(known)):
            name = known[(self._turn + place) % len(known)]
            if name not in links:
                self._turn = (self._turn + place + 1) % len(known)
                if name != self.parent:  # which was left, or never reached: it stays the parent
                    self.candidate, self._asked, self._offered_way = name, 0, ()
                return name
        return None

    def settles(self, link: Link) -> bool:
        """Whether a link is to the candidate, and that has acknowledged everything."""
        greeted = link.name == self.candidate and bool(self._offered_way)
        return greeted and not link.stream.unacknowledged

    def moved(self) -> None:
        """The old parent is forgotten: the candidate is the parent now."""
        self.parent, self._above = self.candidate, self._offered_way
        self.candidate, self._offered_way = None, ()
        self._waited = 0

    def lost(self, link: str) -> None:
        """A link is known no more, as one side has left, or it is gone for good."""
        if link == self.candidate:
            self.candidate, self._offered_way = None, ()

    def left(self, link: str) -> None:
        """One side has left: a parent that has is none any more."""
        self.lost(link)
        if link == self.parent:
            self.parent, self._above = None, ()
            if self._waited >= 0:
                self._waited = self._patience

    def restarted(self) -> None:
        """The broker runs again: whoever was asked has to be asked again."""
        self._waited = 0

    # -- memory

    def state(self) -> Plain:
        """All of it as plain data."""
        ways = [list(self._above), list(self._offered_way)]
        counts = [self._waited, self._asked, self._turn]
        return [self.parent, self.candidate, ways, counts]

    def restore(self, state: Plain) -> None:
        """Be as another one was."""
        self.parent, self.candidate, ways, counts = state
        self._above, self._offered_way = map(tuple, ways)
        self._waited, self._asked, self._turn = counts
