"""Where does a value, or a set of values, lie among the cuts of an attribute?

A `Ruler` gives the cuts of one attribute integer **labels** in their order, like an
`algebra.axis.Axis`, but for a store that is asked more often than it is told: only what is stored
gets labels of its own, what is asked about is placed between them and leaves no trace. It takes in
cuts in any number, and gives up those that nothing stored needs any more.

Without a schema, an attribute has three lines of numbers, and every comparison cuts all three. Here
they are one line, whose keys are triples: a key on each of the three. Triples have an order as long
as no two cuts cross, one lying before the other on one line and behind it on another, which only
the rounding of constants brings about. A set with a cut that crosses others is **loose**: it has no
place on the ruler, and whoever asks has to look at it by itself.

Invariant: of two cuts on the ruler, one is not behind the other on any line.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.algebra.axis import HIGHEST, LOWEST, Cut
from tidegate.engine.events.batch import Column
from tidegate.filters import bounds as b
from tidegate.filters.lines import (
    ALL_LINES,
    BIGINT,
    DECIMAL,
    DOUBLE,
    STRING,
    Line,
    double_at,
    key_of,
    value_at,
)
from tidegate.filters.meaning import universe
from tidegate.filters.schema import Schema
from tidegate.filters.values import Value
from tidegate.filters.valueset import ValueSet, line_of

Stretch: TypeAlias = tuple[Cut, Cut | None]
"""Values from a cut up to, but not including, another one; or up to the end."""

_Labels: TypeAlias = tuple[int, int]
Extent: TypeAlias = tuple[int, int, int, bool]
"""How far a set of values reaches: from a label up to, but not including, another one; the number
of stretches it consists of; and whether it is exact, that is, nothing but these."""

_LOOSE: Final = (LOWEST, HIGHEST, 1, False)

_NUMBERS: Final = (BIGINT, DOUBLE, DECIMAL)
_COMPONENTS: Final = {line.name: place for place, line in enumerate(_NUMBERS)}
_NUMBER: Final = Line(
    "number", tuple(line.low for line in _NUMBERS), tuple(line.high for line in _NUMBERS)
)
_WITHOUT_SCHEMA: Final = tuple(
    _NUMBER if line is BIGINT else line for line in ALL_LINES if line not in (DOUBLE, DECIMAL)
)
_ABSENT: Final = (-1, 0)
_STEP: Final = 2**40
_PAGE: Final = 512  # cuts


class Ruler:
    """The labels of one attribute's cuts.

    >>> from tidegate import parse
    >>> ruler = Ruler("x", None)
    >>> small = parse("x < 5").form.allowed
    >>> ruler.take_in(small)
    >>> low, high, _, _ = ruler.extent(small)
    >>> [low <= ruler.place(value) < high for value in (4, 4.5, 5, "4", None)]
    [True, True, False, False, False]
    """

    def __init__(self, attribute: str, schema: Schema | None) -> None:
        self._merges = schema is None
        self._value_lines = ALL_LINES if schema is None else schema[attribute].lines
        lines = _WITHOUT_SCHEMA if schema is None else self._value_lines
        starts: list[Cut | None] = [(rank, line.low) for rank, line in enumerate(lines)]
        self._first = starts[0]
        # By the rank of a line, the labels of its cuts; the last ones are of rank -1, that of NULL.
        self._labels: list[dict[Any, int]] = [{} for _ in range(len(lines) + 1)]
        self._lines = {
            line.name: (rank, line.high, behind, self._labels[rank])
            for rank, (line, behind) in enumerate(zip(lines, [*starts[1:], None], strict=True))
        }
        own_keys = ((str, STRING),) if self._merges else ((str, STRING), (int, BIGINT))
        self._own_keys: dict[type, int] = {
            kind: self._lines[line.name][0] for kind, line in own_keys if line.name in self._lines
        }
        self._pages: list[list[Cut]] = []
        self._heads: list[Cut] = []
        self._tables: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        self.moved: tuple[list[int], list[int]] | None = None
        everything = universe(attribute, schema)
        self._universe = self._stretches(everything) or []
        self.low, self.high = LOWEST, HIGHEST  # where the values lie that the attribute can have
        self.take_in(everything)
        self._look_up_universe()

    def allows(self, label: int) -> bool:
        """Whether a value at that place is one that the attribute can have."""
        at = self._at
        return any(at(low) <= label < at(high) for low, high in self._universe)

    def _look_up_universe(self) -> None:
        self.low = self._at(self._universe[0][0])
        self.high = self._at(self._universe[-1][1])

    def take_in(self, allowed: ValueSet) -> None:
        """Give the cuts of a set labels, unless the set is loose.

        `moved` is set if labels given out before have changed: (old labels, new labels).
        """
        cuts = None
        label = self._label
        for low, high in self._stretches(allowed) or ():
            if label(low) is None or label(high) is None:
                cuts = [*(cuts or ()), low, high]
        if cuts is not None:
            new = [cut for cut in dict.fromkeys(cuts) if cut is not None and label(cut) is None]
            if all(self._around(cut) is not None for cut in new):
                for cut in new:
                    self._insert(cut)

    def forget(self, needed: Collection[int]) -> None:
        """Give up the labels that are not among those needed."""
        universal = {cut for stretch in self._universe for cut in stretch}
        kept = [
            cut
            for page in self._pages
            for cut in page
            if cut in universal or self._at(cut) in needed
        ]
        self._relabel([(cut, self._at(cut)) for cut in kept])
        self._page(kept)

    def extent(self, allowed: ValueSet, inner: bool = False) -> Extent:
        """How far a set reaches, conditions on text left out; everywhere if it is loose.

        Or, `inner`, how far a set can reach that lies within this one: from `LOWEST` and up to
        `HIGHEST` where it can reach as far as the attribute's values.
        """
        low = high = None
        runs = 1
        if len(allowed.spans) == 1 and not allowed.absent:
            for name, bounds in allowed.spans.items():
                if len(bounds) == 2 and name in self._lines:  # the commonest, without a call
                    _, end, behind, labels = self._lines[name]
                    low, high = labels.get(bounds[0]), labels.get(bounds[1])
                    if high is None and bounds[1] == end:
                        high = self._label(behind)
        if low is None or high is None:
            found = self._stretches(allowed)
            if found is None:
                return _LOOSE
            runs = len(found)
            start, stop = self._around(found[0][0]), self._around(found[-1][1])
            if start is None or stop is None or (runs > 1 and self._is_loose(found)):
                return _LOOSE
            low, high = (start[1], stop[0]) if inner else (start[0], stop[1])
        if inner:
            low = LOWEST if low <= self.low else low
            high = HIGHEST if high >= self.high else high
        return low, high, runs, not allowed.texts

    def _is_loose(self, found: list[Stretch]) -> bool:
        """Whether one of the cuts between several stretches crosses others."""
        return self._merges and any(
            self._around(high) is None or self._around(low) is None
            for (_, high), (low, _) in pairwise(found)
        )

    def runs(self, allowed: ValueSet) -> list[Extent]:
        """The stretches of a set, each of them by itself."""
        runs: list[Extent] = []
        for start, end in self._stretches(allowed) or ():
            low, high = self._around(start), self._around(end)
            if low is None or high is None:
                return [_LOOSE]
            runs.append((low[0], high[1], 1, not allowed.texts))
        return runs or [_LOOSE]

    def place(self, value: Value) -> int:
        """The label of the last cut that is not behind a normal value."""
        rank = self._own_keys.get(type(value))
        if rank is not None:  # of a line on which a value is its own key
            return self._floor((rank, value))
        if value is None:
            return self._floor(_ABSENT)
        line = line_of(value, self._value_lines)
        key = key_of(line, value)
        if self._merges and line.name in _COMPONENTS:
            return self._place_number(_COMPONENTS[line.name], key)
        return self._floor((self._lines[line.name][0], key))

    def _floor(self, cut: Cut) -> int:
        label = self._label(cut)
        if label is None:
            before, _ = self._neighbours(cut)
            label = LOWEST if before is None else self._at(before)
        return label

    def _place_number(self, component: int, key: Any) -> int:
        """The label of the last cut that is not behind a number on one of their lines."""
        number = self._lines[_NUMBER.name][0]

        def on_line(cut: Cut) -> Cut:
            return (number, cut[1][component]) if cut[0] == number else cut

        page = bisect_right(self._heads, (number, key), key=on_line) - 1
        if page < 0:
            return LOWEST
        at = bisect_right(self._pages[page], (number, key), key=on_line)
        return self._at(self._pages[page][at - 1])

    def places(self, column: Column) -> NDArray[np.int64]:
        """`place` of each value of a column."""
        labels = np.full(column.size, self.place(None), np.int64)
        for stretch in column.stretches:
            if stretch.texts:
                found = np.array([self.place(text) for text in stretch.texts], np.int64)
                labels[stretch.rows] = found[stretch.keys]
            elif stretch.line.name == DECIMAL.name:
                keys, which = np.unique(stretch.keys, return_inverse=True)
                values = [value_at(stretch.line, key) for key in keys.tolist()]
                labels[stretch.rows] = np.array([self.place(v) for v in values], np.int64)[which]
            else:
                cuts, upto = self._table(stretch.line.name)
                labels[stretch.rows] = upto[np.searchsorted(cuts, stretch.keys, side="right")]
        return labels

    def _table(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cuts of a line of 64-bit keys, and what is the last label before and behind each."""
        found = self._tables.get(name)
        if found is None:
            component = _COMPONENTS.get(name) if self._merges else None
            rank = self._lines[name if component is None else _NUMBER.name][0]
            keys, labels = [], [LOWEST]
            for page in self._pages:
                for cut in page:
                    if cut[0] < rank:
                        labels = [self._at(cut)]
                    elif cut[0] == rank:
                        key = cut[1] if component is None else cut[1][component]
                        if key < 2**63:  # all others are behind the line
                            keys.append(key)
                            labels.append(self._at(cut))
            found = np.array(keys, np.int64), np.array(labels, np.int64)
            self._tables[name] = found
        return found

    # -- cuts, their labels, and their order

    def _label(self, cut: Cut | None) -> int | None:
        """The label of a cut, if it has one; None is the end of all lines, which has."""
        return HIGHEST if cut is None else self._labels[cut[0]].get(cut[1])

    def _at(self, cut: Cut | None) -> int:
        """The label of a cut that has one."""
        return HIGHEST if cut is None else self._labels[cut[0]][cut[1]]

    def _relabel(self, known: Iterable[tuple[Cut, int]]) -> None:
        """Have these cuts, with these labels, and no others."""
        for labels in self._labels:
            labels.clear()
        for (rank, key), label in known:
            self._labels[rank][key] = label

    def _stretches(self, allowed: ValueSet) -> list[Stretch] | None:
        """A set without its conditions on text; None if its numbers do not go on one line."""
        spans: Mapping[str, b.Bounds] | None = allowed.spans
        if self._merges:
            spans = _on_one_line(allowed.spans)
        if spans is None:
            return None
        if len(spans) == 1 and not allowed.absent:
            ((name, bounds),) = spans.items()
            if len(bounds) == 2:
                rank, end, behind, _ = self._lines[name]
                low, high = bounds
                return [((rank, low), behind if high == end else (rank, high))]
        return self._joined(spans, allowed.absent)

    def _joined(self, spans: Mapping[str, b.Bounds], absent: bool) -> list[Stretch]:
        """All spans in order, those that touch as one stretch."""
        found: list[Stretch] = [(_ABSENT, self._first)] if absent else []
        for name, (rank, end, behind, _) in self._lines.items():
            bounds = spans.get(name, ())
            for i in range(0, len(bounds), 2):
                low: Cut = (rank, bounds[i])
                high = behind if bounds[i + 1] == end else (rank, bounds[i + 1])
                if found and found[-1][1] == low:
                    found[-1] = (found[-1][0], high)
                else:
                    found.append((low, high))
        return found

    def _around(self, cut: Cut | None) -> _Labels | None:
        """The labels of the last cut not behind this one and of the first not before it.

        None if it crosses one of them.
        """
        label = self._label(cut)
        if label is not None:
            return label, label
        assert cut is not None
        before, behind = self._neighbours(cut)
        if isinstance(cut[1], tuple) and not (_in_order(before, cut) and _in_order(cut, behind)):
            return None
        return LOWEST if before is None else self._at(before), self._at(behind)

    def _neighbours(self, cut: Cut) -> tuple[Cut | None, Cut | None]:
        """The cuts before and behind one that is not on the ruler."""
        page = bisect_right(self._heads, cut) - 1
        if page < 0:
            return None, self._heads[0] if self._heads else None
        at = bisect_left(self._pages[page], cut)
        before = self._pages[page][at - 1]
        if at < len(self._pages[page]):
            return before, self._pages[page][at]
        return before, self._heads[page + 1] if page + 1 < len(self._heads) else None

    def _insert(self, cut: Cut) -> None:
        before, behind = self._neighbours(cut)
        low = LOWEST if before is None else self._at(before)
        high = self._at(behind)
        if high - low < 2:
            self._spread()
            self._insert(cut)
            return
        label = (low + high) // 2
        if behind is None and before is not None:
            label = min(label, low + _STEP)
        elif before is None and behind is not None:
            label = max(label, high - _STEP)
        self._labels[cut[0]][cut[1]] = label
        self._put(cut)

    def _put(self, cut: Cut) -> None:
        self._tables.clear()
        page = max(0, bisect_right(self._heads, cut) - 1)
        if not self._pages:
            self._page([cut])
            return
        cuts = self._pages[page]
        cuts.insert(bisect_left(cuts, cut), cut)
        self._heads[page] = cuts[0]
        if len(cuts) > 2 * _PAGE:
            self._pages[page : page + 1] = cuts[:_PAGE], cuts[_PAGE:]
            self._heads.insert(page + 1, cuts[_PAGE])

    def _page(self, cuts: list[Cut]) -> None:
        """Put ordered cuts on pages."""
        self._tables.clear()
        self._pages = [cuts[i : i + _PAGE] for i in range(0, len(cuts), _PAGE)]
        self._heads = [page[0] for page in self._pages]

    def _spread(self) -> None:
        """Give all cuts new labels at equal distances."""
        cuts = [cut for page in self._pages for cut in page]
        gap = (HIGHEST - LOWEST) // (len(cuts) + 1)
        spread = [(cut, LOWEST + gap * (i + 1)) for i, cut in enumerate(cuts)]
        if self.moved is None:
            self.moved = ([self._at(cut) for cut in cuts], [label for _, label in spread])
        else:  # moved twice before anybody looked
            step = {self._at(cut): label for cut, label in spread}
            self.moved = (self.moved[0], [step[label] for label in self.moved[1]])
        self._relabel(spread)
        self._tables.clear()
        self._look_up_universe()


def _in_order(one: Cut | None, other: Cut | None) -> bool:
    """Whether one cut is nowhere behind the other, which is behind it or the same somewhere."""
    if one is None or other is None or one[0] != other[0]:
        return True
    return all(low <= high for low, high in zip(one[1], other[1], strict=True))


def _on_one_line(spans: Mapping[str, b.Bounds]) -> Mapping[str, b.Bounds] | None:
    """The spans, those of numbers as one of triples; None if these do not go together."""
    whole, binary = spans.get(BIGINT.name, ()), spans.get(DOUBLE.name, ())
    exact = spans.get(DECIMAL.name, ())
    lines = bool(whole) + bool(binary) + bool(exact)
    if lines == 0:
        return spans
    if len(whole) != len(binary):
        whole = _followed(BIGINT, binary, whole)
    if len(exact) != len(binary):
        exact = _followed(DECIMAL, binary, exact)
    if not len(whole) == len(binary) == len(exact):
        return None
    merged = {_NUMBER.name: tuple(zip(whole, binary, exact, strict=True))}
    if len(spans) > lines:
        merged.update((name, own) for name, own in spans.items() if name not in _COMPONENTS)
    return merged


def _followed(line: Line, doubles: b.Bounds, own: b.Bounds) -> b.Bounds:
    """Bounds on a line where those on the line of doubles are, if that makes the same set.

    Where an integer is compared with 2.5, all integers are on one side of it or the other: the set
    of integers has fewer bounds than that of doubles.
    """
    keys = tuple(_first_key(line, key) for key in doubles)
    plain: list[Any] = []
    for low, high in zip(keys[::2], keys[1::2], strict=True):
        if low < high and plain and plain[-1] == low:
            plain[-1] = high
        elif low < high:
            plain += (low, high)
    return keys if tuple(plain) == own else own


def _first_key(line: Line, double: int) -> Any:
    """The first key of a line whose number is not below that of a key of a double."""
    number = double_at(double)
    if math.isnan(number) or number == math.inf:
        return line.high
    if number == -math.inf:
        return line.low
    return min(max(math.ceil(Fraction(number) * 10**line.scale), line.low), line.high)
