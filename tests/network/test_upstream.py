"""Brokers on real sockets that have a parent and backups, or several paths to a root."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.network.live import ANY, crash, until
from tidegate.errors import TidegateError
from tidegate.network import server as server_module
from tidegate.network.address import Address
from tidegate.network.client import Client, connect
from tidegate.network.disk import Disk
from tidegate.network.limits import Limits
from tidegate.network.notification import Subscription
from tidegate.network.process import read_setup
from tidegate.network.server import Server
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.settings import Settings
from tidegate.overlay.storage import Keeper
from tidegate.overlay.upstream import Parents, Paths
from tidegate.simulate.topology import with_paths

TICK = 0.05  # seconds
PATIENCE, FORGET = 6, 16  # ticks


class Above:
    """Brokers that are named in the order in which they start, each with what is above it."""

    def __init__(self, folder: Path, upstream: Mapping[str, Parents | Paths]) -> None:
        self.servers: dict[str, Server] = {}
        self._folder = folder
        self._upstream = upstream
        self._addresses: dict[str, Address] = {}
        self._runs: dict[str, asyncio.Task[None]] = {}
        self._disks: dict[str, Disk] = {}

    async def __aenter__(self) -> "Above":
        for name in self._upstream:
            await self.start(name)
        return self

    async def __aexit__(self, *_: object) -> None:
        for name in list(self.servers):
            self.servers.pop(name).stop()
            await self._runs.pop(name)
            self._disks.pop(name).close()

    async def start(self, name: str) -> None:
        kind, above = Attributes(), self._upstream[name]
        settings = Settings(patience=PATIENCE, forget=FORGET, upstream=above)
        disk = self._disks[name] = Disk(self._folder / name, name, kind)
        life = len(self._disks) + 10 * list(self._upstream).index(name)
        keeper = Keeper.recall(disk, 1_000, kind, settings=settings)
        keeper = keeper or Keeper.begin(Broker(name, kind, None, settings, life), disk, 1_000)
        if isinstance(above, Parents):
            dialed = above.known
        else:
            dialed = tuple({goal for ways in above.up.values() for goal in ways})
        server = Server(
            keeper.broker,
            self._addresses.get(name, ANY),
            {other: self._addresses[other] for other in dialed},
            keeper=keeper,
            limits=Limits(silence=20.0, keep=60.0),
            tick=TICK,
        )
        await server.start()
        self._addresses[name] = server.address
        self.servers[name] = server
        self._runs[name] = asyncio.create_task(server.run())

    async def kill(self, name: str) -> None:
        server = self.servers.pop(name)
        self._runs.pop(name).cancel()
        await crash(server)
        self._disks.pop(name).close()

    async def client(self, name: str, at: str) -> Client:
        return await connect(str(self._addresses[at]), name=name)

    def broker(self, name: str) -> Broker:
        return self.servers[name].driver.broker

    def parent(self, name: str) -> str | None:
        above = self.broker(name).ties.failover
        return None if above is None or above.candidate is not None else above.parent

    def wanted_at(self, name: str, link: str) -> int:
        return len(self.broker(name).routing.wanted.of(link))


async def handed(subscription: Subscription, count: int) -> Counter[Any]:
    """So many events of a subscription, and whatever else comes within a few ticks."""
    await until(lambda: subscription.waiting >= count)
    await asyncio.sleep(4 * TICK)
    found = [await anext(subscription) for _ in range(subscription.waiting)]
    return Counter(event["x"] for event, *_ in found)


def test_a_broker_turns_to_its_backup_and_its_old_parent_may_return(tmp_path: Path) -> None:
    upstream = {
        "r": Parents(),
        "a": Parents("r"),
        "b": Parents("r"),
        "c": Parents("a", ("b",)),
    }

    async def live() -> None:
        async with Above(tmp_path, upstream) as net:
            ann, eve = await net.client("ann", "c"), await net.client("eve", "r")
            subscription = await ann.subscribe("x < 100")
            await until(lambda: net.wanted_at("r", "a") == 1)
            assert "b" not in net.broker("c").routing.links, "a backup was dialed for nothing"
            await eve.publish_many([{"x": 1}, {"x": 2}])
            assert await handed(subscription, 2) == {1: 1, 2: 1}

            await net.kill("a")
            await until(lambda: net.parent("c") == "b" and net.wanted_at("r", "b") == 1)
            await eve.publish({"x": 3})
            assert await handed(subscription, 1) == {3: 1}
            await until(lambda: "a" not in net.broker("r").routing.links)

            await net.start("a")
            await until(lambda: "a" in net.broker("r").routing.links)
            await until(lambda: "c" not in net.broker("a").routing.links)
            await until(lambda: net.wanted_at("r", "a") == 0)
            await eve.publish({"x": 4})
            assert await handed(subscription, 1) == {4: 1}
            assert net.parent("c") == "b"
            for each in (ann, eve):
                await each.close()

    asyncio.run(live())


def test_a_parent_that_is_only_silent_is_left_and_its_connection_closed(tmp_path: Path) -> None:
    upstream = {"r": Parents(), "a": Parents("r"), "b": Parents("r"), "c": Parents("a", ("b",))}

    async def live() -> None:
        async with Above(tmp_path, upstream) as net:
            ann, eve = await net.client("ann", "c"), await net.client("eve", "r")
            subscription = await ann.subscribe("x < 100")
            await until(lambda: net.wanted_at("r", "a") == 1)
            silent = net.servers["a"].driver
            real, silent.perform = silent.perform, lambda: None  # type: ignore[method-assign]
            await ann.subscribe("x < 200")  # which a does not acknowledge
            await until(lambda: net.parent("c") == "b" and net.wanted_at("r", "b") == 1)
            await until(lambda: "a" not in net.servers["c"]._connections)
            silent.perform = real  # type: ignore[method-assign]
            await until(lambda: net.wanted_at("r", "a") == 0)
            await eve.publish({"x": 5})
            assert await handed(subscription, 1) == {5: 1}
            for each in (ann, eve):
                await each.close()

    asyncio.run(live())


def test_of_two_paths_one_is_enough_and_nothing_comes_twice(tmp_path: Path) -> None:
    ways: dict[str, dict[str, list[str]]] = {
        "r": {"r": []},
        "a": {"r": ["r"]},
        "b": {"r": ["r"]},
        "c": {"r": ["a", "b"]},
    }

    async def live() -> None:
        async with Above(tmp_path, with_paths(ways).upstream) as net:
            ann, eve = await net.client("ann", "c"), await net.client("eve", "r")
            subscription = await ann.subscribe("x < 100")
            await until(lambda: net.wanted_at("r", "a") == net.wanted_at("r", "b") == 1)
            await eve.publish_many([{"x": i} for i in range(50)])
            assert await handed(subscription, 50) == Counter(range(50))
            assert net.broker("c").tally.repeated > 0, "events came on one way only"
            await eve.publish_many([{"x": i} for i in range(50, 60)])
            await net.kill("a")
            await eve.publish_many([{"x": i} for i in range(60, 90)])
            assert await handed(subscription, 40) == Counter(range(50, 90))
            for each in (ann, eve):
                await each.close()

    asyncio.run(live())


def test_a_restored_broker_gets_its_filters_ready_little_by_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they mean is worked out for the first subscription that is compared with them, else."""
    monkeypatch.setattr(server_module, "_RIPENED", 9)
    upstream = {"r": Parents(), "a": Parents("r")}

    async def live() -> None:
        async with Above(tmp_path, upstream) as net:
            ann = await net.client("ann", "a")
            await ann.subscribe_many("x < :p AND y = :p", [{"p": i} for i in range(30)])
            await until(lambda: net.wanted_at("r", "a") == 30)
            await ann.close()
            keeper = net.servers["a"].driver._keeper
            assert keeper is not None
            keeper.storage.keep(keeper.broker.snapshot())  # what is handled again is compared
            await net.kill("a")
            await net.start("a")
            filters = net.broker("a").routing.wanted.of("ann").values()
            assert len(filters) == 30
            await until(lambda: all(f.filter.known_form is not None for f in filters))  # type: ignore[attr-defined]

    asyncio.run(live())


FILE = """
name = "c"
listen = "127.0.0.1:0"
{more}
[neighbours]
a = "127.0.0.1:1"
b = "127.0.0.1:2"
{paths}
"""


def read(folder: Path, more: str = "", paths: str = "") -> Settings:
    path = folder / "c.toml"
    path.write_text(FILE.format(more=more, paths=paths))
    return read_setup(path, Attributes()).settings


def test_a_file_says_who_is_above(tmp_path: Path) -> None:
    more = 'parent = "a"\nbackups = ["b"]\npatience = 3\nforget = 9'
    assert read(tmp_path, more) == Settings(patience=3, forget=9, upstream=Parents("a", ("b",)))
    assert read(tmp_path, "root = true").upstream == Parents()
    assert read(tmp_path, "root = false").upstream is None
    paths = '[paths.r]\nup = ["a", "b"]\n[paths.c]\ndown = ["a"]'
    assert read(tmp_path, "window = 5", paths) == Settings(
        window=5, upstream=Paths({"r": ("a", "b"), "c": ()}, {"r": (), "c": ("a",)})
    )


@pytest.mark.parametrize(
    ("more", "paths", "reason"),
    [
        ('parent = "z"', "", "z may be above, and is none of the neighbours"),
        ('parent = "a"\nbackups = ["a"]', "", "named once each"),
        ('backups = ["a"]', "", "needs no backups"),
        ('parent = "a"\nroot = true', "", "the root has no parent"),
        ('parent = "a"', '[paths.r]\nup = ["b"]', "parent or paths, not both"),
        ('backups = "a"', "", "backups cannot be 'a'"),
        ("forget = 1.5", "", "forget cannot be 1.5"),
        ("patience = 5\nforget = 5", "", "forget is more than patience"),
        ("", '[paths.r]\nup = "a"', "paths.r has up and down"),
        ("", '[paths]\nr = ["a"]', "paths.r has up and down"),
    ],
)
def test_a_file_that_says_it_wrongly_is_refused(
    tmp_path: Path, more: str, paths: str, reason: str
) -> None:
    with pytest.raises(TidegateError, match=reason):
        read(tmp_path, more, paths)
