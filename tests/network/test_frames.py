"""Frames: what is written is read, whatever the cuts; and whatever else comes has an answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate import Index
from tidegate.errors import FrameError, TidegateError
from tidegate.network.control_frames import UnreadableChangeError, control_frame, read_control
from tidegate.network.driver import Driver
from tidegate.network.event_frames import (
    deliveries_frames,
    events_frame,
    look_at,
    payloads_of,
    read_events_frame,
    read_parts,
)
from tidegate.network.frames import HEAD, Frame, Frames, Sort, frame
from tidegate.network.limits import Limits
from tidegate.network.opening import VERSION, Opened, Opening, read_opened, read_opening, say
from tidegate.network.payloads import payload, read_events, write
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Filter
from tidegate.overlay.kinds import kind_called
from tidegate.overlay.messages import (
    Acknowledge,
    Advertise,
    Change,
    Entry,
    Hello,
    Message,
    Recount,
    Refuse,
    Report,
    Told,
)
from tidegate.overlay.template import Language

KIND = Attributes()
NUMBERS = st.integers(0, 2**63 - 1)
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
EVENTS = st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), max_size=12)


@given(st.lists(st.binary(max_size=50)), st.lists(st.integers(1, 40), min_size=1))
def test_frames_are_read_however_bytes_are_cut(bodies: list[bytes], cuts: list[int]) -> None:
    data = b"".join(frame(Sort.CONTROL, body) for body in bodies)
    frames, found, place = Frames(longest=50), [], 0
    while place < len(data):
        size = cuts[place % len(cuts)]
        found += [each.body for each in frames.feed(data[place : place + size])]
        place += size
    assert found == bodies
    assert not frames.waiting


def body(data: bytes) -> Frame:
    (found,) = Frames(2**20).feed(data)
    return found


@given(events=EVENTS, names=st.lists(st.text(), min_size=1, max_size=3), data=st.data())
def test_events_are_what_they_were(
    events: list[dict[str, object]], names: list[str], data: st.DataObject
) -> None:
    numbers = data.draw(st.lists(NUMBERS, min_size=len(events), max_size=len(events)))
    of = [names[i % len(names)] for i in range(len(events))]
    try:
        payloads = payloads_of([payload(event, KIND) for event in events])
    except TidegateError:
        return  # half a character, or an integer that no attribute has
    chosen = data.draw(st.lists(st.sampled_from(range(len(events))), unique=True)) if events else []
    rows = np.array(sorted(chosen), np.int32)
    table = read_events_frame(body(events_frame(numbers, of, payloads, rows)), most=100)
    assert table.numbers.tolist() == [numbers[row] for row in rows]
    assert list(table.publishers) == [of[row] for row in rows]
    plain = [KIND.plain_event(events[row]) for row in rows]
    assert [KIND.plain_event(event) for event in read_events(table.payloads, KIND)] == plain
    counts = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    starts = np.cumsum([2, *counts]).astype(np.int32)
    owns = np.arange(-5, int(starts[-1]), dtype=np.int64)
    bounds = np.array([[0, len(rows)]], np.int32)
    made = deliveries_frames(numbers, of, payloads, bounds, rows, starts, owns)
    table = read_events_frame(body(made[0]), most=100)
    assert table.counts.tolist() == counts
    assert table.subscriptions.tolist() == owns[2 : starts[-1]].tolist()
    assert [bytes(each) for each in table.payloads] == [bytes(payloads[row]) for row in rows]


def test_frames_are_read_together_as_one_by_one() -> None:
    """Of clients, and of brokers, whose frames name different publishers."""
    of_clients: list[list[str]] = [[], [], []]
    for names in (of_clients, [["x", "y", "x"], [], ["z", "y"]]):
        cut = [[b"a", b"", b"cd"], [], [b"e", b"f"]]
        parts, one_by_one = [], []
        for written, own in zip(cut, names, strict=True):
            numbers = list(range(5, 5 + len(written)))
            came = body(events_frame(numbers, own, payloads_of(written)))
            parts.append(look_at(came, most=10))
            alone = read_events_frame(came, most=10)
            publishers = list(alone.publishers) or [""] * len(written)
            rows = zip(alone.numbers.tolist(), publishers, alone.payloads, strict=True)
            one_by_one += [(number, name, bytes(data)) for number, name, data in rows]
        table = read_parts(parts)
        publishers = list(table.publishers) or [""] * 5
        rows = zip(table.numbers.tolist(), publishers, table.payloads, strict=True)
        assert [(number, name, bytes(data)) for number, name, data in rows] == one_by_one


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x01\0\0\0", "ends within its table"),
        (b"\x01\0\0\0\0\0\0\0" + b"\xff" * 8 + b"\0\0\0\0", "beyond 63 bits"),
        (b"\x01\0\0\0\0\0\0\0" + b"\x01" * 8 + b"\x02\0\0\0x", "not the lengths"),
        (b"\x00\0\0\0\x01\0\0\0\xc1", "no msgpack"),
        (b"\x00\0\0\0\x01\0\0\0\x05", "not a list of texts"),
        (b"\xff\xff\0\0\0\0\0\0", "65,535 events"),
    ],
)
def test_tables_that_cannot_be(data: bytes, why: str) -> None:
    with pytest.raises(FrameError, match=why):
        read_events_frame(Frame(Sort.EVENTS, data), most=10)


# -- messages

F, G = KIND.parse("price < 10"), KIND.parse("price < :x AND day = :d", x=1.5, d=None)
ALIKE = [KIND.parse("price < :x AND side = :s", x=i, s=f"s{i}") for i in range(5)]
ALONE = Change(1, add=tuple(Entry(9 + i, f) for i, f in enumerate(ALIKE)))
MESSAGES: list[Message] = [
    Change(1, add=(Entry(1, F), Entry(2, G), *(Entry(9 + i, f) for i, f in enumerate(ALIKE)))),
    Change(2, add=(Entry(3, F, 2, 5),), remove=(1, 2), recount=(Recount(4, 2, 3),)),
    Change(3, whole=True),
    Advertise(4, add=tuple(Entry(9 + i, f) for i, f in enumerate(ALIKE)), whole=True),
    Acknowledge(5),
    Refuse(None, 5, "no"),
    Hello(1, 2, 3),
    Report(1, 0.5, None, 1.0),
]


def known(_: type[Told], own: int) -> Filter:
    return {1: F, 2: G}[own]


@pytest.mark.parametrize("message", MESSAGES)
def test_messages_are_what_they_were(message: Message) -> None:
    found = read_control(body(control_frame(message, KIND)).body, KIND, known)
    if isinstance(message, Change | Advertise):
        assert isinstance(found, type(message))
        assert sorted(found.add, key=lambda e: e.id) == list(message.add)
        assert (found.seq, found.remove, found.whole) == (
            message.seq,
            message.remove,
            message.whole,
        )
    else:
        assert found == message


@pytest.mark.parametrize("name", [5, None, [], {}])
def test_names_of_messages_are_texts(name: object) -> None:
    with pytest.raises(FrameError):
        read_control(write([[name, 1], []]), KIND, known)


def test_updates_name_constants_only() -> None:
    moved = KIND.parse("price < 99")
    data = control_frame(Change(1, update=(Entry(1, moved),)), KIND)
    assert b"price" not in data
    found = read_control(body(data).body, KIND, known)
    assert isinstance(found, Change)
    assert found.update == (Entry(1, moved),)


def test_filters_of_one_text_are_columns_and_stay_of_one_text() -> None:
    data = control_frame(MESSAGES[0], KIND)
    assert data.count(b"side") == 1
    found = read_control(body(data).body, KIND, known)
    assert isinstance(found, Change)
    origins = [e.filter.origin for e in found.add if e.id >= 9]  # type: ignore[attr-defined]
    assert len({id(origin[0]) for origin in origins}) == 1


def test_filters_of_one_text_without_parameters_are_no_columns() -> None:
    template = KIND.template("price < 5")
    message = Change(1, add=tuple(Entry(i, template.bind({})) for i in (1, 2)))
    sent = control_frame(message, KIND)
    assert read_control(sent[HEAD.size :], KIND, known) == message


@pytest.mark.parametrize(
    "columns",
    [
        ["price < :x", [1], ["x"], [[1, 2]]],
        ["price < :x", [1], ["x"], []],
        ["price < :x", ["1"], ["x"], [[1]]],
        ["price < :x", [1], [5], [[1]]],
        ["price < :x", [1], ["x"], [[["nonsense"]]]],
        ["price < :x", [1], ["x"], [[{}]]],
        ["price < :x", [1], ["x", "x"], [[1], [1]]],
        [],
        5,
    ],
)
def test_columns_that_cannot_be(columns: object) -> None:
    with pytest.raises(FrameError):
        read_control(write([["change", 1, [], [], [], False], [columns]]), KIND, known)


def test_a_filter_that_cannot_be_read_is_refused_by_number() -> None:
    bad = ["price <<< :x", [1], ["x"], [[1]]]
    with pytest.raises(UnreadableChangeError) as caught:
        read_control(write([["change", 7, [], [], [], False], [bad]]), KIND, known)
    assert (caught.value.of, caught.value.seq) == (Change, 7)
    with pytest.raises(UnreadableChangeError):
        read_control(write([["advertise", 7, [[1, ["?"]]], [], [], False], []]), KIND, known)
    for unbound in (["price < :x", [1], [], []], ["price < :x", [1], ["y"], [[1]]]):
        with pytest.raises(UnreadableChangeError):
            read_control(write([["change", 7, [], [], [], False], [unbound]]), KIND, known)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("attributes", "price < :x"),
        ("attributes", "price < 5"),
        ("xml", "//quote[price < $x]"),
        ("xml", "//quote"),
        ("attributes+xml", "price < :x"),
        ("attributes+xml", "//quote[price < $x]"),
        ("attributes+xml", "//quote"),
    ],
)
def test_filters_of_every_kind_are_told_as_text(kind: str, text: str) -> None:
    own = kind_called(kind)
    assert isinstance(own, Language)
    named = "x" in text
    columns = [text, [3, 4], ["x"] if named else [], [[5, 7]] if named else []]
    told = read_control(write([["change", 1, [], [], [], False], [columns]]), own, known)
    values: list[dict[str, int]] = [{"x": 5}, {"x": 7}] if named else [{}, {}]
    filters = [own.template(text).bind(each) for each in values]
    assert told == Change(1, add=(Entry(3, filters[0]), Entry(4, filters[1])))


def test_openings() -> None:
    said = Opening(VERSION, "broker", "a", ["x"])
    assert read_opening(body(say(said))) == said
    answer = Opened(VERSION, "b", 10, 20, 3.0, 4, 5)
    assert read_opened(body(say(answer))) == answer
    with pytest.raises(FrameError, match="go away"):
        read_opened(Frame(Sort.CLOSE, b"go away"))
    more = write({"version": 1, "role": "client", "name": "x", "later": 5})
    assert read_opening(Frame(Sort.OPENING, more)).name == "x"


def test_a_change_that_is_said_again_is_not_refused() -> None:
    """It may name what has gone since."""
    sent: list[bytes] = []
    broker = Broker("a", Attributes())
    driver = Driver(broker, None, Limits(), lambda _, data: sent.extend(data))
    driver.up("b", False)
    cheap, cheaper = (KIND.template("price < :x").bind({"x": x}) for x in (5, 4))
    changes = [
        Change(1, add=(Entry(1, cheap),)),
        Change(2, update=(Entry(1, cheaper),)),
        Change(3, remove=(1,)),
        Change(2, update=(Entry(1, cheaper),)),
    ]
    for change in changes:
        driver.heard("b", body(control_frame(change, KIND)))
    driver.perform()
    answers = [read_control(body(data).body, KIND, known) for data in sent]
    assert [each for each in answers if isinstance(each, Refuse)] == []
    assert answers[-1] == Acknowledge(3)
    driver.heard("b", body(control_frame(Change(4, update=(Entry(1, cheaper),)), KIND)))
    driver.perform()
    assert isinstance(read_control(body(sent[-2]).body, KIND, known), Refuse)


def test_of_a_change_that_is_said_again_nothing_but_its_number_is_read() -> None:
    """A broker that is slow to read is told again: to read that as well would make it slower."""
    parsed = 0

    class Counting(Attributes):
        def parse_many(
            self, text: str, columns: Mapping[str, Sequence[Any]], /
        ) -> list[AttributeFilter]:
            nonlocal parsed
            parsed += 1
            return super().parse_many(text, columns)

    sent: list[bytes] = []
    driver = Driver(Broker("a", Counting()), None, Limits(), lambda _, data: sent.extend(data))
    driver.up("b", False)
    told = body(control_frame(MESSAGES[0], KIND))
    ahead = body(control_frame(replace(ALONE, seq=5), KIND))
    driver.heard("b", told)
    once = parsed
    for again in (told, ahead, told):
        driver.heard("b", again)
    driver.perform()
    answers = [read_control(body(data).body, KIND, known) for data in sent]
    assert parsed == once > 0
    assert answers[-4:] == [Acknowledge(1)] * 4


# -- hostile patterns


@pytest.mark.parametrize(
    "pattern",
    ["%_" * 200 + "x", "%a" * 200 + "b", "%" + "_a" * 100 + "%b", "%a_b" * 50, "%aab%"],
    ids=["any", "one letter", "every other", "gaps", "plain"],
)
def test_hostile_patterns_take_time_linear_in_the_text(pattern: str) -> None:
    """In a text of this size, anything worse would not come to an end."""
    f, index = KIND.parse(f"text LIKE '{pattern}'"), Index()
    index.add("hostile", f"text LIKE '{pattern}'")
    long = "a" * 400_000
    fitting = pattern.replace("%", long[:1_000]).replace("_", "a")
    for text, fits in [(long, False), (long + fitting, True)]:
        assert f.matches({"text": text}) == fits
        assert index.match({"text": text}) == (["hostile"] if fits else [])
        assert index.match_batch([{"text": text}]).num_rows == fits
