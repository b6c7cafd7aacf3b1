"""What a box store should answer: every filter asked by itself; and filters to ask about.

`fuzz` does the same for integer boxes, in a form that another process can run with the kernels as
plain Python.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any, Final

import numpy as np

import tidegate as tg
from tests import families
from tidegate.engine.boxes.box_kernels import SHARED, UNBOUNDED_ABOVE, UNBOUNDED_BELOW
from tidegate.engine.boxes.box_store import Answers, BoxStore
from tidegate.engine.boxes.integer_boxes import IntegerBoxes

Box = tuple[list[int], list[int], int]
"""Sides, ends, flags."""

SCHEMAS: Final = {
    "none": None,
    "typed": tg.Schema({"x": "bigint", "y": "double", "s": "string"}),
    "checked": tg.Schema(
        {
            "x": tg.Attribute("bigint", low=0, high=9, nullable=False),
            "y": tg.Attribute("double", low=0.0, high=9.0),
            "s": tg.Attribute("string", values=["", "a", "ab", "b", "c"]),
        },
        checked=True,
    ),
}

PREDICATES: Final = (
    *("x < {n}", "x >= {n}", "x = {n}", "x <> {n}", "x BETWEEN {n} AND {m}", "x IN ({n}, {m})"),
    *("x IS NULL", "x IS NOT NULL", "(x > {n}) IS NOT TRUE", "x IN (1, 3, 5, 7, {n})"),
    *("y < {n}.5D", "y >= {n}D", "y = {n}.5D", "y <=> {n}D", "y <> {n}.5D", "y IS NOT NULL"),
    *("y BETWEEN {n}.2D AND {n}.7D", "y IN ({n}.5D, {m}D)", "y = CAST('Infinity' AS DOUBLE)"),
    *("s < '{t}'", "s >= '{t}'", "s = '{t}'", "startswith(s, '{t}')", "(s = '{t}') IS NOT TRUE"),
    *("endswith(s, '{t}')", "NOT contains(s, '{t}')", "s LIKE '_{t}%'", "s LIKE '{t}%c'"),
    *("(s BETWEEN 'a' AND 'b' AND s LIKE '%x')", "TRUE", "FALSE"),
)
NO_NORMAL_FORM: Final = " OR ".join(
    f"(x = {i} AND y = {j / 4}D)" for i in range(10) for j in range(30)
)


def some_filter(rng: Random, schema: tg.Schema | None) -> tg.Filter:
    """OR of up to three conjunctions of up to three predicates; rarely one without normal form.

    Without a schema, a third of them ask for values of several families on one attribute.
    """
    if rng.random() < 0.02:
        return tg.parse(NO_NORMAL_FORM, schema)
    if schema is None and rng.random() < 0.33:
        return families.mixed_filter(rng)

    def part() -> str:
        n = rng.randrange(9)
        return rng.choice(PREDICATES).format(n=n, m=n + rng.randrange(4), t=rng.choice("abc"))

    boxes = [
        " AND ".join(part() for _ in range(rng.randint(1, 3)))
        for _ in range(rng.choice((1, 1, 1, 2, 3)))
    ]
    return tg.parse(" OR ".join(f"({box})" for box in boxes), schema)


def some_event(rng: Random) -> dict[str, Any]:
    """Values of the right family and of others, absent ones, and some outside all domains."""
    event: dict[str, Any] = {}
    for name in "xys":
        if rng.random() < 0.9:
            texts = ("", "a", "ab", "abc", "bx", "c", "zz")
            number = rng.randrange(11)
            values = (None, True, b"", number, number, number + 0.5, float(number))
            event[name] = rng.choice((*values, rng.choice(texts), rng.choice(families.VALUES)))
    return event


class AllAsked:
    """A box store that asks each of its filters by itself."""

    def __init__(self) -> None:
        self.filters: dict[int, tg.Filter] = {}

    def stab(self, event: Mapping[str, Any]) -> list[int]:
        return [handle for handle, f in self.filters.items() if f.matches(event)]

    def containing(self, g: tg.Filter) -> list[int]:
        return [handle for handle, f in self.filters.items() if tg.covers(f, g)]

    def contained(self, g: tg.Filter) -> list[int]:
        return [handle for handle, f in self.filters.items() if tg.covers(g, f)]

    def overlapping(self, g: tg.Filter) -> list[int]:
        return [handle for handle, f in self.filters.items() if tg.overlaps(f, g)]


def assert_same(
    store: BoxStore,
    oracle: AllAsked,
    filters: Iterable[tg.Filter] = (),
    events: Iterable[Mapping[str, Any]] = (),
) -> None:
    """All questions, one by one."""
    for f in filters:
        for question in ("containing", "contained", "overlapping"):
            found = getattr(store, question)(f).tolist()
            assert sorted(found) == getattr(oracle, question)(f), f"{question} {f}"
    for event in events:
        assert sorted(store.stab(event).tolist()) == oracle.stab(event), f"stab {event}"


def listed(answers: Answers) -> list[list[int]]:
    """The answers of a batch, each sorted."""
    offsets, handles = answers
    assert offsets[0] == 0
    assert offsets[-1] == len(handles)
    return [sorted(handles[start:stop].tolist()) for start, stop in pairwise(offsets.tolist())]


def reaching(boxes: Mapping[int, Box], bound: Sequence[int], flag: int) -> list[int]:
    """The integer boxes with the flag that have no end above its bound."""
    return [
        handle
        for handle, (sides, ends, flags) in boxes.items()
        if flags & flag and all(end <= bound[side] for side, end in zip(sides, ends, strict=True))
    ]


def within(boxes: Mapping[int, Box], bound: Sequence[int], flag: int) -> list[int]:
    """The integer boxes with the flag that have ends, not below them, wherever there are bounds."""
    asked = [side for side, limit in enumerate(bound) if limit != UNBOUNDED_BELOW]
    return [
        handle
        for handle, (sides, ends, flags) in boxes.items()
        if flags & flag
        and all(side in sides and ends[sides.index(side)] >= bound[side] for side in asked)
    ]


def ask_integers(boxes: IntegerBoxes, kept: Mapping[int, Box], bounds: list[list[int]]) -> None:
    """Both questions, with two flags, sure of it and not."""
    rows = np.array(bounds, np.int64)
    for flag in (1, 2):
        for sure in (0, flag * 8):
            surely = np.full(len(rows), sure, np.uint8)
            for inside, oracle in ((False, reaching), (True, within)):
                handles, doubtful, upto = boxes.search(rows, surely, flag, inside)
                before = [0, 0]
                for bound, (stop, doubts) in zip(bounds, upto.tolist(), strict=True):
                    found = handles[before[0] : stop].tolist()
                    doubt = doubtful[before[1] : doubts].tolist()
                    before = [stop, doubts]
                    expected = oracle(kept, bound, flag)
                    certain = [h for h in expected if kept[h][2] & sure]
                    alone = [h for h in certain if not kept[h][2] & SHARED]
                    assert sorted(found) == alone
                    assert sorted(h for h in doubt if h >= 0) == sorted({*certain} - {*alone})
                    assert sorted(~h for h in doubt if h < 0) == sorted({*expected} - {*certain})


POOLS: Final = (
    [UNBOUNDED_BELOW, UNBOUNDED_BELOW + 1, -1, 0, 1, UNBOUNDED_ABOVE - 1, UNBOUNDED_ABOVE],
    list(range(5)),
    list(range(-3000, 3000, 7)),
)


def fuzz(seed: int, steps: int, every: int) -> None:
    """Add, move and remove integer boxes at random, and ask about them now and then."""
    rng = Random(seed)
    sides = rng.choice((0, 1, 2, 3, 8, 40))
    pool = rng.choice(POOLS)
    share = rng.choice((0.1, 0.5, 1.0))
    boxes = IntegerBoxes()
    kept: dict[int, Box] = {}
    slots: dict[int, int] = {}
    for step in range(steps):
        if kept and rng.random() < 0.3:
            handle = rng.choice(list(kept))
            boxes.remove(slots.pop(handle))
            del kept[handle]
        elif kept and rng.random() < 0.4:
            handle = rng.choice(list(kept))
            used = [side for side in range(sides) if rng.random() < share]
            if rng.random() < 0.7:
                used = kept[handle][0]
            kept[handle] = used, [rng.choice(pool) for _ in used], kept[handle][2]
            boxes.move(slots[handle], *kept[handle][:2])
            assert boxes.flags(slots[handle]) == kept[handle][2]
        else:
            used = [side for side in range(sides) if rng.random() < share]
            flags = rng.choice((0b0001, 0b0010, 0b1001, 0b11011, 0b1001 | SHARED))
            box = used, [rng.choice(pool) for _ in used], flags
            kept[step] = box
            slots[step] = boxes.add(step, *box)
        if step % every == 0:
            bounds = [
                [
                    rng.choice(pool)
                    if rng.random() < 0.7
                    else rng.choice((UNBOUNDED_ABOVE, UNBOUNDED_BELOW))
                    for _ in range(sides)
                ]
                for _ in range(3)
            ]
            ask_integers(boxes, kept, bounds)
        assert len(boxes) == len(kept)
