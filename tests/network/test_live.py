"""The live network over real sockets: the contract, and what broke older systems of this kind."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.conftest import LONG
from tests.network.forked import Forked
from tests.network.live import ANY, Net, delivered, until
from tidegate.errors import LinkError, SubscriptionError, TidegateError
from tidegate.network import dialing
from tidegate.network import status as asking
from tidegate.network.address import Address, read_address
from tidegate.network.client import Client, connect
from tidegate.network.connection import Connection
from tidegate.network.control_frames import control_frame
from tidegate.network.event_frames import events_frame, payloads_of
from tidegate.network.frames import HEAD, Sort, frame
from tidegate.network.limits import Limits
from tidegate.network.notification import Subscription
from tidegate.network.opening import VERSION, Opening, say
from tidegate.network.payloads import payload
from tidegate.network.pressure import Slow
from tidegate.network.server import Server
from tidegate.network.status import status
from tidegate.network.sync_client import connect as connect_sync
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import Change, Entry
from tidegate.overlay.settings import Settings

KIND = Attributes()
OPENING = say(Opening(VERSION, "client", "x"))


def play(story: Coroutine[Any, Any, None], seconds: float = 120.0) -> None:
    asyncio.run(asyncio.wait_for(story, seconds))


class One:
    """One server, without a storage."""

    def __init__(
        self,
        limits: Limits | None = None,
        settings: Settings | None = None,
        slow: Slow = "cut",
        at: Address = ANY,
    ) -> None:
        broker = Broker("a", Attributes(), settings=settings)
        self.server = Server(broker, at, limits=limits, slow=slow, tick=0.05)

    async def __aenter__(self) -> Server:
        await self.server.start()
        self.run = asyncio.create_task(self.server.run())
        return self.server

    async def __aexit__(self, *_: object) -> None:
        self.server.stop()
        await self.run


# -- the contract


class History:
    """Clients that do things at random, and what they are owed."""

    def __init__(self, net: Net | Forked, seed: int) -> None:
        self.net, self.random = net, Random(seed)
        self.clients: list[Client] = []
        self.wanted: dict[Subscription, tuple[Client, str, int]] = {}

    async def play(self, steps: int, *, certain: bool = False) -> None:
        """So many steps; something fails in each, if that is to be certain."""
        for i, name in enumerate(self.net.names):
            self.clients.append(await self.net.client(f"c{i}", name))
        for _ in range(steps):
            for _ in range(self.random.randint(1, 4)):
                await self.change()
            await self.fault(self.random.random() * (0.55 if certain else 1))
            await self.net.settle()
            await self.probe()
        for client in self.clients:
            await client.close()

    async def change(self) -> None:
        limit, drawn = self.random.randint(0, 20), self.random.random()
        text = self.random.choice(["price < :x", "price >= :x AND side = 'buy'", "side != 'buy'"])
        given = {"x": limit} if ":x" in text else {}
        if not self.wanted or drawn < 0.6:
            client = self.random.choice(self.clients)
            self.wanted[await client.subscribe(text, **given)] = client, text, limit
            return
        subscription = self.random.choice(list(self.wanted))
        client = self.wanted[subscription][0]
        if drawn < 0.8:
            await client.update(subscription, text, **given)
            self.wanted[subscription] = client, text, limit
        else:
            await client.cancel(subscription)
            del self.wanted[subscription]

    async def fault(self, drawn: float) -> None:
        name = self.random.choice(self.net.names)
        if drawn < 0.3 and name in self.net.parents:
            self.net.cut(name)
        elif drawn < 0.55:
            await (self.net.kill if drawn < 0.45 else self.net.stop)(name)
            await asyncio.sleep(self.random.random() / 20)
            await self.net.start(name)
            place = self.net.names.index(name)
            await self.net.welcomed(self.clients[place], name)

    async def probe(self) -> None:
        """Events now reach exactly those that want them, once."""
        owed: dict[Subscription, set[tuple[str, int]]] = {each: set() for each in self.wanted}
        for place, client in enumerate(self.clients):
            name = f"{self.net.names[place]}/{client.name}"
            for _ in range(self.random.randint(0, 6)):
                event = {
                    "price": self.random.randint(-1, 21),
                    "side": self.random.choice(["buy", "sell", None]),
                }
                number = await client.publish(event)
                for subscription, (_, text, limit) in self.wanted.items():
                    f = KIND.parse(text, x=limit) if ":x" in text else KIND.parse(text)
                    if f.matches(event):
                        owed[subscription].add((name, number))
        for client in self.clients:
            await client.confirmed()
        for subscription, events in owed.items():
            found = await delivered(subscription, len(events))
            assert dict(found) == dict.fromkeys(events, 1), self.wanted[subscription]


@pytest.mark.parametrize("seed", range(60 if LONG else 3))
def test_the_contract_holds_over_sockets(seed: int, tmp_path: Path) -> None:
    async def story() -> None:
        random = Random(seed)
        parents = [random.randrange(i) for i in range(1, random.randint(3, 7))]
        policy = random.choice(["simple", "covering", "merging"])
        async with Net(parents, tmp_path, policy) as net:
            await History(net, seed).play(12 if LONG else 5)

    play(story())


@pytest.mark.parametrize("seed", range(40 if LONG else 2))
def test_the_contract_holds_between_processes(seed: int, tmp_path: Path) -> None:
    async def story() -> None:
        random = Random(seed)
        parents = [random.randrange(i) for i in range(1, random.randint(3, 7) if LONG else 3)]
        policy = random.choice(["simple", "covering", "merging"])
        async with Forked(parents, tmp_path, policy) as net:
            await History(net, seed).play(10 if LONG else 4, certain=True)

    play(story(), seconds=300.0)


# -- clients


def test_a_client_that_reconnects_gets_what_it_asked_for(tmp_path: Path) -> None:
    async def story() -> None:
        async with Net([0], tmp_path) as net:
            news: list[str] = []
            at = str(net.servers["b0"].address)
            ann = await connect(at, name="ann", watch=lambda what, _: news.append(what))
            bob = await net.client("bob", "b1")
            cheap = await ann.subscribe("price < 10")
            await net.kill("b0")
            await until(lambda: "lost" in news)
            await net.start("b0")
            await until(lambda: news[-1] == "connected")
            await net.settle()
            number = await bob.publish({"price": 5})
            assert (await anext(cheap))[1:4] == ((cheap.id,), "b1/bob", number)
            await ann.close()
            await bob.close()

    play(story())


def test_what_was_not_confirmed_is_sent_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with Net([0], tmp_path) as net:
            ann, bob = await net.client("ann", "b1"), await net.client("bob", "b0")
            every = await ann.subscribe("price >= 0")
            await net.settle()
            await net.stop("b0")
            await bob.publish_many([{"price": i} for i in range(50)])
            await net.start("b0")
            await net.settle()
            await bob.publish_many([{"price": i} for i in range(50)])
            await bob.confirmed()
            found = await delivered(every, 50)
            assert set(found.values()) == {1}
            assert {number for _, number in found} >= set(range(51, 101))
            await ann.close()
            await bob.close()

    play(story())


def test_another_client_of_the_name_takes_its_place() -> None:
    async def story() -> None:
        async with One() as server:
            news: list[tuple[str, str]] = []
            at = str(server.address)
            first = await connect(at, name="ann", watch=lambda *said: news.append(said))
            await first.publish({"price": 5})
            await first.confirmed()
            async with await connect(at, name="ann") as second:
                assert await second.publish({"price": 5}) == 2
                await second.confirmed()
                await until(lambda: ("failed", "another connection has taken its place") in news)
                with pytest.raises(LinkError, match="taken its place"):
                    await first.subscribe("price < 10")
            await first.close()

    play(story())


def test_what_a_client_wanted_goes_when_it_has_gone_for_long() -> None:
    async def story() -> None:
        async with One(Limits(keep=0.1)) as server:
            async with await connect(str(server.address)) as ann:
                await ann.subscribe("price < 10")
                assert len(server.driver.broker.routing.wanted) == 1
            await until(lambda: not len(server.driver.broker.routing.wanted))

    play(story())


def test_many_subscriptions_of_one_text_travel_as_columns() -> None:
    async def story() -> None:
        async with One() as server, await connect(str(server.address)) as ann:
            rows = [{"low": i, "high": i + 1} for i in range(2_000)]
            wanted = await ann.subscribe_many("price >= :low AND price < :high", rows)
            await ann.publish_many([{"price": i} for i in range(100)])
            await ann.confirmed()
            for i in range(100):
                assert (await anext(wanted[i])).event == {"price": i}
            found = await status(str(server.address))
            assert found["entries"] == 2_000
            assert found["counted"]["events in"] == 100

    play(story())


def test_refusals_are_told(tmp_path: Path) -> None:
    async def story() -> None:
        settings = Settings(advertisements=True, event_size=100)
        async with One(Limits(subscriptions=2), settings) as server:
            news: list[tuple[str, str]] = []
            at = str(server.address)
            async with await connect(at, watch=lambda *said: news.append(said)) as ann:
                await ann.advertise("price > :least", least=1)
                wanted = await ann.subscribe("price < 10")
                await ann.subscribe("price < 11")
                with pytest.raises(SubscriptionError, match="2 subscriptions"):
                    await ann.subscribe("price < 12")
                await ann.publish_many([{"price": 0}, {"price": 5, "text": "x" * 200}])
                await ann.publish({"price": 5})
                await ann.confirmed()
                assert [why.partition(": ")[2][:20] for what, why in news if what == "refused"] == [
                    "the event is not amo",
                    "the event takes 215 ",
                ]
                assert (await anext(wanted)).event == {"price": 5}

    play(story())


def test_a_sync_client_does_the_same() -> None:
    async def story() -> None:
        async with One() as server:
            await asyncio.to_thread(_in_a_thread, str(server.address))

    play(story())


def _in_a_thread(at: str) -> None:
    with connect_sync(at, name="ann") as ann:
        wanted = ann.subscribe("price < :x", x=10)
        ann.publish_many(pa.table({"price": [5, 50]}))
        ann.publish({"price": 6})
        assert [next(wanted).event["price"] for _ in range(2)] == [5, 6]
        ann.update(wanted, "price < :x", x=1)
        ann.publish({"price": 6})
        ann.confirmed()
        with pytest.raises(TimeoutError):
            wanted.next(timeout=0.05)
        ann.cancel(wanted)
        assert list(wanted) == []
    with pytest.raises(LinkError, match="cannot be reached"):
        connect_sync("127.0.0.1:1")


# -- changes under load


@pytest.mark.slow
def test_no_event_is_missed_that_matches_before_and_after_a_change(tmp_path: Path) -> None:
    """A filter is changed 1,000 times a second, in its constants and in its shape."""
    texts = ["price < :x", "price < :x OR side = 'buy'", "price >= 0 AND price <= :x"]
    least = 20_000 if LONG else 1_000

    async def story() -> None:
        async with Net([0, 1], tmp_path, limits=Limits(), storage=False) as net:
            ann, bob = await net.client("ann", "b0"), await net.client("bob", "b2")
            wanted = await ann.subscribe("price < :x", x=100)
            await net.settle()
            loop = asyncio.get_running_loop()
            began, changes, count = loop.time(), 0, 0

            async def change() -> None:
                nonlocal changes
                while changes < least:
                    due = 1_000 * (loop.time() - began) - changes
                    for _ in range(min(int(due), 20)):
                        text = texts[changes // 7 % 3]
                        ann._client.change(wanted.id, text, x=100 + changes % 50)
                        changes += 1
                    await asyncio.sleep(0.001)

            changing = asyncio.create_task(change())
            while not changing.done():
                await bob.publish_many([{"price": (count + i) % 100} for i in range(30)])
                count += 30
                await asyncio.sleep(0.01)
            await changing
            await bob.confirmed()
            found = await delivered(wanted, count)
            assert found == dict.fromkeys([("b2/bob", i) for i in range(1, count + 1)], 1)
            assert not ann._client.refused
            await ann.close()
            await bob.close()

    play(story())


def test_whoever_asks_how_a_broker_fares_leaves_no_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Connection] = []

    async def dial(*given: Any) -> Connection:
        made.append(await dialing.dial(*given))
        return made[-1]

    monkeypatch.setattr(asking, "dial", dial)

    async def story() -> None:
        async with One() as server:
            assert (await status(str(server.address)))["broker"] == "a"
            assert [each.closed.done() for each in made] == [True]
            monkeypatch.setattr(asking, "_PATIENCE", 0.0)
            with pytest.raises(LinkError, match="does not answer"):
                await status(str(server.address))
            assert [each.closed.done() for each in made] == [True, True]

    play(story())


# -- whoever is at the other end may be broken, or hostile


async def said(writer: asyncio.StreamWriter, reader: asyncio.StreamReader, data: bytes) -> bytes:
    """All that a broker answers to some bytes, until it ends the connection."""
    writer.write(data)
    found = await asyncio.wait_for(reader.read(), 30)
    writer.close()
    return found


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "there is no frame of the kind"),
        (frame(Sort.HEARTBEAT, b"x"), "a heartbeat has nothing in it"),
        (HEAD.pack(2**20, Sort.OPENING, 0, 0), "a frame has 1,048,576 bytes; 65,536 are allowed"),
        (frame(Sort.OPENING, b"\xc1"), "this is no opening"),
        (frame(Sort.CONTROL, b"\xc0"), "the first frame is no opening"),
        (say(Opening(9, "client", "x")), "version 1 of the format is spoken here, not 9"),
        (say(Opening(VERSION, "client", "a")), "a is the name of this broker"),
        (say(Opening(VERSION, "client", "")), "a name has 1 to 200 letters"),
        (OPENING + frame(Sort.CONTROL, b"\x90"), "a control frame"),
        (OPENING + frame(Sort.STATUS), "no frame status is expected"),
        (
            OPENING + frame(Sort.EVENTS, b"123"),
            "ends within its table",
        ),
        (
            OPENING + HEAD.pack(2**30, Sort.EVENTS, 0, 0),
            "a frame has 1,073,741,824 bytes; 16,777,216 are allowed",
        ),
        (
            OPENING + HEAD.pack(0, 4, 1, 0),
            "flags that were not agreed",
        ),
    ],
)
def test_what_cannot_be_is_answered_with_the_reason(data: bytes, why: str) -> None:
    async def story() -> None:
        async with One() as server:
            reader, writer = await asyncio.open_connection(*server.address)
            assert why in (await said(writer, reader, data)).decode("utf-8", "replace")
            async with await connect(str(server.address)) as ann:  # everybody else goes on
                await ann.subscribe("price < 10")

    play(story())


def test_an_event_that_cannot_be_read_is_refused_and_the_link_goes_on() -> None:
    async def story() -> None:
        async with One() as server, await connect(str(server.address), name="ann") as ann:
            wanted = await ann.subscribe("price < 10")
            assert ann._connection is not None
            payloads = payloads_of([b"\xc1", payload({"price": 1}, KIND), b"\x01"])
            ann._connection.send(events_frame([1, 2, 3], [], payloads))
            assert (await anext(wanted)).number == 2
            await until(lambda: len(ann.refused) == 2)

    play(story())


def test_silent_and_half_open_connections_are_ended() -> None:
    async def story() -> None:
        async with One(Limits(handshake=0.1, silence=0.3)) as server:
            reader, writer = await asyncio.open_connection(*server.address)
            assert b"nothing was said" in await said(writer, reader, b"\x05")
            reader, writer = await asyncio.open_connection(*server.address)
            answer = await said(writer, reader, say(Opening(VERSION, "client", "x")))
            assert answer.count(frame(Sort.HEARTBEAT)) >= 1
            async with await connect(str(server.address)) as ann:
                await asyncio.sleep(0.8)  # a client beats by itself
                await ann.subscribe("price < 10")

    play(story())


def test_a_frame_of_too_many_events_ends_the_connection_with_the_reason() -> None:
    async def story() -> None:
        async with One(Limits(events=2)) as server:
            reader, writer = await asyncio.open_connection(*server.address)
            three = events_frame([1, 2, 3], [], payloads_of([b"\x80"] * 3))
            answer = await said(writer, reader, say(Opening(VERSION, "client", "x")) + three)
            assert b"a frame has 3 events; 2 are allowed" in answer

    play(story())


def test_who_says_a_byte_at_a_time_is_not_waited_for() -> None:
    async def story() -> None:
        async with One(Limits(handshake=0.2)) as server:
            _, writer = await asyncio.open_connection(*server.address)
            await until(lambda: bool(server._all))
            for byte in OPENING[:-1]:  # what it says does not win it time
                writer.write(bytes([byte]))
                await asyncio.sleep(0.02)
                if not server._all:
                    break
            await until(lambda: not server._all)
            assert not server.driver.broker.routing.links
            writer.transport.abort()

    play(story())


def test_mutated_frames_over_sockets_are_answered_or_end_their_connection() -> None:
    """Nobody else notices, and nothing of it stays."""
    random = Random(7)

    def right() -> list[bytes]:
        """What could be taken as it is, one after the other, and something that never is."""
        found = []
        for seq in range(1, 5):
            few = (Entry(seq, KIND.parse("price < 5")),)
            many = tuple(Entry(10 * seq + i, KIND.parse("price < :x", x=i)) for i in range(3))
            events = payloads_of([payload({"price": i}, KIND) for i in range(seq * 6)])
            found += [
                control_frame(Change(seq, add=random.choice((few, many))), KIND),
                events_frame(range(100 * seq, 106 * seq), [], events),
                random.choice((frame(Sort.HEARTBEAT), frame(Sort.CREDITS, b"\0\0\1\0" + bytes(4)))),
            ]
        unexpected = frame(Sort.GAP, bytes(4)), frame(Sort.TAKEN, bytes(8))
        return [*found, random.choice(unexpected)]

    def mutated(data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(random.choice((0, 0, 0, 0, 1, 2))):
            changed[random.randrange(len(changed))] = random.choice(
                (0, 1, 2, 10, 58, 127, 128, 255)
            )
        return bytes(changed)

    async def hostile(address: Address, name: str) -> None:
        reader, writer = await asyncio.open_connection(*address)
        opening = say(Opening(VERSION, "client", name))
        frames = [mutated(each) for each in (opening, *right())]
        writer.write(b"".join(frames) + b"\xff" * random.randint(0, 20))
        with suppress(OSError):
            writer.write_eof()
        with suppress(ConnectionError):  # it may hang up before it has read all
            await asyncio.wait_for(reader.read(), 30)
        writer.transport.abort()

    async def story() -> None:
        limits = Limits(keep=0.05, handshake=1.0)
        async with One(limits) as server, await connect(str(server.address)) as ann:
            wanted = await ann.subscribe("price = 77")
            times = 3_000 if LONG else 150
            for i in range(times):
                await hostile(server.address, f"x{i}")
                assert all(each.frames.waiting < 2**17 for each in server._all)
            driver = server.driver
            assert min(driver.refused[each] for each in ("opening", "no event")) > 0
            assert min(driver.counted[each] for each in ("messages in", "deliveries")) > times
            assert driver.counted["events in"] > 5 * times
            await ann.publish({"price": 77})
            assert (await anext(wanted)).event == {"price": 77}
            await until(lambda: len(server._all) == 1)
            await until(lambda: len(server.driver.broker.routing.wanted) == 1)

    play(story())


def test_connections_have_a_limit() -> None:
    async def story() -> None:
        async with One(Limits(connections=1)) as server, await connect(str(server.address)):
            with pytest.raises(LinkError, match="1 connections are all"):
                await connect(str(server.address))

    play(story())


def test_a_subscriber_that_does_not_read_is_cut_and_others_are_not() -> None:
    async def story() -> None:
        async with One(Limits(buffer=200_000)) as server:
            at = str(server.address)
            _, writer = await asyncio.open_connection(*server.address)
            deaf = "deaf"
            writer.write(say(Opening(VERSION, "client", deaf)))
            await until(lambda: deaf in server._connections)
            every = Change(1, add=(Entry(1, KIND.parse("price >= 0")),))
            writer.write(control_frame(every, KIND))
            async with await connect(at) as ann, await connect(at) as bob:
                wanted = await ann.subscribe("price >= 0")
                await until(lambda: len(server.driver.broker.routing.wanted) == 2)
                count, most = 0, 0
                while deaf in server._connections:
                    await bob.publish_many([{"price": i, "text": "x" * 500} for i in range(100)])
                    count += 100
                    await bob.confirmed()
                    held = [c.waiting for c in server._connections.values()]
                    most = max(most, *held)
                assert server.driver.counted["cut"] == 1
                assert most < 200_000 + 200_000  # the limit, and one round
                for _ in range(count):
                    await anext(wanted)
            writer.close()

    play(story())


def test_only_this_machine_unless_told_otherwise() -> None:
    async def story() -> None:
        for host in ("0.0.0.0", "192.0.2.1", "::", "example.org"):
            with pytest.raises(TidegateError, match="--anywhere"):
                Server(Broker("a", KIND), Address(host, 0))
        Server(Broker("a", KIND), Address("0.0.0.0", 0), anywhere=True)
        Server(Broker("a", KIND), Address("::1", 0))

    play(story())


@pytest.mark.parametrize("text", ["", "7400", "host:", ":7400", "host:port", "host:99999", "h:-1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(TidegateError, match="is no address"):
        read_address(text)


def test_numbers_of_arrays_and_lists_are_the_same() -> None:
    payloads = payloads_of([b"a", b"bc", b""])
    whole = events_frame([1, 2, 3], ["x", "y", "x"], payloads)
    assert whole == events_frame([1, 2, 3], ["x", "y", "x"], payloads, np.arange(3, dtype=np.int32))
