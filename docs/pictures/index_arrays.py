"""What is inside an index? A small one, compiled as always, and its arrays as they are.

Eleven subscriptions are few: so that they come apart as millions do, the sizes from which on a
sweep, a head or a range of one's own pays are set low while they are compiled, and a zone has two
entries and not 64. Nothing is matched with that index: its kernels were compiled for 64.
"""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest import mock

from docs.pictures.svg import (
    BLUE,
    CODE_WIDE,
    GREEN,
    GREY,
    PALE,
    WHITE,
    YELLOW,
    Picture,
)
from tidegate.engine.compile import assemble, layout, own_ranges
from tidegate.engine.conditions.numbered import Conditions
from tidegate.engine.index import Index
from tidegate.engine.partition.arrays import AND, AND_ROW, NO_ROW, OPERAND, OR, OR_ROW, PUSH
from tidegate.engine.partition.partition import Partition
from tidegate.engine.segments.segment import Segment
from tidegate.engine.sweep import sweep, sweep_kernels
from tidegate.engine.sweep.sweep import Sweep
from tidegate.filters.expression import Predicate, spell_tree
from tidegate.filters.schema import Schema
from tidegate.filters.values import BIGINT_MAX, BIGINT_MIN

SCHEMA: Final = "symbol STRING, price BIGINT, volume BIGINT, venue STRING, urgent BOOLEAN"
SUBSCRIPTIONS: Final = {
    "ann": "symbol = 'IBM' AND price BETWEEN 10 AND 14",
    "bob": "symbol = 'SAP' AND price < 90",
    "cat": "symbol = 'IBM' AND price > 12",
    "dan": "symbol = 'IBM' AND price BETWEEN 20 AND 30",
    "eve": "symbol = 'SAP' AND price BETWEEN 80 AND 95",
    "fay": "symbol = 'TSM' AND price BETWEEN 30 AND 40",
    "gus": "urgent AND volume > 1000",
    "hal": "venue = 'X' AND volume > 1000",
    "ida": "venue = 'X' AND volume > 5000",
    "joe": "venue = 'X' AND volume > 1000 AND urgent",
    "kim": "urgent AND (venue = 'X' OR volume > 1000)",
}

_SIZES: Final = (
    (layout, "_ENTRIES_WORTH_A_SWEEP", 4),
    (assemble, "_FEWEST_OF_A_HEAD", 2),
    (own_ranges, "_RANGES_SHARED", 3),
    (assemble, "ZONE", 2),
    (sweep, "ZONE", 2),
    (sweep_kernels, "ZONE", 2),
)
_MARGIN: Final = 14.0
_LABEL: Final = 108.0
_CELL: Final = 80.0
_TALL: Final = 25.0
_WIDTH: Final = 664.0
_TOKENS: Final = {PUSH: "push", AND_ROW: "and", OR_ROW: "or", AND: "and", OR: "or"}


@contextmanager
def small_sizes() -> Iterator[None]:
    """Let a handful of subscriptions be many."""
    plain: Any = sweep_kernels.find_zones
    with ExitStack() as stack:
        for module, name, size in _SIZES:
            assert hasattr(module, name)
            stack.enter_context(mock.patch.object(module, name, size))
        stack.enter_context(mock.patch.object(sweep_kernels, "find_zones", plain.py_func))
        yield


def segment() -> Segment:
    """The subscriptions, compiled."""
    with small_sizes():
        index = Index(Schema(SCHEMA))
        for id, text in SUBSCRIPTIONS.items():
            index.add(id, text)
        index.flush()
    [live] = index._content.lives
    return live.segment


def draw() -> str:
    """The arrays of that segment."""
    compiled = segment()
    [sweep] = compiled.sweeps
    plain, trees = compiled.partitions
    picture = Picture(
        "The arrays of an index",
        "Eleven subscriptions as a segment: one sweep, one partition of conjunctions, one of "
        "Boolean trees, and the arrays of each.",
    )
    y = _subscriptions(picture, compiled, _MARGIN)
    y = _sweep(picture, compiled, sweep, y + 12)
    y = _partition(picture, plain, y + 12, BLUE, "A partition: conjunctions without a key")
    y = _partition(picture, trees, y + 12, YELLOW, "A partition: Boolean trees")
    return picture.svg(_WIDTH, y + _MARGIN)


def _subscriptions(picture: Picture, compiled: Segment, y: float) -> float:
    """What is in the segment by code, and its conditions; where they end."""
    conditions = compiled.table.conditions
    height = 36 + 22.0 * len(compiled) + 8
    picture.box(_MARGIN, y, _WIDTH - 2 * _MARGIN, height, GREY)
    left, right = _MARGIN + 12, 478.0
    picture.text(left, y + 23, "Subscriptions, by code", bold=True)
    picture.text(right, y + 23, "Conditions, by number", bold=True)
    parts: list[Sweep | Partition] = [*compiled.sweeps, *compiled.partitions]
    fills = [
        (part.first_code, part.first_code + part.codes, fill)
        for part, fill in zip(parts, (GREEN, BLUE, YELLOW), strict=True)
    ]
    for code, id in enumerate(compiled.ids.to_pylist()):
        at = y + 36 + 22 * code
        [fill] = [fill for first, last, fill in fills if first <= code < last]
        picture.cell(left, at, 34, 22, fill)
        picture.text(left + 17, at + 16, str(code), size=14, anchor="middle")
        picture.text(left + 44, at + 16, f"{id}:  {SUBSCRIPTIONS[id]}", size=14)
    for number, text in enumerate(_spelled(conditions)):
        at = y + 36 + 22 * number
        picture.cell(right, at, 34, 22, WHITE)
        picture.text(right + 17, at + 16, str(number), size=14, anchor="middle")
        picture.text(right + 44, at + 16, text, size=14)
    return y + height


def _spelled(conditions: Conditions) -> list[str]:
    return [
        spell_tree(condition.node) if isinstance(condition.node, Predicate) else "several"
        for condition in conditions
    ]


def _sweep(picture: Picture, compiled: Segment, sweep: Sweep, y: float) -> float:
    lines = sweep.range_lines.own
    assert lines is not None
    spans = sweep.spans(lines)
    [attribute], [line] = sweep.attributes, lines
    assert line is not None
    cuts = compiled.ends.cuts(attribute, line).tolist()
    texts = _spelled(compiled.table.conditions)
    size = len(sweep)
    groups, zones = sweep.group_start.tolist(), sweep.zone_start.tolist()
    zone_entry = [
        first + sweep_zone
        for group, first in enumerate(groups[:-1])
        for sweep_zone in range(0, groups[group + 1] - first, 2)
    ]
    zone_entry.append(size)
    bottom = y + 42 + 13 * (_TALL + 4) + 20
    picture.box(_MARGIN, y, _WIDTH - 2 * _MARGIN, bottom - y, GREEN)
    picture.text(_MARGIN + 12, y + 23, "A sweep: a key and ranges", bold=True)
    keys = [texts[number].partition(" = ")[2] for number in sweep.key.columns[0].tolist()]
    rows = _Rows(picture, y + 38, _CELL)
    rows.parts("group", groups, [f"group {group}" for group in range(len(keys))])
    rows.parts(f"its {sweep.key.attributes[0]}", groups, keys)
    rows.starts("group_start", groups, "where the entries of each group begin")
    rows.parts("zone", zone_entry, [f"zone {zone}" for zone in range(len(zone_entry) - 1)])
    rows.starts("zone_start", zones, "where the zones of each group begin")
    rows.parts("zone_low", zone_entry, spans.zone_low.tolist())
    rows.parts("reach", zone_entry, spans.reach.tolist())
    rows.parts("entry", list(range(size + 1)), list(range(size)))
    rows.parts("low", list(range(size + 1)), spans.low[:size].tolist())
    rows.parts("high", list(range(size + 1)), spans.high[:size].tolist())
    rows.parts("code", list(range(size + 1)), [sweep.first_code + i for i in range(size)])
    at = rows.y + 18
    picture.text(_MARGIN + 12, at, f"Ends of {attribute}, numbered 1, 3, 5, …", size=14, fill=PALE)
    rows.y = at + 8
    rows.row("number", [2 * i + 1 for i in range(len(cuts))], 46)
    rows.row("key", [_key(cut) for cut in cuts], 46)
    return max(rows.y, bottom)


def _key(cut: int) -> str:
    if cut in (BIGINT_MIN, BIGINT_MAX):
        return "-2⁶³" if cut == BIGINT_MIN else "2⁶³-1"
    return str(cut)


def _partition(picture: Picture, partition: Partition, y: float, fill: str, title: str) -> float:
    entries = partition.entries
    size = int(entries.group_start[-1])
    each = list(range(size + 1))
    count = 7 + bool(len(entries.token_start))
    height = 42 + count * (_TALL + 4) + 6
    picture.box(_MARGIN, y, _WIDTH - 2 * _MARGIN, height, fill)
    picture.text(_MARGIN + 12, y + 23, title, bold=True)
    rows = _Rows(picture, y + 38, 120)
    zone_entry = entries.zone_entry.tolist()
    heads = ["none" if head == NO_ROW else str(head) for head in entries.zone_head.tolist()]
    rows.starts("group_start", entries.group_start.tolist(), "one group: there is no key")
    rows.parts("zone", zone_entry, [f"zone {zone}" for zone in range(len(heads))])
    rows.starts("zone_entry", zone_entry, "where the entries of each zone begin")
    rows.parts("zone_head", zone_entry, heads)
    rows.parts("entry", each, list(range(size)))
    rows.parts("refs", each, _joined(entries.ref_start.tolist(), entries.refs.tolist(), str))
    if len(entries.token_start):
        starts, tokens = entries.token_start.tolist(), entries.tokens.tolist()
        rows.parts("tokens", each, _joined(starts, tokens, _token))
    rows.parts("code", each, [partition.first_code + entry for entry in range(size)])
    return y + height


def _token(token: int) -> str:
    operation = token & ~OPERAND
    return f"{_TOKENS[operation]} {token & OPERAND}"


def _joined(starts: Sequence[int], parts: Sequence[int], spelled: Any) -> list[str]:
    return [
        ", ".join(spelled(part) for part in parts[first:last])
        for first, last in itertools.pairwise(starts)
    ]


class _Rows:
    """Arrays one below the other, all over the same entries."""

    def __init__(self, picture: Picture, y: float, width: float) -> None:
        self._picture = picture
        self._left = _MARGIN + 12 + _LABEL
        self._width = width  # of an entry
        self.y = y

    def parts(self, label: str, begin: Sequence[int], cells: Sequence[object]) -> None:
        """A cell from each beginning to the next, in entries."""
        self._named(label)
        for first, last, cell in zip(begin, begin[1:], cells, strict=False):
            x, width = self._left + first * self._width, (last - first) * self._width
            self._cell(x, width, cell, WHITE)
        self.y += _TALL + 4

    def row(self, label: str, cells: Sequence[object], width: float) -> None:
        """Cells of one width, side by side."""
        self._named(label)
        for place, cell in enumerate(cells):
            self._cell(self._left + place * width, width, cell, WHITE)
        self.y += _TALL

    def starts(self, label: str, begin: Sequence[int], meaning: str) -> None:
        """Where parts begin, in cells side by side."""
        after = self._left + 38 * len(begin) + 10
        self._picture.text(after, self.y + 17, meaning, size=14, fill=PALE)
        self.row(label, begin, 38)
        self.y += 4

    def _named(self, label: str) -> None:
        code = " " not in label and label not in ("group", "zone", "entry", "number", "key", "code")
        self._picture.text(self._left - 10, self.y + 17, label, size=14, anchor="end", code=code)

    def _cell(self, x: float, width: float, cell: object, fill: str) -> None:
        self._picture.cell(x, self.y, width, _TALL, fill)
        said = str(cell)
        size = 14 if len(said) * 14 * CODE_WIDE < width + 16 else 12
        self._picture.text(x + width / 2, self.y + 17, said, size=size, anchor="middle")
