"""What a client tells its broker after a failure is what was accepted, and what is under way."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.overlay.words import WORDS, Words
from tests.simulate.networks import KIND, between, network
from tidegate.errors import SubscriptionError, TidegateError
from tidegate.overlay.client import Client
from tidegate.overlay.conversation import Told
from tidegate.overlay.filter import Filter
from tidegate.overlay.messages import Acknowledge, Change, Refuse
from tidegate.overlay.settings import Settings
from tidegate.overlay.strategy import STRATEGIES
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.topology import line

OTHER = KIND.parse("y = 1 AND x = 2")  # of another shape than a range


def long(length: int) -> Filter:
    return KIND.parse("s = :s", s="a" * length)


@pytest.mark.parametrize("memory", [True, False], ids=["with its memory", "without"])
def test_a_refused_update_is_not_told_again_after_a_restart(memory: bool) -> None:
    net = Network(line(2), KIND, settings=Settings(filter_size=40))
    client = net.client("c", "b0")
    own, another = client.subscribe(long(5)), client.subscribe(between(20, 29))
    net.run()
    client.update(own, long(50))
    client.change(another, long(60))
    net.run()
    assert [*client.refused] == [
        "the filter with id 1 cannot be taken: it is larger than 40 bytes",
        "the filter with id 3 cannot be taken: it is larger than 40 bytes",
    ]
    before = {own: long(5), another: between(20, 29)}
    assert client.wanted == before
    net.crash("b0")
    net.restart("b0", memory=memory)
    net.run()
    assert client.wanted == before
    assert net.nodes["b0"].broker.routing.wanted.of("c") == before
    assert len(client.refused) == 2, "nothing is refused again"


def test_what_cannot_be_done_is_an_error_and_changes_nothing() -> None:
    net = network(line(1))
    client = net.client("c", "b0")
    own = client.subscribe(between(0, 9))
    with pytest.raises(SubscriptionError, match="use change"):
        client.update(own, OTHER)
    with pytest.raises(SubscriptionError, match="no subscription 77"):
        client.update(77, OTHER)
    with pytest.raises(SubscriptionError, match="no subscription 77"):
        client.cancel(77)
    net.run()
    assert client.wanted == client.told == {own: between(0, 9)}
    assert not client.refused


def test_a_refused_subscription_is_not_told_again_and_takes_no_other_with_it() -> None:
    """Unanswered when its broker lost its memory, it is told apart from what was accepted."""
    net = Network(line(1), KIND, settings=Settings(filter_size=40), setup=Setup(client_delay=1.0))
    client = net.client("c", "b0")
    good = client.subscribe(between(0, 9))
    net.run()
    bad = client.subscribe(KIND.parse(f"s = '{'a' * 50}'"))
    assert set(client.wanted) == {good, bad}
    net.crash("b0")
    net.restart("b0", memory=False)
    net.run()
    assert set(client.wanted) == {good}
    assert [*net.nodes["b0"].broker.routing.wanted.of("c")] == [good]
    assert len(client.refused) == 1
    with pytest.raises(SubscriptionError):
        client.cancel(bad)
    client.cancel(good)
    net.run()
    assert not net.nodes["b0"].broker.routing.wanted.of("c")
    assert not client.wanted


def test_a_refused_advertisement_is_not_told_again() -> None:
    net = Network(line(1), KIND, settings=Settings(advertisements=True, filter_size=40))
    client = net.client("c", "b0")
    client.advertise(between(0, 9))
    client.advertise(KIND.parse(f"s = '{'a' * 50}'"))
    net.run()
    assert [*client.offered] == [1]
    net.crash("b0")
    net.restart("b0", memory=False)
    net.run()
    assert [*net.nodes["b0"].broker.routing.offered["c"].filters] == [1]


def test_a_client_remembers_the_last_refusals_only() -> None:
    client = Client("c", Slow())
    for i in range(500):
        client.hear(Refuse(None, None, str(i)))
    assert len(client.refused) == 100
    assert client.refused[-1] == "499"


def test_a_client_without_anything_that_carries_events_does_not_publish() -> None:
    with pytest.raises(TidegateError, match="c only subscribes"):
        Client("c", Slow()).publish(of_size(2))


def of_size(size: int, start: int = 0) -> Words:
    return Words(frozenset(WORDS[start : start + size]))


class Slow:
    """A broker that answers when told to, and refuses odd sizes; it may lose its memory."""

    def __init__(self) -> None:
        self.has: dict[int, Filter] = {}
        self.heard = 0
        self.waiting: list[Change] = []

    def send(self, message: Told, /) -> None:
        assert isinstance(message, Change)
        self.waiting.append(message)

    def answer(self, client: Client) -> None:
        """Take up one message; filters of odd size and unknown ids are refused."""
        message = self.waiting.pop(0)
        if message.seq == self.heard + 1:
            self.heard += 1
            asked = (*message.add, *message.update)
            known = [*(x.id for x in message.update), *message.remove]
            if any(x.filter.size % 2 for x in asked) or any(own not in self.has for own in known):
                client.hear(Refuse(message.seq, None, "odd"))
            else:
                if message.whole:
                    self.has.clear()
                self.has.update((x.id, x.filter) for x in asked)
                for own in message.remove:
                    del self.has[own]
        client.hear(Acknowledge(self.heard))


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), strategy=st.sampled_from(STRATEGIES))
def test_once_all_is_answered_client_and_broker_agree(seed: int, strategy: str) -> None:
    rng = Random(seed)
    broker = Slow()
    client = Client("c", broker, updates=strategy)
    for _ in range(60):
        what = rng.choice(("subscribe", "update", "cancel", "answer", "answer", "fail", "forget"))
        if what == "answer" and broker.waiting:
            broker.answer(client)
        elif what == "fail" and rng.random() < 0.3:
            broker.waiting.clear()
            client.reconnect(afresh=False)
        elif what == "forget" and rng.random() < 0.3:
            broker.waiting.clear()
            broker.has, broker.heard = {}, 0
            client.reconnect(afresh=True)
        elif rng.random() < 0.3:
            with client.together():
                for _ in range(3):
                    ask(client, rng.choice(("subscribe", "update", "cancel")), rng)
        else:
            ask(client, what, rng)
    while broker.waiting:
        broker.answer(client)
    assert client.told == broker.has
    conversation = client._conversation
    assert conversation.settled
    assert not conversation._refused_seqs
    assert conversation._accepted[Change] == broker.has
    assert set(client._owners) == set(broker.has), "entries that are gone are forgotten"
    newest = {own: entry for entry, own in client._owners.items()}
    assert client.wanted == {own: broker.has[entry] for own, entry in newest.items()}


def ask(client: Client, what: str, rng: Random) -> None:
    if what == "subscribe":
        client.subscribe_many([of_size(rng.randrange(6)) for _ in range(rng.randint(1, 2))])
    elif client.wanted:
        own = rng.choice(list(client.wanted))
        if what == "update":
            client.change(own, of_size(rng.randrange(6), rng.randrange(4)))
        elif what == "cancel":
            client.cancel(own)
