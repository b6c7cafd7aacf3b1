"""What does a filter say in Boolean variables, and how does that become a diagram?

A **formula** is a filter's tree with variables in the place of predicates: the AND of variables and
of ORs, each of them the OR of variables and of ANDs. Most filters are the AND of variables and
nothing else, and become a chain of nodes. Any other formula is built bottom-up, aside in a
`Sketch`, by the apply of Bryant, "Graph-Based Algorithms for Boolean Function Manipulation" (1986),
restricted to AND and OR; what comes of it is then put into the shared diagram node by node. A
sketch that takes more nodes than allowed is given up: the filter is too large for a diagram.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from tidegate.filters.expression import And, Node, Or, Predicate, Truth, conjuncts
from tidegate.papers.mbd.diagram import Diagram
from tidegate.papers.mbd.node_kernels import FALSE, TRUE

MOST_NODES: Final = 4096
"""Nodes that building the diagram of one filter may take."""


@dataclass(frozen=True, slots=True)
class Every:
    """Holds where all variables and all parts hold."""

    variables: tuple[int, ...]
    parts: tuple["Some", ...] = ()


@dataclass(frozen=True, slots=True)
class Some:
    """Holds where one of the variables or one of the parts holds."""

    variables: tuple[int, ...]
    parts: tuple[Every, ...] = ()


Formula: TypeAlias = Every


class TooLargeError(Exception):
    """Building a diagram takes more nodes than allowed."""


def formula(tree: Node, variable: Callable[[Predicate], int]) -> Formula:
    """A filter's tree as a formula."""
    variables: list[int] = []
    parts: list[Some] = []
    for part in conjuncts(tree):
        if isinstance(part, Predicate):
            variables.append(variable(part))
        elif isinstance(part, Or):
            parts.append(_some(part, variable))
        elif isinstance(part, Truth):
            if not part.value:
                parts.append(Some(()))
        else:
            inner = formula(part, variable)
            variables += inner.variables
            parts += inner.parts
    return Every(tuple(dict.fromkeys(variables)), tuple(dict.fromkeys(parts)))


def _some(tree: Or, variable: Callable[[Predicate], int]) -> Some:
    variables: list[int] = []
    parts: list[Every] = []
    for part in tree.parts:
        if isinstance(part, Predicate):
            variables.append(variable(part))
        elif isinstance(part, And):
            parts.append(formula(part, variable))
        elif isinstance(part, Truth):
            if part.value:
                parts.append(Every(()))
        else:
            inner = _some(part, variable)
            variables += inner.variables
            parts += inner.parts
    return Some(tuple(dict.fromkeys(variables)), tuple(dict.fromkeys(parts)))


def variables_of(part: Every | Some) -> Iterator[int]:
    """The variables of a formula, with repetitions."""
    yield from part.variables
    for inner in part.parts:
        yield from variables_of(inner)


def install(wanted: Formula, diagram: Diagram, most: int = MOST_NODES) -> int:
    """The node of a formula in the diagram, the new ones below it included.

    `TooLargeError` if there would be too many; the diagram is then as it was.
    """
    if not wanted.parts:
        return diagram.chain(sorted(wanted.variables, key=diagram.level))
    sketch = Sketch(diagram.level, most)
    return sketch.put(sketch.every(wanted), diagram.node)


def locate(wanted: Formula, diagram: Diagram, most: int = MOST_NODES) -> int | None:
    """The node of a formula in the diagram, if it is there."""
    if not wanted.parts:
        node: int | None = TRUE
        for variable in sorted(wanted.variables, key=diagram.level):
            node = None if node is None else diagram.find(variable, FALSE, node)
        return node
    sketch = Sketch(diagram.level, most)
    try:
        return sketch.put(sketch.every(wanted), diagram.find)
    except TooLargeError:
        return None


class Sketch:
    """Nodes of one formula, not shared with any other."""

    def __init__(self, level: Callable[[int], int], most: int) -> None:
        self._level = level
        self._most = most
        self._nodes: list[tuple[int, int, int]] = [(-1, 0, 0), (-1, 1, 1)]
        self._levels = [-1, -1]
        self._known: dict[tuple[int, int, int], int] = {}

    def every(self, wanted: Every) -> int:
        """The node of an AND."""
        node = TRUE
        for variable in sorted(wanted.variables, key=self._level):
            node = self._node(variable, FALSE, node)
        return self._all(True, [node, *map(self.some, wanted.parts)])

    def some(self, wanted: Some) -> int:
        """The node of an OR."""
        node = FALSE
        for variable in sorted(wanted.variables, key=self._level):
            node = self._node(variable, node, TRUE)
        return self._all(False, [node, *map(self.every, wanted.parts)])

    def put(self, root: int, node: Callable[[int, int, int], int | None]) -> int:
        """Hand over all nodes under a root, children first; what the root is over there.

        If one of them is not there, neither is the root.
        """
        needed, stack = {FALSE, TRUE}, [root]
        while stack:
            top = stack.pop()
            if top not in needed:
                needed.add(top)
                stack += self._nodes[top][1:]
        there: dict[int, int | None] = {FALSE: FALSE, TRUE: TRUE}
        for own in sorted(needed - {FALSE, TRUE}):
            variable, low, high = self._nodes[own]
            theirs = there[low], there[high]
            there[own] = None
            if theirs[0] is not None and theirs[1] is not None:
                there[own] = node(variable, theirs[0], theirs[1])
        return there[root]  # type: ignore[return-value]

    def _node(self, variable: int, low: int, high: int) -> int:
        if low == high:
            return low
        key = variable, low, high
        found = self._known.get(key)
        if found is None:
            if len(self._nodes) >= self._most:
                raise TooLargeError
            found = self._known[key] = len(self._nodes)
            self._nodes.append(key)
            self._levels.append(self._level(variable))
        return found

    def _all(self, both: bool, nodes: list[int]) -> int:
        """AND or OR of several, neighbours first."""
        while len(nodes) > 1:
            pairs = zip(nodes[::2], nodes[1::2], strict=False)
            rest = nodes[len(nodes) & ~1 :]
            nodes = [self._apply(both, one, other) for one, other in pairs] + rest
        return nodes[0]

    def _apply(self, both: bool, one: int, other: int) -> int:
        """AND or OR of two: children before parents, without recursion, since paths are long."""
        done: dict[tuple[int, int], int] = {}
        stack = [(one, other)]
        while stack:
            pair = stack[-1]
            if pair not in done:
                short = _decided(both, *pair)
                if short is None:
                    lows, highs, variable = self._split(*pair)
                    waiting = [each for each in (lows, highs) if each not in done]
                    if waiting:
                        stack += waiting
                        if len(done) + len(stack) > 16 * self._most:
                            raise TooLargeError
                        continue
                    short = self._node(variable, done[lows], done[highs])
                done[pair] = short
            stack.pop()
        return done[one, other]

    def _split(self, one: int, other: int) -> tuple[tuple[int, int], tuple[int, int], int]:
        """The pairs of children, by the topmost variable of the two."""
        mine, theirs = self._levels[one], self._levels[other]
        top = max(mine, theirs)
        variable = self._nodes[one if mine == top else other][0]
        _, low, high = self._nodes[one] if mine == top else (0, one, one)
        _, other_low, other_high = self._nodes[other] if theirs == top else (0, other, other)
        return (low, other_low), (high, other_high), variable


def _decided(both: bool, one: int, other: int) -> int | None:
    """AND or OR of two nodes, where one of them settles it."""
    if one == other:
        return one
    strong, weak = (FALSE, TRUE) if both else (TRUE, FALSE)
    if strong in (one, other):
        return strong
    if weak in (one, other):
        return other if one == weak else one
    return None


def attributes_of(variables: Iterable[int], attribute: Callable[[int], str]) -> tuple[str, ...]:
    """The attributes of some variables, each once, in order of their names."""
    return tuple(sorted({attribute(variable) for variable in variables}))
