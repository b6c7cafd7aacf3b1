"""Which filters cover which, with nothing in between?

The partially ordered set of Siena's brokers and of Jayaram, Jayalath, Eugster, *Parametric
Subscriptions for Content-Based Publish/Subscribe Networks* (2010, 4.2): its nodes are filters, and
a link leads from a filter to one that it covers, unless a third one is between the two. The filters
that nothing covers are the **roots**. Nodes come, move and go by one operation, `place`: it is told
which nodes the filter of a node stands directly below and directly above from now on.

Invariant: links have no cycle, and each is a cover that the algebra decides. Where what it decides
is transitive, as it is without conditions on text, links are exactly the transitive reduction of
covering. Where it is not, a link may be missing: then a filter hangs higher than it could.
"""

from collections.abc import Iterable, Iterator

from tidegate.algebra.relate import covers, overlaps
from tidegate.filters.expression import Truth
from tidegate.filters.filter import Filter
from tidegate.papers.poset.node import MANY, Node, Sieve, ancestors


class Diagram:
    """Nodes and links. `top` stands above the roots; it is no node of the poset.

    `links` counts what is linked, roots included, and `compared` how often the algebra was asked.
    `touched` has what was a root, or not (None), of nodes for which that has changed: its filter.
    """

    def __init__(self) -> None:
        self.top = Node(Filter.of(Truth(True)))
        self.links = 0
        self.sieve_bytes = 0
        self.compared = 0
        self.touched: dict[Node, Filter | None] = {}

    # -- what nodes are to each other

    def covers(self, one: Node, other: Node) -> bool:
        """Whether the algebra decides that one covers the other."""
        if not other.outline.within(one.outline):
            return False
        self.compared += 1
        return covers(one.filter, other.filter)

    def overlaps(self, one: Node, other: Node) -> bool:
        """Whether some event may match both."""
        if not one.outline.meets(other.outline):
            return False
        self.compared += 1
        return overlaps(one.filter, other.filter)

    def may_cover(self, parent: Node, new: Node) -> Iterator[Node]:
        """The children of a node, but for some that do not cover the new one."""
        return iter(parent.below) if parent.sieve is None else parent.sieve.around(new.outline)

    def may_overlap(self, parent: Node, new: Node) -> Iterator[Node]:
        """The children of a node, but for some that do not overlap the new one."""
        if parent.sieve is None:
            return iter(parent.below)
        return (child for child, _ in parent.sieve.meeting(new.outline))

    def may_be_covered(self, parent: Node, new: Node) -> Iterator[tuple[Node, bool]]:
        """The children of a node that the new one may cover (True), or whose children it may."""
        if parent.sieve is not None:
            return parent.sieve.meeting(new.outline, parents=True)
        known = new.outline
        return (
            (child, inside)
            for child in parent.below
            if (inside := child.outline.within(known)) or child.below
        )

    # -- changes

    def place(self, node: Node, above: Iterable[Node], below: Iterable[Node]) -> None:
        """Let a node stand directly below some nodes and directly above others.

        It may have stood elsewhere, or nowhere. What it stood between is linked where no other way
        leads from the one to the other; what it now stands between is not linked any more.
        """
        now_above, now_below = dict.fromkeys(above), dict.fromkeys(below)
        before_above, before_below = dict(node.above), dict(node.below)
        fresh_above = [each for each in now_above if each not in before_above]
        fresh_below = [each for each in now_below if each not in before_below]
        lost_above = [each for each in before_above if each not in now_above]
        lost_below = [each for each in before_below if each not in now_below]
        for parent in lost_above:
            self._unlink(parent, node)
        for child in lost_below:
            self._unlink(node, child)
        for parent in fresh_above:
            self._link(parent, node)
        for child in fresh_below:
            self._link(node, child)
        self._step_between(now_above, fresh_below)
        self._step_between(fresh_above, now_below)
        for child in before_below if lost_above else lost_below:
            self._bridge(child, lost_above if child in now_below else before_above)
            self._settle(child)
        for child in fresh_below:
            self._settle(child)
        self._settle(node)

    def drop(self, node: Node) -> None:
        """Take a node out."""
        self.place(node, (), ())
        self._touch(node)
        self._unlink_root(node)

    def replace(self, node: Node, new: Node, above: Iterable[Node], below: Iterable[Node]) -> None:
        """Let a node have the filter of another one, which is not in the poset, and its place."""
        self._touch(node)
        node.filter, node.outline = new.filter, new.outline
        self.place(node, above, below)
        for parent in node.above or (self.top,):
            if parent.sieve is not None:
                parent.sieve.put(node)

    def _step_between(self, above: Iterable[Node], below: Iterable[Node]) -> None:
        for child in below:
            for parent in above:
                if parent in child.above:
                    self._unlink(parent, child)

    def _bridge(self, child: Node, parents: Iterable[Node]) -> None:
        """Link a node below those that it is no longer reached from."""
        stack = list(parents)
        if not stack:
            return
        reached = ancestors(child)
        while stack:
            parent = stack.pop()
            if parent in reached:
                continue
            reached.add(parent)
            # That one covers the other follows from what was linked. The algebra may not know.
            if not (parent.loose or child.loose) or self.covers(parent, child):
                self._link(parent, child)
                reached |= ancestors(parent)
            else:
                stack.extend(parent.above)

    def _settle(self, node: Node) -> None:
        """Let a node be a root if nothing is above it, and none if something is."""
        if (node in self.top.below) is bool(node.above):
            self._touch(node)
            if node.above:
                self._unlink_root(node)
            else:
                self.top.below[node] = None
                self._count(self.top, node)

    def _touch(self, node: Node) -> None:
        if node not in self.touched:
            self.touched[node] = node.filter if node in self.top.below else None

    def _link(self, parent: Node, child: Node) -> None:
        child.above[parent] = None
        parent.below[child] = None
        self._count(parent, child)

    def _count(self, parent: Node, child: Node) -> None:
        self.links += 1
        before = 0
        if parent.sieve is not None:
            before = parent.sieve.nbytes
            parent.sieve.put(child)
        elif len(parent.below) > MANY:
            parent.sieve = Sieve(parent.below)
        if parent.sieve is not None:
            self.sieve_bytes += parent.sieve.nbytes - before
        if len(parent.below) == 1:
            self._mark(parent)

    def _mark(self, node: Node) -> None:
        """Let sieves know whether something hangs under a node."""
        for parent in node.above or (self.top,):
            if parent.sieve is not None:
                parent.sieve.mark(node)

    def _unlink(self, parent: Node, child: Node) -> None:
        del child.above[parent]
        self._discount(parent, child)

    def _unlink_root(self, node: Node) -> None:
        self._discount(self.top, node)

    def _discount(self, parent: Node, child: Node) -> None:
        del parent.below[child]
        self.links -= 1
        if not parent.below:
            self._mark(parent)
        sieve = parent.sieve
        if sieve is None:
            return
        sieve.remove(child)
        if sieve.sparse:
            self.sieve_bytes -= sieve.nbytes
            parent.sieve = Sieve(parent.below) if len(parent.below) > MANY else None
            if parent.sieve is not None:
                self.sieve_bytes += parent.sieve.nbytes
