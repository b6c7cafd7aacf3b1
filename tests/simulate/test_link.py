"""Lanes, by arithmetic done by hand."""

import pytest

from tidegate.errors import TidegateError
from tidegate.overlay.messages import Acknowledge, Change, Publish
from tidegate.simulate.link import Lane, LinkModel, total

MS = 1_000_000


def up(delay: float, bandwidth: float | None = None) -> Lane:
    lane = Lane(0, 1, LinkModel(delay, bandwidth))
    lane.up, lane.told = True, 0
    return lane


def test_without_a_bandwidth_only_the_delay_counts() -> None:
    lane = up(0.01)
    assert lane.send(0, Publish, 10**9) == 10 * MS
    assert lane.send(0, Publish, 1) == 10 * MS
    assert lane.send(7, Publish, 1) == 10 * MS + 7


def test_a_message_is_written_when_the_one_before_it_has_been() -> None:
    lane = up(0.01, 1_000)  # 1 ms a byte
    assert lane.send(0, Publish, 5) == 15 * MS  # written from 0 to 5
    assert lane.send(2 * MS, Change, 3) == 18 * MS  # waits until 5, written until 8
    assert lane.send(20 * MS, Acknowledge, 1) == 31 * MS  # the lane was idle from 8 on


def test_a_lane_is_first_in_first_out_whatever_the_sizes() -> None:
    lane = up(0.0, 12_345)
    times = [lane.send(i, Publish, (i * 7919) % 501) for i in range(200)]
    assert times == sorted(times, key=lambda time: time or 0)


def test_a_cut_loses_what_is_under_way_and_nothing_else() -> None:
    lane = up(0.01)
    lane.send(0, Publish, 10)
    lane.send(0, Change, 10)
    assert lane.arrive(0)
    lane.cut()
    assert not lane.arrive(0)
    assert lane.send(1, Change, 10) is None
    traffic = lane.traffic
    assert (traffic.sent, traffic.arrived, traffic.lost, lane.under_way) == (3, 1, 2, 0)


def test_what_is_written_to_the_link_before_the_cut_is_lost() -> None:
    lane = up(0.01)
    lane.cut()
    lane.up = True
    assert lane.send(0, Publish, 10) is None
    lane.told = lane.epoch
    assert lane.send(0, Publish, 10) == 10 * MS


def test_a_mended_link_has_nothing_left_to_write() -> None:
    lane = up(0.0, 1)
    lane.send(0, Publish, 100)
    lane.cut()
    lane.up, lane.told = True, lane.epoch
    assert lane.send(0, Publish, 1) == 1_000 * MS


def test_messages_and_bytes_are_counted_by_kind() -> None:
    first, second = up(0.0), up(0.0)
    first.send(0, Publish, 10)
    first.send(0, Publish, 5)
    second.send(0, Publish, 1)
    second.send(0, Change, 7)
    found = total([first.traffic, second.traffic])
    assert found["publish"] == (3, 16)
    assert found["change"] == (1, 7)
    assert found["hello"] == (0, 0)


@pytest.mark.parametrize(("delay", "bandwidth"), [(-1, None), (0, 0), (0, -5)])
def test_impossible_links_are_refused(delay: float, bandwidth: float | None) -> None:
    with pytest.raises(TidegateError):
        LinkModel(delay, bandwidth)
