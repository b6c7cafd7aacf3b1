"""The house of Tidegate: which folder may import which, and which room of a folder.

Folders stand in one order, and a folder imports only from those before it. Modules directly in the
package (`errors.py`) belong to everybody, so they import from no folder. `__init__.py` is the
public API: it may import from every folder, and only the last four, which use Tidegate as
its users do, may import from it.

The rooms of a large folder, and the modules that are directly in it, stand in an order of their
own, by the same rule: a room imports only from those before it, and `__init__.py` of the folder
from all of them. Some rooms do not know each other though they stand in a row.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests import ROOT

ORDER = (
    "filters",
    "algebra",
    "engine",
    "documents",
    "papers",
    "overlay",
    "simulate",
    "pipeline",
    "network",
    "peers",
    "lab",
    "commands",
    "cli",
)
STRANGERS = {"simulate", "pipeline", "network"}
ROOMS = {
    "engine": (
        "description",
        "primitives",
        "events",
        "subscriptions",
        "conditions",
        "partition",
        "sweep",
        "single",
        "segments",
        "compile",
        "changes",
        "file",
        "boxes",
        "index",
        "scan",
    ),
    "pipeline": (
        "spark",
        "store",
        "events",
        "shards",
        "kinds",
        "statistics",
        "bases",
        "matching",
        "progress",
        "analysis",
        "session",
        "cluster",
        "pins",
    ),
    "lab": (
        "stopwatch",
        "aside",
        "workloads",
        "metric",
        "communities",
        "reaction",
        "comparison",
        "tour",
        "demo",
        "experiments",
        "runner",
        "report",
    ),
}
APART = {("engine", "sweep", "partition")} | {
    ("engine", "boxes", room) for room in ROOMS["engine"][3:12]
}
"""A folder, a room, and one before it from which it imports nothing."""
USERS = {"peers", "lab", "commands", "cli"}
PACKAGE = ROOT / "src" / "tidegate"


def imported_names(path: str, source: str) -> Iterator[tuple[int, str]]:
    """The line and dotted name of everything that the module at `path` imports, however it does.

    `path` is relative to the package: `algebra/boxes.py`. For `from a import b` the name is `a.b`,
    because b may be a module.
    """
    parts = ["tidegate", *Path(path).with_suffix("").parts]
    package = parts[:-1]

    def absolute(name: str, level: int) -> str:
        above = package[: len(package) - level + 1] if level else []
        return ".".join([*above, *([name] if name else [])])

    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                origin = absolute(module or "", level)
                yield from ((node.lineno, f"{origin}.{alias.name}") for alias in names)
            case ast.Call(
                func=ast.Name(id=called) | ast.Attribute(attr=called),
                args=[ast.Constant(value=str(name)), *_],
            ) if called in {"import_module", "__import__"}:
                bare = name.lstrip(".")
                yield node.lineno, absolute(bare, len(name) - len(bare))


def home(path: str) -> str:
    """The folder (or top-level module) that the module at `path` belongs to."""
    return Path(path).with_suffix("").parts[0]


def may_import(path: str, name: str, shared: set[str]) -> bool:
    """May the module at `path` import the dotted `name`? `shared` are the top-level modules."""
    here = home(path)
    top, _, rest = name.partition(".")
    if top == "pyspark":
        return here == "pipeline" or path.startswith("lab/runner")
    if top != "tidegate":
        return True
    there, _, inside = rest.partition(".")
    if there == here:
        return here not in ROOMS or may_enter(here, room(path), inside.partition(".")[0])
    if there in shared:
        return True
    if there not in ORDER:
        return here in USERS or here == "__init__"
    if here == "__init__":
        return True
    if here not in ORDER or {here, there} <= STRANGERS:
        return False
    return ORDER.index(there) < ORDER.index(here)


def room(path: str) -> str:
    """The room, or the module, of its folder that the module at `path` belongs to."""
    return Path(path).with_suffix("").parts[1]


def may_enter(folder: str, here: str, there: str) -> bool:
    """May what is in the room `here` of a folder import from its room `there`?"""
    order = ROOMS[folder]
    if here in {"__init__", there}:
        return True
    if here not in order or there not in order or (folder, here, there) in APART:
        return False
    return order.index(there) < order.index(here)


def violations(path: str, source: str, shared: set[str]) -> list[str]:
    """Every import in the module at `path` that breaks the rule, as `path:line: imports name`."""
    if home(path) not in {*ORDER, *shared, "__init__"}:
        return [f"{path}:1: the folder {home(path)} has no place in the order"]
    if home(path) in ROOMS and room(path) not in {*ROOMS[home(path)], "__init__"}:
        return [f"{path}:1: {room(path)} has no place in the order of {home(path)}"]
    return [
        f"{path}:{line}: imports {name}"
        for line, name in imported_names(path, source)
        if not may_import(path, name, shared)
    ]


@pytest.mark.slow
def test_every_module_imports_only_from_folders_above_its_own() -> None:
    modules = sorted(PACKAGE.rglob("*.py"))
    shared = {file.stem for file in PACKAGE.glob("*.py")} - {"__init__", "cli"}
    broken = [
        violation
        for file in modules
        for violation in violations(
            file.relative_to(PACKAGE).as_posix(), file.read_text("utf-8"), shared
        )
    ]
    assert modules
    assert broken == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("filters/parse.py", "from tidegate.algebra import boxes"),
        ("filters/parse.py", "from tidegate import algebra"),
        ("filters/parse.py", "import json, tidegate.engine.index as index"),
        ("filters/parse.py", "from ..algebra.boxes import Box"),
        ("filters/parse.py", "from .. import algebra"),
        ("filters/__init__.py", "from ..algebra import Box"),
        ("filters/deep/down.py", "from ...algebra import Box"),
        ("filters/parse.py", "def f():\n    from tidegate.cli import main"),
        ("filters/parse.py", "if TYPE_CHECKING:\n    from tidegate.engine import Index"),
        ("filters/parse.py", "importlib.import_module('tidegate.engine')"),
        ("filters/parse.py", "import_module('..engine', __package__)"),
        ("filters/parse.py", "__import__('tidegate.engine.index')"),
        ("filters/parse.py", "import tidegate"),
        ("filters/parse.py", "from tidegate import parse"),
        ("filters/parse.py", "from .. import parse"),
        ("algebra/boxes.py", "from tidegate.lab import workloads"),
        ("simulate/clock.py", "from tidegate.network import wire"),
        ("pipeline/matching/match.py", "from tidegate.simulate import clock"),
        ("network/wire.py", "from tidegate.simulate import clock"),
        ("network/wire.py", "from tidegate.pipeline import match"),
        ("errors.py", "from tidegate.filters import parse"),
        ("errors.py", "from .cli import main"),
        ("errors.py", "import pyspark"),
        ("__init__.py", "import pyspark"),
        ("cli.py", "from pyspark.sql import SparkSession"),
        ("filters/schema.py", "def f():\n    from pyspark.sql.types import StructType"),
        ("lab/workloads/trade.py", "import pyspark.sql"),
        ("helpers/text.py", ""),
        ("engine/cupboard.py", ""),
        ("engine/cupboard/shelf.py", ""),
        ("engine/events/batch.py", "from tidegate.engine.conditions import axis"),
        ("engine/events/batch.py", "from tidegate.engine.conditions.axis import Axis"),
        ("engine/events/batch.py", "from ..conditions.axis import Axis"),
        ("engine/events/batch.py", "from .. import conditions"),
        ("engine/events/batch.py", "from tidegate.engine.index import Index"),
        ("engine/events/batch.py", "from tidegate.engine import Index"),
        ("engine/description.py", "from tidegate.engine.primitives import vector"),
        ("engine/sweep/sweep.py", "from tidegate.engine.partition.arrays import Entries"),
        ("engine/partition/rows.py", "from tidegate.engine.sweep import sweep"),
        ("engine/boxes/space.py", "from tidegate.engine.conditions.cuts import span"),
        ("engine/segments/live.py", "def f():\n    import tidegate.engine.compile.draft"),
        ("pipeline/store/pins.py", "from tidegate.pipeline.bases.catalog import Base"),
        ("pipeline/matching/tail.py", "from tidegate.pipeline import Store"),
        ("pipeline/matching/tail.py", "from tidegate.pipeline import analysis"),
    ],
)
def test_a_broken_rule_is_noticed(path: str, source: str) -> None:
    assert len(violations(path, source, {"errors"})) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("filters/parse.py", "import sqlglot\nfrom tidegate.errors import FilterSyntaxError"),
        ("filters/parse.py", "from .. import errors\nfrom ..errors import FilterSyntaxError"),
        ("filters/parse.py", "from . import types\nfrom .types import Type"),
        ("filters/__init__.py", "from .parse import parse\nfrom . import types"),
        ("filters/deep/down.py", "from ..parse import parse"),
        ("algebra/boxes.py", "from tidegate.filters import parse\nfrom ..filters.tree import And"),
        ("network/wire.py", "from tidegate.overlay import messages"),
        ("pipeline/matching/match.py", "import pyspark\nfrom tidegate.engine import index"),
        ("lab/runner.py", "from pyspark.sql import SparkSession"),
        ("lab/runner/spark.py", "from pyspark.sql import SparkSession"),
        ("lab/tour.py", "import tidegate as tg\nfrom tidegate.pipeline import match"),
        ("cli.py", "from tidegate import __version__, parse\nfrom tidegate.lab import figures"),
        ("__init__.py", "from .filters import parse\nfrom tidegate.algebra import covers"),
        ("__init__.py", "import_module('.engine', __name__)"),
        ("errors.py", "from dataclasses import dataclass"),
        ("filters/parse.py", "import pyspark_like, tidegate_like"),
        ("engine/conditions/axis.py", "from tidegate.engine.events.batch import Batch"),
        ("engine/conditions/axis.py", "from tidegate.engine.conditions import cuts\nimport numpy"),
        ("engine/conditions/axis.py", "from . import cuts\nfrom ..events import batch"),
        ("engine/boxes/__init__.py", "from tidegate.engine.boxes.box_store import BoxStore"),
        ("engine/index.py", "from tidegate.engine.compile.compiler import Compiler"),
        ("pipeline/__init__.py", "from tidegate.pipeline.store.store import Store"),
        ("pipeline/session.py", "from tidegate.pipeline.spark.session import start"),
    ],
)
def test_what_the_rule_allows_is_let_through(path: str, source: str) -> None:
    assert violations(path, source, {"errors"}) == []


def loaded_by(statement: str) -> set[str]:
    """The names in `sys.modules` of a new Python that has run `statement`."""
    program = f"{statement}\nimport sys\nprint(*sys.modules, sep='\\n')"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return set(run.stdout.split())


@pytest.mark.slow
def test_importing_tidegate_leaves_the_heavy_libraries_alone() -> None:
    assert "wave" in loaded_by("import wave")
    assert loaded_by("import tidegate") & {"pyspark", "numba", "pyarrow"} == set()
    assert "numba" in loaded_by("from tidegate import Index")
    assert "pyspark" not in loaded_by("from tidegate import Index")


HEADS = sorted(
    file.parent.relative_to(PACKAGE).as_posix()
    for house in ("engine", "pipeline", "lab", "commands")
    for file in (PACKAGE / house).rglob("__init__.py")
)


@pytest.mark.parametrize("place", HEADS)
def test_the_head_of_a_room_names_all_that_is_in_it(place: str) -> None:
    folder = PACKAGE / place
    modules = {file.stem for file in folder.glob("*.py")} - {"__init__"}
    rooms = {file.parent.name for file in folder.glob("*/__init__.py")}
    head = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    listed = [line for line in head.splitlines() if line.startswith(("- ", "  "))]
    assert modules | rooms <= set(re.findall(r"`(\w+)`", "\n".join(listed)))


@pytest.mark.parametrize(
    "path",
    [
        "tidegate.engine.index.Index",
        "tidegate.engine.scan.ScanIndex",
        "tidegate.engine.boxes.BoxStore",
        "tidegate.pipeline.session.start",
        "tidegate.pipeline.session.session",
        "tidegate.pipeline.cluster.cluster",
        "tidegate.pipeline.analysis.analyse",
        "tidegate.pipeline.pins.unpin",
        "tidegate.errors.TidegateError",
    ],
)
def test_documented_paths_stay(path: str) -> None:
    module, _, name = path.rpartition(".")
    assert getattr(import_module(module), name).__name__ == name
