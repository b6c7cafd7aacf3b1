"""Any attribute's values as integers that keep their order.

`Coverage` knows boxes of 64-bit integers only. An `Axis` gives the cuts of one attribute (ends of
strings, doubles, decimals, of any line) integer **labels** in their order: a new cut gets a label
between those of its neighbours, so labels given out stay valid. When there is no room left between
two neighbours, all labels are spread out anew, and the axis says how the old ones translate.

The lines of an attribute, absent first, lie on one axis end to end, so that "present" or "a number"
is one run of labels.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from tidegate.filters.lines import ALL_LINES, FLOAT, Line
from tidegate.filters.valueset import ValueSet

Cut: TypeAlias = tuple[int, Any]
Run: TypeAlias = tuple[int, int]

LOWEST: Final = -(2**62)
HIGHEST: Final = 2**62
_STEP: Final = 2**40

_ORDER: Final = {
    name: rank
    for rank, name in enumerate(dict.fromkeys((*(x.name for x in ALL_LINES), FLOAT.name)))
}
_ABSENT: Final = (-1, 0)


class Axis:
    """The labels of one attribute's cuts; `lines` are those its values lie on."""

    def __init__(self, lines: Iterable[Line]) -> None:
        ordered = sorted(lines, key=lambda line: _ORDER[line.name])
        self._lines = {line.name: line for line in ordered}
        starts: list[Cut] = [(_ORDER[line.name], line.low) for line in ordered]
        self._first = starts[0]
        ends: list[Cut | None] = [*starts[1:], None]
        self._after = dict(zip(self._lines, ends, strict=True))
        self._cuts: list[Cut] = []
        self._labels: list[int] = []
        self._known: dict[Cut, int] = {}
        self.moved: tuple[list[int], list[int]] | None = None

    def runs(self, allowed: ValueSet) -> list[Run]:
        """The set as runs of labels, both ends included; conditions on text are left out.

        `moved` is set if labels given out before have changed: (old labels, new labels).
        """
        pairs: list[list[Cut | None]] = []
        if allowed.absent:
            pairs.append([_ABSENT, self._first])
        for name, line in self._lines.items():
            bounds = allowed.spans.get(name, ())
            rank = _ORDER[name]
            for i in range(0, len(bounds), 2):
                low: Cut = (rank, bounds[i])
                high = self._after[name] if bounds[i + 1] == line.high else (rank, bounds[i + 1])
                if pairs and pairs[-1][1] == low:
                    pairs[-1][1] = high
                else:
                    pairs.append([low, high])
        for low_high in pairs:  # first all cuts, then their labels: giving one may move others
            for cut in low_high:
                self._label(cut)
        return [(self._label(low), self._label(high) - 1) for low, high in pairs]

    def _label(self, cut: Cut | None) -> int:
        if cut is None:
            return HIGHEST
        label = self._known.get(cut)
        return self._insert(cut) if label is None else label

    def _insert(self, cut: Cut) -> int:
        at = bisect_left(self._cuts, cut)
        before = self._labels[at - 1] if at > 0 else LOWEST
        behind = self._labels[at] if at < len(self._labels) else HIGHEST
        if behind - before < 2:
            self._spread()
            return self._insert(cut)
        label = (before + behind) // 2
        if at == len(self._labels) and self._labels:
            label = min(label, before + _STEP)
        elif at == 0 and self._labels:
            label = max(label, behind - _STEP)
        self._cuts.insert(at, cut)
        self._labels.insert(at, label)
        self._known[cut] = label
        return label

    def _spread(self) -> None:
        """Give all cuts new labels at equal distances."""
        gap = (HIGHEST - LOWEST) // (len(self._labels) + 1)
        spread = [LOWEST + gap * (i + 1) for i in range(len(self._labels))]
        old = self._labels if self.moved is None else self.moved[0]
        if self.moved is None:
            self.moved = (old, spread)
        else:  # moved twice before anybody looked
            step = dict(zip(self._labels, spread, strict=True))
            self.moved = (old, [step[label] for label in self.moved[1]])
        self._labels = list(spread)
        self._known = dict(zip(self._cuts, spread, strict=True))
