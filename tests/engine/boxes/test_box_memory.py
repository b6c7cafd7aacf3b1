"""A box store that is changed for ever takes no more memory than what is in it, and a little."""

from collections.abc import Iterator

import pytest

import tidegate as tg
from tests.engine.boxes.box_oracle import AllAsked, assert_same
from tests.reach import assert_flat, reached
from tidegate.algebra import union as union_module
from tidegate.algebra.union import Union
from tidegate.engine.boxes import box_store as store_module
from tidegate.engine.boxes import integer_boxes
from tidegate.engine.boxes import space as space_module
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.engine.boxes.integer_boxes import IntegerBoxes
from tidegate.engine.boxes.space import Space

EACH = 24
ROUNDS = 50


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept beside what is needed is little, so that few filters show what grows."""
    monkeypatch.setattr(integer_boxes, "_TAIL", 8)
    monkeypatch.setattr(space_module, "_CHURN", 16)
    monkeypatch.setattr(store_module, "_IDLE", 16)
    monkeypatch.setattr(union_module, "_STALE", 16)


def another(number: int) -> Iterator[tg.Filter]:
    """Filters with attributes, constants and texts that no other round has."""
    for i in range(EACH):
        own = 10_000 + number * EACH + i
        yield tg.parse(
            (
                f"x{10 + number} BETWEEN {own} AND {own + 3} AND v > {own}.25",
                f"s = 'text {own}' OR v = {own}.5",
                f"s{10 + number} LIKE '{own}%x' AND v IN ({own}, {own + 2})",
            )[i % 3]
        )


@pytest.mark.parametrize("removed_first", [False, True])
def test_a_store_in_which_everything_is_replaced_does_not_grow(removed_first: bool) -> None:
    store, oracle = BoxStore(), AllAsked()

    def replace(number: int) -> None:
        before = list(oracle.filters)
        if removed_first:
            drop(before)
        for f in another(number):
            oracle.filters[store.add(f)] = f
        drop([] if removed_first else before)
        assert len(store._space.rulers) <= 4 + 3 * 2, "two rounds' attributes, and v and s"
        if number % 10 == 0:
            event = {f"x{10 + number}": 10_000 + number * EACH, "v": 1e6, "s": "no"}
            assert_same(store, oracle, list(oracle.filters.values())[:3], [event, {}])

    def drop(handles: list[int]) -> None:
        for handle in handles:
            store.remove(handle)
            del oracle.filters[handle]

    assert_flat(ROUNDS, replace, lambda: reached(store))


def test_stores_that_go_leave_nothing_in_their_space() -> None:
    """Their filters are never removed one by one."""
    space = Space(None)
    stays = BoxStore(None, space)
    kept = stays.add(tg.parse("v < 5 AND w = 1"))

    def replace(number: int) -> None:
        goes = BoxStore(None, space)
        for f in another(number):
            goes.add(f)
        assert stays.stab({"v": 1, "w": 1}).tolist() == [kept]

    assert_flat(ROUNDS, replace, lambda: reached(space, stays))


def test_a_store_that_was_large_is_small_again() -> None:
    store = BoxStore()
    empty = reached(store)
    handles = [store.add(f) for number in range(40) for f in another(number)]
    large = reached(store)
    for handle in handles:
        store.remove(handle)
    assert len(store._space.rulers) <= 4, "those of the last few"
    assert reached(store) < empty + (large - empty) / 20
    handle = store.add(tg.parse("x = 1"))
    assert store.stab({"x": 1}).tolist() == [handle]


@pytest.mark.slow
def test_a_union_in_which_everything_is_replaced_does_not_grow() -> None:
    union = Union()
    held: list[int] = []

    def replace(number: int) -> None:
        new = list(another(number))
        asked = [union.subsumes(f) for f in another(number + 1)]
        assert not any(asked)
        for handle in held:
            union.remove(handle)
        held[:] = [union.add(f) for f in new]
        assert all(union.subsumes(f) for f in new)

    assert_flat(ROUNDS, replace, lambda: reached(union))


def test_dimensions_that_do_not_close_ranks_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IntegerBoxes, "renumber", lambda self, new: None)
    with pytest.raises((AssertionError, ValueError)):
        test_a_store_in_which_everything_is_replaced_does_not_grow(removed_first=False)
