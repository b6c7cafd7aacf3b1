"""Rights are filters: whatever a client does, it gets, and publishes, no more than it may.

No sockets: clients are connections of a `Driver`, and speak in frames. What they are delivered is
compared with evaluating their filters and their rights, one by one.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random

import pytest

from tests.conftest import LONG
from tidegate.errors import FrameError
from tidegate.network import rights as module
from tidegate.network.control_frames import control_frame, read_control
from tidegate.network.driver import Driver
from tidegate.network.event_frames import events_frame, payloads_of, read_events_frame
from tidegate.network.frames import Frames, Sort
from tidegate.network.limits import Limits
from tidegate.network.payloads import payload
from tidegate.network.rights import Restricted, Rights
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Event, Filter
from tidegate.overlay.messages import Change, Entry, Refuse

KIND = Attributes()
TEXTS = ["price < :x", "price >= :x", "price < :x OR market = 'B'", "market = 'A' AND price > :x"]
RIGHTS = [
    None,
    Rights(KIND.parse("price < 6"), KIND.parse("market = 'A'")),
    Rights(KIND.parse("market = 'A' OR price = 3"), KIND.parse("TRUE")),
    Rights(KIND.parse("FALSE"), KIND.parse("price < 5")),
    Rights(KIND.parse("TRUE"), KIND.parse("FALSE")),
]


class World:
    """A broker with some clients, whose rights change whenever they connect."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.got: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
        self.driver = Driver(Broker("a", KIND), None, Limits(), self._sent)
        self.rights: dict[str, Rights | None] = {}
        self.wanted: dict[str, dict[int, Filter]] = {}
        self.seqs: dict[str, int] = {}
        self.refused = 0
        self.number = self.own = 0
        for name in ("ann", "bob", "cid"):
            self.connect(name)
        self.driver.up("sid", True)

    def _sent(self, link: str, frames: Sequence[bytes]) -> None:
        for data in frames:
            for came in Frames(2**24).feed(data):
                if came.sort is Sort.DELIVERIES:
                    table = read_events_frame(came, 10**6)
                    owns, start = table.subscriptions.tolist(), 0
                    for number, count in zip(table.numbers, table.counts.tolist(), strict=True):
                        own = tuple(sorted(owns[start : start + count]))
                        self.got.setdefault(link, []).append((number, own))
                        start += count
                elif came.sort is Sort.CONTROL:
                    message = read_control(came.body, KIND, lambda *_: KIND.parse("TRUE"))
                    self.refused += isinstance(message, Refuse) and message.seq is not None

    def tell(self, name: str, change: Change) -> None:
        self.seqs[name] = change.seq
        for came in Frames(2**24).feed(control_frame(change, KIND)):
            self.driver.heard(name, came)
        self.driver.perform()

    def connect(self, name: str) -> None:
        """Come, or come again, perhaps with other rights; it may say all that it wants, or not."""
        self.rights[name] = rights = self.random.choice(RIGHTS)
        self.driver.up(name, True, rights)
        if "sid" in self.driver.broker.routing.links:
            event = self.send("sid")  # it has not said anything yet
            assert name not in self.got or rights is None or rights.see.matches(event)
        self.seqs[name] = self.driver.told(name)[0]
        wanted = self.wanted.get(name, {})
        entries = tuple(Entry(own, f) for own, f in wanted.items())
        before = self.refused
        self.tell(name, Change(self.seqs[name] + 1, add=entries, whole=True))
        if self.refused > before or rights is RIGHTS[3]:
            self.wanted[name] = {}
            self.tell(name, Change(self.seqs[name] + 1, whole=True))
        else:
            self.wanted[name] = wanted

    def change(self, name: str) -> None:
        wanted, drawn = self.wanted[name], self.random.random()
        f = KIND.parse(self.random.choice(TEXTS), x=self.random.randint(0, 9))
        seq = self.seqs[name] + 1
        if wanted and drawn < 0.3:
            own = self.random.choice(list(wanted))
            self.tell(name, Change(seq, remove=(own,)))
            del wanted[own]
        elif wanted and drawn < 0.6:
            own = self.random.choice(list(wanted))
            text = TEXTS[own % len(TEXTS)]
            f = KIND.parse(text, x=self.random.randint(0, 9))
            self.tell(name, Change(seq, update=(Entry(own, f),)))
            wanted[own] = f
        else:
            self.own += 1
            own = self.own
            f = KIND.parse(TEXTS[own % len(TEXTS)], x=self.random.randint(0, 9))
            self.tell(name, Change(seq, add=(Entry(own, f),)))
            if self.rights[name] is not RIGHTS[3]:
                wanted[own] = f

    def publish(self, name: str) -> None:
        """One event goes to exactly those that want it and may see it, if it may be published."""
        event = self.send(name)
        own = self.rights[name]
        owed = {}
        if own is None or own.publish.matches(event):
            for other, wanted in self.wanted.items():
                right = self.rights[other]
                found = [x for x, f in wanted.items() if f.matches(event)]
                if found and (right is None or right.see.matches(event)):
                    owed[other] = [(self.number, tuple(sorted(found)))]
        assert self.got == owed

    def send(self, name: str) -> Event:
        self.number += 1
        event = {"price": self.random.randint(0, 9), "market": self.random.choice("AB")}
        payloads = payloads_of([payload(event, KIND)])
        for came in Frames(2**24).feed(events_frame([self.number], [], payloads)):
            self.driver.heard(name, came)
        self.got.clear()
        self.driver.take_events()
        self.driver.perform()
        return event

    def play(self, steps: int) -> None:
        for _ in range(steps):
            name, drawn = self.random.choice(["ann", "bob", "cid"]), self.random.random()
            if drawn < 0.1:
                self.connect(name)
            elif drawn < 0.5:
                self.change(name)
            else:
                self.publish(name)


@pytest.mark.parametrize("seed", range(200 if LONG else 6))
def test_nobody_sees_or_publishes_more_than_it_may(seed: int) -> None:
    play([seed])


def play(seeds: Iterable[int]) -> None:
    for seed in seeds:
        World(seed).play(200)


# -- mistakes are noticed


def sees_everything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(module, "_within", lambda entry, _: entry)


def publishes_everything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Restricted, "may_publish", lambda *_: True)


def may_publish_what_it_may_see(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Restricted, "may_publish", lambda own, event: own.rights.see.matches(event))


def updates_are_not_restricted(patch: pytest.MonkeyPatch) -> None:
    real = Restricted.restrict

    def restrict(own: Restricted, message: Change) -> Change:
        found = real(own, message)
        assert isinstance(found, Change)
        return Change(found.seq, found.add, message.update, found.remove, found.whole)

    patch.setattr(Restricted, "restrict", restrict)


def updates_what_is_registered(patch: pytest.MonkeyPatch) -> None:
    """The constants that are told become those of `filter AND see`."""
    patch.setattr(Driver, "_known", lambda driver, link, of, own: driver._registered(link, of)[own])


def sees_what_it_wants_or_may(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        module, "both", lambda f, right: KIND.parse(f"({f}) OR ({right})") if f != right else f
    )


def keeps_what_was_told_when_it_might_see_more(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Restricted, "exceeded", lambda *_: False)


MISTAKES = [
    keeps_what_was_told_when_it_might_see_more,
    sees_everything,
    publishes_everything,
    may_publish_what_it_may_see,
    updates_are_not_restricted,
    updates_what_is_registered,
    sees_what_it_wants_or_may,
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_mistake_is_noticed(
    mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)

    with pytest.raises((AssertionError, FrameError, KeyError)):
        play(range(6))
