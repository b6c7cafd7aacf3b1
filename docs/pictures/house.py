"""Who imports whom? The house of Tidegate, drawn from the imports.

What the picture shows is read from the sources by the very function with which `tests/test_house`
checks them. An arrow says "imports"; where a folder imports another one only to reach what it also
reaches by other arrows, there is none. The rooms of the large folders are drawn inside them, by the
same rule.
"""

import ast
from collections.abc import Callable
from functools import cache
from typing import Final

from docs.pictures.layers import Placed, place, reduced
from docs.pictures.svg import BLUE, CODE_WIDE, GREEN, GREY, LINE, PALE, WHITE, WIDE, YELLOW, Picture
from tests.test_house import ORDER, PACKAGE, ROOMS, home, imported_names, room

_MARGIN: Final = 14.0
_ROOM: Final = 30.0  # the height of a room
_BETWEEN: Final = 24.0  # layers
_HEAD: Final = 48.0  # of a folder: its name and its question
_FILLS: Final = {"engine": GREEN, "pipeline": BLUE}
_SIZE: Final = 16  # of letters


@cache
def modules() -> list[tuple[str, list[str]]]:
    """The paths of all modules, and the dotted names that each imports."""
    return [
        (path, [name for _, name in imported_names(path, file.read_text("utf-8"))])
        for file in sorted(PACKAGE.rglob("*.py"))
        for path in [file.relative_to(PACKAGE).as_posix()]
    ]


def imports(
    place_of: Callable[[str], str | None], known: Callable[[str], str | None]
) -> dict[str, set[str]]:
    """For each place that modules are in, by their paths, the other places they import from.

    `known` says which place a dotted name is in.
    """
    found: dict[str, set[str]] = {}
    for path, names in modules():
        here = place_of(path)
        if here is not None:
            goals = {there for there in map(known, names) if there is not None and there != here}
            found.setdefault(here, set()).update(goals)
    return found


def folders() -> dict[str, set[str]]:
    """Which folder imports which."""

    def known(name: str) -> str | None:
        top, _, rest = name.partition(".")
        inside = rest.partition(".")[0]
        return inside if top == "tidegate" and inside in ORDER else None

    return imports(lambda path: home(path) if home(path) in ORDER else None, known)


def rooms(folder: str) -> dict[str, set[str]]:
    """Which room of a folder imports which; its `__init__.py` is none."""

    def place_of(path: str) -> str | None:
        return room(path) if home(path) == folder and room(path) in ROOMS[folder] else None

    def known(name: str) -> str | None:
        parts = name.split(".")
        inside = parts[:2] == ["tidegate", folder] and len(parts) > 2 and parts[2] in ROOMS[folder]
        return parts[2] if inside else None

    return imports(place_of, known)


def question(folder: str) -> str:
    """What a folder answers, by the first line of its docstring."""
    file = PACKAGE / folder / "__init__.py"
    if not file.exists():
        file = PACKAGE / f"{folder}.py"
    said = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return said.partition("\n")[0].partition(":")[0].replace("`", "")


def draw() -> str:
    """The whole house."""
    outer = reduced(folders())
    order = [folder for folder in ORDER if folder in outer]
    inside = {folder: _inside(folder) for folder in order if folder in ROOMS}
    sizes = {folder: (WIDE * 15 * len(question(folder)) + 30, _HEAD + 8) for folder in order}
    for folder, placed in inside.items():
        sizes[folder] = (placed.width + 2 * _MARGIN, _HEAD + placed.height + _MARGIN + 4)
    placed = place(outer, order, sizes, 30)
    picture = Picture(
        "The house of Tidegate",
        "Folders of src/tidegate, each above those that it imports; in engine and pipeline, rooms.",
    )
    for points in placed.arrows:
        picture.arrow([(x + _MARGIN, y + _MARGIN) for x, y in points])
    for folder in order:
        middle, top = placed.place[folder]
        width, height = sizes[folder]
        left, top = middle - width / 2 + _MARGIN, top + _MARGIN
        picture.box(left, top, width, height, _FILLS.get(folder, GREY))
        picture.text(left + 12, top + 22, folder, size=17, bold=True, code=True)
        picture.text(left + 12, top + 42, question(folder), size=15, fill=PALE)
        if folder in inside:
            _draw_rooms(picture, inside[folder], left + _MARGIN, top + _HEAD + 4)
    bottom = placed.height + 2 * _MARGIN
    shared = sorted({file.stem for file in PACKAGE.glob("*.py")} - {"__init__", *ORDER})
    picture.box(_MARGIN, bottom, placed.width, 56, YELLOW)
    picture.text(_MARGIN + 12, bottom + 22, ", ".join(shared), size=16, bold=True, code=True)
    said = "for everybody, so no arrows lead here; they import from no folder"
    picture.text(_MARGIN + 12, bottom + 42, said, size=15, fill=PALE)
    return picture.svg(placed.width + 2 * _MARGIN, bottom + 56 + _MARGIN)


def _inside(folder: str) -> Placed:
    graph = reduced(rooms(folder))
    sizes = {name: (_SIZE * CODE_WIDE * len(name) + 16, _ROOM) for name in graph}
    return place(graph, [name for name in ROOMS[folder] if name in graph], sizes, _BETWEEN)


def _draw_rooms(picture: Picture, placed: Placed, left: float, top: float) -> None:
    for points in placed.arrows:
        picture.arrow([(x + left, y + top) for x, y in points])
    for name, (middle, above) in placed.place.items():
        width = _SIZE * CODE_WIDE * len(name) + 16
        picture.box(left + middle - width / 2, top + above, width, _ROOM, WHITE, LINE)
        picture.text(left + middle, top + above + 20, name, size=_SIZE, anchor="middle", code=True)
