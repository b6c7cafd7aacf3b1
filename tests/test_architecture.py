"""Does the map of the house lead anywhere? Every path and name in it is looked up in the code."""

import ast
import re

import pytest

from docs.pictures.draw import PICTURES
from tests import ROOT
from tests.code_names import PACKAGE, all_names, defined_in, file_of
from tests.test_house import ROOMS

MAP = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PROSE = re.sub(r"^```.*?^```$", "", MAP, flags=re.MULTILINE | re.DOTALL)
CODES = re.findall(r"`([^`]+)`", PROSE)
PATHS = sorted({code for code in CODES if "/" in code or code.endswith((".py", ".md", ".txt"))})
NAMES = sorted({code for code in CODES if re.fullmatch(r"[A-Za-z_][\w.]*", code)} - set(PATHS))
NOT_OURS = {"price", "urgent", "console"}
"""What is code of somebody else: attributes of the example, and a kind of fence."""


def test_every_path_leads_somewhere() -> None:
    assert len(PATHS) > 100
    found = {path: file_of(path.removeprefix("tidegate/")) for path in PATHS}
    assert [path for path, file in found.items() if file is None] == []
    assert [
        path for path, file in found.items() if file and file.is_dir() != path.endswith("/")
    ] == []


@pytest.mark.slow
def test_every_name_is_in_the_code() -> None:
    assert len(NAMES) > 100
    assert [name for name in NAMES if name not in all_names() | NOT_OURS] == []


def test_every_picture_is_shown() -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    assert sorted(re.findall(r"\(pictures/(\w+\.svg)\)", pages)) == sorted(PICTURES)


def test_a_name_that_follows_a_file_is_in_that_file() -> None:
    asked = 0
    for path, names in re.findall(r"`([\w/]+\.py)`((?:,? `[A-Za-z_][\w.]*(?<!\.py)`)+)", PROSE):
        file = file_of(path)
        assert file is not None
        for name in re.findall(r"`([^`]+)`", names):
            asked += 1
            assert name in defined_in(file), f"{path} defines no {name}"
    assert asked > 60


@pytest.mark.parametrize("folder", ROOMS)
def test_every_room_is_listed_with_its_question_in_order(folder: str) -> None:
    listed = re.findall(rf"^- `{folder}/(\w+)/`: (.+)$", PROSE, re.MULTILINE)
    rooms = [room for room in ROOMS[folder] if (PACKAGE / folder / room).is_dir()]
    assert [room for room, _ in listed] == rooms
    for room, question in listed:
        head = ast.get_docstring(ast.parse((PACKAGE / folder / room / "__init__.py").read_text()))
        assert head is not None
        said = head.partition("\n")[0]
        assert question == said[0].lower() + said[1:]


GLOSSARY = re.findall(
    r"^- \*\*(.+?)\*\*: (.+) `([\w/]+\.py)`$",
    (ROOT / "CONTRIBUTING.md").read_text("utf-8"),
    re.MULTILINE,
)


def test_every_word_has_one_meaning_and_a_home() -> None:
    assert len(GLOSSARY) > 90
    words = [word for word, _, _ in GLOSSARY]
    assert [word for word in words if words.count(word) > 1] == []
    assert [path for _, _, path in GLOSSARY if file_of(path) is None] == []


def test_every_list_of_words_is_in_order() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    _, _, text = text.partition("## Words")
    lists = re.findall(r"(?:^- \*\*.+\n)+", text.partition("\n## ")[0], re.MULTILINE)
    assert len(lists) > 5
    for lines in lists:
        words = re.findall(r"^- \*\*(.+?)\*\*", lines, re.MULTILINE)
        assert words == sorted(words)


@pytest.mark.parametrize(("word", "path"), [(word, path) for word, _, path in GLOSSARY])
def test_a_word_is_used_where_it_is_at_home(word: str, path: str) -> None:
    file = file_of(path)
    assert file is not None
    plain = re.sub(r" \(.*\)$", "", word)
    stem = re.sub(r"(ed|es|s|e)$", "", plain.split()[-1])
    assert re.search(stem, path + file.read_text("utf-8"), re.IGNORECASE)


def test_what_is_not_there_is_noticed() -> None:
    assert file_of("engine/cupboard.py") is None
    assert file_of("cupboard.py") is None
    assert "Index.cupboard" not in all_names()
    assert "cupboard" not in all_names()
    assert "Index.match" not in defined_in(PACKAGE / "engine" / "scan.py")
