"""The command `tidegate tour`: the language and the index, by examples."""

from tidegate.console import out
from tidegate.lab.tour import tour as show


def tour() -> None:
    """Tour the language and the index: what filters say, how they relate, who wants an event."""
    show(out)
