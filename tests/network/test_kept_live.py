"""Live brokers that keep events: they are killed while events flow over a line of three, and
nothing that was confirmed is lost, nothing comes twice, and all of it in order.
"""

import asyncio
from pathlib import Path
from random import Random

import pytest

from tests.conftest import LONG
from tests.network.forked import Forked
from tests.network.live import until
from tidegate.network.client import Client
from tidegate.network.notification import Subscription
from tidegate.overlay.settings import Settings

KEEPING = Settings(keep_events=True, keep_deliveries=False)
KILLS = 60 if LONG else 4


async def flow(publisher: Client, random: Random, stop: asyncio.Event) -> int:
    """Publish until told to stop; how many events there were, all of them confirmed."""
    number = 0
    while not stop.is_set():
        events = [{"x": number + i} for i in range(random.choice((1, 1, 3, 40)))]
        number += len(events)
        await publisher.publish_many(events)
        await asyncio.sleep(random.choice((0, 0.001, 0.01)))
    await publisher.confirmed()
    return number


async def fail(net: Forked, random: Random, kills: int, victims: tuple[str, ...]) -> None:
    """Kill brokers at any time, and cut links."""
    for _ in range(kills):
        await asyncio.sleep(random.random() * 0.15)
        if random.random() < 0.3:
            net.cut(random.choice(("b1", "b2")))
        name = random.choice(victims)
        await net.kill(name)
        await asyncio.sleep(random.choice((0, 0.05)))
        await net.start(name)


async def receive(subscription: Subscription, got: list[int]) -> None:
    """Take what comes, for as long as it does."""
    async for event, *_ in subscription:
        got.append(event["x"])


async def story(folder: Path, seed: int, policy: str) -> None:
    random, stop = Random(seed), asyncio.Event()
    async with Forked([0, 1], folder, policy, settings=KEEPING) as net:
        ann, bob = await net.client("ann", "b2"), await net.client("bob", "b0")
        some = await ann.subscribe("y IS NULL")
        await net.settle()
        got: list[int] = []
        receiving = asyncio.create_task(receive(some, got))
        flowing = asyncio.create_task(flow(bob, random, stop))
        await fail(net, random, KILLS, ("b0", "b1"))
        stop.set()
        published = await flowing
        await until(lambda: len(got) >= published, 120)
        await net.settle()
        assert got == list(range(published))
        await ann.close()
        await receiving
        await bob.close()


@pytest.mark.parametrize("policy", ["covering", "xroute", "flood"] if LONG else ["covering"])
@pytest.mark.parametrize("seed", range(3 if LONG else 1))
def test_nothing_is_lost_by_brokers_that_are_killed(tmp_path: Path, seed: int, policy: str) -> None:
    asyncio.run(story(tmp_path, seed, policy))


async def while_one_is_down(folder: Path, settings: Settings) -> list[int]:
    """What a subscriber gets of events that are confirmed while a broker on their way is dead, and
    whose publisher's broker dies then.
    """
    async with Forked([0, 1], folder, settings=settings) as net:
        ann, bob = await net.client("ann", "b2"), await net.client("bob", "b0")
        some = await ann.subscribe("x > 0")
        await net.settle()
        await net.kill("b1")
        await bob.publish_many([{"x": i} for i in range(1, 31)])
        await bob.confirmed()
        await net.kill("b0")
        await net.start("b1")
        await net.start("b0")
        await net.welcomed(bob, "b0")
        await net.settle()
        await bob.publish({"x": 31})
        last = 0
        got = []
        while last != 31:
            async with asyncio.timeout(60):
                last = (await anext(some)).event["x"]
            got.append(last)
        await ann.close()
        await bob.close()
        return got


def test_events_wait_for_a_broker_that_is_dead(tmp_path: Path) -> None:
    assert asyncio.run(while_one_is_down(tmp_path, KEEPING)) == list(range(1, 32))


def test_without_keeping_they_would_be_lost(tmp_path: Path) -> None:
    assert asyncio.run(while_one_is_down(tmp_path, Settings())) == [31]
