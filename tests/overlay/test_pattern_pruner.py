"""What is left of patterns covers them, and costs what the documents say; so too among kinds."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.documents.generate import NAMESPACES, Writer, document
from tests.overlay.histories import patterns, trade_document, words
from tests.overlay.stepwise import Pruning, StepwiseCourses
from tidegate.documents.prune import MOST_PARTS, parts
from tidegate.overlay import pattern_courses, pattern_pruner
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.filter import Event, Filter, Kind, Pruner
from tidegate.overlay.pattern_filter import PatternFilter
from tidegate.overlay.pattern_pruner import PatternPruner
from tidegate.overlay.patterns import Patterns
from tidegate.overlay.policy.queue import PruningQueue, Rule
from tidegate.overlay.policy.round import Round
from tidegate.overlay.several import KindFilter, Several
from tidegate.overlay.several_pruner import SeveralPruner
from tidegate.overlay.work import Work

KIND = Patterns(NAMESPACES)


def learned(kind: Kind, events: Sequence[Event]) -> Any:
    pruner = kind.pruner()
    assert pruner is not None
    for event in events:
        pruner.count(event)
    pruner.learn(json.loads(json.dumps(pruner.summary())))
    return pruner


def drawn(random: Random, count: int) -> list[PatternFilter]:
    return [
        KIND.parse(Writer(random).expression(), ordered=random.random() < 0.1) for _ in range(count)
    ]


def matching(f: Filter, events: Sequence[Event]) -> int:
    return sum(1 << place for place, event in enumerate(events) if f.matches(event))


class Plainly:
    """The best pruning of a pattern as the pruner says it, counted by trying documents."""

    def __init__(self, pruner: PatternPruner, documents: Sequence[str]) -> None:
        self._pruner = pruner
        self._documents = documents
        self.sample = len(documents)

    def best(self, f: Filter, /) -> Pruning | None:
        courses = self._pruner.courses([f])
        if not courses.lengths[0]:
            return None
        pruned = courses.pruned(0, 1)
        more = self.met(pruned) & ~self.met(f)
        return Pruning(pruned, more.bit_count() / len(self._documents))

    def met(self, f: Filter, /) -> int:
        return matching(f, self._documents)


@pytest.mark.parametrize("seed", range(6))
def test_a_course_is_one_pruning_after_the_other(seed: int) -> None:
    random = Random(seed)
    documents = [document(random) for _ in range(12)]
    pruner = learned(KIND, documents)
    filters = drawn(random, 5)
    ours, plain = pruner.courses(filters), StepwiseCourses(Plainly(pruner, documents), filters)
    assert ours.sample == plain.sample
    assert ours.lengths.tolist() == plain.lengths.tolist()
    assert ours.degradations.tolist() == plain.degradations.tolist()
    order = np.repeat(np.arange(5), ours.lengths)
    np.random.default_rng(seed).shuffle(order)
    assert ours.matched(order) == plain.matched(order)
    for place, length in enumerate(ours.lengths.tolist()):
        for steps in range(length + 1):
            assert ours.pruned(place, steps) == plain.pruned(place, steps)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_pruned_replaced_or_merged_covers_what_it_stands_for(seed: int) -> None:
    random = Random(seed)
    pool = patterns(seed)
    filters = dict(enumerate(random.sample([f for own in pool.families for f in own], 30)))
    unseen = [trade_document(random) for _ in range(40)]
    pruner = learned(pool.kind, pool.events)
    courses = pruner.courses(list(filters.values()))
    for number, f in filters.items():
        before = matching(f, unseen)
        for steps in range(1, int(courses.lengths[number]) + 1):
            after = matching(courses.pruned(number, steps), unseen)
            assert not before & ~after
            before = after
    changed = pruner.replaced(filters, 1.0)
    assert changed
    for number, f in changed.items():
        assert not matching(filters[number], unseen) & ~matching(f, unseen)
    mergers = pruner.mergers(filters, 0.3, None)
    assert mergers
    for merger in mergers:
        members = [filters[number] for number in merger.members]
        assert merger.imt == pruner.cost(merger.filter, members, None) <= 0.3
        assert merger.filter.size <= max(f.size for f in members)
        for f in members:
            assert not matching(f, unseen) & ~matching(merger.filter, unseen)


def test_a_condition_is_replaced_everywhere_by_one_that_is_there() -> None:
    documents = [f"<q><x>{x}</x><y>{x}</y></q>" for x in range(10)]
    pruner = learned(KIND, documents)
    texts = ["//q[x < 3][y = 1]", "//q[x < 3][y = 2]", "//q[x < 4][y = 3]", "//q[x < 9]"]
    filters: dict[int, Filter] = dict(enumerate(map(KIND.parse, texts)))
    half = {n: str(f) for n, f in pruner.replaced(filters, 0.5).items()}
    assert half == {0: "//q[x < 4][y = 1]", 1: "//q[x < 4][y = 2]"}
    every = {n: str(f) for n, f in pruner.replaced(filters, 1.0).items()}
    assert every == {n: f"//q[x < 9][y = {n + 1}]" for n in range(3)}
    there = dict(enumerate(map(KIND.parse, ["//q[x < 3]", "//q[x]", "//r[x < 9]"])))
    assert {n: str(f) for n, f in pruner.replaced(there, 1.0).items()} == {0: "//q[x]"}


def test_a_replacement_that_might_match_everything_is_not_made() -> None:
    pruner = learned(KIND, ["<a>a</a>", "<a>c</a>", "<a/>"])
    texts = ["/*[. = 'a' or . != 'b']", "/a[. != 'c']", "/*[. != 'c'][d]"]
    filters: dict[int, Filter] = dict(enumerate(map(KIND.parse, texts)))
    assert 0 not in pruner.replaced(filters, 1.0)


def test_filters_are_merged_by_what_is_left_of_them_together() -> None:
    documents = [f"<q><x>{x % 5}</x><y>{x % 3}</y></q>" for x in range(60)]
    pruner = learned(KIND, documents)
    texts = ["/q[x = 1][y = 2]", "/q[x = 1][y = 1]", "/r/s"]
    filters: dict[int, Filter] = dict(enumerate(map(KIND.parse, texts)))
    [merger] = pruner.mergers(filters, 0.1, None)
    assert (str(merger.filter), merger.members) == ("/q[x = 1]", (0, 1))
    assert merger.imt == 4 / 60
    assert not pruner.mergers(filters, 0.01, None)


def test_what_is_counted_changes_nothing_until_it_is_learned() -> None:
    pruner = KIND.pruner()
    f = KIND.parse("/a[b = 1][c = 1]")

    def first() -> str | None:
        courses = pruner.courses([f])
        return str(courses.pruned(0, 1)) if courses.lengths[0] else None

    assert not pruner.knows
    assert first() is None
    assert pruner.mergers({1: f, 2: f}, 1.0, None) == []
    assert pruner.replaced({1: f}, 1.0) == {}
    assert pruner.cost(f, [f], None) == float("inf")
    for _ in range(3):
        pruner.count("<a><b>1</b><c>2</c></a>")
    pruner.learn(pruner.summary())
    assert first() == "/a[c = 1]"
    for _ in range(9):
        pruner.count("<a><b>2</b><c>1</c></a>")
    assert (first(), pruner.counted) == ("/a[c = 1]", 9)
    pruner.learn(pruner.summary())
    assert first() == "/a[b = 1]"


def test_what_is_kept_of_documents_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_pruner, "SAMPLE", 5)
    monkeypatch.setattr(pattern_pruner, "ROOM", 200)
    monkeypatch.setattr(pattern_pruner, "_LARGEST", 100)
    pruner = KIND.pruner()
    for number in range(9):
        pruner.count(f"<a{number}/>")
    assert pruner.summary() == [f"<a{number}/>" for number in range(4, 9)]
    pruner.count("<b>" + "x" * 100 + "</b>")
    assert len(pruner.summary()) == 5  # it is too large to be kept
    for number in range(9):
        pruner.count(f"<c>{'y' * 50}{number}</c>")
        assert sum(len(json.dumps(each)) for each in pruner.summary()) <= 200
    assert len(pruner.summary()) == 3
    assert pruner.counted == 19
    again = KIND.pruner()
    again.restore(json.loads(json.dumps(pruner.state())))
    assert again.state() == pruner.state()
    again.count("<c/>")
    assert len(again.summary()) == 4


def test_documents_are_kept_in_their_encodings() -> None:
    f = KIND.parse("/a[. = 'é']")
    documents = ["<a>é</a>", "<a>é</a>".encode("utf-16"), "<a>é</a>".encode(), b"<a/>"]
    pruner = learned(KIND, documents)
    assert pruner.courses([f]).matched(np.empty(0, np.int64)) == [3]


def test_a_pruner_that_lost_its_counts_goes_on_from_what_it_learned() -> None:
    pruner = learned(KIND, [f"<a><b>{n % 4}</b></a>" for n in range(40)])
    again = KIND.pruner()
    again.learn(pruner.learned)
    assert again.summary() == pruner.summary()
    assert again.counted == 0
    other = KIND.pruner()
    other.learn(pruner.learned)
    other.restore(pruner.state())
    assert other.state() == pruner.state()


def test_of_many_documents_every_second_one_says_what_to_leave_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pattern_courses, "_WORTH_PARTING", 6)
    f = KIND.parse("/a[b]")
    documents = ["<a><b/></a>", "<a/>"] * 3
    few, many = learned(KIND, documents[:5]).courses([f]), learned(KIND, documents).courses([f])
    assert (few.sample, many.sample) == (5, 3)
    assert few.matched(np.empty(0, np.int64)) == [3]
    assert many.matched(np.empty(0, np.int64)) == [0]  # none of those that are counted
    assert sum(many.degradations) == 0.0  # all that were asked match


def test_a_filter_with_too_many_parts_is_left_as_it_is() -> None:
    pruner = learned(KIND, ["<a/>"])
    large = KIND.parse("/a" + "[b/c]" * (MOST_PARTS // 2 + 1))
    assert parts(large.xpath) > MOST_PARTS
    assert pruner.courses([large]).lengths.tolist() == [0]
    assert pruner.courses([KIND.parse("/a" + "[b/c]" * 20)]).lengths[0] > 0
    assert pruner.mergers({1: large, 2: large}, 1.0, None) == []


def test_what_was_remembered_and_forgotten_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = patterns(2)
    filters = [f for own in pool.families for f in own]
    before = learned(pool.kind, pool.events).courses(filters)
    monkeypatch.setattr(pattern_courses, "_REMEMBERED", 3)
    after = learned(pool.kind, pool.events).courses(filters)
    assert before.lengths.tolist() == after.lengths.tolist()
    assert before.degradations.tolist() == after.degradations.tolist()


# -- several kinds


def both() -> tuple[Several, list[Filter], list[Event]]:
    """Attributes and patterns, a quarter of the events documents."""
    attributes = Attributes()
    kind = Several(attributes, Patterns())
    texts = ["x < 3 AND y = 1", "x < 5", "y = 1 AND x = 2"]
    patterns = ["/a[b < 2][c]", "/a[b = 1]", "/a[b = 2]"]
    events: list[Event] = [{"x": n % 7, "y": n % 3} for n in range(30)]
    events += [f"<a><b>{n % 4}</b>{'<c/>' * (n % 2)}</a>" for n in range(10)]
    return kind, [kind.parse(text) for text in (*texts, *patterns)], events


def test_each_kind_prunes_its_own_by_its_own_events() -> None:
    kind, filters, events = both()
    pruner = learned(kind, events)
    assert isinstance(pruner, SeveralPruner)
    courses = pruner.courses(filters)
    costs = Round(pruner, filters)
    for place, f in enumerate(filters):
        assert isinstance(f, KindFilter)
        own = [event for event in events if kind.kind_of(event) == f.kind]
        alone = learned(kind.kinds[f.kind], own).courses([f.filter])
        assert courses.lengths[place] == alone.lengths[0]
        share = len(own) / len(events)
        assert costs.costs(place) == (alone.degradations * share).tolist()
        for steps in range(int(alone.lengths[0]) + 1):
            pruned = courses.pruned(place, steps)
            assert pruned == KindFilter(f.kind, alone.pruned(0, steps), kind)


def test_matches_of_kinds_are_added_up_by_their_shares() -> None:
    """However small the sample of a kind is."""
    kind, filters, events = both()
    pruner = learned(kind, events)
    order = np.repeat(np.arange(6), pruner.courses(filters).lengths)
    np.random.default_rng(1).shuffle(order)
    courses, steps = pruner.courses(filters), [0] * 6
    assert courses.sample == 40
    found = 0
    for f in filters:
        found |= matching(f, events)
    plain = [found.bit_count()]
    for place in order.tolist():
        steps[place] += 1
        found |= matching(courses.pruned(place, steps[place]), events)
        plain.append(found.bit_count())
    assert courses.matched(order) == plain


def test_a_kind_that_was_not_seen_is_not_pruned() -> None:
    kind, filters, events = both()
    pruner = learned(kind, events[:30])
    assert (pruner.courses(filters).lengths > 0).tolist() == [True, False, True, *[False] * 3]
    assert pruner.cost(filters[4], [filters[5]], None) == float("inf")
    assert pruner.courses([]).degradations.tolist() == []
    assert all(place < 3 for place in pruner.replaced(dict(enumerate(filters)), 1.0))
    assert pruner.courses(filters[3:]).matched(np.empty(0, np.int64)) == [0]
    nothing = kind.pruner()
    assert nothing is not None
    assert nothing.courses(filters).lengths.tolist() == [0] * 6


def test_each_kind_replaces_and_merges_its_own() -> None:
    kind, filters, events = both()
    pruner, numbered = learned(kind, events), dict(enumerate(filters))
    changed = pruner.replaced(numbered, 1.0)
    assert {n: str(f) for n, f in changed.items()} == {
        0: "attributes: x < 5 AND y = 1",
        2: "attributes: y = 1 AND x < 5",
        4: "xml: /a[b < 2]",
    }
    mergers = pruner.mergers(numbered, 0.2, filters)
    found = {str(each.filter): (each.members, each.imt) for each in mergers}
    assert found == {"xml: /a": ((3, 4, 5), 5 / 40)}
    for each in mergers:
        members = [filters[number] for number in each.members]
        assert each.imt == pruner.cost(each.filter, members, None) <= 0.2


def test_a_pruner_of_several_kinds_is_restored_and_begins_again() -> None:
    kind, _, events = both()
    pruner = learned(kind, events)
    pruner.count({"x": 1})
    pruner.count("<a/>")
    assert pruner.counted == 2
    again = kind.pruner()
    assert again is not None
    again.learn(pruner.learned)
    again.restore(json.loads(json.dumps(pruner.state())))
    assert again.state() == pruner.state()
    assert again.summary() == pruner.summary()
    lost = kind.pruner()
    assert lost is not None
    lost.learn(pruner.learned)
    assert lost.summary() == pruner.learned


def test_kinds_that_cannot_be_pruned_take_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    one = words(2)
    kind = Several(one.kind, Patterns())
    monkeypatch.setattr(type(one.kind), "pruner", lambda _: None)
    filters = [kind.filter(one.families[0][0]), kind.parse("/a[b]")]
    pruner = learned(kind, [{"word": "a"}, "<a/>"])
    courses = pruner.courses(filters)
    assert courses.lengths.tolist()[0] == 0
    assert courses.lengths.tolist()[1] > 0
    assert courses.degradations.max() == 0.5  # of all events
    assert Several(one.kind).pruner() is None


@pytest.mark.parametrize("kind", ["patterns", "several"])
def test_rounds_of_a_queue_prune_patterns_as_they_prune_others(kind: str) -> None:
    """To the cut-off, to a share, and back, and as another one that was restored."""
    pool = patterns(4)
    own: Kind = pool.kind
    filters = [f for family in pool.families for f in family[:2]]
    events = list(pool.events)
    if kind == "several":
        own = several = Several(Attributes(), pool.kind)
        filters = [several.filter(f) for f in filters]
    pruner: Pruner = learned(own, events)
    queue = PruningQueue(own, pruner, Rule(share=0.5), Work())
    for number, f in enumerate(filters):
        queue.add(number, f)
    assert queue.prune()
    for number, f in enumerate(filters):
        assert queue.held[number].covers(f)
    again = PruningQueue(own, pruner, Rule(share=0.5), Work())
    again.restore(dict(enumerate(filters)), json.loads(json.dumps(queue.state())))
    assert (again.held, again.state()) == (queue.held, queue.state())
    for each in (queue, again):
        each.rule = Rule()
        each.prune(most=0.3)
    assert again.state() == queue.state()
    assert queue.found is not None
