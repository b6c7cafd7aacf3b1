"""How does a search for a parent go through the tree?

Chand (2005), Algorithm 22: from any peer up to the top, and from there down. It goes past peers
that contain the newcomer's filter, and, if it is a *full* one, past those that have nothing to do
with it; where it meets a peer that is contained, that one answers, and what is below it stays
there. A *basic* search ends there instead. An *adaptive* one is full at peers that have many
children, or whose parent has (be it the virtual root), and elsewhere by chance. In an equivalence
tree it goes down to somebody who has room.
"""

from dataclasses import dataclass

from tidegate.overlay.filter import Filter, Kind
from tidegate.peers.branch import Branch, TreeSettings
from tidegate.peers.peer import drawn
from tidegate.peers.tree_messages import Enter, Join, Relation, Reply, Search, Tops


@dataclass(slots=True)
class Promise:
    """That somebody may come: the number of its quest, and when it was made or last heard of."""

    number: int
    equal: bool
    since: int
    reminders: int = 0
    made: bool = False  # False: the way up is still looked at


class Searching(Branch):
    """A peer that searches pass through."""

    def __init__(
        self, name: str, kind: Kind, f: Filter, settings: TreeSettings | None = None
    ) -> None:
        super().__init__(name, kind, f, settings)
        self.depth = 0  # as it was told last; the virtual root is at 0
        self.searches = 0  # that it has handled
        self._promises: dict[str, Promise] = {}
        self._leaving = 0  # when it goes at the latest; 0: it stays
        self._heard_searches: dict[str, int] = {}  # since the last tick

    def _lead(self, came: Enter) -> None:
        """Pass a search up; at the top, begin it."""
        if self.family.parent is not None:
            self._send(self.family.parent, came)
            return
        tops = (self.name, *self.family.siblings)
        self._send(came.joiner, Tops(came.number, tops))
        search = Search(came.number, came.joiner, came.filter, came.mode, 0, len(tops))
        for sibling in self.family.siblings:
            self._send(sibling, search)
        self._searched(search)

    def _is_flooded(self, link: str) -> bool:
        heard = self._heard_searches.get(link, 0) + 1
        self._heard_searches[link] = heard
        self.refused += heard > self.tree.flood
        return heard > self.tree.flood

    def _searched(self, search: Search) -> None:
        """Algorithm 22."""
        self.searches += 1
        self.depth = search.depth + 1
        if search.joiner == self.name:
            return
        relation = relate(self.filter, search.filter)
        if relation is Relation.EQUIVALENT:
            self._answer_equal(search)
        elif relation is Relation.CONTAINS:
            self._answer(search, relation)
            self._search_below(search)
        elif self._searches_fully(search):
            if relation is Relation.CONTAINED:
                parent = self.family.parent
                reply = Reply(search.number, relation, self.depth, search.load, parent)
                self._send(search.joiner, reply)
            else:
                self._search_below(search)

    def _answer(self, search: Search, relation: Relation) -> None:
        if not self._leaving:
            load = len(self.family.children)
            self._send(search.joiner, Reply(search.number, relation, self.depth, load))

    def _answer_equal(self, search: Search) -> None:
        members = [child for child, equal in self.family.children.items() if equal]
        if self._has_room(None):
            self._answer(search, Relation.EQUIVALENT)
        elif members:
            chance = drawn(self.name, search.joiner, search.number)
            self._search_below(search, [members[int(chance * len(members))]])

    def _search_below(self, search: Search, below: list[str] | None = None) -> None:
        children = self.family.children
        if below is None:
            below = [child for child, equal in children.items() if not equal]
        passed = Search(
            search.number,
            search.joiner,
            search.filter,
            search.mode,
            self.depth,
            len(children),
        )
        for child in below:
            self._send(child, passed)

    def _searches_fully(self, search: Search) -> bool:
        if search.mode is not Join.ADAPTIVE:
            return search.mode is Join.FULL
        load = max(len(self.family.children), search.load)
        rate = self.tree.adaptive_rate
        return load > self.tree.adaptive_limit or (
            drawn("adaptive", self.name, search.joiner, search.number) < rate
        )

    def _has_room(self, instead: str | None) -> bool:
        """Whether one more peer that wants the same may be a child."""
        members = {child for child, equal in self.family.children.items() if equal} - {instead}
        promised = {name for name, promise in self._promises.items() if promise.equal}
        limit = self.tree.degree if self.family.equal else self.tree.root_degree
        return len(members | promised) < limit


def relate(own: Filter, other: Filter) -> Relation:
    """How one's own filter relates to another one, as far as the test for containment tells."""
    covers, covered = own.covers(other), other.covers(own)
    if covers:
        return Relation.EQUIVALENT if covered else Relation.CONTAINS
    return Relation.CONTAINED if covered else Relation.NONE
