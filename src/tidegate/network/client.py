"""A client of a broker, over a connection.

**Theory of operation.** What a client wants, and which events are for it, is the business of
`overlay.client`, which does no I/O; here are its connection and its memory of events. An event has
a number, and its payload is kept until the broker has said that it has taken it. When a connection
is lost, the client says so (`watch`) and connects again, after a time that grows. The broker then
says what it has heard of this client: the client tells all that it wants anew, as a whole, which
changes nothing where the broker knows it, and sends again the events that the broker has not taken.

So an event is taken at least once, and handled once, by a broker that keeps its memory. Events that
come for a client while it is not connected are lost.

**Waiting.** `subscribe` and the like return when the broker has answered. `publish` returns when
the event is on its way; it waits while there are no credits for more, or `unconfirmed` events are
on their way. `confirmed` waits until the broker has taken all. What comes is handed on by an
`inbox`.
"""

import asyncio
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal

from tidegate.capsules import speaks_arrow, table_of
from tidegate.errors import FrameError, LinkError, SubscriptionError, TidegateError
from tidegate.network.address import Address, read_address
from tidegate.network.connection import PARTING, Connection
from tidegate.network.control_frames import control_frame, read_control
from tidegate.network.credits import credits_frame, read_credits
from tidegate.network.dialing import Pause, dial, opening, patiently
from tidegate.network.frames import HEAD, OVERTAKING, Frame, Sort, frame, parted
from tidegate.network.inbox import CREDITS, Inbox
from tidegate.network.notification import Subscription
from tidegate.network.opening import Opened, check_kind, read_opened, say
from tidegate.network.outbox import Outbox
from tidegate.network.payloads import payload
from tidegate.network.tls import Tls
from tidegate.network.unconfirmed import AT_ONCE, Unconfirmed
from tidegate.overlay import client as protocol
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.conversation import Told
from tidegate.overlay.filter import Event, Filter, Kind
from tidegate.overlay.kinds import kind_called
from tidegate.overlay.messages import Advertise, Change, Refuse
from tidegate.overlay.template import Language

News = Literal["connected", "lost", "refused", "missed", "failed"]
Watch = Callable[[News, str], object]
"""Is told what has become of the connection, or of events, and why."""

_HANDSHAKE: Final = 10.0  # seconds that a broker may take to answer
_FIRST_PAUSE: Final = 0.05  # seconds before it connects again
_LONGEST_PAUSE: Final = 5.0
_REASONS: Final = 100  # that are remembered
_REFUSED: Final = "the broker has refused it"
_PLACE_TAKEN: Final = "another connection has taken its place"


class Client:
    """One client; `connect` makes it. All of it in one event loop.

    >>> async def cheap() -> None:
    ...     async with await connect("127.0.0.1:7400") as client:
    ...         async for event, *_ in await client.subscribe("price < :limit", limit=10.0):
    ...             print(event)
    """

    def __init__(
        self,
        address: Address,
        name: str,
        kind: Kind | None = None,
        watch: Watch | None = None,
        unconfirmed: int = 100_000,
        tls: Tls | None = None,
        token: str = "",
    ) -> None:
        if token and tls is None:
            raise TidegateError("a token is said over TLS only: give tls, too")
        self.name: Final = name
        self.kind: Kind = Attributes()  # the broker's, once that has said it
        self._chosen = "" if kind is None else kind.name
        self.refused: Final[deque[str]] = deque(maxlen=_REASONS)  # why events were not taken
        self._address = address
        self._tls = None if tls is None else tls.for_client()
        self._token = token
        self._watch = watch
        self._unconfirmed = unconfirmed
        self._client = self._speaking(kind or self.kind)
        self._inbox = Inbox()
        self._kept = Unconfirmed()
        self._connection: Connection | None = None
        self._opened: Opened | None = None
        self._outbox = Outbox(0)
        self._failure = ""
        self._closing = False
        self._news = asyncio.Event()  # something has changed that somebody may wait for
        self._task: asyncio.Task[None] | None = None

    def _speaking(self, kind: Kind) -> protocol.Client:
        """The protocol's client, with filters of a kind."""
        self.kind = kind
        language = kind if isinstance(kind, Language) else None
        return protocol.Client(self.name, _Wire(self._send), language)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- what it wants

    async def subscribe(self, f: Filter | str, /, **parameters: Any) -> Subscription:
        """Want the events that match a filter; a text may have parameters."""
        return (await self._subscribed([self._client.subscribe(f, **parameters)]))[0]

    async def subscribe_many(
        self, text: str, rows: Iterable[dict[str, Any]], /
    ) -> list[Subscription]:
        """Subscriptions of one text, each with its values of the parameters, in one message."""
        with self._client.together():
            owns = [self._client.subscribe(text, **row) for row in rows]
        return await self._subscribed(owns)

    async def update(
        self, subscription: Subscription, f: Filter | str, /, **parameters: Any
    ) -> None:
        """Give a subscription another filter, or other values, without a gap."""
        refusals = self._client.refusals
        refusals.pop(subscription.id, None)
        self._client.change(subscription.id, f, **parameters)
        await self._settle()
        if subscription.id in refusals:
            raise SubscriptionError(refusals.pop(subscription.id))

    async def cancel(self, subscription: Subscription) -> None:
        """Want something no more."""
        self._client.cancel(subscription.id)
        self._inbox.subscriptions.pop(subscription.id).end()
        self._drained()
        await self._settle()

    async def advertise(self, f: Filter | str, /, **parameters: Any) -> int:
        """Say what it will publish; the advertisement's id."""
        if isinstance(f, str):
            if not isinstance(self.kind, Language):
                raise SubscriptionError("this client reads no texts: give a filter")
            f = self.kind.template(f).bind(parameters)
        own = self._client.advertise(f)
        await self._settle()
        if own not in self._client.offered:
            raise SubscriptionError(self._client.refusals.pop(own, _REFUSED))
        return own

    async def _subscribed(self, owns: list[int]) -> list[Subscription]:
        found = [Subscription(own, self._drained) for own in owns]
        self._inbox.subscriptions.update((each.id, each) for each in found)
        await self._settle()
        wanted = self._client.wanted
        if not all(own in wanted for own in owns):
            why = [self._client.refusals.pop(own, _REFUSED) for own in owns]
            for own in owns:
                self._inbox.subscriptions.pop(own, None)
            raise SubscriptionError(why[0])
        return found

    # -- what it publishes

    async def publish(self, event: Event) -> int:
        """Publish an event; its number."""
        await self.publish_many([event])
        return self._kept.number

    async def publish_many(self, events: Any) -> None:
        """Publish many events: mappings, or an Arrow table or what speaks Arrow."""
        if not isinstance(events, Sequence) and speaks_arrow(events):
            for chunk in table_of(events).to_batches(max_chunksize=AT_ONCE):
                await self._publish(chunk.to_pylist())
            return
        listed = list(events)
        for start in range(0, len(listed), AT_ONCE):
            await self._publish(listed[start : start + AT_ONCE])

    async def confirmed(self) -> None:
        """Wait until the broker has taken, or refused, all that was published."""
        await self._until(lambda: not self._kept)

    async def _publish(self, events: Sequence[Event]) -> None:
        self._check_alive()
        written = [payload(event, self.kind) for event in events]
        await self._until(lambda: len(self._kept) < self._unconfirmed and not self._outbox.backlog)
        frames = self._kept.add(written)
        for data in frames if self._opened is not None else ():
            self._put(data)
        self._refuse_overlong()

    def _refuse_overlong(self) -> None:
        """Tell of events for which no frame that the broker takes has room."""
        overlong, self._kept.overlong = self._kept.overlong, []
        for number, size in overlong:
            self._refuse(number, f"the event takes {size:,} bytes, more than a frame may have here")

    def _refuse(self, number: int, reason: str) -> None:
        self.refused.append(reason)
        self._tell("refused", f"event {number}: {reason}")

    def _put(self, data: bytes) -> None:
        """Send a frame, now or when there are credits for it."""
        assert self._connection is not None
        for each in self._outbox.put([data]):
            self._connection.send(each)

    def _release(self) -> None:
        """Send what had to wait."""
        assert self._connection is not None
        while data := self._outbox.release():
            self._connection.send(data)
        self._news.set()

    # -- its connection

    async def close(self) -> None:
        """End the connection; what it wants goes when the broker has forgotten it."""
        self._closing = True
        if self._task is not None:
            self._task.cancel()
        if self._connection is not None:
            self._connection.close("the client goes")
            await asyncio.wait([self._connection.closed], timeout=PARTING)
            self._connection.cut("the client goes")
        self._fail("the client was closed")

    async def start(self) -> None:
        """Connect for the first time; `LinkError` if that fails."""
        await self._connect()
        self._task = asyncio.create_task(self._stay())
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Nobody keeps the connection any more: if that is a mistake, it is not a silent one."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(f"the client cannot go on: {error!r}")
            self._tell("failed", self._failure)

    async def _stay(self) -> None:
        """Keep a connection, and heartbeats on it."""
        loop = asyncio.get_running_loop()
        pause, began = Pause(_FIRST_PAUSE, _LONGEST_PAUSE), loop.time()
        while not self._failure:
            connection = self._connection
            if connection is not None and not connection.closed.done():
                await self._beat(connection)
                pause.lived(loop.time() - began)
                continue
            await asyncio.sleep(pause.draw())
            began = loop.time()
            try:
                await self._connect()
            except LinkError as error:
                self._tell("lost", str(error))

    async def _beat(self, connection: Connection) -> None:
        assert self._opened is not None
        silence = self._opened.silence
        slept = asyncio.get_running_loop().time()
        done, _ = await asyncio.wait([connection.closed], timeout=silence / 6)
        now = asyncio.get_running_loop().time()
        if done or now - slept > silence / 3:  # in which case it is this process that was away
            return
        if now - connection.heard > silence:
            connection.cut(f"nothing came for {silence:g} seconds")
        elif now - connection.sent > silence / 6:
            connection.send(frame(Sort.HEARTBEAT))

    async def _connect(self) -> None:
        self._opened = None
        made = await dial(self._address, self, self._tls)
        self._connection = made
        try:
            async with asyncio.timeout(_HANDSHAKE):
                self._tell("connected", (await self._answer(made)).broker)
        except TimeoutError:
            made.cut("no answer")
            await made.closed
            raise LinkError(f"{self._address} does not answer") from None

    async def _answer(self, made: Connection) -> Opened:
        """What the broker says to an opening."""
        while True:
            if self._opened is not None:
                return self._opened
            if made.closed.done():
                raise LinkError(f"{self._address} says: {made.reason}")
            self._news.clear()
            await self._news.wait()

    # -- what it is told

    def made(self, connection: Connection) -> None:
        """There is a connection."""
        self._inbox.begin()
        connection.send(say(opening("client", self.name, self._token, CREDITS, self._chosen)))

    def paused(self, connection: Connection, paused: bool) -> None:
        """The broker does not read what is sent, or reads again."""
        if connection is self._connection:
            self._outbox.paused = paused
            self._release()

    def lost(self, connection: Connection) -> None:
        """A connection is no more."""
        was_open = self._opened is not None
        self._opened = None
        self._outbox = Outbox(0)
        self._news.set()
        if connection.reason == _PLACE_TAKEN:
            self._fail(_PLACE_TAKEN)
            self._tell("failed", _PLACE_TAKEN)
        elif was_open and not self._closing:
            self._tell("lost", connection.reason)

    def came(self, connection: Connection, came: Frame) -> None:
        """A frame has come."""
        match came.sort:
            case Sort.DELIVERIES:
                self._client.overtaken = bool(came.flags & OVERTAKING)
                self._inbox.take(came, self._client, self.kind)
                self._drained()
            case Sort.CONTROL:
                self._client.overtaken = bool(came.flags & OVERTAKING)
                message = read_control(came.body, self.kind, _knows_nothing)
                self._client.hear(message)
                if isinstance(message, Refuse) and message.number is not None:
                    self._refuse(message.number, message.reason)
                self._news.set()
            case Sort.TAKEN if len(came.body) == 8:
                self._kept.taken(int.from_bytes(came.body, "little"))
                self._news.set()
            case Sort.CREDITS if connection.role:
                self._outbox.credits = max(self._outbox.credits, read_credits(came))
                self._release()
            case Sort.GAP:
                for own, count in self._inbox.miss(came, self._client).items():
                    why = f"{count:,} events for subscription {own}: they were not read"
                    self._tell("missed", why)
            case _ if not connection.role:
                self._open(connection, read_opened(came))
            case _:
                raise FrameError(f"no frame {came.sort.name.lower()} is expected here")

    def _take_kind(self, opened: Opened) -> None:
        """Have filters of the broker's kind, if nobody has chosen one; it stays the same then."""
        if not self._chosen:
            self._chosen = opened.kind or self.kind.name
            if self._chosen != self.kind.name:
                try:
                    self._client = self._speaking(kind_called(self._chosen))
                except TidegateError as error:
                    raise FrameError(f"{opened.broker}: {error}; say which kind it is") from None
        check_kind(opened.kind, opened.broker, self._chosen)

    def _open(self, connection: Connection, opened: Opened) -> None:
        self._take_kind(opened)
        connection.role = "broker"
        connection.frames.longest = connection.frames.message = 2**31
        self._opened = opened
        self._connection = connection
        self._outbox = Outbox(opened.credits)
        self._kept.limit(opened.events, opened.frame)
        self._client.reconnect(afresh=True, heard=opened.heard)
        for data in self._kept.again(opened.seen):
            self._put(data)
        self._refuse_overlong()
        self._news.set()

    def _drained(self) -> None:
        """Let more come, unless a subscription has many that wait."""
        if self._opened is not None and self._connection is not None:
            given = self._inbox.more()
            if given is not None:
                self._connection.send(credits_frame(given))

    def _send(self, message: Told) -> None:
        """Send a message; if there is no connection, it is told when there is one."""
        if self._opened is None:
            return
        whole = control_frame(message, self.kind)
        size, most = len(whole) - HEAD.size, self._opened.message
        if size <= max(self._opened.frame, most):
            for data in parted(whole, self._opened.frame):
                self._put(data)
        else:
            self._hold_back(message, f"this takes {size:,} bytes; {most:,} are allowed there")

    def _hold_back(self, message: Told, reason: str) -> None:
        """Answer a message in the place of the broker, which is told nothing under its number."""
        assert isinstance(message, Change | Advertise)
        assert self._connection is not None
        if message.whole:  # without that, nothing can be
            self._connection.close(f"all that is wanted is too much: {reason}")
            return
        self._put(control_frame(type(message)(message.seq), self.kind))
        refused = Refuse(message.seq, None, reason)
        asyncio.get_running_loop().call_soon(self._client.hear, refused)

    # -- waiting

    async def _settle(self) -> None:
        """Wait until the broker has answered all that it was told so far."""
        said = self._client.said
        await self._until(lambda: self._client.answered(said))

    async def _until(self, done: Callable[[], bool]) -> None:
        while not done():
            self._check_alive()
            self._news.clear()
            await self._news.wait()

    def _check_alive(self) -> None:
        if self._failure:
            raise LinkError(self._failure)

    def _fail(self, reason: str) -> None:
        self._failure = reason
        self._inbox.end("" if self._closing else reason)
        self._news.set()

    def _tell(self, news: News, why: str) -> None:
        if self._watch is None:
            return
        try:
            self._watch(news, why)
        except Exception as error:  # a mistake in there must not end the connection
            about = {"message": "whoever watches a client has failed", "exception": error}
            asyncio.get_running_loop().call_exception_handler(about)


class _Wire:
    """How the protocol's messages reach the broker; events go in frames of many."""

    def __init__(self, send: Callable[[Told], None]) -> None:
        self.send = send


def _knows_nothing(_: object, own: int) -> Filter:
    raise KeyError(own)


async def connect(
    address: str,
    *,
    name: str = "",
    kind: Kind | None = None,
    watch: Watch | None = None,
    unconfirmed: int = 100_000,
    tls: Tls | None = None,
    token: str = "",
    patience: float = 0.0,
) -> Client:
    """A client of the broker at an address.

    A client that chooses no kind of filters has those of its broker.

    A client without a name gets one that nobody else has; one with a certificate or a token has the
    name that belongs to it. `watch` is told when the connection is lost and there again, and when
    an event was refused. A broker that is not there yet is waited for, `patience` seconds.
    """
    if tls is not None and not name:
        raise TidegateError("a client that uses TLS says its name, as the broker knows it")
    own = name or f"client-{uuid.uuid4().hex[:12]}"
    where = read_address(address)
    client = Client(where, own, kind, watch, unconfirmed, tls, token)
    await patiently(client.start, patience)
    return client
