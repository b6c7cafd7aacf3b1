"""A message is bytes and back; what nothing could have encoded is refused, whatever it is."""

import datetime as dt
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests import generate
from tests.overlay.histories import POOLS, Pool, pool
from tidegate.errors import TidegateError
from tidegate.filters.expression import MAX_DEPTH as MAX_PARENTHESES
from tidegate.filters.values import normal
from tidegate.overlay import attribute_events
from tidegate.overlay.attribute_events import MAX_DEPTH, plain_event
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.encoding import decode, encode, plain_whole, read_whole
from tidegate.overlay.form import LARGEST
from tidegate.overlay.messages import (
    Acknowledge,
    Advertise,
    Change,
    Entry,
    Farewell,
    Hello,
    Message,
    Publish,
    Recount,
    Refuse,
    Report,
    Way,
)

KINDS = [*POOLS]
BOTH = pytest.mark.parametrize("kind", KINDS)
KINDS_OF_MESSAGES = [
    *(Change, Change, Advertise, Publish, Acknowledge, Refuse, Hello, Report, Way, Farewell)
]
IDS = st.integers(-LARGEST, LARGEST)
NUMBERS = st.integers(0, LARGEST)
OWN, BEHIND = st.just(1) | st.integers(1, LARGEST), st.just(0) | NUMBERS


def knowing(filters: dict[int, Any]) -> Any:
    """What a receiver knows: filters by id, whatever told them."""
    return lambda _, own: filters[own]


NOTHING: Any = knowing({})  # is known
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def filters(own: Pool, rng: Random) -> list[Any]:
    """Filters of the pool's kind; attribute filters over the whole language."""
    kind = own.kind
    if not isinstance(kind, Attributes):
        return [own.filter(rng.randrange(60), rng.randrange(60)) for _ in range(8)]
    typed = kind.schema is not None
    return [kind.parse(str(condition)) for condition in generate.filters(rng, 8, typed)]


@st.composite
def messages(draw: st.DrawFn, name: str) -> Message:
    own, rng = pool(name), Random(draw(st.integers(0, 2**32)))
    numbers = st.none() | NUMBERS
    what = draw(st.sampled_from(KINDS_OF_MESSAGES))
    if what is Publish:
        event = generate.events(rng, 1)[0] if "attributes" in name else rng.choice(own.events)
        return Publish(draw(NUMBERS), event, draw(TEXTS))
    if what is Acknowledge:
        return Acknowledge(draw(NUMBERS))
    if what is Report:
        told = st.none() | st.floats(0, 1) | st.integers(0, 1)
        return Report(draw(NUMBERS), draw(told), draw(told), draw(told))
    if what is Refuse:
        return Refuse(draw(numbers), draw(numbers), draw(TEXTS))
    if what is Hello:
        way = tuple(draw(st.lists(TEXTS, max_size=3)))
        numbered = draw(st.integers(1, LARGEST)), draw(NUMBERS), draw(NUMBERS)
        return Hello(*numbered, way, bool(way) and draw(st.booleans()))
    if what is Way:
        return Way(tuple(draw(st.lists(TEXTS, max_size=3))))
    if what is Farewell:
        return Farewell()
    ids = draw(st.lists(IDS, min_size=8, max_size=8, unique=True))
    found = [Entry(own, f) for own, f in zip(ids, filters(own, rng), strict=True)]
    cut = draw(st.integers(0, len(found)))
    remove = tuple(draw(st.lists(IDS, max_size=4)))
    if what is not Change:
        parts = tuple(found[:cut]), tuple(found[cut:]), remove
        return Advertise(draw(NUMBERS), *parts, draw(st.booleans()))
    add = tuple(replace(each, own=draw(OWN), behind=draw(BEHIND)) for each in found[:cut])
    recount = tuple(draw(st.lists(st.builds(Recount, IDS, OWN, BEHIND), max_size=2)))
    return Change(draw(NUMBERS), add, tuple(found[cut:]), remove, draw(st.booleans()), recount)


def known(message: Message) -> Any:
    """What a receiver knows before an update: filters of the same shape."""
    if not isinstance(message, Change | Advertise):
        return NOTHING
    filters = {entry.id: entry.filter for entry in message.update}

    def look_up(of: type, own: int) -> Any:
        assert of is type(message)
        return filters[own]

    return look_up


def same(one: Any, other: Any) -> bool:
    """Whether events have the same values, of the same types once they are normal."""
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    a, b = normal(one), normal(other)
    return type(a) is type(b) and (a == b or (a != a and b != b))


@BOTH
def test_every_message_comes_back_and_encodes_to_the_same_bytes(kind: str) -> None:
    own = pool(kind).kind

    @settings(max_examples=120)
    @given(message=messages(kind))
    def law(message: Message) -> None:
        data = encode(message, own)
        again = decode(data, own, known(message))
        assert encode(again, own) == data
        assert b"\n" not in data
        if isinstance(message, Publish):
            assert isinstance(again, Publish)
            assert same(message.event, again.event)
            assert (again.number, again.publisher) == (message.number, message.publisher)
            spelled = json.dumps(own.plain_event(message.event), separators=(",", ":"))
            assert data.endswith(spelled.encode() + b"]")
            assert own.event_size(message.event) == len(spelled)
        else:
            assert again == message
        if isinstance(message, Change | Advertise):
            whole = plain_whole(message, own)
            assert read_whole(json.loads(json.dumps(whole)), own) == message

    law()


@given(seed=st.integers(0, 2**32), typed=st.booleans())
@settings(max_examples=25)
def test_an_update_carries_constants_only(seed: int, typed: bool) -> None:
    kind = pool("typed attributes" if typed else "attributes").kind
    for f in filters(pool("typed attributes" if typed else "attributes"), Random(seed)):
        said = json.loads(encode(Change(1, update=(Entry(5, f),)), kind))
        assert said == ["change", 1, [], [[5, f.values]], [], False]
        assert f.size >= 0


def test_an_event_has_one_encoding_whatever_order_and_types_it_came_in() -> None:
    moment = dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    one = {"a": 5, "b": {"x": 1.5, "y": True}, "c": "s", "d": None, "at": moment, "n": 2**63}
    other = {
        "n": Decimal(2**63),
        "at": dt.datetime(2024, 2, 29, 10),
        "d": None,
        "c": np.str_("s"),
        "b": {"y": np.bool_(True), "x": np.float64(1.5)},
        "a": np.int64(5),
    }
    kind = Attributes()
    assert encode(Publish(1, one), kind) == encode(Publish(1, other), kind)
    again = decode(encode(Publish(1, other), kind), kind, NOTHING)
    assert encode(again, kind) == encode(Publish(1, one), kind)


def test_what_json_has_no_word_for_comes_back() -> None:
    event = {
        "a": math.inf,
        "b": -math.inf,
        "c": Decimal("1.50"),
        "d": dt.date(1, 1, 1),
        "e": dt.datetime(9999, 12, 31, 23, 59, 59, 999_999),
        "f": -0.0,
        "g": Decimal("-1E-30"),
    }
    again = decode(encode(Publish(1, event), Attributes()), Attributes(), NOTHING)
    assert again == Publish(1, event)
    assert isinstance(again, Publish)
    assert math.copysign(1, again.event["f"]) == -1
    assert str(again.event["c"]) == "1.50"


def nested(levels: int) -> dict[str, Any]:
    event: dict[str, Any] = {"x": 1}
    for _ in range(levels - 1):
        event = {"x": event}
    return event


def test_events_nest_as_deep_as_is_allowed_and_no_deeper() -> None:
    kind = Attributes()
    deepest = Publish(1, nested(MAX_DEPTH))
    assert decode(encode(deepest, kind), kind, NOTHING) == deepest
    with pytest.raises(TidegateError, match="deeper than 64"):
        plain_event(nested(MAX_DEPTH + 1))
    too_deep = json.dumps(["publish", "", 1, nested(MAX_DEPTH + 1)]).encode()
    with pytest.raises(TidegateError, match="deeper than 64"):
        decode(too_deep, kind, NOTHING)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63) - 1, 2**63),
    st.floats(),
    st.text(max_size=3),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-99, max_value=99),
    st.datetimes(),
    st.just(np.int64(5)),
    st.dictionaries(st.text(max_size=2), st.integers(0, 3), max_size=2),
)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
def test_events_seen_at_a_glance_are_written_as_value_by_value(event: dict[str, Any]) -> None:
    slowly, error = None, None
    try:
        slowly = attribute_events._plain_value(event, MAX_DEPTH)
    except TidegateError as why:
        error = str(why)
    if error is not None:
        with pytest.raises(TidegateError, match=re.escape(error)):
            plain_event(event)
        return
    found = plain_event(event)
    assert repr(found) == repr(slowly)  # types, signs of zeros and the order of names as well


@pytest.mark.parametrize(
    "value",
    [
        *(b"bytes", [1], (1,), {1}, object(), 10**38, -(10**5000), "\ud800", Decimal("NaN"), 1j),
        *(Decimal("1E+99"), {"\udfff": 1}, {1: 1}, {None: 1}, {"x": [[]]}, np.array([1, 2])),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_what_is_no_value_is_not_encoded(value: Any) -> None:
    with pytest.raises(TidegateError):
        plain_event({"x": value})


def test_filters_as_deep_as_texts_come_back_and_deeper_ones_are_refused() -> None:
    kind = Attributes()
    text = "a = 0"
    for i in range(MAX_PARENTHESES):
        text = f"a = {i} AND b = 1 OR c = 2 AND ({text})"
    f = kind.parse(text)
    message = Change(1, add=(Entry(1, f),))
    assert decode(encode(message, kind), kind, NOTHING) == message
    plain = kind.plain(f)
    for _ in range(4):
        plain = ["AND", ["OR", plain, ["is true", "x", "=", "1"]], True]
    for data in (plain, deep_list(["AND"], 900)):
        with pytest.raises(TidegateError, match="no filter: it is nested deeper"):
            decode(json.dumps(["change", 1, [[1, data]], [], [], False]).encode(), kind, NOTHING)


def deep_list(inner: Any, levels: int) -> Any:
    for _ in range(levels):
        inner = ["OR", True, inner]
    return inner


NO_MESSAGES = [
    *(b"", b"\xff", b"\x00", b"null", b"5", b"[]", b"{}", b'"change"', b"[[]]", b'["change"]'),
    *(b"[" * 100_000, b'{"a":' * 100_000, b"[" * 500 + b"]" * 500, b"9" * 5000, b"-", b"[NaN]"),
    *(b'["acknowledge",true]', b'["acknowledge",-1]', b'["acknowledge",1.0]'),
    *(b'["acknowledge",9223372036854775808]', b'["acknowledge",' + b"9" * 5000 + b"]"),
    *(b'["acknowledge",1,2]', b'["acknowledge",null]', b'["hello",0,0,0]', b'["hello",1,0,"0"]'),
    *(
        b'["hello",1,0]',
        b'["refuse",null,null,null]',
        b'["refuse",false,null,""]',
        b'["nothing",1]',
    ),
    *(b'["publish","",1,[]]', b'["publish","",1,null]', b'["publish",5,1,{}]', b'["publish","",1]'),
    *(b'["publish","",1,{"a":[]}]', b'["publish","",1,{"a":[1]}]', b'["publish","",1,{"a":[[]]}]'),
    *(b'["publish","",1,{"a":["1","2"]}]', b'["publish","",1,{"a":["oops"]}]'),
    *(b'["publish","",1,{"a":NaN}]', b'["publish","",1,{"a":-Infinity}]'),
    *(b'["publish","",1,{"a":["DATE \'0\'"]}]', b'["publish","",1,{"a":[null]}]'),
    *(
        b'["publish","",1,{"a":1' + b"0" * 38 + b"}]",
        b'["publish","",1,{"a":1' + b"0" * 5000 + b"}]",
    ),
    *(b'["publish","",true,{}]', b'["publish","",-1,{}]', b'["publish","",1,{"a":"\\ud800"}]'),
    *(b'["publish","",1,{"\\udfff":1}]', b'["publish","",1,{"a":{"\\udfff":1}}]'),
    *(b'["change",1,[],[],[],0]', b'["change",1,[],[],[],null]', b'["change",1,{},[],[],false]'),
    *(b'["change",1,[5],[],[],false]', b'["change",1,[[1]],[],[],false]'),
    *(b'["change",1,[["1",true]],[],[],false]', b'["change",1,[[true,true]],[],[],false]'),
    *(
        b'["change",1,[[1,5]],[],[],false]',
        b'["change",1,[[1,["is true","x","=",":p"]]],[],[],false]',
    ),
    *(b'["change",1,[],[[1,["5"]]],[],false]', b'["change",1,[],[[true,[]]],[],false]'),
    *(b'["change",1,[],[[[],[]]],[],false]', b'["change",1,[],[],["1"],false]'),
    *(b'["change",1,[],[],[[]],false]', b'["change",1,[],[],[true],false]'),
    *(b'["change",1,[],[],[9223372036854775808],false]', b'["change",true,[],[],[],false]'),
    *(b'["change",1,[],[],[],false,[]]', b'["change",1,[],[],[],false,[[1,1,0]],[[2,1,0]]]'),
    *(b'["change",1,[],[],[],false,[[1,0,0]]]', b'["change",1,[],[],[],false,[[1,-1,0]]]'),
    *(b'["change",1,[],[],[],false,[[1,1,-1]]]', b'["change",1,[],[],[],false,[[1,1]]]'),
    *(b'["change",1,[],[],[],false,[[1,true,0]]]', b'["change",1,[],[],[],false,[["1",1,0]]]'),
    b'["change",1,[],[],[],false,[[1,9223372036854775808,0]]]',
    *(b'["change",1,[],[],[],false,[[1,1.0,0]]]', b'["change",1,[],[],[],false,[1,1,0]]'),
    *(b'["advertise",1,[],[],[],false,[[1,1,0]]]', b'["change",1,[],[],[],false,5]'),
]


def test_counts_are_written_where_there_is_more_than_one_to_count() -> None:
    kind = Attributes()
    cheap = kind.parse("price < 10")
    written = encode(Change(7, add=(Entry(1, cheap, 3, 2),), recount=(Recount(4, 1, 0),)), kind)
    said = b'["change",7,[[1,["is true","price","<","10"],3,2]],[],[],false,[[4,1,0]]]'
    assert written == said
    for bad in (b",1,0]]", b",0,0]]", b",3]]", b",3,2,1]]", b",3,-1]]", b",true,2]]", b",3.0,2]]"):
        with pytest.raises(TidegateError):
            decode(said.replace(b",3,2]]", bad), kind, NOTHING)
    with pytest.raises(TidegateError):
        decode(
            said.replace(b",false,[[4,1,0]]", b",false").replace(b"change", b"advertise"),
            kind,
            NOTHING,
        )


@BOTH
@pytest.mark.parametrize("data", NO_MESSAGES, ids=lambda data: repr(data[:44])[1:])
def test_what_is_no_message_is_refused(data: bytes, kind: str) -> None:
    with pytest.raises(TidegateError):
        decode(data, pool(kind).kind, NOTHING)


def test_an_update_of_another_number_of_constants_is_refused() -> None:
    kind = Attributes()
    before = knowing({1: kind.parse("price BETWEEN 1 AND 5")})
    assert decode(b'["change",1,[],[[1,["2","3"]]],[],false]', kind, before) == Change(
        1, update=(Entry(1, kind.parse("price BETWEEN 2 AND 3")),)
    )
    for values in ('["2"]', '["2","3","4"]', '"23"', "null", '{"a":1}', '["2",3]', '["2",":p"]'):
        with pytest.raises(TidegateError):
            decode(f'["change",1,[],[[1,{values}]],[],false]'.encode(), kind, before)


@BOTH
def test_bytes_that_were_changed_decode_to_a_message_or_are_refused(kind: str) -> None:
    own = pool(kind).kind

    @settings(max_examples=80)
    @given(message=messages(kind), seed=st.integers(0, 2**32))
    def law(message: Message, seed: int) -> None:
        rng = Random(seed)
        data = encode(message, own)
        for mutated in mutations(data, rng):
            try:
                found = decode(mutated, own, known(message))
            except TidegateError:
                continue
            again = encode(found, own)
            assert encode(decode(again, own, known(found)), own) == again

    law()


def mutations(data: bytes, rng: Random) -> list[bytes]:
    """The bytes cut off, with others in places, and parts of them twice, gone or elsewhere."""
    found = [data[: rng.randrange(len(data))]]
    pieces = [b"[", b"]", b",", b"{", b"}", b'"', b"1", b"-", b"null", b"true", b"1e999", b"\xff"]
    pieces += [b"[[]]", b"{}", b'""', b"0.5", b'"is true"', b'"OR"', b"99999999999999999999"]
    for _ in range(6):
        a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        b = min(b, a + rng.choice((0, 1, 1, 2, 8)))
        found.append(data[:a] + rng.choice(pieces) + data[b:])
        found.append(data[:a] + data[a:b] * rng.choice((0, 2)) + data[b:])
    parsed = json.loads(data)
    for _ in range(4):
        grafted = json.loads(data)
        graft(grafted, rng.choice([*parsed, None, True, -1, 2**64, 0.5, "", [], {}, [[]]]), rng)
        found.append(json.dumps(grafted).encode())
    return found


def graft(tree: Any, piece: Any, rng: Random) -> None:
    """Put a piece somewhere in a tree."""
    places = range(len(tree)) if isinstance(tree, list) else list(tree)
    if not places:
        return
    place = rng.choice(places)
    if isinstance(tree[place], list | dict) and tree[place] and rng.random() < 0.8:
        graft(tree[place], piece, rng)
    else:
        tree[place] = piece


@settings(max_examples=150)
@given(data=st.binary(max_size=60))
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(TidegateError):
        decode(data, Attributes(), NOTHING)


def test_a_filter_on_what_the_schema_does_not_have_is_refused() -> None:
    kind = Attributes(tg.Schema({"price": "double"}))
    data = encode(Change(1, add=(Entry(1, Attributes().parse("symbol = 'a'")),)), Attributes())
    with pytest.raises(TidegateError, match="no attribute symbol"):
        decode(data, kind, NOTHING)
