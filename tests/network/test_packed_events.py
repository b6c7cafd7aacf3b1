"""Events as bytes and as columns: what is read of them is what reading them one by one gives."""

import struct
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import LONG
from tests.overlay.batched import Beside
from tests.overlay.histories import CHOICES, Action, Pool, pool, run
from tests.overlay.test_batches import publishing
from tidegate.engine.events.batch import Batch as Columns
from tidegate.engine.events.python_values import plain_values
from tidegate.errors import TidegateError
from tidegate.network import packed_events
from tidegate.network.event_frames import payloads_of
from tidegate.network.packed_events import PackedEvents
from tidegate.network.payload_kernels import MOST_NAMES
from tidegate.network.payloads import payload, read_events, write
from tidegate.overlay import attribute_index, events
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.messages import Batch, Publish

KIND = Attributes()
NAMES = st.sampled_from(["a", "b", "ab", "", "é", "日本", "x" * 40, "y" * 300])
TEXTS = st.text(st.characters(codec="utf-8"), max_size=4) | st.sampled_from(["z" * 40, "𝄞" * 90])
WHOLE = st.integers(-(2**63), 2**63 - 1)
VALUES = st.none() | st.booleans() | WHOLE | st.floats() | TEXTS
ALIKE = [st.booleans(), WHOLE, st.integers(-200, 300), st.floats(), TEXTS, VALUES]
KINDS = st.sampled_from(ALIKE)


@pytest.fixture(autouse=True)
def however_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_events, "WORTH", 0)


def packed(written: list[bytes]) -> PackedEvents | None:
    return PackedEvents.of(payloads_of(written))


def plain(value: Any) -> Any:
    """A value that is the same as another one only if it is of the same type, and bits."""
    return struct.pack("<d", value) if type(value) is float else (type(value), value)


def same(found: Any, expected: Any) -> bool:
    return {k: plain(v) for k, v in found.items()} == {k: plain(v) for k, v in expected.items()}


@given(st.data())
def test_plain_events_are_read_as_one_by_one(data: st.DataObject) -> None:
    kinds = {name: data.draw(KINDS) for name in data.draw(st.lists(NAMES, unique=True))}
    made = data.draw(st.lists(st.fixed_dictionaries({}, optional=kinds), min_size=1, max_size=12))
    written = [write(event) for event in made]
    found = packed(written)
    assert found is not None
    assert len(found) == len(made)
    one_by_one = read_events(payloads_of(written), KIND)
    for own, expected in zip(found, one_by_one, strict=True):
        assert same(own, expected)
    for name in (*kinds, "nobody has it"):
        values = [event.get(name) for event in made]
        places = found.columns(name)
        if not places:
            assert values == [None] * len(made)
            continue
        (place,) = places
        cells = found.values(place)
        listed = plain_values(cells) if isinstance(cells, pa.Array) else cells
        assert list(map(plain, listed)) == list(map(plain, values))
        columns, ours = Columns(made).column(name), Columns(found).column(name)
        assert columns.absent.tolist() == ours.absent.tolist()
        for left, right in zip(
            sorted(columns.stretches, key=_line), sorted(ours.stretches, key=_line), strict=True
        ):
            assert _keys(left) == _keys(right)


def _line(stretch: Any) -> str:
    return str(stretch.line.name)


def _keys(stretch: Any) -> list[Any]:
    keys = [stretch.texts[key] for key in stretch.keys] if len(stretch.texts) else stretch.keys
    return [stretch.line.name, stretch.rows.tolist(), list(keys)]


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b"\x80\x01",  # something behind it
        b"\x81\xa1a",  # no value
        b"\x81\xa1a\xa5ab",  # half a text
        b"\x81\xa1a\xd9",
        b"\x81\xa1a\xcd\x01",
        b"\x81\xa1a\xd3\x01\x02\x03",
        b"\x81\xa1a\xcb\x01",
        b"\x81\xa1a\xcf" + b"\xff" * 8,  # beyond 63 bits
        b"\x81\xa1a\xca\x3f\x80\x00\x00",  # of single precision
        b"\x81\xa1a\x91\xa1x",  # a list
        b"\x81\xa1a\x81\xa1b\x01",  # a struct
        b"\x81\xa1a\xc4\x01x",  # bytes
        b"\x81\xa1a\xc1",
        b"\x81\xa1a\xc7\x01\x05x",
        b"\x81\xa1\xff\x01",  # no UTF-8
        b"\x81\xa1a\xa2\xc0\x80",
        b"\x81\xa1a\xa3\xed\xa0\x80",
        b"\x81\xa1a\xa4\xf4\x90\x80\x80",
        b"\x81\xa1a\xa2\xe6\x97",
        b"\x82\xa1a\x01\xa1a\x02",  # a name twice
        b"\x81\x01\x02",  # a name that is none
        b"\xdf\x00\x00\x00\x01\xa1a\x05",
        b"\x93\x01\x02\x03",
        b"\xc0",
    ],
)
def test_what_is_not_plain_is_left_to_others(odd: bytes) -> None:
    good = payload({"a": 1}, KIND)
    for written in ([odd], [good, odd, good], [odd, good]):
        assert packed(written) is None
    assert packed([good]) is not None


def test_an_event_of_many_names_is_left_to_others() -> None:
    most = {f"n{i}": i for i in range(MOST_NAMES)}
    found = packed([payload(most, KIND)])
    assert found is not None
    assert found[0] == most
    assert packed([payload(most | {"more": 1}, KIND)]) is None


def test_bytes_are_plain_only_if_they_are_read_one_by_one() -> None:
    """Whatever they are: what is located is what msgpack says of them."""
    random, whole = Random(5), 0
    event = {"price": 5.5, "side": "buy", "é": -300, "n": None, "t": True, "x": "日" * 20}
    seed = payload(event, KIND)
    for _ in range(200_000 if LONG else 4_000):
        data = bytearray(seed)
        for _ in range(random.randint(1, 3)):
            place = random.randrange(len(data))
            if random.random() < 0.8:
                data[place] = random.randrange(256)
            else:
                del data[place]
        found = packed([bytes(data)])
        if found is not None:
            whole += 1
            (own,) = read_events([bytes(data)], KIND)
            assert not isinstance(own, TidegateError)
            assert same(found[0], own)
            for name, value in own.items():
                (place,) = found.columns(name) or (-1,)
                assert (value is None) == (place == -1)
                cells = found.values(place) if place >= 0 else []
                for cell in plain_values(cells) if isinstance(cells, pa.Array) else cells:
                    assert plain(cell) == plain(value)
    assert whole > 100


def test_rows_can_be_asked_for_as_of_any_sequence() -> None:
    found = packed([payload({"a": i}, KIND) for i in range(3)])
    assert found is not None
    assert found[1:] == [{"a": 1}, {"a": 2}]
    assert list(found) == [{"a": 0}, {"a": 1}, {"a": 2}]
    with pytest.raises(IndexError):
        found[3]


# -- a broker that is told of events as bytes


class Packed(Beside):
    """A broker whose shadow gets events as bytes."""

    columns = 0

    def _batch(self, events: list[Publish], *, client: bool) -> Batch:
        payloads = payloads_of([payload(came.event, KIND) for came in events])
        found = PackedEvents.of(payloads)
        if found is None:
            return super()._batch(events, client=client)
        Packed.columns += 1
        numbers = np.array([came.number for came in events], np.int64)
        names = [] if client else [came.publisher for came in events]
        return Batch(numbers, found, names, payloads.sizes, payloads)


def plain_events() -> Pool:
    """The pool of attributes, of whose events only plain values are left."""
    found = pool("attributes")
    taken = (type(None), bool, int, float, str)
    events = [{k: v for k, v in e.items() if type(v) in taken} for e in found.events]
    return Pool(found.kind, found.families, [e for e in events if packed([payload(e, KIND)])])


ACTIONS: list[Action] = [
    (what, a, b, c)
    for i in range(6)
    for what, a, b, c in (
        ("subscribe", i, 3 * i, 0),
        ("advertise", i, i, 0),
        ("publish", i, 5 * i, i),
        ("publish", i + 1, i, 2 * i),
    )
]


@pytest.mark.parametrize("policy", ["covering", "flood"])
@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
def test_events_as_bytes_have_the_same_effects(
    policy: str, advertisements: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "FEW_EVENTS", 0)
    monkeypatch.setattr(attribute_index, "MANY_EVENTS", 0)
    monkeypatch.setattr(attribute_index, "MANY_FILTERS", 2)
    Packed.columns = 0
    source = plain_events()
    for seed in range(30 if LONG else 3):
        actions = Random(seed).sample(ACTIONS, len(ACTIONS))
        world = run(
            source,
            CHOICES[policy],
            [0, 0, 1],
            publishing(actions),
            advertisements=advertisements,
            make=partial(Packed, together=bool(seed % 2)),
        )
        for each in world.brokers.values():
            assert isinstance(each, Packed)
            each.check()
    assert Packed.columns
