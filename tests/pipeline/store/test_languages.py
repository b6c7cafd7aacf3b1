"""A store keeps filters of its own kind, and refuses what is not."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tidegate.errors import FilterError, ParameterError, StoreError
from tidegate.filters.literals import spell
from tidegate.pipeline import Store
from tidegate.pipeline.store.language import XML
from tidegate.pipeline.store.languages import stored_language
from tidegate.pipeline.store.literals import PARAMETERS, given_maps
from tidegate.pipeline.store.pattern_language import PatternLanguage
from tidegate.pipeline.store.proposal import ADD, propose

SPACES = {"p": "urn:p"}
TEXTS = (
    "//a[@k = $x]",
    "//a[position() = $x]",
    "//a[b < $x]/c[position() = $y]",
    "//p:a[. != $y][$y > @k]",
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.decimals(-5, 5, places=2),
    st.sampled_from(["", "x", "it's", "\0", "ü\x01", "\ud7ff\ufffe", "a\\b", "1"]),
    st.dates(),
)


@given(rows=st.lists(st.tuples(st.sampled_from(TEXTS), VALUES, VALUES), min_size=1, max_size=25))
@settings(max_examples=200 if os.environ.get("TIDEGATE_LONG") == "1" else 40, deadline=None)
def test_a_row_is_refused_if_and_only_if_its_values_are(rows: list[tuple[str, Any, Any]]) -> None:
    given: list[dict[str, Any]] = []
    for text, x, y in rows:
        names = tg.parse_xpath(text, namespaces=SPACES).parameters
        given.append({name: value for name, value in {"x": x, "y": y}.items() if name in names})
    maps = [[(name, spell(value)) for name, value in each.items()] for each in given]
    proposal = propose(
        np.full(len(rows), ADD, np.int8),
        pa.array([f"id{row}" for row in range(len(rows))]),
        None,
        pa.array([text for text, _, _ in rows]),
        given_maps(pa.array(maps, PARAMETERS)),
        PatternLanguage(SPACES),
    )
    refused = {row for row, _ in proposal.refusals.sorted()}
    for row, ((text, _, _), values) in enumerate(zip(rows, given, strict=True)):
        try:
            _ = tg.parse_xpath(text, namespaces=SPACES).bind(**values).patterns
            assert row not in refused
        except tg.TidegateError:
            assert row in refused


def test_a_store_of_patterns_keeps_its_kind_and_its_namespaces(tmp_path: Path) -> None:
    Store.create(tmp_path / "store", kind="xml", namespaces=SPACES)
    store = Store.open(tmp_path / "store")
    assert (store.kind, store.language, store.schema) == (XML, PatternLanguage(SPACES), None)
    store.add("text", "//p:a[b < $limit]", parameters={"limit": 7})
    store.add("parsed", tg.parse_xpath("//q:a", namespaces={"q": "urn:p"}))
    assert store.get("parsed").filter == "//p:a"
    store.add("ordered", tg.parse_xpath("//q:a[b][c]", namespaces={"q": "urn:p"}, ordered=True))
    assert store.get("ordered").filter == "ordered: //p:a[b][c]"
    store.update("text", limit="x")
    assert store.get("text").parameters == {"limit": "x"}
    store.compact()
    assert Store.open(tmp_path / "store").kind == XML


def test_a_store_made_before_there_were_kinds_has_filters_on_attributes(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store", tg.Schema("price double"))
    settings = DeltaTable(f"{store.path}/changes").metadata().configuration
    assert "tidegate.kind" not in settings
    assert "tidegate.schema" in settings
    assert store.kind == "attributes"
    with pytest.raises(StoreError, match="filters of the kind 'pictures'"):
        stored_language({"kind": "pictures"}, "there")
    with pytest.raises(StoreError, match="the namespaces in the log of there are damaged"):
        stored_language({"kind": "xml", "namespaces": "[1]"}, "there")


def test_filters_of_the_other_kind_are_refused(tmp_path: Path) -> None:
    attributes = Store.create(tmp_path / "attributes")
    patterns = Store.create(tmp_path / "patterns", kind="xml")
    with pytest.raises(FilterError, match="//a is a pattern for documents"):
        attributes.add("a", "//a")
    with pytest.raises(FilterError, match="ordered: //a is a pattern for documents"):
        attributes.add("a", "ordered: //a")
    with pytest.raises(tg.TidegateError, match="and //a is a XPath"):
        attributes.add("a", tg.parse_xpath("//a"))
    with pytest.raises(FilterError, match="begins nowhere"):
        patterns.add("a", "price < 10")
    with pytest.raises(tg.TidegateError, match="and price < 10 is a Filter"):
        patterns.add_many(pa.table({"id": ["a"]}), filter=tg.parse("price < 10"))
    with pytest.raises(ParameterError, match=r"no parameter \$y; it has \$x"):
        patterns.add("a", "//a[b = $x]", parameters={"x": 1, "y": 2})
    with pytest.raises(tg.TidegateError, match="prefixes of the store; it knows none"):
        patterns.add("a", tg.parse_xpath("//p:a", namespaces=SPACES))
    assert attributes.version() == patterns.version() == 0


def test_what_a_kind_does_not_have_is_refused(tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"kind": "pictures"}, "one of attributes, xml, not 'pictures'"),
        ({"kind": "xml", "schema": tg.Schema("a int")}, "a schema is of attributes"),
        ({"namespaces": SPACES}, "say kind='xml' as well"),
        ({"kind": "xml", "namespaces": {"p": 1}}, "a map from prefixes to URIs"),
    ]
    for arguments, reason in wrong:
        with pytest.raises(tg.TidegateError, match=reason):
            Store.create(tmp_path / "store", **arguments)
    assert not Store.exists(tmp_path / "store")
