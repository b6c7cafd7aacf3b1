"""Filters and events of several kinds, in one workload.

A **mixture** has parts, each a source of its own kind with a weight. Whoever subscribes, and
whatever is published, is of a part by its weight; who changes their mind stays in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tidegate.errors import ScenarioError
from tidegate.overlay.filter import Event, Filter
from tidegate.overlay.several import Several
from tidegate.simulate.supply import Source, Supply, TextKind, Wish


@dataclass(frozen=True)
class Part:
    """One source, the name of its kind, and how much of the whole it is."""

    kind: str
    source: Source
    weight: float


@dataclass(frozen=True, slots=True)
class PartWish:
    """A wish, and the place of the part that it is of."""

    filter: Filter
    place: int
    inner: Wish


@dataclass(frozen=True)
class Mixture:
    """The source of several kinds."""

    parts: tuple[Part, ...]

    @property
    def kind(self) -> None:
        """Whatever the scenario makes of those of the parts."""

    def own(self, name: str) -> TextKind | None:
        """The kind of that name that a part brings along, if one does."""
        found = [each.source.kind for each in self.parts if each.kind == name]
        brought = [kind for kind in found if kind is not None]
        if len(brought) > 1 or (brought and len(found) > 1):
            raise ScenarioError(f"workload.parts: two are of the kind {name}, with a schema each")
        return brought[0] if brought else None

    def open(self, kind: TextKind, /) -> "MixedSupply":
        """A supply from the beginning."""
        assert isinstance(kind, Several)
        return MixedSupply(kind, self.parts)


class MixedSupply:
    """Filters and events of all parts, for one run."""

    def __init__(self, kind: Several, parts: Sequence[Part]) -> None:
        self._kind = kind
        self._supplies: list[Supply] = []
        for part in parts:
            own: Any = kind.kinds[part.kind]
            self._supplies.append(part.source.open(own))
        self._weights = [part.weight for part in parts]

    def wish(self, random: Random, /) -> PartWish:
        """What the next subscriber wants."""
        place = self._drawn(random)
        return self._of_part(place, self._supplies[place].wish(random))

    def moved(self, wish: PartWish, random: Random, /) -> PartWish:
        """The same part; what it changes there."""
        return self._of_part(wish.place, self._supplies[wish.place].moved(wish.inner, random))

    def event(self, random: Random, /) -> Event:
        """What is published next."""
        return self._supplies[self._drawn(random)].event(random)

    def _drawn(self, random: Random) -> int:
        return random.choices(range(len(self._weights)), self._weights)[0]

    def _of_part(self, place: int, wish: Wish) -> PartWish:
        return PartWish(self._kind.filter(wish.filter), place, wish)
