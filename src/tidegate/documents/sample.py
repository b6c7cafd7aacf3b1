"""Which documents of a sample match an expression?

Many expressions that differ little are asked about the same few hundred documents, so the question
is turned round: for a node of a pattern, which nodes of all the documents meet it? They are numbers
in an array, in the order of the documents: those with the label that meet the tests, less those
without one of the branches, whose own nodes were found the same way and lifted by the distance.
What was found for a node is remembered, so that an expression that differs from another one in a
single place costs little. What `evaluate` answers one by one is answered here for all documents at
once.

Order is not seen in this way. An ordered expression is tried one by one on the documents that match
it without its order, of which there are not more.

Two documents beside the sample say whether an expression might match everything: an element that
has nothing, and one that has a text. What one of them does not match is not what every document
matches; the converse need not be true.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.evaluate import matches
from tidegate.documents.meaning import pattern_of
from tidegate.documents.normal import normal_form
from tidegate.documents.pattern import ANY, ROOT, TEXT, Branch, Distance, Node, Position, ValueTest
from tidegate.documents.syntax import Expression, Path
from tidegate.documents.tree import Element, read
from tidegate.documents.values import meets

Places: TypeAlias = NDArray[np.int64]
"""Nodes of the documents, by number, in their order."""

BARREN: Final = ("<_/>", "<_>_</_>")
"""Documents that hardly anybody asks for."""
_BARREN_MET: Final = (1 << len(BARREN)) - 1
_REMEMBERED: Final = 2**22  # numbers of nodes that are
_PATHS: Final = 2**16  # that are


class DocumentSample:
    """Some documents, and which of them match. Sets of documents are numbers with a bit for each.

    >>> from tidegate.documents.xpath import parse_xpath
    >>> sample = DocumentSample(["<a><b>1</b></a>", "<a/>", "<c><b>2</b></c>"])
    >>> f"{sample.met(parse_xpath('//b[. < 2] | /a').expression):03b}"
    '011'
    """

    def __init__(self, documents: Sequence[bytes | str]) -> None:
        self._documents: Final = (*BARREN, *documents)
        forest = _Forest()
        for document in self._documents:
            forest.add(read(document))
        self._parents: Places = np.array(forest.parents, np.int64)
        self._depths: Places = np.array(forest.depths, np.int64)
        self._roots: Places = np.array(forest.roots, np.int64)
        self._texts: Final = forest.texts
        self._spans: Final = forest.spans
        self._labelled: dict[str, Places] = {
            label: np.array(numbers, np.int64) for label, numbers in forest.labelled.items()
        }
        self._none: Places = np.empty(0, np.int64)
        self._marked = np.zeros(len(self._parents), np.bool_)
        self._beside = np.argsort(self._parents, kind="stable")  # children of one parent together
        self._known: dict[Node, Places] = {}
        self._tested: dict[tuple[str, tuple[ValueTest, ...]], Places] = {}
        self._room = _REMEMBERED
        self._paths: dict[tuple[Path, bool], int] = {}

    def __len__(self) -> int:
        return len(self._documents) - len(BARREN)

    def met(self, expression: Expression, *, ordered: bool = False) -> int:
        """The documents that match, the first one the lowest bit."""
        return self._met(expression, ordered) >> len(BARREN)

    def may_be_all(self, expression: Expression, *, ordered: bool = False) -> bool:
        """Whether it may be that every document matches, seen or not."""
        return self._met(expression, ordered) & _BARREN_MET == _BARREN_MET

    def holding(self, label: str) -> int:
        """In how many places of the documents there is something with a label."""
        return len(self._labelled.get(label, self._none))

    # -- expressions

    def _met(self, expression: Expression, ordered: bool) -> int:
        found = 0
        for path in expression.paths:
            found |= self._of_path(path, ordered)
        return found

    def _of_path(self, path: Path, ordered: bool) -> int:
        known = self._paths.get((path, ordered))
        if known is None:
            if len(self._paths) >= _PATHS:
                self._paths.clear()
            found = self._of_pattern(pattern_of(Expression((path,))))
            known = self._in_order(path, found) if ordered else found
            self._paths[path, ordered] = known
        return known

    def _of_pattern(self, root: Node | None) -> int:
        if root is None:
            return 0
        met = np.zeros(len(self._documents), np.bool_)
        met[np.searchsorted(self._roots, self._meeting(root))] = True
        return int.from_bytes(np.packbits(met, bitorder="little").tobytes(), "little")

    def _in_order(self, path: Path, among: int) -> int:
        """Of these documents, those that match in order as well."""
        patterns = normal_form(Expression((path,)), ordered=True)
        found = 0
        for number, document in enumerate(self._documents):
            if among >> number & 1 and any(matches(each, read(document)) for each in patterns):
                found |= 1 << number
        return found

    # -- nodes

    def _meeting(self, node: Node) -> Places:
        """The nodes of the documents that meet a node of a pattern."""
        known = self._known.get(node)
        if known is None:
            known = self._conditions(node)
            self._room -= len(known) + 1
            if self._room < 0:
                self._known.clear()
                self._tested.clear()
                self._room = _REMEMBERED
            self._known[node] = known
        return known

    def _conditions(self, node: Node) -> Places:
        found = self._passing(node.label, node.tests)
        for branch in node.branches:
            if not len(found):
                return found
            found = self._both(found, self._having(branch))
        for position in node.positions:
            found = self._both(found, self._standing(position))
        for choice in node.choices:
            options = np.concatenate([self._meeting(option) for option in choice.options])
            found = self._both(found, options)
        return found

    def _passing(self, label: str, tests: tuple[ValueTest, ...]) -> Places:
        found = self._labelled.get(label, self._none)
        if not tests:
            return found
        known = self._tested.get((label, tests))
        if known is None:
            held = [all(meets(self._value(place), test) for test in tests) for place in found]
            known = self._tested[label, tests] = found[np.array(held, np.bool_)]
        return known

    def _value(self, place: int) -> str:
        document, start, end = self._spans[place]
        return self._texts[document][start:end]

    def _having(self, branch: Branch) -> Places:
        """The nodes that have something at a distance, each perhaps more than once."""
        return self._above(self._meeting(branch.node), branch.distance)

    def _above(self, places: Places, distance: Distance) -> Places:
        found = places[self._depths[places] >= distance.levels]
        for _ in range(distance.levels):
            found = self._parents[found]
        if distance.exact or not len(found):
            return found
        marked = self._marked
        every = []
        while len(found):
            found = found[~marked[found]]
            marked[found] = True
            every.append(found)
            found = self._parents[found[self._depths[found] > 0]]
        known = np.concatenate(every)
        marked[known] = False
        return known

    def _standing(self, position: Position) -> Places:
        """The nodes whose number among their siblings is the one that is asked for."""
        fits = self._marked
        fitting = self._meeting(position.among)
        fits[fitting] = True
        beside = self._beside[fits[self._beside]]  # the fitting ones, by their parents
        fits[fitting] = False
        parents = self._parents[beside]
        firsts = np.flatnonzero(np.diff(parents, prepend=-1))
        counts = np.diff(firsts, append=len(beside))
        ranks = np.arange(len(beside)) - np.repeat(firsts, counts) + 1
        asked = np.repeat(counts, counts) if position.rank is None else position.rank
        match position.operator:
            case "=":
                held = ranks == asked
            case "!=":
                held = ranks != asked
            case "<=":
                held = ranks <= asked
            case _:
                held = ranks >= asked
        found: Places = beside[held]
        return found

    def _both(self, one: Places, other: Places) -> Places:
        """Those of one array that are in another one, which need not be in order."""
        self._marked[other] = True
        found = one[self._marked[one]]
        self._marked[other] = False
        return found


class _Forest:
    """Writes the nodes of documents down one after the other, each before what is below it."""

    def __init__(self) -> None:
        self.parents: list[int] = []
        self.depths: list[int] = []
        self.roots: list[int] = []
        self.labelled: dict[str, list[int]] = {}
        self.texts: list[str] = []
        self.spans: list[tuple[int, int, int]] = []  # which text, and from where to where

    def add(self, root: Element) -> None:
        """Write down a document."""
        number, own = len(self.texts), root.value
        self.texts.append(own)
        self.roots.append(len(self.parents))
        read_until = 0
        stack: list[tuple[Element | str, int]] = [(root, len(self.parents))]
        while stack:
            each, parent = stack.pop()
            depth = 0 if each is root else self.depths[parent] + 1
            if isinstance(each, str):
                self._put(TEXT, parent, depth, (number, read_until, read_until + len(each)))
                read_until += len(each)
                continue
            place = len(self.parents)
            label = ROOT if each is root else each.name
            self._put(label, parent, depth, (number, read_until, read_until + len(each.value)))
            if each is not root:
                self.labelled.setdefault(ANY, []).append(place)
            for name, value in each.attributes.items():
                self._put("@" + name, place, depth + 1, (len(self.texts), 0, len(value)))
                self.texts.append(value)
            stack += [(child, place) for child in reversed(each.children)]

    def _put(self, label: str, parent: int, depth: int, span: tuple[int, int, int]) -> None:
        self.labelled.setdefault(label, []).append(len(self.parents))
        self.parents.append(parent)
        self.depths.append(depth)
        self.spans.append(span)
