"""The checks of the negative space notice mistakes that are easy to make, or that are printed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tidegate as tg
from tests.algebra import worlds
from tests.papers.negative_checks import Make, follow_rectangles, follow_world
from tidegate.papers.negative.approximate import ApproximateNegativeSpace
from tidegate.papers.negative.box_tree import BoxTree
from tidegate.papers.negative.coordinates import Coordinates
from tidegate.papers.negative.covered_by import CoveredBy
from tidegate.papers.negative.exact import ExactNegativeSpace
from tidegate.papers.negative.part_rows import PartRows
from tidegate.papers.negative.tree_kernels import ROOT

Integers = NDArray[np.int64]
Pieces = Callable[[Integers, Integers], list[Integers]]


def subtract(rectangle: Integers, box: Integers, *, printed: bool = False) -> list[Integers]:
    """Fig. 4; as it is printed, what remains is as wide as the subscription."""
    rest, pieces = rectangle.copy(), []
    for k in range(0, len(box), 2):
        for low, high in ((rest[k], box[k]), (box[k + 1], rest[k + 1])):
            if low < high:
                piece = rest.copy()
                piece[k : k + 2] = low, high
                pieces.append(piece)
        if printed:
            rest[k : k + 2] = box[k : k + 2]
        else:
            rest[k : k + 2] = max(rest[k], box[k]), min(rest[k + 1], box[k + 1])
    return pieces


def by(pieces: Pieces) -> Callable[..., None]:
    """`BoxTree.take_away` with another subtraction."""

    def take_away(tree: BoxTree, box: Integers, rows: Any, top: int = ROOT) -> None:
        cut = {tuple(each) for each in tree.at(rows).tolist()}
        kept = [each for each in tree.boxes() if tuple(each.tolist()) not in cut]
        new = [piece for each in tree.at(rows) for piece in pieces(each, box)]
        tree.load(np.array([*kept, *new], np.int64).reshape(len(kept) + len(new), len(box)))

    return take_away


def noticed(make: Make) -> bool:
    """Whether a history shows that something is wrong."""
    try:
        for seed in range(12):
            follow_rectangles(make, 2, 7, seed, 12, 0.3)
            follow_rectangles(make, 3, 4, seed, 10, 0.3)
        for seed in range(4):
            follow_world(make, worlds.plain(), seed, 8, 0.3)
            follow_world(make, worlds.typed("moments", checked=True, limited=True), seed, 8, 0.3)
    except AssertionError:
        return True
    return False


def spare(schema: tg.Schema | None) -> ApproximateNegativeSpace:
    """An approximate space that is often short of boxes."""
    return ApproximateNegativeSpace(schema, k=3, rebuild=False)


def as_printed(schema: tg.Schema | None) -> ApproximateNegativeSpace:
    """One that follows the figures."""
    return ApproximateNegativeSpace(schema, k=3, take_over=False, rebuild=False)


@pytest.mark.parametrize("make", [ExactNegativeSpace, spare, as_printed])
def test_what_is_right_is_not_objected_to(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not noticed(make)
    monkeypatch.setattr(BoxTree, "take_away", by(subtract))
    assert not noticed(make)


@pytest.mark.parametrize("make", [ExactNegativeSpace, spare])
def test_the_remaining_range_as_printed_is_noticed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        BoxTree, "take_away", by(lambda each, box: subtract(each, box, printed=True))
    )
    assert noticed(make)


@pytest.mark.parametrize("make", [ExactNegativeSpace, spare])
def test_a_box_lost_in_subtraction_is_noticed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoxTree, "take_away", by(lambda each, box: subtract(each, box)[1:]))
    assert noticed(make)


@pytest.mark.parametrize("make", [spare, as_printed])
def test_a_covered_by_list_that_is_not_returned_is_noticed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pop(self: CoveredBy, number: int) -> Integers:
        return np.empty((0, len(self._coordinates.whole)), np.int64)

    monkeypatch.setattr(CoveredBy, "pop", pop)
    assert noticed(make)


def test_a_removal_that_returns_too_little_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = PartRows.overlapping

    def overlapping(self: PartRows, box: Integers) -> Integers:
        found = real(self, box)
        if len(found):  # one that reaches further than it does
            found[0, 1] += 1
        return found

    monkeypatch.setattr(PartRows, "overlapping", overlapping)
    assert noticed(ExactNegativeSpace)


def test_a_removal_that_forgets_other_filters_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It returns too much, which is safe, but not exact."""
    real = PartRows.overlapping
    monkeypatch.setattr(PartRows, "overlapping", lambda self, box: real(self, box)[1:])
    assert noticed(ExactNegativeSpace)


def test_a_removal_that_leaves_out_what_parts_share_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Parts of one filter overlap: what they share would be given back twice."""
    real = ExactNegativeSpace._give_back
    monkeypatch.setattr(
        ExactNegativeSpace, "_give_back", lambda self, part, before: real(self, part, before[:0])
    )
    assert noticed(ExactNegativeSpace)


def test_a_piece_taken_over_by_somebody_who_only_overlaps_it_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def heirs(self: PartRows, boxes: Integers) -> tuple[dict[int, list[int]], list[int]]:
        found: dict[int, list[int]] = {}
        rest: list[int] = []
        for i, box in enumerate(boxes):
            near = [n for n, (start, stop) in self._where.items() if start < stop]
            if near and len(self.overlapping(box)):
                found.setdefault(near[0], []).append(i)
            else:
                rest.append(i)
        return found, rest

    monkeypatch.setattr(PartRows, "heirs", heirs)
    assert noticed(spare)


def test_a_budget_that_is_looked_at_after_the_split_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Line 20 of Fig. 8 as printed."""
    schema = tg.Schema(
        {f"x{k}": tg.Attribute("bigint", nullable=False, low=0, high=29) for k in range(3)},
        checked=True,
    )

    def more(k: int) -> int:
        space = ApproximateNegativeSpace(schema, k=k)
        found = 0
        for i in range(40):
            ends = [f"x{j} BETWEEN {i * (j + 3) % 17} AND {i * (j + 3) % 17 + 9}" for j in range(3)]
            before = space.boxes
            space.add(i, tg.parse(" AND ".join(ends), schema))
            found = max(found, space.boxes - before)
        return found

    assert more(6) <= 6
    real = np.searchsorted

    def one_more(sums: Integers, budget: Any, side: str = "left") -> Any:
        found = real(sums, budget, side)  # type: ignore[call-overload]
        return found + 1 if side == "right" else found

    monkeypatch.setattr(np, "searchsorted", one_more)
    assert more(6) > 6


@pytest.mark.parametrize("make", [ExactNegativeSpace, spare])
def test_a_search_that_misses_a_box_is_noticed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    real = BoxTree.overlapping
    monkeypatch.setattr(BoxTree, "overlapping", lambda self, box: real(self, box)[:-1])
    monkeypatch.setattr(BoxTree, "overlaps", lambda self, box: len(self.overlapping(box)) > 0)
    assert noticed(make)


def test_an_end_that_is_one_too_far_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Coordinates._closed
    monkeypatch.setattr(
        Coordinates, "_closed", lambda self, k, label: real(self, k, label + (k == 1))
    )
    assert noticed(ExactNegativeSpace)


def test_a_gap_that_is_not_closed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that a checked schema rules out would be left over, and nobody could cover them."""
    schema = tg.Schema({"s": tg.Attribute("string", values=["a", "m", "z"])}, checked=True)

    def left() -> int:
        space = ExactNegativeSpace(schema)
        for number, text in enumerate(("s = 'a'", "s = 'm'", "s = 'z'", "s IS NULL")):
            space.add(number, tg.parse(text, schema))
        return space.boxes

    assert left() == 0
    monkeypatch.setattr(Coordinates, "_closed", lambda self, k, label: label)
    assert left() > 0


def test_labels_that_are_not_followed_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = tg.Schema({"x": "double"})

    def wrong() -> bool:
        space, union = ExactNegativeSpace(schema), tg.Union(schema)
        for i in range(120):
            text = f"x > {1 - 2.0**-i!r}D AND x < {1 + 2.0 ** -(i + 1)!r}D"
            space.add(i, tg.parse(text, schema))
            union.add(tg.parse(text, schema))
        asked = [
            tg.parse(f"x = {1 + sign * 0.7**i!r}D", schema) for i in range(60) for sign in (1, -1)
        ]
        return any(space.subsumes(f) != union.subsumes(f) for f in asked)

    assert not wrong()
    monkeypatch.setattr(BoxTree, "relabel", lambda self, k, old, new: None)
    assert wrong()
