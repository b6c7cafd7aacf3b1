"""The filters that a broker knows, written down once each.

A broker knows a filter in its table and again in the policy of each neighbour, and clients ask for
equal ones. In its snapshot, a filter stands in the **ledger**, and elsewhere only its place there.
Filters of one shape stand together: the first of them as its kind writes it, of the others the
constants. So they are read together, as columns.

Invariant: two filters have one place if and only if they are written alike.
"""

from collections.abc import Hashable

from tidegate.errors import TidegateError
from tidegate.overlay.filter import Filter, Kind, Plain


class Ledger:
    """The filters of one snapshot, while that is made.

    >>> from tidegate.overlay.attributes import Attributes
    >>> kind = Attributes()
    >>> ledger = Ledger(kind)
    >>> [ledger.place(kind.parse(text)) for text in ("x < 5", "y = 1", "x < 7", "x < 5")]
    [0, 1, 2, 0]
    >>> ledger.state()
    [[['is true', 'x', '<', '5'], [0, 2], [['7']]], [['is true', 'y', '=', '1'], [1], []]]
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._places: dict[tuple[Hashable, ...], int] = {}
        self._known: dict[int, tuple[int, Filter]] = {}  # by identity, which takes no comparing
        self._groups: dict[object, tuple[Filter, list[int], list[Plain]]] = {}

    def place(self, f: Filter) -> int:
        """The place of a filter, which is one more if it is new."""
        known = self._known.get(id(f))
        if known is not None:
            return known[0]
        shape, values = f.shape, f.values
        key = (shape, *values)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self._places)
            group = self._groups.get(shape)
            if group is None:
                self._groups[shape] = f, [place], []
            else:
                group[1].append(place)
                group[2].append(values)
        self._known[id(f)] = place, f
        return place

    def state(self) -> Plain:
        """All of them as plain data."""
        return [
            [self._kind.plain(first), places, values]
            for first, places, values in self._groups.values()
        ]


def read_ledger(state: Plain, kind: Kind) -> list[Filter]:
    """The filters of a ledger, by place."""
    numbers: list[int] = []
    filters: list[Filter] = []
    for plain, places, values in state:
        first = kind.read(plain)
        numbers += places
        filters += [first, *kind.reshaped_many(first, values)] if values else [first]
    if sorted(numbers) != list(range(len(filters))):
        raise TidegateError("the places of a ledger are numbered from 0 on")
    found = filters.copy()
    for number, f in zip(numbers, filters, strict=True):
        found[number] = f
    return found
