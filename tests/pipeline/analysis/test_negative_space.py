"""What is left of the content space by Spark is what one process says, cell by cell."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import tidegate as tg
from tests.pipeline.analysis.test_analyse import HOSTILE
from tidegate.algebra.normal import boxes
from tidegate.lab.workloads.rectangles import Rectangles, rectangles
from tidegate.papers.negative import ExactNegativeSpace
from tidegate.pipeline import Store
from tidegate.pipeline.analysis import negative_space as module
from tidegate.pipeline.analysis.cells import Cells
from tidegate.pipeline.analysis.covering import rank
from tidegate.pipeline.analysis.negative_space import Read, TakeAway, negative_space
from tidegate.pipeline.progress.steps import Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = 150


@pytest.fixture(scope="module")
def workload() -> Rectangles:
    return Rectangles(*rectangles(COUNT, 3, seed=3))


@pytest.fixture(scope="module")
def store(workload: Rectangles, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Rectangles, a few of them twice."""
    made = Store.create(tmp_path_factory.mktemp("negative") / "store", workload.schema)
    table = workload.table()
    names = pa.array([f"{number:04}" for number in range(COUNT)])
    table = table.set_column(0, "id", names)
    made.add_many(table)
    made.add("again", str(next(iter(workload.filters()))))
    made.add("never", "x0 < 3 AND x0 > 5")
    return made


def one_pass(workload: Rectangles) -> tuple[int, int]:
    """How many are redundant, in the order of the job, and how many events are left."""
    filters = [(*rank(f)[1:], f"{number:04}", f) for number, f in enumerate(workload.filters())]
    union, space = tg.Union(workload.schema), ExactNegativeSpace(workload.schema)
    redundant = 0
    for number, (*_, f) in enumerate(sorted(filters, key=lambda each: each[:3])):
        redundant += union.subsumes(f)
        union.add(f)
        space.add(number, f)
    return redundant, space.volume()


def test_the_exact_space_of_a_store_is_that_of_one_process(
    spark: "SparkSession", store: Store, workload: Rectangles
) -> None:
    steps: list[Step] = []
    found = negative_space(spark, store, k=None, cell=110, tell=steps.append)
    redundant, volume = one_pass(workload)
    assert found.cells > 2
    assert (found.subscriptions, found.filters, found.refused) == (COUNT + 2, COUNT + 1, 0)
    assert found.redundant == redundant + 1  # the one that never matches
    assert found.share is not None
    assert found.share == pytest.approx(volume / 1001**3)
    assert found.boxes > 100
    assert (found.limited, found.uncertain) == (0, 0)
    assert [step.name for step in steps] == list(found.seconds)
    rough = negative_space(spark, store, k=10, cell=110)
    assert rough.share is not None
    assert rough.share >= found.share
    assert 0 < rough.redundant <= found.redundant


def test_a_hostile_store_and_an_empty_one(spark: "SparkSession", tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    empty = negative_space(spark, store)
    assert (empty.subscriptions, empty.boxes, empty.redundant, empty.refused) == (0, 1, 0, 0)
    named = {name: text for name, text in HOSTILE.items() if name != "all"}
    store.add_many(pa.table({"id": list(named), "filter": list(named.values())}))
    found = negative_space(spark, store, k=None, cell=8)
    others = [tg.parse(text) for text in named.values()]
    most = sum(tg.subsumed(f, [g for g in others if g is not f]) for f in others)
    assert 8 <= found.redundant <= most
    assert (found.filters, found.uncertain, found.share) == (len(named), 2, None)
    assert found.boxes > 10


# -- the tasks, without Spark


def run(
    filters: dict[str, str], cells: Cells, k: int | None, limit: int
) -> list[dict[str, object]]:
    """What the tasks say about filters, all in one partition."""
    rows = pa.RecordBatch.from_pylist(
        [{"id": name, "filter": text, "parameters": []} for name, text in filters.items()]
    )
    (read,) = Read(cells.schema, cells)(iter([rows]))
    inside = [
        (cell, row["meaning"], row["boxes"])
        for row in sorted(read.to_pylist(), key=lambda row: row["id"])
        for cell in row["cells"] or ()
    ]
    inside += [(cell, None, None) for cell in cells.numbers()]
    columns = list(zip(*sorted(inside, key=lambda row: row[0]), strict=True))
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array(columns[0]),
            pa.array(columns[1], pa.binary()),
            pa.array(columns[2], pa.binary()),
        ],
        ["cell", "meaning", "boxes"],
    )
    return [row for out in TakeAway(cells, k, limit)(iter([batch])) for row in out.to_pylist()]


def test_filters_with_texts_are_not_taken_for_each_other() -> None:
    """Tasks know filters only by their boxes."""
    texts = {"a": "s LIKE '%x'", "b": "s LIKE '%y'", "c": "contains(s, 'z')"}
    said = run(texts, Cells(None), k=None, limit=10**9)
    assert [row["redundant"] for row in said] == [False, False, False, None]
    assert said[-1]["boxes"] == 1


def test_a_cell_that_meets_its_limit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.papers.negative.exact.warn_of_limit", lambda *_: None)
    monkeypatch.setattr("tidegate.papers.negative.approximate.warn_of_limit", lambda *_: None)
    texts = {f"{i}": f"a{i} = 1 AND b{i} < 5" for i in range(12)}
    for k in (None, 1_000):
        said = run(texts, Cells(None), k=k, limit=20_000)
        assert said[-1]["limited"] == 1
        assert said[-1]["boxes"]


def test_batches_are_cut_where_there_is_much_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 3)
    filters = {f"{i:02}": f"x BETWEEN {i} AND {i + 2}" for i in range(10)}
    cells = Cells.grown([tg.parse(text) for text in filters.values()], 10, 4, None, eager=True)
    rows = pa.RecordBatch.from_pylist(
        [{"id": name, "filter": text, "parameters": []} for name, text in filters.items()]
    )
    read = [row for out in Read(None, cells)(iter([rows])) for row in out.to_pylist()]
    assert [row["id"] for row in read] == list(filters)
    touched = {row["id"]: row["cells"] for row in read}
    assert touched == {name: cells.touched(boxes(tg.parse(t)) or ()) for name, t in filters.items()}
