"""Clients, for `asyncio` and waiting ones: what they have, and that nothing is lost silently."""

import asyncio
import inspect
from typing import Any

import pytest

from tests.network.live import until
from tests.network.test_live import KIND, One, play
from tidegate.errors import LinkError, SubscriptionError, TidegateError
from tidegate.network import client as live
from tidegate.network import sync_client
from tidegate.network.address import Address
from tidegate.network.client import connect
from tidegate.network.dialing import Pause
from tidegate.network.limits import Limits
from tidegate.network.status import status
from tidegate.overlay.client import Client
from tidegate.overlay.messages import Acknowledge, Refuse
from tidegate.overlay.settings import Settings

NAMES = ("subscribe", "subscribe_many", "update", "cancel", "advertise", "publish", "publish_many")


def test_both_clients_have_the_same_names() -> None:
    for name in (*NAMES, "confirmed", "close"):
        one, other = getattr(live.Client, name), getattr(sync_client.SyncClient, name)
        assert inspect.iscoroutinefunction(one)
        assert not inspect.iscoroutinefunction(other)
        parameters = [[*inspect.signature(each).parameters.values()] for each in (one, other)]
        known = [[(each.name, each.kind) for each in listed] for listed in parameters]
        assert known[0] == known[1], name
    for name in ("name", "kind", "refused"):
        assert hasattr(sync_client.SyncClient, name)
    for name in ("id", "missed", "waiting"):
        assert hasattr(sync_client.Subscription, name)
    given = [inspect.signature(each.connect).parameters for each in (live, sync_client)]
    assert given[0] == given[1]


def test_a_waiting_client_has_what_belongs_to_the_other() -> None:
    async def story() -> None:
        async with One() as server:
            await asyncio.to_thread(_in_a_thread, str(server.address))

    play(story())


def _in_a_thread(at: str) -> None:
    with sync_client.connect(at, name="ann") as ann:
        wanted = ann.subscribe("x > 0")
        assert (ann.name, ann.kind.name, list(ann.refused)) == ("ann", "attributes", [])
        assert (wanted.id, wanted.missed, wanted.waiting) == (1, 0, 0)
    ann.close()
    with pytest.raises(LinkError, match="was closed"):
        ann.publish({"x": 1})


def test_what_has_ended_publishes_nothing() -> None:
    async def story() -> None:
        async with One() as server:
            at = str(server.address)
            first = await connect(at, name="ann")
            async with await connect(at, name="ann"):
                await until(lambda: bool(first._failure))
                with pytest.raises(LinkError, match="taken its place"):
                    await first.publish({"x": 1})
            await first.close()
            bob = await connect(at, name="bob")
            await bob.close()
            for doing in (bob.publish({"x": 1}), bob.subscribe("x > 0"), bob.advertise("x > 0")):
                with pytest.raises(LinkError, match="was closed"):
                    await doing

    play(story())


# -- refusals


def test_an_update_that_is_refused_says_so_however_many_were_before() -> None:
    async def story() -> None:
        async with (
            One(settings=Settings(filter_size=1_000)) as server,
            await connect(str(server.address)) as ann,
        ):
            wanted = await ann.subscribe("x = :x", x="x")
            for _ in range(live._REASONS + 5):
                with pytest.raises(SubscriptionError, match="larger than 1,000 bytes"):
                    await ann.update(wanted, "x = :x", x="x" * 2_000)
            await ann.update(wanted, "x = :x", x="y")
            await ann.publish({"x": "y"})
            assert (await anext(wanted)).event == {"x": "y"}

    play(story())


def test_everybody_hears_of_what_is_refused_of_theirs() -> None:
    async def story() -> None:
        async with (
            One(settings=Settings(filter_size=1_000, event_size=500)) as server,
            await connect(str(server.address)) as ann,
        ):
            one, other = await ann.subscribe("x = 1"), await ann.subscribe("x = 2")
            large = {"x": "x" * 2_000}
            found = await asyncio.gather(
                ann.update(one, "x = :x", x=3),
                ann.update(other, "x = :x", **large),
                ann.subscribe("y = :x", **large),
                ann.subscribe("y = :x", x=4),
                ann.publish(large),
                return_exceptions=True,
            )
            assert [isinstance(each, SubscriptionError) for each in found] == [
                *(False, True, True),
                *(False, False),
            ]
            await ann.confirmed()
            assert [why[:15] for why in ann.refused] == ["the event takes"]
            assert "the event" not in f"{found[1]}{found[2]}"

    play(story())


class Paper:
    """Takes down what a client says."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, message: Any) -> None:
        self.sent.append(message)


def test_who_waits_for_an_answer_does_not_wait_for_later_ones() -> None:
    client = Client("ann", Paper(), KIND)
    own = client.subscribe("x = :x", x=1)
    first = client.said
    client.change(own, "x = :x", x=2)
    second = client.said
    assert (first, second) == (1, 2)
    client.hear(Acknowledge(1))
    assert client.answered(first)
    assert not client.answered(second)
    client.change(own, "x = :x", x=3)
    client.hear(Refuse(2, None, "no"))
    assert not client.answered(second)
    assert client.refusals == {own: "no"}
    client.hear(Acknowledge(2))
    assert client.answered(second)
    assert not client.answered(client.said)


def test_answers_are_waited_for_when_all_is_told_afresh() -> None:
    paper = Paper()
    client = Client("ann", paper, KIND)
    client.subscribe("x = 1")
    client.hear(Acknowledge(1))
    client.subscribe("x = 2")
    client.advertise(KIND.parse("x = 3"))
    client.subscribe("x = 4")
    client.hear(Refuse(2, None, "no"))
    client.reconnect(afresh=True, heard=7)
    whole, advertised, wanted = paper.sent[-3:]
    assert whole.whole
    assert [each.seq for each in (whole, advertised, wanted)] == [8, 9, 10]
    assert [client.answered(said) for said in range(1, 5)] == [True, True, False, False]
    client.hear(Acknowledge(9))
    assert [client.answered(said) for said in range(1, 5)] == [True, True, True, False]
    client.hear(Acknowledge(10))
    assert client.answered(client.said)
    assert client.settled


# -- brokers that do not answer


class Mute:
    """Somebody who listens where a broker was, and says nothing."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._writers: list[asyncio.StreamWriter] = []
        self.came = 0

    async def __aenter__(self) -> "Mute":
        self._server = await asyncio.start_server(self._serve, *self._address)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.came += 1
        self._writers.append(writer)
        await reader.read()


def test_a_broker_that_does_not_answer_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_HANDSHAKE", 0.1)

    async def story() -> None:
        news: list[tuple[str, str]] = []
        async with One() as server:
            address = server.address
            ann = await connect(str(address), name="ann", watch=lambda *said: news.append(said))
            wanted = await ann.subscribe("x > 0")
        async with Mute(address) as mute:
            await until(lambda: mute.came > 2)
            await ann.publish({"x": 1})
        assert ("lost", f"{address} does not answer") in news
        async with One(at=address):
            await ann.confirmed()
            assert (await anext(wanted)).event == {"x": 1}
            await ann.close()

    play(story())


def test_a_broker_that_says_nothing_of_how_it_fares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.network.status._PATIENCE", 0.05)

    async def story() -> None:
        async with One() as server:
            address = server.address
        async with Mute(address):
            with pytest.raises(LinkError, match="does not answer"):
                await status(str(address))

    play(story())


def test_connections_that_end_at_once_are_made_more_and_more_rarely() -> None:
    pause = Pause(0.05, 5.0)
    drawn = []
    for _ in range(9):
        drawn.append(pause.draw())
        pause.lived(0.001)
    assert all(0.5 <= each / min(0.05 * 2**i, 5.0) <= 1.5 for i, each in enumerate(drawn))
    pause.lived(11.0)
    assert pause.draw() <= 0.075


def test_a_mistake_of_whoever_watches_ends_nothing() -> None:
    async def story() -> None:
        mistakes: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, about: mistakes.append(about))

        def watch(news: str, why: str) -> None:
            raise ValueError(news)

        async with (
            One(Limits(silence=1.0)) as server,
            await connect(str(server.address), name="ann", watch=watch) as ann,
        ):
            wanted = await ann.subscribe("x > 0")
            server._connections["ann"].cut("cut by a test")
            await until(lambda: len(mistakes) == 3)
            await ann.publish({"x": 1})
            assert (await anext(wanted)).event == {"x": 1}
        assert [str(each["exception"]) for each in mistakes] == ["connected", "lost", "connected"]

    play(story())


def test_a_client_that_cannot_go_on_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        news: list[tuple[str, str]] = []

        async def mistaken(*_: object) -> None:
            raise ZeroDivisionError

        async with One() as server:
            at = str(server.address)
            monkeypatch.setattr(live.Client, "_beat", mistaken)
            ann = await connect(at, watch=lambda *said: news.append(said))
            await until(lambda: len(news) > 1)
            assert news[-1] == ("failed", "the client cannot go on: ZeroDivisionError()")
            with pytest.raises(LinkError, match="cannot go on"):
                await ann.publish({"x": 1})
            await ann.close()

    play(story())


@pytest.mark.parametrize("host", ["..", "a" * 70 + ".org", "é" * 80])
def test_what_can_be_no_host_is_no_address(host: str) -> None:
    with pytest.raises(TidegateError, match="is no address"):
        asyncio.run(connect(f"{host}:7400"))
