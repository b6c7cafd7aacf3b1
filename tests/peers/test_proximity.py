"""How near filters are: against counting events one by one, for three kinds of filters."""

from collections import deque
from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.overlay.words import WORDS, WordKind, Words
from tidegate.errors import TidegateError
from tidegate.lab.workloads.dtds import news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.filter import Event, Filter
from tidegate.overlay.patterns import Patterns
from tidegate.peers.history import History
from tidegate.peers.proximity import Measure, Near, Proximity

words = st.frozensets(st.sampled_from(WORDS), max_size=5).map(Words)
events = st.sampled_from(WORDS).map(lambda word: {"word": word})


def counted(kept: list[Event], f: Filter, g: Filter) -> tuple[int, int, int]:
    """How many events match the first filter, both, and at least one."""
    one = sum(f.matches(event) for event in kept)
    both = sum(f.matches(event) and g.matches(event) for event in kept)
    either = sum(f.matches(event) or g.matches(event) for event in kept)
    return one, both, either


def check(history: History, kept: list[Event], filters: list[Any]) -> None:
    assert len(history) == len(kept)
    for f, g in product(filters, repeat=2):
        asked = history.matched(f), history.both(f, g), history.either(f, g)
        assert asked == counted(kept, f, g)


@given(st.data())
def test_a_history_counts_the_newest_events_whatever_came_before(data: st.DataObject) -> None:
    history = History(WordKind(), limit := data.draw(st.integers(1, 6)))
    newest: deque[Event] = deque(maxlen=limit)
    known: set[Words] = set()
    for _ in range(data.draw(st.integers(0, 25))):
        match data.draw(st.sampled_from(["add", "add", "add", "watch", "forget", "ask"])):
            case "add":
                newest.append(data.draw(events))
                history.add(newest[-1])
            case "watch":
                known.add(f := data.draw(words))
                history.watch(f)
                assert history.watched == len(known)
            case "forget":
                f = data.draw(st.sampled_from(sorted(known, key=repr)) if known else words)
                known.discard(f)
                history.forget(f)
                assert history.watched == len(known)
            case _:
                check(history, list(newest), sorted(known, key=repr))
    check(history, list(newest), [*known, Words(frozenset("ab"))])


@given(st.lists(events, max_size=12), words, words, st.floats(0, 1))
def test_each_measure_is_what_its_definition_says(
    kept: list[Event], f: Words, g: Words, unknown: float
) -> None:
    history = History(WordKind())
    for event in kept:
        history.add(event)
    given_, mean, shared = (Proximity(history, x, unknown).of(f, g) for x in Measure)
    back = Proximity(history, Measure.GIVEN, unknown).of(g, f)
    one, both, either = counted(kept, f, g)
    if one:
        assert given_ == both / one
    else:
        assert given_ == (1 if g.covers(f) else unknown if g.overlaps(f) else 0)
    assert mean == (given_ + back) / 2
    if either:
        assert shared == both / either
    else:
        alike = f.covers(g) and g.covers(f)
        assert shared == (1 if alike else unknown if f.overlaps(g) else 0)
    if one and either != one:
        assert shared <= given_ + 1e-12


@given(st.lists(events, max_size=12), words, words)
def test_what_is_certain_does_not_depend_on_the_history(
    kept: list[Event], f: Words, g: Words
) -> None:
    history = History(WordKind())
    for event in kept:
        history.add(event)
    for unknown in (0.0, 0.5):
        near = {measure: Proximity(history, measure, unknown) for measure in Measure}
        if g.covers(f):
            assert near[Measure.GIVEN].of(f, g) == 1
        if f.words and not f.overlaps(g):
            assert [near[measure].of(f, g) for measure in (Measure.GIVEN, Measure.SHARED)] == [0, 0]
        for measure in (Measure.MEAN, Measure.SHARED):
            assert near[measure].of(f, g) == near[measure].of(g, f)
        for measure in Measure:
            assert near[measure].of(f, f) == 1
            assert 0 <= near[measure].of(f, g) <= 1


@given(
    st.lists(events, max_size=10),
    words,
    st.dictionaries(st.text("xyz", min_size=1, max_size=2), words),
    st.integers(0, 6),
    st.dictionaries(st.text("xyz", min_size=1, max_size=2), st.integers(0, 3)),
)
def test_the_nearest_are_the_first_of_all(
    kept: list[Event], f: Words, among: dict[str, Words], n: int, links: dict[str, int]
) -> None:
    history = History(WordKind())
    for event in kept:
        history.add(event)
    for measure in Measure:
        near = Proximity(history, measure)
        every = [Near(name, near.of(f, other)) for name, other in among.items()]
        every.sort(key=lambda x: (-x.proximity, links.get(x.name, 0), x.name))
        assert near.nearest(f, among, n, links) == every[:n]


def attribute_events(random: Random) -> Event:
    return {"price": random.choice([None, 1, 5, 9.5, 20]), "symbol": random.choice("AB")}


def document_events(random: Random) -> Event:
    return DocumentSource(news(), DocumentChoices(), random.randrange(1000)).draw()


def attribute_filters() -> tuple[Attributes, list[Any]]:
    kind = Attributes()
    texts = ["price < 6", "price >= 5", "symbol = 'A'", "price < 6 AND symbol = 'A'", "price = 77"]
    return kind, [kind.parse(text) for text in texts]


def document_filters() -> tuple[Patterns, list[Any]]:
    kind = Patterns()
    source = PatternSource(news(), PatternChoices(), seed=3)
    return kind, [kind.parse(source.draw().text) for _ in range(12)]


@pytest.mark.parametrize(
    ("filters", "draw"),
    [(attribute_filters, attribute_events), (document_filters, document_events)],
    ids=["attributes", "documents"],
)
def test_other_kinds_are_counted_alike_before_and_after_events_came(
    filters: Callable[[], tuple[Any, list[Any]]], draw: Callable[[Random], Event]
) -> None:
    kind, known = filters()
    random = Random(4)
    history = History(kind, limit=25)
    kept = [draw(random) for _ in range(40)]
    for number, event in enumerate(kept):
        if number % 8 == 0:
            history.watch(known[number // 8 % len(known)])
        history.add(event)
    check(history, kept[-25:], known)
    assert len({history.matched(f) for f in known}) > 1


@pytest.mark.parametrize("event", [None, 7, {1: 2}])
def test_what_is_no_event_changes_nothing(event: object) -> None:
    kind = Attributes()
    history = History(kind)
    history.add({"price": 3})
    with pytest.raises(TidegateError, match="event cannot be taken"):
        history.add(event)
    assert len(history) == 1
    assert history.matched(kind.parse("price < 5")) == 1


def test_what_is_no_filter_of_the_kind_changes_nothing() -> None:
    history = History(Attributes())
    stranger: Any = "price < 5"
    with pytest.raises(TidegateError, match="filter cannot be taken"):
        history.watch(stranger)
    assert history.watched == 0


def test_limits_are_checked() -> None:
    with pytest.raises(TidegateError, match="at least 1 event"):
        History(Attributes(), 0)
    for unknown in (-0.1, 1.1, float("nan")):
        with pytest.raises(TidegateError, match="from 0 to 1"):
            Proximity(History(Attributes()), unknown=unknown)


def test_an_event_that_its_owner_changes_later_is_still_forgotten_whole() -> None:
    kind = Attributes()
    history = History(kind, limit=1)
    history.watch(cheap := kind.parse("price < 5"))
    event = {"price": 3}
    history.add(event)
    event["price"] = 50
    history.add({"price": 60})
    assert history.matched(cheap) == 0
