"""Which structure keeps a broker's filters on attributes?

The engine's box store answers all questions of a `FilterIndex`, and the algebra's union those of a
`FilterUnion`; the structures of the papers (`tidegate.papers`) answer the same ones. All of them
keep filters of the language, so what brokers hand them is unwrapped here. Whichever it is, events
go where they are wanted; how many filters are found to be covered, and how long that takes, is
what differs.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from tidegate.algebra.union import Union
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.engine.boxes.space import Space
from tidegate.errors import TidegateError
from tidegate.filters.filter import Filter as InLanguage
from tidegate.filters.schema import Schema
from tidegate.overlay.filter import Event
from tidegate.papers.counting.counting_table import CountingTable
from tidegate.papers.mbd.mbd import MBD
from tidegate.papers.negative.approximate import ApproximateNegativeSpace
from tidegate.papers.negative.exact import ExactNegativeSpace
from tidegate.papers.poset.poset import Poset
from tidegate.papers.scan import Scan


class FilterStructure(Protocol):
    """A `FilterIndex` over filters of the language."""

    def __len__(self) -> int: ...

    def add(self, number: int, f: InLanguage, /) -> None:
        """Take in a filter under a number that is free."""

    def update(self, number: int, f: InLanguage, /) -> None:
        """Put another filter in the place of the one with this number."""

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""

    def match(self, event: Mapping[str, Any], /) -> list[int]:
        """The filters that match an event."""

    def containing(self, f: InLanguage, /) -> list[int]:
        """The filters that cover this one."""

    def contained(self, f: InLanguage, /) -> list[int]:
        """The filters that this one covers."""

    def overlapping(self, f: InLanguage, /) -> list[int]:
        """The filters that overlap this one."""


class UnionStructure(Protocol):
    """A `FilterUnion` over filters of the language."""

    def add(self, number: int, f: InLanguage, /) -> None:
        """Take in a filter under a number that is free."""

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""

    def subsumes(self, f: InLanguage, /) -> bool:
        """Whether every event that matches f is certain to match one of the filters."""


class NumberedBoxes:
    """A box store under the caller's numbers."""

    def __init__(self, space: Space) -> None:
        self._store = BoxStore(space.schema, space)
        self._handles: dict[int, int] = {}
        self._numbers: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._handles)

    def add(self, number: int, f: InLanguage, /) -> None:
        """Take in a filter under a number that is free."""
        handle = self._store.add(f)
        self._handles[number] = handle
        self._numbers[handle] = number

    def update(self, number: int, f: InLanguage, /) -> None:
        """Put another filter in the place of the one with this number."""
        self._store.update(self._handles[number], f)

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        handle = self._handles.pop(number)
        del self._numbers[handle]
        self._store.remove(handle)

    def match(self, event: Event, /) -> list[int]:
        """The filters that match an event."""
        return self._named(self._store.stab(event).tolist())

    def containing(self, f: InLanguage, /) -> list[int]:
        """The filters that cover this one."""
        return self._named(self._store.containing(f).tolist())

    def contained(self, f: InLanguage, /) -> list[int]:
        """The filters that this one covers."""
        return self._named(self._store.contained(f).tolist())

    def overlapping(self, f: InLanguage, /) -> list[int]:
        """The filters that overlap this one."""
        return self._named(self._store.overlapping(f).tolist())

    def _named(self, handles: list[int]) -> list[int]:
        numbers = self._numbers
        return [numbers[handle] for handle in handles]


class NumberedUnion:
    """The algebra's union under the caller's numbers."""

    def __init__(self, schema: Schema | None) -> None:
        self._union = Union(schema)
        self._handles: dict[int, int] = {}

    def add(self, number: int, f: InLanguage, /) -> None:
        """Take in a filter under a number that is free."""
        self._handles[number] = self._union.add(f)

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        self._union.remove(self._handles.pop(number))

    def subsumes(self, f: InLanguage, /) -> bool:
        """Whether every event that matches f is certain to match one of the filters."""
        return self._union.subsumes(f)


class Retold:
    """An approximate negative space, and what happened to it since it was made anew.

    What it finds depends on the order in which filters came and went: so that a broker that is
    restored has the same future, all of that is done again. It is made anew when more has happened
    than there are filters, and so is what is remembered.
    """

    def __init__(self, schema: Schema | None) -> None:
        self._space = ApproximateNegativeSpace(schema, rebuild=False)
        self._held: dict[int, InLanguage] = {}
        self.history: list[tuple[int, InLanguage | None]] = []  # None: removed

    def add(self, number: int, f: InLanguage, /) -> None:
        """Take in a filter under a number that is free."""
        self._space.add(number, f)
        self._held[number] = f
        self.history.append((number, f))

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        self._space.remove(number)
        del self._held[number]
        self.history.append((number, None))
        if len(self.history) > 3 * len(self._held) + _FEWEST_REMEMBERED:
            self._space.rebuild()
            self.history = list(self._held.items())

    def subsumes(self, f: InLanguage, /) -> bool:
        """Whether every event that matches f is certain to match one of the filters."""
        return self._space.subsumes(f)


Made = TypeVar("Made")

MakeIndex: TypeAlias = Callable[[Space], FilterStructure]
MakeUnion: TypeAlias = Callable[[Space], UnionStructure]

_FEWEST_REMEMBERED: Final = 64
"""Steps of a union's history that are remembered, however few filters there are."""

_INDEXES: Final[Mapping[str, MakeIndex]] = {
    "boxes": NumberedBoxes,
    "mbd": lambda space: MBD(space.schema),
    "counting": lambda space: CountingTable(space.schema),
    "poset": lambda space: Poset(space.schema),
    "scan": lambda space: Scan(),
}
_UNIONS: Final[Mapping[str, MakeUnion]] = {
    "on-demand": lambda space: NumberedUnion(space.schema),
    "negative": lambda space: ExactNegativeSpace(space.schema),
    "approximate": lambda space: Retold(space.schema),
}
INDEXES: Final = tuple(_INDEXES)
UNIONS: Final = tuple(_UNIONS)


def index_structure(name: str) -> MakeIndex:
    """What makes an index of that name, in a space that box stores share."""
    return _named(name, _INDEXES, "index")


def union_structure(name: str) -> MakeUnion:
    """What makes a union of that name."""
    return _named(name, _UNIONS, "union")


def _named(name: str, among: Mapping[str, Made], what: str) -> Made:
    if name not in among:
        raise TidegateError(f"there is no {what} {name!r} of attributes, but {', '.join(among)}")
    return among[name]
