"""Patterns as brokers see them: kept, written and asked as the plain way says, alone and mixed."""

import json
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.documents.generate import NAMESPACES, Writer, document
from tests.overlay.histories import pool
from tests.overlay.test_mutants import (
    BreaksBeforeMaking,
    DoesNotPromote,
    IgnoresAdvertisements,
    ReordersUpdates,
    SendsBack,
    caught,
)
from tidegate.documents.index import DocumentIndex
from tidegate.documents.pattern import Pattern
from tidegate.documents.reading.limits import Limits
from tidegate.errors import FilterError, TidegateError
from tidegate.overlay import broker as broker_module
from tidegate.overlay import pattern_index
from tidegate.overlay import policy as policy_module
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Filter, FilterIndex, Kind
from tidegate.overlay.pattern_filter import PatternFilter
from tidegate.overlay.patterns import Patterns
from tidegate.overlay.policy import Choice
from tidegate.overlay.scan import ScanIndex
from tidegate.overlay.several import Several
from tidegate.papers.xsearch.xsearch import XSearch
from tidegate.simulate.cost import FREE
from tidegate.simulate.network import Network
from tidegate.simulate.sequence import Recorder
from tidegate.simulate.topology import line

KIND = Patterns(NAMESPACES)


def drawn(random: Random, count: int) -> list[PatternFilter]:
    return [
        KIND.parse(Writer(random).expression(), ordered=random.random() < 0.1) for _ in range(count)
    ]


def agree(ours: FilterIndex, scan: ScanIndex, filters: list[Filter], events: list[str]) -> None:
    for event in events:
        assert sorted(ours.match(event)) == sorted(scan.match(event))
    for f in filters:
        assert sorted(ours.containing(f)) == sorted(scan.containing(f))
        assert sorted(ours.contained(f)) == sorted(scan.contained(f))
        assert sorted(ours.overlapping(f)) == sorted(scan.overlapping(f))


def live(kind: Kind, filters: list[Filter], events: list[str], random: Random, most: int) -> None:
    """A history of an index, compared with a scan."""
    ours, scan, there = kind.index(), ScanIndex(), set[int]()
    for step in range(3 * most):
        f = random.choice(filters)
        if there and random.random() < 0.3:
            number = random.choice(sorted(there))
            ours.update(number, f)
            scan.update(number, f)
        elif len(there) > most or (there and random.random() < 0.3):
            number = there.pop()
            ours.remove(number)
            scan.remove(number)
        else:
            ours.add(step, f)
            scan.add(step, f)
            there.add(step)
        if not step % (most // 3):
            agree(ours, scan, random.sample(filters, 4), random.sample(events, 2))


@given(st.integers(0, 2**32))
def test_an_index_answers_as_one_filter_after_the_other_does(seed: int) -> None:
    random = Random(seed)
    filters: list[Filter] = [*drawn(random, 25)]
    live(KIND, filters, [document(random) for _ in range(6)], random, 15)


def test_many_filters_are_kept_in_the_index_of_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_index, "_TRIED_ONE_BY_ONE", 10)
    for seed in range(3):
        random = Random(seed)
        filters: list[Filter] = [*drawn(random, 40)]
        live(KIND, filters, [document(random) for _ in range(8)], random, 30)


@given(st.integers(0, 2**32))
def test_an_index_of_several_kinds_does_too(seed: int) -> None:
    random = Random(seed)
    both = Several(Attributes(), KIND)
    texts = ["price < 5", "price < 10", "symbol = 'a'", "price > 3 AND symbol = 'a'"]
    filters: list[Filter] = [both.filter(Attributes().parse(text)) for text in texts]
    filters += [both.filter(f) for f in drawn(random, 8)]
    events = [document(random) for _ in range(3)]
    live(both, filters, events, random, 9)
    index = both.index()
    for number, f in enumerate(filters):
        index.add(number, f)
    assert sorted(index.match({"price": 4, "symbol": "a"})) == [0, 1, 2, 3]
    union = both.union()
    union.restore(dict(enumerate(filters[1:])), None)
    assert union.subsumes(filters[0])
    assert not both.union().subsumes(filters[0])


UNREADABLE: list[Any] = [
    *("<a>" * 300 + "</a>" * 300, "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "<a", "", b"\xff"),
    *("<a/>\x00", None, {"price": 4}, ["<a/>"]),
]


def found(index: FilterIndex, events: Sequence[Any]) -> set[tuple[int, int]]:
    """Pairs of a batch: a row, and the number of a filter."""
    return {
        pair
        for numbering, rows, places in index.match_batch(events)
        for pair in zip(rows.tolist(), numbering.numbers[places].tolist(), strict=True)
    }


@pytest.mark.parametrize("several", [False, True])
def test_many_documents_match_as_one_after_the_other(several: bool) -> None:
    matched = 0
    for seed in range(6):
        random = Random(seed)
        both = Several(Attributes(), KIND)
        filters: list[Filter] = [*drawn(random, 60)]
        if several:
            filters = [*map(both.filter, filters), *3 * [both.parse("price < 5")]]
        index = (both if several else KIND).index()
        events: list[Any] = [document(random) for _ in range(20)]
        events[::3] = [text.encode() for text in events[::3]]
        events += [{"price": 4}, 5] if several else []
        random.shuffle(events)
        for number, f in enumerate(filters):
            index.add(number, f)
        for size in (len(events), 3, 0):
            some = events[:size]
            pairs = found(index, some)
            assert pairs == {(row, n) for row, event in enumerate(some) for n in index.match(event)}
            matched += len(pairs)
        index.remove(7)
        index.update(8, filters[9])
        assert found(index, events) == {
            (row, n) for row, event in enumerate(events) for n in index.match(event)
        }
    assert matched > 1_000


def test_a_document_that_is_larger_than_is_read_at_once_is_matched_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = KIND.index()
    for number in range(40):
        index.add(number, KIND.parse(f"/a[@n = {number % 4}]"))
    documents = [f"<a n='{n}'>{'<b/>' * 10 * n}</a>" for n in range(6)]
    wanted = found(index, documents)
    assert len(wanted) == 40
    small = Limits(size=100)
    monkeypatch.setattr(pattern_index, "DocumentIndex", partial(DocumentIndex, limits=small))
    again = KIND.index()
    for number in range(40):
        again.add(number, KIND.parse(f"/a[@n = {number % 4}]"))
    assert found(again, documents) == wanted


def test_all_are_taken_together_only_if_each_is() -> None:
    good = [document(Random(seed)) for seed in range(12)]
    assert KIND.takes_all(good)
    assert KIND.takes_all([*good, good[0].encode()])
    for bad in UNREADABLE:
        assert KIND.event_refusal(bad) is not None
        assert not KIND.takes_all([*good, bad])
        assert not KIND.takes_all([bad, *good])


@given(st.integers(0, 2**32))
def test_filters_and_documents_are_read_as_they_were_written(seed: int) -> None:
    random = Random(seed)
    both = Several(Attributes(), KIND)
    for f in drawn(random, 10):
        plain = json.loads(json.dumps(KIND.plain(f)))
        assert KIND.read(plain) == f
        assert KIND.reshaped(f, plain[3]) == f
        assert both.read(json.loads(json.dumps(both.plain(both.filter(f))))) == both.filter(f)
    text = document(random)
    for event in (text, text.encode(), text.encode("utf-16")):
        plain = json.loads(json.dumps(KIND.plain_event(event)))
        again = KIND.read_event(plain)
        assert KIND.plain_event(again) == plain
        assert KIND.event_size(event) == len(json.dumps(plain, separators=(",", ":")))
        probe = KIND.parse("//a[b] | //p:d")
        assert probe.matches(again) == probe.matches(event)


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        ["/a", [], False],
        ["/a", [1], False, []],
        ["/a", [], 0, []],
        ["/a[b = $_]", [], False, []],
        ["/a[b = $_]", [], False, [1]],
        ["/a[b = $_]", [], False, ["$x"]],
        ["/a[b = $_]", [], False, ["x"]],
        ["/ns0:a", [], False, []],
        ["a", [], False, []],
        ["/a" + "[position() = $_]" * 40, [], False, ["1"] * 40],
    ],
)
def test_what_is_no_pattern_is_refused(plain: object) -> None:
    with pytest.raises(TidegateError):
        KIND.read(plain)


def test_refusals_of_events_and_filters() -> None:
    assert KIND.event_refusal({"a": 1}) == "an event is a document, as text or bytes"
    assert "not well-formed" in str(KIND.event_refusal("<a>"))
    assert KIND.event_refusal(b"<a/>") is None
    assert KIND.filter_refusal(Attributes().parse("a = 1")) is not None
    with pytest.raises(TidegateError, match="structure called boxes"):
        KIND.keeping("boxes", None)
    with pytest.raises(FilterError):
        KIND.reshaped(KIND.parse("/a"), None)
    with pytest.raises(ValueError, match="document"):
        KIND.read_event(5)
    both = Several(Attributes(), KIND)
    assert both.keeping("mbd", None).name == both.name
    assert "attributes: " in str(both.event_refusal(5))
    with pytest.raises(TidegateError, match="different names"):
        Several(KIND, KIND)
    with pytest.raises(ValueError, match="no event"):
        both.read_event(["xml", "<a>"])
    with pytest.raises(FilterError, match="no filter"):
        both.read(["words", "ab"])


def test_a_text_says_that_branches_come_in_order() -> None:
    template = KIND.template("ordered: //a[@k = $x][b][c]")
    for f in (template.bind({"x": 1}), template.around({"x": 1}, [{"x": 2}])):
        assert f.xpath.ordered
        assert KIND.read(json.loads(json.dumps(KIND.plain(f)))) == f
        assert f.matches("<a k='1'><b/><c/></a>")
        assert not f.matches("<a k='1'><c/><b/></a>")
    assert Several(Attributes(), KIND).parse("ordered: /a[b][c]").kind == "xml"


def test_filters_of_two_kinds_have_nothing_to_do_with_each_other() -> None:
    attributes = Attributes()
    both = Several(attributes, KIND)
    one, other = both.filter(attributes.parse("price < 5")), both.filter(KIND.parse("/"))
    assert not one.covers(other)
    assert not other.covers(one)
    assert not one.overlaps(other)
    assert one != other
    assert other.matches("<a/>")
    assert not other.matches({"price": 3})
    assert one.matches({"price": 3})


def test_one_network_carries_both() -> None:
    attributes, patterns = Attributes(), Patterns()
    both = Several(attributes, patterns)
    network = Network(line(3), both, Choice("covering"), costs=FREE)
    ann, bob = network.client("ann", "b0"), network.client("bob", "b2")
    network.run()
    recorder = Recorder(network)
    ann.subscribe(both.filter(attributes.parse("price < 5")))
    ann.subscribe(both.filter(patterns.parse("//quote[price < 5]")))
    network.run()
    for event in ({"price": 4}, {"price": 6}, "<quote><price>4</price></quote>", "<a/>"):
        bob.publish(event)
    network.run()
    delivered = [step.text for step in recorder.steps if step.text.startswith("deliver")]
    assert delivered == [
        "deliver 1: price=4",
        "deliver 3: <quote><price>4</price></quote>",
    ]


MUTANTS = [BreaksBeforeMaking, SendsBack, ReordersUpdates]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_broker_is_caught_with_patterns(mutant: type[Broker]) -> None:
    assert caught(pool("patterns", 3), "covering", advertisements=False, make=mutant)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["patterns", "several"])
def test_a_wrong_policy_is_caught_with_patterns(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_module, "Covering", DoesNotPromote)
    assert caught(pool(kind, 3), "covering", advertisements=False, make=Broker)


def test_an_advertisement_that_is_ignored_is_caught_with_patterns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(broker_module, "Routing", IgnoresAdvertisements)
    assert caught(pool("patterns", 3), "covering", advertisements=True, make=Broker)


def test_a_pattern_that_covers_too_much_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that finds a pattern that covers where there is none."""
    real = XSearch.containing

    def containing(self: XSearch, pattern: Pattern) -> set[int]:
        found = real(self, pattern)
        return found or set(list(self._patterns)[:1])

    monkeypatch.setattr(XSearch, "containing", containing)
    assert caught(pool("patterns", 3), "covering", advertisements=False, make=Broker)


def test_documents_are_shown_in_a_few_words() -> None:
    assert KIND.show_event("<a>\n  <b/></a>") == "<a> <b/></a>"
    assert len(KIND.show_event(b"<a>" + b"x" * 100 + b"</a>")) == 40
