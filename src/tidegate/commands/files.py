"""Where does a command write what it has found?

Into a file that the user names. Whether that can be is asked before anything takes its time, and
again when it is done.
"""

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from tidegate.errors import TidegateError


def check_writable(*paths: Path | None) -> None:
    """Refuse places where nothing can be written; None stands for nothing to write."""
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise TidegateError(f"{path} cannot be written: it is a folder")
        if not path.parent.is_dir():
            raise TidegateError(f"{path} cannot be written: there is no folder {path.parent}")


def write(path: Path, text: str, console: Console) -> None:
    """Write a file, and say so."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TidegateError(f"{path} cannot be written: {error.strerror}") from None
    console.print(f"wrote {escape(str(path))}")
