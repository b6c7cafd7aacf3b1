import pytest

from tidegate.simulate.clock import Clock, nanoseconds


def test_actions_happen_by_time_and_then_in_the_order_they_came() -> None:
    clock, said = Clock(), list[str]()
    for time, name in ((30, "d"), (10, "a"), (20, "b"), (20, "c")):
        clock.at(time, said.append, name)
    clock.run()
    assert said == ["a", "b", "c", "d"]
    assert clock.now == 30


def test_an_action_may_lead_to_others() -> None:
    clock, times = Clock(), list[int]()

    def again(left: int) -> None:
        times.append(clock.now)
        if left:
            clock.at(clock.now + 5, again, left - 1)

    clock.at(1, again, 2)
    clock.run()
    assert times == [1, 6, 11]


def test_it_runs_up_to_and_at_a_time() -> None:
    clock, said = Clock(), list[str]()
    clock.at(10, said.append, "at")
    clock.at(11, said.append, "after")
    clock.run(10)
    assert (said, clock.now, len(clock)) == (["at"], 10, 1)
    clock.run(10)
    assert said == ["at"]
    clock.run(50)
    assert (said, clock.now) == (["at", "after"], 50)


def test_what_is_in_the_background_does_not_keep_it_running() -> None:
    clock, said = Clock(), list[str]()
    clock.at_in_background(5, said.append, "tick")
    clock.at_in_background(15, said.append, "tock")
    clock.at(10, said.append, "work")
    assert len(clock) == 1
    clock.run()
    assert said == ["tick", "work"]
    clock.run(20)
    assert said == ["tick", "work", "tock"]


@pytest.mark.parametrize(("seconds", "whole"), [(0.1, 10**8), (1e-9, 1), (3, 3 * 10**9)])
def test_seconds_become_whole_nanoseconds(seconds: float, whole: int) -> None:
    assert nanoseconds(seconds) == whole
