"""The hook that looks at commit messages."""

import subprocess
from pathlib import Path

import pytest

from tests import ROOT

HOOK = ROOT / ".githooks" / "commit-msg"


def refusal(message: str, folder: Path) -> str:
    """What the hook says against a message; nothing if it lets it through."""
    file = folder / "message"
    file.write_text(message, encoding="utf-8")
    run = subprocess.run([str(HOOK), str(file)], capture_output=True, text=True, check=False)
    assert (run.returncode == 0) == (run.stderr == "")
    return run.stderr


@pytest.mark.parametrize(
    "message",
    [
        "Read filters by a parser of our own\n",
        "Read filters by a parser of our own\n\nBecause it is faster; and shorter.\n",
        "x" * 72,
        "Swipe cards are events\n",
        "Merge branch 'wip'\n",
        "Say what a zone is\n# Please enter the commit message\n",
        "# a comment\nÄndere das Gießen von Größen, wie man sie spricht\n",
    ],
)
def test_one_finished_change_is_let_through(message: str, tmp_path: Path) -> None:
    assert refusal(message, tmp_path) == ""


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("", "say what the change does"),
        ("# only comments\n", "say what the change does"),
        ("x" * 73, "more than 72 characters"),
        ("wip", "not finished"),
        ("WIP: parser", "not finished"),
        ("Add the parser (wip)", "not finished"),
        ("fixup! Add the parser", "the commit that it belongs to"),
        ("Add the parser; mend the lexer", "one idea each"),
        ("Add the parser.", "no full stop"),
        ("Add the parser\nbecause", "the second line is empty"),
    ],
)
def test_anything_else_is_refused_with_the_reason(message: str, why: str, tmp_path: Path) -> None:
    assert why in refusal(message, tmp_path)
