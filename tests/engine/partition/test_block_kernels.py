"""Kernels stay within their arrays, whatever they are given.

A build of them that checks every index runs in a process of its own. And the kernel that writes is
given less room than there is to write, with guards around it; no entries; no events; no axes.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tests import ROOT
from tests.engine.kernel_fuzz import Case, small_sizes
from tidegate.engine.index import Index
from tidegate.engine.partition import block_kernels
from tidegate.engine.partition.arrays import NO_RANK, NO_ROW, Ends, Entries, Events, RowPieces
from tidegate.engine.partition.partition import Partition, Work
from tidegate.engine.primitives.alive import is_alive
from tidegate.engine.primitives.integer_arrays import ZONE

GUARD = -77
GAP = 80  # more than a kernel writes at once
ALL_ALIVE = np.empty(0, np.uint64)
SEEDS = (1, 2, 5, 6, 12, 17)  # which come upon everything
LIMITS = (0, 1, 2, 15, 16, 17, 63, 64, 65)


@pytest.mark.slow
def test_no_index_is_out_of_bounds_in_a_build_that_checks_them(tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    quickly = {"NUMBA_OPT": "0", "PYTHONPATH": path}
    command = [sys.executable, "-m", "tests.engine.kernel_fuzz", *map(str, SEEDS)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | checked | quickly,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()) >= {
        "Boolean trees with several subscribers, bit-sliced",
        "Boolean trees, by key of 1",
        "conjunctions with several subscribers, by key of 1",
        "conjunctions, bit-sliced",
        "ranges with several subscribers, by key of 1",
        "ranges, by key of 2",
        *("sweeps on 0", "sweeps on 1", "sweeps on 2"),
        "wide zones",
    }


class Room:
    """Places for the codes of each event, with guards between them."""

    def __init__(self, limits: NDArray[np.int64]) -> None:
        steps = limits + GAP
        self.begin = GAP + np.cumsum(steps) - steps
        self.end = self.begin + limits
        self.cursor = self.begin.copy()
        self.out = np.full(GAP + int(steps.sum()), GUARD, np.int32)

    def codes(self) -> list[list[int]]:
        """What was written for each event, and nothing was written elsewhere."""
        assert (self.cursor <= self.end).all()
        outside = np.ones(len(self.out), np.bool_)
        for begin, end in zip(self.begin, self.end, strict=True):
            outside[begin:end] = False
        assert (self.out[outside] == GUARD).all()
        bounds = zip(self.begin, self.cursor, strict=True)
        return [self.out[begin:end].tolist() for begin, end in bounds]


def counted(partition: Partition, works: list[Work], size: int, alive: Any) -> NDArray[np.int64]:
    counts = np.zeros(size, np.int64)
    for work in works:
        partition.count(work, alive, counts)
    return counts


@pytest.mark.parametrize("seed", range(1, 9))
def test_nothing_is_written_behind_the_end(seed: int) -> None:
    with small_sizes():
        case = Case(seed, blocks=3)
        segment = case.compiled()
    ids = segment.ids.to_pylist()
    index = Index(case.schema)
    case.add_to(index)
    table = case.table(200)
    wanted = [set(index.match(event)) for event in table.to_pylist()]
    alive = np.random.default_rng(seed).integers(0, 2**64, len(segment) // 64 + 1, np.uint64)
    for partition in segment.partitions:
        works = list(partition.work(case.encoded(table)))
        held = range(partition.first_code, partition.first_code + partition.codes)
        for living in (ALL_ALIVE, alive):
            expected = [
                {
                    code
                    for code in held
                    if ids[code] in found and is_alive(living, code)
                }
                for found in wanted
            ]  # fmt: skip
            counts = counted(partition, works, 200, living)
            assert counts.tolist() == [len(codes) for codes in expected]
            for limits in (counts, counts + 100, *(np.full(200, limit) for limit in LIMITS)):
                room = Room(limits)
                for work in works:
                    partition.write(work, living, room.cursor, room.end, room.out)
                for codes, all_codes, limit in zip(room.codes(), expected, limits, strict=True):
                    assert len(codes) == len(set(codes)) == min(limit, len(all_codes))
                    assert set(codes) <= all_codes


def nothing(kind: Any) -> NDArray[Any]:
    return np.empty(0, kind)


def entries(sizes: list[int], refs: list[list[int]] | None = None) -> Entries:
    """Groups of entries with some conditions each, and nothing else; a zone for each group."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    filled = np.array([size > 0 for size in sizes])
    ref_start = nothing(np.uint32)
    if refs is not None:
        ref_start = np.concatenate([[0], np.cumsum([len(own) for own in refs])]).astype(np.uint32)
    return Entries(
        group_start=starts,
        ref_start=ref_start,
        refs=np.array([ref for own in refs or [] for ref in own], np.uint32),
        range_start=nothing(np.uint32),
        range_axis=nothing(np.uint8),
        token_start=nothing(np.uint32),
        tokens=nothing(np.uint32),
        code_start=nothing(np.uint32),
        zone_start=np.concatenate([[0], np.cumsum(filled)]).astype(np.uint32),
        zone_entry=np.unique(starts),
        zone_head=np.full(int(filled.sum()), NO_ROW, np.uint32),
        zone_ranged=nothing(np.uint8),
    )


NO_CONDITIONS = RowPieces(
    nothing(np.uint32), nothing(np.uint32), np.zeros(1, np.uint32), *[nothing(np.uint32)] * 4
)
NO_ENDS = Ends(
    nothing(np.uint8), nothing(np.uint32), nothing(np.int64), nothing(np.uint32), nothing(np.int64),
    nothing(np.uint32), nothing(np.uint32), nothing(np.uint32), nothing(np.uint32), 0,
)  # fmt: skip


def events(groups: list[int], ranks: list[int] | None = None) -> Events:
    """An event for each group, in runs, with its rank on one axis if there is one."""
    own = np.array(groups, np.int64)
    starts = np.flatnonzero(np.diff(own, prepend=-1))
    return Events(
        row=np.arange(len(own), dtype=np.int32),
        run_group=own[starts].astype(np.uint32),
        run_start=np.append(starts, len(own)).astype(np.uint32),
        rank=np.array(ranks or [], np.uint32),
        given=nothing(np.uint64),
        key=nothing(np.int64),
        present=nothing(np.uint8),
    )


def found(kept: Entries, conditions: RowPieces, seen: Events) -> list[list[int]]:
    """The codes of each event; the first code is 1,000."""
    size = len(seen.row)
    counts = np.zeros(size + 1, np.int64)
    block_kernels.count(kept, conditions, NO_ENDS, seen, ALL_ALIVE, 1_000, counts[:size])
    assert counts[size] == 0
    room = Room(counts[:size])
    block_kernels.write(
        kept, conditions, NO_ENDS, seen, ALL_ALIVE, 1_000, room.cursor, room.end, room.out
    )
    assert (room.cursor == room.end).all()
    return room.codes()


@pytest.mark.parametrize("size", [0, 1, 64, 511, 512, 513, 1_025])
def test_no_entries_are_met_by_no_event(size: int) -> None:
    assert found(entries([0]), NO_CONDITIONS, events([0] * size)) == [[]] * size


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 511, 512, 513, 1_025])
def test_entries_without_conditions_are_met_by_every_event_of_their_group(size: int) -> None:
    groups = sorted((i * i) % 4 for i in range(size))
    sizes = [1, 17, 0, 64]
    first = [1_000, 1_001, 1_018, 1_018]
    expected = [list(range(first[g], first[g] + sizes[g])) for g in groups]
    assert found(entries(sizes), NO_CONDITIONS, events(groups)) == expected


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 511, 512, 513, 1_025])
def test_ranks_at_both_ends_of_an_axis(size: int) -> None:
    """Three conditions on an axis of four ranks: the first rank, all of them, the last one."""
    conditions = RowPieces(
        rows=np.array([0, 1, 2], np.uint32),
        axis_size=np.array([4], np.uint32),
        piece_start=np.array([0, 3], np.uint32),
        piece_row=np.array([0, 1, 2], np.uint32),
        piece_low=np.array([0, 0, 3], np.uint32),
        piece_high=np.array([1, 4, 4], np.uint32),
        given_row=nothing(np.uint32),
    )
    ranks = [(0, 1, 3, NO_RANK)[i * i % 7 % 4] for i in range(size)]
    refs = [[0], [1], [2], [0, 1], [0, 2], []]
    held = {0: [0, 1, 3, 5], 1: [1, 5], 3: [1, 2, 5], NO_RANK: [5]}
    expected = [[1_000 + entry for entry in held[rank]] for rank in ranks]
    assert found(entries([6], refs), conditions, events([0] * size, ranks)) == expected


@pytest.mark.parametrize("size", [64, 70])
def test_more_zones_than_are_turned_at_once(size: int) -> None:
    index = Index()
    count = 70 * ZONE + 5
    numbers = np.arange(count)
    table = pa.table({"id": numbers, "low": numbers % 41, "high": numbers // 41})
    index.add_many(table, filter="x >= :low AND y <= :high")
    x, y = np.arange(size) % 44 - 1, np.arange(size) * 2
    held = (x[:, None] >= numbers % 41) & (y[:, None] <= numbers // 41)
    matched = index.match_batch(pa.table({"x": x, "y": y}))
    pairs = np.zeros(held.shape, np.int64)
    rows = matched["event"].to_numpy()
    ids = matched["subscription"].cast(pa.int64()).to_numpy()
    np.add.at(pairs, (rows, ids), 1)
    assert (pairs == held).all()
    assert index.count_batch(pa.table({"x": x, "y": y})).tolist() == held.sum(axis=1).tolist()
