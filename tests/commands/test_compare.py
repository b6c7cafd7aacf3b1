"""`tidegate compare`: a small scenario from the file to the table, the JSON and the page."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from tests import ROOT
from tidegate.cli import app
from tidegate.console import out
from tidegate.lab.comparison import probes, trial
from tidegate.lab.comparison.columns import TELLS
from tidegate.lab.comparison.contestants import CONTESTANTS
from tidegate.lab.workloads.sources import SOURCES
from tidegate.overlay.policy.covering import Covering
from tidegate.simulate.scenario import load

pytestmark = pytest.mark.slow

SUBSCRIPTIONS, BROKERS = 40, 3
NAME = "<small> & [bold]"
SMALL = f"""
name = "{NAME}"
seed = 3
[topology]
shape = "line"
brokers = {BROKERS}
[policy]
period = 2
[settings]
learn = 20
[workload]
like = "rectangles"
subscribers = 8
subscriptions = {SUBSCRIPTIONS}
publishers = 3
rate = 30
warmup = 2
duration = 4
"""


def compare(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["compare", *map(str, arguments)], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compare") / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture(scope="module", autouse=True)
def less_work() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probes, "DRAWS", 1)
        patch.setattr(probes, "_EVENTS", 30)
        patch.setattr(trial, "CHECKED", 50)
        yield


@pytest.fixture(scope="module")
def everything(scenario: Path) -> tuple[dict[str, Any], ElementTree.Element, str]:
    """All policies, once: the JSON's one comparison, the page as a tree, the page as text."""
    page = scenario.parent / "page.html"
    said = compare(scenario, "--json", "--out", page)
    assert said.exit_code == 0, said.output
    [found] = json.loads(said.stdout)["comparisons"]
    text = page.read_text(encoding="utf-8")
    return found, ElementTree.fromstring(text), text


def test_every_policy_is_there_and_loses_nothing(everything: Any) -> None:
    found, _, _ = everything
    assert found["name"] == NAME
    assert [each["policy"] for each in found["policies"]] == [each.name for each in CONTESTANTS]
    owed = found["policies"][0]["notifications"]
    assert owed > 50
    for each in found["policies"]:
        assert each["losses"] == {"missed": 0, "duplicated": 0, "unwanted": 0}
        assert each["notifications"] == owed
        assert each["event_cpu"] > 0


def test_plain_forwarding_and_flooding_cost_what_they_must(everything: Any) -> None:
    found, _, _ = everything
    by_name = {each["policy"]: each for each in found["policies"]}
    simple, flood = by_name["simple"], by_name["flood"]
    elsewhere = BROKERS - 1
    assert simple["entries"] == SUBSCRIPTIONS * elsewhere
    assert simple["associations"] == SUBSCRIPTIONS * elsewhere * 6  # two for each dimension
    assert simple["deregistration"]["messages"] == 2 * elsewhere  # and an answer to each
    assert found["cancellations"] == SUBSCRIPTIONS / 4
    everywhere = found["published"] * elsewhere
    assert flood["events"] == pytest.approx(everywhere / flood["notifications"])
    assert (flood["applicability"], flood["associations"], flood["matchings"]) == (1, 0, BROKERS)


def test_policies_save_what_they_are_for(everything: Any) -> None:
    found, _, _ = everything
    by_name = {each["policy"]: each for each in found["policies"]}
    plain = by_name["simple"]
    for name in ("covering", "subsumption"):
        assert by_name[name]["associations"] < plain["associations"]
        assert by_name[name]["events"] == plain["events"]
    for name in ("pruning before", "pruning", "pruning half", "covering + pruning"):
        assert by_name[name]["associations"] < plain["associations"], name
        assert by_name[name]["events"] >= plain["events"], name
        assert by_name[name]["applicability"] > 0, name


def test_the_page_needs_nothing_else(everything: Any) -> None:
    _, _, text = everything
    assert not re.search(r"https?:|//|src=|url\(|@import|<script|<link|<img", text)
    assert "default-src 'none'" in text
    assert 'name="viewport"' in text
    assert "@media print" in text


def test_the_page_has_a_panel_in_words_for_each_parameter(everything: Any) -> None:
    _, tree, _ = everything
    panels = tree.findall(".//svg")
    assert len(panels) == len(TELLS) == 6
    for panel, parameter in zip(panels, TELLS, strict=True):
        assert panel.get("role") == "img"
        assert (panel.findtext("title") or "").startswith(parameter)
        assert all(each.name in (panel.findtext("desc") or "") for each in CONTESTANTS)
        _, _, width, height = map(float, (panel.get("viewBox") or "").split())
        for rectangle in panel.findall("rect"):
            x, y, w, h = (float(rectangle.get(key) or "") for key in ("x", "y", "width", "height"))
            assert x >= 0
            assert x + w <= width
            assert y >= 0
            assert y + h <= height


def test_the_page_has_the_numbers_of_the_json(everything: Any) -> None:
    found, tree, text = everything
    assert "&lt;small&gt; &amp; [bold]" in text
    rows = tree.findall(".//tbody/tr")
    assert len(rows) == len(found["policies"])
    for row, each in zip(rows, found["policies"], strict=True):
        assert row.findtext("th") == each["policy"]
        cells = [(cell.text or "").replace(",", "").rstrip("%") for cell in row.findall("td")]
        changed, associations, kilobytes, events, *_ = cells
        assert float(changed) == pytest.approx(100 * each["applicability"], abs=0.5)
        assert int(associations) == each["associations"]
        assert float(kilobytes) == pytest.approx(each["bytes"] / 1e3, rel=0.01)
        assert float(events) == pytest.approx(each["events"], rel=0.01)
        messages, size, took = map(float, cells[-3:])
        assert messages == pytest.approx(each["deregistration"]["messages"], rel=0.01)
        assert size == pytest.approx(each["deregistration"]["bytes"], rel=0.01)
        assert took == pytest.approx(each["deregistration"]["cpu"] * 1e3, rel=0.1)


def test_the_table_is_printed_and_progress_told(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "_width", 200)
    said = compare(scenario, "--policies", "covering, flood")
    assert said.exit_code == 0, said.output
    lines = said.stdout.splitlines()
    assert lines[0].startswith(f"{NAME}: {BROKERS} brokers, {SUBSCRIPTIONS} subscriptions")
    assert [line.split()[0] for line in lines[3:]] == ["simple", "covering", "flood"]
    assert lines[1].split() == " ".join(TELLS).split()
    assert f"{NAME}, 33% done: covering" in said.stderr


def test_on_a_narrow_terminal_nothing_is_cut_off(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "_width", 60)
    said = compare(scenario, "--policies", "covering")
    assert said.exit_code == 0, said.output
    assert "…" not in said.stdout
    assert [line.split()[0] for line in said.stdout.splitlines()].count("covering") > 1
    for parameter in TELLS:
        assert parameter in said.stdout


def test_a_policy_that_loses_something_is_an_error(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Covering.step

    def losing(self: Covering, change: Any) -> Any:
        change.add = {number: f for number, f in change.add.items() if number % 2}
        change.remove = [number for number in change.remove if number % 2]
        return real(self, change)

    monkeypatch.setattr(Covering, "step", losing)
    said = compare(scenario, "--policies", "covering")
    assert said.exit_code == 2
    assert re.search(r"covering is wrong: [\d,]+ notifications missed, 0 duplicated", said.stdout)
    assert "error: deliveries are wrong by covering" in said.stderr


@pytest.mark.parametrize(
    ("content", "arguments", "said"),
    [
        (None, [], "cannot be read"),
        ("seed = ", [], "is not TOML"),
        (SMALL.replace("rectangles", "squares"), [], "workload.like is 'squares'; one of trade"),
        (SMALL + "[[faults]]\nat = 1\ncrash = 'b1'\n", [], "is not for comparing. faults"),
        (SMALL + "[brokers]\nqueue = 5\n", [], "is not for comparing. brokers.queue"),
        (SMALL, ["--policies", "covers"], "there is no policy 'covers' to compare, but simple"),
        (SMALL, ["--policies", ""], "there is no policy '' to compare"),
        (SMALL, ["--out", "nowhere/page.html"], "there is no folder"),
        (SMALL, ["--out", "."], "it is a folder"),
    ],
)
def test_what_is_wrong_is_said_at_once(
    content: str | None, arguments: list[str], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.toml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    if arguments[:1] == ["--out"]:
        arguments = ["--out", str(tmp_path / arguments[1])]
    found = compare(path, *arguments)
    assert found.exit_code == 2
    assert said in found.stderr
    assert found.stdout == ""


@pytest.mark.parametrize("name", ["trade", "books", "rectangles"])
def test_the_scenarios_of_the_documentation_can_be_compared(name: str) -> None:
    trial.refuse_unfit(load(ROOT / "docs" / "scenarios" / f"compare-{name}.toml", None, SOURCES))
