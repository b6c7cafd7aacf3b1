"""The index of documents: what lxml says of each pair is what it finds, whatever has happened."""

import os
import sys
import threading
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from lxml import etree

import tidegate as tg
from tests.documents.generate import NAMESPACES, Writer, document
from tidegate.documents.index import DocumentIndex
from tidegate.documents.matching import segment as segments
from tidegate.documents.matching import workspace
from tidegate.documents.matching.compiler import Compiler
from tidegate.documents.matching.segment import Segment
from tidegate.documents.matching.workspace import Workspace
from tidegate.documents.reading.limits import Limits
from tidegate.documents.reading.reader import Reader
from tidegate.documents.reading.rows import rows_of
from tidegate.documents.values import number
from tidegate.documents.xpath import XPath, parse_xpath
from tidegate.engine.changes import merger
from tidegate.engine.segments.live import Live
from tidegate.errors import DocumentError, IndexFileError, ParameterError, SubscriptionError
from tidegate.lab.workloads.dtds import data_folder

LONG = os.environ.get("TIDEGATE_LONG") == "1"
PAIRS = (40, 250) if LONG else (25, 60)


def table(filters: list[str], first: int = 0) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + len(filters))), "filter": filters})


def index_of(filters: list[str]) -> DocumentIndex:
    index = DocumentIndex(namespaces=NAMESPACES)
    index.add_many(table(filters))
    return index


def segment_of(index: DocumentIndex) -> Segment:
    (live,) = index._content.lives
    return cast(Segment, live.segment)


def pairs(index: DocumentIndex, documents: object) -> set[tuple[int, int]]:
    found = index.match_batch(documents)
    listed = list(zip(*found.to_pydict().values(), strict=True))
    assert len(listed) == len(set(listed)), "a pair came twice"
    return set(listed)


def by_lxml(filters: list[str], documents: list[str]) -> set[tuple[int, int]]:
    trees = [etree.ElementTree(etree.fromstring(text)) for text in documents]
    asked = [etree.XPath(f"boolean({text})", namespaces=NAMESPACES) for text in filters]
    return {(d, f) for d, tree in enumerate(trees) for f, ask in enumerate(asked) if ask(tree)}


# -- against lxml


@given(st.integers(0, 2**32))
@settings(max_examples=100 if LONG else 12)
def test_all_pairs_are_those_that_lxml_finds(seed: int) -> None:
    random = Random(seed)
    documents = [document(random) for _ in range(PAIRS[0])]
    filters = [Writer(random).expression() for _ in range(PAIRS[1])]
    index = index_of(filters)
    expected = by_lxml(filters, documents)
    assert pairs(index, documents) == expected
    counts = index.count_batch(documents)
    assert counts.tolist() == [sum(d == row for d, _ in expected) for row in range(len(documents))]
    row = random.randrange(len(documents))
    assert sorted(index.match(documents[row])) == sorted(f for d, f in expected if d == row)


@pytest.mark.parametrize(
    "filters",
    [
        ["/a", "/b", "//a", "/*", "//*", "/a/b", "/a//b", "/*/a", "//a/*", "/*//b//*"],
        ["//@k", "/a/@k", "/a//@k", "//*/@k", "//b//@m", "/*[@k]", "//a[@k][@m]", "//@*"],
        ["//text()", "/a/text()", "/a//text()", "//b[text()]", "//b[text()='x'][text()='1']"],
        ["//a[.='x']", "//a[.=1]", "/*[.!='']", "//b[.>=1]", "//a[@k>1][@k<3]", "//a[@k!=1]"],
        ["/a[b][c]", "//a[b/c][.//b]", "/a[b[c[@k=1]]]", "//b[c][@k]//a[.//c[text()]]"],
        ["/*[//a]", "/a[//b]", "/a | /b", "//a[b or c]", "//a[b][1]", "//a[2]", "//b[last()]"],
        ["//a[starts-with(@k,'1')]", "//a[contains(.,'x')]", "//*[starts-with(.,'')]"],
    ],
)
def test_each_part_of_the_language_by_itself(filters: list[str]) -> None:
    filters = [text for text in filters if _is_allowed(text)]
    random = Random(str(filters))
    documents = [document(random, 20) for _ in range(150)]
    assert pairs(index_of(filters), documents) == by_lxml(filters, documents)


def _is_allowed(text: str) -> bool:
    try:
        parse_xpath(text, namespaces=NAMESPACES)
    except tg.FilterError:
        return False
    return True


LONG_NUMBERS = ("100000000000000000000000", "0.30000000000000004", "9007199254740993", "1" * 400)
ODD_NUMBERS = ("1e3", "+1", "--1", "Infinity", "NaN", "5.0e", "", " ", "\t7\r\n", "-0", "00012")
NUMBERS = (
    *LONG_NUMBERS,
    *ODD_NUMBERS,
    *("0.1", "1.118", "1.14", "3.", "-.5", "123456789012345", "1234567890123456"),
    "0." + "0" * 330 + "1",
)


@pytest.mark.parametrize("where", ["@k", "text()", "."])
def test_values_are_the_numbers_that_xpath_says(where: str) -> None:
    values = [number(value) for value in NUMBERS]
    finite = [repr(v) for v in values if v == v and abs(v) < 1e15 and "e" not in repr(v)]
    filters = [f"/a[{where} {op} {v}]" for v in finite for op in ("=", "!=", "<", ">=")]
    inner = [value.replace("\r", "&#13;").replace("\n", "&#10;") for value in NUMBERS]
    documents = [f'<a k="{v}">{v}</a>'.replace("\t", "&#9;") for v in inner]
    index = index_of(filters)
    expected = {
        (d, f)
        for d, text in enumerate(documents)
        for f, filter in enumerate(filters)
        if parse_xpath(filter).matches(text)
    }
    assert expected
    assert pairs(index, documents) == expected


# -- layouts, sizes, errors


def test_documents_come_in_any_layout_and_number() -> None:
    random = Random(5)
    filters = [Writer(random).expression() for _ in range(60)]
    documents = [document(random) for _ in range(600)]
    index = index_of(filters)
    whole = pairs(index, documents)
    column = pa.array(documents)
    assert pairs(index, column) == whole
    assert pairs(index, column.cast(pa.large_binary())) == whole
    assert pairs(index, pa.chunked_array([column[:7], column[7:7], column[7:]])) == whole
    assert pairs(index, column.dictionary_encode()) == whole
    assert pairs(index, [each.encode() for each in documents]) == whole
    for size in (0, 1, 255, 257):
        assert pairs(index, documents[:size]) == {(d, f) for d, f in whole if d < size}


def test_a_document_that_cannot_be_read_does_not_stop_the_others() -> None:
    index = index_of(["//a", "/b"])
    batch = ["<a/>", "<a", "<b/>", None, "<c>&nbsp;</c>"]
    refused: dict[int, str] = {}
    assert set(zip(*index.match_batch(batch, refused).to_pydict().values(), strict=True)) == {
        (0, 0),
        (2, 1),
    }
    assert list(refused) == [1, 3, 4]
    assert index.count_batch(batch, {}).tolist() == [1, 0, 1, 0, 0]
    with pytest.raises(DocumentError, match="row 1 cannot be read: unclosed token"):
        index.match_batch(batch)
    with pytest.raises(DocumentError, match="row 1"):
        index.count_batch(batch)
    with pytest.raises(DocumentError, match="cannot be read"):
        index.match("<a")
    with pytest.raises(DocumentError, match="more than 3 elements"):
        DocumentIndex(limits=Limits(depth=3)).match("<a><a><a><a/></a></a></a>")


def test_documents_that_are_read_once_are_matched_with_several_indexes() -> None:
    random = Random(3)
    documents = [document(random) for _ in range(60)] + ["<a", "<b/>"]
    reader = Reader()
    for some in (documents[:30], documents[30:]):  # the names of the second batch are known
        read = reader.read(rows_of(some))
        for _ in range(3):
            index = index_of([Writer(random).expression() for _ in range(40)])
            refused: dict[int, str] = {}
            assert index.match_batch(read, refused) == index.match_batch(some, {})
            assert refused == read.refused
            assert index.count_batch(read, {}).tolist() == index.count_batch(some, {}).tolist()


def test_the_public_name_is_there() -> None:
    assert tg.DocumentIndex is DocumentIndex


def test_what_is_refused_changes_nothing() -> None:
    index = index_of(["/a"])
    wrong: list[tuple[int | str, str, type[Exception]]] = [
        (0, "/b", SubscriptionError),
        (1, "a", tg.FilterError),
        (1, "/a[", tg.FilterError),
        (1, "/a[@k = $x]", ParameterError),
        ("x", "/a", SubscriptionError),
    ]
    for id, text, problem in wrong:
        with pytest.raises(problem):
            index.add(id, text)
    with pytest.raises(SubscriptionError):
        index.add_many(pa.table({"id": [1, 1], "filter": ["/a", "/b"]}))
    with pytest.raises(tg.FilterError):
        index.add_many(pa.table({"id": [1, 2], "filter": ["/a", "b["]}))
    with pytest.raises(tg.TidegateError, match="column 'id'"):
        index.add_many(pa.table({"filter": ["/a"]}))
    with pytest.raises(ParameterError):
        index.add_many(pa.table({"id": [1], "filter": ["/a[@k = $x]"]}))
    with pytest.raises(SubscriptionError):
        index.remove(9)
    with pytest.raises(SubscriptionError):
        index.remove_many([0, 9])
    with pytest.raises(ParameterError, match=r"no parameter \$x; it has none"):
        index.update(0, x=1)
    assert len(index) == 1
    assert list(index.match("<a/>")) == [0]


def test_filters_of_one_text_come_with_their_parameters() -> None:
    index = DocumentIndex()
    rows = pa.table({"id": ["a", "b", "c"], "low": [1, 5, 9], "word": ["x", "y", "x"]})
    index.add_many(rows, filter="/q[@p > $low][@w = $word]")
    assert sorted(index.match("<q p='7' w='x'/>")) == ["a"]
    index.update("c", low=3)
    assert sorted(index.match("<q p='7' w='x'/>")) == ["a", "c"]
    assert dict(index.get("c").parameters) == {"low": 3, "word": "x"}
    index.flush()
    assert sorted(index.match("<q p='7' w='x'/>")) == ["a", "c"]
    assert str(index.get("b").filter) == "/q[@p > $low][@w = $word]"


def test_many_are_updated_together_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for at_once in (3, 10_000):  # as a segment, and pending
        monkeypatch.setattr(merger, "_AT_ONCE", at_once)
        index = DocumentIndex()
        rows = {"id": ["a", "b", "c"], "low": [1, 5, 9], "word": ["x", "y", "x"]}
        index.add_many(pa.table(rows), filter="/q[@p > $low][@w = $word]")
        index.add("d", "/q[@p > $low]", low=9)
        index.add("e", "/q")
        index.update_many(pa.table({"id": ["d", "c", "e"], "low": [6, 6, None]}))
        assert sorted(index.match("<q p='7' w='x'/>")) == ["a", "c", "d", "e"]
        index.update_many(pa.table({"id": ["a", "d"], "low": [None, 2], "word": ["x", None]}))
        assert sorted(index.match("<q p='7' w='x'/>")) == ["c", "d", "e"]
        assert dict(index.get("a").parameters) == {"low": None, "word": "x"}
        wrong: list[tuple[dict[str, list[object]], type[Exception], str]] = [
            ({"id": ["b", "z"], "low": [1, 1]}, SubscriptionError, "there is no subscription 'z'"),
            ({"id": ["b", "b"], "low": [1, 1]}, SubscriptionError, "more than once"),
            ({"id": ["b", "e"], "low": [1, 1]}, ParameterError, "no parameter \\$low; it has none"),
            ({"id": ["b", "d"], "low": [True, None]}, tg.FilterError, "cannot be True"),
            ({"low": [1]}, SubscriptionError, "no column id"),
        ]
        for columns, problem, reason in wrong:
            with pytest.raises(problem, match=reason):
                index.update_many(pa.table(columns))
        assert sorted(index.match("<q p='5.5' w='y'/>")) == ["b", "d", "e"]
        assert len(index) == 5


def test_a_row_that_is_refused_is_named() -> None:
    index = DocumentIndex()
    wrong: list[tuple[dict[str, list[object]], type[Exception], str]] = [
        ({"filter": ["/a", "/b["]}, tg.FilterError, "a step is missing"),
        ({"filter": ["/a", "/b[c = $x]"], "y": [None, None]}, ParameterError, "no column for"),
        ({"filter": ["/a", "/b[c = $x]"], "x": [None, True]}, tg.FilterError, "cannot be True"),
        ({"filter": ["/b[c = $x]", "/a"], "x": [1, 2]}, ParameterError, "no parameter"),
    ]
    for columns, problem, reason in wrong:
        with pytest.raises(problem, match=reason) as caught:
            index.add_many(pa.table({"id": ["one", "two"], **columns}))
        assert caught.value.__notes__ == ["in row 1, subscription 'two'"]
    assert len(index) == 0


def test_filters_that_are_no_texts_are_refused() -> None:
    index = DocumentIndex()
    for wrong in (5, None, b"/a"):
        with pytest.raises(tg.TidegateError, match="an XPath expression or its text"):
            index.add("a", wrong)  # type: ignore[arg-type]
    with pytest.raises(SubscriptionError, match="filters are texts"):
        index.add_many(pa.table({"id": ["a"], "filter": [5]}))
    with pytest.raises(SubscriptionError, match="no filter: it is NULL"):
        index.add_many(pa.table({"id": ["a"], "filter": pa.array([None], pa.string())}))
    twice = pa.table([["a"], ["/a"], ["/b"]], names=["id", "filter", "filter"])
    with pytest.raises(tg.TidegateError, match="2 columns named filter"):
        index.add_many(twice)


@pytest.mark.parametrize(
    "value", [7, 2.5, "x", None, Decimal("2.50"), np.int64(7), np.float32(0.5), 10**400, -(2**63)]
)
def test_values_of_any_type_are_saved(value: object, tmp_path: Path) -> None:
    index = DocumentIndex()
    index.add("a", "/a[. = $x]", x=value)
    index.add("b", "/a[. = $x or b]", x=1)
    index.save(tmp_path / "i")
    again = DocumentIndex.open(tmp_path / "i")
    assert again.get("a") == index.get("a")
    for text in ("<a>7</a>", "<a>2.5</a>", "<a>x</a>", "<a/>", "<a>0.5</a>"):
        assert again.match(text) == index.match(text)
    again.update("a", x=2.5)
    assert again.match("<a>2.5</a>") == ["a"]


def test_ordered_patterns_are_met_in_order_only() -> None:
    index = DocumentIndex()
    index.add("ordered", parse_xpath("/a[b][c]", ordered=True))
    index.add("any", "/a[b][c]")
    index.add_many(pa.table({"id": ["text"], "filter": ["ordered: /a[b][c]"]}))
    index.flush()
    assert sorted(index.match("<a><b/><c/></a>")) == ["any", "ordered", "text"]
    assert sorted(index.match("<a><c/><b/></a>")) == ["any"]
    assert "tried one by one" in str(index.describe())
    assert index.get("ordered") == replace(index.get("text"), id="ordered")
    assert "not for the same element in this order" in str(index.explain("text", "<a><c/><b/></a>"))


def test_explain_says_which_part_does_not_hold() -> None:
    index = DocumentIndex()
    index.add("a", "//a[@k = $x]/b", x=1)
    told = index.explain("a", "<a k='2'><b/></a>")
    assert not told
    assert "no: //a[@k = 1]" in str(told)
    assert index.explain("a", "<a k='1'><b/></a>").matches


def test_equal_patterns_are_kept_once() -> None:
    filters = ["/*//a", "//*/a", "/a[b][c]", "/a[c][b]", "/a[b and c]"] * 100
    assert len(segment_of(index_of(filters)).parts.target_node) == 2


# -- automata that would be too large


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def small(plan: object, words: object, targets: int, most: int) -> Workspace:
        return Workspace(plan, words, targets, 1)  # type: ignore[arg-type]

    monkeypatch.setattr(segments, "Workspace", small)


def test_states_that_do_not_fit_are_forgotten_and_the_answers_stay(little_memory: None) -> None:
    random = Random(11)
    filters = [f"//a{'/*' * n}/b" for n in range(1, 9)]
    filters += [f"//a[.//c{'/*' * n}/b]" for n in range(6)]
    filters += [f"//c[b[.//a{'/*' * n}]]" for n in range(6)]
    documents = []
    for _ in range(6):
        inner = ""
        for _ in range(800):
            name = random.choice("abc")
            inner = f"<{name}>{inner}</{name}>" if random.random() < 0.12 else f"<{name}/>{inner}"
        documents.append(f"<a>{inner}</a>")
    index = index_of(filters)
    index.limits = Limits(depth=1_000)
    assert pairs(index, documents) == by_lxml(filters, documents)
    (work,) = segment_of(index)._free
    made = int(work.trunks.memory.counts[4]) + int(work.ways.memory.counts[4])
    assert made > 4 * (work.trunks.states + work.ways.states)
    assert work.nbytes < 2**21


@given(st.integers(0, 2**32))
@settings(max_examples=3, deadline=None)
def test_with_little_memory_all_pairs_are_the_same(seed: int) -> None:
    random = Random(seed)
    documents = [document(random, 60) for _ in range(40)]
    filters = [Writer(random).expression() for _ in range(80)]
    index = index_of(filters)
    segment_of(index).memory = 1
    assert pairs(index, documents) == by_lxml(filters, documents)


def test_numbers_of_elements_begin_anew_before_they_are_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = Random(4)
    filters = [Writer(random).expression() for _ in range(80)]
    documents = [document(random) for _ in range(60)]
    index = index_of(filters)
    expected = by_lxml(filters, documents)
    monkeypatch.setattr(workspace, "_TOKENS", 0)
    for _ in range(3):
        assert pairs(index, documents) == expected


# -- changes

TEXTS = [Writer(Random(seed)).expression() for seed in range(40)] + [
    "//a[@k = $x]",
    "/a[b > $x]",
    "//b[@m < $x][c]",
    "//c[text() = $x]/b",
    "ordered: //a[b][c]",
    "ordered: //a[@k = $x][.//c][b]",
]
DOCUMENTS = [document(Random(seed), 20) for seed in range(30)]


class Changes(RuleBasedStateMachine):
    """An index and a dictionary of single filters, under the same changes."""

    def __init__(self) -> None:
        super().__init__()
        self.index = DocumentIndex(namespaces=NAMESPACES)
        self.model: dict[int, tuple[str, dict[str, object]]] = {}
        self.next = 0

    def _put(self, text: str, x: object) -> dict[str, object]:
        parameters = {"x": x} if "$x" in text else {}
        self.model[self.next] = (text, parameters)
        self.next += 1
        return parameters

    @rule(text=st.sampled_from(TEXTS), x=st.sampled_from([1, 2.5, "x", None]))
    def add(self, text: str, x: object) -> None:
        id = self.next
        self.index.add(id, text, **self._put(text, x))

    @rule(texts=st.lists(st.sampled_from(TEXTS[:40]), min_size=1, max_size=30))
    def add_many(self, texts: list[str]) -> None:
        self.index.add_many(table(texts, self.next))
        for text in texts:
            self._put(text, None)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(sorted(self.model)))
        del self.model[id]
        self.index.remove(id)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def remove_many(self, data: st.DataObject) -> None:
        ids = data.draw(st.lists(st.sampled_from(sorted(self.model)), unique=True, max_size=20))
        self.index.remove_many(pa.array(ids, pa.int64()))
        for id in ids:
            del self.model[id]

    @precondition(lambda self: any(p for _, p in self.model.values()))
    @rule(data=st.data(), x=st.sampled_from([1, 2, 0.5, "y"]))
    def update(self, data: st.DataObject, x: object) -> None:
        with_parameters = [id for id, (_, p) in self.model.items() if p]
        id = data.draw(st.sampled_from(with_parameters))
        self.index.update(id, x=x)
        self.model[id] = (self.model[id][0], {"x": x})

    @precondition(lambda self: any(p for _, p in self.model.values()))
    @rule(data=st.data(), x=st.sampled_from([1, 2, 0.5, None]))
    def update_many(self, data: st.DataObject, x: object) -> None:
        with_parameters = [id for id, (_, p) in self.model.items() if p]
        ids = data.draw(st.lists(st.sampled_from(with_parameters), unique=True))
        column = pa.array([x] * len(ids), pa.float64())
        self.index.update_many(pa.table({"id": pa.array(ids, pa.int64()), "x": column}))
        for id in ids:
            self.model[id] = (self.model[id][0], {"x": x})

    @rule()
    def flush(self) -> None:
        self.index.flush()

    @rule()
    def save_and_open(self) -> None:
        with TemporaryDirectory() as folder:
            self.index.save(f"{folder}/i")
            self.index = DocumentIndex.open(f"{folder}/i")

    @rule(document=st.sampled_from(DOCUMENTS))
    def match_one(self, document: str) -> None:
        assert sorted(self.index.match(document)) == [
            id
            for id, (text, parameters) in sorted(self.model.items())
            if _bound(text, tuple(parameters.items())).matches(document)
        ]

    @rule(rows=st.lists(st.integers(0, len(DOCUMENTS) - 1), min_size=1, max_size=6))
    def match_many(self, rows: list[int]) -> None:
        batch = [DOCUMENTS[row] for row in rows]
        assert pairs(self.index, batch) == {
            (place, id)
            for place, text in enumerate(batch)
            for id, (filter, parameters) in self.model.items()
            if _bound(filter, tuple(parameters.items())).matches(text)
        }

    @invariant()
    def has_as_many(self) -> None:
        assert len(self.index) == len(self.model)


@cache
def _bound(text: str, parameters: tuple[tuple[str, object], ...]) -> XPath:
    return parse_xpath(text, namespaces=NAMESPACES).bind(**dict(parameters))


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=60 if LONG else 8, stateful_step_count=15)


def test_segments_that_are_merged_hold_what_they_held() -> None:
    random = Random(3)
    filters = [[Writer(random).expression() for _ in range(40)] for _ in range(4)]
    documents = [document(random) for _ in range(40)]
    parts: list[Segment] = []
    for place, some in enumerate(filters):
        index = DocumentIndex(namespaces=NAMESPACES)
        index.add_many(table(some, 40 * place))
        parts.append(segment_of(index))
    kept = [np.array(sorted(random.sample(range(40), 25))) for _ in parts]
    merged, codes = Compiler().merge(parts, kept)
    assert codes.tolist() == list(range(100))
    chosen = [40 * part + code for part, some in enumerate(kept) for code in some.tolist()]
    assert merged.ids.to_pylist() == chosen
    index = DocumentIndex(namespaces=NAMESPACES)
    index._content.lives.append(Live(merged))  # type: ignore[arg-type]
    index._content.kind, index._content.size = int, 100
    flat = [text for some in filters for text in some]
    expected = {(d, f) for d, f in by_lxml(flat, documents) if f in set(chosen)}
    assert pairs(index, documents) == expected
    for code in random.sample(range(100), 20):
        again = merged.originals.subscription(code, 0).filter
        assert again == parse_xpath(flat[chosen[code]], namespaces=NAMESPACES)


def test_readers_see_whole_versions_while_others_write() -> None:
    index = DocumentIndex()
    index.add_many(table([f"/a/b{n % 50}" for n in range(2_000)]))
    text = "<a>" + "".join(f"<b{n}/>" for n in range(50)) + "<c k='1'/></a>"
    problems: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            for found in (index.match(text), index.match_batch([text])["subscription"].to_pylist()):
                extra = [id for id in found if int(id) >= 10_000]
                if len(found) - len(extra) != 2_000:
                    problems.append(len(found))
                if len(extra) % 3:
                    problems.append(extra)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        for round in range(25):
            first = 10_000 + 3 * round
            index.add_many(table(["//c", "/a/c[@k=1]", "/a[b1]/c"], first))
            if round % 3 == 2:
                index.remove_many([first, first + 1, first + 2])
            if round == 20:
                index.flush()
    finally:
        sys.setswitchinterval(interval)
        done.set()
        for thread in threads:
            thread.join()
    assert not problems


def test_threads_have_states_of_their_own() -> None:
    random = Random(8)
    filters = [Writer(random).expression() for _ in range(100)]
    documents = [document(random, 30) for _ in range(100)]
    index = index_of(filters)
    expected = by_lxml(filters, documents)
    found: list[set[tuple[int, int]]] = []
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        found.append(pairs(index, documents))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


# -- files


def test_what_was_saved_is_opened(tmp_path: Path) -> None:
    random = Random(9)
    filters = [Writer(random).expression() for _ in range(80)]
    documents = [document(random) for _ in range(40)]
    index = index_of(filters)
    index.add(1_000, "/a[@k = $x]", x=1)
    index.save(tmp_path / "i")
    again = DocumentIndex.open(tmp_path / "i")
    assert again.namespaces == NAMESPACES
    assert pairs(again, documents) == pairs(index, documents)
    again.update(1_000, x=2)
    again.add(2_000, "//p:d")
    again.remove(3)
    index.update(1_000, x=2)
    index.add(2_000, "//p:d")
    index.remove(3)
    assert pairs(again, documents) == pairs(index, documents)
    again.flush()
    assert pairs(again, documents) == pairs(index, documents)
    sealed = DocumentIndex.open(tmp_path / "i", read_only=True)
    with pytest.raises(tg.TidegateError, match="read only"):
        sealed.add(1, "/a")
    DocumentIndex().save(tmp_path / "empty")
    assert len(DocumentIndex.open(tmp_path / "empty")) == 0


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    index_of(["//a[@k = 'x']/b", "/c[d > 1]", "//e[2]"]).save(tmp_path / "i")
    whole = (tmp_path / "i").read_bytes()
    random = Random(1)
    for _ in range(150):
        data = bytearray(whole)
        at = random.randrange(len(data))
        data[at] ^= 1 << random.randrange(8)
        (tmp_path / "j").write_bytes(data)
        with pytest.raises(IndexFileError):
            DocumentIndex.open(tmp_path / "j")
    for size in (0, 10, 100, len(whole) - 1):
        (tmp_path / "j").write_bytes(whole[:size])
        with pytest.raises(IndexFileError):
            DocumentIndex.open(tmp_path / "j")
    other = tg.Index()
    other.add("a", "x = 1")
    other.save(tmp_path / "k")
    with pytest.raises(IndexFileError, match="no index of documents"):
        DocumentIndex.open(tmp_path / "k")


# -- what the field uses

DATA = data_folder() / "xml"
if DATA.exists():

    def test_the_query_sets_of_the_field_find_what_lxml_finds() -> None:
        import gzip
        import tarfile

        with tarfile.open(DATA / "nitf-documents.tar.gz") as archive:
            files = [archive.extractfile(member) for member in archive]
            documents = [file.read().decode() for file in files if file is not None]
        many: list[str] = []
        for name in ("queries-153928-d.txt.gz", "queries-500000.txt.gz"):
            with gzip.open(DATA / name, "rt") as lines:
                many += dict.fromkeys(line.strip() for line in lines)
        few = [
            line.strip()
            for name in ("queries-simple-paths.txt", "queries-predicates.txt")
            for line in (DATA / name).read_text().splitlines()
        ]
        random = Random(2)
        filters = few + random.sample(many, 20_000 if LONG else 1_500)
        documents = documents if LONG else random.sample(documents, 25)
        assert pairs(index_of(filters), documents) == by_lxml(filters, documents)
