"""What people see: pictures, diagrams, tables, and the command. Snapshots lie beside this file.

They are of results written down by hand, or of runs whose messages follow from the protocol.
"""

import io
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tests import ROOT
from tests.overlay.words import Words
from tests.simulate.networks import between, network
from tidegate.cli import app
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.messages import (
    Acknowledge,
    Advertise,
    Change,
    Entry,
    Hello,
    Message,
    Refuse,
)
from tidegate.simulate.counters import Result, count
from tidegate.simulate.picture import layout, picture
from tidegate.simulate.report import report
from tidegate.simulate.sequence import Recorder, describe
from tidegate.simulate.topology import Topology, balanced, line, random_tree, star

SNAPSHOTS = Path(__file__).parent / "snapshots"
EXAMPLES = ROOT / "docs" / "scenarios"
SVG = "{http://www.w3.org/2000/svg}"


def check_snapshot(name: str, text: str) -> None:
    """Compare with what was written down; to renew it, delete the file and run again, twice."""
    path = SNAPSHOTS / name
    if not path.exists():
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path} was not there, and has been written: look at it")
    assert text == path.read_text(encoding="utf-8")


def small() -> Result:
    net = network(star(4))
    net.client("c1", "b1").subscribe_many([between(i, i + 2) for i in range(5)])
    net.client("c2", "b2").subscribe(between(0, 9))
    publisher = net.client("p", "b3")
    net.run()
    for value in range(5):
        publisher.publish({"x": value})
    net.run()
    return count(net, "a small star", 1)


def run_diagram() -> Recorder:
    net = network(line(3))
    ann, bob = net.client("ann", "b0"), net.client("bob", "b1")
    carl = net.client("carl", "b2")
    net.run()
    recorder = Recorder(net)
    own = ann.subscribe(between(1, 9))
    net.run()
    bob.subscribe(between(2, 3))
    net.run()
    carl.publish({"x": 2})
    net.run()
    ann.cancel(own)
    net.run()
    carl.publish({"x": 2})
    net.run()
    return recorder


def test_a_sequence_diagram_as_text() -> None:
    check_snapshot("sequence.txt", run_diagram().text(["ann", "b0", "bob", "b1", "b2", "carl"]))


def test_a_sequence_diagram_as_mermaid() -> None:
    check_snapshot("sequence.mmd", run_diagram().mermaid(["ann", "b0", "bob", "b1", "b2", "carl"]))


def test_acknowledgements_are_shown_on_demand() -> None:
    net = network(line(2))
    ann = net.client("ann", "b0")
    net.run()
    recorder = Recorder(net, everything=True)
    ann.subscribe(between(1, 9))
    net.run()
    assert [(x.start, x.end) for x in recorder.steps] == [("ann", "b0"), ("b0", "b1"), ("b1", "b0")]
    assert recorder.steps[-1].text == "acknowledge 1"
    assert [x.time for x in recorder.steps] == sorted(x.time for x in recorder.steps)


F, G = Words(frozenset("f")), Words(frozenset("g"))


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (Change(3, (Entry(1, F),), (Entry(2, G),), (7,)), "change 3: +1 <f>, ~2 <g>, -7"),
        (Advertise(1, (Entry(1, F),), whole=True), "advertise 1: everything +1 <f>"),
        (Refuse(1, None, "why"), "refuse: why"),
        (Hello(2, 1, 5), "hello: life 2, heard 5 of life 1"),
        (Acknowledge(4), "acknowledge 4"),
    ],
)
def test_messages_in_a_few_words(message: Message, said: str) -> None:
    assert describe(message, Attributes()) == said


def test_a_picture_shows_every_broker_and_link() -> None:
    result = small()
    root = ElementTree.fromstring(picture(result))
    circles = [x for x in root.iter(f"{SVG}circle") if x.find(f"{SVG}title") is not None]
    lines = [x for x in root.iter(f"{SVG}line") if x.find(f"{SVG}title") is not None]
    assert len(circles) == 4
    assert len(lines) == 3
    texts = [x.text for x in root.iter(f"{SVG}text")]
    for broker in result.brokers:
        at = texts.index(broker.name)
        assert texts[at : at + 4] == [broker.name] * 2 + [str(broker.entries)] * 2
    assert "a small star" in texts


def _title(shape: ElementTree.Element) -> str:
    return shape.findtext(f"{SVG}title") or ""


def test_larger_tables_are_larger_circles_and_more_traffic_is_a_wider_line() -> None:
    result = small()
    root = ElementTree.fromstring(picture(result))
    circles = [x for x in root.iter(f"{SVG}circle") if x.find(f"{SVG}title") is not None]
    entries = [broker.entries for broker in result.brokers]
    areas = [float(circle.attrib["r"]) ** 2 - 8.0**2 for circle in circles]
    for area, own in zip(areas, entries, strict=True):
        assert area == pytest.approx(own / max(entries) * (30.0**2 - 8.0**2), abs=4)
    lines = [x for x in root.iter(f"{SVG}line") if x.find(f"{SVG}title") is not None]
    widths = {_title(x).split(":")[0]: float(x.attrib["stroke-width"]) for x in lines}
    bytes_of = dict.fromkeys(widths, 0)
    for lane in result.lanes:
        for name in (f"{lane.start} - {lane.end}", f"{lane.end} - {lane.start}"):
            if name in bytes_of:
                bytes_of[name] += sum(lane.bytes.values())
    for name, width in widths.items():
        assert width == pytest.approx(1 + 11 * bytes_of[name] / max(bytes_of.values()), abs=0.06)


@pytest.mark.parametrize(
    "topology", [line(1), line(7), star(9), balanced(2, 4), balanced(3, 2), random_tree(40, 3)]
)
def test_no_two_brokers_are_drawn_at_one_place(topology: Topology) -> None:
    links = [(edge.first, edge.second) for edge in topology.edges]
    places = layout(list(topology.names), links)
    assert list(places) == list(topology.names)
    assert len(set(places.values())) == len(places)
    spots = sorted(places.values())
    for i, a in enumerate(spots):
        for b in spots[i + 1 :]:
            assert abs(a.x - b.x) + abs(a.y - b.y) > 60  # two of the largest circles


def test_names_are_escaped() -> None:
    net = network(Topology(("a<b&c",), ()))
    net.run()
    text = picture(count(net, "<x>"))
    assert ElementTree.fromstring(text) is not None
    assert "a&lt;b&amp;c" in text


def test_a_report_shows_the_totals() -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    report(small(), console)
    shown = console.export_text()
    assert "a small star, seed 1, policy covering" in shown
    assert "5 published" in shown
    assert "missed" in shown
    for name in ("b0", "b1", "b2", "b3"):
        assert name in shown
    assert "recovery" not in shown


def test_a_report_shows_how_long_brokers_took_to_recover_and_what_was_news() -> None:
    net = network(line(3), "xroute")
    ann, bob = net.client("ann", "b0"), net.client("bob", "b1")
    for client, high in ((ann, 9), (ann, 9), (bob, 9), (ann, 5)):
        client.subscribe(between(1, high))
        net.run()
    net.crash("b1")
    ann.subscribe(between(1, 7))
    net.run()
    net.restart("b1")
    net.run()
    console = Console(width=100, record=True, file=io.StringIO())
    report(count(net), console)
    shown = console.export_text()
    rows = [line.split() for line in shown.splitlines() if line.startswith(("b0 ", "b1 ", "b2 "))]
    # Duplicate, supplementary, new, and cancelled: b1 has one of bob's own, and hears of all.
    assert [row[1:5] for row in rows[3:6]] == [
        ["1", "1", "3", "0"],
        ["3", "1", "1", "0"],
        ["4", "0", "1", "0"],
    ]
    assert "40.0 ms at most, of b1" in shown


def run(*arguments: str) -> tuple[int, str]:
    said = CliRunner().invoke(app, ["simulate", *arguments])
    return said.exit_code, said.output


def test_the_command_prints_counters_and_writes_files(tmp_path: Path) -> None:
    out, drawn = tmp_path / "result.json", tmp_path / "overlay.svg"
    scenario = str(EXAMPLES / "crash.toml")
    code, said = run(scenario, "--out", str(out), "--picture", str(drawn), "--seed", "4")
    assert code == 0, said
    assert "a broker crash and restart, seed 4, policy covering" in said
    result = json.loads(out.read_text())
    assert result["seed"] == 4
    assert result["reproducible"]
    assert len(result["brokers"]) == 6
    assert result["costs"]["inserts"] > 0
    assert ElementTree.parse(drawn).getroot().tag == f"{SVG}svg"


def test_the_command_takes_another_policy() -> None:
    code, said = run(str(EXAMPLES / "crash.toml"), "--policy", "flood")
    assert code == 0
    assert "policy flood" in said


@pytest.mark.parametrize(
    "arguments",
    [("nowhere.toml",), ("{crash}", "--policy", "none"), ("{crash}", "--out", "/nowhere/x.json")],
)
def test_what_is_refused_is_said_without_a_traceback(arguments: tuple[str, ...]) -> None:
    code, said = run(*(each.format(crash=EXAMPLES / "crash.toml") for each in arguments))
    assert code == 2
    assert "error:" in said
    assert "Traceback" not in said
