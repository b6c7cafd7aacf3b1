"""What did the consumers of XNet subscribe to?

Chand, "Large scale diffusion of information in Publish/Subscribe systems" (2005), section 6.2.2:
XPath expressions made from a DTD, by the parameters of Table 6.1. The generator itself is not
printed. Here an expression begins at the DTD's root and goes down: each node has one child, or more
by the branching probability, whose element is drawn from those that the DTD allows there, the i-th
of them with weight i^skew. A node is a `*` with one probability; with another, at the depths where
that is allowed, it is reached by `//`, which passes over up to `passed` elements. A path ends where
the DTD does, at the greatest depth, or, beyond the least one, by chance.

What is not printed are `passed` and the chance (`stop`). Both were fitted to Table 6.8 (7.6 nodes a
pattern among 1,000 that differ, 10.0 among 100,000) and to how the *Simple* row of Table 6.5 grows
(83.8 times as many that differ among 200,000 as among 1,000); the rest follows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tidegate.documents.dtd import DTD


@dataclass(frozen=True)
class PatternChoices:
    """The parameters of Table 6.1, and what it leaves open."""

    deepest: int = 10
    """h: the greatest depth of a leaf."""
    ellipsis_depth: int = 3
    """d: the greatest depth of a `//`."""
    ellipsis: float = 0.1
    """p//: how probable it is that a node is reached by `//`."""
    wildcard: float = 0.1
    """p*: how probable it is that a node is a `*`."""
    branching: float = 0.1
    """pλ: how probable it is that a node has one more child."""
    least: int = 3
    """m: the least depth of a leaf, if the DTD allows it."""
    skew: float = -1.0
    """θ: of the distribution of names, rank to this power."""
    passed: int = 2
    """How many elements a `//` passes over at most."""
    stop: float = 0.05
    """How probable it is that a path ends at a depth between the least and the greatest."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """An expression, and how many nodes it has, each `//` counted as one."""

    text: str
    nodes: int


class PatternSource:
    """Draws expressions."""

    def __init__(self, dtd: DTD, choices: PatternChoices, seed: int) -> None:
        self._dtd = dtd
        self._choices = choices
        self._random = Random(seed)
        self._nodes = 0
        self._children = {
            name: (
                each.children,
                [(rank + 1) ** choices.skew for rank in range(len(each.children))],
            )
            for name, each in dtd.elements.items()
        }

    def draw(self) -> Drawn:
        """One expression."""
        self._nodes = 0
        text = self._node(self._dtd.root, 1)
        return Drawn(text, self._nodes)

    def distinct(self) -> Iterator[Drawn]:
        """Expressions that differ, without end."""
        seen: set[str] = set()
        while True:
            drawn = self.draw()
            if drawn.text not in seen:
                seen.add(drawn.text)
                yield drawn

    def _child(self, element: str) -> str | None:
        names, weights = self._children.get(element, ((), []))
        return self._random.choices(names, weights)[0] if names else None

    def _node(self, element: str, depth: int) -> str:
        """A node and all below it, with the slash before it."""
        choices, random = self._choices, self._random
        slash = "/"
        if depth <= choices.ellipsis_depth and random.random() < choices.ellipsis:
            slash = "//"
            self._nodes += 1
            for _ in range(random.randint(0, choices.passed)):
                below = self._child(element) if depth < choices.deepest else None
                if below is not None:
                    element, depth = below, depth + 1
        self._nodes += 1
        label = "*" if random.random() < choices.wildcard else element
        parts = sorted(self._below(element, depth))
        branches = "".join(f"[{_relative(part)}]" for part in parts[:-1])
        return slash + label + branches + (parts[-1] if parts else "")

    def _below(self, element: str, depth: int) -> set[str]:
        choices, random = self._choices, self._random
        if depth >= choices.deepest or (depth >= choices.least and random.random() < choices.stop):
            return set()
        first = self._child(element)
        children = [] if first is None else [first]
        while children and random.random() < choices.branching:
            more = self._child(element)
            assert more is not None
            children.append(more)
        return {self._node(child, depth + 1) for child in children}


def _relative(path: str) -> str:
    return "." + path if path.startswith("//") else path[1:]
