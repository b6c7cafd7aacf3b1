"""How far filters are pruned, when, and on whose word."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.overlay.words import WORDS, WordKind, WordPruner, Words
from tidegate.engine.index import Index
from tidegate.errors import TidegateError
from tidegate.filters.schema import Schema
from tidegate.lab.workloads.auctions import CLASSES, auctions
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Filter
from tidegate.overlay.messages import (
    Change,
    Deliver,
    Effect,
    Entry,
    Hello,
    LinkUp,
    Persist,
    Publish,
    Refuse,
    Report,
    Send,
    Tick,
)
from tidegate.overlay.policy import Choice, Policy
from tidegate.overlay.policy.cutoff import cut_off
from tidegate.overlay.policy.queue import PruningQueue, Rule
from tidegate.overlay.settings import Settings
from tidegate.overlay.work import Work

KIND = WordKind()


def words(text: str) -> Words:
    return Words(frozenset(text))


def said(f: Filter) -> str:
    assert isinstance(f, Words)
    return "".join(sorted(f.words))


def knowing(counts: str) -> WordPruner:
    """A pruner that has seen these words."""
    pruner = WordPruner()
    tell(pruner, counts)
    return pruner


def tell(pruner: WordPruner, counts: str) -> None:
    pruner._counts = {word: counts.count(word) for word in WORDS}
    pruner.learn(pruner.summary())


def queue(pruner: WordPruner, *texts: str, **rule: Any) -> PruningQueue:
    found = PruningQueue(KIND, pruner, Rule(**rule), Work())
    for number, text in enumerate(texts):
        found.add(number, words(text))
    return found


def held(found: PruningQueue) -> list[str]:
    return [said(found.held[number]) for number in sorted(found.held)]


# -- the queue


def test_the_cheapest_prunings_come_first() -> None:
    pruner = knowing("abbcccddddeeeeeffffffggggggghhhhhhhh")
    found = queue(pruner, "cdefgh", "abfgh", share=0.25)
    assert found.prune() == [0]  # a costs less than c
    assert held(found) == ["acdefgh", "abfgh"]
    assert found.prune() == []


def test_with_a_share_of_all_nothing_is_left_to_prune() -> None:
    found = queue(knowing("aabbcc"), "a", "abc", "abcdefg", share=1.0)
    assert sorted(found.prune()) == [0, 1]
    assert [len(text) for text in held(found)] == [7, 7, 7]


def test_nothing_is_pruned_before_anything_is_known() -> None:
    found = queue(WordPruner(), "a", "b", share=1.0)
    assert found.prune() == []
    assert held(found) == ["a", "b"]


def test_what_is_new_is_pruned_as_far_as_the_last_round_went() -> None:
    pruner = knowing("aaaa" + "bbbb" + "c" + "dd" + "e" * 9 + "f" * 9 + "g" * 9 + "h" * 9)
    found = queue(pruner, "ab", share=0.4)
    found.prune()
    assert held(found) == ["abcd"]
    assert said(found.add(5, words("a"))) == "acd"
    assert said(found.update(5, words("e"))) == "cde"
    found.remove(5)
    assert held(found) == ["abcd"]


def test_an_update_begins_with_the_filter_as_it_is() -> None:
    found = queue(knowing("a"), "ab", share=1.0)
    found.prune()
    assert said(found.update(0, words("cd")))[:1] == "b"  # a came once, and is left out
    found.remove(0)
    assert not len(found)


def test_three_ways_to_handle_selectivities_that_have_changed() -> None:
    pruner = knowing("a" + "bb" + "h" * 50)

    def round_of(way: str, tolerance: float = 0.0) -> list[str]:
        tell(pruner, "a" + "bb" + "h" * 50)
        found = queue(
            pruner, "bcdefg", "acdefg", changes=way, tolerance=tolerance, share=0.5
        )  # rated: a costs 1/53, b costs 2/53
        tell(pruner, "a" * 30 + "bb" + "h" * 50)
        found.prune()
        return held(found)

    assert round_of("always") == ["abcdefg", "acdefg"]  # although a costs more than b now
    assert round_of("better") == ["bcdefg", "abcdefg"]
    assert round_of("within", 0.1) == ["bcdefg", "abcdefg"]
    assert round_of("within", 0.9) == ["abcdefg", "acdefg"]


def test_the_cut_off_is_where_the_curve_bends() -> None:
    pruner = knowing("a" * 9 + "b" * 9 + "c" * 9)  # d to h never come
    found = queue(pruner, "a", "a")
    found.prune()
    assert held(found) == ["adefgh", "adefgh"]
    assert found.found == pytest.approx(10 / 12)


def test_a_curve_without_a_bend_is_cut_at_its_beginning() -> None:
    assert cut_off([0, 5, 6, 7]) == 0
    assert cut_off([3, 3]) == 1
    assert cut_off([4]) == 0
    assert cut_off([0, 0, 0, 10]) == 2


def test_less_weight_is_less_pruning_and_takes_back_what_was_too_much() -> None:
    found = queue(knowing("aabbcc"), "ab", share=1.0)
    found.prune()
    assert len(held(found)[0]) == 7
    found.prune(weight=0.4)
    assert len(held(found)[0]) == 4
    found.prune(most=0.2, weight=1.0)
    assert len(held(found)[0]) == 3


# -- the cut-off, on the subscriptions of the paper


COUNT, SEEN = 800, 16_000


def drawn_bend(found: PruningQueue, events: pa.Table, schema: Schema) -> float:
    """The bend that a person would draw.

    Filters are pruned in steps of two hundredths, and the index counts how many of all events
    match. The bend is the point of that curve which is furthest below the line between its ends.
    """
    shares = np.arange(0, 1.01, 0.02)
    matched, before, curve = np.zeros(len(events), np.bool_), dict[int, Filter](), []
    for share in shares:
        found.rule = Rule(float(share))
        found.prune()
        index = Index(schema)
        for number, f in found.held.items():
            if f is not before.get(number):  # it covers what it was before
                index.add(number, str(f))
        before = dict(found.held)
        matched |= index.count_batch(events) > 0
        curve.append(np.count_nonzero(matched))
    line = curve[0] + (curve[-1] - curve[0]) * shares
    return float(shares[np.argmax(line - curve)])


@pytest.mark.slow
@pytest.mark.parametrize("classes", [[1], [2], [3], [*CLASSES]], ids=str)
def test_the_cut_off_is_within_five_points_of_the_bend_that_a_person_would_draw(
    classes: list[int],
) -> None:
    workload = auctions(COUNT, classes=classes)
    kind = Attributes(workload.schema)
    pruner, events = kind.pruner(), workload.events(SEEN)
    for event in events.to_pylist():
        pruner.count(event)
    pruner.learn(pruner.summary())
    found = PruningQueue(kind, pruner, Rule(), Work())
    for number, f in enumerate(workload.filters()):
        found.add(number, AttributeFilter(f))
    found.prune(most=0.0)  # what the rule would do, by the events that are remembered
    share = found.found
    assert share is not None
    assert abs(share - drawn_bend(found, events, workload.schema)) <= 0.05


# -- policies by name


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"prune": "never"}, "prune is one of None, before, after, both"),
        ({"prune": "after", "changes": "rarely"}, "changes is one of always"),
        ({"by": "guess", "name": "merging"}, "by is one of kind, pruning"),
        ({"by": "pruning"}, "covering merges nothing"),
        ({"name": "flood", "prune": "after"}, "nothing to prune"),
        ({"share": 0.5}, "say what to prune"),
        ({"share": 1.5, "prune": "both"}, "a share is from 0 to 1"),
        ({"agreed": True, "prune": "before"}, "say prune='after'"),
        ({"tolerance": 0.1, "prune": "after"}, "a tolerance is one of changes='within'"),
        ({"tolerance": -0.1, "prune": "after", "changes": "within"}, "not negative"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(TidegateError, match=reason):
        Choice(**options)


def test_another_name_keeps_what_it_has() -> None:
    choice = Choice("merging", imt=0.1, by="pruning", prune="both", share=0.5, agreed=True)
    assert choice.named("covering") == Choice("covering", prune="both", share=0.5, agreed=True)
    assert choice.named("flood") == Choice("flood")
    assert choice.named("merging") == choice
    assert Choice("replacement", share=0.5).named("simple") == Choice("simple")


def test_a_kind_that_cannot_prune_is_not_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WordKind, "pruner", lambda _: None)
    broker = Broker("a", WordKind(), Choice("covering", prune="both", period=1))
    assert broker.notes.pruner is None
    assert broker.routing.wanted.pruned is None
    assert broker.handle("", Tick()) == [Persist("", Tick())]


def test_stages_behind_a_merger_that_is_undone_follow() -> None:
    pruner = knowing("aabb" + "gggg" + "hhhh")
    policy = Policy(Choice("merging", prune="before", size=1, share=0.5), KIND, Work(), pruner)
    policy.step([(("x", 1), words("abc")), (("x", 2), words("cde"))], (), ())
    policy.learned(1.0)
    assert all(len(said(f)) > 3 for f in policy.active.values())
    difference = policy.step((), (), [("x", 1)])
    assert difference.remove
    assert any(f.covers(words("cde")) for f in policy.active.values())
    assert policy.step((), (), [("x", 2)]).remove
    assert not policy.active


# -- in brokers


class Told:
    """A broker with a client, ann, and two neighbours, b and c."""

    def __init__(self, choice: Choice, **settings: Any) -> None:
        self.broker = Broker("a", KIND, choice, Settings(**{"learn": 1, **settings}))
        self.seqs = dict.fromkeys(("ann", "b", "c"), 0)
        self.broker.handle("ann", LinkUp(client=True))
        for link in ("b", "c"):
            self.broker.handle(link, LinkUp(client=False))
            self.broker.handle(link, Hello(1, 0, 0))

    def wants(self, link: str, own: int, text: str) -> list[Effect]:
        self.seqs[link] += 1
        return self.broker.handle(link, Change(self.seqs[link], add=(Entry(own, words(text)),)))

    def publish(self, text: str) -> list[Effect]:
        effects: list[Effect] = []
        for word in text:
            self.seqs["events"] = self.seqs.get("events", 0) + 1
            effects += self.broker.handle(
                "b", Publish(self.seqs["events"], {"word": word}, "b/bob")
            )
        return effects

    def tick(self) -> list[Effect]:
        return self.broker.handle("", Tick())


def sent(effects: list[Effect], of: type) -> dict[str, Any]:
    found = {
        effect.link: effect.message
        for effect in effects
        if isinstance(effect, Send) and isinstance(effect.message, of)
    }
    assert len(found) == sum(isinstance(e, Send) and isinstance(e.message, of) for e in effects)
    return found


def test_the_own_table_is_pruned_for_neighbours_and_exact_for_clients() -> None:
    told = Told(Choice("simple", prune="after", share=1.0, period=1))
    told.wants("ann", 1, "ab")
    told.wants("c", 1, "ab")
    told.publish("ah")
    told.tick()
    table = told.broker.routing.wanted
    assert said(table.matched_by(("ann", 1))) == "ab"
    assert len(said(table.matched_by(("c", 1)))) == 7
    assert said(table["c", 1]) == "ab"
    forwarded = told.broker.routing.links["b"].wanted.active.values()
    assert {said(f) for f in forwarded} == {"ab"}  # as they came
    effects = told.publish("d")
    assert not any(isinstance(effect, Deliver) for effect in effects)
    assert [effect.link for effect in effects if isinstance(effect, Send)] == ["c"]


def test_filters_are_pruned_before_they_are_forwarded_and_the_own_table_is_not() -> None:
    told = Told(Choice("simple", prune="before", share=0.5, period=1))
    told.wants("ann", 1, "ab")
    told.publish("ah")
    changes = sent(told.tick(), Change)
    assert {said(entry.filter) for entry in changes["b"].add} == {"abcd"}  # two of five
    assert changes["b"].remove == (1,)
    assert said(told.broker.routing.wanted.matched_by(("ann", 1))) == "ab"


def test_what_is_forwarded_to_a_neighbour_is_pruned_as_that_one_fares() -> None:
    def forwarded(report: Report | None) -> int:
        told = Told(Choice("simple", prune="before", share=1.0, period=1))
        told.wants("ann", 1, "ab")
        told.publish("ah")
        if report is not None:
            told.broker.handle("b", report)
        told.tick()
        [f] = told.broker.routing.links["b"].wanted.active.values()
        [other] = told.broker.routing.links["c"].wanted.active.values()
        assert len(said(other)) == 7
        return len(said(f))

    assert forwarded(None) == 7
    assert forwarded(Report(1, memory=1.0, bandwidth=0.0)) == 7
    assert forwarded(Report(1, memory=0.4)) == 4  # it has memory to spare
    assert forwarded(Report(1, bandwidth=0.8)) == 3  # it has no bandwidth to spare
    assert forwarded(Report(1, memory=0.0)) == 2


def test_neighbours_are_told_how_a_broker_fares_once_a_tick_and_if_it_is_news() -> None:
    told = Told(Choice("simple", prune="before", share=0.5, period=1), memory=10, bandwidth=4)
    assert sent(told.tick(), Report) == dict.fromkeys("bc", Report(1, 0.0, 0.0))
    assert sent(told.tick(), Report) == {}
    told.wants("ann", 1, "abc")
    told.publish("ha")
    assert sent(told.tick(), Report) == {"b": Report(2, 0.3, 0.5), "c": Report(2, 0.3, 0.0)}
    told.broker.handle("b", LinkUp(client=False))
    told.broker.handle("b", Hello(1, 0, 0))
    assert sent(told.tick(), Report)["b"].number == 1  # since the link came up


def test_of_the_reports_of_a_tick_the_newest_counts_and_clients_have_no_say() -> None:
    told = Told(Choice("simple", prune="before", share=1.0, period=1))
    told.broker.handle("b", Report(1, memory=0.1))
    told.broker.handle("b", Report(3, memory=0.3))
    told.broker.handle("b", Report(2, memory=0.2))
    assert told.broker.tally.repeated == 1
    link = told.broker.routing.links["b"]
    assert link.weight == 1.0
    [persisted] = [effect for effect in told.tick() if isinstance(effect, Persist)]
    assert persisted.input == Tick([None, {"b": [3, 0.3, None, None]}])
    assert (link.report, link.weight) == (Report(3, memory=0.3), 0.3)
    [refusal] = told.broker.handle("ann", Report(1, memory=0.1))
    assert isinstance(refusal, Send)
    assert isinstance(refusal.message, Refuse)


@pytest.mark.parametrize(
    "report",
    [
        Report(-1),
        Report(1, memory=1.5),
        Report(1, bandwidth=-0.1),
        Report(1, share=float("nan")),
        Report(1, memory=True),
        Report(1, memory="much"),  # type: ignore[arg-type]
        Report(None, memory=0.5),  # type: ignore[arg-type]
    ],
    ids=str,
)
def test_a_report_of_nonsense_is_refused_and_changes_nothing(report: Report) -> None:
    told = Told(Choice("simple", prune="before", share=1.0, period=1))
    [refusal] = told.broker.handle("b", report)
    assert isinstance(refusal, Send)
    assert isinstance(refusal.message, Refuse)
    assert told.tick() == [Persist("", Tick())]


def test_the_own_table_is_pruned_as_far_as_all_neighbours_agree() -> None:
    told = Told(Choice("simple", prune="after", share=1.0, agreed=True, period=1))
    told.wants("c", 1, "ab")

    def size(**shares: float | None) -> int:
        told.seqs["report"] = told.seqs.get("report", 0) + 1
        for link, share in shares.items():
            told.broker.handle(link, Report(told.seqs["report"], share=share))
        told.publish("ah")
        told.tick()
        return len(said(told.broker.routing.wanted.matched_by(("c", 1))))

    assert size() == 2  # nobody has said anything
    assert size(b=1.0) == 2
    assert size(c=0.6) == 5
    assert size(c=1.0) == 7
    assert size(b=0.2) == 3
    assert sent(told.tick(), Report) == {}


def test_what_a_broker_goes_by_is_written_down_with_the_tick() -> None:
    choice = Choice("simple", prune="both", share=0.5, period=1)
    told, again = Told(choice), Told(choice)
    journal: list[Effect] = []
    for link, text in (("ann", "ab"), ("c", "cd")):
        journal += told.wants(link, 1, text)
    told.publish("aahhh")
    journal += told.tick()
    written = [effect for effect in journal if isinstance(effect, Persist)]
    assert any(isinstance(x.input, Tick) and x.input.noted is not None for x in written)
    for effect in written:
        again.broker.handle(effect.link, effect.input)

    def apart(broker: Broker) -> Any:
        return {
            key: part
            for key, part in broker.snapshot().items()
            if key not in ("seen", "work", "tally", "noticed")
        }

    assert apart(again.broker) == apart(told.broker)


def test_nothing_is_noted_before_enough_events_came() -> None:
    told = Told(Choice("simple", prune="after", share=1.0, period=2), learn=3)
    told.publish("ab")
    assert [told.tick()[0] for _ in range(4)] == [Persist("", Tick())] * 4
    told.publish("c")
    [noted] = told.tick()
    assert isinstance(noted, Persist)
    assert noted.input != Tick()


def test_pruning_is_looked_at_again_when_entries_came_but_not_at_every_tick() -> None:
    told = Told(Choice("simple", prune="after", share=0.5, period=3))
    told.publish("ab")
    for _ in range(3):
        told.tick()
    told.wants("c", 1, "ab")
    sizes = []
    for _ in range(3):
        told.tick()
        sizes.append(len(said(told.broker.routing.wanted.matched_by(("c", 1)))))
    assert sizes == [2, 2, 4]
