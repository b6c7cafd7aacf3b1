"""What is tried aside leaves nothing behind, and says what it would have said here."""

import os

import pytest

from tidegate.errors import LabError
from tidegate.lab.aside import aside
from tidegate.lab.experiments import planetlab
from tidegate.lab.experiments.planetlab import BACKUPS, NONE, Deployment, tried
from tidegate.lab.experiments.xnet_failures import LOST
from tidegate.lab.experiments.xroute_overlay import Consumers


def test_what_is_changed_aside_is_as_it_was() -> None:
    kept = {"a": [1]}

    def change() -> list[int]:
        kept["a"].append(2)
        return kept["a"]

    assert aside(change) == [1, 2]
    assert kept == {"a": [1]}
    assert aside(os.getpid) != os.getpid()


def test_a_large_answer_comes_whole() -> None:
    assert aside(lambda: bytes(3_000_000)) == bytes(3_000_000)


def test_what_goes_wrong_aside_is_told() -> None:
    def fail() -> None:
        raise KeyError("no such router")

    with pytest.raises(LabError, match="no such router"):
        aside(fail)
    with pytest.raises(LabError, match="without an answer"):
        aside(lambda: os._exit(3))


@pytest.mark.parametrize("scenario", [0, 1, 2])
def test_a_network_that_has_grown_does_as_one_that_is_new(scenario: int) -> None:
    planetlab._grown.clear()

    def lost(there: Deployment) -> tuple[float, float]:
        delay = there.lose(LOST) if scenario else there.crash(LOST, 5)
        return delay, there.net.now

    for population in (20, 60, 60, 35):  # it grows, is asked twice, and begins anew
        new = Deployment(Consumers(4), population, BACKUPS.get(scenario, NONE))
        assert tried(4, population, scenario, lost) == lost(new)


def test_where_there_are_no_forks_each_network_is_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def crash(there: Deployment) -> tuple[float, float]:
        return there.crash(LOST, 5), there.net.now

    planetlab._grown.clear()
    forked = tried(4, 20, 0, crash)
    planetlab._grown.clear()
    monkeypatch.setattr(planetlab, "FORKS", False)
    assert [tried(4, 20, 0, crash) for _ in range(2)] == [forked, forked]
    assert not planetlab._grown


def test_networks_of_one_seed_are_kept_side_by_side() -> None:
    planetlab._grown.clear()
    for seed, scenario in ((1, 0), (1, 1), (1, 0), (2, 0)):
        assert tried(seed, 10, scenario, lambda there: there.population) == 10
    assert list(planetlab._grown) == [(2, 0)]
