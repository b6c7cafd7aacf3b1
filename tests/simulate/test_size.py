"""Sizes are those of the canonical encoding."""

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.overlay.attributes import Attributes
from tidegate.overlay.encoding import encode
from tidegate.overlay.messages import (
    Acknowledge,
    Advertise,
    Change,
    Entry,
    Hello,
    Message,
    Publish,
    Recount,
    Refuse,
)
from tidegate.simulate import size
from tidegate.simulate.size import Sizes, publish_sizes

KIND = Attributes()
FILTERS = [
    KIND.parse(text)
    for text in (
        "price < 10",
        "symbol = 'Zürich \"x\"' AND price BETWEEN 1.5 AND 2",
        "day = DATE '2024-02-29' OR name LIKE 'a%' OR NOT flag",
        "x IN (1, 2, 3) AND y IS NULL",
        "TRUE",
    )
]
entries = st.lists(
    st.builds(Entry, st.integers(-5, 10**6), st.sampled_from(FILTERS)), max_size=4
).map(tuple)
numbers = st.integers(0, 10**12)
counted = st.lists(
    st.builds(Entry, numbers, st.sampled_from(FILTERS), st.integers(1, 3), st.just(0) | numbers),
    max_size=4,
).map(tuple)
recounts = st.lists(st.builds(Recount, numbers, numbers, numbers), max_size=3).map(tuple)
parts = numbers, entries, entries, st.lists(numbers, max_size=4).map(tuple), st.booleans()
changes = st.one_of(
    st.builds(Change, *parts),
    st.builds(Advertise, *parts),
    st.builds(Change, numbers, counted, *parts[2:], recounts),
)


@given(st.lists(changes, min_size=1, max_size=4))
def test_a_change_takes_as_many_bytes_as_its_encoding(messages: list[Message]) -> None:
    sizes = Sizes(KIND)
    for message in (*messages, *messages):
        assert sizes.of(message) == len(encode(message, KIND))


@pytest.mark.parametrize(
    "message",
    [Acknowledge(5), Refuse(None, 3, 'no "ü"'), Hello(1, 0, 12), Publish(1, {"x": 1}, "b/c")],
)
def test_other_messages_do_too(message: Message) -> None:
    assert Sizes(KIND).of(message) == len(encode(message, KIND))


@given(numbers, st.text(max_size=5), st.text(max_size=5))
def test_an_event_has_two_sizes(number: int, publisher: str, text: str) -> None:
    event = {"x": 1.5, "text": text, "day": dt.date(2024, 1, 1), "sum": Decimal("1.50")}
    first, onward = publish_sizes(KIND, number, event, publisher)
    assert first == len(encode(Publish(number, event), KIND))
    assert onward == len(encode(Publish(number, event, publisher), KIND))


def test_sizes_are_right_even_when_too_many_filters_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(size, "_REMEMBERED", 2)
    sizes = Sizes(KIND)
    for f in FILTERS * 2:
        message = Change(1, (Entry(1, f),))
        assert sizes.of(message) == len(encode(message, KIND))
