"""Which interval of each attribute does a subscription lie in?

A subscription's **extent** on an attribute is one interval of the attribute's line that has in it
every value with which the subscription can match: the intersection of what the parts of its AND
allow, each widened to one interval. An OR has the hull of its alternatives, if all of them name
the attribute. What may hold for NULL, or for a value that is none of the attribute's type, is no
interval: the attribute is **free**, and so it is where only a condition on text speaks of it.

Extents are found a column at a time: rows of one text with their parameters, and rows whose texts
ask the same of an attribute but for a constant (`engine.compile.clauses`). Others are looked at
once each.

Keys are those of the line. Texts are numbered in their order, the ends of all intervals among them;
number i stands for the texts from `texts[i]` up to the next, so that intervals of texts are closed
as those of keys are. A line whose keys do not fit 64 bits (wide decimals) is left out: free.

Invariant (law 2): an event that a subscription matches has, on every attribute that is not free,
a value within the extent; a row that is `never` matches nothing.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.compile.clauses import Clauses
from tidegate.engine.conditions.cuts import COMPARISONS, has_int64_keys, span
from tidegate.engine.events.arrow_keys import Stretch
from tidegate.engine.primitives.distinct import firsts, numbered
from tidegate.errors import TidegateError
from tidegate.filters.attribute import Attribute
from tidegate.filters.expression import (
    And,
    Mode,
    Node,
    Operator,
    Parameter,
    Predicate,
    Truth,
    conjuncts,
    map_predicates,
    predicates,
)
from tidegate.filters.filter import Filter, bind, constant, parse
from tidegate.filters.lines import OTHER_LINE, STRING, TOP, Line
from tidegate.filters.meaning import allowed
from tidegate.filters.schema import Schema
from tidegate.pipeline.store import load_index
from tidegate.pipeline.store.literals import Rows

Integers: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Hull: TypeAlias = dict[str, tuple[Any, Any]]  # first key, and the first key after the last
_Columns: TypeAlias = Mapping[str, pa.Array]

_FIT_IF_ONE_DOES: Final[tuple[Callable[[pa.DataType], bool], ...]] = (
    pa.types.is_int64,
    pa.types.is_float64,
    pa.types.is_boolean,
    pa.types.is_date32,
    pa.types.is_timestamp,
)


@dataclass(frozen=True, slots=True)
class Extent:
    """The intervals of all subscriptions on one attribute, ends included."""

    line: Line
    low: Integers
    high: Integers
    texts: Sequence[str] | None  # what the numbers stand for, on the line of strings

    @property
    def whole(self) -> tuple[int, int]:
        """The ends of the interval that is no condition."""
        if self.texts is not None:
            return 0, len(self.texts) - 1
        return self.line.low, self.line.high - 1

    @property
    def free(self) -> Mask:
        """Which subscriptions say nothing about the attribute."""
        bottom, top = self.whole
        found: Mask = (self.low == bottom) & (self.high == top)
        return found

    @property
    def centres(self) -> Integers:
        """Where the intervals lie: their middles; of texts, which have no middle, the low ends."""
        if self.texts is not None:
            return self.low
        middle: Integers = (self.low >> 1) + (self.high >> 1) + (self.low & self.high & 1)
        return middle

    def number(self, key: Any) -> int:
        """The number of the first interval of keys that does not begin before a key."""
        return int(key) if self.texts is None else bisect_left(self.texts, key)

    def key(self, number: int) -> Any:
        """The first key that has this number."""
        return int(number) if self.texts is None else self.texts[number]

    def numbers(self, stretch: Stretch) -> Integers:
        """The numbers of the values of events, which lie on the line."""
        if self.texts is None:
            return stretch.keys
        known = [bisect_right(self.texts, text) - 1 for text in stretch.texts]
        return np.array(known, np.int64)[stretch.keys]


@dataclass(frozen=True, slots=True)
class Extents:
    """What is known of some subscriptions: extents by attribute, predicates, and who is out."""

    size: int
    by_attribute: Mapping[str, Extent]
    predicates: Integers  # how many each has
    never: Mask  # refused by the schema, or contradictory


def usable(own: Attribute) -> bool:
    """Whether intervals on an attribute can have numbers."""
    line = own.type.line
    return line is not None and (line is STRING or has_int64_keys(line))


def read_extents(
    filters: pa.Array, parameters: pa.Array, schema: Schema, attributes: Iterable[str]
) -> Extents:
    """The extents of stored subscriptions on some attributes; see `load_index.add`."""
    wanted = [name for name in attributes if usable(schema[name])]
    reader = _Reader(len(filters), schema, wanted)
    plain: list[tuple[Filter, Rows]] = []
    for said, rows, columns in load_index.alike(filters, parameters, partial(parse, schema=schema)):
        if isinstance(said, TidegateError):
            reader.never[rows] = True
        elif said.parameters:
            reader.read(said, rows, columns)
        elif len(rows):
            plain.append((said, rows))
    reader.read_plain(plain)
    reader.never[filters.is_null().to_numpy(zero_copy_only=False)] = True
    return reader.finish()


def hull(node: Node, schema: Schema) -> Hull | None:
    """What a condition leaves of each attribute that it is sure to constrain; None if nothing.

    >>> from tidegate.filters.filter import parse
    >>> schema = Schema({"a": "bigint", "b": "bigint"})
    >>> hull(parse("a IN (3, 7) AND (b = 1 OR b > 5 AND a = 3)", schema).tree, schema)
    {'a': (3, 8), 'b': (1, 9223372036854775808)}
    """
    if isinstance(node, Predicate):
        return _hull_of_predicate(node, schema)
    if isinstance(node, Truth):
        return {} if node.value else None
    parts = [hull(part, schema) for part in node.parts]
    return _intersection(parts) if isinstance(node, And) else _union(parts)


def _hull_of_predicate(predicate: Predicate, schema: Schema) -> Hull | None:
    held = allowed(predicate, schema)
    if held.is_empty():
        return None
    own = schema[predicate.attribute]
    if held.absent or OTHER_LINE.name in held.spans or not usable(own):
        return {}
    assert own.type.line is not None
    bounds = held.spans[own.type.line.name]
    return {predicate.attribute: (bounds[0], bounds[-1])}


def _intersection(parts: Iterable[Hull | None]) -> Hull | None:
    found: Hull = {}
    for part in parts:
        if part is None:
            return None
        for name, (low, after) in part.items():
            if name in found:
                low, after = max(found[name][0], low), min(found[name][1], after)
            if low >= after:
                return None
            found[name] = (low, after)
    return found


def _union(parts: Iterable[Hull | None]) -> Hull | None:
    possible = [part for part in parts if part is not None]
    if not possible:
        return None
    shared = set.intersection(*(set(part) for part in possible))
    return {
        name: (min(part[name][0] for part in possible), max(part[name][1] for part in possible))
        for name in possible[0]
        if name in shared
    }


class _Reader:
    """Intersects extents, the conditions of some rows at a time."""

    def __init__(self, size: int, schema: Schema, attributes: Sequence[str]) -> None:
        self._schema = schema
        self._lines: dict[str, Line] = {}
        self._ends: dict[str, tuple[Integers, Integers]] = {}
        self._texts: dict[str, list[tuple[Rows, Integers, list[str], list[str]]]] = {}
        for name in attributes:
            line = schema[name].type.line
            assert line is not None
            self._lines[name] = line
            if line is STRING:
                self._texts[name] = []
            else:
                self._ends[name] = (
                    np.full(size, line.low, np.int64),
                    np.full(size, line.high - 1, np.int64),
                )
        self.size = size
        self.predicates = np.zeros(size, np.int64)
        self.never = np.zeros(size, np.bool_)

    def read(self, filter: Filter, rows: Rows, columns: _Columns) -> None:
        """Take in rows of one filter, whose parameters have these columns."""
        if any(name not in columns for name in filter.parameters):
            self.never[rows] = True
            return
        self.predicates[rows] += sum(1 for _ in predicates(filter.tree))
        for node in conjuncts(filter.tree):
            if any(p.attribute in self._lines for p in predicates(node)) or isinstance(node, Truth):
                self._read_part(node, rows, columns)

    def read_plain(self, plain: list[tuple[Filter, Rows]]) -> None:
        """Take in rows of filters without parameters: what many ask in the same words at once."""
        clauses = Clauses([filter for filter, _ in plain])
        left: dict[int, list[Node]] = {number: [Truth(False)] for number in clauses.never}
        for column in clauses.columns:
            block = column.block(self._schema)
            if block is None:
                for number, asked in column.each():
                    left.setdefault(number, []).extend(asked)
                continue
            groups = [plain[number][1] for number in column.rows]
            again = pa.array(np.repeat(np.arange(len(groups)), [len(rows) for rows in groups]))
            columns = {name: constants.take(again) for name, constants in block.columns.items()}
            self.read(block.filter, np.concatenate(groups), columns)
        for number, node in clauses.others:
            left.setdefault(number, []).append(node)
        self._read_each([(And(tuple(nodes)), plain[number][1]) for number, nodes in left.items()])

    def _read_each(self, conditions: list[tuple[Node, Rows]]) -> None:
        """Take in what rows ask that nobody else asks."""
        if not conditions:
            return
        sizes = [len(rows) for _, rows in conditions]
        rows = np.concatenate([rows for _, rows in conditions])
        counts = [sum(1 for _ in predicates(node)) for node, _ in conditions]
        self.predicates[rows] += np.repeat(counts, sizes)
        hulls = [hull(node, self._schema) for node, _ in conditions]
        self._intersect_hulls(rows, np.repeat(np.arange(len(conditions)), sizes), hulls)

    def _read_part(self, node: Node, rows: Rows, columns: _Columns) -> None:
        if isinstance(node, Predicate) and _is_comparison(node):
            [operand] = node.constants
            assert isinstance(operand, Parameter)
            column = columns[operand.name]
            own = self._schema[node.attribute]
            if pa.types.is_string(column.type) and own.type.family == "string":
                if node.operator in (Operator.EQUAL, Operator.SAME):
                    self._read_texts(node, rows, column)
                    return
            elif any(fit(column.type) for fit in _FIT_IF_ONE_DOES) and own.type.line is not STRING:
                self._read_numbers(node, operand.name, rows, column)
                return
        self._read_distinct(node, rows, columns)

    def _read_numbers(self, node: Predicate, name: str, rows: Rows, column: pa.Array) -> None:
        """A comparison with constants of which all fit if one does."""
        present = column.is_valid().to_numpy(zero_copy_only=False)
        own = self._schema[node.attribute]
        low, high = (np.full(len(rows), end, np.int64) for end in (0, -1))
        if present.any():
            try:
                bind(node, {name: column[int(np.argmax(present))].as_py()}, self._schema)
            except TidegateError:
                self.never[rows] = True
                return
            low, high = span(node.operator, column, self._lines[node.attribute], own)
        held = present if node.operator is Operator.SAME else slice(None)
        self._intersect(node.attribute, rows[held], low[held], high[held])

    def _read_texts(self, node: Predicate, rows: Rows, column: pa.Array) -> None:
        """Equality with texts."""
        present = column.is_valid().to_numpy(zero_copy_only=False)
        if node.operator is Operator.EQUAL:
            self.never[rows[~present]] = True
        encoded = column.drop_null().dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        after = [text + "\0" for text in texts]
        self._texts[node.attribute].append((rows[present], codes, texts, after))

    def _read_distinct(self, node: Node, rows: Rows, columns: _Columns) -> None:
        """Any condition, once for each way in which its parameters are bound."""
        codes, ways = _ways(node, columns, len(rows))
        self._intersect_hulls(rows, codes, [self._bound_hull(node, way) for way in ways])

    def _intersect_hulls(self, rows: Rows, codes: Integers, hulls: list[Hull | None]) -> None:
        """Narrow the rows to hulls, of which the codes say which row has which."""
        impossible = np.array([found is None for found in hulls])
        self.never[rows[impossible[codes]]] = True
        for name in dict.fromkeys(name for found in hulls for name in found or ()):
            if name not in self._lines:
                continue
            whole = self._lines[name].full
            found = [whole if each is None else each.get(name, whole) for each in hulls]
            if name in self._texts:
                low, after = [low for low, _ in found], [after for _, after in found]
                self._texts[name].append((rows, codes, low, after))
            else:
                ends = np.array([(low, after - 1) for low, after in found], np.int64)
                self._intersect(name, rows, ends[codes, 0], ends[codes, 1])

    def _bound_hull(self, node: Node, way: Mapping[str, Any]) -> Hull | None:
        try:
            constants = {name: constant(name, value) for name, value in way.items()}
            bound = map_predicates(node, lambda p: bind(p, constants, self._schema))
            return hull(bound, self._schema)
        except TidegateError:
            return None

    def _intersect(self, name: str, rows: Rows, low: Integers, high: Integers) -> None:
        lows, highs = self._ends[name]
        lows[rows] = np.maximum(lows[rows], low)
        highs[rows] = np.minimum(highs[rows], high)

    def finish(self) -> Extents:
        """The extents of all that was read."""
        numbered_texts = {name: self._number(name) for name in self._texts}
        found: dict[str, Extent] = {}
        for name, line in self._lines.items():
            low, high = self._ends[name]
            self.never |= low > high
            found[name] = Extent(line, low, high, numbered_texts.get(name))
        return Extents(self.size, found, self.predicates, self.never)

    def _number(self, name: str) -> list[str]:
        """Number the texts at the ends of intervals, and intersect them."""
        pieces = self._texts[name]
        ends = {"", *(text for _, _, low, after in pieces for text in (*low, *after))} - {TOP}
        texts = sorted(ends)
        places: dict[str, int] = {text: place for place, text in enumerate(texts)}
        places[TOP] = len(texts)
        self._ends[name] = (
            np.zeros(self.size, np.int64),
            np.full(self.size, len(texts) - 1, np.int64),
        )
        for rows, codes, low, after in pieces:
            lows = np.array([places[text] for text in low], np.int64)
            highs = np.array([places[text] - 1 for text in after], np.int64)
            if len(rows):
                self._intersect(name, rows, lows[codes], highs[codes])
        return texts


def _is_comparison(node: Predicate) -> bool:
    return (
        node.mode is Mode.TRUE
        and node.operator in COMPARISONS
        and isinstance(node.constants[0], Parameter)
    )


def _ways(node: Node, columns: _Columns, size: int) -> tuple[Integers, list[dict[str, Any]]]:
    """Which rows bind a condition's parameters alike: a code for each, and how by code."""
    names = dict.fromkeys(
        c.name for p in predicates(node) for c in p.constants if isinstance(c, Parameter)
    )
    codes = np.zeros(size, np.int64)
    for name in names:
        encoded = columns[name].dictionary_encode(null_encoding="encode")
        own = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        codes = numbered(codes * max(len(encoded.dictionary), 1) + own)
    taken = pa.array(firsts(codes))
    bound = {name: columns[name].take(taken).to_pylist() for name in names}
    return codes, [{name: bound[name][i] for name in names} for i in range(len(taken))]
