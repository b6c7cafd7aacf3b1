"""The metrics of a broker say what has happened, in Prometheus's format."""

import asyncio
import re

import pytest

from tests.network.live import until
from tests.network.test_live import OPENING, One, play, said
from tidegate.errors import LinkError, SubscriptionError
from tidegate.network.client import connect
from tidegate.network.control_frames import control_frame
from tidegate.network.driver import Driver
from tidegate.network.frames import Frames, Sort, frame
from tidegate.network.limits import Limits
from tidegate.network.metrics import prometheus
from tidegate.network.status import status
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import Acknowledge, Change, Entry, Hello, Message, Restart
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings

LINE = re.compile(r'(tidegate_\w+)\{((?:\w+="(?:[^"\\\n]|\\.)*",?)*)\} (\d+(?:\.\d+(?:e-\d+)?)?)')


def read(text: str) -> dict[tuple[str, str], float]:
    """Each figure by its name and its labels; every line is checked."""
    found, kinds = {}, set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            kinds.add(line.split()[2])
        elif not line.startswith("# HELP "):
            said = LINE.fullmatch(line)
            assert said is not None, line
            assert re.sub("_(bucket|sum|count)$", "", said[1]) in kinds
            assert (said[1], said[2]) not in found
            found[said[1], said[2]] = float(said[3])
    return found


def test_metrics_say_what_has_happened() -> None:
    async def story() -> None:
        settings = Settings(advertisements=True)
        async with One(Limits(subscriptions=1), settings) as server:
            address = str(server.address)
            async with await connect(address, name='a"n\\n') as ann:
                wanted = await ann.subscribe("price < 10")
                with pytest.raises(SubscriptionError, match="1 subscriptions"):
                    await ann.subscribe("price < 20")
                await ann.advertise("price > 0")
                await ann.publish_many([{"price": 5}, {"price": 50}, {"price": -1}])
                await ann.confirmed()
                await until(lambda: wanted.waiting == 1)
                found = read(prometheus(await status(address)))
        own = 'broker="a"'
        link = own + ',link="a\\"n\\\\n",to="client"'
        assert found["tidegate_events_in_total", own] == 3
        assert found["tidegate_deliveries_total", own] == 1
        assert found["tidegate_events_out_total", own] == 0
        assert found["tidegate_entries", own] == 1
        assert found["tidegate_slow_cut_total", own] == 0
        assert found["tidegate_matching_seconds_total", own] > 0
        assert found["tidegate_refused_total", own + ',reason="not advertised"'] == 1
        assert found["tidegate_refused_total", own + ',reason="too many subscriptions"'] == 1
        assert found["tidegate_link_up", link] == 1
        assert found["tidegate_link_events_in_total", link] == 3
        assert found["tidegate_link_events_out_total", link] == 1
        assert found["tidegate_link_waiting_bytes", link] == 0
        assert found["tidegate_batch_events_bucket", own + ',le="1"'] == 0
        assert found["tidegate_batch_events_bucket", own + ',le="10"'] == 1
        assert found["tidegate_batch_events_bucket", own + ',le="+Inf"'] == 1
        assert found["tidegate_batch_events_sum", own] == 3

    play(story())


def test_connections_that_are_turned_away_or_ended_are_counted() -> None:
    async def story() -> None:
        async with One(Limits(connections=1, handshake=0.05)) as server:
            for data in (b"GET / HTTP/1.1\r\n\r\n", OPENING + frame(Sort.STATUS), b"\x05"):
                reader, writer = await asyncio.open_connection(*server.address)
                await said(writer, reader, data)
                await until(lambda: not server._all)
            async with await connect(str(server.address)):
                with pytest.raises(LinkError, match="1 connections are all"):
                    await status(str(server.address))
            await until(lambda: not server._all)
            found = read(prometheus(await status(str(server.address))))
        for reason, count in (("opening", 2), ("frame", 1), ("connections", 1)):
            assert found["tidegate_refused_total", f'broker="a",reason="{reason}"'] == count

    play(story())


def test_a_broker_that_counts_tells_how_much_of_what_came_was_news() -> None:
    kind = Attributes()
    driver = Driver(Broker("a", kind, Choice("xroute")), None, Limits(), lambda link, data: None)
    own = 'broker="a"'

    def came(link: str, message: Message) -> None:
        (first,) = Frames(2**20).feed(control_frame(message, kind))
        driver.heard(link, first)
        driver.perform()

    def told() -> dict[tuple[str, str], float]:
        return read(prometheus(driver.status(lambda link: dict.fromkeys(FARES, 0))))

    driver.up("ann", client=True)
    driver.up("b", client=False)
    came("b", Hello(1, 0, 0))
    cheap = kind.parse("price < 10")
    came("b", Change(1, (Entry(1, cheap),)))
    came("ann", Change(1, (Entry(1, cheap), Entry(2, cheap), Entry(3, kind.parse("price > 9")))))
    came("ann", Change(2, remove=(1,)))
    found = told()
    for name, sort, count in (
        ("registrations", "new", 2),
        ("registrations", "supplementary", 1),
        ("registrations", "duplicate", 1),
        ("cancellations", "partial", 1),
        ("cancellations", "total", 0),
    ):
        assert found[f"tidegate_{name}_total", f'{own},sort="{sort}"'] == count
    assert found["tidegate_questions_total", own] > 0
    assert found["tidegate_recovery_seconds", own] == 0
    driver.handle(Restart())
    driver.up("b", client=False)
    came("b", Hello(1, 1, 0))
    assert driver.recovery == 0  # b has not acknowledged what was sent again
    came("b", Acknowledge(driver.broker.routing.links["b"].stream.sent))
    assert told()["tidegate_recovery_seconds", own] == driver.recovery > 0


FARES = ("waiting", "full", "credits", "given")
