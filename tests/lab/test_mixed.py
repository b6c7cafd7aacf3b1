"""The rules of many people: of the shapes that were promised, and the same for one seed."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import tidegate as tg
from tidegate.filters.expression import Operator, Or, predicates
from tidegate.lab.workloads import mixed
from tidegate.pipeline import Store


def test_a_seed_says_it_all_and_more_rules_begin_with_fewer() -> None:
    once = pa.concat_tables(mixed.rules(700, 5, rows=300), promote_options="default")
    again = pa.concat_tables(mixed.rules(900, 5, rows=300), promote_options="default")
    assert [each.num_rows for each in mixed.rules(700, 5, rows=300)] == [300, 300, 100]
    assert again.slice(0, 600).select(once.column_names).equals(once.slice(0, 600))
    other = next(mixed.rules(300, 6, rows=300))
    assert other["filter"].to_pylist() != once["filter"].to_pylist()[:300]
    [events] = mixed.events(50, 3)
    assert next(mixed.events(50, 3)).equals(events)


def test_texts_have_every_shape_and_templates_have_many_rows(tmp_path: Path) -> None:
    [table] = mixed.rules(3_000, 1)
    texts = table["filter"].to_pylist()
    templates = {text for text in texts if ":" in text.replace("TIMESTAMP '", "")}
    filters = [tg.parse(text, mixed.SCHEMA) for text in texts]
    with_parameters = [f for f in filters if f.parameters]
    assert 0.45 < len(with_parameters) / len(filters) < 0.55
    assert len({str(f) for f in with_parameters}) <= mixed.TEMPLATES
    literal = [f for f in filters if not f.parameters]
    assert len({str(f) for f in literal}) > 0.9 * len(literal)
    sizes = {len(f.attributes) for f in literal}
    assert sizes == {2, 3, 4, 5, 6}
    assert set().union(*(f.attributes for f in literal)) == set(mixed.SCHEMA)
    assert any(isinstance(each, Or) for f in literal for each in getattr(f.tree, "parts", ()))
    used = {p.operator for f in literal for p in predicates(f.tree)}
    assert {Operator.EQUAL, Operator.IN, Operator.LESS, Operator.NULL} <= used
    assert any(" LIKE '" in text for text in texts)
    assert any("NOT (" in text for text in texts)
    assert templates
    store = Store.create(tmp_path / "store", mixed.SCHEMA)
    store.add_many(table)
    assert len(store.subscriptions()) == 3_000


def test_events_fit_the_schema_and_lack_some_values(tmp_path: Path) -> None:
    mixed.write_events(tmp_path, 500, seed=2)
    found = pq.read_table(tmp_path)
    assert found.num_rows == 500
    assert set(tg.Schema(found.schema)) == set(mixed.SCHEMA)
    assert found["trader"].null_count > 0
    assert found["symbol"].null_count == 0
    heaviest = max(found["symbol"].value_counts().to_pylist(), key=lambda each: each["counts"])
    assert heaviest["counts"] > 25
