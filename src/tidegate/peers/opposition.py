"""Which children of an element cannot occur together?

Two names are **in opposition** under a parent if no content that its DTD allows has an element of
each; a name is in opposition with itself if it cannot occur twice. Chand (2005), section 8.3, finds
this by rules for the operators of a content model, and takes it for transitive. It is not: in
`((a,b)|c)`, c excludes a and b, which occur together. Here it is decided exactly, on the content
model alone: an element that could never be finished counts as one that may occur.

The names of a model, from left to right, are places; each part of it spans some of them. From one
place, go up. What stands in another part of a sequence may come with it, and within the widest part
that may be repeated, everything may, the place itself too. The other parts of a choice may not. So
a name's company is a union of spans, one for each place where it stands and each part around that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from tidegate.documents.dtd import DTD, Group, Named


class Opposition:
    """Which children exclude each other, in documents of one type.

    Of an element that is not declared nothing is known, so that nothing under it is in opposition.
    What cannot occur under an element at all is in opposition with everything.

    >>> from tidegate.documents.dtd import parse_dtd
    >>> dvd = Opposition(parse_dtd("<!ELEMENT dvd (title?, actor+, (producer | director)?)>"))
    >>> dvd.opposed("dvd", "producer", "director"), dvd.opposed("dvd", "title", "director")
    (True, False)
    >>> dvd.opposed("dvd", "title", "title"), dvd.opposed("dvd", "actor", "actor")
    (True, False)
    """

    def __init__(self, dtd: DTD) -> None:
        self._dtd: Final = dtd
        self._models: dict[str, _Model] = {}
        self._company: dict[tuple[str, str], frozenset[str]] = {}

    def children(self, parent: str) -> tuple[str, ...]:
        """The names that may occur under an element, in the order of the definition."""
        declared = self._dtd.elements.get(parent)
        if declared is None:
            return ()
        return tuple(self._dtd.elements) if declared.anything else declared.children

    def opposed(self, parent: str, name: str, other: str) -> bool:
        """Whether no valid content of the parent has both; of one name, whether none has two."""
        return parent in self._dtd.elements and other not in self.company(parent, name)

    def company(self, parent: str, name: str) -> frozenset[str]:
        """The names that may occur beside an element of this name; its own, if it may come twice.

        The parent is declared.
        """
        found = self._company.get((parent, name))
        if found is None:
            found = self._company[parent, name] = self._together(parent, name)
        return found

    def _together(self, parent: str, name: str) -> frozenset[str]:
        declared = self._dtd.elements[parent]
        if declared.anything:
            every = self._dtd.elements
            return frozenset(every) if name in every else frozenset()
        if declared.content is None:
            return frozenset()
        model = self._models.get(parent)
        if model is None:
            model = self._models[parent] = _flat(declared.content)
        return model.company(name)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a content model: the places it spans, and the part around it."""

    around: int  # -1: none
    sequence: bool
    repeated: bool
    first: int
    last: int  # the place after its last one


@dataclass(frozen=True, slots=True)
class _Model:
    """A content model laid flat."""

    parts: Sequence[_Part]
    names: Sequence[str]  # at each place
    leaves: Sequence[int]  # the part that each place is

    def company(self, name: str) -> frozenset[str]:
        # +1 where a span of companions begins, -1 after its end: sums say how many spans there are
        bounds = [0] * (len(self.names) + 1)
        for place, each in enumerate(self.names):
            if each == name:
                self._mark(self.leaves[place], bounds)
        depths = accumulate(bounds)
        return frozenset(each for each, depth in zip(self.names, depths, strict=False) if depth)

    def _mark(self, leaf: int, bounds: list[int]) -> None:
        """Mark the spans of what may come with one place."""

        def mark(first: int, last: int) -> None:
            bounds[first] += 1
            bounds[last] -= 1

        at, below = leaf, leaf
        while at >= 0:
            part, inner = self.parts[at], self.parts[below]
            if part.repeated:
                mark(part.first, part.last)
            elif part.sequence:
                mark(part.first, inner.first)
                mark(inner.last, part.last)
            at, below = part.around, at


def _flat(model: Named | Group) -> _Model:
    """A model laid flat, without recursion: it may be nested deeply."""
    parts: list[_Part | None] = []
    names: list[str] = []
    leaves: list[int] = []
    # a part to begin and the one around it; or, with its number, one whose places are all there
    stack: list[tuple[Named | Group, int, int, int]] = [(model, -1, -1, 0)]
    while stack:
        part, around, number, first = stack.pop()
        if number < 0:
            number, first = len(parts), len(names)
            parts.append(None)
            if isinstance(part, Named):
                names.append(part.name)
                leaves.append(number)
            else:
                stack.append((part, around, number, first))
                stack += [(inner, number, -1, 0) for inner in reversed(part.parts)]
                continue
        sequence = isinstance(part, Group) and part.sign == ","
        parts[number] = _Part(around, sequence, part.times in ("*", "+"), first, len(names))
    return _Model([part for part in parts if part is not None], names, leaves)
