"""Patterns for documents from the command line, used as a person uses them."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from tidegate.cli import app
from tidegate.pipeline import Store

QUOTE = "<quote><symbol>IBM</symbol><price>9.5</price></quote>"
PATTERNS = """\
id,filter,subscriber,limit
alice,//quote[symbol = 'IBM'][price < $limit],,10
bob,//trade[@venue],robert,
"""
BAD = "carol,price < 10,,\ndave,//q:a,,\n"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("patterns.csv").write_text(PATTERNS)
    Path("rules.csv").write_text("id,filter\ncheap,price < 10\n")
    events = [{"n": 1, "body": QUOTE}, {"n": 2, "body": "<trade venue='X'/>"}]
    events += [{"n": 3, "body": "<trade"}]
    Path("events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    Path("incoming").mkdir()
    Path("incoming/1.xml").write_text(QUOTE)
    Path("incoming/2.xml").write_bytes(
        "<?xml version='1.0' encoding='utf-16'?><x/>".encode("utf-16")
    )
    Path("incoming/3.xml").write_text("<quote>")
    return tmp_path


def rows(folder: str) -> list[dict[str, Any]]:
    files = [path for path in Path(folder).rglob("*.parquet") if "_checkpoint" not in path.parts]
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


# -- explain


def test_explain_says_how_a_pattern_is_read(here: Path) -> None:
    said = run("explain", "/*//quote[price < $limit][price]")
    assert said.exit_code == 0, said.output
    assert "reads as    /*//quote[price < $limit][price]" in said.output
    assert "parameters  $limit" in said.output
    said = run("explain", "//*/a[b][b/c] | /d", "--set", "x=1")
    assert (said.exit_code, "no parameter $x; it has none" in said.output) == (2, True)
    said = run("explain", "//*/a[b][b/c] | /d")
    assert "asks for    /*//a/b[c]" in said.output or "asks for    /*//a[b[c]]" in said.output
    assert "or for      /d" in said.output


def test_explain_tells_why_a_document_does_not_pass(here: Path) -> None:
    pattern = "//quote[symbol = 'IBM'][price < $limit]"
    for document in (QUOTE, "incoming/1.xml"):
        said = run("explain", pattern, "--set", "limit=9", "--document", document)
        assert said.exit_code == 0, said.output
        assert "the document does not pass" in said.output
        assert "yes: //quote[symbol = 'IBM']" in said.output
        said = run("explain", pattern, "--set", "limit=10", "--document", document)
        assert "the document passes" in said.output
    spaced = ("explain", "//p:a", "--namespace", "p=urn:p", "--document", "<a xmlns='urn:p'/>")
    assert "the document passes" in run(*spaced).output


def test_the_order_of_branches_is_part_of_the_text(here: Path) -> None:
    said = run("explain", "ordered: /a[b][c]", "--document", "<a><c/><b/></a>")
    assert "reads as    ordered: /a[b][c]" in said.output
    assert "asks for    ordered: /a[b][c]" in said.output
    assert "all of them hold, but not for the same element in this order" in said.output
    assert run("relate", "/a[b][c]", "ordered: /a[b][c]").output.startswith("covers: ")
    Path("some.jsonl").write_text('{"id": "ann", "filter": "ordered: /a[b][c]"}\n')
    assert run("subs", "import", "store", "some.jsonl").exit_code == 0
    assert "ann  ordered: /a[b][c]" in run("subs", "list", "store").output
    assert Store.open("store").kind == "xml"


def test_explain_notes_patterns_that_all_or_no_documents_pass(here: Path) -> None:
    assert "every document passes it" in run("explain", "/*").output
    assert "no document passes it" in run("explain", "/a[@k = 1][@k = 2]").output


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("//a", "--event", "{}"), "--event is not for a pattern; say --document"),
        (("price < 1", "--document", "<a/>"), "--document is not for a condition"),
        (("//a[b = $c]", "--document", "<a/>"), "unbound parameters: $c"),
        (("//a", "--document", "<a"), "not well-formed: unclosed token"),
        (("//a", "--document", "none.xml"), "none.xml is no document, which begins with <"),
        (("//p:a",), "the prefix p is not bound"),
        (("//p:a", "--namespace", "p"), "--namespace takes PREFIX=URI, not 'p'"),
        (("//a[count(b) = 1]",), "count() is not a function of the language"),
    ],
)
def test_explain_refuses_with_a_reason(here: Path, arguments: tuple[str, ...], reason: str) -> None:
    said = run("explain", *arguments)
    assert said.exit_code == 2
    assert reason in said.output


# -- relate


@pytest.mark.parametrize(
    ("first", "second", "relation"),
    [
        ("/*//a", "//*/a", "equal"),
        ("//a", "/b/a[@c = 1]", "covers"),
        ("/b/a[@c = 1]", "//a", "covered"),
        ("/a", "/b", "disjoint"),
        ("//a[b]", "//a[c]", "unknown"),
    ],
)
def test_relate_names_the_relation_of_patterns(first: str, second: str, relation: str) -> None:
    said = run("relate", first, second)
    assert said.exit_code == 0
    assert said.output.startswith(f"{relation}: ")
    assert "event" not in said.output


def test_relate_refuses_to_compare_a_pattern_with_a_condition() -> None:
    said = run("relate", "//a", "price < 10")
    assert said.exit_code == 2
    assert "no events in common" in " ".join(said.output.split())


# -- subs


def test_a_file_of_patterns_makes_a_store_of_patterns(here: Path) -> None:
    Path("some.csv").write_text(PATTERNS + BAD)
    said = run("subs", "import", "store", "some.csv")
    assert said.exit_code == 1
    assert "loaded 2 of 4 subscriptions, version 1" in said.output
    assert "some.csv:4: a subscription to documents begins at the document" in said.output
    assert "some.csv:5: the prefix q is not bound to a namespace" in said.output
    store = Store.open("store")
    assert (store.kind, store.get("alice").parameters) == ("xml", {"limit": 10})
    assert run("subs", "update", "store", "alice", "--set", "limit=8").exit_code == 0
    assert (
        "alice  //quote[symbol = 'IBM'][price < $limit]  with limit = 8"
        in run("subs", "list", "store").output
    )
    assert (
        "is of the kind xml"
        in run("subs", "import", "store", "rules.csv", "--kind", "attributes").output
    )
    wrong = run("subs", "import", "store", "rules.csv")
    assert (wrong.exit_code, "begins nowhere" in wrong.output) == (1, True)


def test_a_store_knows_its_namespaces(here: Path) -> None:
    made = run("subs", "create", "store", "--kind", "xml", "--namespace", "q=urn:q")
    assert made.exit_code == 0, made.output
    assert run("subs", "add", "store", "dave", "//q:a").exit_code == 0
    said = run("subs", "import", "store", "patterns.csv", "--namespace", "q=urn:other")
    assert "has other namespaces" in said.output
    assert run("subs", "import", "store", "patterns.csv", "--namespace", "q=urn:q").exit_code == 0
    said = run("subs", "create", "other", "--namespace", "q=urn:q")
    assert (said.exit_code, "say kind='xml' as well" in said.output) == (2, True)
    assert not Path("other").exists()


# -- match


@pytest.mark.usefixtures("spark")
def test_patterns_are_matched_with_a_column_of_documents(here: Path) -> None:
    said = run(
        *("match", "--subscriptions", "patterns.csv", "--events", "events.jsonl"),
        *("--document", "body", "--out", "alerts"),
    )
    assert said.exit_code == 0, said.output
    found = rows("alerts")
    assert sorted((row["n"], row["subscription"]) for row in found if not row["error"]) == [
        (1, "alice"),
        (2, "bob"),
    ]
    assert [row["error"] for row in found if row["n"] == 3] == [
        "body: unclosed token (line 1, column 0)"
    ]
    assert "body" not in found[0]


@pytest.mark.usefixtures("spark")
def test_xml_files_are_documents_in_a_batch_and_in_a_stream(here: Path) -> None:
    assert run("subs", "import", "store", "patterns.csv").exit_code == 0
    assert run("subs", "add", "store", "all", "/").exit_code == 0
    common = ("match", "--subscriptions", "store", "--events", "incoming")
    said = run(*common, "--out", "once", "--output", "counts")
    assert said.exit_code == 0, said.output
    counts = {Path(row["path"]).name: (row["matches"], row["error"]) for row in rows("once")}
    assert counts == {
        "1.xml": (2, None),
        "2.xml": (1, None),
        "3.xml": (None, "content: no element found (line 1, column 7)"),
    }
    stream = (*common, "--out", "alerts", "--stream", "--once")
    assert run(*stream).exit_code == 0
    Path("incoming/4.xml").write_text("<trade venue='Y'/>")
    said = run(*stream)
    assert said.exit_code == 0, said.output
    pairs = sorted((Path(row["path"]).name, row["subscription"]) for row in rows("alerts")
                   if row["error"] is None)  # fmt: skip
    assert pairs == [
        ("1.xml", "alice"),
        ("1.xml", "all"),
        ("2.xml", "all"),
        ("4.xml", "all"),
        ("4.xml", "bob"),
    ]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("patterns.csv", "--events", "events.jsonl"), "patterns.csv has patterns for documents"),
        (("store", "--events", "events.jsonl"), "has patterns for documents: say --document"),
        (("rules.csv", "--events", "incoming"), "rules.csv has filters on attributes"),
        (("attributes", "--events", "incoming"), "has filters on attributes, and these events"),
        (("store", "--events", "incoming", "--namespace", "p=urn:p"), "a store has its own"),
        (("store", "--events", "events.jsonl", "--document", "Body"), "there is 'body'"),
    ],
)
@pytest.mark.usefixtures("spark")
def test_match_refuses_what_does_not_go_together(
    here: Path, arguments: tuple[str, ...], reason: str
) -> None:
    assert run("subs", "import", "store", "patterns.csv").exit_code == 0
    assert run("subs", "import", "attributes", "rules.csv").exit_code == 0
    said = run("match", "--out", "alerts", "--subscriptions", *arguments)
    assert said.exit_code == 2
    assert reason in " ".join(said.output.split())
    assert not Path("alerts").exists()
