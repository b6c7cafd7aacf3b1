"""Decision diagrams beside the box store, and their nodes beside what they should be."""

import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests import families
from tests.engine.boxes.box_oracle import NO_NORMAL_FORM, some_event, some_filter
from tests.papers.agreement import SCHEMAS, agree
from tidegate.algebra.normal import boxes
from tidegate.errors import SchemaError
from tidegate.filters.expression import predicates
from tidegate.lab.workloads.padres import set_a
from tidegate.papers.limit import LimitWarning
from tidegate.papers.mbd.mbd import MBD
from tidegate.papers.mbd.order import Criterion

LONG: Final = os.environ.get("TIDEGATE_LONG") == "1"
EXAMPLES: Final = 400 if LONG else 20
STEPS: Final = 400 if LONG else 60
FLIGHTS: Final = (
    "price = 150 AND time = '2004-07-20' AND destination = 'Ottawa'",
    "price < 150 AND time = '2004-07-20' AND destination = 'Ottawa'",
)


def drawing(schema: tg.Schema | None) -> Callable[[Random], tg.Filter]:
    """Filters that have a normal form: of others, the box store knows less than the diagrams."""

    def draw(rng: Random) -> tg.Filter:
        while True:
            f = some_filter(rng, schema)
            if boxes(f) is not None:
                return f

    return draw


def check_nodes(table: MBD) -> None:
    """No two nodes say the same, all are ordered, and references are those that there are."""
    diagram = table._table.diagram
    level = diagram.level
    alive: dict[int, tuple[int, int, int]] = {}
    references: Counter[int] = Counter()
    over = set()
    for number, entry in table._table.entries.items():
        node = diagram.output(entry.slot)
        assert number in table._table.named(diagram.slots(node))
        references[node] += 1
        over.add(diagram.ends(node)[1:] if node > 1 else (node, node))
        stack = [node]
        while stack:
            node = stack.pop()
            if node > 1 and node not in alive:
                alive[node] = variable, low, high = diagram.ends(node)
                assert low != high
                assert high != 0
                assert diagram.find(variable, low, high) == node
                for child in (low, high):
                    references[child] += child > 0
                    assert child < 2 or level(diagram.ends(child)[0]) < level(variable)
                stack += low, high
    assert len(alive) == table.nodes == len(set(alive.values()))
    assert all(diagram.references(node) == references[node] for node in alive)
    assert table.diagrams == len(over)
    used = {variable for variable, _, _ in alive.values()}
    assert used <= {v for name in table.predicates.attributes for v in table.predicates.of(name)}


def shares_missed(counts: Counter[str]) -> dict[str, float]:
    """Which part of what the box store finds was missed, and claimed beyond it."""
    return {
        "containing": counts["containing, missed"] / max(1, counts["containing"]),
        "contained": counts["contained, missed"] / max(1, counts["contained"]),
        "overlapping": counts["overlapping, claimed"] / max(1, counts["overlapping"]),
    }


@pytest.mark.parametrize("schema", SCHEMAS)
@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32), cache=st.booleans())
def test_diagrams_agree_with_the_box_store(schema: str, seed: int, cache: bool) -> None:
    own = SCHEMAS[schema]
    table = MBD(own, cache=cache, order=list(Criterion)[seed % 5], seed=seed)

    def after() -> None:
        if seed % 3 == len(table) % 3 == 0:
            table.rebuild()
        check_nodes(table)

    agree(table, own, seed, 12, draw=drawing(own), after=after)
    assert table.nodes == table.diagrams == len(table.predicates) == 0


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32))
def test_values_of_all_families_meet(seed: int) -> None:
    agree(MBD(), None, seed, 12, mixed=True)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_long_histories(schema: str) -> None:
    own = SCHEMAS[schema]
    counts = agree(MBD(own), own, 7, STEPS, draw=drawing(own))
    missed = shares_missed(counts)
    assert missed["containing"] < 0.05
    assert missed["contained"] < 0.5


def test_nothing_is_missed_with_one_predicate_for_an_attribute() -> None:
    workload = set_a(2_000 if LONG else 300)
    filters = list(workload.filters())
    events = workload.events(50).to_pylist()
    counts = agree(
        MBD(workload.schema),
        workload.schema,
        3,
        5 * STEPS,
        exact=True,
        draw=lambda rng: rng.choice(filters),
        event=lambda rng: rng.choice(events),
    )
    assert min(counts["containing"], counts["contained"], counts["overlapping"]) > 100


def test_filters_without_normal_form_are_related_by_their_diagrams() -> None:
    """The box store knows of them only that they are equal; here all events are looked at."""
    events = [{"x": x, "y": y / 4} for x, y in product((-1, 1, 2, 10), (0, 1, 2, 29, 37))]
    texts = (NO_NORMAL_FORM, "x = 1 AND y = 0.25D", "x = 1 AND y = 9.25D", "x >= 0 AND x <= 9")
    filters = [tg.parse(text) for text in (*texts, "x IN (1, 2) AND y >= 0D", "FALSE", "TRUE")]
    table = MBD()
    for number, f in enumerate(filters):
        table.add(number, f)
    assert table.aside == 0
    matching = {f: {i for i, event in enumerate(events) if f.matches(event)} for f in filters}
    for f in filters:
        own = matching[f]
        assert all(own <= matching[filters[number]] for number in table.containing(f))
        assert all(matching[filters[number]] <= own for number in table.contained(f))
        meeting = {n for n, g in enumerate(filters) if own & matching[g]}
        assert meeting <= set(table.overlapping(f))
    assert sorted(table.containing(filters[1])) == [0, 1, 3, 4, 6]
    assert 0 in table.containing(filters[0])
    assert {0, 5} <= set(table.contained(filters[0]))


def test_the_flights_of_the_paper_share_two_predicates() -> None:
    table = MBD()
    for number, text in enumerate(FLIGHTS):
        table.add(number, tg.parse(text))
    assert (table.diagrams, table.nodes) == (2, 6)  # price came first, and is at the bottom
    table.rebuild()
    assert (table.diagrams, table.outputs_per_diagram, table.nodes) == (1, 2.0, 4)
    table.add(2, tg.parse("time = '2004-07-20'"))
    assert (table.diagrams, table.nodes) == (2, 5)
    new = tg.parse("price = 80 AND time = '2004-07-20' AND destination = 'Ottawa'")
    assert sorted(table.containing(new)) == [1, 2]
    assert table.contained(new) == []
    table.remove(2)
    table.rebuild()
    assert (table.diagrams, table.nodes) == (1, 4)


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32))
def test_a_batch_is_matched_as_its_events_are(seed: int) -> None:
    rng = Random(seed)
    table = MBD()
    for number in range(20):
        table.add(number, some_filter(rng, None))
    events = [some_event(rng) for _ in range(rng.choice((0, 1, 63, 64, 65, 130)))]
    assert [sorted(each) for each in table.match_batch(events)] == [
        sorted(table.match(event)) for event in events
    ]


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32))
def test_one_phase_finds_what_two_find(seed: int) -> None:
    rng = Random(seed)
    schema = rng.choice(list(SCHEMAS.values()))
    draw = drawing(schema)
    table = MBD(schema)
    for number in range(25):
        f = draw(rng)
        found = table.relations(f)
        above, below = table.containing(f), table.contained(f)
        assert found.covered is bool(above), str(f)
        assert sorted(found.covers) == ([] if above else sorted(below))
        assert table.relations(f, phases=2).covered is found.covered
        assert sorted(table.relations(f, phases=2).covers) == sorted(found.covers)
        assert table.subscribe(number, f) == found
        assert (number in table) is not found.covered
        assert not any(gone in table for gone in found.covers)
        event = some_event(rng)
        assert sorted(table.match(event)) == sorted(n for n in table if table.get(n).matches(event))


@pytest.mark.parametrize("order", [*Criterion, ["c", "a"]])
def test_orders_change_diagrams_and_not_answers(order: Any) -> None:
    table = MBD(order=order, seed=5)
    rng = Random(1)
    filters = {}
    for number in range(120):
        names = sorted(rng.sample("abcdef", 3)) if number % 3 else ["a", "b", "f"]
        text = " AND ".join(f"{name} = {rng.randrange(1 if name == 'e' else 4)}" for name in names)
        filters[number] = tg.parse(text)
        table.add(number, filters[number])
    table.rebuild()
    check_nodes(table)
    for _ in range(40):
        event = {name: rng.randrange(4) for name in "abcdef"}
        assert sorted(table.match(event)) == [n for n, f in filters.items() if f.matches(event)]
    bottom = {
        Criterion.FREQUENCY: Counter(n for f in filters.values() for n in f.attributes),
        Criterion.CONCENTRATION: Counter({"e": 1}),
    }
    if order in list(bottom):
        assert table.attributes[0] == bottom[order].most_common(1)[0][0]
    if order is Criterion.TOGETHER:
        assert set(table.attributes[:3]) == {"a", "b", "f"}
    if not isinstance(order, Criterion):
        assert table.attributes[:2] == ["c", "a"]


def test_a_random_order_follows_its_seed() -> None:
    def attributes(seed: int) -> list[str]:
        table = MBD(order=Criterion.RANDOM, seed=seed)
        for number, name in enumerate("abcdefgh"):
            table.add(number, tg.parse(f"{name} = 1"))
        table.rebuild()
        return table.attributes

    assert attributes(1) == attributes(1) != attributes(2)


def test_the_table_is_rebuilt_when_it_has_doubled() -> None:
    workload = set_a(3_000)
    table = MBD(workload.schema)
    rebuilt = []
    for number, f in enumerate(workload.filters()):
        table.add(number, f)
        if table._table.rebuilt not in rebuilt:
            rebuilt.append(table._table.rebuilt)
    assert rebuilt == [0, 64, 128, 256, 512, 1024, 2048]
    check_nodes(table)
    events = workload.events(20).to_pylist()
    expected = [sorted(n for n in table if table.get(n).matches(event)) for event in events]
    assert [sorted(table.match(event)) for event in events] == expected
    for number in range(2_700):
        table.remove(number)
    assert table._table.rebuilt == 511
    check_nodes(table)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_what_does_not_fit_is_kept_aside_and_answers_stay_right(schema: str) -> None:
    own = SCHEMAS[schema]
    table = MBD(own, limit=40_000)
    with pytest.warns(LimitWarning, match="40,000 bytes") as caught:
        agree(table, own, 3, 60, draw=drawing(own), after=lambda: within(table, 40_000))
    assert len(caught) == 1


def within(table: MBD, limit: int) -> None:
    assert table.nbytes <= limit


def test_without_any_room_everything_is_aside() -> None:
    table = MBD(limit=0)
    with pytest.warns(LimitWarning):
        table.add(1, tg.parse("x > 1"))
    table.add(2, tg.parse("x > 2 OR y = 1"))
    assert (table.aside, len(table), table.match({"x": 2})) == (2, 2, [1])
    assert table.relations(tg.parse("x > 3")) == (True, [])
    assert table.relations(tg.parse("x > 0 OR y = 1")) == (False, [1, 2])
    table.rebuild()
    table.remove(1)
    assert (table.aside, table.match({"x": 3})) == (1, [2])


def test_a_filter_that_is_too_large_is_aside_until_another_order_makes_it_small() -> None:
    pairs = " OR ".join(f"(a{i} = 1 AND b{i} = 1)" for i in range(7))
    order = [*(f"a{i}" for i in range(7)), *(f"b{i}" for i in range(7))]
    table = MBD(nodes=40, order=order)
    table.add(1, tg.parse(pairs))
    assert table.aside == 1
    assert table.match({"a3": 1, "b3": 1}) == [1]
    assert len(table.predicates) == 0
    for i in range(7):
        table.add(10 + i, tg.parse(f"a{i} = 1 AND b{i} = 1"))
    table._table.order = Criterion.TOGETHER
    table.rebuild()
    assert table.aside == 0
    assert sorted(table.match({"a3": 1, "b3": 1})) == [1, 13]
    check_nodes(table)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 31 + "x = 1" + "".join(f" OR y{i} = {i}) AND z{i} > {i}" for i in range(31)),
        f"x IN ({', '.join(map(str, range(0, 900, 3)))}) AND NOT y IN ('a', 'b')",
        " OR ".join(f"x = {i}" for i in range(600)),
        " AND ".join(f"x <> {i}" for i in range(600)),
        " AND ".join(f"(x <> {i} OR y < {i})" for i in range(8)),
        *("TRUE", "FALSE", "x = NULL", "x = 1 OR TRUE", "x = 1 AND FALSE", "x <=> NULL"),
        "(x = 1 AND y = 1) OR (x = 1 AND y = 1) OR x = NULL",
        "NOT (x > 3 AND (y IS NULL OR NOT (z LIKE '%a' AND z <> 'ba')))",
    ],
    ids=lambda text: text[:30],
)
def test_large_deep_and_constant_filters(text: str) -> None:
    f = tg.parse(text)
    table = MBD()
    table.add(1, f)
    table.add(2, tg.parse("x = 3"))
    assert table.aside == 0
    for x, y, z in product((None, 1, 3, 3.5, 599, "a"), (None, 0, 3, "a"), (None, 40, "ba", "ca")):
        event = {"x": x, "y": y, "z": z, "y3": 3, "z30": z}
        assert (1 in table.match(event)) is f.matches(event), event
    assert 1 in table.containing(f)
    assert 1 in table.contained(f)
    assert 1 in table.overlapping(f) or text in ("FALSE", "x = NULL", "x = 1 AND FALSE")
    table.rebuild()
    check_nodes(table)
    table.remove(1)
    table.remove(2)
    assert table.nodes == 0


def test_mistakes_are_refused_and_change_nothing() -> None:
    schema = tg.Schema({"x": "bigint"})
    table = MBD(schema)
    table.add(1, tg.parse("x = 1", schema))
    with pytest.raises(ValueError, match="number 1"):
        table.add(1, tg.parse("x = 2", schema))
    for change in (table.add, table.update):
        with pytest.raises(SchemaError):
            change(1 if change == table.update else 2, tg.parse("x = 2"))
    with pytest.raises(tg.ParameterError):
        table.add(2, tg.parse("x = :x", schema))
    with pytest.raises(KeyError):
        table.remove(2)
    with pytest.raises(KeyError):
        table.update(2, tg.parse("x = 2", schema))
    for question in (table.containing, table.contained, table.overlapping, table.relations):
        with pytest.raises(SchemaError):
            question(tg.parse("x = 2"))
    assert (len(table), table.match({"x": 1}), list(table)) == (1, [1], [1])


PLAIN = {**os.environ, "PYTHONPATH": "src:.", "NUMBA_DISABLE_JIT": "1"}
"""Kernels as plain Python, which need not be loaded."""


@pytest.mark.slow
def test_the_same_history_leads_to_the_same_diagrams() -> None:
    """Whatever the hashes of strings are."""
    program = (
        "from random import Random\nfrom tests.papers.test_mbd import history\nprint(history(11))\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**PLAIN, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def history(seed: int) -> list[Any]:
    """What becomes of a random history: nodes, and answers in their order."""
    rng = Random(seed)
    table = MBD()
    said: list[Any] = []
    for number in range(60):
        table.add(number, families.mixed_filter(rng) if number % 2 else some_filter(rng, None))
        if number % 7 == 0:
            table.remove(number)
        if number % 25 == 24:
            table.rebuild()
        f = some_filter(rng, None)
        said += [table.nodes, table.containing(f), table.contained(f), table.overlapping(f)]
        said.append(table.match(some_event(rng)))
    return [*said, table.attributes, [str(table.predicates[v]) for v in table.predicates.of("x")]]


@pytest.mark.slow
def test_kernels_stay_within_their_arrays() -> None:
    """As plain Python, in which every index is checked."""
    subprocess.run(
        [sys.executable, "-c", "from tests.papers.test_mbd import history; history(5)"],
        env=PLAIN,
        check=True,
    )


def test_no_warning_without_need() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = MBD()
        for number, p in enumerate(predicates(tg.parse(NO_NORMAL_FORM).tree)):
            table.add(number, tg.parse(str(p)))
    assert table.aside == 0
