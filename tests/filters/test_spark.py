"""A filter means what Spark SQL's WHERE means: law 1, against Spark itself.

Thousands of generated filters and a few dozen events are put to Spark in one job; Tidegate's
`matches`, its printed forms, its canonical forms and the tests' own oracle must all give Spark's
answers. `pytest -rP -k cell` prints what was covered.
"""

import datetime as dt
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from io import StringIO
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from rich.table import Table

import tidegate as tg
from tests import generate, oracle
from tests.oracle import Column, Condition, Leaf, Literal
from tidegate.filters.canonical import Constraint, Every, Form, Some
from tidegate.filters.evaluate import value_of
from tidegate.filters.lines import ALL_LINES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

SCALE: Final = 6 if os.environ.get("TIDEGATE_LONG") == "1" else 1
SEED: Final = 3
EVENTS: Final = 40
TREES: Final = 1_200 * SCALE
AT_ONCE: Final = 8_000  # expressions in one job

Event = dict[str, Any]


@dataclass(frozen=True)
class Generated:
    """Events, and conditions on them; the constants of those in `own` are of their own family."""

    events: list[Event]
    typed: list[Condition]
    own: list[Condition]

    @property
    def conditions(self) -> list[Condition]:
        return self.typed + self.own


@dataclass(frozen=True)
class Asked:
    """The same, with the schema Spark gives the events, and for each text whom it lets pass."""

    generated: Generated
    table: "DataFrame"
    schema: tg.Schema
    answers: Mapping[str, list[bool]]


@pytest.fixture(scope="module")
def generated() -> Generated:
    rng = Random(SEED)
    events = generate.events(rng, EVENTS)
    typed = [*generate.each_operator(rng, True), *generate.filters(rng, TREES, True)]
    return Generated(events, typed, generate.filters(rng, TREES, False))


@pytest.fixture(scope="module")
def asked(
    generated: Generated, spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory
) -> Asked:
    table = store(spark, generated.events, tmp_path_factory.mktemp("events") / "events.parquet")
    schema = tg.Schema(table.drop("row").schema)
    texts = [str(condition) for condition in generated.conditions]
    printed = [str(tg.parse(text, schema)) for text in texts]
    own = [str(tg.parse(str(condition))) for condition in generated.own]
    return Asked(generated, table, schema, ask(table, [*texts, *printed, *own]))


def store(spark: "SparkSession", events: list[Event], path: Path) -> "DataFrame":
    """The events as a table that Spark scans, so that its optimizer works as on real data.

    Without statistics: those that Arrow writes leave NaN out, and Spark believes them, so that
    `price >= CAST('NaN' AS DOUBLE)` skips the whole file and loses the rows that it asks for.
    """
    rows = generate.arrow_table(events).append_column("row", pa.array(range(len(events))))
    pq.write_table(rows, path, write_statistics=False)
    return spark.read.parquet(str(path))


def ask(table: "DataFrame", texts: Iterable[str]) -> dict[str, list[bool]]:
    """For each text, which rows pass it.

    `if` treats its condition as WHERE does, rewrites by the optimizer included; and thousands of
    them fit into one job. Compiling each would cost more than running it once on so few rows.
    """
    distinct = list(dict.fromkeys(texts))
    answers: dict[str, list[bool]] = {}
    with settings(table.sparkSession, {"wholeStage": "false", "factoryMode": "NO_CODEGEN"}):
        for start in range(0, len(distinct), AT_ONCE):
            chunk = distinct[start : start + AT_ONCE]
            rows = table.selectExpr("row", *(f"if(({text}), 1, 0)" for text in chunk)).collect()
            columns = zip(*sorted(rows), strict=True)
            next(columns)
            answers.update(zip(chunk, (list(map(bool, column)) for column in columns), strict=True))
    return answers


@contextmanager
def settings(spark: "SparkSession", wanted: dict[str, str]) -> "Iterator[None]":
    names = {name: f"spark.sql.codegen.{name}" for name in wanted}
    before = {name: spark.conf.get(name) for name in names.values()}
    for short, name in names.items():
        spark.conf.set(name, wanted[short])
    yield
    for name, value in before.items():
        assert value is not None
        spark.conf.set(name, value)


def disagreements(
    conditions: Iterable[Condition],
    asked: Asked,
    ours: Callable[[Condition], list[bool]],
    spelled: Callable[[Condition], str] = str,
) -> list[str]:
    """Where our answers are not Spark's: the filter, the values it looked at, both answers."""
    found = []
    for condition in conditions:
        text = spelled(condition)
        mine, theirs = ours(condition), asked.answers[text]
        if mine == theirs:
            continue
        for event, my, their in zip(asked.generated.events, mine, theirs, strict=True):
            if my is not their:
                seen = [oracle.value_in(event, leaf.column) for leaf in oracle.leaves(condition)]
                found.append(f"{text} on {seen}: {my}, but Spark says {their}")
    return found


def test_there_are_enough_cases_and_they_are_not_one_sided(asked: Asked) -> None:
    conditions = asked.generated.conditions
    meanings = {tg.parse(str(condition), asked.schema) for condition in conditions}
    answers = [asked.answers[str(condition)] for condition in conditions]
    pairs = sum(map(len, answers))
    share = sum(map(sum, answers)) / pairs
    print(
        f"{len({str(c) for c in conditions}):,} filters, {len(meanings):,} of them different in "
        f"meaning, {pairs:,} pairs with an event, {share:.0%} true"
    )
    assert len(meanings) >= 2_000
    assert pairs >= 20_000
    assert 0.25 <= share <= 0.75


def test_a_filter_passes_the_events_that_spark_passes(asked: Asked) -> None:
    def ours(condition: Condition) -> list[bool]:
        parsed = tg.parse(str(condition), asked.schema)
        return [parsed.matches(event) for event in asked.generated.events]

    assert disagreements(asked.generated.conditions, asked, ours) == []


def test_constants_of_their_own_family_need_no_schema(asked: Asked) -> None:
    def ours(condition: Condition) -> list[bool]:
        parsed = tg.parse(str(condition))
        return [parsed.matches(event) for event in asked.generated.events]

    assert disagreements(asked.generated.own, asked, ours) == []


def test_a_bound_parameter_says_what_the_literal_says(asked: Asked) -> None:
    """So it does after printing: NaN, infinities and NULL are constants like any other."""
    for leaf in asked.generated.typed:
        if not isinstance(leaf, Leaf) or not leaf.literals:
            continue
        names = {f"p{i}": literal.value for i, literal in enumerate(leaf.literals)}
        open_ = replace(leaf, literals=tuple(Literal(f":{name}", "", None) for name in names))
        bound = tg.parse(str(open_), asked.schema).bind(**names)
        answers = [bound.matches(event) for event in asked.generated.events]
        assert answers == asked.answers[str(leaf)], (str(leaf), str(bound))
        assert tg.parse(str(bound), asked.schema) == bound


def test_the_printed_form_says_the_same_to_spark(asked: Asked) -> None:
    for schema, conditions in (
        (asked.schema, asked.generated.conditions),
        (None, asked.generated.own),
    ):
        assert not [
            f"{condition} was printed as {printed}"
            for condition in conditions
            for printed in [str(tg.parse(str(condition), schema))]
            if asked.answers[printed] != asked.answers[str(condition)]
        ]


@pytest.mark.slow
def test_the_printed_form_is_read_back_as_an_equal_filter(generated: Generated) -> None:
    schema = tg.Schema(generate.TYPES)
    for given, conditions in ((schema, generated.conditions), (None, generated.own)):
        for condition in conditions:
            original = tg.parse(str(condition), given)
            again = tg.parse(str(original), given)
            assert again == original, condition
            assert hash(again) == hash(original), condition


def test_equal_filters_get_equal_answers_from_spark(asked: Asked) -> None:
    first: dict[tg.Filter, str] = {}
    for condition in asked.generated.conditions:
        text = str(condition)
        known = first.setdefault(tg.parse(text, asked.schema), text)
        assert asked.answers[known] == asked.answers[text], (known, text)


def test_the_canonical_form_says_the_same(asked: Asked) -> None:
    def holds(form: Form, event: Event, schema: tg.Schema | None) -> bool:
        if isinstance(form, bool):
            return form
        if isinstance(form, Every):
            return all(holds(part, event, schema) for part in form.parts)
        if isinstance(form, Some):
            return any(holds(part, event, schema) for part in form.parts)
        assert isinstance(form, Constraint)
        lines = ALL_LINES if schema is None else schema[form.attribute].lines
        return form.allowed.has(value_of(event, form.attribute, schema), lines)

    for schema, conditions in (
        (asked.schema, asked.generated.conditions),
        (None, asked.generated.own),
    ):

        def ours(condition: Condition, schema: tg.Schema | None = schema) -> list[bool]:
            form = tg.parse(str(condition), schema).form
            return [holds(form, event, schema) for event in asked.generated.events]

        assert disagreements(conditions, asked, ours) == []


def test_the_oracle_of_the_tests_agrees_with_spark(asked: Asked) -> None:
    def ours(condition: Condition) -> list[bool]:
        return [oracle.passes(condition, event) for event in asked.generated.events]

    assert disagreements(asked.generated.conditions, asked, ours) == []


def test_a_real_where_agrees_compiled_and_pushed_down(asked: Asked) -> None:
    """The same question as Spark users ask it, of a sample: filter, pushdown, generated code."""
    sample = [str(condition) for condition in asked.generated.conditions[::50]]
    asked.table.createOrReplaceTempView("events")
    queries = [
        f"SELECT {i} AS filter, row FROM events WHERE {text}" for i, text in enumerate(sample)
    ]
    passed = set(map(tuple, asked.table.sparkSession.sql(" UNION ALL ".join(queries)).collect()))
    for i, text in enumerate(sample):
        parsed = tg.parse(text, asked.schema)
        mine = {row for row, event in enumerate(asked.generated.events) if parsed.matches(event)}
        assert mine == {row for which, row in passed if which == i}, text


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("constant", ["99999999999999999999", "-1e30BD", "9223372036854775807.5"])
def test_an_integer_is_not_ordered_against_a_decimal_beyond_bigint(
    operator: str, constant: str
) -> None:
    """Spark replaces such a comparison by TRUE or FALSE, and so lets NULL pass: a quirk."""
    schema = tg.Schema({"id": "bigint", "level": "tinyint"})
    for attribute in schema:
        for text in (f"{attribute} {operator} {constant}", f"{attribute} BETWEEN 1 AND {constant}"):
            with pytest.raises(tg.FilterTypeError, match="IS NOT NULL, or FALSE"):
                tg.parse(text, schema)


def test_without_a_schema_null_does_not_pass_a_decimal_beyond_bigint(asked: Asked) -> None:
    """The one answer that differs from Spark's, on purpose: only what is present is compared."""
    text = "id < 99999999999999999999"
    spark = ask(asked.table, [text])[text]
    ours = [tg.parse(text).matches(event) for event in asked.generated.events]
    present = [event.get("id") is not None for event in asked.generated.events]
    assert all(spark)
    assert ours == present
    assert not all(present)


NULL, ABSENT, NAN, BOUNDARY, OTHER = SITUATIONS = (
    "null",
    "absent",
    "NaN",
    "boundary",
    "other family",
)
Coverage = Counter[tuple[str, str, str]]  # situation, operator, type


def can_exist(situation: str, operator: str, column: Column) -> bool:
    """Whether an operator on a column can meet the situation at all."""
    without_constant = operator.endswith(("NULL", "bare", "TRUE", "FALSE", "UNKNOWN"))
    match situation:
        case "NaN":  # as a value of float and double, as a constant for all numbers
            if without_constant:
                return column.type in ("float", "double")
            return column.type in generate.NUMBERS
        case "boundary":  # without a constant there is nothing to be close to
            return not without_constant
        case "other family":  # IS NULL has an answer for values of every family
            return not operator.endswith(("NULL", "UNKNOWN"))
        case _:
            return True


def situations(leaf: Leaf, event: Event) -> Iterable[str]:
    """What is special about a leaf's encounter with an event."""
    value = oracle.value_in(event, leaf.column)
    if value is None:
        yield NULL if is_written(event, leaf.column.path) else ABSENT
    elif oracle.is_nan(value) or any(oracle.is_nan(literal.value) for literal in leaf.literals):
        yield NAN
    if value is not None and is_close(leaf, value):
        yield BOUNDARY


def is_written(event: Event, path: tuple[str, ...]) -> bool:
    here: Any = event
    for name in path:
        if here is None or name not in here:
            return False
        here = here[name]
    return True


def is_close(leaf: Leaf, value: Any) -> bool:
    """Whether the value equals a constant, or a text's answer hangs on a single character."""
    given = [literal for literal in leaf.literals if literal.value is not None]
    if leaf.operator.endswith(("LIKE", "ANY", "ALL")) or leaf.operator in oracle.FUNCTIONS:
        if not given:
            return False
        nearby = (value[1:], value[:-1], value + "a", "a" + value, value[:-1] + "b")
        answers = {oracle.answer(leaf, text) for text in (value, *nearby)}
        return len(answers) == 2
    return any(
        oracle.compare(leaf.column.type, value, literal, ordering=False) == 0 for literal in given
    )


def observe(generated: Generated) -> Coverage:
    seen: Coverage = Counter()
    for condition in generated.conditions:
        for leaf in oracle.leaves(condition):
            for event in generated.events:
                for situation in situations(leaf, event):
                    seen[situation, leaf.operator, leaf.column.type] += 1
    return seen


STRANGERS: Final[dict[str, list[Any]]] = {
    "boolean": [True, False],
    "number": [5, 0, 1.5, float("nan"), Decimal("0.1")],
    "string": ["5", "true", "2024-02-29", ""],
    "date": [dt.date(2024, 2, 29)],
    "timestamp": [dt.datetime(2024, 2, 29)],
    "none of the language's": [b"5", [5], {"x": 5}],
}


def observe_strangers(rng: Random) -> Coverage:
    """Without a schema, values of other families: neither a predicate nor its negation holds."""
    seen: Coverage = Counter()
    for leaf in [leaf for _ in range(3) for leaf in generate.each_operator(rng, False)]:
        two_valued = leaf.operator in oracle.SAME and leaf.literals[0].value is None
        if two_valued or not can_exist(OTHER, leaf.operator, leaf.column):
            continue
        plain, negated = tg.parse(str(leaf)), tg.parse(f"NOT ({leaf})")
        for kind, values in STRANGERS.items():
            for value in values if kind != generate.family(leaf.column) else ():
                event = value
                for name in reversed(leaf.column.path):
                    event = {name: event}
                assert not plain.matches(event), (str(leaf), value)
                assert not negated.matches(event), (str(leaf), value)
                seen[OTHER, leaf.operator, leaf.column.type] += 1
    return seen


def report(seen: Coverage) -> str:
    """A table per situation: how often each operator met it on each type; – where it cannot."""
    types = list(dict.fromkeys(column.type for column in generate.COLUMNS))
    out = Console(file=StringIO(), width=240)
    for situation in SITUATIONS:
        table = Table("operator", *types, title=f"{situation}: encounters", title_justify="left")
        for operator in generate.ALL_OPERATORS:
            table.add_row(operator, *(cell(seen, situation, operator, name) for name in types))
        out.print(table)
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


def cell(seen: Coverage, situation: str, operator: str, name: str) -> str:
    columns = [column for column in generate.COLUMNS if column.type == name]
    if operator not in generate.operators(columns[0]):
        return ""
    return (
        str(seen[situation, operator, name]) if can_exist(situation, operator, columns[0]) else "–"
    )


@pytest.mark.slow
def test_no_cell_of_operator_type_and_situation_is_empty(generated: Generated) -> None:
    seen = observe(generated) + observe_strangers(Random(SEED))
    print(report(seen))
    empty = [
        (situation, operator, column.type)
        for column in generate.COLUMNS
        for operator in generate.operators(column)
        for situation in SITUATIONS
        if can_exist(situation, operator, column) and not seen[situation, operator, column.type]
    ]
    assert empty == []
