"""What does a broker forward of all that it was told?

A policy is told what comes in (sources that are added, that ask for another filter, that are
removed), keeps a set of filters that covers it, and says how that set has changed: nothing else. A
broker has one for each neighbour, over what came from all other links. It is a chain of stages,
each of which follows the changes of a set of filters by changes of a smaller one:

- `sources`: who asked for which filter
- `covering`: those that no other one covers
- `subsumption`: some that cover all, together
- `merging`: mergers in the place of several
- `trigger`: when it is time for what is not done at every step

By name: **simple** forwards everything, **identity** equal filters once, **covering**,
**subsumption** and **merging** (of what covering leaves) less and less. **flood** forwards no
filter at all: events go everywhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from tidegate.errors import TidegateError
from tidegate.overlay.difference import Difference
from tidegate.overlay.filter import Filter, Kind, Plain
from tidegate.overlay.policy.covering import Covering
from tidegate.overlay.policy.merging import Merging
from tidegate.overlay.policy.sources import Source, Sourced, Sources
from tidegate.overlay.policy.subsumption import Subsumption
from tidegate.overlay.policy.trigger import Trigger
from tidegate.overlay.work import Work

NAMES: Final = ("simple", "identity", "covering", "subsumption", "merging", "flood")


class Stage(Protocol):
    """Follows the changes of a set of filters by changes of a smaller one that covers it."""

    @property
    def active(self) -> Mapping[int, Filter]:
        """The smaller set."""

    @property
    def passive(self) -> int:
        """How many filters are kept beside it."""

    def step(self, change: Difference, /) -> Difference:
        """Follow one change, as a whole."""

    def tick(self) -> Difference:
        """Do what is done now and then."""

    def advertised(self, filters: Iterable[Filter] | None, /) -> Difference:
        """Know what is advertised on the link; None: anything may come from there."""

    def state(self) -> Plain:
        """What the future depends on, beside the filters."""

    def restore(self, filters: Mapping[int, Filter], state: Plain, /) -> None:
        """Be as another one was that worked on these filters and had this state."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A policy by name, and what it is set to.

    `imt` is the threshold of imperfect merging (0: only perfect). `period`, `size` and `rate` say
    when subsumption is rebuilt and filters are merged: see `Trigger`. Where none of them is given,
    that is every 10 ticks, and when 32 more filters are forwarded. `index` and `union` name the
    structures that filters are kept in (docs/papers.md); where none is given, the kind's own.

    >>> Choice("merging", imt=0.01, size=100).advertisements.imt
    0.0
    """

    name: str = "covering"
    imt: float = 0.0
    period: int | None = None
    size: int | None = None
    rate: int | None = None
    index: str | None = None
    union: str | None = None

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise TidegateError(f"there is no policy {self.name!r}, but {', '.join(NAMES)}")
        if not 0 <= self.imt <= 1:
            raise TidegateError(f"an IMT is a probability, not {self.imt}")
        if self.imt and self.name != "merging":
            raise TidegateError(f"{self.name} has no IMT; merging has")
        if self.union is not None and self.name != "subsumption":
            raise TidegateError(f"{self.name} asks no union of filters; subsumption does")
        self.trigger()

    @property
    def floods(self) -> bool:
        """Whether events go everywhere."""
        return self.name == "flood"

    @property
    def advertisements(self) -> "Choice":
        """The policy for advertisements: merged perfectly at most, and never left out."""
        return replace(self, name="identity" if self.floods else self.name, imt=0.0)

    def trigger(self) -> Trigger:
        """A fresh trigger."""
        if self.period is None and self.size is None and self.rate is None:
            return Trigger(period=10, size=32)
        return Trigger(self.period, self.size, self.rate)

    def stages(self, kind: Kind, work: Work) -> list[Stage]:
        """Fresh stages after the sources."""
        if self.name == "covering":
            return [Covering(kind, work)]
        if self.name == "subsumption":
            return [Subsumption(kind, work, self.trigger())]
        if self.name == "merging":
            return [Covering(kind, work), Merging(kind, work, self.trigger(), self.imt)]
        return []


class Policy:
    """The sources of one link's filters, and the stages after them."""

    def __init__(self, choice: Choice, kind: Kind, work: Work) -> None:
        self.choice: Final = choice
        self._kind = kind
        self._sources = Sources(distinct=choice.name != "simple")
        self.stages: Final = choice.stages(kind, work)

    def __contains__(self, source: Source) -> bool:
        return source in self._sources

    @property
    def active(self) -> Mapping[int, Filter]:
        """What is forwarded, under numbers that are never given twice."""
        return self.stages[-1].active if self.stages else self._sources.filters

    @property
    def passive(self) -> int:
        """How many distinct filters came in that are not forwarded as they are."""
        return sum(stage.passive for stage in self.stages)

    def step(self, add: Sourced, update: Sourced, remove: Iterable[Source]) -> Difference:
        """Take in what has changed, as a whole; how what is forwarded changes."""
        change = self._sources.step(add, update, remove)
        for stage in self.stages:
            if not change:
                break
            change = stage.step(change)
        return change

    def tick(self) -> Difference:
        """Do what is done now and then; how what is forwarded changes."""
        return self.stages[-1].tick() if self.stages else Difference()

    def advertised(self, filters: Iterable[Filter] | None) -> Difference:
        """Know what is advertised on the link; how what is forwarded changes."""
        return self.stages[-1].advertised(filters) if self.stages else Difference()

    def state(self) -> Plain:
        """All of it as plain data."""
        return [self._sources.state(self._kind), [stage.state() for stage in self.stages]]

    def restore(self, state: Plain) -> None:
        """Be as another one was; to be told once, before anything else."""
        sources, stages = state
        self._sources.restore(self._kind, sources)
        filters: Mapping[int, Filter] = self._sources.filters
        for stage, own in zip(self.stages, stages, strict=True):
            stage.restore(filters, own)
            filters = stage.active
