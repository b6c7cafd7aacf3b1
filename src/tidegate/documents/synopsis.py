"""How many documents had which paths?

A **synopsis** stands for a history of documents: a tree of element names in which each path from
the root has the number of documents that had it (Chand, 2005, section 8.2). Of a document only its
*skeleton* counts, in which children of one name are one. What is kept is a sum over documents: so
one is added by itself, an old one is taken out again, and two synopses merge into that of both
histories, in any order and grouping.

To fit a budget of nodes, the least frequent ones are merged with their siblings (as Aboulnaga and
others do for path trees, to whom the thesis refers). A merged node knows its names and what their
paths have together; each of them is taken to have the mean. Below it, children of one name are
merged, too. It is still a sum over documents, so that all of the above goes on as before, and the
estimates of the paths that were merged add up to exactly what they have.

Invariants: a node's total is that of its paths in the history; no node but the root has a total of
0; the names of a node's children are all different.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tidegate.documents.tree import Element, read
from tidegate.errors import TidegateError

Path: TypeAlias = tuple[str, ...]
"""Element names from the outermost one down."""
Names: TypeAlias = tuple[str, ...]
"""The names that a node stands for, sorted: one, or several if siblings were merged."""


@dataclass(slots=True, eq=False)
class Node:
    """Paths that differ in merged names only: how many documents had each of them, in sum."""

    names: Names
    total: int
    width: int  # how many paths these are
    children: dict[str, "Node"] = field(default_factory=dict)  # by each name; several may share one

    @property
    def mean(self) -> float:
        """How many documents had one of the paths, in the mean."""
        return self.total / self.width

    @property
    def below(self) -> list["Node"]:
        """The children, each once, in the order of their names."""
        return sorted(set(self.children.values()), key=lambda node: node.names)


class Synopsis:
    """The paths of a history of documents.

    >>> synopsis = Synopsis()
    >>> synopsis.add("<a><b/><b><c/></b></a>")
    >>> synopsis.add("<a><d/></a>")
    >>> synopsis.documents, synopsis.frequency(("a", "b")), synopsis.frequency(("a", "x"))
    (2, 1.0, 0.0)
    """

    def __init__(self) -> None:
        self.root = Node((), 0, 1)

    @property
    def documents(self) -> int:
        """How many documents there are in the history."""
        return self.root.total

    def __len__(self) -> int:
        return sum(1 for _ in _nodes(self.root))

    def node(self, path: Sequence[str]) -> Node | None:
        """What stands for a path, if any document had it or one that was merged with it."""
        node: Node | None = self.root
        for name in path:
            if node is None:
                return None
            node = node.children.get(name)
        return node

    def frequency(self, path: Sequence[str]) -> float:
        """How many documents had a path; the mean of several, where paths were merged."""
        node = self.node(path)
        return 0.0 if node is None else node.mean

    def add(self, document: bytes | str | Element) -> None:
        """Take in a document; `DocumentError` if it cannot be read."""
        _add(self.root, _skeleton(document))

    def remove(self, document: bytes | str | Element) -> None:
        """Take out a document that was added before.

        One that has a path which no document of the history has is refused, and changes nothing.
        """
        skeleton = _skeleton(document)
        missing = _taken(self.root, skeleton, (), {})
        if missing is not None:
            raise TidegateError(f"no document that was added has the path /{'/'.join(missing)}")
        _remove(self.root, skeleton)

    def merge(self, other: "Synopsis") -> None:
        """Take in the history of another one. What is merged in either of them is merged then."""
        self.root = _merged([self.root, other.root], (), 1, frozenset())

    def compress(self, budget: int) -> None:
        """Merge siblings of least frequency until there are no more nodes than that below the root.

        `TidegateError` if there are more levels than that: of each, one node is left.
        """
        levels = _levels(self.root)
        if budget < levels:
            raise TidegateError(
                f"a synopsis of {levels} levels has at least as many nodes, not {budget}"
            )
        if len(self) > budget:
            self.root = _compressed(self.root, budget)

    def plain(self) -> list[Any]:
        """All of it as plain data: names, total and children of each node."""
        return _plain(self.root)

    @classmethod
    def read(cls, plain: list[Any]) -> "Synopsis":
        """The synopsis that was written so."""
        synopsis = cls()
        _read(synopsis.root, plain)
        return synopsis


class _Skeleton(dict[str, "_Skeleton"]):
    """The names of a document's children, each once, with what is below all of that name."""


def _skeleton(document: bytes | str | Element) -> _Skeleton:
    top = document if isinstance(document, Element) else read(document)
    skeleton = _Skeleton()
    stack = [(top, skeleton)]
    while stack:
        element, known = stack.pop()
        stack += [(child, known.setdefault(child.name, _Skeleton())) for child in element.elements]
    return skeleton


def _nodes(node: Node) -> Iterator[Node]:
    """All nodes below one."""
    for child in node.below:
        yield child
        yield from _nodes(child)


def _levels(node: Node) -> int:
    return max((1 + _levels(child) for child in node.below), default=0)


def _child(node: Node, name: str) -> Node:
    """The child that stands for a name, made if there is none."""
    child = node.children.get(name)
    if child is None:
        child = node.children[name] = Node((name,), 0, node.width)
    return child


def _add(node: Node, skeleton: _Skeleton) -> None:
    node.total += 1
    for name, below in skeleton.items():
        _add(_child(node, name), below)


def _taken(node: Node, skeleton: _Skeleton, path: Path, taken: dict[Node, int]) -> Path | None:
    """Count how often each node stands for a path of the skeleton; a path that none stands for.

    A path that all documents of the history together have less often is one, too.
    """
    taken[node] = taken.get(node, 0) + 1
    if taken[node] > node.total:
        return path
    for name, below in skeleton.items():
        here = (*path, name)
        child = node.children.get(name)
        missing = here if child is None else _taken(child, below, here, taken)
        if missing is not None:
            return missing
    return None


def _remove(node: Node, skeleton: _Skeleton) -> None:
    node.total -= 1
    for name, below in skeleton.items():
        child = node.children[name]
        _remove(child, below)
        if not child.total:
            for each in child.names:
                del node.children[each]


def _merged(nodes: Sequence[Node], names: Names, width: int, rare: frozenset[Node]) -> Node:
    """One node that stands for several, and below it one for all children that share a name.

    Of its children, those are one, too, that are made of rare nodes only.
    """
    merged = Node(names, sum(node.total for node in nodes), width)
    for alike in _alike(nodes, rare):
        every = tuple(sorted({name for node in alike for name in node.names}))
        child = _merged(alike, every, width * len(every), rare)
        merged.children.update(dict.fromkeys(every, child))
    return merged


def _alike(parents: Sequence[Node], rare: frozenset[Node]) -> list[list[Node]]:
    """The children of several nodes, put together where they share a name, or are all rare."""
    by_name: dict[str, list[Node]] = {}
    for parent in parents:
        for child in parent.below:
            known = _distinct(by_name[name] for name in child.names if name in by_name)
            alike = known[0] if known else []
            for others in known[1:]:
                alike += others
                by_name.update((name, alike) for node in others for name in node.names)
            alike.append(child)
            by_name.update((name, alike) for name in child.names)
    every = _distinct(by_name.values())
    all_rare = [alike for alike in every if rare.issuperset(alike)]
    rest = [alike for alike in every if not rare.issuperset(alike)]
    return [*rest, [node for alike in all_rare for node in alike]] if all_rare else rest


def _distinct(lists: Iterable[list[Node]]) -> list[list[Node]]:
    """Each list once: they are equal only if they are the same."""
    return list({id(each): each for each in lists}.values())


def _compressed(root: Node, budget: int) -> Node:
    """The same with the fewest nodes taken for rare, the least frequent first, that it takes."""
    nodes = [node for _, _, node in sorted(_ranked(root, ()), key=lambda ranked: ranked[:2])]
    few, many = 0, len(nodes)  # with so many it does not fit, or may not; with so many it does
    best = _merged([root], (), 1, frozenset(nodes))
    while few < many:
        middle = (few + many) // 2
        tried = _merged([root], (), 1, frozenset(nodes[:middle]))
        if sum(1 for _ in _nodes(tried)) <= budget:
            many, best = middle, tried
        else:
            few = middle + 1
    return best


def _ranked(node: Node, place: tuple[Names, ...]) -> Iterator[tuple[float, Any, Node]]:
    """All nodes below one, with what they are sorted by: frequency, then the way to them."""
    for child in node.below:
        here = (*place, child.names)
        yield child.mean, here, child
        yield from _ranked(child, here)


def _plain(node: Node) -> list[Any]:
    return [list(node.names), node.total, [_plain(child) for child in node.below]]


def _read(node: Node, plain: list[Any]) -> None:
    _, node.total, below = plain
    for inner in below:
        names = tuple(inner[0])
        child = Node(names, 0, node.width * len(names))
        node.children.update(dict.fromkeys(names, child))
        _read(child, inner)
