"""Subscribers that do not read, and brokers that wait for credits; all over real sockets."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.conftest import LONG
from tests.network.live import Net, delivered, until
from tests.network.test_live import KIND, One, play
from tests.network.test_processes import broker
from tidegate.network import client as live
from tidegate.network import inbox, notification
from tidegate.network.address import Address, read_address
from tidegate.network.client import Client, connect
from tidegate.network.control_frames import control_frame
from tidegate.network.event_frames import events_frame, payloads_of
from tidegate.network.frames import Sort, frame
from tidegate.network.limits import Limits
from tidegate.network.opening import VERSION, Opening, say
from tidegate.network.payloads import payload
from tidegate.network.server import Server
from tidegate.network.status import status
from tidegate.overlay.messages import Change, Entry

TEXT = "x" * 400
FEW = 50  # notifications that may wait for an application, in these tests
EVERYTHING = control_frame(Change(1, add=(Entry(1, KIND.parse("price >= 0")),)), KIND)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Applications are slow sooner."""
    for module in (inbox, notification):
        monkeypatch.setattr(module, "MANY", FEW)


async def deaf(address: Address, credits: int = 2**62) -> asyncio.StreamWriter:
    """Somebody who wants everything, says that much may come, and never reads."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(say(Opening(VERSION, "client", "deaf", credits=credits)) + EVERYTHING)
    await writer.drain()
    while not reader._buffer:  # type: ignore[attr-defined]  # what has come, and was not read
        await asyncio.sleep(0.005)
    return writer


async def publish(client: Client, count: int, start: int = 0) -> None:
    for first in range(start, start + count, 100):
        few = range(first, min(first + 100, start + count))
        await client.publish_many([{"price": i, "text": TEXT} for i in few])


def held(server: Server, link: str) -> int:
    waiting: int = server._fares(link)["waiting"]
    return waiting


# -- dropped from


def test_who_does_not_read_is_told_how_much_was_dropped(few: None) -> None:
    async def story() -> None:
        limits = Limits(buffer=400_000)
        async with One(limits, slow="drop") as server:
            at, news = str(server.address), list[tuple[str, str]]()
            ann = await connect(at, name="ann", watch=lambda *said: news.append(said))
            bob, cid = await connect(at, name="bob"), await connect(at, name="cid")
            slow, other = await ann.subscribe("price >= 0"), await ann.subscribe("price < 0")
            quick = await cid.subscribe("price >= 0")
            count, most = 0, 0
            while not server.driver.counted["dropped"] or count < 6_000:
                await publish(bob, 500, count)
                await bob.confirmed()
                count += 500
                most = max(most, held(server, "ann"))
                for _ in range(500):
                    assert (await anext(quick)).missed == 0
            assert most <= limits.buffer
            got, missed, last = 0, 0, 0
            while last < count:
                one = await anext(slow)
                assert one.number == last + one.missed + 1
                got, missed, last = got + 1, missed + one.missed, one.number
            assert got + missed == count
            assert missed == slow.missed == server.driver.counted["dropped"] > 0
            assert other.missed == 0
            assert ("missed", f"{missed:,} events for subscription 1: they were not read") in news
            for client in (ann, bob, cid):
                await client.close()

    play(story())


# -- waited for


def test_who_does_not_read_is_waited_for_and_nothing_is_lost(few: None) -> None:
    async def story() -> None:
        limits = Limits(buffer=100_000, credits=20_000, patience=60)
        async with One(limits, slow="wait") as server:
            at = str(server.address)
            ann, bob = await connect(at, name="ann"), await connect(at, name="bob")
            slow = await ann.subscribe("price >= 0")
            sending = asyncio.create_task(publish(bob, 5_000))
            await until(lambda: server.pressure.status("ann")["full"])
            await asyncio.sleep(0.1)
            assert not sending.done()  # its publisher waits for credits
            assert held(server, "ann") < limits.buffer + 2 * 50_000
            # messages get through all the same
            await ann.update(slow, "price >= :x", x=0)
            await ann.cancel(await ann.subscribe("price < 0"))
            await bob.cancel(await bob.subscribe("price < 0"))
            for number in range(1, 5_001):
                one = await anext(slow)
                assert (one.number, one.missed) == (number, 0)
            await sending
            await ann.close()
            await bob.close()

    play(story())


def test_nobody_is_waited_for_longer_than_the_limit() -> None:
    async def story() -> None:
        limits = Limits(buffer=100_000, credits=20_000, patience=0.2)
        async with One(limits, slow="wait") as server:
            writer = await deaf(server.address, credits=0)
            at = str(server.address)
            ann, bob = await connect(at, name="ann"), await connect(at, name="bob")
            wanted = await ann.subscribe("price >= 0")
            sending = asyncio.create_task(publish(bob, 2_000))
            for number in range(1, 2_001):
                assert (await anext(wanted)).number == number
            await sending
            assert server.driver.counted["cut"] == 1
            assert "deaf" not in server._connections
            for client in (ann, bob):
                await client.close()
            writer.transport.abort()

    play(story())


async def update_while_events_wait() -> None:
    """An answer overtakes events from before it: they are looked at, and none is lost."""
    async with One() as server:
        at = str(server.address)
        ann, bob = await connect(at, name="ann"), await connect(at, name="bob")
        wanted = await ann.subscribe("price >= 0")
        await publish(bob, 4_000)
        await bob.confirmed()
        assert held(server, "ann") > 0
        before = wanted.waiting
        await ann.update(wanted, "price >= 3000 OR price = 3")  # another shape, and another entry
        await publish(bob, 10, 2_995)
        await bob.confirmed()
        owed = [number for number in range(before + 1, 4_001) if number > 3_000]
        owed += range(4_006, 4_011)
        got = [(await anext(wanted)).number for _ in range(before + len(owed))]
        assert got == [*range(1, before + 1), *owed]
        await ann.close()
        await bob.close()


def test_an_update_holds_for_events_that_had_to_wait(few: None) -> None:
    play(update_while_events_wait())


def test_it_is_noticed_if_it_does_not(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "OVERTAKING", 0)  # a mistake: flags are not looked at
    with pytest.raises((AssertionError, TimeoutError)):
        play(update_while_events_wait(), seconds=3)


# -- brokers do not wait for each other


def test_full_load_both_ways_on_a_line_of_three(tmp_path: Path) -> None:
    async def story() -> None:
        limits = Limits(silence=30.0, credits=2_000, buffer=4_000)
        count = 20_000 if LONG else 1_500
        async with Net([0, 1], tmp_path, limits=limits, slow="wait") as net:
            clients = [await net.client(f"c{i}", name) for i, name in enumerate(net.names)]
            wanted = [await client.subscribe("price >= 0") for client in clients]
            await net.settle()
            sending = [asyncio.create_task(publish(client, count)) for client in clients]
            reading = [delivered(subscription, 3 * count) for subscription in wanted]
            for found in await asyncio.gather(*reading):
                assert len(found) == 3 * count
                assert set(found.values()) == {1}
            await asyncio.gather(*sending)
            counted = [server.driver.counted["cut"] for server in net.servers.values()]
            assert counted == [0, 0, 0]
            for client in clients:
                await client.close()

    play(story())


def test_events_without_credits_end_the_connection() -> None:
    async def story() -> None:
        async with One(Limits(credits=1_000, buffer=1_000), slow="wait") as server:
            silent = await deaf(server.address, credits=0)
            async with await connect(str(server.address), name="bob") as bob:
                connection = bob._connection
                assert connection is not None
                one = payloads_of([payload({"price": 1, "text": TEXT}, KIND)])
                for number in range(1, 20):  # it does not wait for credits
                    connection.send(events_frame([number], [], one))
                    await asyncio.sleep(0.01)
                await until(lambda: connection.reason != "")
                assert connection.reason == "events were sent without credits for them"
            silent.transport.abort()

    play(story())


def test_answers_that_nobody_reads_have_an_end_too() -> None:
    async def story() -> None:
        limits = Limits(buffer=200_000, credits=2**30)
        async with One(limits, slow="drop") as server:
            writer = await deaf(server.address)
            bad = payloads_of([b"\xc1"] * 1_000)  # each is refused with the reason
            most = 0
            for start in range(1, 10**6, 1_000):
                writer.write(events_frame(range(start, start + 1_000), [], bad))
                await asyncio.sleep(0.005)
                if "deaf" not in server._connections:
                    break
                most = max(most, held(server, "deaf"))
            assert server.driver.counted["cut"] == 1
            assert most <= limits.buffer
            writer.transport.abort()

    play(story())


# -- a process, at full rate


def resident(process: int) -> int:
    """The most memory that a process has had, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


@pytest.mark.slow
@pytest.mark.parametrize("slow", ["cut", "drop"] if LONG else ["cut"])
def test_somebody_who_never_reads_at_full_rate(slow: str) -> None:
    """Memory stays below a ceiling, and everybody else gets everything and waits for nobody."""
    buffer, ceiling, seconds = 2 * 2**20, 32 * 2**20, 60.0 if LONG else 1.0
    what = "cut" if slow == "cut" else "dropped"

    async def story(address: str, process: int) -> None:
        readers = [await connect(address, name=f"reader{i}") for i in range(3)]
        wanted = [await reader.subscribe("price >= 0") for reader in readers]
        bob = await connect(address, name="bob")
        loop = asyncio.get_running_loop()
        count, done, writer, before, end = 0, False, None, 0, 0.0
        while loop.time() < end or not done:
            await publish(bob, 1_000, count)
            await bob.confirmed()
            for subscription in wanted:
                for number in range(count + 1, count + 1_001):
                    one = await anext(subscription)
                    assert (one.number, one.missed) == (number, 0)
            count += 1_000
            if writer is None:
                before, end = resident(process), loop.time() + seconds
                writer = await deaf(read_address(address))
            if not done:
                writer.write(frame(Sort.HEARTBEAT))
            found = await status(address)
            done = found["counted"].get(what, 0) > 0
            assert not any(link["full"] for link in found["links"])
        assert writer is not None
        writer.transport.abort()
        assert resident(process) - before < buffer + ceiling
        assert found["counted"].get("cut", 0) == (slow == "cut")
        for client in (*readers, bob):
            await client.close()

    limit = f"buffer={buffer}"
    arguments = "--name", "a", "--listen", "127.0.0.1:0", "--slow", slow, "--limit", limit
    with broker(*arguments) as (process, address):
        play(story(address, process.pid))
