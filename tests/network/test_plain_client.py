"""What docs/network.md says of the wire format is enough to write a client."""

import asyncio
from datetime import date

from tests.network.plain_client import PlainClient
from tests.network.test_live import One, play
from tidegate.network.client import connect
from tidegate.network.limits import Limits


def test_a_client_that_was_written_from_the_documents() -> None:
    async def story() -> None:
        async with (
            One(Limits(silence=2.0, credits=5_000)) as server,
            await connect(str(server.address), name="ann") as ann,
        ):
            wanted = await ann.subscribe("price = 3 AND day > :day", day=date(2026, 1, 1))
            await asyncio.to_thread(_in_a_thread, *server.address)
            assert [(await anext(wanted)).number for _ in range(100)] == [*range(4, 2_000, 20)]
            assert wanted.waiting == 0

    play(story())


def _in_a_thread(host: str, port: int) -> None:
    with PlainClient(host, port, "bob") as plain:
        _talk(plain)
        with PlainClient(host, port, "bob") as again:  # which takes its place
            assert (again.opened["heard"], again.opened["seen"]) == (plain.seq, 2_000)


def _talk(plain: PlainClient) -> None:
    rows = {7: (10, "buy"), 8: (2.5, "sell"), -9: (5, "buy")}
    plain.want("price < :x AND side = :s", rows, ["x", "s"], whole=True)
    events = [
        {"price": i % 20, "side": "buy" if i % 2 else "sell", "day": ["DATE '2026-11-18'"]}
        for i in range(2_000)
    ]
    for start in range(0, 2_000, 500):
        plain.publish(events[start : start + 500])
    owed = []
    for number, event in enumerate(events, 1):
        price, side = event["price"], event["side"]
        assert isinstance(price, int)
        ids = [own for own, (x, s) in rows.items() if price < x and side == s]
        if ids:
            owed.append((event, sorted(ids), "a/bob", number))
    while len(plain.got) < len(owed):
        plain.handle()
    assert [(event, sorted(ids), *who) for event, ids, *who in plain.got] == owed
    plain.want("price <", {}, [], whole=False)
    assert plain.refused[0][:3] == ["refuse", plain.seq, None]
    plain.want("side = 'x'", {7: ()}, [], whole=False)  # an id that is taken
    assert plain.refused[1][3] == "the id 7 is taken"
    plain.want("side IS NULL", {1: ()}, [], whole=True)  # nothing else any more
