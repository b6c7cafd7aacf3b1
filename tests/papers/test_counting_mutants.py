"""The checks catch what they are there for: each mutant below is a mistake that is easy to make."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest

import tidegate as tg
from tests.papers.agreement import agree
from tests.papers.counting_checks import check_answers, drawing, history
from tidegate.papers.counting import counting_table as module
from tidegate.papers.counting.associations import Associations
from tidegate.papers.counting.counting_kernels import (
    CERTAIN,
    EVALUATED,
    Bytes,
    Variables,
    count,
)
from tidegate.papers.counting.counting_table import CountingTable
from tidegate.papers.counting.pruning_kernels import Shares
from tidegate.papers.counting.pruning_queue import Changes, PruningQueue
from tidegate.papers.counting.tree_bytes import AND, LEAF, OR, Integers
from tidegate.papers.counting.trees import Trees

SEEDS = range(4)


def caught(check: Callable[[int], object]) -> bool:
    """Whether one of a few histories shows that something is wrong."""
    try:
        for seed in SEEDS:
            check(seed)
    except AssertionError:
        return True
    return False


def prunes(seed: int) -> None:
    history(CountingTable(), seed, 25)


def matches(seed: int) -> None:
    """Nothing but answers."""
    agree(CountingTable(), None, seed, 40, draw=drawing(None))


class LeavesBehind(Associations):
    """Keeps the associations of a subscription that is removed."""

    def remove(self, slot: int, variables: Variables) -> None:
        pass


class KeepsWhatIsPruned(Associations):
    """Keeps the associations of predicates that are pruned."""

    def remove_pairs(self, slots: Variables, variables: Variables) -> None:
        pass


class RemovesTooMuch(Associations):
    """Takes a subscription out of a list as a whole, although it stands there twice."""

    def add(self, slot: int, variables: Variables) -> None:
        super().add(slot, np.unique(variables))

    def remove(self, slot: int, variables: Variables) -> None:
        super().remove(slot, np.unique(variables))


class AsksForMore(Trees):
    """Has minima that are too high, by one, where there is an OR."""

    def put(self, slot: int, tokens: Sequence[int]) -> None:
        super().put(slot, tokens)
        if any(token & 3 == OR for token in tokens) and self.minima[slot] < 255:
            self.minima[slot] += 1


class NeverEvaluates(Trees):
    """Takes every candidate for a match."""

    def put(self, slot: int, tokens: Sequence[int]) -> None:
        super().put(slot, tokens)
        if self.fate[slot] == EVALUATED:
            self.fate[slot] = CERTAIN


class Narrows(PruningQueue):
    """Leaves out a part of an OR."""

    def prune(
        self, steps: int, trees: Trees, shares: Shares, changes: Changes, tolerance: float
    ) -> tuple[int, Variables, Variables]:
        for slot in self._heap[: len(self)].tolist():
            tokens = trees.tokens(slot)
            for at, token in enumerate(tokens):
                if token & 3 == OR and token >> 2 > 2 and tokens[at + 1] & 3 == LEAF:
                    tokens[at] -= 4
                    gone = tokens.pop(at + 1) >> 2
                    trees.drop(slot)
                    trees.put(slot, tokens)
                    self.pruned[slot] += 1
                    return steps, np.array([slot], np.int32), np.array([gone], np.int32)
        return super().prune(steps, trees, shares, changes, tolerance)


def keeps_counters(
    held: Variables,
    first: Integers,
    length: Variables,
    entries: Variables,
    counters: Bytes,
    minima: Bytes,
    candidates: Variables,
) -> int:
    """Count, and start the next event from there."""
    found = count(held, first, length, entries, counters, minima, candidates)
    for variable in held:
        start = first[variable]
        for slot in entries[start : start + length[variable]]:
            counters[slot] += 1
    return found


def narrowing(seed: int) -> None:
    table = CountingTable()
    given = {
        number: tg.parse(f"x > {number} AND (y = 1 OR y = {number} OR s = 'a')")
        for number in range(seed, seed + 5)
    }
    for number, f in given.items():
        table.add(number, f)
    table.prune(1)
    check_answers(table, given, [{"x": 9, "y": y, "s": s} for y in range(9) for s in "ab"])


def repeated(seed: int) -> None:
    table = CountingTable()
    given = {seed: tg.parse("(x = 1 OR y = 1) AND (x = 1 OR y = 2)")}
    table.add(seed, given[seed])
    check_answers(table, given, [{"x": 1}, {"y": 1}])


@pytest.mark.parametrize(
    ("name", "mutant", "check"),
    [
        ("Associations", LeavesBehind, prunes),
        ("Associations", LeavesBehind, matches),
        ("Associations", KeepsWhatIsPruned, prunes),
        ("Associations", RemovesTooMuch, repeated),
        ("Trees", AsksForMore, matches),
        ("Trees", NeverEvaluates, matches),
        ("PruningQueue", Narrows, narrowing),
        ("count", keeps_counters, matches),
        ("OR", AND, matches),
    ],
)
def test_a_mutant_is_caught(
    name: str, mutant: object, check: Callable[[int], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not caught(check)
    monkeypatch.setattr(module, name, mutant)
    assert caught(check)


def test_a_tolerance_that_is_ignored_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.papers.test_counting_pruning import test_what_changed_is_pruned_waits_or_is_tolerated

    class Ignores(PruningQueue):
        def prune(
            self, steps: int, trees: Trees, shares: Shares, changes: Changes, tolerance: float
        ) -> tuple[int, Variables, Variables]:
            return super().prune(steps, trees, shares, Changes.ALWAYS, tolerance)

    monkeypatch.setattr(module, "PruningQueue", Ignores)
    with pytest.raises(AssertionError):
        test_what_changed_is_pruned_waits_or_is_tolerated()


def rated_once(self: PruningQueue, slots: Iterable[int], trees: Trees, shares: Shares) -> None:
    """Rate by what would be if every predicate held of half of the events."""
    _rate(self, slots, trees, np.full_like(shares, 0.5))


_rate = PruningQueue.rate


def test_a_queue_in_the_wrong_order_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.papers.test_counting_pruning import (
        test_prunings_come_in_the_order_of_their_degradations,
    )

    monkeypatch.setattr(PruningQueue, "rate", rated_once)
    with pytest.raises(AssertionError):
        test_prunings_come_in_the_order_of_their_degradations()
