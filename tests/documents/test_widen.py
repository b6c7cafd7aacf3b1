"""Patterns with parameters: what is made of them for several values covers, and keeps its shape."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.documents.generate import NAMESPACES, Writer, document
from tidegate.documents import widen
from tidegate.documents.syntax import Constant, Parameter, with_constants
from tidegate.documents.tree import read
from tidegate.documents.widen import around, ranged, without
from tidegate.documents.xpath import XPath, parse_xpath
from tidegate.errors import ParameterError

NUMBERS = [-3.0, 0.5, 1.0, 1.5, 2.0, 3.0, 10.0]
TEXTS = ["1", "x", "xy", "y", ""]


class Drawn:
    """An expression at random, with parameters where it has constants, and documents."""

    def __init__(self, seed: int, *, numbers: bool = False) -> None:
        self.random = Random(seed)
        self.numbers = numbers
        self.ranks: set[str] = set()
        given = parse_xpath(
            Writer(self.random).expression(),
            namespaces=NAMESPACES,
            ordered=self.random.random() < 0.2,
        )
        self.open = given.saying(with_constants(given.expression, self._opened))
        self.documents = [read(document(self.random)) for _ in range(12)]

    def _opened(self, _: Constant, is_rank: bool) -> Constant:
        name = self.random.choice("qr") if is_rank else self.random.choice("abc")
        if is_rank:
            self.ranks.add(name)
        return Parameter(name)

    def values(self) -> dict[str, Any]:
        return {name: self._value(name) for name in self.open.parameters}

    def _value(self, name: str) -> Any:
        if name in self.ranks or self.numbers or self.random.random() < 0.6:
            return self.random.choice(NUMBERS)
        return self.random.choice(TEXTS)

    def matching(self, f: XPath) -> set[int]:
        return {number for number, each in enumerate(self.documents) if f.matches(each)}


def covers_now(drawn: Drawn) -> bool:
    """Whether what is told covers what is in force, on all documents."""
    now, others = drawn.values(), [drawn.values() for _ in range(3)]
    bound = drawn.open.bind(**now)
    wide = around(drawn.open, now, others)
    assert wide.shape == bound.shape
    return drawn.matching(bound) <= drawn.matching(wide)


def covers_without(drawn: Drawn) -> bool:
    now = drawn.values()
    names = {name for name in now if drawn.random.random() < 0.6}
    left = without(drawn.open, names)
    assert not names & set(left.parameters)
    wide = left.bind(**{name: now[name] for name in left.parameters})
    return drawn.matching(drawn.open.bind(**now)) <= drawn.matching(wide)


@given(st.integers(0, 2**32))
def test_what_is_made_for_several_values_covers_that_of_now_and_has_its_shape(seed: int) -> None:
    assert covers_now(Drawn(seed))


@given(st.integers(0, 2**32))
def test_equalities_as_ranges_mean_the_same(seed: int) -> None:
    drawn = Drawn(seed, numbers=True)
    now = drawn.values()
    written = ranged(drawn.open, set(now))
    assert written.parameters == drawn.open.parameters
    assert drawn.matching(written.bind(**now)) == drawn.matching(drawn.open.bind(**now))


@given(st.integers(0, 2**32))
def test_what_is_left_without_parameters_covers_all_values_of_them(seed: int) -> None:
    assert covers_without(Drawn(seed))


COUNTED = [
    ("/a/b[@k < $x][1][@m]", '<a><b k="6"/><b k="3" m=""/></a>'),
    ("/a[contains(b[@k < $x], 'z')]", '<a><b k="6"/><b k="3">z</b></a>'),
]
"""Of what is counted, another one is the first if more are."""


@pytest.mark.parametrize(("text", "document"), COUNTED)
def test_widening_what_is_counted_is_caught(
    text: str, document: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f, now, others = parse_xpath(text), {"x": 5}, [{"x": 7}]

    def told() -> list[bool]:
        left = without(f, {"x"})
        return [each.matches(document) for each in (f.bind(**now), around(f, now, others), left)]

    assert told() == [True, True, True]
    condition = widen._Without._condition
    monkeypatch.setattr(widen, "counted", lambda _: 0)
    monkeypatch.setattr(widen, "FIRST", ())
    monkeypatch.setattr(widen._Without, "_condition", lambda own, x, _: condition(own, x, False))
    assert told() == [True, False, False]


def test_a_range_is_as_wide_as_all_values() -> None:
    f = ranged(parse_xpath("//car[cell = $cell]"), {"cell"})
    wide = around(f, {"cell": 5}, [{"cell": 3}, {"cell": 8}])
    assert str(wide) == "//car[cell[. >= 3 and . <= 8]]"
    for cell in (3, 5, 8):
        assert wide.covers(f.bind(cell=cell))


@pytest.mark.parametrize(
    ("text", "now", "other", "expected"),
    [
        ("//a[b < $x]", 5, 7, "//a[b < 7]"),
        ("//a[b < $x]", 7, 5, "//a[b < 7]"),
        ("//a[b >= $x]", 7, 5, "//a[b >= 5]"),
        ("//a[b = $x]", 7, 5, "//a[b = 7]"),
        ("//a[b != $x]", 7, 5, "//a[b != 7]"),
        ("//a[starts-with(b, $x)]", "xy", "x", "//a[starts-with(b, 'x')]"),
        ("//a[contains(b, $x)]", 1, 12, "//a[contains(b, 1)]"),
        ("//a[contains(b[c < $x], 'z')]", 5, 7, "//a[contains(b[c < 5], 'z')]"),
        ("//a[@k < $x][2]", 5, 7, "//a[@k < 5][position() = 2]"),
        ("//a[2][@k < $x]", 5, 7, "//a[position() = 2][@k < 7]"),
        ("//a[position() <= $x]", 2, 3, "//a[position() <= 3]"),
        ("//a[position() <= $x][@k][last()]", 2, 3,
         "//a[position() <= 2][@k][position() = last()]"),
        ("//a[b < $x]", 5, None, "//a[b < 5]"),
        ("//a[b < $x]", None, 5, "//a[b < 5]"),
    ],
)  # fmt: skip
def test_hulls(text: str, now: Any, other: Any, expected: str) -> None:
    assert str(around(parse_xpath(text), {"x": now}, [{"x": other}])) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("//a[b < $x]", "//a[b]"),
        ("//a[. < $x]", "//a"),
        ("//a[b[c = $x]/d < 5]", "//a[b[c]/d < 5]"),
        ("//a[b or c < $x]", "//a[b or c]"),
        ("//a[b or . < $x]", "//a"),
        ("//a[b and . < $x]", "//a[b]"),
        ("//a[contains(b, $x)]", "//a"),
        ("//a[contains(b[c = $x], 'z')]", "//a[b[c]]"),
        ("//a[contains(b[c = $x], '')]", "//a"),
        ("//a[c = $x][2]/d[2]", "//a[c]/d[position() = 2]"),
        ("//a[c = $x][position() = 2 or b]", "//a[c]"),
        ("//a[position() = $x]", "//a"),
        ("/a[$y = b] | //c[d = $x]", "/a[b = $y] | //c[d]"),
    ],
)
def test_what_is_left(text: str, expected: str) -> None:
    assert str(without(parse_xpath(text), {"x"})) == expected


def test_a_parameter_without_a_value_is_an_error() -> None:
    with pytest.raises(ParameterError):
        around(parse_xpath("//a[b = $x]"), {"y": 1}, [])
