"""Credits, outboxes and who has to wait, without sockets: laws over random schedules."""

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import LONG
from tidegate.errors import FrameError, TidegateError
from tidegate.network.credits import Credits, credits_frame, read_credits
from tidegate.network.event_frames import deliveries_frames, payloads_of, read_events_frame
from tidegate.network.frames import HEAD, IN_TURN, OVERTAKING, Frame, Frames, Sort, frame
from tidegate.network.gap import gap_frame, read_gap
from tidegate.network.limits import Limits
from tidegate.network.outbox import Outbox
from tidegate.network.pressure import Pressure, check_slow


def frames_of(data: bytes) -> list[Frame]:
    return list(Frames(longest=2**20).feed(data))


def events(number: int, size: int) -> bytes:
    return frame(Sort.EVENTS, number.to_bytes(4, "little"), bytes(size))


def control(number: int, flags: int = 0) -> bytes:
    return frame(Sort.CONTROL, number.to_bytes(4, "little"), flags=flags)


def number_of(came: Frame) -> int:
    return int.from_bytes(came.body[:4], "little")


# -- one connection

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("event"), st.integers(0, 200)),
        st.tuples(st.just("message"), st.sampled_from([0, 0, 0, IN_TURN])),
        st.tuples(st.just("read"), st.integers(1, 400)),
        st.tuples(st.sampled_from(["pause", "resume"]), st.just(0)),
    ),
    max_size=60,
)


class Ends:
    """Both ends of a connection, of which one sends and the other one handles and gives credits."""

    def __init__(self, most: int) -> None:
        self.box, self.credits = Outbox(most), Credits(most)
        self.way = bytearray()  # sent, and not read
        self.read: list[Frame] = []
        self.said = 0

    def send(self, data: bytes) -> None:
        self.said += 1
        self.way += b"".join(self.box.put([data]))

    def take(self, frames: Frames, size: int) -> None:
        """Read some bytes, and answer with credits."""
        data = bytes(self.way[:size])
        del self.way[:size]
        for came in frames.feed(data):
            if came.sort is Sort.EVENTS:
                self.credits.take(HEAD.size + len(came.body))
            self.read.append(came)
        if frames.waiting == 0 and (given := self.credits.more()) is not None:
            self.box.credits = read_credits(frames_of(credits_frame(given))[0])
        self.release()

    def release(self) -> None:
        while data := self.box.release():
            self.way += data


@given(STEPS, st.integers(1, 500))
def test_everything_arrives_and_flags_tell_in_which_order_it_was_said(
    steps: list[tuple[str, int]], most: int
) -> None:
    ends, frames = Ends(most), Frames(longest=2**20)
    for what, how in steps:
        if what == "event":
            ends.send(events(ends.said, how))
        elif what == "message":
            ends.send(control(ends.said, how))
        elif what == "read":
            ends.take(frames, how)
        else:
            ends.box.paused = what == "pause"
            ends.release()
        outside = sum(HEAD.size + len(x.body) for x in ends.read if x.sort is Sort.EVENTS)
        assert outside <= ends.credits.given + 212  # what was given, and one frame
    ends.box.paused = False
    ends.release()
    while ends.way:
        ends.take(frames, 100)
    assert ends.box.backlog == 0
    said = [number_of(came) for came in ends.read]
    assert sorted(said) == list(range(ends.said))
    for sort in (Sort.EVENTS, Sort.CONTROL):
        own = [number_of(came) for came in ends.read if came.sort is sort]
        assert own == sorted(own)
    for place, came in enumerate(ends.read):
        number, earlier, later = number_of(came), said[:place], said[place + 1 :]
        overtook = any(x < number for x in later)
        overtaken = any(x > number for x in earlier)
        if came.sort is Sort.CONTROL:
            assert bool(came.flags & OVERTAKING) == overtook
            assert not (came.flags & IN_TURN and overtook)
        else:
            assert bool(came.flags & OVERTAKING) == overtaken


def test_messages_need_no_credits() -> None:
    box = Outbox(0)
    assert box.put([events(1, 10), control(2)]) == [control(2, OVERTAKING)]
    box.paused = True
    assert box.put([frame(Sort.HEARTBEAT)]) == [frame(Sort.HEARTBEAT)]
    assert box.release() == b""
    box.paused, box.credits = False, 1
    assert frames_of(box.release())[0].flags == OVERTAKING


def test_who_sends_without_credits_is_not_listened_to() -> None:
    credits = Credits(100)
    credits.take(99)
    credits.take(1_000)  # the last one may be larger
    with pytest.raises(FrameError, match="without credits"):
        credits.take(1)
    assert credits.more() == 1_199
    credits.take(1)


def test_credits_are_said_when_it_is_worth_it() -> None:
    credits, said = Credits(1_000), 0
    for _ in range(100):
        credits.take(100)
        said += credits.more() is not None
    assert said == 20
    assert credits.left > 500


@pytest.mark.parametrize("body", [b"", b"1234567", b"123456789"])
def test_what_are_no_credits_and_no_gap(body: bytes) -> None:
    with pytest.raises(FrameError):
        read_credits(Frame(Sort.CREDITS, body))
    with pytest.raises(FrameError):
        read_gap(Frame(Sort.GAP, body))


# -- a gap


def delivery(number: int, owns: list[int], size: int = 10) -> bytes:
    rows, starts = np.zeros(1, np.int32), np.array([0, len(owns)], np.int32)
    columns = np.array([[0, 1]], np.int32), rows, starts, np.array(owns, np.int64)
    return deliveries_frames([number], ["p"], payloads_of([bytes(size)]), *columns)[0]


@given(
    st.lists(
        st.one_of(
            st.lists(st.integers(1, 5), min_size=1, max_size=3, unique=True),
            st.integers(1, 500).map(lambda size: ("grant", size)),
            st.integers(0, 300).map(lambda size: ("drop", size)),
        ),
        max_size=60,
    )
)
def test_what_is_dropped_is_told_in_its_place(steps: list[object]) -> None:
    box, sent, read = Outbox(100), 0, bytearray()
    owed: list[tuple[int, list[int]]] = []
    dropped = 0
    for step in steps:
        match step:
            case list(owns):
                sent += 1
                owed.append((sent, owns))
                read += b"".join(box.put([delivery(sent, owns)]))
            case ("grant", int(size)):
                box.credits += size
            case ("drop", int(size)):
                dropped += box.drop(size)
                assert box.backlog <= size
        while data := box.release():
            read += data
    box.credits = 2**40
    while data := box.release():
        read += data
    missed: Counter[int] = Counter()
    gaps = 0
    for came in frames_of(bytes(read)):
        if came.sort is Sort.GAP:
            assert not missed
            missed = read_gap(came)
            continue
        table = read_events_frame(came, 10)
        expected: Counter[int] = Counter()
        while owed[0][0] != table.numbers[0]:
            expected.update(owed.pop(0)[1])
            gaps += 1
        assert missed == expected
        assert table.subscriptions.tolist() == owed.pop(0)[1]
        missed = Counter()
    for _, owns in owed:  # what was dropped last
        missed.subtract(owns)
    assert not any(missed.values())
    assert gaps + len(owed) == dropped


def test_a_gap_is_what_it_was() -> None:
    missed = {1: 2, -5: 2**40, 2**62: 1}
    assert read_gap(frames_of(gap_frame(missed))[0]) == missed


# -- brokers that wait for each other

Held = Callable[[Pressure, str], bool]


class Brokers:
    """Brokers on a tree, each with a client that publishes and one that is told everything.

    Every event goes everywhere. What is sent on a link is there at once, and is handled when it is
    its broker's turn; clients read when it is their turn.
    """

    def __init__(self, parents: list[int], limits: Limits) -> None:
        count = len(parents) + 1
        self.near: list[list[int]] = [[] for _ in range(count)]
        for node, parent in enumerate(parents, 1):
            self.near[node].append(parent)
            self.near[parent].append(node)
        self.came: list[list[tuple[str, bytes]]] = [[] for _ in range(count)]
        self.publishers = [Outbox(limits.credits) for _ in range(count)]
        self.unread: list[list[bytes]] = [[] for _ in range(count)]
        self.readers = [Credits(1) for _ in range(count)]
        self.got: list[list[int]] = [[] for _ in range(count)]
        self.cut: list[tuple[int, str]] = []
        self.largest = 0
        self.sides = [self._side(node, limits) for node in range(count)]

    def _side(self, node: int, limits: Limits) -> Pressure:
        def write(link: str, data: bytes) -> None:
            if link == "publisher":
                for came in frames_of(data):
                    box = self.publishers[node]
                    box.credits = read_credits(came)
                    while more := box.release():
                        self._put(node, "publisher", more)
            elif link == "reader":
                self.unread[node].append(data)
            else:
                self._put(int(link), str(node), data)

        cut = lambda link, _: self.cut.append((node, link))  # noqa: E731
        side = Pressure(limits, "wait", Counter(), write, cut)
        for other in self.near[node]:
            side.up(str(other), client=False, credits=limits.credits)
        side.up("publisher", client=True, credits=0)
        side.up("reader", client=True, credits=1)
        return side

    def _put(self, node: int, link: str, data: bytes) -> None:
        self.came[node].extend(
            (link, frame(each.sort, each.body, flags=each.flags)) for each in frames_of(data)
        )

    def publish(self, node: int, number: int) -> None:
        for data in self.publishers[node].put([events(number, 20)]):
            self._put(node, "publisher", data)

    def handle(self, node: int) -> bool:
        """A broker handles all that has come; whether there was anything."""
        came, self.came[node] = self.came[node], []
        side = self.sides[node]
        for link, data in came:
            (one,) = frames_of(data)
            if one.sort is Sort.CREDITS:
                side.granted(link, read_credits(one))
                continue
            side.came(link, one)
            for other in [*map(str, self.near[node]), "reader"]:
                if other != link:
                    side.send(other, [data])
        side.settle()
        self.largest = max(
            self.largest, *(side.status(str(other))["waiting"] for other in self.near[node])
        )
        return bool(came)

    def read(self, node: int) -> bool:
        unread, self.unread[node] = self.unread[node], []
        for data in unread:
            for came in frames_of(data):
                self.readers[node].take(HEAD.size + len(came.body))
                self.got[node].append(number_of(came))
        given = self.readers[node].more()
        if given is not None:
            self.sides[node].granted("reader", given)
            self.sides[node].settle()
        return bool(unread)

    def play(self, random: Random, each: int) -> None:
        """Everybody publishes as fast as can be; then all take turns until nothing happens."""
        numbers = iter(range(10**6))
        for _ in range(each):
            for node in range(len(self.sides)):
                self.publish(node, next(numbers))
            if random.random() < 0.3:
                self.handle(random.randrange(len(self.sides)))
        while self._turn(random):
            pass

    def _turn(self, random: Random) -> bool:
        turns = [(self.handle, node) for node in range(len(self.sides))]
        turns += [(self.read, node) for node in range(len(self.sides))]
        random.shuffle(turns)
        happened = [turn(node) for turn, node in turns]
        return any(happened)


LIMITS = Limits(buffer=60, credits=40)


def trees() -> Iterator[tuple[int, list[int]]]:
    yield 0, [0, 1]  # a line of three
    for seed in range(300 if LONG else 12):
        random = Random(seed)
        yield seed, [random.randrange(i) for i in range(1, random.randint(2, 7))]


@pytest.mark.parametrize(("seed", "parents"), [*trees()])
def test_brokers_that_wait_for_credits_do_not_wait_for_each_other(
    seed: int, parents: list[int]
) -> None:
    brokers = Brokers(parents, LIMITS)
    brokers.play(Random(seed), 40)
    everything = list(range(40 * len(brokers.sides)))
    assert [sorted(got) for got in brokers.got] == [everything] * len(brokers.sides)
    assert not brokers.cut
    one = HEAD.size + 24
    others = max(map(len, brokers.near)) + 1  # neighbours and the publisher, all but the full one
    assert brokers.largest <= LIMITS.buffer + others * (LIMITS.credits + one) + one


def held_by_itself(side: Pressure, _: str) -> bool:
    """A mistake: the link that is full gets no credits either."""
    return bool(side._full)


def never_held(_: Pressure, __: str) -> bool:
    """A mistake: nobody waits."""
    return False


@pytest.mark.parametrize("mistake", [held_by_itself, never_held])
def test_mistakes_in_who_has_to_wait_are_noticed(
    mistake: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pressure, "_is_held", mistake)
    with pytest.raises(AssertionError):
        test_brokers_that_wait_for_credits_do_not_wait_for_each_other(0, [0, 1])


# -- what becomes of a client that does not read


@pytest.mark.parametrize(
    ("slow", "dropped", "cut_at"), [("cut", 0, -1.0), ("drop", 9, None), ("wait", 0, 5.5)]
)
def test_who_does_not_read_is_cut_dropped_from_or_waited_for(
    slow: str, dropped: int, cut_at: float | None
) -> None:
    counted: Counter[str] = Counter()
    cut: list[float] = []
    now = -1.0
    limits = Limits(buffer=200, credits=100, patience=5)
    side = Pressure(limits, check_slow(slow), counted, lambda *_: None, lambda *_: cut.append(now))
    side.up("deaf", client=True, credits=0)
    side.up("bob", client=True, credits=0)
    for number in range(200 // len(delivery(0, [1])) + 9):
        if not cut:
            side.send("deaf", [delivery(number, [1])])
    assert counted["dropped"] == dropped
    assert side.status("deaf")["full"] == (slow == "wait")
    side.came("bob", Frame(Sort.EVENTS, bytes(200)))
    assert side.due == (slow != "wait")
    for now in (0.0, 4.0, 5.5):
        side.check(now)
    assert cut == ([] if cut_at is None else [cut_at])
    side.down("deaf")
    assert side.due  # who has gone is not waited for
    side.settle()
    assert side.status("bob")["given"] == 100


@pytest.mark.parametrize("circles", [False, True])
def test_neighbours_are_waited_for_without_end_unless_there_may_be_circles(circles: bool) -> None:
    cut: list[str] = []
    limits = Limits(buffer=50, patience=5)
    side = Pressure(
        limits,
        "cut",
        Counter(),
        lambda *_: None,
        lambda link, _: cut.append(link),
        circles=circles,
    )
    side.up("b", client=False, credits=0)
    side.send("b", [events(1, 100)])
    for now in (0.0, 4.0, 6.0):
        side.check(now)
    assert cut == (["b"] if circles else [])


def test_who_reads_in_time_is_not_cut() -> None:
    cut: list[str] = []
    limits = Limits(buffer=50, patience=5)
    side = Pressure(limits, "wait", Counter(), lambda *_: None, lambda link, _: cut.append(link))
    side.up("slow", client=True, credits=0)
    size = len(delivery(0, [1]))
    for number in range(10):
        side.send("slow", [delivery(number, [1])])
        assert side.status("slow")["full"]
        side.check(4.0 * number)
        side.granted("slow", size * number + 1)
        assert not side.status("slow")["full"]
    assert not cut


def test_a_client_is_slow_in_one_of_three_ways() -> None:
    with pytest.raises(TidegateError, match="not 'ignore'"):
        check_slow("ignore")
