"""Whatever way documents go to shards, lxml says the same of who wants them."""

import json
import os
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests.documents.generate import NAMESPACES, Writer, document
from tests.pipeline import streams
from tests.pipeline.kinds import pattern_rows
from tests.pipeline.matching.test_routing import in_place, notifier, shuffled
from tidegate.pipeline import Store, gather
from tidegate.pipeline.analysis.jobs import analyse
from tidegate.pipeline.analysis.negative_space import negative_space
from tidegate.pipeline.bases import catalog
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.kinds.documents import Documents
from tidegate.pipeline.matching.matcher import Matcher
from tidegate.pipeline.shards.pattern_plan import EVERYTHING, plan, summary
from tidegate.pipeline.store.literals import PARAMETERS
from tidegate.pipeline.store.pattern_language import PatternLanguage

LONG = os.environ.get("TIDEGATE_LONG") == "1"
KIND = Documents(NAMESPACES, "body")
LANGUAGE = PatternLanguage(NAMESPACES)


def no_parameters(texts: list[str]) -> pa.Array:
    return pa.array([[] for _ in texts], PARAMETERS)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 2, 16])
def test_shards_find_what_lxml_finds_while_patterns_change(tmp_path: Path, shards: int) -> None:
    choice = random.Random(shards)
    store = Store.create(tmp_path / "store", kind="xml", namespaces=NAMESPACES)
    there: set[str] = set()
    for _ in range(30):
        pattern_rows.change(choice, store, there)
    matcher = Matcher(store.path, streams.write_base(store, shards=shards, kind=KIND))
    for _ in range(40 if LONG else 5):
        batch = pattern_rows.batch(choice)
        asked = pattern_rows.wanted(store, store.version(), batch)
        assert in_place(matcher, batch, KIND) == asked
        assert shuffled(matcher, batch, KIND) == asked
        for _ in range(choice.randrange(12)):
            pattern_rows.change(choice, store, there)
        matcher.advance(store.version())


def test_documents_that_cannot_be_read_come_out_once_with_the_reason(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store", kind="xml", namespaces=NAMESPACES)
    store.add("all", "/")
    matcher = Matcher(store.path, streams.write_base(store, kind=KIND))
    batch = pattern_rows.batch(random.Random(1), 600)  # more than are read at once
    wrong = pattern_rows.unreadable(batch)
    assert len(wrong) > 20
    for form in ("pairs", "lists", "counts"):
        found = pa.Table.from_batches(notifier(matcher, form, KIND).notify(batch))
        said = dict(zip(found["row"].to_pylist(), found["error"].to_pylist(), strict=True))
        assert len(said) == len(found) == len(batch)
        assert {row for row, error in said.items() if error} == wrong
        assert said[0] == "torn"
        assert {error for error in said.values() if error} == {
            "torn",
            "body: unclosed token (line 1, column 0)",
            "body: no element found (line 1, column 0)",
            "body: syntax error (line 1, column 0)",
            "body: there is no document: it is null",
            "body: undefined entity (line 1, column 3)",
            "body: it declares entities or the like: an internal subset is not allowed",
        }


# -- shards


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
@settings(max_examples=150 if LONG else 25, deadline=None)
def test_a_summary_matches_every_document_that_a_pattern_matches(seed: int) -> None:
    choice = random.Random(seed)
    texts = [Writer(choice).expression() for _ in range(12)]
    rows = pa.array(texts), no_parameters(texts)
    made = plan(*rows, LANGUAGE, 3)
    documents = [document(choice) for _ in range(12)]
    for budget in (1_000, 3, 0):
        for text in texts:
            own = summary(pa.array([text]), no_parameters([text]), made, budget)
            covering = tg.DocumentIndex(namespaces=NAMESPACES)
            for number, each in enumerate(own):
                covering.add(number, each)
            pattern = tg.parse_xpath(text, namespaces=NAMESPACES)
            for each in documents:
                assert not pattern.matches(each) or covering.match(each)


@pytest.mark.slow
def test_patterns_are_spread_evenly_and_documents_go_where_their_values_are() -> None:
    choice = random.Random(5)
    symbols = [f"S{n}" for n in range(400)]
    texts = [
        f"//quote[symbol = '{choice.choice(symbols)}'][price < {choice.randrange(100)}]"
        for _ in range(4_000)
    ]
    rows = pa.array(texts), no_parameters(texts)
    made = plan(*rows, PatternLanguage(), 8)
    ids = pa.array([f"id{n}" for n in range(len(texts))])
    where = made.shards(ids, *rows)
    sizes = [int((where == shard).sum()) for shard in range(8)]
    assert max(sizes) < 1.2 * min(sizes)
    visits = 0
    for shard in range(8):
        own = pa.array([t for t, s in zip(texts, where.tolist(), strict=True) if s == shard])
        index = tg.DocumentIndex()
        for number, text in enumerate(summary(own, no_parameters(own.to_pylist()), made)):
            index.add(number, text)
        visits += sum(
            bool(index.match(f"<quote><symbol>{symbol}</symbol><price>7</price></quote>"))
            for symbol in symbols
        )
    assert visits == len(symbols)  # each document goes to one shard only


def test_patterns_that_nothing_tells_apart_are_spread_by_their_ids() -> None:
    texts = ["//quote[price < 7]"] * 1_000 + ["/*"]
    rows = pa.array(texts), no_parameters(texts)
    made = plan(*rows, PatternLanguage(), 4)
    where = made.shards(pa.array([f"id{n}" for n in range(len(texts))]), *rows)
    assert {int((where[:-1] == shard).sum()) for shard in range(4)} <= set(range(180, 320))
    assert where[-1] == 0
    assert summary(rows[0][-2:], rows[1][-2:], made) == [EVERYTHING]


# -- kinds


def test_a_base_without_a_kind_is_one_of_attributes(tmp_path: Path) -> None:
    schema = tg.Schema("price double")
    store = Store.create(tmp_path / "store", schema)
    assert store.kind == "attributes"
    store.add("cheap", "price < 10")
    base = streams.write_base(store, schema=schema)
    (manifest,) = Path(store.path, "bases").glob("base-*.json")
    said = json.loads(manifest.read_text())
    assert said.pop("kind") == "attributes"
    manifest.write_text(json.dumps(said))
    assert catalog.named(store.path, base.name) == base
    assert base.read_kind() == Attributes(schema)
    manifest.write_text(json.dumps({**said, "kind": "pictures"}))
    with pytest.raises(tg.TidegateError, match="damaged: there is no kind 'pictures'"):
        catalog.named(store.path, base.name)


def test_a_base_of_patterns_says_so(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store", kind="xml", namespaces=NAMESPACES)
    store.add("a", "//p:d")
    base = streams.write_base(store, kind=KIND)
    assert (base.kind, base.read_kind()) == ("xml", Documents(NAMESPACES))
    assert catalog.fingerprint(KIND) == base.events != catalog.fingerprint(Documents())


def test_what_is_for_attributes_only_is_refused_of_patterns(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store", kind="xml")
    nothing = cast(Any, SimpleNamespace(isStreaming=False))
    with pytest.raises(tg.TidegateError, match="statistics is for filters on attributes"):
        gather(nothing, store)
    with pytest.raises(tg.TidegateError, match="an analysis is for filters on attributes"):
        analyse(nothing, store)
    with pytest.raises(tg.TidegateError, match="negative space is for filters on attributes"):
        negative_space(nothing, store)
