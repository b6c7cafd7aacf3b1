"""Do the pictures of the documentation show what is there? They are drawn anew and compared."""

import doctest
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from docs.pictures import house, layers, svg
from docs.pictures.draw import PICTURES
from tests import ROOT
from tests.code_names import all_names, file_of

pytestmark = pytest.mark.slow

FOLDER = ROOT / "docs" / "pictures"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all pictures, drawn anew.

    In a process of its own, because sizes are changed while an index is compiled for one of them.
    """
    folder = tmp_path_factory.mktemp("pictures")
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    subprocess.run(
        [sys.executable, "-m", "docs.pictures.draw", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "7"},
        check=True,
        timeout=300,
    )
    return folder


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_what_is_there(name: str, drawn: Path) -> None:
    kept, new = ((folder / name).read_text("utf-8") for folder in (FOLDER, drawn))
    assert kept == new, f"docs/pictures/{name} is out of date: run `make pictures`"


def test_every_picture_is_drawn() -> None:
    assert {file.name for file in FOLDER.glob("*.svg")} == set(PICTURES)


@pytest.mark.parametrize("name", PICTURES)
def test_what_a_picture_names_is_there(name: str) -> None:
    tree = ElementTree.parse(FOLDER / name)
    texts = [*tree.iter(f"{SVG}text"), *tree.iter(f"{SVG}tspan")]
    said = [each.text or "" for each in texts if each.get("class") == "code"]
    names = [one for text in said for one in text.split(", ")]
    assert names
    for one in names:
        if one.endswith(".py"):
            assert file_of(one), f"there is no file {one}"
        else:
            assert one in all_names() or file_of(one), f"nothing is called {one}"


@pytest.mark.parametrize("module", [layers, svg], ids=lambda module: module.__name__)
def test_examples_print_what_is_shown(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module)
    assert tried
    assert not failed


def test_an_import_that_is_new_is_an_arrow_that_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    before, graph = house.draw(), house.rooms("engine")
    graph["scan"] |= {"segments"}
    monkeypatch.setattr(
        house,
        "rooms",
        lambda folder, rooms=house.rooms: graph if folder == "engine" else rooms(folder),
    )
    assert house.draw() != before


@pytest.mark.parametrize("folder", [None, "engine", "pipeline"])
def test_arrows_lead_wherever_imports_do(folder: str | None) -> None:
    graph = house.rooms(folder) if folder else house.folders()
    fewer = layers.reduced(graph)
    assert sum(map(len, fewer.values())) < sum(map(len, graph.values()))
    for node in graph:
        assert _reached(fewer, node) == _reached(graph, node)
        for goal in fewer[node]:
            without = {**fewer, node: fewer[node] - {goal}}
            assert goal not in _reached(without, node)


def _reached(graph: dict[str, set[str]], node: str) -> set[str]:
    return set(graph[node]).union(*(_reached(graph, goal) for goal in graph[node]))
