"""Frames that are nearly right: each is taken, refused, or ends its link with the reason.

What is said is right but for a few bytes, or for one part of it, so that a broker reads far into
it: numbers follow one another, ids are known or free, events are few or many. Everybody else goes
on, and nothing grows.
"""

from collections import Counter
from copy import deepcopy
from random import Random
from typing import Any

import pytest

from tests.conftest import LONG
from tidegate.errors import FrameError
from tidegate.network import driver as driven
from tidegate.network.control_frames import read_control
from tidegate.network.driver import Driver
from tidegate.network.event_frames import Payloads, events_frame, payloads_of
from tidegate.network.frames import HEAD, IN_TURN, Frames, Sort, frame
from tidegate.network.limits import Limits
from tidegate.network.packed_events import PackedEvents
from tidegate.network.payloads import payload, write
from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Kind
from tidegate.overlay.kinds import kind_called
from tidegate.overlay.messages import Advertise, Change, Entry, Message
from tidegate.overlay.settings import Settings

HOSTILE = 1_000_000 if LONG else 3_200
LONGEST = 10_000  # bytes of a frame
MOST = 150  # subscriptions of a client
QUIET = 1_050  # subscriptions of somebody else: so many that events are matched together
JUNK: list[Any] = [
    None,
    True,
    0,
    -1,
    2**63,
    2**64 - 1,
    1.5,
    "",
    "x",
    "price <",
    ":x",
    [],
    [[]],
    {},
    ["1D"],
]
BYTES = [0, 1, 2, 127, 128, 144, 145, 196, 255, *b" ':<=a9"]
KINDS = [("attributes", False), ("attributes", True), ("xml", False), ("attributes+xml", True)]
TEXTS = {
    "attributes": ["price < :x", "side = :s AND price >= :x", "price < 10 OR side LIKE 'b%'"],
    "xml": ["//price[. < $x]", "//quote[side = $s][price >= $x]", "/quote//side"],
}
VALUES: dict[str, list[Any]] = {"x": [0, 1, 2.5, 50, ["DATE '2026-11-18'"]], "s": ["buy", "", None]}


class Hostile:
    """A broker with two links on which nearly everything comes: to a client, and to a neighbour."""

    def __init__(self, kind: Kind, random: Random, *, advertisements: bool) -> None:
        self.random = random
        self.kind = kind
        self.outcomes: Counter[str] = Counter()  # what has become of frames
        settings = Settings(advertisements=advertisements)
        self.broker = Broker("a", kind, settings=settings)
        limits = Limits(frame=LONGEST, subscriptions=MOST)
        self.driver = Driver(self.broker, None, limits, lambda link, data: None)
        self.frames: dict[str, Frames] = {}
        self.texts = [text for name in kind.name.split("+") for text in TEXTS[name]]
        self.quiet()
        for link in ("mallory", "b"):
            self.connect(link)

    def quiet(self) -> None:
        """Somebody who wants much, and says nothing more."""
        self.driver.up("ann", True)
        template = self.kind.template(self.texts[0])  # type: ignore[attr-defined]
        entries = (Entry(i, template.bind({"x": i % 7})) for i in range(QUIET))
        self.broker.handle("ann", Change(1, add=tuple(entries)))

    def connect(self, link: str) -> None:
        """A new connection, after the last one has ended."""
        client = link == "mallory"
        assert self.driver.up(link, client) is None
        self.frames[link] = Frames(LONGEST, message=LONGEST)
        if not client:
            stream = self.broker.routing.links[link].stream
            self.say(link, control(["hello", 5, self.broker.life, stream.sent]))

    def say(self, link: str, data: bytes) -> None:
        """Let bytes come on a link; the link ends if they cannot be."""
        before = self.broker.routing.links[link].stream.heard
        frames = self.frames[link]
        cut = self.random.randrange(len(data) + 1)
        try:
            for part in (data[:cut], data[cut:]):
                for each in frames.feed(part):
                    if each.sort not in (Sort.HEARTBEAT, Sort.CLOSE):  # known by the connection
                        self.driver.heard(link, each)
                assert frames.waiting <= 2 * LONGEST + HEAD.size
            self.driver.take_events()
        except FrameError:
            self.outcomes["ended"] += 1
            self.driver.perform()
            self.connect(link)
        self.driver.perform()
        self.outcomes["taken"] += self.broker.routing.links[link].stream.heard > before

    # -- what is right

    def some(self, link: str) -> bytes:
        """A frame that is right, or nearly."""
        drawn = self.random.random()
        if drawn < 0.25:
            return self.events(link)
        if drawn < 0.3 and link != "mallory":
            return control(["acknowledge", self.broker.routing.links[link].stream.sent])
        if drawn < 0.33:
            own: list[list[Any]] = [
                ["refuse", None, 5, "no"],
                ["report", 1, 0.5, None, 1.0],
                ["way", ["b", "c"]],
            ]
            return self.mutated(control(self.spoiled(self.random.choice(own))))
        said = self.told(link, "change" if drawn < 0.8 else "advertise")
        if self.random.random() < 0.4:
            said = self.spoiled(said)
        flags = IN_TURN * (self.random.random() < 0.1)
        return self.mutated(frame(Sort.CONTROL, write(said), flags=flags))

    def told(self, link: str, name: str) -> list[Any]:
        """A change, or an advertisement, that is the next one, and its columns."""
        known = self.broker.routing
        table = known.wanted.of(link) if name == "change" else known.offered[link].filters
        mine = list(table)
        self.random.shuffle(mine)
        free = [own for own in self.random.sample(range(500), 30) if own not in table]
        whole = self.random.random() < 0.05 or len(mine) > MOST // 2
        update = [] if whole else [[own, table[own].values] for own in mine[:2]]
        remove = [] if whole else mine[2 : self.random.randrange(2, 12)]
        filters = [self.kind.plain(self.filter(text)) for text in self.texts]
        add = [[free.pop(), self.random.choice(filters)] for _ in range(self.random.randrange(3))]
        columns = [self.columns(free) for _ in range(self.random.randrange(3))]
        seq = known.links[link].stream.heard + 1
        return [[name, seq, add, update, remove, whole], columns]

    def filter(self, text: str) -> Any:
        template = self.kind.template(text)  # type: ignore[attr-defined]
        return template.bind({name: VALUES[name][0] for name in template.parameters})

    def columns(self, free: list[int]) -> list[Any]:
        text = self.random.choice(self.texts)
        names = self.filter_names(text)
        ids = [free.pop() for _ in range(self.random.randrange(1, 6))]
        values = [[self.random.choice(VALUES[name]) for _ in ids] for name in names]
        return [text, ids, names, values]

    def filter_names(self, text: str) -> list[str]:
        return list(self.kind.template(text).parameters)  # type: ignore[attr-defined]

    def events(self, link: str) -> bytes:
        """Few events, or so many that they are read together."""
        count = self.random.choice((1, 3, 20, 40))
        written = []
        for _ in range(count):
            side, price = self.random.choice(("buy", "sell")), self.random.randrange(9)
            event: Any = {"price": price, "side": side}
            if self.kind.event_refusal(event) or (
                "+" in self.kind.name and self.random.random() < 0.5
            ):
                event = f"<quote><side>{side}</side><price>{price}</price></quote>"
            written.append(payload(event, self.kind))
        newest = self.broker.seen("a/mallory" if link == "mallory" else "b/x")
        numbers = range(newest + 1, newest + 1 + count)
        names = [] if link == "mallory" else ["b/x"] * count
        data = events_frame(numbers, names, payloads_of(written))
        if self.random.random() < 0.02:
            return self.mutated(data)
        found = bytearray(self.mutated(data))  # of a number that is changed, most are used up
        at = HEAD.size + 8 + int.from_bytes(data[12:16], "little")
        end = min(at + 8 * count, len(found))
        found[at:end] = data[at:end]
        return bytes(found)

    # -- what is nearly right

    def spoiled(self, said: list[Any]) -> list[Any]:
        """The same with one part of it that is anything."""
        at, places = said, [said]
        while places:
            at = self.random.choice(places)
            places = [part for part in at if type(part) is list and part]
            if self.random.random() < 0.3:
                break
        at[self.random.randrange(len(at))] = deepcopy(self.random.choice(JUNK))
        return said

    def mutated(self, data: bytes) -> bytes:
        """The same with a few bytes that are others, or with its end missing."""
        found = bytearray(data)
        for _ in range(self.random.choice((0, 0, 0, 0, 1, 1, 2, 4))):
            place = self.random.randrange(0 if self.random.random() < 0.2 else HEAD.size, len(data))
            found[place] = self.random.choice(BYTES)
        if self.random.random() < 0.05:
            del found[self.random.randrange(HEAD.size, len(found)) :]
            found[:4] = (len(found) - HEAD.size).to_bytes(4, "little")
        return bytes(found)

    @property
    def seen(self) -> Counter[str]:
        """What has become of all that was said."""
        return self.outcomes + self.driver.refused + self.driver.counted

    @property
    def is_spent(self) -> bool:
        """Whether a publisher has hardly any numbers left."""
        return max(map(self.broker.seen, ("a/mallory", "b/x"))) > 2**62

    def check(self) -> None:
        """Nothing waits anywhere, and no table has grown."""
        assert not self.driver.due
        assert not self.driver.gathering.count
        assert not self.driver.gathering._parts
        routing = self.broker.routing
        assert sorted(routing.links) == ["ann", "b", "mallory"]
        assert len(routing.wanted.of("ann")) == QUIET
        assert len(routing.wanted.of("mallory")) <= MOST
        assert len(routing.wanted.of("b")) < 2 * MOST
        assert all(len(offers.filters) < 2 * MOST for offers in routing.offered.values())
        assert all(len(link.stream.unacknowledged) < 1_000 for link in routing.links.values())


def control(message: list[Any]) -> bytes:
    return frame(Sort.CONTROL, write([message, []]))


@pytest.mark.parametrize(("name", "advertisements"), KINDS)
def test_hostile_bytes_have_an_answer(
    name: str, advertisements: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Counter[str] = Counter()

    class Noted(PackedEvents):
        @classmethod
        def of(cls, payloads: Payloads) -> PackedEvents | None:
            found = super().of(payloads)
            seen["packed"] += found is not None
            return found

    def noted(*arguments: Any) -> Message:
        found = read_control(*arguments)
        seen["filters"] += len(found.add) if isinstance(found, Change | Advertise) else 0
        return found

    monkeypatch.setattr(driven, "PackedEvents", Noted)
    monkeypatch.setattr(driven, "read_control", noted)
    random = Random(1)
    hostile = Hostile(kind_called(name), random, advertisements=advertisements)
    turns = HOSTILE // len(KINDS)
    for _ in range(turns):
        link = random.choice(("mallory", "b"))
        hostile.say(link, hostile.some(link))
        hostile.check()
        if hostile.is_spent:
            seen += hostile.seen
            hostile = Hostile(kind_called(name), random, advertisements=advertisements)
    seen += hostile.seen
    expected = ("ended", "taken", "filters", "filter", "no event", "deliveries", "events out")
    for what in expected:
        assert seen[what] > turns // 100, what
    if name == "attributes":
        assert seen["packed"] > turns // 100
