"""Which of many filters contain which? Asked once for each that differs, by the kind's index.

Tens of thousands of peers have far fewer different filters. A filter gets a number when it is first
seen; what it covers and what covers it is found by the index then, and kept both ways.
"""

from typing import Final

from tidegate.overlay.filter import Event, Filter, Kind
from tidegate.peers.tree_messages import Relation


class Relations:
    """Different filters by number, and how they relate.

    >>> from tidegate.overlay.attributes import Attributes
    >>> kind = Attributes()
    >>> relations = Relations(kind)
    >>> wide, narrow = (relations.number(kind.parse(text)) for text in ("x < 9", "x < 5"))
    >>> relations.of(wide, narrow), relations.containing[narrow]
    (<Relation.CONTAINS: '>'>, {0})
    """

    def __init__(self, kind: Kind) -> None:
        self._index: Final = kind.index()
        self._numbers: Final[dict[Filter, int]] = {}
        self.containing: Final[list[set[int]]] = []
        """By a filter's number, those that cover it; itself is not among them."""
        self.contained: Final[list[set[int]]] = []
        """By a filter's number, those that it covers; itself is not among them."""
        self.reflexive: Final[list[bool]] = []
        """Whether a filter is known to cover itself."""

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, f: Filter) -> int:
        """The number of a filter, which is known from now on."""
        number = self._numbers.get(f)
        if number is None:
            number = self._numbers[f] = len(self._numbers)
            containing = set(self._index.containing(f))
            contained = set(self._index.contained(f))
            self._index.add(number, f)
            self.containing.append(containing)
            self.contained.append(contained)
            self.reflexive.append(f.covers(f))
            for other in containing:
                self.contained[other].add(number)
            for other in contained:
                self.containing[other].add(number)
        return number

    def of(self, own: int, other: int) -> Relation:
        """How a filter relates to another one."""
        if own == other:
            return Relation.EQUIVALENT if self.reflexive[own] else Relation.NONE
        covers, covered = own in self.containing[other], own in self.contained[other]
        if covers:
            return Relation.EQUIVALENT if covered else Relation.CONTAINS
        return Relation.CONTAINED if covered else Relation.NONE

    def matching(self, event: Event) -> list[int]:
        """The numbers of the filters that match an event."""
        return self._index.match(event)
