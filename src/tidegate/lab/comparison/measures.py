"""What are the six parameters of each policy?

- **applicability**: the share of plain forwarding's entries that are not there, as they are;
- **memory**: associations (predicates in entries) and bytes of all routing tables;
- **network load**: events, and their bytes, between brokers for each notification;
- **computation**: units of work for an event (brokers that match it, entries they find), CPU time;
- **expressiveness**: the share of each class of filters that it does anything with (`probes`);
- **deregistration**: messages, bytes and CPU time of a cancellation, with all that follows from it.

Beside them stands what a registration takes, which the paper does not ask, and what was lost, which
is to be nothing.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from tidegate.lab.comparison import tables
from tidegate.lab.comparison.contestants import PLAIN, Contestant
from tidegate.lab.comparison.probes import handled
from tidegate.lab.comparison.trial import Control, Losses, Trial, refuse_unfit, trial
from tidegate.simulate.scenario import Scenario

FORMAT: Final = 1

Progress: TypeAlias = Callable[[str, float], object]
"""Is told which policy's turn it is, and the share of all that is done."""


@dataclass(frozen=True, slots=True)
class Share:
    """What each registration or cancellation takes of what all of them take: see `Control`."""

    messages: float
    bytes: float
    work: float
    delay: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Measures:
    """One policy. Times are in seconds."""

    policy: str
    settings: dict[str, Any]
    applicability: float
    entries: int
    associations: int
    bytes: int
    state: int  # bytes of all that brokers know
    events: float  # for each notification
    event_bytes: float  # for each notification
    vain: float  # the share of forwarded events that nobody behind the link was handed
    matchings: float  # for each event, by brokers
    found: float  # entries, for each event
    event_cpu: float
    expressiveness: dict[str, float] | None
    deregistration: Share  # for each cancellation
    registration: Share  # for each subscription
    notifications: int
    losses: Losses

    @property
    def work(self) -> float:
        """Units for each event."""
        return self.matchings + self.found


@dataclass(frozen=True, slots=True)
class Comparison:
    """All policies on one scenario; the first is plain forwarding."""

    name: str
    seed: int
    brokers: int
    subscriptions: int
    published: int
    cancellations: int
    policies: tuple[Measures, ...]

    @property
    def plain(self) -> Measures:
        """What the others are compared with."""
        return self.policies[0]

    @property
    def losers(self) -> list[Measures]:
        """The policies that lost, repeated or invented something."""
        return [each for each in self.policies if each.losses]


def compare(
    make: Callable[[], Scenario],
    contestants: Sequence[Contestant],
    progress: Progress = lambda name, share: None,
    known: Trial | None = None,
) -> Comparison:
    """Let each policy do what a scenario says.

    The scenario is made anew for each, so that none profits by what another one has worked out.
    `known` is what plain forwarding did in it, if that is known already.
    """
    scenario = make()
    refuse_unfit(scenario)
    handled(PLAIN.policy, ("unrelated",))  # whoever comes first need not wait for code to be loaded
    plain: Trial | None = None
    found: list[Measures] = []
    for turn, each in enumerate((PLAIN, *(x for x in contestants if x is not PLAIN))):
        tell = partial(_tell, progress, each.name, turn, len(contestants))
        tell(0.0)
        scenario = make()
        expressiveness = handled(each.choice(scenario.policy), each.relations)
        run = known if each is PLAIN and known is not None else trial(scenario, each, tell)
        plain = plain or run
        found.append(_measures(each, scenario, plain, run, expressiveness))
    assert plain is not None
    return Comparison(
        scenario.name,
        scenario.seed,
        len(scenario.topology.names),
        scenario.workload.subscriptions,
        plain.traffic.published,
        plain.cancellations,
        tuple(found),
    )


def _tell(progress: Progress, name: str, turn: int, turns: int, share: float) -> None:
    progress(name, min(1.0, (turn + share) / turns))


def _measures(
    each: Contestant,
    scenario: Scenario,
    plain: Trial,
    run: Trial,
    expressiveness: dict[str, float] | None,
) -> Measures:
    seen = run.traffic
    return Measures(
        policy=each.name,
        settings=asdict(each.choice(scenario.policy)),
        applicability=tables.changed(plain.entries, run.entries),
        entries=run.memory.entries,
        associations=run.memory.associations,
        bytes=run.memory.bytes,
        state=run.memory.state,
        events=_per(seen.forwarded, seen.notifications),
        event_bytes=_per(seen.bytes, seen.notifications),
        vain=_per(seen.vain, seen.forwarded),
        matchings=_per(seen.matchings, seen.published),
        found=_per(seen.found, seen.published),
        event_cpu=_per(seen.cpu, seen.published),
        expressiveness=expressiveness,
        deregistration=_each(run.deregistration, run.cancellations),
        registration=_each(run.registration, scenario.workload.subscriptions),
        notifications=seen.notifications,
        losses=run.losses,
    )


def to_json(found: Sequence[Comparison]) -> str:
    """All of it as JSON."""
    return json.dumps({"format": FORMAT, "comparisons": list(map(asdict, found))}, indent=1) + "\n"


def _per(amount: float, count: int) -> float:
    return amount / count if count else 0.0


def _each(total: Control, count: int) -> Share:
    return Share(
        total.messages / count,
        total.bytes / count,
        total.work / count,
        total.delay,
        total.cpu / count,
    )
