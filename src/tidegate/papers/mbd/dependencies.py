"""Which predicates follow from a predicate, without comparing it with all others again?

`x >= 10` implies `x >= 8`, which implies `x >= 5`. The table of **variable dependencies** keeps
x -> y only where nothing lies between the two, so that it is as small as possible and everything
else follows by walking it: Li, Hou and Jacobsen (2005), section 4.4 and Fig. 8. Their lines add
what the new variable implies, and are silent on what implies it; both are needed, and are here. So
is what becomes of the table when a variable goes: those below it are tied to those above it, unless
another way leads there.

Predicates that mean the same under a checked schema, though they differ on events that break it,
are one entry of the table. What a walk has found is remembered until the attribute gets another
predicate or loses one.

Invariant: walking up finds all variables whose predicates are known to cover this one, and no edge
could be left out.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tidegate.papers.predicates import Predicates

_REMEMBERED: Final = 4_000_000  # variables in answers, then all of them are forgotten
_EDGE: Final = 200  # bytes of an edge, both ends, about


class Dependencies:
    """The minimal table of what implies what, among the variables of an index.

    >>> from tidegate import parse
    >>> index = Predicates(None)
    >>> table = Dependencies(index)
    >>> for text in ("x >= 10", "x >= 5", "x >= 8"):
    ...     table.add(index.take(parse(text).tree))
    >>> table.implied(0), len(table)
    ([2], 2)
    >>> table.covering(0).tolist(), table.covered(1).tolist()
    ([0, 2, 1], [1, 2, 0])
    """

    def __init__(self, predicates: Predicates) -> None:
        self._predicates = predicates
        self._up: dict[int, dict[int, None]] = {}  # of a variable: those next above it
        self._down: dict[int, dict[int, None]] = {}
        self._same: dict[int, list[int]] = {}  # variables of one meaning, by the first of them
        self._first: dict[int, int] = {}
        self._edges = 0
        self._answers: dict[str, dict[tuple[int, bool], NDArray[np.int32]]] = {}
        self._remembered = 0

    def __len__(self) -> int:
        """How many dependencies the table has."""
        return self._edges

    @property
    def nbytes(self) -> int:
        """The memory of the table, about."""
        return _EDGE * (self._edges + 2 * len(self._first)) + 4 * self._remembered

    def implied(self, variable: int) -> list[int]:
        """What a variable implies directly."""
        return list(self._up[self._first[variable]])

    def covering(self, variable: int) -> NDArray[np.int32]:
        """The variables whose predicates cover this one's, itself among them."""
        return self._walk(variable, upwards=True)

    def covered(self, variable: int) -> NDArray[np.int32]:
        """The variables whose predicates this one's covers, itself among them."""
        return self._walk(variable, upwards=False)

    # -- changes

    def add(self, variable: int) -> None:
        """Put a variable in that is new to the index."""
        attribute = self._predicates.attribute(variable)
        own = self._predicates.allowed(variable)
        self._forget(attribute)
        above = self._closed(self._predicates.covering(own, attribute), variable, self._up)
        below = self._closed(self._predicates.covered(own, attribute), variable, self._down)
        equal = next((entry for entry in above if entry in below), None)
        if equal is not None:
            self._first[variable] = equal
            self._same[equal].append(variable)
            return
        highest = [low for low in below if not any(up in below for up in self._up[low])]
        lowest = [high for high in above if not any(down in above for down in self._down[high])]
        for low in below:
            for high in [up for up in self._up[low] if up in above]:
                self._cut(low, high)
        self._first[variable] = variable
        self._same[variable] = [variable]
        self._up[variable] = {}
        self._down[variable] = {}
        for low in highest:
            self._tie(low, variable)
        for high in lowest:
            self._tie(variable, high)

    def remove(self, variable: int) -> None:
        """Take a variable out, before the index forgets it."""
        self._forget(self._predicates.attribute(variable))
        first = self._first.pop(variable)
        self._same[first].remove(variable)
        if self._same[first]:
            if first == variable:
                self._rename(first, self._same[first][0])
            return
        del self._same[first]
        above, below = list(self._up[variable]), list(self._down[variable])
        for low in below:
            self._cut(low, variable)
        for high in above:
            self._cut(variable, high)
        del self._up[variable], self._down[variable]
        for low in below:
            others = self._reached([low], self._up)
            for high in above:
                if high not in others:
                    self._tie(low, high)

    def _closed(
        self, found: Iterable[int], variable: int, edges: dict[int, dict[int, None]]
    ) -> dict[int, None]:
        """The entries among variables, and all that follow from them."""
        return self._reached((self._first[v] for v in found if v != variable), edges)

    @staticmethod
    def _reached(entries: Iterable[int], edges: dict[int, dict[int, None]]) -> dict[int, None]:
        """The entries, and all that can be walked to from them."""
        seen = dict.fromkeys(entries)
        stack = list(seen)
        while stack:
            for near in edges[stack.pop()]:
                if near not in seen:
                    seen[near] = None
                    stack.append(near)
        return seen

    def _tie(self, low: int, high: int) -> None:
        self._up[low][high] = None
        self._down[high][low] = None
        self._edges += 1

    def _cut(self, low: int, high: int) -> None:
        del self._up[low][high], self._down[high][low]
        self._edges -= 1

    def _rename(self, old: int, new: int) -> None:
        """Let another variable of the same meaning stand for the entry."""
        self._same[new] = self._same.pop(old)
        self._first.update(dict.fromkeys(self._same[new], new))
        for edges, back in ((self._up, self._down), (self._down, self._up)):
            edges[new] = edges.pop(old)
            for near in edges[new]:
                del back[near][old]
                back[near][new] = None

    # -- answers

    def _walk(self, variable: int, *, upwards: bool) -> NDArray[np.int32]:
        attribute = self._predicates.attribute(variable)
        first = self._first[variable]
        known = self._answers.setdefault(attribute, {})
        answer = known.get((first, upwards))
        if answer is None:
            entries = self._reached([first], self._up if upwards else self._down)
            answer = np.array([v for each in entries for v in self._same[each]], np.int32)
            if self._remembered + len(answer) > _REMEMBERED:
                self._answers = {attribute: (known := {})}
                self._remembered = 0
            known[first, upwards] = answer
            self._remembered += len(answer)
        return answer

    def _forget(self, attribute: str) -> None:
        for answer in self._answers.pop(attribute, {}).values():
            self._remembered -= len(answer)
