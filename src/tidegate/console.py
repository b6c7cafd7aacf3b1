"""Where does Tidegate print for people?"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Final

from rich.console import Console

out: Final = Console(highlight=False, soft_wrap=True)
err: Final = Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def waiting(text: str) -> Iterator[Callable[[], None]]:
    """Say what is being waited for, where somebody is watching, until told that it is over."""
    with err.status(text) if err.is_terminal else nullcontext() as shown:
        yield shown.stop if shown is not None else lambda: None
