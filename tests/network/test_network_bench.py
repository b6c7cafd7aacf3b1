"""The benchmark of broker processes, on a small scale: it counts what it says it counts."""

from collections.abc import Iterator

import pytest

import bench.network as bench
from bench.network_load import Load
from bench.network_process import Process
from bench.network_workload import Traffic
from tidegate.network.frames import HEAD, Frames, Sort

pytestmark = pytest.mark.slow


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    sizes = {"RULES": 1_200, "CONNECTIONS": 6, "PUBLISHERS": 2, "DIFFERENT": 90, "FIRST": 100}
    sizes |= {"EVENTS": 400, "PACED": 200, "ALONE": 50, "IN_BATCHES": 80}
    for name, size in sizes.items():
        monkeypatch.setattr(bench, name, size)
    monkeypatch.setattr(bench, "NARROWER", {"nine": 1, "two": 2})
    monkeypatch.setattr(bench, "BATCHES", (40,))
    bench.traffic.cache_clear()
    yield
    bench.traffic.cache_clear()


@pytest.fixture
def traffic() -> Traffic:
    return Traffic(1_200, 1, 90, 6)


def test_what_is_wanted_is_what_filters_say(traffic: Traffic) -> None:
    """Brute force over the ranges of the rules, against the rules themselves."""
    wanted = [
        row * 1_200 + rule
        for row, event in enumerate(traffic.events)
        for rule, f in enumerate(traffic.filters)
        if f.matches(event)
    ]
    assert traffic.wanted(90).tolist() == wanted
    again = traffic.wanted(200).tolist()
    assert again[: len(wanted)] == wanted
    assert [pair - 90 * 1_200 for pair in again if 90 <= pair // 1_200 < 180] == wanted
    assert traffic.handed(90) == len({(pair // 1_200, pair % 6) for pair in wanted})


def test_events_are_dealt_to_publishers_in_turn(traffic: Traffic) -> None:
    streams = traffic.streams(50, [1, 101], 20, rate=1_000.0)
    assert [stream.upto for stream in streams] == [[20, 30], [20]]
    assert [stream.due for stream in streams] == [[0.019, 0.049], [0.039]]
    places = traffic.places(50, 20, 2)
    assert [len(own) for own in places] == [30, 20]
    assert places[1].tolist() == list(range(20, 40))
    (first, *_) = Frames(2**20).feed(streams[1].data)
    assert first.sort is Sort.EVENTS
    assert len(streams[1].data) == streams[1].ends[-1]


@pytest.mark.usefixtures("small")
def test_one_broker_on_a_small_scale() -> None:
    figures = list(bench.one("nine", {}))
    assert [figure.unit for figure in figures] == ["s", "events/s", "events/s", "ms", "ms"]
    assert all(figure.ours > 0 for figure in figures)
    (alone, together) = bench.state_machine("nine")
    assert together.baseline == alone.ours


@pytest.mark.usefixtures("small")
def test_somebody_who_never_reads_on_a_small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is dropped from, and the others get all of theirs: they are compared with brute force."""
    monkeypatch.setattr(bench, "FIRST", 4_000)
    monkeypatch.setattr(bench, "ROOM", 500_000)
    (figure,) = bench.unread()
    assert figure.baseline is not None
    assert figure.ratio == figure.ours / figure.baseline > 0
    assert " 0 events were dropped" not in str(figure.note)


def test_what_is_not_delivered_as_it_should_be_is_noticed(traffic: Traffic) -> None:
    with Process("a") as broker:
        load = Load(broker.address, traffic, 2)
        load.register()
        firsts = [each.number + 1 for each in load.publishing]
        load.play(60, 20)
        load.close()
    load.check(60, 20, firsts)
    receiver = max(load.connections, key=lambda each: each.handed)
    whole = bytes(receiver.data)
    frames = [HEAD.pack(len(f.body), f.sort, 0, 0) + f.body for f in Frames(2**30).feed(whole)]
    (place, *_) = [i for i, each in enumerate(frames) if each[4] == Sort.DELIVERIES]
    lost = [*frames[:place], *frames[place + 1 :]]
    twice = [*frames[: place + 1], *frames[place:]]
    other_bytes = bytearray(frames[place])
    other_bytes[-1] ^= 1
    for spoiled in (
        lost,
        twice,
        [*frames[:place], bytes(other_bytes), *frames[place + 1 :]],
    ):
        receiver.data = bytearray(b"".join(spoiled))
        with pytest.raises(AssertionError):
            load.check(60, 20, firsts)
