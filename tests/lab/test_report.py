"""A report is one page that needs nothing else, says everything, and survives what is missing."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.lab.test_runner import cheap
from tidegate.cli import app
from tidegate.lab.experiments.experiment import Plot, Point
from tidegate.lab.experiments.rows import Rows, Spread
from tidegate.lab.experiments.subsumption import REDUNDANT, WAYS_TO_CHOOSE
from tidegate.lab.experiments.xnet_thesis import FILTERING
from tidegate.lab.report.findings import Curve, Finding, findings
from tidegate.lab.report.markdown import markdown
from tidegate.lab.report.page import page, state
from tidegate.lab.report.plots import draw
from tidegate.lab.runner.results import Results
from tidegate.lab.runner.tasks import compute, planned

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of some experiments, as tasks write them."""
    folder = tmp_path_factory.mktemp("runs")
    results = Results(folder)
    for task in planned([cheap(3)], "small", results)[0]:
        assert compute(task, results) is None
    for dimensions, found in ((2, 90), (3, 40), (4, 5)):
        for way, more in (("exact", 2), ("approximate", 1), ("covering", 0)):
            point: Point = {"count": 100, "dimensions": dimensions, "way": way}
            row = {
                **point,
                "at": [50, 100],
                "redundant": [found // 2 + more, found + more],
                "rectangles": [10, 10**dimensions],
                "cpu": 0.001,
                "experiment": "subsumption-redundant",
                "scale": "small",
                "seed": 1,
                "version": "0+made up",
                "data": "",
                "machine": "<none>",
                "seconds": 1.0,
                "finished": "2001-01-01T00:00:00+00:00",
                "timings": ["cpu"],
            }
            results.write(results.path("subsumption-redundant", "small", point, 1), row)
    return folder


def test_the_page_is_well_formed_and_needs_nothing(runs: Path) -> None:
    found = findings([REDUNDANT, WAYS_TO_CHOOSE], Results(runs), ["paper", "small"])
    assert [each.experiment for each in found] == [REDUNDANT]
    text = page(found)
    tree = ET.fromstring(text.removeprefix("<!DOCTYPE html>"))
    assert not [each for each in tree.iter() if "src" in each.attrib or "href" in each.attrib]
    assert "@import" not in text
    assert "url(" not in text
    assert "&lt;none&gt;" in text
    plots = list(tree.iter(f"{SVG}svg"))
    assert len(plots) == len(REDUNDANT.plots)
    assert all(each.findtext(f"{SVG}desc") for each in plots)
    for each in found[0].decided():
        assert each.stated.text in text
    assert text.index("claims hold") < text.index("<h2")
    assert "tidegate lab run subsumption-redundant --scale small" in text


def test_claims_are_decided_by_the_rows(runs: Path) -> None:
    [found] = findings([REDUNDANT], Results(runs), ["small"])
    decided = {each.claim.name: state(each) for each in found.decided()}
    assert decided["subsumption-more-than-covering"] == "held"
    assert decided["subsumption-most-in-2d"] == "partly"  # 92 of 100
    lacking = Finding(REDUNDANT, "small", found.rows.where(way="covering"))
    assert {state(each) for each in lacking.decided()} == {"open"}


def test_a_claim_of_growth_is_open_where_one_size_was_run() -> None:
    point = {"documents": 1, "patterns": 1_000, "xtrie": 1.0, "index": 1.0, "seed": 1}
    found = Finding(FILTERING, "paper", Rows([point]))
    assert [state(each) for each in found.decided()] == ["open"]
    assert found.missing == 2


def test_printed_values_stand_beside_ours(runs: Path) -> None:
    [found] = findings([REDUNDANT], Results(runs), ["small"])
    curves = found.curves(REDUNDANT.plots[1])
    assert [each.label for each in curves if each.printed] == ["2D", "3D", "4D"]
    text = markdown([found], "results")
    assert "| 10,000 | – | – | – | 66 | 22,230 | – |" in text
    assert "1,000" in text


def test_places_of_different_curves_rise_in_a_table(runs: Path) -> None:
    [found] = findings([REDUNDANT], Results(runs), ["small"])
    other = {2: [50, 100], 3: [60, 100], 4: [30, 100]}
    rows = Rows([{**row, "at": other[row["dimensions"]]} for row in found.rows])
    text = markdown([Finding(REDUNDANT, "small", rows)], "results")
    table = text[text.index("Redundant subscriptions found (Figs. 10, 11), by subscriptions:") :]
    assert [line.split()[1] for line in table.splitlines()[4:8]] == ["30", "50", "60", "100"]


def test_a_band_reaches_over_seeds_and_names_are_places() -> None:
    rows = Rows([{"way": w, "n": n} for w, n in (("b", 1), ("b", 3), ("a", 5))])
    [low, high] = rows.curve("way", "n")
    assert high == Spread("b", 2.0, 1, 3)
    plot = Plot("t", "way", ("n",), "way", "n", order=("b", "a"))
    text = draw(plot, [Curve("n", [low, high])])
    assert "fill-opacity" in text
    assert text.index(">b</text>") < text.index(">a</text>")


def test_the_command_lists_and_reports(runs: Path, tmp_path: Path) -> None:
    shell = CliRunner()
    listed = shell.invoke(app, ["lab", "list"])
    assert listed.exit_code == 0
    assert "subsumption-redundant" in listed.output
    told = shell.invoke(app, ["lab", "report", "--runs", str(runs), "--out", str(tmp_path)])
    assert told.exit_code == 0, told.output
    assert (tmp_path / "index.html").exists()
    assert (tmp_path / "results.md").exists()
    assert len(list((tmp_path / "results").glob("*.svg"))) == 3
    for words, said in (
        (["lab", "run", "nothing"], "there is no experiment 'nothing'"),
        (["lab", "run", "rehearsal", "--only", "start"], "--only takes NAME=VALUE"),
        (["lab", "report", "--runs", str(tmp_path / "no"), "--out", str(tmp_path)], "no rows in"),
        (["lab", "report", "--runs", str(runs), "--out", "/proc/none"], "cannot write to"),
    ):
        refused = shell.invoke(app, words)
        assert refused.exit_code == 2
        assert said in refused.output


def test_published_rows_are_taken_up_again(runs: Path, tmp_path: Path) -> None:
    shell = CliRunner()
    out, fresh = tmp_path / "out", tmp_path / "fresh"
    told = shell.invoke(app, ["lab", "report", "--runs", str(runs), "--out", str(out)])
    assert told.exit_code == 0, told.output
    published = out / "results" / "rows"
    words = ["lab", "adopt", str(published), "--runs", str(fresh)]
    told = shell.invoke(app, words)
    assert told.exit_code == 0, told.output
    assert "9 rows adopted;" in told.output
    assert "0 rows adopted, 9 were there already" in shell.invoke(app, words).output
    theirs, ours = (
        sorted(map(str, Results(each).rows("subsumption-redundant", "small")))
        for each in (runs, fresh)
    )
    assert theirs == ours
    assert [each.name for each in fresh.rglob("*.parquet")] == [
        each.name for each in (runs / "subsumption-redundant").rglob("*.parquet")
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("none.txt", "", "there are no published rows in"),
        ("gone-small.jsonl", "", "there is no experiment and scale gone-small"),
        ("xnet-space-small.jsonl", "{", "xnet-space-small.jsonl, line 1 is not JSON"),
        ("xnet-space-small.jsonl", "[]", "line 1 is not a row of the lab"),
        ("xnet-space-small.jsonl", '{"patterns": 5}', "line 1 is not a row of this experiment"),
    ],
)
def test_what_is_not_published_rows_is_refused(
    name: str, text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    words = ["lab", "adopt", str(tmp_path), "--runs", str(tmp_path / "runs")]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    assert said in " ".join(refused.output.split())
