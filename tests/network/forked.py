"""Brokers in processes of their own, on sockets, for a test that cuts, kills and stops them.

A process is forked from the test, so it need not load and compile anything. Each link goes through
the test: a **relay** passes bytes on, until it is cut.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.network.live import until
from tidegate.errors import LinkError
from tidegate.network.address import Address
from tidegate.network.client import Client, connect
from tidegate.network.limits import Limits
from tidegate.network.process import Setup, live
from tidegate.network.status import status
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings

LIMITS = Limits(silence=10.0, keep=60.0)
_HERE = "127.0.0.1"


class Relay:
    """Passes bytes on from whoever connects to an address, both ways."""

    def __init__(self, to: Address) -> None:
        self.address = to  # where it listens, once it does
        self._to = to
        self._server: asyncio.Server | None = None
        self._under_way: dict[asyncio.StreamWriter, None] = {}

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._pass_on, _HERE, 0)
        self.address = Address(_HERE, self._server.sockets[0].getsockname()[1])

    def cut(self) -> None:
        for writer in list(self._under_way):
            writer.transport.abort()

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far = await asyncio.open_connection(*self._to)
        except OSError:
            writer.transport.abort()
            return
        both = dict.fromkeys((writer, far))
        self._under_way.update(both)
        ways = [_pump(reader, far), _pump(far_reader, writer)]
        tasks = [asyncio.create_task(way) for way in ways]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for each in both:
            del self._under_way[each]
            each.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()


class Forked:
    """Processes on a tree: node i > 0 dials `parents[i - 1]`, by way of a relay."""

    def __init__(
        self,
        parents: Sequence[int],
        folder: Path,
        policy: str = "covering",
        settings: Settings | None = None,
    ) -> None:
        self.names = [f"b{i}" for i in range(len(parents) + 1)]
        self.parents = {f"b{i}": f"b{parent}" for i, parent in enumerate(parents, 1)}
        self._folder = folder
        self._policy = Choice(policy)
        self._settings = settings or Settings()
        self._addresses = {name: Address(_HERE, _free_port()) for name in self.names}
        self._relays: dict[str, Relay] = {}
        self._processes: dict[str, int] = {}

    async def __aenter__(self) -> "Forked":
        for name, parent in self.parents.items():
            self._relays[name] = Relay(self._addresses[parent])
            await self._relays[name].start()
        for name in self.names:
            await self.start(name)
        return self

    async def __aexit__(self, *_: object) -> None:
        for name in list(self._processes):
            await self.stop(name)
        for relay in self._relays.values():
            await relay.stop()

    async def start(self, name: str) -> None:
        dialed = {}
        if name in self.parents:
            dialed[self.parents[name]] = self._relays[name].address
        setup = Setup(
            name,
            self._addresses[name],
            dialed,
            storage=self._folder / name,
            policy=self._policy,
            settings=self._settings,
            limits=LIMITS,
            snapshot=50,
        )
        pid = os.fork()
        if not pid:
            _be(setup)
        self._processes[name] = pid
        async with asyncio.timeout(60):
            while True:
                with suppress(LinkError):
                    await status(str(self._addresses[name]))
                    return
                await asyncio.sleep(0.02)

    async def stop(self, name: str) -> None:
        assert await self._end(name, signal.SIGTERM) == 0

    async def kill(self, name: str) -> None:
        assert os.WTERMSIG(await self._end(name, signal.SIGKILL)) == signal.SIGKILL

    async def _end(self, name: str, by: signal.Signals) -> int:
        pid, found = self._processes.pop(name), (0, 0)
        os.kill(pid, by)
        async with asyncio.timeout(60):
            while found[0] == 0:
                await asyncio.sleep(0.01)
                found = os.waitpid(pid, os.WNOHANG)
        return found[1]

    def cut(self, name: str) -> None:
        """Cut the link of a node to its parent; it comes back by itself."""
        self._relays[name].cut()

    async def client(self, name: str, at: str) -> Client:
        return await connect(str(self._addresses[at]), name=name)

    async def welcomed(self, client: Client, at: str) -> None:
        """Wait until a client has told its broker everything again."""
        await until(lambda: client._opened is not None and client._client.settled)

    async def settle(self) -> None:
        """Wait until word of everything is through."""
        calm, before = 0, None
        async with asyncio.timeout(60):
            while calm < 3:
                await asyncio.sleep(0.03)
                fare = [await status(str(self._addresses[name])) for name in self.names]
                links = [link for each in fare for link in each["links"] if not link["client"]]
                messages = [
                    (each["counted"].get("messages in"), each["counted"].get("messages out"))
                    for each in fare
                ]
                quiet = len(links) == 2 * len(self.parents) and all(
                    link["up"] and link["ready"] and not link["unacknowledged"] for link in links
                )
                calm = calm + 1 if quiet and messages == before else 0
                before = messages


def _be(setup: Setup) -> None:
    """Be a broker, until told to stop; what the test has open is not this process's."""
    done = 1
    try:
        os.closerange(3, 4_096)
        asyncio.run(live(setup, Attributes(), lambda _: None))
        done = 0
    finally:
        os._exit(done)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HERE, 0))
        port: int = probe.getsockname()[1]
        return port
