"""Relations between filters against the enumeration of all events of small worlds."""

import os
import random
from collections import Counter, defaultdict
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.algebra.enumeration import NAMES, Condition, asked, both, either, negation
from tests.algebra.relation_checks import (
    Known,
    exact,
    exact_family,
    exact_union,
    known,
    sound,
    sound_family,
    sound_union,
    union,
)
from tests.algebra.worlds import (
    LIMITED,
    QUESTIONS,
    Setting,
    conjunction,
    family,
    fractions,
    hidden_contradictions,
    many_boxes,
    many_products,
    numbered,
    partition,
    plain,
    prefixes_as_ranges,
    texts,
    typed,
)
from tidegate import Attribute, Filter, ParameterError, Schema, SchemaError, parse
from tidegate.algebra.normal import MAX_BOXES, boxes
from tidegate.algebra.relate import Relation, covers, overlaps, relate, subsumed
from tidegate.algebra.subtract import DEFAULT_BUDGET, Budget

TIMES = 20 if os.environ.get("TIDEGATE_LONG") == "1" else 1
PLAIN_PLACES = {"plain": plain, "fractions": fractions}
TYPED_PLACES = [
    pytest.param(name, checked, limited, id=f"{name}-{told}")
    for name in LIMITED
    for checked, limited, told in (
        (False, True, "unchecked"),
        (True, False, "checked"),
        (True, True, "checked with domains"),
    )
]
MIRRORED = {Relation.COVERS: Relation.COVERED, Relation.COVERED: Relation.COVERS}


@pytest.mark.parametrize(
    ("f", "relation", "g"),
    [
        ("x < 10", Relation.COVERS, "x BETWEEN 1 AND 9"),
        ("x < 10 AND y = 'a'", Relation.COVERED, "x < 10"),
        ("x < 10", Relation.OVERLAPS, "x > 5"),
        ("x < 10", Relation.DISJOINT, "x >= 10"),
        ("x < 10", Relation.OVERLAPS, "y < 10"),
        ("x IN (1, 2)", Relation.EQUAL, "x = 2 OR x = 1"),
        ("x IN (1, 2, NULL)", Relation.EQUAL, "x IN (1, 2)"),
        ("x NOT IN (1, NULL)", Relation.EQUAL, "FALSE"),
        ("x = 1 OR x != 1", Relation.COVERED, "x IS NOT NULL"),
        ("x = 1 OR x != 1", Relation.DISJOINT, "x = 'one'"),
        ("x > 1", Relation.COVERS, "x > 1 AND x < 2"),
        ("x < 9007199254740993", Relation.COVERS, "x < 9007199254740992"),
        ("x = 9007199254740992D", Relation.COVERS, "x IN (9007199254740993, 9007199254740992)"),
        ("startswith(x, 'ab')", Relation.EQUAL, "x >= 'ab' AND x < 'ac'"),
        ("x LIKE 'a%'", Relation.COVERS, "startswith(x, 'ab')"),
        ("(x < 1) IS NOT TRUE", Relation.EQUAL, "x >= 1 OR x IS NULL"),
        ("NOT (x < 1 AND y < 1)", Relation.COVERS, "x >= 1"),
        ("x <=> NULL", Relation.EQUAL, "x IS NULL"),
        ("TRUE", Relation.COVERS, "x IS NULL OR x < 0 OR x >= 0"),
        ("TRUE", Relation.EQUAL, "x IS NULL OR x IS NOT NULL"),
        ("FALSE", Relation.COVERED, "x = 1"),
        ("contains(x, 'a')", Relation.COVERED, "TRUE"),
        ("endswith(x, 'a')", Relation.DISJOINT, "endswith(x, 'b')"),
        ("endswith(x, 'a')", Relation.DISJOINT, "x = 'ab'"),
        ("endswith(x, 'a')", Relation.UNKNOWN, "contains(x, 'b')"),
    ],
)
def test_two_filters_relate_as_a_person_would_say(f: str, relation: Relation, g: str) -> None:
    assert relate(parse(f), parse(g)) is relation
    assert relate(parse(g), parse(f)) is MIRRORED.get(relation, relation)


def test_a_text_condition_covers_the_strings_that_meet_it() -> None:
    assert covers(parse("contains(x, 'nan')"), parse("x = 'banana'"))
    assert covers(parse("contains(x, 'nan')"), parse("x IN ('banana', 'nan') AND y > 1"))
    assert not covers(parse("contains(x, 'nan')"), parse("x IN ('banana', 'ban')"))


def test_domains_and_nullability_count_only_if_events_are_checked() -> None:
    def related(attribute: Attribute, *, checked: bool) -> Relation:
        schema = Schema({"x": attribute}, checked=checked)
        return relate(parse("x < 2 OR x >= 2", schema), parse("TRUE", schema))

    sure = Attribute("int", low=0, high=3, nullable=False)
    assert related(sure, checked=True) is Relation.EQUAL
    assert related(sure, checked=False) is Relation.COVERED
    assert related(Attribute("int", low=0, high=3), checked=True) is Relation.COVERED


def test_a_domain_of_separate_values_has_gaps() -> None:
    own = Attribute("bigint", values=(1, 3, 5), nullable=False)
    schema = Schema({"x": own, "y": "bigint"}, checked=True)
    f, g = parse("x >= 3 OR y = 1", schema), parse("x <= 3", schema)
    assert relate(f, g) is Relation.OVERLAPS
    assert not subsumed(f, [g])
    assert covers(parse("x IN (1, 5) OR x = 3 AND y = 1", schema), parse("x = 5", schema))


def test_a_text_condition_that_all_of_the_domain_meets_is_not_said_to_be_narrower() -> None:
    own = Attribute("string", low="a", high="az", nullable=False)
    schema = Schema({"x": own}, checked=True)
    everything = parse("TRUE", schema)
    assert relate(parse("contains(x, 'a')", schema), everything) is Relation.UNKNOWN
    assert relate(parse("x < 'b'", schema), everything) is Relation.EQUAL


@pytest.mark.parametrize("name", PLAIN_PLACES)
def test_the_grid_says_what_matches_says(name: str) -> None:
    _compare_with_matches(PLAIN_PLACES[name]())


@pytest.mark.parametrize(("name", "checked", "limited"), TYPED_PLACES)
def test_the_typed_grid_says_what_matches_says(name: str, checked: bool, limited: bool) -> None:
    _compare_with_matches(typed(name, checked=checked, limited=limited))


def _compare_with_matches(place: Setting) -> None:
    rng = random.Random(2)
    seen: Counter[bool] = Counter()
    for condition in family(rng, place, 60):
        f = place.world.filter(condition)
        for _ in range(20):
            at = [rng.randrange(length) for length in place.world.shape]
            event = place.world.event(at)
            expected = place.world.passes(condition, at)
            assert f.matches(event) is expected, f"{f} on {event}"
            seen[expected] += 1
    assert min(seen[True], seen[False]) > 100


@pytest.mark.slow
@pytest.mark.parametrize(("name", "families"), [("plain", 130), ("fractions", 60)])
def test_relations_are_exact_without_a_schema(name: str, families: int) -> None:
    answers = _exact_families(PLAIN_PLACES[name](), families * TIMES)
    assert answers["filters"] >= 800 * TIMES
    for relation in ("equal", "covers", "covered", "overlaps", "disjoint"):
        assert answers[relation] > answers["filters"] / 2
    assert answers["subsumed by the union"] > families / 10


@pytest.mark.parametrize(("name", "checked", "limited"), TYPED_PLACES)
def test_relations_are_exact_with_a_schema(name: str, checked: bool, limited: bool) -> None:
    answers = _exact_families(typed(name, checked=checked, limited=limited), 20 * TIMES)
    for relation in ("equal", "covers", "covered", "overlaps", "disjoint"):
        assert answers[relation] > answers["filters"] / 5


def _exact_families(place: Setting, families: int) -> Counter[str]:
    rng = random.Random(3)
    answers: Counter[str] = Counter()
    for _ in range(families):
        answers += exact_family(place, family(rng, place, 14), rng)
    return answers


@pytest.mark.parametrize("attribute", NAMES)
def test_any_two_predicates_of_an_attribute_relate_exactly(attribute: str) -> None:
    place = plain()
    leaves = [leaf for kind in place.kinds[attribute] for leaf in kind]
    members = known(place, random.Random(1).sample(leaves, len(leaves) if TIMES > 1 else 60))
    said = Counter(exact(f, g) for f in members for g in members)
    assert min(said[relation] for relation in Relation if relation is not Relation.UNKNOWN) > 100


def test_a_prefix_is_a_range() -> None:
    for prefix, span in prefixes_as_ranges():
        assert exact(*known(plain(), [prefix, span])) is Relation.EQUAL


@pytest.mark.parametrize("name", ["plain", "integers", "words", "moments"])
def test_what_is_cut_into_parts_is_subsumed_by_all_of_them(name: str) -> None:
    place = plain() if name == "plain" else typed(name, checked=True, limited=True)
    rng = random.Random(4)
    answers: Counter[bool] = Counter()
    for _ in range(150 * TIMES):
        whole = family(rng, place, 6)[-1]
        parts = partition(rng, place, whole)
        g, *rest = known(place, [whole, *parts])
        answers[exact_union(g, rest)] += 1
        rest.pop(rng.randrange(len(rest)))
        answers[exact_union(g, rest)] += 1
    assert min(answers.values()) > 20


def test_nothing_is_subsumed_by_no_filter_but_the_empty_one() -> None:
    assert not subsumed(parse("x = 1"), [])
    assert subsumed(parse("x < 1 AND x > 1"), [])


@pytest.mark.parametrize("checked", [False, True])
def test_conditions_on_text_are_never_related_wrongly(checked: bool) -> None:
    place = texts(checked=checked)
    rng = random.Random(5)
    answers: Counter[str] = Counter()
    for _ in range(30 * TIMES):
        answers += sound_family(place, family(rng, place, 12), rng)
    for answer in ("equal", "covers", "overlaps", "disjoint", "unknown", "subsumed"):
        assert answers[answer] > 50 * TIMES, answers


def test_a_contradiction_that_does_not_show_leaves_its_relations_open() -> None:
    place = texts()
    others = known(place, family(random.Random(1), place, 30))
    for empty in known(place, hidden_contradictions()):
        assert empty.events == 0
        said = Counter(sound(empty, other) for other in others)
        assert said[Relation.OVERLAPS] == 0
        assert said[Relation.UNKNOWN] > 0


def _vast() -> list[Condition]:
    """Filters beyond the bound of the normal form, near it, and small ones to relate them with."""
    place = numbered()
    rng = random.Random(6)
    vast = [many_boxes(rng, place, 300) for _ in range(2)]
    vast += [many_products(rng, place, count) for count in (9, 12)]
    small = [*family(rng, place, 4), many_boxes(rng, place, 12)]
    return [*vast, *small, both(vast[0], small[0]), either(vast[1], small[1]), negation(vast[0])]


@pytest.mark.slow
def test_filters_beyond_the_normal_form_are_never_related_wrongly() -> None:
    members = known(numbered(), _vast())
    beyond = [member for member in members if boxes(member.filter) is None]
    assert len(beyond) >= 6
    said = Counter(sound(f, g) for f in members for g in members)
    assert said[Relation.UNKNOWN] > 0
    for member in beyond:
        twin = Known(parse(str(member.filter), member.filter.schema), member.events)
        assert sound(member, twin) is Relation.EQUAL
        assert sound_union(member, [*members[4:6], twin])
        assert not covers(member.filter, members[-4].filter)
        assert overlaps(member.filter, members[-4].filter)
    for g in members:
        sound_union(g, members[:3])


def test_the_normal_form_ends_at_its_bound() -> None:
    def separate(count: int) -> Filter:
        return parse(" OR ".join(f"(x = {i} AND y = {i})" for i in range(count)))

    at_bound, beyond = separate(MAX_BOXES), separate(MAX_BOXES + 1)
    found = boxes(at_bound)
    assert found is not None
    assert len(found) == MAX_BOXES
    assert boxes(beyond) is None
    assert covers(at_bound, parse("x = 7 AND y = 7"))
    assert not covers(beyond, parse("x = 7 AND y = 7"))
    assert relate(beyond, at_bound) is Relation.UNKNOWN
    assert overlaps(beyond, parse("x = 1000"))
    assert not overlaps(beyond, parse("FALSE"))


@pytest.mark.parametrize("pieces", [0, 1, 3])
def test_a_used_up_budget_is_counted_and_never_gives_a_wrong_yes(pieces: int) -> None:
    place = plain()
    rng = random.Random(7)
    exhausted = 0
    for _ in range(100 * TIMES):
        members = known(place, family(rng, place, 12))
        g, *others = rng.sample(members, rng.randint(2, 6))
        budget = Budget(pieces)
        truth = not g.events & ~union(others)
        said = sound_union(g, others, budget)
        assert said is truth or budget.exhausted == 1
        exhausted += budget.exhausted
    assert exhausted > 0


@pytest.mark.parametrize("pieces", [0, 1])
def test_two_filters_are_never_related_wrongly_for_want_of_budget(
    pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DEFAULT_BUDGET, "pieces", pieces)
    monkeypatch.setattr(DEFAULT_BUDGET, "exhausted", 0)
    place = plain()
    rng = random.Random(8)
    said: Counter[Relation] = Counter()
    for _ in range(8 * TIMES):
        members = known(place, family(rng, place, 12))
        said.update(sound(f, g) for f in members for g in members)
    assert said[Relation.UNKNOWN] > 0
    assert said[Relation.EQUAL] > 0
    assert DEFAULT_BUDGET.exhausted >= said[Relation.UNKNOWN]


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(plain, id="plain"),
        pytest.param(fractions, id="fractions"),
        *(
            pytest.param(
                lambda name=name, checked=checked: typed(name, checked=checked, limited=True),
                id=f"{name}-{'checked' if checked else 'unchecked'}",
            )
            for name in LIMITED
            for checked in (False, True)
        ),
    ],
)
def test_conjunctions_that_mean_the_same_have_one_canonical_form(
    place: Callable[[], Setting],
) -> None:
    where = place()
    rng = random.Random(9)
    together = 0
    for _ in range(12 * TIMES):
        focus = {name: rng.randrange(len(where.kinds[name])) for name in NAMES}
        meanings: defaultdict[int, list[Filter]] = defaultdict(list)
        forms: dict[Filter, int] = {}
        for _ in range(60):
            condition = conjunction(rng, where, focus)
            f, events = where.world.filter(condition), where.world.passing(condition)
            meanings[events].append(f)
            assert forms.setdefault(f, events) == events, f"{f} equals what means something else"
        for first, *rest in meanings.values():
            for other in rest:
                assert first == other, f"{first}   |   {other}"
                assert hash(first) == hash(other)
                together += str(first) != str(other)
    assert together > 100


def test_filters_read_under_different_schemas_are_not_related() -> None:
    one, other = Schema({"x": "bigint"}), Schema({"x": "double"})
    checked = Schema({"x": "bigint"}, checked=True)
    f = parse("x = 1", one)
    assert relate(f, parse("x = 1", Schema({"x": "bigint"}))) is Relation.EQUAL
    for schema in (other, checked, None):
        g = parse("x = 1", schema)
        for ask in (covers, overlaps, relate):
            with pytest.raises(SchemaError):
                ask(f, g)
        with pytest.raises(SchemaError):
            subsumed(g, [g, f])


def test_filters_with_unbound_parameters_are_not_related() -> None:
    f, g = parse("x = :value"), parse("x = 1")
    for ask in (covers, overlaps, relate):
        for one, other in ((f, g), (g, f), (f, f)):
            with pytest.raises(ParameterError):
                ask(one, other)
    for one, others in ((f, [g]), (g, [f]), (g, [g, f])):
        with pytest.raises(ParameterError):
            subsumed(one, others)
    assert relate(f.bind(value=1), g) is Relation.EQUAL


# The laws, in worlds where all answers are exact and in one where conditions on text are not.


def _conditions(place: Setting) -> st.SearchStrategy[Condition]:
    leaves = st.sampled_from(list(place.world.leaves.values()))
    fixed = st.booleans().map(place.world.truth)
    return st.recursive(
        st.one_of(leaves, leaves, leaves, leaves, fixed),
        lambda inner: st.one_of(
            st.builds(both, inner, inner),
            st.builds(either, inner, inner),
            st.builds(negation, inner),
            st.builds(asked, inner, st.sampled_from(QUESTIONS)),
        ),
        max_leaves=6,
    )


exactly = st.deferred(lambda: _conditions(plain()))
in_domains = st.deferred(lambda: _conditions(typed("words", checked=True, limited=True)))
roughly = st.deferred(lambda: _conditions(texts()))


def _read(*conditions: Condition) -> list[Filter]:
    return [parse(condition.text) for condition in conditions]


@given(exactly, exactly)
def test_any_two_conditions_relate_exactly(f: Condition, g: Condition) -> None:
    exact(*known(plain(), [f, g]))


@given(in_domains, in_domains)
def test_any_two_conditions_on_domains_relate_exactly(f: Condition, g: Condition) -> None:
    exact(*known(typed("words", checked=True, limited=True), [f, g]))


@given(roughly, roughly)
def test_any_two_conditions_on_text_relate_soundly(f: Condition, g: Condition) -> None:
    sound(*known(texts(), [f, g]))


@given(st.one_of(exactly, roughly))
def test_a_filter_covers_itself(f: Condition) -> None:
    one, twin = _read(f, f)
    assert covers(one, twin)
    assert relate(one, twin) is Relation.EQUAL


@given(exactly, exactly, exactly)
def test_covering_is_transitive(f: Condition, g: Condition, h: Condition) -> None:
    wide, middle, narrow = _read(either(f, g), f, both(f, h))
    assert covers(wide, middle)
    assert covers(middle, narrow)
    assert covers(wide, narrow)
    one, two, three = _read(f, g, h)
    assert covers(one, three) or not (covers(one, two) and covers(two, three))


@given(st.one_of(st.tuples(exactly, exactly), st.tuples(roughly, roughly)))
def test_filters_that_cover_each_other_are_equal(pair: tuple[Condition, Condition]) -> None:
    f, g = _read(*pair)
    mutual = covers(f, g) and covers(g, f)
    assert (relate(f, g) is Relation.EQUAL) is mutual
    assert mutual or f != g


@given(st.one_of(st.tuples(exactly, exactly), st.tuples(roughly, roughly)))
def test_relations_are_mirrored(pair: tuple[Condition, Condition]) -> None:
    f, g = _read(*pair)
    there, back = relate(f, g), relate(g, f)
    assert back is MIRRORED.get(there, there)
    assert overlaps(f, g) is overlaps(g, f)


@given(st.one_of(st.tuples(exactly, exactly), st.tuples(roughly, roughly)))
def test_subsumption_by_one_filter_is_covering(pair: tuple[Condition, Condition]) -> None:
    f, g = _read(*pair)
    assert subsumed(g, [f]) is covers(f, g)


@given(exactly, exactly)
def test_and_narrows_and_or_widens(f: Condition, g: Condition) -> None:
    own, narrower, wider = _read(f, both(f, g), either(f, g))
    assert covers(own, narrower)
    assert covers(wider, own)
    assert subsumed(wider, _read(f, g))


@given(exactly)
def test_no_event_passes_a_filter_and_its_negation(f: Condition) -> None:
    own, negated, not_true = _read(f, negation(f), asked(f, "IS NOT TRUE"))
    assert not overlaps(own, negated)
    assert not overlaps(own, not_true)
    assert covers(not_true, negated)


@given(exactly, exactly)
def test_disjoint_filters_do_not_overlap_and_cover_only_if_empty(
    f: Condition, g: Condition
) -> None:
    one, other = _read(f, g)
    if relate(one, other) is Relation.DISJOINT:
        assert not overlaps(one, other)
        assert not covers(one, other)
    nothing = parse("FALSE")
    assert covers(one, nothing)
    assert not overlaps(one, nothing)
    assert covers(nothing, one) is (plain().world.passing(f) == 0)
