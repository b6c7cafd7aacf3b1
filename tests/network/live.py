"""Brokers on real sockets, in one event loop, and what is owed to whom.

A `Net` is a tree of servers with storages. Links are cut, servers are killed (no farewell, nothing
saved but what was safe) and started again, and it is waited until word of everything is through.
Then what is delivered is compared with the filters, one by one.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tidegate.network.address import Address
from tidegate.network.client import Client, connect
from tidegate.network.disk import Disk
from tidegate.network.limits import Limits
from tidegate.network.notification import Subscription
from tidegate.network.pressure import Slow
from tidegate.network.server import Server
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.policy import Choice
from tidegate.overlay.storage import Keeper

ANY = Address("127.0.0.1", 0)
QUICK = Limits(silence=1.0, keep=60.0)


async def until(done: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(seconds):
        while not done():
            await asyncio.sleep(0.005)


class Net:
    """Servers on a tree: node i > 0 dials `parents[i - 1]`."""

    def __init__(
        self,
        parents: Sequence[int],
        folder: Path,
        policy: str = "covering",
        *,
        limits: Limits = QUICK,
        slow: Slow = "cut",
        storage: bool = True,
    ) -> None:
        self.kind = Attributes()
        self.names = [f"b{i}" for i in range(len(parents) + 1)]
        self.parents = {f"b{i}": f"b{parent}" for i, parent in enumerate(parents, 1)}
        self.servers: dict[str, Server] = {}
        self._folder = folder
        self._policy = Choice(policy)
        self._limits, self._slow, self._storage = limits, slow, storage
        self._addresses: dict[str, Address] = {}
        self._runs: dict[str, asyncio.Task[None]] = {}
        self._disks: dict[str, Disk] = {}

    async def __aenter__(self) -> "Net":
        for name in self.names:
            await self.start(name)
        return self

    async def __aexit__(self, *_: object) -> None:
        for name in list(self.servers):
            await self.stop(name)

    async def start(self, name: str) -> None:
        kind, keeper = Attributes(), None
        if self._storage:
            disk = self._disks[name] = Disk(self._folder / name, name, kind)
            keeper = Keeper.recall(disk, 1_000, kind, self._policy)
            keeper = keeper or Keeper.begin(Broker(name, kind, self._policy), disk, 1_000)
        up = self.parents.get(name)
        dialed = {} if up is None else {up: self._addresses[up]}
        listen = self._addresses.get(name, ANY)
        server = Server(
            keeper.broker if keeper else Broker(name, kind, self._policy),
            listen,
            dialed,
            keeper=keeper,
            limits=self._limits,
            slow=self._slow,
            tick=0.05,
        )
        await server.start()
        self._addresses[name] = server.address
        self.servers[name] = server
        self._runs[name] = asyncio.create_task(server.run())

    async def stop(self, name: str) -> None:
        self.servers.pop(name).stop()
        await self._runs.pop(name)
        if self._storage:
            self._disks.pop(name).close()

    async def kill(self, name: str) -> None:
        """Let a server end as if its process had been killed."""
        server = self.servers.pop(name)
        self._runs.pop(name).cancel()
        await crash(server)
        self._disks.pop(name).close()

    def cut(self, name: str) -> None:
        """Cut the link of a node to its parent; it comes back by itself."""
        link = self.servers[name]._connections.get(self.parents[name])
        if link is not None:
            link.cut("cut by a test")

    async def client(self, name: str, at: str) -> Client:
        return await connect(str(self._addresses[at]), name=name)

    async def welcomed(self, client: Client, at: str) -> None:
        """Wait until a client has told its broker everything again."""
        connections = self.servers[at]._connections
        await until(lambda: client.name in connections and client._opened is not None)
        await until(lambda: client._client.settled)

    @property
    def quiet(self) -> bool:
        for server in self.servers.values():
            links = server.driver.broker.routing.links.values()
            if any(
                not link.ready or link.stream.unacknowledged for link in links if not link.client
            ):
                return False
        return all(
            {up, down} <= self.servers.keys()
            and up in self.servers[down]._connections
            and down in self.servers[up]._connections
            for down, up in self.parents.items()
        )

    async def settle(self) -> None:
        """Wait until word of everything is through."""
        calm = 0
        async with asyncio.timeout(60):
            while calm < 4:
                before = self._messages()
                await asyncio.sleep(0.01)
                calm = calm + 1 if self.quiet and before == self._messages() else 0

    def _messages(self) -> int:
        counted = (server.driver.counted for server in self.servers.values())
        return sum(each["messages in"] + each["messages out"] for each in counted)


async def crash(server: Server) -> None:
    """End a server at once: nothing is said, nothing is done that was not."""
    server.driver.perform = lambda: None  # type: ignore[method-assign]
    for task in server._tasks:
        task.cancel()
    assert server._server is not None
    server._server.close()
    server._stopped.set()
    for connection in list(server._all):
        connection.cut("killed")
    await asyncio.sleep(0)


async def delivered(subscription: Subscription, count: int) -> Counter[Any]:
    """How often each event has come, once so many have, and a moment later.

    They are taken as they come: a client asks for no more while many wait.
    """
    found: Counter[Any] = Counter()
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(60.0) as limit:  # without any
        while found.total() < count:
            for _ in range(max(1, subscription.waiting)):
                each = await anext(subscription)
                found[each.publisher, each.number] += 1
            limit.reschedule(loop.time() + 60.0)
    await asyncio.sleep(0.02)
    rest = [await anext(subscription) for _ in range(subscription.waiting)]
    found.update((each.publisher, each.number) for each in rest)
    return found
