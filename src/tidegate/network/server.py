"""A broker process: sockets, time and files around a `Driver`.

**Theory of operation.** One thread, on `asyncio`. Whatever comes on a connection is handled as it
comes (`driver`); effects are done when all that had come is handled, so many inputs share one sync
of the disk. Events are gathered (`gathering`).

**Links.** Neighbours with an address are dialed, again and again (`neighbours`). If both sides
dial, the connection stays that was made by the one whose name comes first. Of brokers that may be
above this one (`Settings.upstream`), only the parent is dialed, and a backup when the broker asks
for it; neighbours that part close their connection. A connection on which nothing has come for
`limits.silence` seconds is taken for dead; heartbeats see to it that a living one is not. A client
that comes again takes the place of its earlier connection. When it has been gone for `limits.keep`
seconds, it is forgotten.

**Who does not keep up** is the business of `pressure`: what is sent goes through it, and new
credits are given when all that came was handled.

**Who is there** is asked by a `guard`, if there is one. Without one, a broker listens on loopback
addresses only, unless told otherwise by name, since whoever reaches it may subscribe and publish.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from tidegate.errors import FrameError, LinkError, StorageError, TidegateError
from tidegate.network.address import Address
from tidegate.network.connection import PARTING, Connection
from tidegate.network.credits import read_credits
from tidegate.network.dialing import reason_of
from tidegate.network.door import listen as listen_at
from tidegate.network.driver import Driver
from tidegate.network.event_frames import Room
from tidegate.network.frames import Frame, Sort, frame
from tidegate.network.guard import Admitted, Guard
from tidegate.network.limits import Limits
from tidegate.network.neighbours import LINKED, Neighbours, Watch
from tidegate.network.opening import (
    FEATURES,
    KEPT,
    VERSION,
    Opened,
    Opening,
    check_kind,
    read_opened,
    read_opening,
    say,
)
from tidegate.network.pressure import Pressure, Slow
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import Restart, Tick
from tidegate.overlay.storage import Keeper
from tidegate.overlay.upstream import Parents, Paths

TICK: Final = 1.0  # seconds
_RIPENING: Final = 0.02  # seconds between one time that restored filters are got ready and the next
_RIPENED: Final = 50  # filters at a time, some milliseconds
_BESIDE: Final = 4_096  # bytes of a frame between brokers that has one event, but for the event


class Server:
    """One broker, with its connections. Made, started, stopped and used in one event loop."""

    def __init__(
        self,
        broker: Broker,
        listen: Address,
        neighbours: Mapping[str, Address] | None = None,
        *,
        keeper: Keeper | None = None,
        limits: Limits | None = None,
        guard: Guard | None = None,
        anywhere: bool = False,
        slow: Slow = "cut",
        tick: float = TICK,
        watch: Watch = lambda name, what: None,
    ) -> None:
        if not (listen.is_loopback or anywhere or guard is not None):
            raise TidegateError(
                f"{listen} can be reached from other machines, and nobody is asked who they are:"
                " listen on 127.0.0.1, give a certificate, or say that it may be (--anywhere)"
            )
        if broker.settings.keep_events and keeper is None:
            raise TidegateError("events are kept in a storage: give one, or do not keep events")
        if broker.settings.keeps(client=True):
            raise TidegateError("clients acknowledge no events: keep_deliveries is not for them")
        self.limits: Final = limits or Limits()
        self.address = listen  # where it listens, once it does
        self.driver: Final = Driver(broker, keeper, self.limits, self._send)
        self.pressure: Final = Pressure(
            self.limits,
            slow,
            self.driver.counted,
            self._write,
            self._cut,
            circles=isinstance(broker.settings.upstream, Paths),
        )
        self.failure: BaseException | None = None
        self._keeper = keeper
        self._keeps = broker.settings.keep_events
        self._kind = broker.kind.name
        self._guard = guard
        self._door = None if guard is None else guard.tls.for_listening()
        self._way = None if guard is None else guard.tls.for_linking()
        self._neighbours: Final = Neighbours(
            neighbours or {},
            broker.name,
            wanted=self._dials,
            linked=lambda name: name in self._connections,
            watch=watch,
        )
        settings = broker.settings
        self._parts = isinstance(settings.upstream, Parents) or settings.forget is not None
        self._tick = tick
        self._leaving: dict[str, asyncio.TimerHandle] = {}  # clients that are to be forgotten
        self._connections: dict[str, Connection] = {}  # of links that are up
        self._all: set[Connection] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._stopped = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._due = False  # effects are done in this round of the loop
        self._later: asyncio.TimerHandle | asyncio.Handle | None = None  # events are taken then

    @property
    def name(self) -> str:
        """The broker's."""
        return self.driver.broker.name

    # -- it starts and stops

    async def start(self) -> None:
        """Listen, and dial neighbours."""
        try:
            self._server = await listen_at(
                self.address, lambda: Connection(self, dialed=False), self.limits, self._door
            )
        except OSError as error:
            why = reason_of(error)
            raise LinkError(f"{self.address} cannot be listened on: {why}") from None
        host, port = self._server.sockets[0].getsockname()[:2]
        self.address = Address(host, port)
        self.driver.handle(Restart())
        for link in self.driver.broker.routing.links.values():
            if link.client:
                self._let_go(link.name)
        asyncio.get_running_loop().call_later(_RIPENING, self._ripen, self.driver.broker.ripening())
        self._round()
        doing = [self._keep_time(), self._beat()]
        doing += [self._neighbours.keep(name, self, self._way) for name in self._neighbours]
        self._tasks = [asyncio.create_task(each) for each in doing]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A task has ended: if it was not told to, the broker cannot go on."""
        if not task.cancelled():
            self.failure = self.failure or task.exception()
            self.stop()

    async def run(self) -> None:
        """Be there until `stop` is called; what makes it impossible to go on is raised."""
        await self._stopped.wait()
        for task in self._tasks:
            task.cancel()
        if self._server is not None:
            self._server.close()
        if self.failure is None:
            self._take_events()
            self._perform()
            if self._keeper is not None:
                self._keeper.storage.keep(self.driver.broker.snapshot())
        closed = [connection.closed for connection in self._all]
        for connection in list(self._all):
            connection.close("the broker stops")
        if closed:
            await asyncio.wait(closed, timeout=PARTING)
        for connection in list(self._all):
            connection.cut("the broker stops")
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        """Let `run` return, when what is under way is done."""
        self._stopped.set()

    # -- connections

    def made(self, connection: Connection) -> None:
        """There is a connection: the first frame has to come soon."""
        self._all.add(connection)
        if self._stopped.is_set():
            connection.cut("the broker stops")
        elif connection.dialed and self._guard and connection.name not in connection.names:
            connection.cut(f"the certificate there does not have the name {connection.name}")
        elif connection.dialed:
            features = sorted(FEATURES)
            of = self.limits
            own = Opening(
                VERSION, "broker", self.name, features,
                credits=of.credits, kind=self._kind, frame=of.frame, events=of.events,
            )  # fmt: skip
            connection.send(say(own))
        elif len(self._all) > self.limits.connections:
            self.driver.refused["connections"] += 1
            connection.close(f"{self.limits.connections:,} connections are all that are taken")
            return
        loop = asyncio.get_running_loop()
        loop.call_later(self.limits.handshake, self._check_opened, connection)

    def came(self, connection: Connection, came: Frame) -> None:
        """A frame has come."""
        if not connection.role:
            self._open(connection, came)
            return
        if came.sort is Sort.CREDITS:
            self.pressure.granted(connection.name, read_credits(came))
        else:
            self.pressure.came(connection.name, came)
            self.driver.heard(connection.name, came)
            if self.driver.gathering.count:
                self._soon()
        self._round()

    def paused(self, connection: Connection, paused: bool) -> None:
        """The other end of a connection does not read, or reads again."""
        if self._connections.get(connection.name) is connection:
            self.pressure.paused(connection.name, paused)
            self._round()

    def lost(self, connection: Connection) -> None:
        """A connection is no more."""
        self._all.discard(connection)
        if connection.broken:
            self.driver.refused["frame" if connection.role else "opening"] += 1
        if self._connections.get(connection.name) is not connection:
            return
        del self._connections[connection.name]
        self.driver.down(connection.name)
        self.pressure.down(connection.name)
        if connection.role == "client":
            self._let_go(connection.name)
        self._round()

    def _check_opened(self, connection: Connection) -> None:
        if not connection.role and connection.is_open:
            self.driver.refused["opening"] += 1
            connection.close(f"nothing was said for {self.limits.handshake:g} seconds")

    def _open(self, connection: Connection, came: Frame) -> None:
        """The first frame of a connection."""
        admitted, shared, room = Admitted(), frozenset[str](), None
        if connection.dialed:
            opened = read_opened(came)
            if opened.broker != connection.name:
                raise FrameError(f"{connection.name} was dialed, and {opened.broker} is there")
            check_kind(opened.kind, opened.broker, self._kind)
            self.check_features("broker", opened.broker, opened.features)
            room = self._room(opened.broker, opened)
            connection.role, credits = "broker", opened.credits
        else:
            if self._guard is not None and not connection.is_encrypted:
                raise FrameError("TLS is demanded here, and this is plain text")
            said = read_opening(came)
            if self._guard is not None:
                admitted = self._guard.admit(said, connection.names)
            if said.role == "status":
                connection.send(say(self._opened()))
                connection.send(self.driver.status_frame(self._fares, self._neighbours.missing))
                connection.close("that is all")
                return
            connection.name, role, credits = said.name, said.role, said.credits
            if said.name == self.name:
                raise FrameError(f"{said.name} is the name of this broker")
            if role == "client" and said.name in self._neighbours:
                raise FrameError(f"{said.name} is the name of a broker")
            check_kind(said.kind, said.name, self._kind)
            self.check_features(role, said.name, said.features)
            if role == "broker":
                room = self._room(said.name, said)
            connection.role, shared = role, FEATURES.intersection(said.features)
        before = self._connections.get(connection.name)
        if before is not None and not self._gives_way(before, connection):
            connection.role = ""
            raise FrameError(f"there is a link to {connection.name} already")
        self._take_events()
        client = connection.role == "client"
        refusal = self.driver.up(connection.name, client, admitted.rights, room)
        if refusal is not None:
            connection.role = ""
            raise FrameError(refusal)
        connection.frames.longest = self.limits.frame
        connection.frames.message = self.limits.message
        connection.until = admitted.until
        self._connections[connection.name] = connection
        if client and connection.name in self._leaving:
            self._leaving.pop(connection.name).cancel()
        self.pressure.up(connection.name, client, credits)
        if connection.dialed:
            self._neighbours.tell(connection.name, LINKED)
        else:
            connection.send(say(self._opened(*self.driver.told(connection.name), shared)))
        if before is not None:
            before.close("another connection has taken its place")
        self._round()

    def check_features(self, role: str, name: str, features: Iterable[str]) -> None:
        """`FrameError` if somebody does not understand what is needed here."""
        if self._keeps and role == "broker" and KEPT not in features:
            raise FrameError(f"events are kept here, and {name} does not know of that")

    def _room(self, name: str, said: Opening | Opened) -> Room:
        """What there is room for in a neighbour's frames; `FrameError` if not for every event."""
        frame = said.frame or self.limits.frame
        least = self.driver.broker.settings.event_size + _BESIDE
        if frame < least:
            raise FrameError(f"{name} takes frames of {frame:,} bytes; events may need {least:,}")
        return Room(max(1, said.events or self.limits.events), frame)

    def _opened(self, heard: int = 0, seen: int = 0, shared: Iterable[str] = ()) -> Opened:
        of, credits = self.limits, self.limits.credits
        about = VERSION, self.name, of.frame, of.events, of.silence
        return Opened(*about, heard, seen, sorted(shared), credits, self._kind, of.message)

    def _fares(self, link: str) -> dict[str, Any]:
        """How a link fares."""
        found = self.pressure.status(link)
        connection = self._connections.get(link)
        found["waiting"] += 0 if connection is None else connection.waiting
        return found

    def _gives_way(self, before: Connection, new: Connection) -> bool:
        """Whether a connection makes room for another one of the same name."""
        if before.role == "client" or before.dialed == new.dialed:
            return True
        ours = self.name < new.name  # whose name comes first keeps what it dialed
        return new.dialed == ours

    # -- neighbours

    def _dials(self, name: str) -> bool:
        """Whether there is to be a link: of those that may be above, to who is, or is asked."""
        above = self.driver.broker.ties.failover
        return above is None or above.above(name) or not above.knows(name)

    def _part(self) -> None:
        """Close connections to neighbours that the broker has left, or that have left it."""
        known = self.driver.broker.routing.links
        left = [x for name, x in self._connections.items() if name not in known]
        for connection in left:
            connection.close("the brokers have parted")

    # -- time

    async def _keep_time(self) -> None:
        while True:
            await asyncio.sleep(self._tick)
            self.pressure.check(asyncio.get_running_loop().time())
            self._take_events()
            self.driver.handle(Tick())
            self._round()

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        every = self.limits.silence / 3
        while True:
            slept = loop.time()
            await asyncio.sleep(every / 2)
            now = loop.time()
            if now - slept > every:  # it is this process that was away
                continue
            for connection in list(self._connections.values()):
                if connection.until is not None and time.time() > connection.until:
                    connection.close("the token is no longer good")
                elif now - connection.heard > self.limits.silence:
                    connection.cut(f"nothing came for {self.limits.silence:g} seconds")
                elif now - connection.sent > every / 2:
                    connection.send(frame(Sort.HEARTBEAT))

    def _let_go(self, link: str) -> None:
        """Forget a client when it has been gone for long."""
        loop = asyncio.get_running_loop()
        self._leaving[link] = loop.call_later(self.limits.keep, self._forget, link)

    def _forget(self, link: str) -> None:
        self._leaving.pop(link, None)
        if link not in self._connections and not self._stopped.is_set():
            self._take_events()
            self.driver.forget(link)
            self._round()

    def _ripen(self, steps: Iterator[None]) -> None:
        """Get a few of the restored filters ready, and go on in a while."""
        if not self._stopped.is_set() and sum(1 for _ in islice(steps, _RIPENED)) == _RIPENED:
            asyncio.get_running_loop().call_later(_RIPENING, self._ripen, steps)

    # -- rounds

    def _soon(self) -> None:
        """Take events when it is time."""
        loop = asyncio.get_running_loop()
        patience = self.driver.gathering.patience
        if self._later is None:
            later = loop.call_later(patience, self._take_events) if patience else None
            self._later = later or loop.call_soon(self._take_events)
        elif not patience and isinstance(self._later, asyncio.TimerHandle):
            self._later.cancel()
            self._later = loop.call_soon(self._take_events)

    def _take_events(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self.driver.take_events()
        self._round()

    def _round(self) -> None:
        """Do effects when all that has come so far is handled."""
        if not self._due and (self.driver.due or self.pressure.due):
            self._due = True
            asyncio.get_running_loop().call_soon(self._perform)

    def _perform(self) -> None:
        self._due = False
        try:
            self.driver.perform()
            if self._parts:
                self._part()
        except StorageError as error:
            self.failure = error
            self.stop()
        if not self.driver.gathering.count:
            self.pressure.settle()

    def _send(self, link: str, frames: Sequence[bytes]) -> None:
        self.pressure.send(link, frames)

    def _write(self, link: str, data: bytes) -> None:
        connection = self._connections.get(link)
        if connection is None:
            return
        connection.send(data)
        if connection.waiting > self.limits.buffer:
            self._cut(link, f"{connection.waiting:,} bytes are not read")

    def _cut(self, link: str, reason: str) -> None:
        connection = self._connections[link]
        if connection.is_open:
            self.driver.counted["cut"] += 1
            connection.cut(reason)
