"""Each limit of a broker has an answer, and whoever keeps to it is not harmed by it."""

import asyncio
from collections import Counter
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import ROOT
from tests.network.live import ANY, until
from tests.network.test_live import KIND, OPENING, One, play, said
from tidegate.errors import FrameError, LinkError, SubscriptionError, TidegateError
from tidegate.network.client import connect
from tidegate.network.control_frames import control_frame, read_control
from tidegate.network.driver import Driver
from tidegate.network.event_frames import (
    NAMED_ROOM,
    Room,
    events_frame,
    events_frames,
    payloads_of,
    read_events_frame,
    widest,
)
from tidegate.network.frames import FIRST, HEAD, IN_TURN, MORE, Frame, Frames, Sort, frame, parted
from tidegate.network.limits import Limits, changed
from tidegate.network.opening import VERSION, Opening, say
from tidegate.network.server import Server
from tidegate.network.unconfirmed import Unconfirmed
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import Batch, Change, Entry, Hello, LinkUp, Publish
from tidegate.overlay.settings import Settings


def test_every_limit_is_told_in_the_documents() -> None:
    text = (ROOT / "docs" / "network.md").read_text(encoding="utf-8")
    told = text.partition("## Limits")[2].partition("\n## ")[0]
    for name in [*(each.name for each in fields(Limits)), "filter_size", "event_size"]:
        assert f"- `{name}`" in told or f"and `{name}`" in told, name


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"frame": 0}, "the limit frame is more than 0, not 0"),
        ({"keep": float("nan")}, "the limit keep is more than 0, not nan"),
        ({"keep": float("inf")}, "the limit keep is a number of seconds, not inf"),
        ({"events": 0.5}, "the limit events is a whole number, not 0.5"),
        ({"connections": float("inf")}, "the limit connections is a whole number, not inf"),
        ({"credits": 2**64}, "the limit credits is a whole number"),
        ({"nothing": 1}, "there is no limit nothing"),
    ],
)
def test_what_can_be_no_limit(given: dict[str, float], why: str) -> None:
    with pytest.raises(TidegateError, match=why):
        changed(Limits(), given)


# -- frames of events


@pytest.mark.parametrize("limits", [Limits(events=100), Limits(frame=20_000)])
def test_a_client_sends_no_more_in_a_frame_than_its_broker_takes(limits: Limits) -> None:
    async def story() -> None:
        async with One(limits) as server:
            news: list[str] = []
            at = str(server.address)
            async with await connect(at, watch=lambda what, _: news.append(what)) as ann:
                wanted = await ann.subscribe("price >= 0")
                await ann.publish_many([{"price": i, "text": "x" * 100} for i in range(350)])
                await ann.confirmed()
                assert [(await anext(wanted)).event["price"] for _ in range(350)] == [*range(350)]
                assert news == ["connected"]

    play(story())


def test_an_event_for_which_no_frame_has_room_is_refused_and_others_go_on() -> None:
    async def story() -> None:
        async with One(Limits(frame=1_000)) as server:
            news: list[tuple[str, str]] = []
            at = str(server.address)
            async with await connect(at, watch=lambda *said: news.append(said)) as ann:
                wanted = await ann.subscribe("price >= 0")
                texts = ["x", "x" * 1_000, "x"]
                await ann.publish_many([{"price": i, "text": x} for i, x in enumerate(texts)])
                await ann.confirmed()
                assert [(await anext(wanted)).number for _ in range(2)] == [1, 3]
                why = "event 2: the event takes 1,016 bytes, more than a frame may have here"
                assert news[1:] == [("refused", why)]
                assert list(ann.refused) == [why.removeprefix("event 2: ")]

    play(story())


def test_what_is_kept_for_a_broker_is_what_it_takes() -> None:
    events = Unconfirmed()
    frames = list(events.add([b"x" * size for size in (10, 200, 30, 40)]))
    assert len(frames) == 1
    events.limit(2, 60)
    assert events.overlong == [(2, 200)]
    assert len(events) == 3
    frames = [*events.again(0)]
    counts = [len(read_events_frame(each, 2).numbers) for each in whole(frames, 60)]
    assert counts == [1, 1, 1]
    events.limit(2, 100)
    counts = [len(read_events_frame(each, 2).numbers) for each in whole([*events.again(0)], 100)]
    assert counts == [2, 1]


def whole(frames: list[bytes], longest: int) -> list[Frame]:
    return list(Frames(longest).feed(b"".join(frames)))


@given(
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=40),
    names=st.lists(st.integers(0, 3), min_size=40, max_size=40),
    events=st.integers(1, 9),
    bytes=st.integers(120, 400),
)
def test_events_are_passed_on_in_frames_that_have_room(
    sizes: list[int], names: list[int], events: int, bytes: int
) -> None:
    publishers = [f"b{'é' * name}/x" for name in names[: len(sizes)]]
    payloads = payloads_of([b"x" * size for size in sizes])
    rows = np.arange(0, len(sizes), 2, dtype=np.int32)
    numbers = [*range(1, len(sizes) + 1)]
    made = events_frames(numbers, publishers, payloads, rows, Room(events, bytes))
    tables = [read_events_frame(each, events) for each in whole(made, bytes)]
    got = [
        (number, name, len(data))
        for table in tables
        for number, name, data in zip(
            table.numbers.tolist(), table.publishers, table.payloads, strict=True
        )
    ]
    assert got == [(numbers[row], publishers[row], sizes[row]) for row in rows]
    assert len(made) <= len(rows)
    assert events_frames(numbers, publishers, payloads, rows, Room(100, 10**6)) == [
        events_frame(numbers, publishers, payloads, rows)
    ]


def test_an_event_without_room_goes_by_itself() -> None:
    payloads = payloads_of([b"x" * 10, b"x" * 500, b"x" * 10])
    rows = np.arange(3, dtype=np.int32)
    room = Room(9, NAMED_ROOM + widest(b"x" * 10, "a/x"))
    assert len(events_frames([1, 2, 3], ["a/x"] * 3, payloads, rows, room)) == 3


def test_brokers_say_what_there_is_room_for() -> None:
    """One takes two events in a frame, whichever of both has dialed."""

    async def story(dials: bool) -> None:
        a, b = Broker("a", KIND), Broker("b", KIND)
        small, large = Limits(events=2), Limits()
        one = Server(a, ANY, limits=small if dials else large, tick=0.05)
        await one.start()
        two = Server(b, ANY, {"a": one.address}, limits=large if dials else small, tick=0.05)
        await two.start()
        runs = [asyncio.create_task(each.run()) for each in (one, two)]
        first, second = (one, two) if dials else (two, one)
        async with (
            await connect(str(first.address), name="ann") as ann,
            await connect(str(second.address), name="bob") as bob,
        ):
            wanted = await ann.subscribe("x >= 0")
            await until(lambda: len(second.driver.broker.routing.wanted) == 1)
            await bob.publish_many([{"x": i} for i in range(30)])
            assert [(await anext(wanted)).event["x"] for _ in range(30)] == [*range(30)]
        for each in (one, two):
            each.stop()
        await asyncio.gather(*runs)

    play(story(dials=True))
    play(story(dials=False))


def test_a_neighbour_that_has_no_room_for_every_event_is_turned_away() -> None:
    async def story() -> None:
        told: list[tuple[str, str]] = []
        one = Server(Broker("a", KIND), ANY, limits=Limits(frame=100_000))
        await one.start()
        two = Server(Broker("b", KIND), ANY, {"a": one.address}, watch=lambda *x: told.append(x))
        await two.start()
        runs = [asyncio.create_task(each.run()) for each in (one, two)]
        await until(lambda: bool(told))
        why = "takes frames of 100,000 bytes; events may need 1,052,672"
        assert told == [("a", f"a {why}")]
        reader, writer = await asyncio.open_connection(*two.address)
        answer = await said(writer, reader, say(Opening(VERSION, "broker", "c", frame=100_000)))
        assert f"c {why}".encode() in answer
        for each in (one, two):
            each.stop()
        await asyncio.gather(*runs)

    play(story())


# -- messages


def test_a_message_may_have_parts() -> None:
    rows = tuple(Entry(i, KIND.parse("x < :x", x=i)) for i in range(400))
    data = control_frame(Change(1, add=rows), KIND, in_turn=True)
    parts = parted(data, 100)
    assert len(parts) > 10
    frames, beat = Frames(100, message=10_000), frame(Sort.HEARTBEAT)
    got = list(frames.feed(beat.join(parts)))
    assert [each.sort for each in got[:-1]] == [Sort.HEARTBEAT] * (len(parts) - 1)
    assert got[-1].flags == IN_TURN
    assert read_control(got[-1].body, KIND, lambda *_: KIND.parse("TRUE")) == Change(1, add=rows)
    assert not frames.waiting
    with pytest.raises(FrameError, match="a message has 1,000 bytes or more; 900 are allowed"):
        list(Frames(100, message=900).feed(b"".join(parts)))


def test_messages_to_a_neighbour_have_as_many_parts_as_it_needs() -> None:
    sent: list[bytes] = []
    broker = Broker("a", KIND)
    driver = Driver(broker, None, Limits(), lambda _, data: sent.extend(data))
    assert driver.up("b", client=False, room=Room(10, 200)) is None
    broker.handle("b", Hello(7, 0, 0))
    driver.perform()
    sent.clear()
    rows = tuple(Entry(i, KIND.parse("x = :x", x=i)) for i in range(100))
    broker.handle("ann", LinkUp(client=True))
    driver.up("ann", client=True)
    body = control_frame(Change(1, add=rows), KIND)[HEAD.size :]
    driver.heard("ann", Frame(Sort.CONTROL, body))
    driver.perform()
    message, answer = whole(sent, 200)
    told = read_control(message.body, KIND, lambda *_: KIND.parse("TRUE"))
    assert isinstance(told, Change)
    assert [entry.filter for entry in told.add] == [entry.filter for entry in rows]
    assert answer.sort is Sort.CONTROL
    assert max(map(len, sent)) == HEAD.size + 200


def test_a_client_tells_more_than_a_frame_has_room_for() -> None:
    async def story() -> None:
        async with One(Limits(frame=1_000)) as server:
            news: list[str] = []
            at = str(server.address)
            async with await connect(
                at, name="ann", watch=lambda what, _: news.append(what)
            ) as ann:
                wanted = await ann.subscribe_many("x = :x", [{"x": i} for i in range(500)])
                server._connections["ann"].cut("cut by a test")
                await until(lambda: news == ["connected", "lost", "connected"])
                await ann.publish({"x": 77})
                assert (await anext(wanted[77])).subscriptions == (wanted[77].id,)

    play(story())


def test_a_message_beyond_the_limit_is_refused_and_the_connection_goes_on() -> None:
    async def story() -> None:
        async with (
            One(Limits(frame=1_000, message=4_000)) as server,
            await connect(str(server.address), name="ann") as ann,
        ):
            some = await ann.subscribe_many("x = :x", [{"x": i} for i in range(200)])
            with pytest.raises(SubscriptionError, match="bytes; 4,000 are allowed there"):
                await ann.subscribe_many("x = :x", [{"x": i} for i in range(2_000)])
            more = await ann.subscribe_many("x = :x", [{"x": i} for i in range(200, 400)])
            await ann.publish_many([{"x": 5}, {"x": 205}])
            assert (await anext(some[5])).number == 1
            assert (await anext(more[5])).number == 2

    play(story())


def test_a_client_that_wants_more_than_it_can_tell_at_once_says_so() -> None:
    async def story() -> None:
        async with One(Limits(frame=1_000, message=4_000)) as server:
            news: list[tuple[str, str]] = []
            at = str(server.address)
            async with await connect(at, name="ann", watch=lambda *said: news.append(said)) as ann:
                for low in range(0, 1_500, 300):
                    rows = [{"x": i} for i in range(low, low + 300)]
                    await ann.subscribe_many("x = :x", rows)
                server._connections["ann"].cut("cut by a test")
                why = "all that is wanted is too much"
                await until(lambda: any(each.startswith(why) for _, each in news))

    play(story())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (frame(Sort.CONTROL, b"x", flags=MORE), "a message has 1 bytes or more; 0 are allowed"),
        (OPENING + 40 * frame(Sort.CONTROL, b"x" * 100, flags=MORE), "4,000 bytes or more; 3,900"),
        (OPENING + frame(Sort.EVENTS, b"", flags=MORE), "flags that were not agreed on"),
    ],
)
def test_parts_without_end_end_the_connection(data: bytes, why: str) -> None:
    async def story() -> None:
        async with One(Limits(message=3_900)) as server:
            reader, writer = await asyncio.open_connection(*server.address)
            assert why.encode() in await said(writer, reader, data)

    play(story())


# -- what a client may want


def test_what_is_wanted_counts_once_however_it_is_told() -> None:
    async def story() -> None:
        async with One(Limits(subscriptions=3)) as server:
            news: list[str] = []
            at = str(server.address)
            async with await connect(
                at, name="ann", watch=lambda what, _: news.append(what)
            ) as ann:
                wanted = [await ann.subscribe("x = :x", x=i) for i in range(3)]
                server._connections["ann"].cut("cut by a test")
                await until(lambda: news == ["connected", "lost", "connected"])
                await until(lambda: ann._client.settled)
                await ann.update(wanted[0], "x = :x OR y = 5", x=7)  # one goes, one comes
                with pytest.raises(SubscriptionError, match="may have 3 subscriptions"):
                    await ann.subscribe("x = 9")
                await ann.publish({"x": 7})
                assert (await anext(wanted[0])).event == {"x": 7}

    play(story())


def test_advertisements_have_the_same_limit() -> None:
    async def story() -> None:
        async with (
            One(Limits(subscriptions=2), Settings(advertisements=True)) as server,
            await connect(str(server.address)) as ann,
        ):
            for i in range(2):
                await ann.advertise("x = :x", x=i)
            with pytest.raises(SubscriptionError, match="may have 2 advertisements"):
                await ann.advertise("x = 2")

    play(story())


def test_a_filter_that_is_too_large_is_refused_and_the_connection_goes_on() -> None:
    async def story() -> None:
        async with (
            One(settings=Settings(filter_size=1_000)) as server,
            await connect(str(server.address)) as ann,
        ):
            with pytest.raises(SubscriptionError, match="it is larger than 1,000 bytes"):
                await ann.subscribe("x = :x", x="x" * 1_000)
            await ann.subscribe("x = :x", x="x" * 900)

    play(story())


# -- who has gone


def test_a_client_that_has_gone_for_long_leaves_nothing_but_the_number_of_its_last_event() -> None:
    async def story() -> None:
        settings = Settings(publishers=2)
        async with One(Limits(keep=0.05), settings) as server:
            at = str(server.address)
            for name in ("ann", "bob", "cid"):
                async with await connect(at, name=name) as client:
                    await client.subscribe("x = 1")
                    await client.publish({"x": 1})
                    await client.confirmed()
            broker = server.driver.broker
            await until(lambda: not broker.routing.links)
            assert not server.driver._restricted
            assert not server._leaving
            assert [broker.seen(f"a/{name}") for name in ("ann", "bob", "cid")] == [0, 1, 1]

    play(story())


def test_time_counts_from_when_a_client_has_gone_last() -> None:
    async def story() -> None:
        async with One(Limits(keep=0.4)) as server:
            at = str(server.address)
            for _ in range(4):  # so it is up when the time of before is over
                async with await connect(at, name="ann") as ann:
                    await ann.subscribe("x = 1")
                    await asyncio.sleep(0.15)
                assert len(server.driver.broker.routing.wanted) == 1
            await until(lambda: not server.driver.broker.routing.links)

    play(story())


def test_numbers_are_known_of_publishers_that_were_heard_last() -> None:
    one, many = (Broker("a", KIND, settings=Settings(publishers=2)) for _ in range(2))
    names = ["ann", "bob", "ann", "cid"]
    for broker in (one, many):
        for name in dict.fromkeys(names):
            broker.handle(name, LinkUp(client=True))
    for number, name in enumerate(names, 1):
        one.handle(name, Publish(number, {"x": 1}))
    counted: Counter[str] = Counter()
    for number, name in enumerate(names, 1):
        many.handle("", Batch([number], [{"x": 1}], links=[name]))
        counted[name] = number
    for broker in (one, many):
        assert [broker.seen(f"a/{name}") for name in ("ann", "bob", "cid")] == [3, 0, 4]
        again = Broker.restore(broker.snapshot(), KIND, settings=Settings(publishers=2))
        again.handle("dee", LinkUp(client=True))
        again.handle("dee", Publish(1, {"x": 1}))
        assert [again.seen(f"a/{name}") for name in ("ann", "cid", "dee")] == [0, 4, 1]


def test_whoever_does_not_read_why_it_is_ended_is_cut() -> None:
    async def story() -> None:
        async with One() as server:
            at = str(server.address)
            everything = control_frame(Change(1, add=(Entry(1, KIND.parse("x >= 0")),)), KIND)
            _, writer = await asyncio.open_connection(*server.address)
            writer.write(say(Opening(VERSION, "client", "deaf", credits=2**40)) + everything)
            async with await connect(at) as bob:
                await until(lambda: len(server.driver.broker.routing.wanted) == 1)
                deaf = server._connections["deaf"]
                while server._fares("deaf")["waiting"] < 400_000:
                    await bob.publish_many([{"x": i, "text": "x" * 1_000} for i in range(100)])
                    await bob.confirmed()
                writer.write(frame(Sort.STATUS))  # which is not expected
                await until(lambda: not deaf.is_open)
                assert deaf in server._all
                await until(lambda: deaf not in server._all)
            writer.transport.abort()

    play(story())


def test_no_first_frame_is_longer_than_the_limit_of_first_frames() -> None:
    async def story() -> None:
        async with One() as server:
            with pytest.raises(LinkError, match=f"{FIRST:,} are allowed"):
                await connect(str(server.address), name="x" * FIRST)

    play(story())
