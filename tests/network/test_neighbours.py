"""Links between brokers that cannot be: whoever runs a broker is told why."""

import asyncio
import resource
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.network.certificates import Authority
from tests.network.live import ANY, until
from tests.network.test_live import KIND, play, said
from tests.network.test_metrics import read
from tidegate.errors import LinkError, TidegateError, TidegateWarning
from tidegate.network.address import Address
from tidegate.network.client import connect
from tidegate.network.guard import Guard
from tidegate.network.limits import Limits
from tidegate.network.metrics import prometheus
from tidegate.network.opening import VERSION, Opening, name_flaw, say
from tidegate.network.process import _FILES, _within_files
from tidegate.network.server import Server
from tidegate.network.status import status
from tidegate.overlay.broker import Broker
from tidegate.overlay.kinds import kind_called
from tidegate.overlay.messages import LinkUp

NOWHERE = Address("127.0.0.1", 1)
Told = list[tuple[str, str]]


@asynccontextmanager
async def running(name: str, told: Told, *more: Any, **given: Any) -> AsyncIterator[Server]:
    """A broker, and what is told of its neighbours."""
    broker = given.pop("broker", None) or Broker(name, KIND)
    server = Server(broker, ANY, *more, tick=0.05, watch=lambda *x: told.append(x), **given)
    await server.start()
    run = asyncio.create_task(server.run())
    try:
        yield server
    finally:
        server.stop()
        await run


def test_it_is_told_when_there_is_a_link_and_why_there_is_none() -> None:
    async def story() -> None:
        told: Told = []
        async with running("b", told, {"a": NOWHERE}) as b:
            await until(lambda: bool(told))
            found = await status(str(b.address))
            assert found["missing"] == ["a"]
            metrics = read(prometheus(found))
            assert metrics["tidegate_missing", 'broker="b",link="a"'] == 1
            await asyncio.sleep(0.5)
        assert told == [("a", "127.0.0.1:1 cannot be reached: Connection refused")]
        told.clear()
        async with running("a", []) as a, running("b", told, {"a": a.address}) as b:
            await until(lambda: bool(told))
            assert (await status(str(b.address)))["missing"] == []
            b._connections["a"].cut("cut by a test")
            await until(lambda: len(told) == 3)
            a._connections["b"].close("said by a test")
            await until(lambda: len(told) == 5)
        why = ["linked", "cut by a test", "linked", "said by a test", "linked"]
        assert told[:5] == [("a", each) for each in why]

    play(story())


def test_a_broker_of_another_name_or_kind_is_not_linked_to(tmp_path: Path) -> None:
    async def story() -> None:
        authority = Authority(tmp_path)
        xml = Broker("xml", kind_called("xml"))
        guard = Guard(authority.tls("tls"), frozenset({"b"}))
        told: Told = []
        async with (
            running("a", []) as a,
            running("xml", [], broker=xml) as other,
            running("tls", [], guard=guard) as closed,
        ):
            addresses = {"c": a.address, "xml": other.address, "tls": closed.address}
            async with running("b", told, {**addresses}) as b:
                await until(lambda: len(told) == 3)
                assert not b._connections
        assert dict(told) == {
            "c": "c was dialed, and a is there",
            "xml": "b has filters of the kind attributes; here they are xml",
            "tls": "TLS is demanded here, and this is plain text",
        }

    play(story())


def test_a_broker_that_is_its_own_neighbour_says_so() -> None:
    with pytest.raises(TidegateError, match="a is the name of this broker"):
        Server(Broker("a", KIND), ANY, {"a": NOWHERE})

    async def story() -> None:
        told: Told = []
        async with running("a", []) as a, running("b", told, {"x": a.address}):
            await until(lambda: bool(told))
            reader, writer = await asyncio.open_connection(*a.address)
            answer = await said(writer, reader, say(Opening(VERSION, "broker", "a")))
            assert b"a is the name of this broker" in answer

    play(story())


@pytest.mark.parametrize("name", ["", "a/b", "a\nb", "x" * 201])
def test_names_that_a_broker_cannot_have(name: str) -> None:
    for names in ((name, {}), ("a", {name: NOWHERE})):
        with pytest.raises(TidegateError, match="a broker cannot be called"):
            Server(Broker(names[0], KIND), ANY, names[1])
    assert name_flaw(name, broker=True) is not None

    async def story() -> None:
        async with running("a", []) as a:
            reader, writer = await asyncio.open_connection(*a.address)
            answer = await said(writer, reader, say(Opening(VERSION, "broker", name)))
            assert (name_flaw(name, broker=True) or "?").encode() in answer

    play(story())


def test_a_client_does_not_take_the_place_of_a_neighbour() -> None:
    async def story() -> None:
        async with running("a", [], {"b": NOWHERE}) as a:
            with pytest.raises(LinkError, match="b is the name of a broker"):
                await connect(str(a.address), name="b")

    play(story())


def test_a_task_that_fails_ends_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        server = Server(Broker("a", KIND), ANY, tick=0.01)
        await server.start()

        def mistaken(*_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(server.driver, "handle", mistaken)
        with pytest.raises(ZeroDivisionError):
            await server.run()

    play(story())


# -- files that a process may open


@pytest.mark.parametrize(
    ("soft", "hard", "tls", "connections", "raised"),
    [
        (10_000, 20_000, False, 1_000, None),
        (1_000, 20_000, False, 1_000, 1_000 + _FILES),
        (1_000, 20_000, True, 1_000, 2_000 + _FILES),
        (1_000, resource.RLIM_INFINITY, False, 1_000, 1_000 + _FILES),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, False, 1_000, None),
        (500, 564, False, 500, 564),
        (500, 564, True, 250, 564),
    ],
)
def test_a_process_may_open_as_many_files_as_it_may_have_connections(
    soft: int,
    hard: int,
    tls: bool,
    connections: int,
    raised: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: asked.append(both))
    limits = Limits(connections=1_000)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert _within_files(limits, tls=tls) == replace(limits, connections=connections)
    assert asked == ([] if raised is None else [(raised, hard)])
    assert [each.category for each in told] == [TidegateWarning] * (connections < 1_000)


def test_a_process_that_may_open_hardly_any_files_is_no_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (60, 60))
    with pytest.raises(TidegateError, match="more than the 60 files that it may open"):
        _within_files(Limits(), tls=False)


def test_a_name_belongs_to_a_client_or_a_broker_only_as_long_as_it_is_known() -> None:
    async def story() -> None:
        async with running("a", [], limits=Limits(keep=0.05)) as a:
            async with await connect(str(a.address), name="b") as b:
                await b.subscribe("x > 0")
            await until(lambda: not a.driver.broker.routing.links)
            async with running("b", [], {"a": a.address}):
                await until(lambda: "b" in a._connections)
            assert not a.driver.broker.routing.links["b"].client
            assert a.driver.broker.handle("b", LinkUp(client=False))

    play(story())
