"""What do the documents print?

The numbers and claims of the five documents, restated in `printed.toml` with where they are printed
and the line of the text they were read from. Times are of machines of 2003 to 2010: of these,
shapes and ratios can be compared, not seconds.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Document:
    """One of the five."""

    name: str
    title: str


@dataclass(frozen=True)
class Printed:
    """Curves of a figure, or columns of a table: values against `x`, by the name of the curve."""

    where: str
    lines: str
    x: Sequence[float | str]
    series: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Stated:
    """A claim in our words, and where it is printed."""

    name: str
    document: str
    where: str
    lines: str
    text: str


@cache
def documents() -> Mapping[str, Document]:
    """All documents, by their short names."""
    return {name: Document(name, title) for name, title in _data()["documents"].items()}


@cache
def printed(name: str) -> Printed:
    """Printed values by their name."""
    own = _data()["values"][name]
    return Printed(own["where"], own["lines"], own["x"], own["series"])


@cache
def claims() -> Mapping[str, Stated]:
    """All claims, by their names."""
    return {name: Stated(name, **own) for name, own in _data()["claims"].items()}


@cache
def _data() -> dict[str, dict[str, Any]]:
    text = (files("tidegate.lab.experiments") / "printed.toml").read_text("utf-8")
    return tomllib.loads(text)
