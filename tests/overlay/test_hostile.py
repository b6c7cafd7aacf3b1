"""Whatever comes in has a defined answer, and what is refused harms nothing.

A broker with a neighbour, two clients and some work behind it is told one bad thing after the
other. The answer is exact; the state is as before, but for a number that is used up and what is
counted; and normal work goes on.
"""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests.overlay.histories import (
    CHOICES,
    NUMBER,
    PARENTS,
    POOLS,
    WHAT,
    Action,
    Pool,
    act,
    finish,
    pool,
)
from tests.overlay.words import WordKind, Words
from tests.overlay.world import World
from tidegate.errors import TidegateError
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.form import LARGEST, flaw, is_number
from tidegate.overlay.messages import (
    Acknowledge,
    Advertise,
    Change,
    Deliver,
    Effect,
    Entry,
    Hello,
    LinkDown,
    LinkUp,
    Message,
    Persist,
    Publish,
    Recount,
    Refuse,
    Send,
    Way,
)
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings

KIND = Attributes()
CHEAP, DEAR = KIND.parse("price < 10"), KIND.parse("price > 90")


def broker(
    *, advertisements: bool = False, kind: Any = KIND, policy: str = "covering", **named: Any
) -> Broker:
    """A broker that has heard: ann 1, bob 1, the neighbour 2; and has told the neighbour 1."""
    made = Broker("a", kind, Choice(policy), Settings(advertisements=advertisements, **named))
    made.handle("b", LinkUp(client=False))
    made.handle("b", Hello(1, 0, 0))
    made.handle("ann", LinkUp(client=True))
    made.handle("bob", LinkUp(client=True))
    made.handle("bob", Advertise(1, add=(Entry(1, CHEAP),)))
    made.handle("b", Advertise(1, add=(Entry(1, CHEAP), Entry(2, DEAR))))
    made.handle("b", Change(2, add=(Entry(1, DEAR),)))
    made.handle("ann", Change(1, add=(Entry(1, CHEAP),)))
    return made


def state(made: Broker, *without: str) -> dict[str, Any]:
    found = json.loads(json.dumps(made.snapshot()))
    return {name: part for name, part in found.items() if name not in ("tally", *without)}


def heard(made: Broker, link: str) -> int:
    return made.routing.links[link].stream.heard


def works(made: Broker) -> None:
    """Normal work goes on: a subscription, an event, and a cancellation."""
    seq = heard(made, "ann")
    assert made.handle("ann", Change(seq + 1, add=(Entry(77, CHEAP),)))[-1] == Send(
        "ann", Acknowledge(seq + 1)
    )
    told = made.handle("bob", Publish(1000, {"price": 5}))
    assert told == [Deliver("ann", {"price": 5}, "a/bob", 1000, (1, 77))]
    assert made.handle("ann", Change(seq + 2, remove=(77,)))[-1] == Send(
        "ann", Acknowledge(seq + 2)
    )


def refused(made: Broker, link: str, came: Any, *answer: Effect) -> None:
    """Exactly this is answered, nothing has changed, and all goes on."""
    before, count = state(made), made.tally.refused
    assert made.handle(link, came) == list(answer)
    assert state(made) == before
    assert made.tally.refused == count + 1
    works(made)


# -- numbered messages

UNBOUND: Any = tg.parse("price < :p")
TEXT: Any = "price < 10"
LONG = "symbol = '" + "x" * 200 + "'"
BAD_CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "an id that is not known": ({"remove": (5,)}, "the id 5 is not known"),
    "an update of what is not known": ({"update": (Entry(5, CHEAP),)}, "the id 5 is not known"),
    "an id that is taken": ({"add": (Entry(1, DEAR),)}, "the id 1 is taken"),
    "a removal twice": ({"remove": (1, 1)}, "an id is named twice"),
    "an addition twice": (
        {"add": (Entry(5, CHEAP), Entry(5, DEAR))},
        "an id is named twice",
    ),
    "an addition and a removal": (
        {"add": (Entry(5, CHEAP),), "remove": (5,)},
        "an id is named twice",
    ),
    "an update and a removal": (
        {"update": (Entry(1, CHEAP),), "remove": (1,)},
        "an id is named twice",
    ),
    "an update of another shape": (
        {"update": (Entry(1, KIND.parse("price <= 10")),)},
        "the update of 1 is another filter: remove one and add the other",
    ),
    "a filter of another kind": (
        {"add": (Entry(5, Words(frozenset("a"))),)},
        "the filter with id 5 cannot be taken: it is not a filter on attributes",
    ),
    "a filter that is not bound": (
        {"add": (Entry(5, UNBOUND),)},
        "the filter with id 5 cannot be taken: it is not a filter on attributes",
    ),
    "a filter of another schema": (
        {"add": (Entry(5, Attributes(tg.Schema({"price": "double"})).parse("price < 10")),)},
        "the filter with id 5 cannot be taken: it was read under another schema than the broker's",
    ),
    "a text for a filter": (
        {"add": (Entry(5, TEXT),)},
        "the filter with id 5 cannot be taken: it is not a filter on attributes",
    ),
    "a filter beyond the limits": (
        {"add": (Entry(5, KIND.parse(LONG)),)},
        "the filter with id 5 cannot be taken: it is larger than 100 bytes",
    ),
    "something bad after something good": (
        {"add": (Entry(5, CHEAP),), "remove": (9,)},
        "the id 9 is not known",
    ),
    "a whole with an update": (
        {"update": (Entry(1, CHEAP),), "whole": True},
        "what is told as a whole has nothing to update or remove",
    ),
    "a whole with a removal": (
        {"remove": (1,), "whole": True},
        "what is told as a whole has nothing to update or remove",
    ),
    "a whole with an id twice": (
        {"add": (Entry(5, CHEAP), Entry(5, DEAR)), "whole": True},
        "an id is named twice",
    ),
}


@pytest.mark.parametrize("message", [Change, Advertise])
@pytest.mark.parametrize("link", ["ann", "b"])
@pytest.mark.parametrize("bad", BAD_CHANGES)
def test_a_bad_change_is_refused_as_a_whole_and_its_number_is_used_up(
    bad: str, link: str, message: Any
) -> None:
    made = broker(advertisements=True, filter_size=100)
    if link == "ann" and message is Advertise:
        made.handle("ann", Advertise(2, add=(Entry(1, CHEAP),)))
    parts, reason = BAD_CHANGES[bad]
    seq = heard(made, link) + 1
    came = message(seq, **parts)
    before, count = state(made), made.tally.refused
    assert made.handle(link, came) == [
        Persist(link, came),
        Send(link, Refuse(seq, None, reason)),
        Send(link, Acknowledge(seq)),
    ]
    assert made.tally.refused == count + 1
    assert heard(made, link) == seq
    made.routing.links[link].stream.heard -= 1
    assert state(made) == before
    made.routing.links[link].stream.heard += 1
    works(made)


UNTOLD = Recount(1, 2, 3)
BAD_COUNTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "an id that is not known": ("b", {"recount": (Recount(5, 1, 0),)}, "the id 5 is not known"),
    "an id of another link": ("b", {"recount": (Recount(2, 1, 0),)}, "the id 2 is not known"),
    "a recount twice": ("b", {"recount": (UNTOLD, UNTOLD)}, "an id is named twice"),
    "a recount of what goes": ("b", {"remove": (1,), "recount": (UNTOLD,)}, "an id is named twice"),
    "a recount of what comes": (
        "b",
        {"add": (Entry(5, CHEAP),), "recount": (Recount(5, 2, 0),)},
        "an id is named twice",
    ),
    "a recount beside a whole": (
        "b",
        {"recount": (UNTOLD,), "whole": True},
        "what is told as a whole has nothing to update or remove",
    ),
    "a client's count": ("ann", {"recount": (UNTOLD,)}, "a client's subscription counts once"),
    "a client's entry": (
        "ann",
        {"add": (Entry(5, CHEAP, 2, 0),)},
        "a client's subscription counts once",
    ),
}


@pytest.mark.parametrize("policy", ["covering", "xroute"])
@pytest.mark.parametrize("bad", BAD_COUNTS)
def test_bad_counts_are_refused_by_name_and_change_nothing(bad: str, policy: str) -> None:
    made = broker(policy=policy)
    link, parts, reason = BAD_COUNTS[bad]
    seq = heard(made, link) + 1
    came = Change(seq, **parts)
    before = state(made, "links")
    counts = dict(made.routing.links["b"].wanted.counts)
    assert made.handle(link, came) == [
        Persist(link, came),
        Send(link, Refuse(seq, None, reason)),
        Send(link, Acknowledge(seq)),
    ]
    assert state(made, "links") == before
    assert made.routing.links["b"].wanted.counts == counts
    works(made)


def test_counts_that_are_too_large_to_sum_up_are_told_as_large_as_can_be() -> None:
    """And are exact again, as soon as they are small enough."""
    made = broker(policy="xroute")
    for name in ("c", "d"):
        made.handle(name, LinkUp(client=False))
        made.handle(name, Hello(1, 0, 0))
    made.handle("c", Change(1, add=(Entry(1, CHEAP, LARGEST, LARGEST),)))
    last = made.handle("d", Change(1, add=(Entry(1, CHEAP, LARGEST, 5),)))
    (told,) = (x.message for x in last if isinstance(x, Send) and x.link == "b")
    assert isinstance(told, Change)
    assert flaw(told) is None
    assert [each.counts for each in told.recount] == [(LARGEST, LARGEST)]
    made.handle("c", Change(2, remove=(1,)))
    last = made.handle("d", Change(2, recount=(Recount(1, 3, 5),)))
    (told,) = (x.message for x in last if isinstance(x, Send) and x.link == "b")
    assert isinstance(told, Change)
    assert [each.counts for each in told.recount] == [(4, 5)]
    made.handle("d", Change(3, remove=(1,)))
    works(made)


def test_a_neighbour_that_counts_is_understood_by_one_that_does_not() -> None:
    made = broker(policy="covering")
    seq = heard(made, "b")
    for came in (
        Change(seq + 1, add=(Entry(5, CHEAP, 7, 8),)),
        Change(seq + 2, recount=(Recount(5, 1, 0),)),
    ):
        assert made.handle("b", came)[-1] == Send("b", Acknowledge(came.seq))
    assert made.routing.wanted.counts(("b", 5)) == (1, 0)
    made.handle("b", Change(seq + 3, remove=(5,)))
    works(made)


def test_a_subscription_is_cancelled_once() -> None:
    made = broker()
    assert made.handle("ann", Change(2, remove=(1,)))[-1] == Send("ann", Acknowledge(2))
    assert made.handle("ann", Change(3, remove=(1,)))[1:] == [
        Send("ann", Refuse(3, None, "the id 1 is not known")),
        Send("ann", Acknowledge(3)),
    ]
    assert made.handle("ann", Change(4, add=(Entry(1, CHEAP),)))[-1] == Send("ann", Acknowledge(4))
    works(made)


@pytest.mark.parametrize("link", ["ann", "b"])
@pytest.mark.parametrize("offset", [-1, 0, 2, 3, 2**40])
@pytest.mark.parametrize("message", [Change, Advertise])
def test_numbers_from_the_past_and_the_future_are_answered_by_what_was_heard(
    message: Any, offset: int, link: str
) -> None:
    made = broker(advertisements=True)
    at = heard(made, link)
    before, count = state(made), made.tally.repeated
    came = message(at + offset, add=(Entry(5, DEAR),), remove=(1,))
    assert made.handle(link, came) == [Send(link, Acknowledge(at))]
    assert state(made) == before
    assert made.tally.repeated == count + 1
    works(made)


def test_advertisements_are_acknowledged_and_forgotten_where_none_is_used() -> None:
    made = broker(advertisements=False)
    for seq, parts in enumerate(({"add": (Entry(3, DEAR),)}, {"remove": (3,)}), start=2):
        came = Advertise(seq, **parts)  # type: ignore[arg-type]
        assert made.handle("bob", came) == [Persist("bob", came), Send("bob", Acknowledge(seq))]
    works(made)


# -- what is not formed as a message is

GOOD: tuple[Message, ...] = (
    Change(2, add=(Entry(5, DEAR),)),
    Advertise(2, add=(Entry(5, DEAR),)),
    Publish(5, {"price": 5}),
    Acknowledge(0),
    Refuse(1, None, "because"),
    Hello(2, 1, 1),
    Way(("b", "r")),
)
JUNK: tuple[Any, ...] = (
    *(None, True, "x", 1.5, -1, 2**63, 10**5000, b"", [], {}, (1,), ("x",), [Entry(5, DEAR)]),
    *((Entry(True, DEAR),), (Entry("5", DEAR),), (Entry(2**63, DEAR),), (None,), object),  # type: ignore[arg-type]
)
FITTING = {
    ("Publish", "event"): JUNK,  # is the kind's to judge
    ("Publish", "publisher"): ("x",),
    ("Refuse", "seq"): (None,),
    ("Refuse", "number"): (None,),
    ("Refuse", "reason"): ("x",),
    ("Hello", "way"): (("x",),),
    ("Way", "names"): (("x",),),
    ("Change", "whole"): (True,),
    ("Advertise", "whole"): (True,),
    ("Change", "remove"): ((1,),),
    ("Advertise", "remove"): ((1,),),
}


def malformed() -> Iterator[Any]:
    for message in GOOD:
        for field in fields(message):
            for junk in JUNK:
                fits = FITTING.get((type(message).__name__, field.name), ())
                if not any(junk is each or junk == each for each in fits):
                    yield replace(message, **{field.name: junk})


@pytest.mark.parametrize("link", ["ann", "b"])
def test_a_message_with_something_else_in_a_field_is_refused(link: str) -> None:
    made = broker(advertisements=True)
    before = state(made)
    for came in malformed():
        (answer,) = made.handle(link, came)
        assert isinstance(answer, Send)
        assert isinstance(answer.message, Refuse)
        assert answer.message.reason == flaw(came)
        seq, number = getattr(came, "seq", None), getattr(came, "number", None)
        if not isinstance(came, Change | Advertise | Acknowledge) or not is_number(seq):
            seq = None
        if not isinstance(came, Publish) or not is_number(number):
            number = None
        assert (answer.message.seq, answer.message.number) == (seq, number)
        assert type(answer.message.seq) in (int, type(None))
    assert state(made) == before
    works(made)


NO_COUNTS = "an entry counts from 1, and stands for from 0, to 2**63 - 1 registrations"
UNCOUNTED: list[Any] = [(0, 1), (-1, 0), (1, -1), (2**63, 0), (1, 2**63), (1.0, 0), (True, 1)]
FLAWS: list[tuple[Any, str]] = [
    (Hello(0, 0, 0), "its life is not a whole number from 1 to 2**63 - 1"),
    (Hello(1, -1, 0), "the life that it has heard is not a whole number from 0 to 2**63 - 1"),
    (Hello(1, 0, -1), "its number is not a whole number from 0 to 2**63 - 1"),
    (Publish(1, {}, None), "the name of its publisher is not a text"),  # type: ignore[arg-type]
    (Refuse(1, None, None), "its reason is not a text"),  # type: ignore[arg-type]
    (Change(1, remove=("x",)), "an id is a whole number of 64 bits"),  # type: ignore[arg-type]
    *((Change(1, recount=(Recount(1, *each),)), NO_COUNTS) for each in UNCOUNTED),
    *((Change(1, add=(Entry(1, CHEAP, *each),)), NO_COUNTS) for each in UNCOUNTED),
    (Change(1, recount=(Recount(True, 1, 0),)), "an id is a whole number of 64 bits"),
    (
        Change(1, recount=(None,)),  # type: ignore[arg-type]
        "what it recounts is not a tuple of ids with their counts",
    ),
    (Advertise(1, add=(Entry(1, CHEAP, 2, 0),)), "what is advertised is not counted"),
    (Change(1, update=(Entry(1, CHEAP, 1, 1),)), "an update has no counts: a recount tells them"),
]


@pytest.mark.parametrize(("came", "said"), FLAWS, ids=lambda x: type(x).__name__)
def test_a_flaw_is_told_in_a_sentence(came: Any, said: str) -> None:
    assert flaw(came) == said


@pytest.mark.parametrize("came", [None, 5, "change", b"", object(), [], Entry(1, CHEAP), Change])
def test_what_is_no_message_is_refused(came: Any) -> None:
    reason = f"{type(came).__name__} is not a message"
    refused(broker(), "ann", came, Send("ann", Refuse(None, None, reason)))


# -- links

UNKNOWN = "no link of the name 'eve' is up"


@pytest.mark.parametrize(
    ("came", "seq", "number"),
    [
        (Change(1, add=(Entry(1, CHEAP),)), 1, None),
        (Change("x"), None, None),  # type: ignore[arg-type]
        (Advertise(3), 3, None),
        (Publish(4, {}), None, 4),
        (Publish(None, {}), None, None),  # type: ignore[arg-type]
        (Acknowledge(9), 9, None),
        (Refuse(1, None, ""), None, None),
        (Hello(1, 0, 0), None, None),
        (LinkDown(), None, None),
        (None, None, None),
    ],
)
def test_what_comes_on_an_unknown_link_is_refused(
    came: Any, seq: int | None, number: int | None
) -> None:
    refused(broker(), "eve", came, Send("eve", Refuse(seq, number, UNKNOWN)))


def test_what_comes_on_a_link_that_is_down_is_refused() -> None:
    made = broker()
    made.handle("b", LinkDown())
    answer = Refuse(3, None, "no link of the name 'b' is up")
    refused(made, "b", Change(3, remove=(1,)), Send("b", answer))
    made.handle("b", LinkUp(client=False))
    made.handle("b", Hello(1, 1, 1))
    assert made.handle("b", Change(3, remove=(1,)))[-1] == Send("b", Acknowledge(3))


@pytest.mark.parametrize(("link", "client"), [("ann", False), ("b", True)])
def test_a_link_does_not_become_one_of_the_other_sort(link: str, client: bool) -> None:
    known = "broker" if client else "client"
    answer = Send(link, Refuse(None, None, f"the link {link!r} is to a {known}"))
    refused(broker(), link, LinkUp(client=client), answer)


def test_what_was_never_sent_is_not_acknowledged() -> None:
    for link, seq in (("b", 2), ("b", 2**63 - 1), ("ann", 1)):
        answer = Send(link, Refuse(seq, None, "that was never sent"))
        refused(broker(), link, Acknowledge(seq), answer)


@pytest.mark.parametrize("link", ["b", "ann"])
@pytest.mark.parametrize("hello", [Hello(1, 0, 0), Hello(7, 1, 1), Hello(1, 1, 2**62)])
def test_a_second_greeting_is_not_heard(hello: Hello, link: str) -> None:
    made = broker()
    before, count = state(made), made.tally.repeated
    assert made.handle(link, hello) == []
    assert state(made) == before
    assert made.tally.repeated == count + 1
    works(made)


@pytest.mark.parametrize("heard_life", [0, 1, 5])
@pytest.mark.parametrize("so_far", [0, 1, 2, 2**62])
def test_a_neighbour_that_claims_to_have_heard_anything_is_told_what_fits(
    heard_life: int, so_far: int
) -> None:
    """Whatever it says, the next number it is sent is the one that it waits for."""
    made = broker()
    made.handle("b", LinkDown())
    made.handle("b", LinkUp(client=False))
    sent = [x for x in made.handle("b", Hello(1, heard_life, so_far)) if isinstance(x, Send)]
    knows_all = heard_life == 1 and so_far == 1
    first = so_far + 1 if heard_life == 1 else 1
    assert bool(sent) != knows_all
    assert [x.message.seq for x in sent] == [*range(first, first + len(sent))]  # type: ignore[union-attr]
    assert state(made)  # all of it can be written down
    works(made)


def test_a_life_is_a_number_from_1_on() -> None:
    for life in (0, -1, True, "1", 2**63, None):
        with pytest.raises(TidegateError, match="a life is a number"):
            Broker("a", KIND, life=life)  # type: ignore[arg-type]


# -- events


def nested(levels: int) -> dict[str, Any]:
    event: dict[str, Any] = {"price": 5}
    for _ in range(levels):
        event = {"price": event}
    return event


BAD_EVENTS: dict[str, tuple[Any, str]] = {
    "None": (None, "an event is attributes with their values"),
    "a number": (5, "an event is attributes with their values"),
    "a text": ("price", "an event is attributes with their values"),
    "a list": ([("price", 5)], "this list cannot be a value of an event"),
    "an object": (object(), "this object cannot be a value of an event"),
    "another name": ({5: 5}, "the names of an event's attributes are strings"),
    "another value": ({"price": b"5"}, "this bytes cannot be a value of an event"),
    "a deep list": ({"price": [[]]}, "this list cannot be a value of an event"),
    "a huge number": ({"price": 10**5000}, "this int cannot be a value of an event"),
    "half a character": ({"price": "\ud800"}, "this str cannot be a value of an event"),
    "deep structs": (nested(64), "an event has structs nested deeper than 64"),
    "structs without end": (nested(100_000), "an event has structs nested deeper than 64"),
    "absurd size": ({"x": "y" * 2000}, "the event takes 2,008 bytes; 1,000 are allowed"),
    "unadvertised": (
        {"price": 95},
        "the event is not among what its publisher has advertised",
    ),
}


@pytest.mark.parametrize("bad", BAD_EVENTS)
def test_a_bad_event_is_refused_and_its_number_is_not_used_up(bad: str) -> None:
    event, reason = BAD_EVENTS[bad]
    made = broker(advertisements=True, event_size=1000)
    refused(made, "bob", Publish(1, event), Send("bob", Refuse(None, 1, reason)))
    made = broker(advertisements=True, event_size=1000)
    made.handle("bob", Publish(1, event))
    delivered = made.handle("bob", Publish(1, {"price": 1}))[0]
    assert isinstance(delivered, Deliver)
    assert delivered.link == "ann"


def test_a_number_is_used_once() -> None:
    made = broker()
    assert made.handle("bob", Publish(7, {"price": 5})) == [
        Deliver("ann", {"price": 5}, "a/bob", 7, (1,))
    ]
    for number in (7, 6, 1, 0):
        before, count = state(made), made.tally.repeated
        answer = Send("bob", Refuse(None, number, "the number was used"))
        assert made.handle("bob", Publish(number, {"price": 6})) == [answer]
        assert (state(made), made.tally.repeated) == (before, count + 1)
    works(made)


def test_an_event_of_a_neighbour_that_comes_again_is_dropped() -> None:
    made = broker()
    assert len(made.handle("b", Publish(7, {"price": 5}, "b/eve"))) == 1
    assert made.handle("b", Publish(7, {"price": 5}, "b/eve")) == []
    assert made.handle("b", Publish(6, {"price": 5}, "b/eve")) == []
    works(made)


@pytest.mark.parametrize("event", [None, 5, "price", [("price", 5)], {5: 5}, object()])
def test_an_event_of_a_neighbour_that_is_none_is_refused(event: Any) -> None:
    answer = Refuse(None, 1, "an event is attributes with their values")
    refused(broker(), "b", Publish(1, event, "b/eve"), Send("b", answer))


def test_an_event_that_breaks_a_checked_schema_is_refused() -> None:
    schema = tg.Schema(
        {"price": tg.Attribute("double", low=0.0), "name": tg.Attribute("string", nullable=False)},
        checked=True,
    )
    kind = Attributes(schema)
    made = Broker("a", kind)
    made.handle("ann", LinkUp(client=True))
    made.handle("b", LinkUp(client=False))
    made.handle("ann", Change(1, add=(Entry(1, kind.parse("price >= 0")),)))
    before = state(made)
    for link in ("ann", "b"):
        for event, name in (
            ({"price": -1.0, "name": "x"}, "price"),
            ({"price": 1.0}, "name"),
            ({"price": 1.0, "name": None}, "name"),
            ({"price": "1", "name": "x"}, "price"),
        ):
            reason = f"the value of {name} is not one that the schema allows"
            answer = [Send(link, Refuse(None, 1, reason))]
            assert made.handle(link, Publish(1, event, "b/eve")) == answer
    assert state(made) == before
    good = {"price": 1.0, "name": "x"}
    assert made.handle("b", Publish(1, good, "b/eve")) == [Deliver("ann", good, "b/eve", 1, (1,))]


def test_an_event_of_another_kind_is_refused() -> None:
    made = Broker("a", WordKind())
    made.handle("b", LinkUp(client=False))
    made.handle("b", Change(1, add=(Entry(1, Words(frozenset("a"))),)))
    answer = [Send("b", Refuse(None, 1, "an event is one word"))]
    assert made.handle("b", Publish(1, {"price": 5}, "b/eve")) == answer


def test_a_refusal_is_counted() -> None:
    made = broker()
    before = state(made)
    assert made.handle("b", Refuse(1, None, "no")) == []
    assert made.tally.rebuffed == 1
    assert state(made) == before


# -- anything at all, in a world at work


def rubbish(world: World, own: Pool, broker: str, link: str, rng: Random) -> Any:
    """A message that comes at the wrong time, or has something else in a field, or is none."""
    stream = world.brokers[broker].routing.links[link].stream
    seq = max(0, stream.heard + rng.choice((-3, -1, 0, 2, 3, 99)))
    entries = tuple(Entry(rng.randrange(-5, 9), own.filter(i, i)) for i in range(rng.randrange(4)))
    message: Message = rng.choice(
        (
            Change(seq, entries, (), (), rng.random() < 0.5),
            Advertise(seq, (), entries, (1, 5)),
            Publish(0, rng.choice(own.events), "b0/b0.0"),
            Acknowledge(stream.sent + rng.randrange(1, 5)),
            Refuse(seq, None, "no"),
            Hello(rng.randrange(1, 5), rng.randrange(3), rng.randrange(5)),
        )
    )
    chance = rng.random()
    if chance < 0.3:
        return message
    if chance < 0.4:
        return rng.choice(JUNK)
    return replace(message, **{rng.choice(fields(message)).name: rng.choice(JUNK)})


@pytest.mark.parametrize("policy", CHOICES)
def test_rubbish_does_not_disturb_a_network_at_work(policy: str) -> None:
    actions_of = st.lists(st.tuples(WHAT, NUMBER, NUMBER, NUMBER), min_size=10, max_size=40)

    @settings(max_examples=12)
    @given(
        kind=st.sampled_from([*POOLS]),
        offers=st.booleans(),
        parents=PARENTS,
        actions=actions_of,
        seed=NUMBER,
    )
    def histories(
        kind: str, offers: bool, parents: list[int], actions: list[Action], seed: int
    ) -> None:
        own, rng = pool(kind), Random(seed)
        world = World(own.kind, CHOICES[policy], parents, advertisements=offers)
        for action in actions:
            act(world, own, action)
            name = rng.choice(list(world.brokers))
            here = world.brokers[name]
            before = state(here)
            for _ in range(8):
                link = rng.choice(list(here.routing.links))
                for effect in here.handle(link, rubbish(world, own, name, link, rng)):
                    assert isinstance(effect, Send)
                    assert isinstance(effect.message, Acknowledge | Refuse)
            assert state(here) == before
        finish(world, own)

    histories()
