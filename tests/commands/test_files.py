"""Results go where the user says, or are refused before anything takes its time."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tidegate.cli import app
from tidegate.commands.files import check_writable, write
from tidegate.errors import TidegateError

SCENARIOS = Path(__file__).parents[2] / "docs" / "scenarios"


def test_a_file_that_may_be_written_is_no_objection(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("old")
    check_writable(None, tmp_path / "there", tmp_path / "not yet", Path("here"))


@pytest.mark.parametrize(("name", "wrong"), [(".", "a folder"), ("no/file", "there is no folder")])
def test_what_cannot_be_written_is_refused_with_the_reason(
    tmp_path: Path, name: str, wrong: str
) -> None:
    with pytest.raises(TidegateError, match=f"cannot be written: .*{wrong}"):
        check_writable(None, tmp_path / name)


def test_what_is_written_is_said(tmp_path: Path) -> None:
    said = io.StringIO()
    write(tmp_path / "a [b]", "text", Console(file=said, width=500))
    assert (tmp_path / "a [b]").read_text() == "text"
    assert said.getvalue() == f"wrote {tmp_path / 'a [b]'}\n"
    with pytest.raises(TidegateError, match="cannot be written: Is a directory"):
        write(tmp_path, "text", Console(file=said))


@pytest.mark.parametrize("command", [("simulate", "trade.toml"), ("peers", "peers-news.toml")])
@pytest.mark.parametrize("option", ["--out", "--picture"])
def test_simulations_do_not_begin_in_vain(command: tuple[str, str], option: str) -> None:
    name, scenario = command
    found = CliRunner().invoke(app, [name, str(SCENARIOS / scenario), option, "no/folder/file"])
    assert found.exit_code == 2
    assert "there is no folder no/folder" in " ".join(found.output.split())
