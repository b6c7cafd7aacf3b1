"""Who is let in, and what they may see and publish; all over real sockets."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.network.certificates import Authority
from tests.network.live import ANY, until
from tests.network.test_live import play
from tidegate.errors import FrameError, LinkError, SubscriptionError, TidegateError
from tidegate.network.address import Address, read_address
from tidegate.network.client import connect
from tidegate.network.door import _is_tls
from tidegate.network.frames import FIRST, HEAD, Sort
from tidegate.network.guard import (
    Admitted,
    Guard,
    Known,
    hash_of,
    new_token,
    read_clients,
    read_roles,
)
from tidegate.network.limits import Limits
from tidegate.network.opening import VERSION, Opening
from tidegate.network.process import read_setup
from tidegate.network.rights import Rights
from tidegate.network.server import Server
from tidegate.network.status import status
from tidegate.network.tls import Tls
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.settings import Settings

KIND = Attributes()
TOKEN = new_token()
ROLES = {
    "trader": {"see": "market = 'NYSE' AND price < 50", "publish": "market = 'NYSE'"},
    "all": {"see": "TRUE", "publish": "TRUE"},
    "none": {},
}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


def clients(roles: Mapping[str, Any] = ROLES) -> dict[str, Known]:
    listed = {
        "ann": {"role": "trader", "token": hash_of(TOKEN)},
        "bob": {"role": "all"},
        "eve": {"role": "none", "token": hash_of("eve")},
    }
    return read_clients(listed, read_roles(roles, KIND))


@asynccontextmanager
async def guarded(
    tls: Tls,
    name: str = "a",
    neighbours: Mapping[str, Address] | None = None,
    brokers: tuple[str, ...] = (),
    settings: Settings | None = None,
    known: dict[str, Known] | None = None,
    limits: Limits | None = None,
) -> AsyncIterator[Server]:
    guard = Guard(tls, frozenset((*(neighbours or {}), *brokers)), known or clients())
    broker = Broker(name, Attributes(), settings=settings)
    server = Server(broker, ANY, neighbours, guard=guard, tick=0.05, limits=limits)
    await server.start()
    run = asyncio.create_task(server.run())
    try:
        yield server
    finally:
        server.stop()
        await run


# -- who is let in


def test_plain_text_is_refused_with_a_reason(authority: Authority) -> None:
    async def story() -> None:
        async with guarded(authority.tls("a")) as server:
            address = str(server.address)
            with pytest.raises(LinkError, match="TLS is demanded here"):
                await connect(address, name="ann")
            with pytest.raises(LinkError, match="TLS is demanded here"):
                await status(address)
            reader, writer = await asyncio.open_connection(*server.address)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert (await reader.read())[4] == Sort.CLOSE
            writer.close()
            async with await connect(address, name="ann", tls=authority.alone, token=TOKEN) as ann:
                await ann.publish({"market": "NYSE"})
                await ann.confirmed()

    play(story())


def test_old_tls_is_spoken_nowhere(authority: Authority) -> None:
    own = authority.tls("a")
    for context in (own.for_listening(), own.for_linking(), own.for_client()):
        assert context.minimum_version == ssl.TLSVersion.TLSv1_2
        assert context.verify_mode != ssl.CERT_NONE
    assert own.for_client().check_hostname


def test_clients_are_known_by_certificate_or_token(authority: Authority) -> None:
    async def story() -> None:
        stranger = Authority(authority.alone.authority.parent, "stranger")
        async with guarded(authority.tls("a")) as server:
            address = str(server.address)

            async def refused(why: str, **given: Any) -> None:
                with pytest.raises(LinkError, match=why):
                    await connect(address, **given)

            alone = authority.alone
            await refused("ann is not let in", name="ann", tls=alone)
            await refused("ann is not let in", name="ann", tls=alone, token=TOKEN + "x")
            await refused("bob is not let in", name="bob", tls=alone, token=TOKEN)
            await refused("bob is not let in", name="bob", tls=alone)
            await refused("cat is not let in", name="cat", tls=authority.tls("cat"))
            await refused("bob is not let in", name="bob", tls=authority.tls("cat"))
            await refused("TLS with", name="bob", tls=stranger.tls("bob"))
            mixed = replace(stranger.tls("bob"), authority=alone.authority)
            await refused("TLS|lost|reached|closed", name="bob", tls=mixed)
            with pytest.raises(LinkError, match="status is not let in"):
                await status(address, tls=alone)
            for name, tls, token in [
                ("ann", alone, TOKEN),
                ("ann/2", alone, TOKEN),
                ("bob", authority.tls("bob"), ""),
                ("ann", authority.tls("ann"), ""),
            ]:
                async with await connect(address, name=name, tls=tls, token=token) as client:
                    await client.confirmed()
            found = await status(address, name="ann", tls=alone, token=TOKEN)
            assert {link["name"] for link in found["links"]} == {"ann", "ann/2", "bob"}

    play(story())


def test_a_token_is_never_said_in_plain_text() -> None:
    async def story() -> None:
        with pytest.raises(TidegateError, match="over TLS only"):
            await connect("127.0.0.1:1", name="ann", token=TOKEN)
        with pytest.raises(TidegateError, match="over TLS only"):
            await status("127.0.0.1:1", token=TOKEN)

    play(story())


def test_brokers_are_known_by_certificate(authority: Authority) -> None:
    async def story() -> None:
        own = authority.tls("a")
        async with guarded(own, brokers=("b", "c")) as a:
            where = {"a": a.address}
            async with (
                guarded(authority.tls("b"), "b", where) as b,
                guarded(authority.tls("bob"), "c", where) as pretends,
                guarded(authority.tls("bob"), "bob", where) as unexpected,
                guarded(authority.tls("c"), "c", {"other": a.address}) as misled,
            ):
                await until(lambda: "b" in a._connections and "a" in b._connections)
                alone = authority.alone
                async with (
                    await connect(str(a.address), name="ann", tls=alone, token=TOKEN) as ann,
                    await connect(str(b.address), name="bob", tls=authority.tls("bob")) as bob,
                ):
                    wanted = await ann.subscribe("price < 100")
                    await until(lambda: len(b.driver.broker.routing.wanted) == 1)
                    prices = [10, 60, 20]
                    await bob.publish_many([{"market": "NYSE", "price": p} for p in prices])
                    assert [(await anext(wanted)).event["price"] for _ in range(2)] == [10, 20]
                assert set(a._connections) == {"b"}
                for other in (pretends, unexpected, misled):
                    assert not other._connections

    play(story())


def test_a_broker_is_told_why_it_is_not_let_in(authority: Authority) -> None:
    guard = Guard(authority.tls("a"), frozenset({"b"}), clients())

    def why(role: Any, name: str, *names: str) -> str:
        with pytest.raises(FrameError) as refused:
            guard.admit(Opening(VERSION, role, name), frozenset(names))
        return str(refused.value)

    assert why("broker", "c", "c") == "no broker c is expected here"
    assert why("broker", "ann", "ann") == "no broker ann is expected here"
    assert why("broker", "b", "c") == "a certificate with the name b is needed"
    assert why("client", "b", "b") == "b is the name of a broker"
    assert why("client", "b/x", "b") == "b is the name of a broker"
    assert guard.admit(Opening(VERSION, "broker", "b"), frozenset({"b"})) == Admitted()
    open_to_all = Guard(authority.tls("a"), frozenset({"b"}))
    cat = open_to_all.admit(Opening(VERSION, "client", "cat"), frozenset({"cat"}))
    assert cat == Admitted()
    with pytest.raises(FrameError, match="name cat is needed"):
        open_to_all.admit(Opening(VERSION, "client", "cat"), frozenset())


def test_no_first_frame_begins_as_tls_does() -> None:
    for length in range(FIRST + 1):
        for start in (1, 2, 3):
            begins = HEAD.pack(length, Sort.OPENING, 0, 0)[:start]
            assert start < 3 or not _is_tls(begins)
    assert _is_tls(b"\x16\x03\x01")
    assert _is_tls(b"\x16\x03\x03")


def test_who_says_nothing_is_not_waited_for(authority: Authority) -> None:
    async def story() -> None:
        async with guarded(authority.tls("a"), limits=Limits(handshake=0.1)) as server:
            for begins in (b"", b"\x16", b"\x16\x03\x01\x00"):
                reader, writer = await asyncio.open_connection(*server.address)
                writer.write(begins)
                await asyncio.wait_for(reader.read(), 10)
                writer.close()

    play(story())


def test_with_tls_a_broker_may_listen_anywhere(authority: Authority) -> None:
    async def story() -> None:
        guard = Guard(authority.tls("a"))
        Server(Broker("a", KIND), read_address("0.0.0.0:0"), guard=guard)
        with pytest.raises(TidegateError, match="give a certificate"):
            Server(Broker("a", KIND), read_address("0.0.0.0:0"))
        with pytest.raises(TidegateError, match="a broker needs a certificate"):
            Server(Broker("a", KIND), ANY, guard=Guard(authority.alone))
        with pytest.raises(TidegateError, match="cannot be used"):
            Tls(Path("/nowhere")).for_client()

    play(story())


# -- what they may see and publish


def test_rights_are_filters(authority: Authority) -> None:
    """Whatever is asked for, updated and published: what comes is what both filters match."""

    async def story() -> None:
        rng = Random(7)
        see = KIND.parse(ROLES["trader"]["see"])
        events = [
            {"market": rng.choice(["NYSE", "XETRA"]), "price": rng.randrange(100), "n": n}
            for n in range(120)
        ]
        texts = ["price < :x", "market = 'XETRA' OR price > :x", "NOT price = :x", "n < :x"]
        async with guarded(authority.tls("a")) as server:
            address = str(server.address)
            ann = await connect(address, name="ann", tls=authority.alone, token=TOKEN)
            bob = await connect(address, name="bob", tls=authority.tls("bob"))
            wanted = {}
            for text in texts * 2:
                x = rng.randrange(100)
                wanted[await ann.subscribe(text, x=x)] = KIND.parse(text, x=x)
            many = await ann.subscribe_many("price < :x", [{"x": x} for x in range(40, 60)])
            wanted |= {
                s: KIND.parse("price < :x", x=x) for s, x in zip(many, range(40, 60), strict=True)
            }
            for subscription, text in zip(list(wanted)[:4], texts, strict=True):
                x = rng.randrange(100)
                await ann.update(subscription, text, x=x)
                wanted[subscription] = KIND.parse(text, x=x)
            await bob.publish_many(events)
            await bob.confirmed()
            owed = {
                s: [e["n"] for e in events if f.matches(e) and see.matches(e)]
                for s, f in wanted.items()
            }
            await until(lambda: all(s.waiting >= len(owed[s]) for s in wanted))
            await asyncio.sleep(0.05)
            for subscription, numbers in owed.items():
                came = [(await anext(subscription)).event["n"] for _ in range(subscription.waiting)]
                assert came == numbers
            assert sum(map(len, owed.values())) > 200
            await ann.close()
            await bob.close()

    play(story())


def test_an_event_outside_publish_is_refused(authority: Authority) -> None:
    async def story() -> None:
        async with guarded(authority.tls("a")) as server:
            address = str(server.address)
            alone = authority.alone
            async with (
                await connect(address, name="ann", tls=alone, token=TOKEN) as ann,
                await connect(address, name="eve", tls=alone, token="eve") as eve,
                await connect(address, name="bob", tls=authority.tls("bob")) as bob,
            ):
                wanted = await bob.subscribe("n >= 0")
                markets = ["NYSE", "XETRA", None, "NYSE"]
                await ann.publish_many([{"market": m, "n": n} for n, m in enumerate(markets)])
                await eve.publish({"market": "NYSE", "n": 9})
                await ann.confirmed()
                await eve.confirmed()
                assert [(await anext(wanted)).event["n"] for _ in range(2)] == [0, 3]
                assert wanted.waiting == 0
                why = "the event is not among what its publisher may publish"
                assert list(ann.refused) == [why, why]
                assert list(eve.refused) == [why]
                with pytest.raises(SubscriptionError, match="may see nothing"):
                    await eve.subscribe("n > 0")

    play(story())


def test_advertisements_are_within_what_may_be_published(authority: Authority) -> None:
    async def story() -> None:
        settings = Settings(advertisements=True)
        async with guarded(authority.tls("a"), settings=settings) as server:
            address = str(server.address)
            given: dict[str, Any] = {"tls": authority.alone, "token": TOKEN}
            async with await connect(address, name="ann", **given) as ann:
                await ann.advertise("n > 0")
                offered = server.driver.broker.routing.offered["ann"].filters
                assert [str(f) for f in offered.values()] == ["n > 0 AND market = 'NYSE'"]
            async with await connect(address, name="eve", tls=authority.alone, token="eve") as eve:
                with pytest.raises(SubscriptionError, match="may publish nothing"):
                    await eve.advertise("n > 0")

    play(story())


def test_rights_that_were_taken_away_are_gone_at_once(authority: Authority) -> None:
    """What was registered under other rights goes before a client that comes back gets anything."""

    async def story() -> None:
        known = clients()
        async with guarded(authority.tls("a"), known=known) as server:
            address = str(server.address)
            given: dict[str, Any] = {"name": "ann", "tls": authority.alone, "token": TOKEN}
            ann = await connect(address, **given)
            kept = await ann.subscribe("price < :x", x=10)
            table = server.driver.broker.routing.wanted
            before = table.of("ann").copy()
            server.driver.up("ann", True, known["ann"].rights)
            assert table.of("ann") == before
            less = Rights(KIND.parse("market = 'NYSE' AND price < 5"), KIND.parse("FALSE"))
            server.driver.up("ann", True, less)
            assert table.of("ann") == {}
            await ann.close()
            assert kept.waiting == 0

    play(story())


# -- a broker's file


def test_a_file_says_who_is_let_in(tmp_path: Path, authority: Authority) -> None:
    own = authority.tls("a")
    path = tmp_path / "broker.toml"
    head = "name = 'a'\nlisten = '127.0.0.1:0'\n"
    tls = f"""
        [tls]
        certificate = "{own.certificate}"
        key = "{own.key}"
        authority = "{own.authority}"
        brokers = ["c"]
        """
    listed = f"""
        [roles.trader]
        see = "market = 'NYSE'"
        [clients]
        ann = {{ role = "trader", token = "{hash_of(TOKEN)}" }}
        """
    path.write_text(head + tls + listed, encoding="utf-8")
    guard = read_setup(path, KIND).guard()
    assert guard is not None
    assert guard.tls == own
    assert guard.brokers == {"c"}
    assert guard.clients is not None
    assert str(guard.clients["ann"].rights.see) == "market = 'NYSE'"
    assert str(guard.clients["ann"].rights.publish) == "FALSE"
    path.write_text(head + listed, encoding="utf-8")
    with pytest.raises(TidegateError, match="with TLS only"):
        read_setup(path, KIND).guard()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[tls]\nkey = 'x'", "tls has certificate, key and authority"),
        ("[clients]\nann = 5", "clients is a table of tables"),
        ("[clients.ann]\nrole = 'x'", "clients.ann has a role, which is one of none"),
        ("[roles.r]\nsee = 5", "roles.r has see and publish"),
        ("[roles.r]\nsee = 'price <'", "roles.r: "),
        ("[roles.r]\n[clients.ann]\nrole = 'r'\ntoken = 'secret'", "is the SHA-256 hash"),
        ("[roles.r]\n[clients.'a/b']\nrole = 'r'", "has no slash"),
    ],
)
def test_a_file_that_says_it_wrong(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(f"name = 'a'\nlisten = '127.0.0.1:0'\n{text}", encoding="utf-8")
    with pytest.raises(TidegateError, match=why):
        read_setup(path, KIND)
