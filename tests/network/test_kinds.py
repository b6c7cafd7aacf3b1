"""Brokers and clients of every kind of filters: records, documents, and both in one network."""

import asyncio
from random import Random
from typing import Any

import pytest

from tests.documents.generate import document
from tests.network.live import ANY, until
from tests.network.test_live import play
from tidegate.errors import LinkError, TidegateError
from tidegate.network.address import read_address
from tidegate.network.client import connect
from tidegate.network.notification import Subscription
from tidegate.network.process import Setup, live, read_setup
from tidegate.network.rights import Rights
from tidegate.network.server import Server
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Kind
from tidegate.overlay.kinds import BOTH, KINDS, kind_called
from tidegate.overlay.patterns import Patterns

PATTERNS = ["//a[b]", "/a", "//c[@k = 'x']", "//a//c", "//b[. > 1]"]
CONDITIONS = ["price < 10", "price >= 10 AND symbol = 'a'", "symbol IS NULL"]


class Two:
    """Two servers with a link between them."""

    def __init__(self, kind: Kind, other: Kind | None = None) -> None:
        self.a = Server(Broker("a", kind), ANY, tick=0.05)
        self._other = other or kind

    async def __aenter__(self) -> tuple[Server, Server]:
        await self.a.start()
        near = {"a": self.a.address}
        self.b = Server(Broker("b", self._other), ANY, near, tick=0.05)
        await self.b.start()
        self._running = [asyncio.create_task(each.run()) for each in (self.a, self.b)]
        return self.a, self.b

    async def __aexit__(self, *_: object) -> None:
        for each in (self.a, self.b):
            each.stop()
        await asyncio.gather(*self._running)


def is_linked(server: Server) -> bool:
    return any(x.up and not x.client for x in server.driver.broker.routing.links.values())


def wanted(kind: Kind, texts: list[str], events: list[Any]) -> set[tuple[int, int]]:
    """Which event each text wants, by place."""
    filters = [kind_called(kind.name).parse(text) for text in texts]
    takes = [kind.event_refusal(event) is None for event in events]
    return {
        (i, j)
        for j, event in enumerate(events)
        if takes[j]
        for i, f in enumerate(filters)
        if f.matches(event)
    }


@pytest.mark.parametrize("name", KINDS)
def test_a_client_that_chooses_no_kind_has_that_of_its_broker(name: str) -> None:
    texts = [*CONDITIONS * ("attributes" in name), *PATTERNS * ("xml" in name)]
    random = Random(5)
    events: list[Any] = []
    if "attributes" in name:
        events += [{"price": random.randrange(20), "symbol": "a"} for _ in range(25)]
    if "xml" in name:
        documents = [document(random) for _ in range(40)]
        events += [
            each.encode("utf-16") if i % 9 == 0 else each for i, each in enumerate(documents)
        ]
    random.shuffle(events)
    kind = kind_called(name)

    async def story() -> None:
        async with Two(kind) as (a, b):
            await until(lambda: is_linked(a) and is_linked(b))
            ann = await connect(str(a.address), name="ann")
            bob = await connect(str(b.address), name="bob")
            assert ann.kind.name == bob.kind.name == name
            subscriptions = [await ann.subscribe(text) for text in texts]
            await until(lambda: len(b.driver.broker.routing.wanted.of("a")) > 0)
            await asyncio.sleep(0.3)
            await bob.publish_many(events[:50])
            for event in events[50:]:
                await bob.publish(event)
            await bob.confirmed()
            expected = wanted(kind, texts, events)
            assert expected
            found: set[tuple[int, int]] = set()
            for i, subscription in enumerate(subscriptions):
                mine = sorted(j for place, j in expected if place == i)
                got = [await anext(subscription) for _ in mine]
                assert [each.number - 1 for each in got] == mine
                found |= {(i, each.number - 1) for each in got}
                assert all(kind.show_event(x.event) for x in got)
            await asyncio.sleep(0.1)
            assert found == expected
            assert all(each.waiting == 0 for each in subscriptions)
            await ann.close()
            await bob.close()

    play(story())


def test_parameters_of_patterns_move() -> None:
    async def story() -> None:
        async with Two(Patterns()) as (a, _):
            ann = await connect(str(a.address), name="ann")
            async with ann:
                cheap: Subscription = await ann.subscribe("//price[. < $limit]", limit=10)
                many = await ann.subscribe_many(
                    "//price[. = $p]", [{"p": number} for number in range(70)]
                )
                await ann.publish("<q><price>7</price></q>")
                assert (await anext(cheap)).event == "<q><price>7</price></q>"
                assert (await anext(many[7])).subscriptions == (cheap.id, many[7].id)
                await ann.update(cheap, "//price[. < $limit]", limit=5)
                await ann.publish("<q><price>6</price></q>")
                await ann.publish("<q><price>4</price></q>")
                assert (await anext(cheap)).event == "<q><price>4</price></q>"

    play(story())


def test_a_client_of_another_kind_is_turned_away() -> None:
    async def story() -> None:
        async with Two(Patterns()) as (a, _):
            with pytest.raises(LinkError, match="kind attributes; here they are xml"):
                await connect(str(a.address), name="ann", kind=Attributes())
            async with await connect(str(a.address), kind=Patterns()) as ann:
                with pytest.raises(TidegateError, match="begins nowhere"):
                    await ann.subscribe("price < 10")
                with pytest.raises(TidegateError, match="an event is a document"):
                    await ann.publish({"price": 10})
                await ann.publish("<not well-formed")
                await ann.confirmed()
                assert "not well-formed" in ann.refused[0]
                with pytest.raises(TidegateError, match="begins nowhere"):
                    await ann.advertise("price < 10")

    play(story())


def test_brokers_of_two_kinds_do_not_link() -> None:
    async def story() -> None:
        async with Two(Attributes(), Patterns()) as (a, b):
            await until(lambda: a.driver.refused["opening"] > 0)
            assert not is_linked(a)
            assert not is_linked(b)

    play(story())


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("json",), "there is no kind 'json' of filters, but attributes, xml, attributes"),
        (("attributes", None, {"p": "urn:p"}), "namespaces are for patterns"),
        (("xml", Attributes().schema, {}), ""),
    ],
)
def test_kinds_by_name(arguments: tuple[Any, ...], why: str) -> None:
    if not why:
        assert kind_called(*arguments).name == "xml"
        return
    with pytest.raises(TidegateError, match=why):
        kind_called(*arguments)


def test_a_file_says_which_kind(tmp_path: Any) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(
        f'name = "a"\nlisten = "127.0.0.1:0"\nkind = "{BOTH}"\n[namespaces]\np = "urn:p"\n'
    )
    setup = read_setup(path, Attributes())
    assert (setup.kind, setup.namespaces) == (BOTH, {"p": "urn:p"})
    path.write_text('name = "a"\nlisten = "127.0.0.1:0"\n[namespaces]\np = 5\n')
    with pytest.raises(TidegateError, match=r"namespaces\.p cannot be 5"):
        read_setup(path, Attributes())


def test_roles_are_filters_on_attributes() -> None:
    anything = Attributes().parse("TRUE")
    roles = {"trader": Rights(anything, anything)}
    setup = Setup("a", read_address("127.0.0.1:0"), roles=roles)
    with pytest.raises(TidegateError, match="roles are filters on attributes"):
        asyncio.run(live(setup, Patterns(), lambda server: None))
