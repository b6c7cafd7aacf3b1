"""Once quiet: what stands in the tables, and what is forwarded in vain."""

from collections.abc import Iterator
from random import Random
from statistics import NormalDist
from typing import Any

import pytest
from hypothesis import given, settings

import tidegate as tg
from tests.overlay.histories import (
    ACTIONS,
    CHOICES,
    PARENTS,
    POOLS,
    Action,
    act,
    examples,
    pool,
)
from tests.overlay.world import World
from tidegate.algebra.distribution import Uniform, measure_boxes
from tidegate.algebra.normal import Box, boxes
from tidegate.algebra.relate import universe_of
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.policy import Choice, Policy
from tidegate.overlay.policy.merging import Merging


def after(
    kind: str, policy: str, parents: list[int], actions: list[Action], advertisements: bool
) -> World:
    """A world after a history, quiet."""
    world = World(pool(kind).kind, CHOICES[policy], parents, advertisements=advertisements)
    for action in actions:
        act(world, pool(kind), action)
    world.settle()
    return world


def afresh(world: World) -> World:
    """A world to which nothing happened but what is left of another one."""
    fresh = World(
        world.kind,
        world.choice,
        [int(names[0][1:]) for names in list(world.neighbours.values())[1:]],
        advertisements=world.advertisements,
    )
    for offer in world.offers:
        if not offer.withdrawn:
            fresh.advertise(offer.client, offer.filter)
    for subscription in world.standing():
        fresh.subscribe(subscription.client, subscription.versions[-1])
    fresh.settle()
    return fresh


def tables(world: World) -> Iterator[list[Any]]:
    for sender, receiver in world.queues:
        yield list(world.brokers[receiver].routing.wanted.of(sender).values())


def forwarded(world: World) -> Iterator[Policy]:
    for broker in world.brokers.values():
        yield from (x.wanted for x in broker.routing.links.values() if not x.client)


@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("policy", ["simple", "identity", "covering", "xroute"])
def test_tables_are_those_of_a_fresh_run(policy: str, kind: str, advertisements: bool) -> None:
    @settings(max_examples=examples(kind, 20))
    @given(parents=PARENTS, actions=ACTIONS)
    def histories(parents: list[int], actions: list[Action]) -> None:
        world = after(kind, policy, parents, actions, advertisements)
        for ours, fresh in zip(tables(world), tables(afresh(world)), strict=True):
            assert len(ours) == len(fresh)
            if policy in ("covering", "xroute"):
                alike = [[f.covers(g) and g.covers(f) for g in fresh] for f in ours]
                assert all(map(any, alike))
            else:
                assert sorted(map(hash, ours)) == sorted(map(hash, fresh))

    histories()


@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("policy", ["merging", "imperfect merging"])
def test_mergers_hold_survivors_and_cost_no_more_than_allowed(
    policy: str, kind: str, advertisements: bool
) -> None:
    @settings(max_examples=examples(kind, 20))
    @given(parents=PARENTS, actions=ACTIONS)
    def histories(parents: list[int], actions: list[Action]) -> None:
        world = after(kind, policy, parents, actions, advertisements)
        for broker in world.brokers.values():
            for link in broker.routing.links.values():
                if link.client:
                    continue
                others = [name for name in broker.routing.links if name != link.name]
                survivors = {f for x in others for f in broker.routing.wanted.of(x).values()}
                offered = list(broker.routing.offered[link.name].filters.values())
                stage = link.wanted.stages[-1]
                assert isinstance(stage, Merging)
                for merger, members in stage.mergers.values():
                    assert survivors.issuperset(members.values())
                    known = offered if advertisements else None
                    cost = world.kind.cost(merger, members.values(), known)
                    assert cost <= world.choice.imt

    histories()


@pytest.mark.slow
@pytest.mark.parametrize("kind", POOLS)
def test_nothing_is_subsumed_by_the_others_after_a_rebuild(kind: str) -> None:
    @settings(max_examples=examples(kind, 40))
    @given(parents=PARENTS, actions=ACTIONS)
    def histories(parents: list[int], actions: list[Action]) -> None:
        world = after(kind, "subsumption", parents, actions, advertisements=False)
        for _ in range(2):
            for name in world.brokers:
                world.tick(name)
        for policy in forwarded(world):
            for number, f in policy.active.items():
                others = world.kind.union()
                for other, g in policy.active.items():
                    if other != number:
                        others.add(other, g)
                assert not others.subsumes(f)

    histories()


SCHEMA = tg.Schema(
    {
        "x": tg.Attribute("bigint", nullable=False, low=0, high=99),
        "y": tg.Attribute("bigint", nullable=False, low=0, high=4),
    },
    checked=True,
)


@pytest.mark.slow
@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
def test_what_is_forwarded_in_vain_is_what_mergers_add(advertisements: bool) -> None:
    """On each link, within the interval that holds 99 of 100 draws of a right share.

    The share is the measure of what the entries let through and no survivor behind them wants.
    """
    rng = Random(5)
    uniform = Uniform(SCHEMA)
    kind = Attributes(SCHEMA, uniform)
    world = World(
        kind, Choice("merging", imt=0.05, size=4), [0, 0, 1], advertisements=advertisements
    )
    if advertisements:
        for client in world.clients:
            world.advertise(client, kind.parse("x >= 0"))
    world.settle()
    for _ in range(40):
        low = rng.randrange(90)
        text = f"y = {rng.randrange(5)} AND x BETWEEN {low} AND {low + rng.randrange(10)}"
        world.subscribe(rng.choice(world.clients), kind.parse(text))
    world.settle()
    sources = dict.fromkeys(world.queues, 0)
    vain = dict.fromkeys(world.queues, 0)
    for _ in range(1_500):
        event = {"x": rng.randrange(100), "y": rng.randrange(5)}
        client = rng.choice(world.clients)
        world.crossed.clear()
        world.publish(client, event)
        world.settle()
        crossed = {link for _, _, link in world.crossed}
        for sender, receiver in world.queues:
            behind = world._side(receiver, sender)
            if world.home[client] not in behind:
                sources[sender, receiver] += 1
                needed = any(f.matches(event) for f in wanted(world, behind))
                vain[sender, receiver] += {sender, receiver} in crossed and not needed
    assert any(vain.values())
    shares = {link: added(world, uniform, *link) for link in world.queues}
    assert any(shares.values())
    for link, share in shares.items():
        reach = NormalDist().inv_cdf(0.995) * (share * (1 - share) / sources[link]) ** 0.5
        assert abs(vain[link] / sources[link] - share) <= reach


def wanted(world: World, behind: set[str]) -> list[Any]:
    return [s.versions[-1] for s in world.standing() if world.home[s.client] in behind]


def added(world: World, uniform: Uniform, sender: str, receiver: str) -> float:
    """How likely an event is to be forwarded on a link although nobody behind it wants it."""
    entries = world.brokers[sender].routing.wanted.of(receiver).values()
    survivors = wanted(world, world._side(receiver, sender))

    def measure(filters: Any) -> float:
        every: list[Box] = [box for f in filters for box in boxes(f.filter) or ()]
        found = measure_boxes(every, uniform, universe_of(SCHEMA))
        assert found is not None
        return found

    return measure(entries) - measure(survivors)
