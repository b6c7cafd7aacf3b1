"""Which names are there in the code? What texts and pictures say is held against it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests import ROOT

PACKAGE = ROOT / "src" / "tidegate"
FOLDERS = (PACKAGE, ROOT / "tests", ROOT / "bench", ROOT / "docs")


def file_of(path: str) -> Path | None:
    """The file or folder that a path in a text means: of the package, or of the project."""
    found = [place / path for place in (PACKAGE, ROOT) if (place / path).exists()]
    if found or "/" in path:
        return found[0] if found else None
    return next((file for folder in FOLDERS for file in folder.rglob(path)), None)


@cache
def defined_in(file: Path) -> frozenset[str]:
    """The names that a module defines: functions, classes, values, and `Class.member`."""
    return frozenset(_defined(ast.parse(file.read_text("utf-8")), ""))


def _defined(tree: ast.AST, within: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.ClassDef(name=name):
                yield within + name
                yield from _defined(node, f"{name}.")
            case ast.FunctionDef(name=name):
                yield within + name
                if within:
                    yield from (within + found for found in _own_attributes(node))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield within + name
            case ast.Assign(targets=targets):
                yield from (within + t.id for t in targets if isinstance(t, ast.Name))
            case ast.If():
                yield from _defined(node, within)


def _own_attributes(method: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(method):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        for target in targets:
            match target:
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    yield name


@cache
def all_names() -> frozenset[str]:
    """Every name that some module defines, with and without its class or module; and modules."""
    found: set[str] = set()
    for folder in FOLDERS:
        for file in folder.rglob("*.py"):
            own = defined_in(file)
            module = file.parent.name if file.stem == "__init__" else file.stem
            found |= own | {module} | {f"{module}.{name}" for name in own}
            found |= {name.rpartition(".")[2] for name in own}
    return frozenset(found)
