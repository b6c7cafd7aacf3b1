"""Kept events as frames: numbers on a link, in their order, and what is refused."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.network.live import ANY
from tidegate.errors import FrameError, StorageError, TidegateError
from tidegate.network.control_frames import control_frame
from tidegate.network.disk import Disk
from tidegate.network.driver import Driver
from tidegate.network.event_frames import Room, events_frame, payloads_of, read_events_frame
from tidegate.network.frames import HEAD, IN_TURN, Frame, Frames, Sort
from tidegate.network.kept import LARGE, MOST, Onward, kept_frame, read_kept
from tidegate.network.limits import Limits
from tidegate.network.outbox import Outbox
from tidegate.network.process import read_setup
from tidegate.network.server import Server
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import Acknowledge, Change, Entry, Hello, Publish, Restart
from tidegate.overlay.settings import Settings
from tidegate.overlay.storage import Keeper

KIND = Attributes()
ROOM = Room(MOST, 2**30)
KEEPING = Settings(keep_events=True, keep_deliveries=False)


def events(seqs: Sequence[int], x: Any = 1) -> list[Publish]:
    return [Publish(seq + 100, {"x": x}, "a/ann", seq) for seq in seqs]


def sent(seqs: Sequence[int], x: Any = 1, room: Room = ROOM) -> list[tuple[int, int]]:
    """The frames of events: the first number of each, and how many it has."""
    onward, found = Onward(KIND), []
    for event in events(seqs, x):
        onward.add("b", event)
    for data in onward.frames("b", room):
        (came,) = Frames(room.bytes).feed(data)
        first, inner = read_kept(came)
        table = read_events_frame(inner, most=room.events)
        found.append((first, len(table.numbers)))
        assert table.numbers.tolist() == [first + 100 + i for i in range(len(table.numbers))]
    assert onward.links == []
    return found


def test_numbers_that_follow_each_other_share_a_frame() -> None:
    assert sent([3, 4, 5]) == [(3, 3)]
    assert sent([3, 4, 6, 7]) == [(3, 2), (6, 2)]
    assert sent([3, 4, 3, 4]) == [(3, 2), (3, 2)]  # said again
    assert sent(range(1, MOST + 2)) == [(1, MOST), (MOST + 1, 1)]
    assert sent([1, 2, 3], "x" * (LARGE // 2 - 50)) == [(1, 3)]
    assert sent([1, 2, 3], "x" * (LARGE + 1)) == [(1, 1), (2, 1), (3, 1)]
    assert sent(range(1, 12), room=Room(5, 2**30)) == [(1, 5), (6, 5), (11, 1)]
    assert sent(range(1, 12), "x" * 100, Room(MOST, 500)) == [(1, 3), (4, 3), (7, 3), (10, 2)]


def test_changes_wait_behind_kept_events() -> None:
    """What has numbers comes in their order, but acknowledgements go at once."""
    box = Outbox(credits=1)
    kept = kept_frame(events([1]), [b"payload"])
    change = control_frame(Change(2, (Entry(1, KIND.parse("x > 1")),)), KIND, in_turn=True)
    answer = control_frame(Acknowledge(1), KIND, in_turn=True)
    assert (change[5] & IN_TURN, answer[5]) == (IN_TURN, 0)
    assert box.put([kept]) == [kept]
    assert [each[HEAD.size :] for each in box.put([kept, answer, change])] == [answer[HEAD.size :]]
    box.credits = 10_000
    released = list(Frames(2**20).feed(box.release()))
    assert [each.sort for each in released] == [Sort.KEPT, Sort.CONTROL]


class Told:
    """A driver of a broker that keeps events, without sockets: what it sends on which link."""

    def __init__(self, folder: Path) -> None:
        self.disk = Disk(folder, "b", KIND)
        keeper = Keeper.recall(self.disk, 1_000, KIND, settings=KEEPING)
        keeper = keeper or Keeper.begin(Broker("b", KIND, settings=KEEPING), self.disk, 1_000)
        self.sent: list[tuple[str, Frame]] = []
        self.driver = Driver(keeper.broker, keeper, Limits(), self._send)

    def __enter__(self) -> "Told":
        return self.up()

    def __exit__(self, *_: object) -> None:
        self.disk.close()

    def _send(self, link: str, frames: Sequence[bytes]) -> None:
        for data in frames:
            self.sent += [(link, came) for came in Frames(2**30).feed(data)]

    def came(self, link: str, data: bytes) -> list[tuple[str, Sort]]:
        """Something comes; what is sent then."""
        self.sent.clear()
        (came,) = Frames(2**30).feed(data)
        self.driver.heard(link, came)
        self.driver.take_events()
        self.driver.perform()
        return [(link, each.sort) for link, each in self.sent]

    def up(self) -> "Told":
        """A client and two neighbours are there, one of which wants everything."""
        for link in ("ann", "m", "n"):
            self.driver.up(link, link == "ann")
        self.control("m", Hello(7, 0, 0))
        self.control("n", Hello(9, 0, 0))
        return self

    def control(self, link: str, message: Any) -> list[tuple[str, Sort]]:
        return self.came(link, control_frame(message, KIND))

    def kept(self, seqs: Sequence[int]) -> bytes:
        return kept_frame(events(seqs), [b"\x81\xa1x\x01"] * len(seqs))


def test_events_are_passed_on_with_numbers_and_answered(tmp_path: Path) -> None:
    with Told(tmp_path) as told:
        told.control("n", Change(1, (Entry(1, KIND.parse("x > 0")),)))
        before = told.driver.broker.routing.links["n"].stream.sent
        assert told.came("m", told.kept([1, 2, 3])) == [("m", Sort.CONTROL), ("n", Sort.KEPT)]
        first, inner = read_kept(told.sent[1][1])
        assert first == before + 1
        assert read_events_frame(inner, most=10).numbers.tolist() == [101, 102, 103]
        assert told.came("m", told.kept([2, 3])) == [("m", Sort.CONTROL)]  # known
        assert told.came("m", told.kept([9])) == [("m", Sort.CONTROL)]  # too early
        assert told.driver.broker.routing.links["m"].stream.heard == 3


def test_nothing_is_confirmed_or_passed_on_that_could_not_be_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(records: object) -> None:
        raise StorageError("there is no room")

    with Told(tmp_path) as told:
        told.control("n", Change(1, (Entry(1, KIND.parse("x > 0")),)))
        assert told.came("ann", events_frame([1], [], payloads_of([b"\x81\xa1x\x01"]))) == [
            ("n", Sort.KEPT),
            ("ann", Sort.TAKEN),
        ]
        monkeypatch.setattr(told.disk, "write", full)
        for link, data in (
            ("ann", events_frame([2], [], payloads_of([b"\x81\xa1x\x01"]))),
            ("m", told.kept([1])),
        ):
            with pytest.raises(StorageError):
                told.came(link, data)
            assert told.sent == []


def test_what_was_not_acknowledged_is_known_after_a_crash(tmp_path: Path) -> None:
    with Told(tmp_path) as told:
        told.control("n", Change(1, (Entry(1, KIND.parse("x > 0")),)))
        heard = told.driver.broker.routing.links["n"].stream.sent
        told.came("m", told.kept([1, 2, 3]))
    again = Told(tmp_path)
    again.driver.handle(Restart())
    again.driver.up("n", False)
    sorts = again.control("n", Hello(9, 1, heard + 1))
    assert ("n", Sort.KEPT) in sorts
    (kept,) = (came for _, came in again.sent if came.sort is Sort.KEPT)
    first, inner = read_kept(kept)
    assert (first, read_events_frame(inner, most=10).numbers.tolist()) == (heard + 2, [102, 103])
    again.disk.close()


@pytest.mark.parametrize(
    ("link", "body", "why"),
    [
        ("m", b"", "begins with a number"),
        ("m", bytes(8), "begins with a number"),
        ("m", b"\xff" * 8, "begins with a number"),
        ("m", (1).to_bytes(8, "little"), "ends within its table"),
        ("m", "of a client", "a broker's events have publishers"),
        ("m", "unreadable", "what it cannot have read"),
        ("ann", "right", "no frame kept is expected here"),
    ],
)
def test_frames_that_are_wrong_end_the_link(
    tmp_path: Path, link: str, body: bytes | str, why: str
) -> None:
    if body == "of a client":
        body = bytes([1, *bytes(7)]) + events_frame([1], [], payloads_of([b"\x80"]))[HEAD.size :]
    elif body == "unreadable":
        body = kept_frame(events([1]), [b"\xc1"])[HEAD.size :]
    elif body == "right":
        body = kept_frame(events([1]), [b"\x80"])[HEAD.size :]
    assert isinstance(body, bytes)
    with Told(tmp_path) as told:
        state = told.driver.broker.snapshot()
        with pytest.raises(FrameError, match=why):
            told.driver.heard(link, Frame(Sort.KEPT, body))
        assert told.driver.broker.snapshot() == state


def test_a_broker_that_keeps_events_needs_a_storage() -> None:
    with pytest.raises(TidegateError, match="events are kept in a storage"):
        Server(Broker("a", KIND, settings=KEEPING), ANY)


def test_clients_acknowledge_nothing(tmp_path: Path) -> None:
    with Disk(tmp_path, "a", KIND) as disk:
        keeper = Keeper.begin(Broker("a", KIND, settings=Settings(keep_events=True)), disk, 10)
        with pytest.raises(TidegateError, match="clients acknowledge no events"):
            Server(keeper.broker, ANY, keeper=keeper)


def test_a_neighbour_that_does_not_know_of_it_is_turned_away(tmp_path: Path) -> None:
    with Disk(tmp_path, "a", KIND) as disk:
        keeper = Keeper.begin(Broker("a", KIND, settings=KEEPING), disk, 10)
        server = Server(keeper.broker, ANY, keeper=keeper)
        server.check_features("client", "ann", [])
        server.check_features("broker", "b", ["kept", "more"])
        with pytest.raises(FrameError, match="events are kept here, and b does not know of that"):
            server.check_features("broker", "b", ["more"])


def test_a_file_says_that_events_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "broker.toml"
    text = 'name = "a"\nlisten = "127.0.0.1:0"\nkeep_events = true\n'
    path.write_text(text)
    with pytest.raises(TidegateError, match="give storage, too"):
        read_setup(path, KIND)
    path.write_text(f'{text}storage = "{tmp_path}"\n')
    assert read_setup(path, KIND).settings == KEEPING
