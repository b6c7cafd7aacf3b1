"""What does a broker forward of all that it was told?

A policy is told what comes in (sources that are added, that ask for another filter, that are
removed), keeps a set of filters that covers it, and says how that set has changed: nothing else. A
broker has one for each neighbour, over what came from all other links. It is a chain of stages,
each of which follows the changes of a set of filters by changes of a smaller one:

- `sources`: who asked for which filter
- `census`: on behalf of how many
- `covering`: those that no other one covers
- `forest`: what hangs under what, and how much that is
- `subsumption`: some that cover all, together
- `merging`: mergers in the place of several
- `trigger`: when it is time for what is not done at every step
- `cutoff`: how much pruning is worth its price
- `round`: in which order filters are pruned, if all of them are pruned to their end
- `queue`: which filter is pruned next, and when it is enough
- `renumbered`: filters that stand for others
- `pruning`: filters with parts left out
- `replacement`: filters with conditions that others have as well

By name: **simple** forwards everything, **identity** equal filters once, **covering**,
**subsumption** and **merging** (of what covering leaves) less and less. **replacement** forwards
equal filters once, with fewer distinct conditions. **xroute** is covering that counts: neighbours
are told how many registrations each filter stands for. **flood** forwards no filter at all: events
go everywhere. All but the last can be combined with **pruning**: of what is forwarded, of what a
broker keeps in its own table, or of both (xroute: of that table only).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from tidegate.errors import TidegateError
from tidegate.overlay.counts import Counts
from tidegate.overlay.difference import Difference
from tidegate.overlay.filter import Filter, Kind, Plain, Pruner
from tidegate.overlay.policy.covering import Covering
from tidegate.overlay.policy.merging import Merging
from tidegate.overlay.policy.pruning import Pruned
from tidegate.overlay.policy.queue import Rule
from tidegate.overlay.policy.replacement import Replaced
from tidegate.overlay.policy.round import WAYS
from tidegate.overlay.policy.sources import NOT_COUNTED, Source, Sourced, Sources
from tidegate.overlay.policy.subsumption import Subsumption
from tidegate.overlay.policy.trigger import Trigger
from tidegate.overlay.work import Work

NAMES: Final = (
    "simple",
    "identity",
    "covering",
    "subsumption",
    "merging",
    "replacement",
    "xroute",
    "flood",
)
WHERE: Final = ("before", "after", "both")
MERGING: Final = ("kind", "pruning")
_HALF: Final = 0.5  # of all conditions, where nobody says how many are replaced


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

    def learned(self, weight: float, /) -> Difference:
        """Follow what was learned of events; only by this weight, as the neighbour has it."""

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

    `prune` says what is pruned: filters **before** they are forwarded, those of neighbours in the
    own table **after** that, or **both**. `share` of all prunings (of replacements, where that is
    the policy), or as many as are worth it: see `Rule`, which has `changes` and `tolerance`, too.
    With `agreed`, the own table is pruned no further than all neighbours would prune theirs. `by`
    says how filters are merged: the kind's own way, or by pruning their disjunction. All of that is
    done every `period` ticks, where brokers have seen enough events (`Settings.learn`).

    >>> Choice("merging", imt=0.01, size=100).advertisements.imt
    0.0
    >>> Choice("covering", prune="both", changes="within", tolerance=0.001).widens
    True
    """

    name: str = "covering"
    imt: float = 0.0
    period: int | None = None
    size: int | None = None
    rate: int | None = None
    index: str | None = None
    union: str | None = None
    prune: str | None = None
    share: float | None = None
    changes: str = "always"
    tolerance: float = 0.0
    agreed: bool = False
    by: str = "kind"

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise TidegateError(f"there is no policy {self.name!r}, but {', '.join(NAMES)}")
        if not 0 <= self.imt <= 1:
            raise TidegateError(f"an IMT is a probability, not {self.imt}")
        if self.imt and self.name != "merging":
            raise TidegateError(f"{self.name} has no IMT; merging has")
        if self.union is not None and self.name != "subsumption":
            raise TidegateError(f"{self.name} asks no union of filters; subsumption does")
        self._check_pruning()
        self.trigger()

    def _check_pruning(self) -> None:
        _one_of("prune", self.prune, (None, *WHERE))
        _one_of("changes", self.changes, WAYS)
        _one_of("by", self.by, MERGING)
        if self.prune is not None and self.floods:
            raise TidegateError("flood forwards no filters, so there is nothing to prune")
        if self.prune in ("before", "both") and self.counts:
            raise TidegateError("xroute counts filters as they came: prune='after' leaves them so")
        if self.share is not None and not 0 <= self.share <= 1:
            raise TidegateError(f"a share is from 0 to 1, not {self.share}")
        if self.share is not None and self.prune is None and self.name != "replacement":
            raise TidegateError("a share is one of prunings: say what to prune, as prune='after'")
        if self.agreed and self.prune not in ("after", "both"):
            raise TidegateError("neighbours agree on pruning tables: say prune='after' or 'both'")
        if self.tolerance < 0 or (self.tolerance and self.changes != "within"):
            raise TidegateError("a tolerance is one of changes='within', and not negative")
        if self.by == "pruning" and self.name != "merging":
            raise TidegateError(f"{self.name} merges nothing; merging does")

    @property
    def floods(self) -> bool:
        """Whether events go everywhere."""
        return self.name == "flood"

    @property
    def compares(self) -> bool:
        """Whether filters are compared with each other, for what to forward of them."""
        return self.name not in ("simple", "flood")

    @property
    def counts(self) -> bool:
        """Whether neighbours are told how many registrations each filter stands for."""
        return self.name == "xroute"

    @property
    def learns(self) -> bool:
        """Whether anything depends on what events are like."""
        return self.prune is not None or self.name == "replacement" or self.by == "pruning"

    @property
    def widens(self) -> bool:
        """Whether events may travel that nobody wants."""
        return self.learns or self.imt > 0

    @property
    def rule(self) -> Rule:
        """How far filters are pruned."""
        return Rule(self.share, self.changes, self.tolerance)

    @property
    def advertisements(self) -> "Choice":
        """The policy for advertisements: merged perfectly at most, never pruned or left out."""
        instead = {"flood": "identity", "replacement": "identity", "xroute": "covering"}
        return replace(
            self,
            name=instead.get(self.name, self.name),
            imt=0.0,
            prune=None,
            share=None,
            agreed=False,
            by="kind",
        )

    def named(self, name: str) -> "Choice":
        """The same by another name; what that one does not have is left out."""
        kept = {"flood": (), "xroute": ("after",)}.get(name, WHERE)
        prune = self.prune if self.prune in kept else None
        merges = name == "merging"
        return replace(
            self,
            name=name,
            imt=self.imt if merges else 0.0,
            union=self.union if name == "subsumption" else None,
            prune=prune,
            share=self.share if prune is not None or name == "replacement" else None,
            agreed=self.agreed and prune is not None,
            by=self.by if merges else "kind",
        )

    def trigger(self) -> Trigger:
        """A fresh trigger."""
        if self.period is None and self.size is None and self.rate is None:
            return Trigger(period=10, size=32)
        return Trigger(self.period, self.size, self.rate)

    def stages(self, kind: Kind, work: Work, pruner: Pruner | None) -> list[Stage]:
        """Fresh stages after the sources."""
        found: list[Stage] = []
        if self.name in ("covering", "merging", "xroute"):
            found.append(Covering(kind, work, counted=self.counts))
        if self.name == "subsumption":
            found.append(Subsumption(kind, work, self.trigger()))
        if self.name == "merging":
            by = pruner if self.by == "pruning" else None
            found.append(Merging(kind, work, self.trigger(), self.imt, by))
        if pruner is None:
            return found
        if self.name == "replacement":
            found.append(Replaced(kind, work, pruner, _HALF if self.share is None else self.share))
        if self.prune in ("before", "both"):
            found.append(Pruned(kind, work, pruner, self.rule))
            if self.name not in ("simple", "identity", "replacement"):
                found.append(Covering(kind, work))
        return found


class Policy:
    """The sources of one link's filters, and the stages after them."""

    def __init__(
        self, choice: Choice, kind: Kind, work: Work, pruner: Pruner | None = None
    ) -> None:
        self.choice: Final = choice
        self._kind = kind
        self._sources = Sources(distinct=choice.name != "simple", counted=choice.counts)
        self.stages: Final = choice.stages(kind, work, pruner)

    def __contains__(self, source: Source) -> bool:
        return source in self._sources

    @property
    def active(self) -> Mapping[int, Filter]:
        """What is forwarded, under numbers that are never given twice."""
        return self.stages[-1].active if self.stages else self._sources.filters

    @property
    def counts(self) -> Mapping[int, Counts]:
        """How many registrations each of them stands for, where that is counted."""
        stage = self.stages[-1] if self.choice.counts else None
        return stage.counts if isinstance(stage, Covering) else {}

    @property
    def passive(self) -> int:
        """How many distinct filters came in that are not forwarded as they are."""
        return sum(stage.passive for stage in self.stages)

    def step(
        self,
        add: Sourced,
        update: Sourced,
        remove: Iterable[Source],
        counts: Mapping[Source, Counts] = NOT_COUNTED,
    ) -> Difference:
        """Take in what has changed, as a whole; how what is forwarded changes."""
        return self._follow(self._sources.step(add, update, remove, counts), 0)

    def tick(self) -> Difference:
        """Do what is done now and then; how what is forwarded changes."""
        return self._all(lambda stage: stage.tick())

    def advertised(self, filters: Iterable[Filter] | None) -> Difference:
        """Know what is advertised on the link; how what is forwarded changes."""
        known = None if filters is None else list(filters)
        return self._all(lambda stage: stage.advertised(known))

    def learned(self, weight: float) -> Difference:
        """Follow what was learned of events; how what is forwarded changes."""
        return self._all(lambda stage: stage.learned(weight))

    def _all(self, ask: Callable[[Stage], Difference]) -> Difference:
        """Ask one stage after the other, each followed by those behind it."""
        found = Difference()
        for place, stage in enumerate(self.stages):
            change = self._follow(ask(stage), place + 1)
            found = found.then(change) if change else found
        return found

    def _follow(self, change: Difference, place: int) -> Difference:
        """Let the stages from a place on follow a change."""
        for stage in self.stages[place:]:
            if not change:
                break
            change = stage.step(change)
        return change

    def state(self, plain: Callable[[Filter], Plain] | None = None) -> Plain:
        """All of it as plain data; `plain` writes a filter, by default as its kind does."""
        sources = self._sources.state(plain or self._kind.plain)
        return [sources, [stage.state() for stage in self.stages]]

    def restore(self, state: Plain, read: Callable[[Plain], Filter] | None = None) -> None:
        """Be as another one was; to be told once, before anything else. `read` reads a filter."""
        sources, stages = state
        self._sources.restore(read or self._kind.read, sources)
        filters: Mapping[int, Filter] = self._sources.filters
        for stage, own in zip(self.stages, stages, strict=True):
            stage.restore(filters, own)
            filters = stage.active
        if self._sources.census is not None:
            self._follow(Difference(counts=self._sources.census.changed()), 0)


def _one_of(key: str, value: str | None, among: Sequence[str | None]) -> None:
    if value not in among:
        known = ", ".join(str(each) for each in among)
        raise TidegateError(f"{key} is one of {known}, not {value!r}")
