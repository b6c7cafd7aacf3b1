"""Where does a filter belong?

Directly below those that cover it and cover nothing else that does, directly above what it covers
and nothing else that it covers does. `find` looks for both from the roots downward: only below what
covers the filter for the former, and only below what may overlap it for the latter. Where something
covers it, the latter are among what hangs under that; where nothing does, they may be anywhere.

`find_again` is for a filter that was in the poset before with other constants: UPDATE in Fig. 6 of
Jayaram, Jayalath, Eugster, *Parametric Subscriptions* (2010), which has the poset put in order
where that is necessary. Whether it is cannot be seen at the node alone. Its links may all still
hold, and its filter may now cover, or be covered by, one that it had nothing to do with. But half
of it can be seen there:

- a filter that has become *wider* is covered by nothing new, so who covers it is found upward from
  where it hangs; and it still covers what it did;
- one that has become *narrower* covers nothing new, so what it covers is found downward from where
  it hangs; and what covered it still does.

The other half is a search from the roots. For a filter that is neither, both halves are.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tidegate.papers.poset.diagram import Diagram
from tidegate.papers.poset.node import Node, ancestors


class Place(NamedTuple):
    """The nodes directly above and directly below; or the node that says the same already."""

    above: list[Node]
    below: list[Node]
    equal: Node | None = None


def find(diagram: Diagram, new: Node) -> Place:
    """Where a node belongs that is not in the poset."""
    above = [node for node, lowest in covering(diagram, new).items() if lowest]
    return _place(diagram, new, above, None, wider=False, narrower=False)


def find_again(diagram: Diagram, old: Node, new: Node) -> Place:
    """Where a node belongs that takes the place of one that is; that one may be its equal."""
    wider, narrower = diagram.covers(new, old), diagram.covers(old, new)
    if wider and narrower:
        return Place([], [], old)
    if wider:
        above = _still_covering(diagram, old, new)
    else:
        found = covering(diagram, new, old, narrower=narrower)
        above = [node for node, lowest in found.items() if lowest]
    return _place(diagram, new, above, old, wider=wider, narrower=narrower)


def _place(
    diagram: Diagram,
    new: Node,
    above: list[Node],
    old: Node | None,
    *,
    wider: bool,
    narrower: bool,
) -> Place:
    for node in above:
        if diagram.covers(new, node):
            return Place([], [], node)
    start = min(above, key=lambda node: len(node.below), default=diagram.top)
    if old is not None and narrower:
        start = old
    below = covered(diagram, new, start, old, wider=wider)
    return Place(above, below, _tied(new, above, below))


def covering(
    diagram: Diagram, new: Node, old: Node | None = None, *, narrower: bool = False
) -> dict[Node, bool]:
    """The nodes that cover a new one, each with: does nothing that hangs under it?

    An old node that is to become the new one does not count. If the new one is narrower, what hangs
    under the old one may cover it.
    """
    asked: dict[Node, bool] = {} if old is None or narrower else {old: False}
    lowest: dict[Node, bool] = {}
    stack = [diagram.top]
    while stack:
        parent = stack.pop()
        lowest[parent] = True
        for node in diagram.may_cover(parent, new):
            known = asked.get(node)
            if known is None:
                known = asked[node] = node is old or diagram.covers(node, new)
                if known:
                    stack.append(node)
            if known and node is not old:
                lowest[parent] = False
    del lowest[diagram.top]
    if old is not None and not lowest.pop(old, True):
        for parent in old.above:
            lowest[parent] = False
    return lowest


def _still_covering(diagram: Diagram, old: Node, new: Node) -> list[Node]:
    """The nodes directly above a new one, which is wider than the old one was."""
    found: list[Node] = []
    seen: set[Node] = set()
    stack = list(old.above)
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if diagram.covers(node, new):
            found.append(node)
        else:
            stack.extend(node.above)
    if len(found) > 1:
        higher = set().union(*map(ancestors, found))
        found = [node for node in found if node not in higher]
    return found


def covered(
    diagram: Diagram, new: Node, start: Node, old: Node | None = None, *, wider: bool = False
) -> list[Node]:
    """The nodes directly below a new one, among those below `start`.

    An old node that is to become the new one does not count. If the new one is wider, it covers
    what the old one covered.
    """
    found: dict[Node, None] = {}
    seen: set[Node] = {start}
    stack = [start]
    while stack:
        for node, inside in diagram.may_be_covered(stack.pop(), new):
            if node in seen:
                continue
            seen.add(node)
            if node is old and wider:
                found.update(node.below)
                seen.update(node.below)
            elif node is not old and inside and diagram.covers(new, node):
                found[node] = None
            elif node.below and node.outline.meets(new.outline):
                stack.append(node)

    def highest(node: Node) -> bool:
        """Whether the new node covers nothing that covers this one."""
        parents = list(node.above)
        if old is not None and old in node.above:  # which will be gone from between them
            parents += old.above
        return not any(
            parent in found or (parent not in seen and diagram.covers(new, parent))
            for parent in parents
            if parent is not old
        )

    return [node for node in found if highest(node)]


def _tied(new: Node, above: Iterable[Node], below: Iterable[Node]) -> Node | None:
    """A node above that hangs under one below: then all of them say the same.

    The algebra would know, were it not for conditions on text.
    """
    doubtful = [node for node in above if new.loose or node.loose]
    if doubtful:
        for node in doubtful:
            higher = ancestors(node)
            if any(each in higher for each in below):
                return node
    return None


def overlapping(diagram: Diagram, new: Node) -> Iterator[Node]:
    """The nodes that overlap a new one: none of them hangs under one that does not."""
    passed: dict[Node, int] = {}
    stack = [diagram.top]
    while stack:
        for node in diagram.may_overlap(stack.pop(), new):
            passed[node] = passed.get(node, 0) + 1
            if passed[node] >= len(node.above) and diagram.overlaps(node, new):
                yield node
                stack.append(node)


def descendants(diagram: Diagram, new: Node) -> Iterator[Node]:
    """The nodes that a new one covers: all that hang under those that it covers directly."""
    stack = covered(diagram, new, diagram.top)
    seen = set(stack)
    while stack:
        node = stack.pop()
        # Whatever hangs here is covered. The algebra may not know, and is to say the same.
        if not (new.loose or node.loose) or diagram.covers(new, node):
            yield node
        for child in node.below:
            if child not in seen:
                seen.add(child)
                stack.append(child)
