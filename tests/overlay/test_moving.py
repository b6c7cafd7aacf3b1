"""Subscriptions that move keep the contract, by every policy and with every strategy but one.

Values go up, down, across, and back and forth, while events are on their way. *Cancel first* is
there to lose events, and does.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.overlay.histories import CHOICES, PARENTS, Action, trade_document
from tests.overlay.moving import Moments, MovingKind, MovingWorld
from tests.overlay.world import Make
from tidegate.algebra.histogram import Histogram
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.client import Client
from tidegate.overlay.filter import Filter
from tidegate.overlay.patterns import Patterns
from tidegate.overlay.policy import Choice
from tidegate.overlay.several import Several
from tidegate.overlay.strategy import STRATEGIES
from tidegate.overlay.structures import INDEXES
from tidegate.overlay.variable import Variable

LONG, QUICK = (os.environ.get(name) == "1" for name in ("TIDEGATE_LONG", "TIDEGATE_QUICK"))
EXAMPLES = 900 if LONG else 4 if QUICK else 10
FEW = 200 if LONG else 3  # where documents are looked at one by one

TEMPLATES = [
    "x < :a",
    "x >= :a",
    "x BETWEEN :a AND :b",
    "x = :a",
    "x = :a AND y < :b",
    "x != :a AND y > :b",
    "x < :a OR y >= :b",
    "x IN (:a, :b)",
    "NOT (x > :a) AND s = :t",
    "s = :t",
    "startswith(s, :t) AND x > :a",
    "(x < :a) IS NOT TRUE",
]
TEXTS = ["p", "pq", "q"]
EVENTS = [
    {"x": x, "y": y, "s": s}
    for x, y, s in [
        *((x, y, s) for x in range(0, 9, 2) for y in (0, 4, 8) for s in TEXTS[:2]),
        *((x, None, "q") for x in range(1, 9, 2)),
        (None, 5, "pq"),
    ]
]
XPATHS = [
    "//quote[price < $a]",
    "/trade[quote/price >= $a]",
    "//quote[price > $a][price <= $b]",
    "//price[. = $a]",
    "//quote[@symbol = $t][price < $b]",
    "/trade/quote[price = $a or @symbol = $t]",
    "//quote[price < $a][position() <= $b]",
    "/trade[contains(quote[price < $a]/@symbol, $t)]",
    "/trade/*[@symbol != $t]//price[. <= $b] | /news[@level > $a]",
]


@dataclass(frozen=True)
class Moves:
    """What histories are made of: a kind, filters with parameters a, b and t, and events."""

    kind: MovingKind
    templates: Sequence[str]
    events: Sequence[Any]
    offered: str
    plain: str


KIND = Attributes(None, Histogram.from_events(EVENTS, None))
BOTH = Several(KIND, Patterns())
DOCUMENTS = [trade_document(Random(seed)) for seed in range(24)]
MOVES = {
    "attributes": Moves(KIND, TEMPLATES, EVENTS, "x >= :a", "x < :a"),
    "patterns": Moves(Patterns(), XPATHS, DOCUMENTS, "/trade[quote/price >= $a]", "//quote"),
    "several": Moves(BOTH, [*TEMPLATES, *XPATHS], [*EVENTS[::3], *DOCUMENTS], "x >= :a", "//quote"),
}
NUMBER = st.integers(0, 60)
WHAT = st.sampled_from(
    [
        *(["subscribe"] * 4 + ["set"] * 8 + ["back"] * 3 + ["together"] * 2 + ["change"] * 2),
        *(["publish"] * 4 + ["probe"] * 6 + ["move"] * 6 + ["cancel", "tick", "settle"]),
        *(["advertise", "plain"]),
    ]
)
ACTIONS = st.lists(st.tuples(WHAT, NUMBER, NUMBER, NUMBER), min_size=25, max_size=60)


class History:
    """Lets actions happen in a world; each mover has numbers a, b and a text t that move."""

    def __init__(self, world: MovingWorld, moves: Moves, options: dict[str, int]) -> None:
        self.world = world
        self.moves = moves
        self.variables = {
            mover: {
                "a": world.variable(mover, 4, **options),
                "b": world.variable(mover, 6, **options),
                "t": world.variable(mover, "p", **({} if "predict" in options else options)),
            }
            for mover in world.movers
        }
        self.before: dict[Variable, Any] = {}

    def given(self, mover: str, text: str, plain: int) -> dict[str, Any]:
        """What parameters of a text are: variables, and now and then a value."""
        names = self.moves.kind.template(text).parameters
        own = self.variables[mover]
        return {name: own[name].value if plain % 5 == 4 else own[name] for name in names}

    def act(self, action: Action) -> None:
        what, a, b, c = action
        world = self.world
        mover = list(world.movers)[a % len(world.movers)]
        own = self.variables[mover]
        moving = world.moving()
        text = self.moves.templates[b % len(self.moves.templates)]
        events = self.moves.events
        if what == "subscribe":
            world.want(mover, text, self.given(mover, text, c))
        elif what == "set":
            name = "abt"[b % 3]
            self._set(mover, own[name], TEXTS[c % 3] if name == "t" else _moved(own[name].value, c))
        elif what == "back":
            name = "abt"[b % 3]
            self._set(mover, own[name], self.before.get(own[name], own[name].value))
        elif what == "together":
            world.set_all(mover, {own["a"]: b % 9, own["b"]: (b + c) % 9})
        elif what == "change" and moving:
            each = moving[a % len(moving)]
            world.change(each, text, self.given(each.client, text, c))
        elif what == "cancel" and moving:
            world.cancel(moving[a % len(moving)])
        elif what == "publish":
            world.publish(world.clients[a % len(world.clients)], events[(b * 61 + c) % len(events)])
        elif what == "probe" and moving:
            self._probe(a, b, moving[c % len(moving)].versions[-1])
        elif what == "move":
            for _ in range(1 + b % 4):
                world.move(a)
        elif what == "tick":
            for name in world.brokers:
                world.tick(name)
            for client in world.movers.values():
                client.tick()
        elif what == "settle":
            world.settle()
        elif what == "advertise" and world.advertisements:
            world.advertise(
                world.clients[a % len(world.clients)], self._plain(self.moves.offered, b)
            )
        elif what == "plain":
            world.subscribe(world.clients[a % len(world.clients)], self._plain(self.moves.plain, b))

    def _plain(self, text: str, b: int) -> Filter:
        template = self.moves.kind.template(text)
        return template.bind(dict.fromkeys(template.parameters, b % 9))

    def _set(self, mover: str, variable: Variable, value: Any) -> None:
        self.before[variable] = variable.value
        self.world.set_all(mover, {variable: value})

    def _probe(self, a: int, b: int, wanted: Any) -> None:
        """Let messages arrive, and publish at once, where they do, what somebody wants."""
        for _ in range(1 + b % 6):
            arrived = self.world.move(a)
            if arrived in self.world.brokers:
                every = self.moves.events
                fitting = [event for event in every if wanted.matches(event)] or every
                self.world.publish(f"{arrived}.0", fitting[b % len(fitting)])


def _moved(value: Any, c: int) -> Any:
    """Up, down or across."""
    return (value + (1, 1, -1, -1, 4)[c % 5]) % 9


@dataclass(frozen=True)
class Setting:
    """What a history happens in."""

    choice: Choice = CHOICES["covering"]
    updates: str = "parametric"
    advertisements: bool = False
    options: dict[str, int] = field(default_factory=dict)
    make: Make = Broker
    client: type[Client] = Client
    moves: Moves = MOVES["attributes"]


def run(setting: Setting, parents: list[int], actions: list[Action]) -> list[Moments]:
    """Let a history happen; the world is quiet then, and checked; emptied, and checked again."""
    world = MovingWorld(
        setting.moves.kind,
        setting.choice,
        parents,
        advertisements=setting.advertisements,
        updates=setting.updates,
        make=setting.make,
        client=setting.client,
    )
    history = History(world, setting.moves, setting.options)
    if setting.advertisements:
        world.advertise(world.clients[0], history._plain(setting.moves.offered, 2))
    for action in actions:
        history.act(action)
    world.settle()
    for each in world.movers.values():
        assert each.wanted == {
            s.id: s.versions[-1] for s in world.moving() if s.client == each.name
        }
    moments = world.moments()
    world.check_quiet(setting.moves.events, exact=not setting.choice.imt)
    for subscription in world.standing():
        world.cancel(subscription)
    world.settle()
    world.check_empty()
    assert not any(
        variable.users for own in history.variables.values() for variable in own.values()
    )
    return moments


def holds(setting: Setting, examples: int = EXAMPLES) -> list[Moments]:
    """Try histories; how long strictness and coverage took in them."""
    found: list[Moments] = []

    @settings(max_examples=examples)
    @given(parents=PARENTS, actions=ACTIONS)
    def histories(parents: list[int], actions: list[Action]) -> None:
        found.extend(run(setting, parents, actions))

    histories()
    return found


def fails(setting: Setting, examples: int = 250) -> bool:
    """Whether one of many histories breaks the contract; it is not made smaller."""

    @settings(
        max_examples=examples, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(parents=PARENTS, actions=ACTIONS)
    def histories(parents: list[int], actions: list[Action]) -> None:
        run(setting, parents, actions)

    try:
        histories()
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
@pytest.mark.parametrize("policy", CHOICES)
def test_every_policy_keeps_the_contract_when_values_move(
    policy: str, advertisements: bool
) -> None:
    holds(Setting(CHOICES[policy], advertisements=advertisements))


@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
@pytest.mark.parametrize("index", [name for name in INDEXES if name != "boxes"])
def test_every_index_keeps_the_contract_when_values_move(index: str, advertisements: bool) -> None:
    holds(Setting(Choice("covering", index=index), advertisements=advertisements))


@pytest.mark.parametrize(
    "updates", [x for x in STRATEGIES if x not in ("parametric", "cancel first")]
)
def test_every_strategy_but_one_keeps_the_contract(updates: str) -> None:
    holds(Setting(updates=updates), 2 * EXAMPLES)


@pytest.mark.parametrize("options", [{"damping": 2}, {"predict": 3}, {"damping": 1, "predict": 2}])
def test_what_is_damped_or_predicted_keeps_the_contract(options: dict[str, int]) -> None:
    holds(Setting(options=options), 2 * EXAMPLES)


@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
def test_strictness_is_there_at_once_and_coverage_when_the_marker_arrives(
    advertisements: bool, record_property: Callable[[str, object], None]
) -> None:
    moments = holds(Setting(advertisements=advertisements), 2 * EXAMPLES)
    assert moments
    assert all(each.strict == 0 for each in moments)
    assert any(each.covered for each in moments), "no history was fast enough to miss an event"
    if not advertisements:
        assert all(each.covered <= each.in_place for each in moments)
    for name in ("strict", "covered", "in_place"):
        delays = [getattr(each, name) for each in moments]
        record_property(f"{name}, steps", f"{sum(delays) / len(delays):.1f}, at most {max(delays)}")


@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
@pytest.mark.parametrize("kind", ["patterns", "several"])
@pytest.mark.parametrize("policy", CHOICES)
def test_patterns_keep_the_contract_when_values_move(
    policy: str, kind: str, advertisements: bool
) -> None:
    choice = CHOICES[policy]
    holds(Setting(choice, advertisements=advertisements, moves=MOVES[kind]), FEW)


@pytest.mark.parametrize("kind", ["patterns", "several"])
@pytest.mark.parametrize(
    "updates", [x for x in STRATEGIES if x not in ("parametric", "cancel first")]
)
def test_every_strategy_but_one_keeps_the_contract_with_patterns(updates: str, kind: str) -> None:
    holds(Setting(updates=updates, moves=MOVES[kind]), FEW)


@pytest.mark.parametrize("kind", ["patterns", "several"])
@pytest.mark.parametrize("options", [{"damping": 2}, {"damping": 1, "predict": 2}])
def test_patterns_that_are_damped_or_predicted_keep_the_contract(
    options: dict[str, int], kind: str
) -> None:
    holds(Setting(options=options, moves=MOVES[kind]), 2 * FEW)


def test_cancelling_first_loses_events() -> None:
    assert fails(Setting(updates="cancel first"))
