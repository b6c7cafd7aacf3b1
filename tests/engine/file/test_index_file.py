"""An opened index is the one that was saved; a file that contradicts itself is refused."""

import datetime as dt
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tidegate as tg
from tests import generate
from tests.engine.test_index import check, describe
from tidegate.engine.changes import merger
from tidegate.engine.compile import assemble, layout, own_ranges, shared_entries
from tidegate.engine.file import container, index_file, originals_file
from tidegate.engine.index import Index
from tidegate.engine.partition.arrays import AND, OPERAND, PUSH
from tidegate.engine.scan import ScanIndex
from tidegate.engine.subscriptions import subscription
from tidegate.engine.subscriptions.subscription import Id
from tidegate.errors import IndexFileError, TidegateError

Event = dict[str, Any]
Change = Callable[[dict[str, Any], dict[str, NDArray[Any]]], None]

MARKET = tg.Schema(
    {
        "symbol": "string",
        "venue": "string",
        "price": "double",
        "volume": "bigint",
        "day": "date",
        "at": "timestamp",
        "flag": "boolean",
        "amount": "decimal(10,2)",
        "note": "string",
    }
)
EITHER = pytest.mark.parametrize("schema", [MARKET, None], ids=["schema", "no schema"])
DAY = dt.date(2024, 2, 29)
NOON = dt.datetime(2024, 2, 29, 12)


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """Structures that are made for many subscriptions are made for few here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "_ENTRIES_WORTH_A_KEY", 12)
        patch.setattr(layout, "_ENTRIES_WORTH_A_SWEEP", 12)
        patch.setattr(own_ranges, "_RANGES_SHARED", 6)
        patch.setattr(shared_entries, "_SUBSCRIBERS_APART", 1)
        patch.setattr(subscription, "ALIKE", 2)
        patch.setattr(assemble, "_FEWEST_OF_A_HEAD", 4)
        patch.setattr(originals_file, "_FEWEST_OF_A_TABLE", 10)
        patch.setattr(merger, "_PENDING", 13)
        patch.setattr(merger, "_AT_ONCE", 13)
        yield


SHAPES = (
    "symbol = :s AND price BETWEEN :lo AND :hi",
    "symbol = :s AND price >= :lo AND volume > :n",
    "symbol = :s AND venue = :v AND price > :lo",
    "symbol = :s AND venue = :v AND price < :hi AND note LIKE '%a%' AND volume <= :n",
    "symbol = :s AND (price > :hi OR flag OR NOT volume = :n)",
    "price BETWEEN :lo AND :hi AND note LIKE '%b'",
    "day >= :d AND volume > :n",
    "at < :t AND day < :d AND price > :lo",
)
SINGLES = (
    "note LIKE '%a_' OR note IS NULL",
    "price < 3 AND price > 5",
    "NOT (flag AND price IN (1, 2.5, NULL)) OR day = DATE'2024-02-29'",
    "contains(note, 'b') AND NOT startswith(note, 'b')",
    "amount > 1.50 AND amount != 2",
    "volume IS NOT NULL AND (price <=> NULL OR (price < 5) IS NOT TRUE)",
    "TRUE",
    "FALSE AND price > 1",
    "price > CAST('NaN' AS DOUBLE) OR price = CAST('-Infinity' AS DOUBLE)",
)


def columns(rng: Random, size: int) -> dict[str, pa.Array]:
    lows = [round(rng.uniform(0, 10), 3) for _ in range(size)]
    return {
        "s": pa.array([rng.choice(("IBM", "SAP", "HP", "é", "😀")) for _ in range(size)]),
        "v": pa.array([rng.choice("XYZ") for _ in range(size)]),
        "lo": pa.array(lows),
        "hi": pa.array([low + round(rng.uniform(0, 3), 3) for low in lows]),
        "n": pa.array([rng.randrange(1000) for _ in range(size)]),
        "d": pa.array([DAY + dt.timedelta(rng.randrange(-500, 500)) for _ in range(size)]),
        "t": pa.array([NOON + dt.timedelta(hours=rng.randrange(-900, 900)) for _ in range(size)]),
    }


def fill(index: Index | ScanIndex, seed: int, strings: bool) -> None:
    """Subscriptions that end up in every kind of structure."""
    rng = Random(seed)
    size = 40
    number = 0

    def ids(count: int) -> list[Id]:
        nonlocal number
        number += count
        return [f"é{i}" if strings else 7 * i - 99 for i in range(number - count, number)]

    for shape in SHAPES:
        names = tg.parse(shape).parameters
        own = {name: column for name, column in columns(rng, size).items() if name in names}
        index.add_many(pa.table({"id": ids(size), **own}), filter=shape)
        few = {name: column.slice(0, 13) for name, column in own.items()}
        index.add_many(pa.table({"id": ids(13), **few}), filter=shape)
        first = {name: column[0].as_py() for name, column in own.items()}
        index.add(ids(1)[0], shape, **first)
    for text in SINGLES:
        index.add(ids(1)[0], text)


def events(seed: int, size: int = 60) -> list[Event]:
    rng = Random(seed)
    choices: dict[str, list[Any]] = {
        "symbol": ["IBM", "SAP", "HP", "é", "😀", "nobody"],
        "venue": ["X", "Y", "Z", ""],
        "volume": [0, 77, 500, 2000],
        "day": [DAY, dt.date(2023, 1, 1), dt.date(2025, 6, 1)],
        "at": [NOON, dt.datetime(2024, 1, 1), dt.datetime(2024, 4, 4)],
        "flag": [True, False],
        "amount": [Decimal("1.50"), Decimal("2.00"), Decimal("9.99")],
        "note": ["a", "ab", "xb", "cab", "", "é"],
    }
    found = []
    for _ in range(size):
        event = {name: rng.choice(values) for name, values in choices.items()}
        event["price"] = rng.choice([round(rng.uniform(0, 14), 3), 1, 2.5, math.nan, -math.inf])
        found.append({name: value for name, value in event.items() if rng.random() < 0.9})
    return found


def arrow(some: list[Event]) -> pa.Table:
    return pa.table({name: [event.get(name) for event in some] for name in MARKET})


def both(schema: tg.Schema | None, seed: int, strings: bool = True) -> tuple[Index, ScanIndex]:
    index, scan = Index(schema), ScanIndex(schema)
    for each in (index, scan):
        fill(each, seed, strings)
    return index, scan


def reopened(index: Index, folder: Path, read_only: bool = False) -> Index:
    index.save(folder / "index")
    return Index.open(folder / "index", read_only=read_only)


def structures(index: Index) -> list[tuple[str, int, int]]:
    return [(s.name, s.subscriptions, s.entries) for s in index.describe().structures]


def same_subscriptions(index: Index, scan: ScanIndex) -> None:
    assert len(index) == len(scan)
    for id in scan._subscriptions:
        assert describe(index.get(id)) == describe(scan.get(id))


@EITHER
@pytest.mark.parametrize("strings", [True, False])
def test_every_structure_comes_back(
    schema: tg.Schema | None, strings: bool, tmp_path: Path
) -> None:
    index, scan = both(schema, 1, strings)
    again = reopened(index, tmp_path)
    assert again.schema == schema
    check(again, scan, events(1), arrow(events(1)))
    same_subscriptions(again, scan)
    check(index, scan, events(2))
    before = [entry for entry in structures(index) if entry[1]]
    assert [entry for entry in structures(again) if entry[1]] == before
    assert again.describe().subscriptions == len(scan)
    names = " ".join(name for name, _, _ in before)
    for kind in (
        "ranges, by key (symbol",
        "ranges with several subscribers, by key",
        "conjunctions, by key (symbol",
        "conjunctions, bit-sliced",
        "conjunctions with several subscribers",
        "Boolean trees, by key (symbol",
        "Boolean trees, bit-sliced",
        "filters that nothing can match",
    ):
        assert kind in names
    segment = index._content.lives[0].segment
    assert any(len(partition.axes.attributes) > 1 for partition in segment.partitions)
    assert any(sweep.attributes for sweep in segment.sweeps)
    assert "by key (symbol, venue)" in names


def test_nothing_is_read_before_it_is_needed(tmp_path: Path, monkeypatch: Any) -> None:
    index, _ = both(MARKET, 1)
    index.save(tmp_path / "index")
    read: list[str] = []

    def refuse(what: str) -> None:
        read.append(what)
        raise ValueError

    monkeypatch.setattr(index_file, "read_tree", lambda *_: refuse("condition"))
    monkeypatch.setattr(originals_file, "read_tree", lambda *_: refuse("filter"))
    again = Index.open(tmp_path / "index")
    assert len(again) == len(index)
    assert "é0" in again
    assert read == []
    with pytest.raises(IndexFileError):
        again.match({})
    with pytest.raises(IndexFileError):
        again.get("é0")
    assert read == ["condition", "filter"]


@pytest.mark.slow
@EITHER
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_any_filters_come_back(schema: tg.Schema | None, tmp_path_factory: Any, seed: int) -> None:
    typed = None if schema is None else tg.Schema(generate.TYPES)
    rng = Random(seed)
    some = generate.events(rng, 12)
    index, scan = Index(typed), ScanIndex(typed)
    for id, condition in enumerate(generate.filters(rng, 30, schema is not None)):
        for each in (index, scan):
            each.add(id, str(condition))
    again = reopened(index, tmp_path_factory.mktemp("any"))
    check(again, scan, some, generate.arrow_table(some))
    same_subscriptions(again, scan)
    for event in some[:2]:
        for id in range(0, 30, 7):
            assert str(again.explain(id, event)) == str(scan.explain(id, event))


CONSTANTS: list[Any] = [
    *(0, 1, -1, 2**63 - 1, -(2**63), 2**63, -(10**37), True, False, None),
    *(0.0, -0.0, 1.5, 1e300, 5e-324, math.inf, -math.inf, math.nan, 1.0),
    *(Decimal("1.50"), Decimal("1.5"), Decimal("0.00"), Decimal("-0.0"), Decimal("1E-38")),
    *(Decimal(10) ** 37, Decimal("-99.9900"), Decimal("1E+3")),
    *("", "it's", "a\0b", "\\", "\n", "é", "😀", ":p", "'", "NULL", "x" * 1_500_000),
    *(DAY, dt.date(1, 1, 1), dt.date(9999, 12, 31)),
    *(NOON, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)),
    dt.datetime(1969, 12, 31, 23, 59, 59, 1),
]


def test_constants_of_every_type_come_back_as_they_are(tmp_path: Path) -> None:
    index = Index()
    for id, value in enumerate(CONSTANTS):
        index.add(id, "x = :p OR y > :q", p=value, q=value)
    before = [index.get(id) for id in range(len(CONSTANTS))]
    again = reopened(index, tmp_path)
    for one, other in zip(before, map(again.get, range(len(CONSTANTS))), strict=True):
        assert describe(one) == describe(other)
        for name, value in one.parameters.items():
            assert type(value) is type(other.parameters[name])
    for value in CONSTANTS:
        assert sorted(again.match({"x": value})) == sorted(index.match({"x": value}))


def test_columns_of_every_type_come_back_as_they_are(tmp_path: Path) -> None:
    values: dict[str, tuple[pa.DataType, list[Any]]] = {
        "i": (pa.int64(), [1, -(2**63), None]),
        "f": (pa.float64(), [math.nan, -0.0, None]),
        "m": (pa.decimal128(20, 3), [Decimal("1.500"), Decimal("0.000"), None]),
        "s": (pa.string(), ["", "é\0", None]),
        "b": (pa.bool_(), [True, False, None]),
        "d": (pa.date32(), [DAY, dt.date(1, 1, 1), None]),
        "t": (pa.timestamp("us"), [NOON, dt.datetime(9999, 12, 31), None]),
        "z": (pa.null(), [None, None, None]),
        "u": (pa.uint64(), [2**64 - 1, 5, None]),
    }
    table = {name: pa.array(own * 8, kind) for name, (kind, own) in values.items()}
    ids = pa.array(np.arange(24))
    text = " OR ".join(f"x = :{name}" for name in values)
    index = Index()
    index.add_many(pa.table({"id": ids, **table}), filter=text)
    index.flush()
    again = reopened(index, tmp_path)
    for id in range(24):
        assert describe(again.get(id)) == describe(index.get(id))
    for value in (1, 2**64 - 1, Decimal("1.5"), "", True, DAY, NOON, math.nan, 0.0):
        assert sorted(again.match({"x": value})) == sorted(index.match({"x": value}))


SCHEMAS: list[tg.Schema] = [
    tg.Schema({}),
    MARKET,
    tg.Schema({name: MARKET[name] for name in MARKET}, checked=True),
    tg.Schema(generate.TYPES),
    tg.Schema(
        "id STRING NOT NULL, `odd ``name``` INT, t STRUCT<p: DECIMAL(38,37) NOT NULL, q: INT>"
    ),
    tg.Schema(
        {
            "a": tg.Attribute("bigint", nullable=False, low=0),
            "b": tg.Attribute("tinyint", high=5),
            "c": tg.Attribute("tinyint", low=-128, high=127),
            "d": tg.Attribute("string", values=["a", "a\0", "b", "é", ""]),
            "e": tg.Attribute("string", low="b", high="d\0"),
            "f": tg.Attribute("double", values=[0.0, 5e-324, math.nan, -math.inf]),
            "g": tg.Attribute("double", low=-math.inf, high=math.nan),
            "h": tg.Attribute("decimal(5,2)", values=[Decimal("1.50"), 2, Decimal("-0.01")]),
            "i": tg.Attribute("date", low=dt.date(1, 1, 1), high=dt.date(9999, 12, 31)),
            "j": tg.Attribute("timestamp", values=[NOON, dt.datetime(1, 1, 1)]),
            "k": tg.Attribute("boolean", values=[True]),
            "l": tg.Attribute("float", low=0.1),
        },
        checked=True,
    ),
    tg.Schema(
        pa.schema(
            [
                ("a", pa.list_(pa.int64())),
                ("b", pa.uint64()),
                ("c", pa.binary()),
                (
                    "d",
                    pa.struct([("e", pa.time64("us")), pa.field("f", pa.int8(), nullable=False)]),
                ),
                ("g", pa.map_(pa.string(), pa.string())),
            ]
        )
    ),
    tg.Schema({"a": "string collate utf8_lcase", "b": "char(5)", "c": "interval day"}),
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
def test_schemas_come_back(schema: tg.Schema, tmp_path: Path) -> None:
    again = reopened(Index(schema), tmp_path)
    assert again.schema == schema
    assert again.schema is not None
    assert list(again.schema) == list(schema)


def test_a_schema_that_would_not_come_back_is_not_saved(tmp_path: Path) -> None:
    odd = tg.Schema({"x": replace(MARKET["price"].type, line=MARKET["volume"].type.line)})
    with pytest.raises(TidegateError):
        Index(odd).save(tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


@EITHER
def test_pending_and_removed_ones_are_saved_as_they_stand(
    schema: tg.Schema | None, tmp_path: Path
) -> None:
    index, scan = both(schema, 2)
    index.flush()
    for each in (index, scan):
        each.remove_many([f"é{i}" for i in range(0, 200, 3)])
        each.update("é1", lo=100.0, hi=200.0)
        each.add("new", "price > :p AND note LIKE :q", p=1.5, q="%b")
        each.update_many(pa.table({"id": ["é2", "é4"], "s": ["HP", None]}))
    again = reopened(index, tmp_path)
    assert again.describe().segments == 1
    assert (again.describe().pending, again.describe().removed) == (0, 0)
    check(again, scan, events(3))
    same_subscriptions(again, scan)


@pytest.mark.parametrize("kind", [str, int, None])
def test_an_empty_index_comes_back(kind: type | None, tmp_path: Path) -> None:
    index = Index(MARKET)
    if kind is not None:
        index.add(kind(5), "price > 1")
        index.remove(kind(5))
    again = reopened(index, tmp_path)
    assert len(again) == 0
    assert again.match_batch([{}]).schema == index.match_batch([{}]).schema
    again.add("a", "price > 1")
    assert again.match({"price": 2.0}) == ["a"]
    assert reopened(again, tmp_path).match({"price": 2.0}) == ["a"]


def test_an_index_of_nothing_but_impossible_filters_comes_back(tmp_path: Path) -> None:
    index = Index()
    index.add(1, "x > 5 AND x < 3")
    again = reopened(index, tmp_path)
    assert again.match({"x": 4}) == []
    assert str(again.get(1).filter) == "x > 5 AND x < 3"


@pytest.mark.slow
@EITHER
def test_what_is_opened_can_be_changed_and_saved_again(
    schema: tg.Schema | None, tmp_path: Path
) -> None:
    index, scan = both(schema, 3)
    again = reopened(index, tmp_path)
    for step in range(3):
        for each in (again, scan):
            each.update(f"é{step}", lo=float(step), hi=50.0)
            each.update_many(
                pa.table({"id": [f"é{i}" for i in range(10, 30)], "lo": [step / 2] * 20})
            )
            each.remove(f"é{step + 60}")
            each.remove_many([f"é{i}" for i in range(100 + 7 * step, 107 + 7 * step)])
            each.add(f"step {step}", "price > :p OR note = 'ab'", p=step)
        check(again, scan, events(step))
        if step == 1:
            again.flush()
        check(again, scan, events(step))
        again = reopened(again, tmp_path)  # onto the file that is mapped
        check(again, scan, events(step + 5))
        same_subscriptions(again, scan)


def test_a_file_that_is_replaced_stays_with_those_who_opened_it(tmp_path: Path) -> None:
    index, scan = both(MARKET, 4)
    first = reopened(index, tmp_path, read_only=True)
    untouched = Index.open(tmp_path / "index")
    other = Index(MARKET)
    other.add("other", "price > 1")
    second = reopened(other, tmp_path)
    check(first, scan, events(4))
    check(untouched, scan, events(4))
    assert second.match({"price": 2.0}) == ["other"]
    same_subscriptions(first, scan)


def test_what_is_read_only_can_be_saved_but_not_changed(tmp_path: Path) -> None:
    index, scan = both(None, 5)
    again = reopened(index, tmp_path, read_only=True)
    with pytest.raises(TidegateError, match="read only"):
        again.remove("é1")
    again.flush()
    again.save(tmp_path / "copy")
    check(Index.open(tmp_path / "copy"), scan, events(5))


@EITHER
def test_nothing_writes_into_the_map(
    schema: tg.Schema | None, tmp_path: Path, monkeypatch: Any
) -> None:
    maps: list[dict[str, NDArray[Any]]] = []
    mapped = container.read

    def remember(path: Any, **options: Any) -> Any:
        header, arrays = mapped(path, **options)
        maps.append(arrays)
        return header, arrays

    index, scan = both(schema, 6)
    monkeypatch.setattr(container, "read", remember)
    again = reopened(index, tmp_path)
    check(again, scan, events(6), arrow(events(6)))
    for each in (again, scan):
        each.remove_many([f"é{i}" for i in range(0, 150, 2)])
        each.update("é1", lo=3.0, hi=4.0)
    check(again, scan, events(6))
    again.flush()
    again.save(tmp_path / "other")
    monkeypatch.undo()
    _, whole = container.read(tmp_path / "index")
    assert maps[0].keys() == whole.keys()
    for name, array in whole.items():
        assert array.tobytes() == maps[0][name].tobytes()


@pytest.mark.slow
def test_processes_share_a_file(tmp_path: Path) -> None:
    index, scan = both(MARKET, 7)
    here = reopened(index, tmp_path)
    program = (
        "import sys, json, tidegate.engine.index as i\n"
        f"index = i.Index.open({str(tmp_path / 'index')!r}, read_only=sys.argv[1] == 'read')\n"
        "if sys.argv[1] != 'read': index.remove('é1')\n"
        "print(json.dumps(sorted(index.match(json.loads(sys.argv[2])))))\n"
    )
    event = {"symbol": "IBM", "price": 5.0, "volume": 77, "flag": True, "note": "ab"}
    asked = [
        subprocess.Popen(
            [sys.executable, "-c", program, how, json.dumps(event)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for how in ("read", "write")
    ]
    found = [json.loads(process.communicate(timeout=300)[0]) for process in asked]
    expected = sorted(scan.match(event))
    assert found[0] == expected
    assert found[1] == [id for id in expected if id != "é1"]
    assert sorted(here.match(event)) == expected


def test_subscriptions_may_change_while_they_are_saved(tmp_path: Path, monkeypatch: Any) -> None:
    """What is saved is what the index held at one moment after `save` was called."""
    index, scan = both(MARKET, 8)
    flush = index.flush

    def disturbed() -> None:
        flush()
        for each in (index, scan):
            each.add("late", "price > 1")
            each.remove("é3")

    monkeypatch.setattr(index, "flush", disturbed)
    again = reopened(index, tmp_path)
    check(again, scan, events(8))
    same_subscriptions(again, scan)
    check(index, scan, events(8))


def test_only_conditions_in_use_are_saved(tmp_path: Path) -> None:
    index = Index()
    index.add(1, " AND ".join(f"x != {i}" for i in range(50)))
    index.add(2, "x > 3 AND y = 1")
    again = reopened(index, tmp_path)
    assert len(again._content.lives[0].segment.table.conditions) == 3
    for event in ({"x": 3}, {"x": 99}, {"x": 60, "y": 1}):
        assert sorted(again.match(event)) == sorted(index.match(event))


# -- files that contradict themselves


def rewritten(path: Path, change: Change) -> None:
    """Change what a file says, with right checksums."""
    header, mapped = container.read(path)
    arrays = {name: array.copy() for name, array in mapped.items()}
    change(header, arrays)
    container.write(path, header, arrays)


def use(path: Path) -> None:
    """Do with an index file whatever reads it."""
    index = Index.open(path)
    for batch in (events(1, 3), arrow(events(2, 70))):
        index.count_batch(batch)
        index.match_batch(batch)["subscription"].to_pylist()
    list(index.match(events(3, 1)[0]))
    for id in index._content.lives[0].segment.ids.to_pylist() if index._content.lives else []:
        index.get(id)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: Any, small: None) -> dict[bool, Path]:
    found = {}
    for typed in (True, False):
        found[typed] = tmp_path_factory.mktemp("original") / "index"
        both(MARKET if typed else None, 1)[0].save(found[typed])
    return found


def first(arrays: dict[str, NDArray[Any]], ending: str) -> str:
    """The first section that is not empty, of those with such a name."""
    return next(name for name in arrays if name.endswith(ending) and len(arrays[name]) > 1)


def poke(ending: str, place: int, value: int) -> Change:
    def change(header: Any, arrays: Any) -> None:
        arrays[first(arrays, ending)][place] = value

    return change


def cut(ending: str) -> Change:
    def change(header: Any, arrays: Any) -> None:
        name = first(arrays, ending)
        arrays[name] = arrays[name][:-1]

    return change


def table(section: str, edit: Callable[[pa.Table], pa.Table]) -> Change:
    def change(header: Any, arrays: Any) -> None:
        arrays[section] = container.table_to_bytes(
            edit(container.table_from_bytes(arrays[section]))
        )

    return change


def say(*path: Any, value: Any) -> Change:
    def change(header: Any, arrays: Any) -> None:
        inner = header
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


def replaced(name: str, texts: dict[int, str]) -> Callable[[pa.Table], pa.Table]:
    """A table with other texts in some rows of a column."""

    def edit(old: pa.Table) -> pa.Table:
        cells = old.to_pydict()
        for row, text in texts.items():
            cells[name][row] = text
        return pa.table(cells, schema=old.schema)

    return edit


def _alike(old: pa.Table, attribute: str) -> pa.Table:
    """The same with two conditions on an attribute that say the same in other words."""
    asked = f'["is true", "{attribute}", "=", '
    rows = [i for i, text in enumerate(old["condition"].to_pylist()) if text.startswith(asked)]
    return replaced("condition", {rows[0]: f"{asked}\"'x'\"]", rows[1]: f"{asked}\"'x'\"]"})(old)


CONTRADICTIONS: dict[str, Change] = {
    "a ref beyond the conditions": poke("/refs", 0, 2**32 - 1),
    "refs that are missing": cut("/refs"),
    "starts of refs that fall": poke("/ref_start", 3, 2**31),
    "starts of refs too few": cut("/ref_start"),
    "a first start that is not 0": poke("/ref_start", 0, 1),
    "groups that do not ascend": poke("/group_start", 1, 2**31),
    "a group too few": cut("/group_start"),
    "an axis that is not there": poke("/range_axis", 0, 200),
    "ranges that are missing": cut("/range_axis"),
    "starts of ranges that fall": poke("/range_start", 3, 2**31),
    "an operation that is none": poke("/tokens", 0, 7 << 29),
    "an operand that is not there": poke("/tokens", 0, PUSH | OPERAND),
    "a program that takes from nothing": poke("/tokens", 0, AND),
    "a program that leaves two rows": poke("/tokens", 1, PUSH),
    "a program without an end": cut("/tokens"),
    "programs out of place": poke("/token_start", 1, 2**31),
    "codes that do not ascend": poke("/code_start", 1, 2**31),
    "more codes than ids": poke("/code_start", -1, 2**31),
    "fewer codes than subscriptions": poke("/code_start", -1, 1),
    "zones of other groups": poke("/zone_start", -1, 0),
    "a zone that is too large": poke("/zone_entry", 1, 2**20),
    "a head that is not there": poke("/zone_head", 0, 2**31),
    "a zone that claims to be ranged": poke("/zone_ranged", 0, 9),
    "a key that is not there": poke("/key/0", 0, 10**6),
    "a negative key": poke("/key/0", 0, -1),
    "two groups of one key": lambda _, arrays: _repeat_keys(arrays),
    "keys that are missing": cut("/key/0"),
    "sources that are missing": cut("sources/table"),
    "a source that is not there": poke("sources/table", 0, 200),
    "a source of another table": poke("sources/table", 0, 0),
    "ids that are missing": table("ids", lambda old: old.slice(1)),
    "ids that are NULL": table("ids", replaced("id", {0: None})),  # type: ignore[dict-item]
    "ids of another type": table("ids", lambda old: pa.table({"id": np.arange(len(old))})),
    "ids by another name": table("ids", lambda old: old.rename_columns(["ids"])),
    "an id twice": table("ids", replaced("id", {0: "é1", 1: "é1"})),
    "no Arrow table": lambda _, arrays: arrays.update(ids=np.ones(99, np.uint8)),
    "conditions that are missing": table("conditions", lambda old: old.slice(1)),
    "a condition that is no JSON": table("conditions", replaced("condition", {0: "{"})),
    "a condition that is no condition": table("conditions", replaced("condition", {0: "5"})),
    "a condition that is always true": table("conditions", replaced("condition", {0: "true"})),
    "two conditions in the place of one": table(
        "conditions", replaced("condition", {0: "true],[true"})
    ),
    "a condition on two attributes": table(
        "conditions",
        replaced("condition", {0: '["AND",["is true","a","=","1"],["is true","b","=","1"]]'}),
    ),
    "a condition with a parameter": table(
        "conditions", replaced("condition", {0: '["is true","price","=",":p"]'})
    ),
    "a condition with no such operator": table(
        "conditions", replaced("condition", {0: '["is true","price","~","1"]'})
    ),
    "a condition with too many constants": table(
        "conditions", replaced("condition", {0: '["is true","price","=","1","2"]'})
    ),
    "two conditions of keys that allow the same value": table(
        "conditions", lambda old: _alike(old, "symbol")
    ),
    "a condition that is no key": table(
        "conditions",
        lambda old: replaced(
            "condition", dict.fromkeys(range(len(old)), '["is true","symbol",">","\'a\'"]')
        )(old),
    ),
    "a filter that is none": table("sources/filters", replaced("filter", {0: "[1]"})),
    "records without a filter": table("sources/filters", lambda old: old.slice(0, 1)),
    "constants that are none": table("sources/records", replaced("constants", {0: '["oops"]'})),
    "constants that are too many": table(
        "sources/records", replaced("constants", {0: '["1","1","1","1","1","1"]'})
    ),
    "records that are missing": table("sources/records", lambda old: old.slice(1)),
    "a table with too few rows": table("sources/table/1", lambda old: old.slice(1)),
    "a table with other columns": table(
        "sources/table/1", lambda old: old.rename_columns([f"{n}x" for n in old.column_names])
    ),
    "a table of other constants": table(
        "sources/table/1", lambda old: pa.table({n: [b"x"] * len(old) for n in old.column_names})
    ),
    "a table for another filter": say("segment", "tables", 0, value='["is true","price","=","1"]'),
    "a later version": say("index", value=99),
    "no version": lambda header, _: header.pop("index") and None,
    "no schema": lambda header, _: header.pop("schema") and None,
    "a schema that is none": say("schema", value={"checked": 1, "attributes": {}}),
    "an unknown type": say(
        "schema", value={"checked": True, "attributes": {"x": ["oops", None, True, None]}}
    ),
    "ids of no kind": say("ids", value="float"),
    "ids of another kind": say("ids", value="integer"),
    "a segment that is none": say("segment", value=5),
    "a first code elsewhere": say("segment", "partitions", 0, "first_code", value=10**9),
    "a first code of no kind": say("segment", "sweeps", 0, "first_code", value=None),
    "a structure that is not there": say("segment", "sweeps", value=[]),
    "keys of other attributes": say("segment", "sweeps", 0, "key", 0, value="price"),
    "no key at all": say("segment", "sweeps", 0, "key", value=[]),
    "fewer ranges than there are": say("segment", "sweeps", 0, "ranges", value=[]),
    "an array too many": lambda _, arrays: arrays.update(more=np.arange(3)),
}
WITH_SCHEMA: dict[str, Change] = {
    "an end that is not there": poke("/range_low", 0, 2**31),
    "an end of another group": poke("/range_high", 0, 2**32 - 1),
    "ends that do not ascend": lambda _, arrays: _fall(arrays),
    "ends out of place": poke("/low_start", 1, 2**31),
    "ends that are missing": cut("/highs"),
    "ranges without ends": cut("/range_high"),
    "swept ends that are missing": cut("/low"),
    "a swept end that is not there": poke("/low", 0, 2**30 + 1),
    "a swept end between others": poke("/high", 0, 2),
    "a swept range with one end": poke("/high", 0, 2**31 - 1),
    "the ends of a line that fall": poke("ends/price", 0, 2**62),
    "the ends of a line that are missing": lambda _, arrays: arrays.update(
        {"ends/price": np.arange(1)}
    ),
    "ranges of strings": say("segment", "sweeps", 0, "ranges", 0, value="symbol"),
    "an attribute outside the schema": say("segment", "sweeps", 0, "ranges", 0, value="nobody"),
    "another schema": say("schema", value={"checked": False, "attributes": {}}),
}
WITHOUT_SCHEMA: dict[str, Change] = {
    "a range of no kind": poke("/kind", 0, 7),
    "a range without ends": poke("/kind", 0, 1),
    "a range with a strange comparison": poke("/kind", 0, 2 | 3 << 3),
    "a range of many kinds": poke("/kind", 0, 255),
    "a date that is none": lambda _, arrays: _wrong_dates(arrays),
    "ranges too few": cut("/kind"),
    "an entry with two ranges": poke("owned/0", 1, 0),
    "an entry that is not there": poke("owned/0", -1, 10**9),
}


def _repeat_keys(arrays: dict[str, NDArray[Any]]) -> None:
    for name, array in arrays.items():
        if "/key/" in name:
            array[1] = array[0]


def _fall(arrays: dict[str, NDArray[Any]]) -> None:
    for name, array in arrays.items():
        if name.endswith("/lows"):
            array[::-1].sort()


def _wrong_dates(arrays: dict[str, NDArray[Any]]) -> None:
    name = next(n for n in arrays if n.endswith("kind") and (arrays[n] & 7 == 3).any())
    where = np.flatnonzero(arrays[name] & 7 == 3)
    arrays[name.removesuffix("kind") + "low"][where] = 10**7


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        *[(typed, name) for name in CONTRADICTIONS for typed in (True, False)],
        *[(True, name) for name in WITH_SCHEMA],
        *[(False, name) for name in WITHOUT_SCHEMA],
    ],
)
def test_a_contradiction_is_refused(
    typed: bool, name: str, originals: dict[bool, Path], tmp_path: Path
) -> None:
    change = {**CONTRADICTIONS, **(WITH_SCHEMA if typed else WITHOUT_SCHEMA)}[name]
    path = tmp_path / "index"
    path.write_bytes(originals[typed].read_bytes())
    use(path)
    rewritten(path, change)
    with pytest.raises(IndexFileError, match=str(path)):
        use(path)


@pytest.mark.slow
@pytest.mark.parametrize("typed", [True, False])
def test_every_section_is_needed_and_of_its_type(
    typed: bool, originals: dict[bool, Path], tmp_path: Path
) -> None:
    path = tmp_path / "index"
    header, mapped = container.read(originals[typed])
    for name, array in mapped.items():
        others = {other: mapped[other] for other in mapped if other != name}
        for arrays in (others, {**others, name: array.astype(np.float32)}):
            container.write(path, header, arrays)
            with pytest.raises(IndexFileError, match=str(path)):
                use(path)


@pytest.mark.slow
@pytest.mark.parametrize("typed", [True, False])
@settings(max_examples=75)
@given(data=st.data())
def test_whatever_a_file_says_nothing_crashes(
    typed: bool, originals: dict[bool, Path], tmp_path_factory: Any, data: st.DataObject
) -> None:
    """A changed number may say something else that makes sense; then the file is another one."""
    path = tmp_path_factory.mktemp("fuzzed") / "index"

    def change(_: Any, arrays: dict[str, NDArray[Any]]) -> None:
        flat = sorted(name for name in arrays if len(arrays[name]))
        for _ in range(data.draw(st.integers(1, 3))):
            array = arrays[data.draw(st.sampled_from(flat))]
            place = data.draw(st.integers(0, len(array) - 1))
            limits, old = np.iinfo(array.dtype), int(array[place])
            near = st.integers(max(old - 3, limits.min), min(old + 3, limits.max))
            some = st.integers(limits.min, limits.max)
            array[place] = data.draw(near | some | st.sampled_from([limits.min, limits.max, 0, 1]))

    path.write_bytes(originals[typed].read_bytes())
    rewritten(path, change)
    try:
        use(path)
    except IndexFileError as error:
        refusal = str(error)
    else:
        refusal = str(path)
    assert str(path) in refusal
