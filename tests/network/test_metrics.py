"""The metrics of a broker say what has happened, in Prometheus's format."""

import re

import pytest

from tests.network.live import until
from tests.network.test_live import One, play
from tidegate.errors import SubscriptionError
from tidegate.network.client import connect
from tidegate.network.limits import Limits
from tidegate.network.metrics import prometheus
from tidegate.network.status import status
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
