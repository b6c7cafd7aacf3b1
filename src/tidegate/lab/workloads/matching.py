"""What do we measure matching on?

Two workloads on integers, each drawn from a seed: `padres` (conjunctions of a few predicates, after
the experiments of PADRES; those experiments' own sets are in `lab.workloads.padres`) and `trees`
(Boolean trees); a third is `lab.workloads.trade`. Each gives subscriptions as a user has them,
events as an Arrow table, and both again as plain arrays of numbers in the narrowest type, which is
what a scan with NumPy needs.

Invariant: the arrays say the same as the filters. Subscription i of `Padres` wants event j if and
only if `lows[i] <= points[j] <= highs[i]` on every attribute, tree i if its shape holds over the
predicates that hold.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.filters.expression import And, Mode, Node, Operator, Or, Predicate
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema

Integers: TypeAlias = NDArray[Any]
Ranges: TypeAlias = Mapping[str, tuple[Integers, Integers]]  # attribute: lows, highs (included)
Points: TypeAlias = Mapping[str, Integers]  # attribute: the values of the events
Shape: TypeAlias = "int | tuple[Shape, ...]"

ATTRIBUTES: Final = tuple(f"a{i}" for i in range(20))
VALUES: Final = 1000  # of an attribute of `padres` and `trees`: 0 to 999
PADRES_A: Final = 2_000  # distinct predicates
PADRES_B: Final = 5_000
SHAPES: Final = 400  # of `trees`
OPERATORS: Final = (
    Operator.EQUAL,
    Operator.LESS,
    Operator.GREATER,
    Operator.AT_MOST,
    Operator.AT_LEAST,
)


@dataclass(frozen=True)
class Pool:
    """Distinct predicates on integers, as many for each attribute, one attribute after another.

    Predicate i holds for the values from `lows[i]` to `highs[i]`, or for all others if it is
    `negated[i]`. Attributes have the values from 0 up to `values`, which is left out.
    """

    predicates: tuple[Predicate, ...]
    lows: NDArray[np.int16]
    highs: NDArray[np.int16]
    negated: NDArray[np.bool_]
    values: int = VALUES

    @property
    def each(self) -> int:
        """How many there are of an attribute."""
        return len(self.predicates) // len(ATTRIBUTES)

    def truth(self, points: Points) -> NDArray[np.bool_]:
        """Which predicates hold: one row for each, one column for each event."""
        held = np.empty((len(self.predicates), len(points[ATTRIBUTES[0]])), np.bool_)
        for k, name in enumerate(ATTRIBUTES):
            mine = slice(k * self.each, (k + 1) * self.each)
            low, high = self.lows[mine, None], self.highs[mine, None]
            held[mine] = ((low <= points[name]) & (points[name] <= high)) != self.negated[
                mine, None
            ]
        return held


@dataclass(frozen=True)
class Padres:
    """Conjunctions of predicates of a pool: row i of `parts` numbers those of subscription i.

    A row is filled up with -1.
    """

    schema: Schema
    pool: Pool
    parts: NDArray[np.int32]
    seed: int

    def __len__(self) -> int:
        return len(self.parts)

    def filters(self) -> Iterator[Filter]:
        """The subscriptions, as filters made of shared predicates."""
        predicates = self.pool.predicates
        for row in self.parts.tolist():
            parts = tuple([predicates[i] for i in row if i >= 0])
            yield Filter.of(And(parts), self.schema)

    def table(self) -> pa.Table:
        """The subscriptions as `add_many` reads them: numbers as ids, and texts."""
        texts = [str(predicate) for predicate in self.pool.predicates]
        rows = self.parts.tolist()
        return _numbered([" AND ".join([texts[i] for i in row if i >= 0]) for row in rows])

    def events(self, count: int, seed: int = 0) -> pa.Table:
        """Events that carry every attribute."""
        return _uniform_events(count, self.pool.values, self.seed, seed)

    @property
    def ranges(self) -> Ranges:
        """The ends of every subscription on every attribute."""
        found = {}
        attributes = np.where(self.parts < 0, -1, self.parts // self.pool.each)
        for k, name in enumerate(ATTRIBUTES):
            lows = np.zeros(len(self), np.int16)
            highs = np.full(len(self), self.pool.values - 1, np.int16)
            rows, places = np.nonzero(attributes == k)
            asked = self.parts[rows, places]
            lows[rows], highs[rows] = self.pool.lows[asked], self.pool.highs[asked]
            found[name] = (lows, highs)
        return found

    def points(self, events: pa.Table) -> Points:
        """The values of events, in the type of the ranges."""
        return _points(events)


def padres(count: int, predicates: int, seed: int, part: int = 0) -> Padres:
    """Conjunctions of 2 to 6 predicates on distinct attributes, from a pool of so many.

    `PADRES_B` predicates are the workload padres-b, `PADRES_A` padres-a. All sizes, attributes, and
    predicates of an attribute are equally likely, and so are, in the pool, the operators
    `= < > <= >=` and the constants 0 to 999. About 5.3% of the subscriptions match an event that is
    uniform on all attributes; how many exactly depends on the pool. Each `part` has others of the
    same pool.

    >>> workload = padres(1_000, PADRES_A, seed=1)
    >>> len(workload), len(set(workload.pool.predicates))
    (1000, 2000)
    >>> print(next(workload.filters()))
    a1 < 531 AND a5 <= 291
    >>> workload.events(3).column_names == list(ATTRIBUTES)
    True
    """
    random = np.random.default_rng(seed)
    pool = draw_pool(random, predicates)
    random = np.random.default_rng([seed, part]) if part else random
    order = np.argsort(random.random((count, len(ATTRIBUTES)), np.float32), axis=1)[:, :6]
    parts = (order * pool.each + random.integers(0, pool.each, order.shape)).astype(np.int32)
    sizes = random.integers(2, 6, count, endpoint=True)
    parts[np.arange(6) >= sizes[:, None]] = -1
    return Padres(_integer_schema(), pool, parts, seed)


@dataclass(frozen=True)
class Trees:
    """Boolean trees over the predicates of a pool.

    A shape is a leaf, or the AND of shapes, whose own shapes are ORs, and so on in turn; leaves
    are numbered from the left. Tree i has shape `shapes[chosen[i]]`; its leaves are the predicates
    numbered in row i of `leaves`, as many as its shape has.
    """

    schema: Schema
    pool: Pool
    shapes: tuple[Shape, ...]
    chosen: NDArray[np.int32]
    leaves: NDArray[np.int32]
    seed: int

    def __len__(self) -> int:
        return len(self.chosen)

    def filters(self) -> Iterator[Filter]:
        """The subscriptions, as filters made of shared predicates."""
        predicates = self.pool.predicates
        for shape, row in zip(self.chosen.tolist(), self.leaves.tolist(), strict=True):
            yield Filter.of(_grow(self.shapes[shape], row, predicates), self.schema)

    def table(self) -> pa.Table:
        """The subscriptions as `add_many` reads them: numbers as ids, and texts."""
        return _numbered([str(f) for f in self.filters()])

    def events(self, count: int, seed: int = 0) -> pa.Table:
        """Events that carry every attribute."""
        return _uniform_events(count, self.pool.values, self.seed, seed)

    def points(self, events: pa.Table) -> Points:
        """The values of events, in the type of the pool's ends."""
        return _points(events)


def trees(count: int, seed: int, part: int = 0) -> Trees:
    """Trees of 6 to 12 predicates, AND and OR in turn on up to five levels.

    The root is an AND of two to four predicates and one or two ORs, each of predicates and of ANDs
    of two or three parts, one of which may be an OR again; 400 shapes are drawn, about 260 of which
    are distinct. The predicates come from a pool of 5,000, drawn as that of `padres`, but that a
    tenth of its equalities is negated (`!=`, a NOT pushed to its predicate). About 4.8% of the
    subscriptions match an event that is uniform on all attributes. Each `part` has others of the
    same pool and shapes.

    >>> workload = trees(1_000, seed=1)
    >>> print(next(workload.filters()))
    a2 >= 818 AND a15 >= 817 AND (a5 < 232 OR (a8 < 255 AND (a6 <= 891 OR a12 <= 683)) OR ...)
    """
    random = np.random.default_rng(seed)
    pool = draw_pool(random, PADRES_B, negations=0.1)
    shapes = tuple(_shape(random, 6 + k % 7) for k in range(SHAPES))
    random = np.random.default_rng([seed, part]) if part else random
    chosen = random.integers(0, SHAPES, count, dtype=np.int32)
    leaves = random.integers(0, PADRES_B, (count, 12), dtype=np.int32)
    return Trees(_integer_schema(), pool, shapes, chosen, leaves, seed)


def draw_pool(
    random: np.random.Generator,
    count: int,
    *,
    values: int = VALUES,
    trivial: bool = True,
    negations: float = 0.0,
) -> Pool:
    """So many distinct predicates; of the equalities among them, that share is negated.

    Unless `trivial`, each holds for some values and not for others.
    """
    each = count // len(ATTRIBUTES)
    choices = np.arange(len(OPERATORS) * values)
    if not trivial:
        choices = choices[[_tells(*divmod(choice, values), values) for choice in choices.tolist()]]
    drawn = [random.choice(len(choices), each, replace=False) for _ in ATTRIBUTES]
    chosen = choices[np.stack(drawn).ravel()]
    kinds, constants = np.divmod(chosen, values)
    negated = (kinds == OPERATORS.index(Operator.EQUAL)) & (random.random(len(chosen)) < negations)
    predicates = []
    lows, highs = np.empty(len(chosen), np.int16), np.empty(len(chosen), np.int16)
    for i, (kind, constant) in enumerate(zip(kinds.tolist(), constants.tolist(), strict=True)):
        operator, mode = OPERATORS[kind], Mode.FALSE if negated[i] else Mode.TRUE
        predicates.append(Predicate(ATTRIBUTES[i // each], operator, (constant,), mode))
        lows[i], highs[i] = _ends(operator, constant, values)
    return Pool(tuple(predicates), lows, highs, negated, values)


def _tells(kind: int, constant: int, values: int) -> bool:
    """Whether the operator with that number holds for some values, and not for others."""
    low, high = _ends(OPERATORS[kind], constant, values)
    return low <= high and (low, high) != (0, values - 1)


def _ends(operator: Operator, constant: int, values: int) -> tuple[int, int]:
    match operator:
        case Operator.LESS:
            return 0, constant - 1
        case Operator.AT_MOST:
            return 0, constant
        case Operator.GREATER:
            return constant + 1, values - 1
        case Operator.AT_LEAST:
            return constant, values - 1
        case _:
            return constant, constant


def _integer_schema() -> Schema:
    return Schema(dict.fromkeys(ATTRIBUTES, "bigint"))


def _uniform_events(count: int, values: int, *seeds: int) -> pa.Table:
    random = np.random.default_rng([*seeds, 1])
    drawn = random.integers(0, values, (len(ATTRIBUTES), count))
    return pa.table(dict(zip(ATTRIBUTES, map(pa.array, drawn), strict=True)))


def _points(events: pa.Table) -> Points:
    return {name: events[name].to_numpy().astype(np.int16) for name in ATTRIBUTES}


def _numbered(texts: list[str]) -> pa.Table:
    return pa.table({"id": pa.array(np.arange(len(texts))), "filter": pa.array(texts)})


def _shape(random: np.random.Generator, leaves: int) -> Shape:
    """A shape of so many leaves, at least six: see `trees`."""
    plain = int(random.integers(2, 4, endpoint=True))
    rest = leaves - plain
    sizes = [rest]
    if rest >= 4 and random.random() < 0.7:
        first = int(random.integers(2, rest - 2, endpoint=True))
        sizes = [first, rest - first]
    numbers = iter(range(leaves))
    parts: list[Shape] = [next(numbers) for _ in range(plain)]
    parts += [_group(random, size, numbers) for size in sizes]
    return tuple(parts)


def _group(random: np.random.Generator, leaves: int, numbers: Iterator[int]) -> Shape:
    """A shape of so many leaves, at least two: of single leaves, pairs and triples."""
    parts: list[Shape] = []
    while leaves:
        size = int(random.integers(1, min(3, leaves if parts else leaves - 1), endpoint=True))
        leaves -= size
        if size == 1:
            parts.append(next(numbers))
        elif size == 3 and random.random() < 0.5:
            parts.append((next(numbers), (next(numbers), next(numbers))))
        else:
            parts.append(tuple([next(numbers) for _ in range(size)]))
    return tuple(parts)


def _grow(
    shape: Shape, leaves: list[int], predicates: tuple[Predicate, ...], kind: type[And | Or] = And
) -> Node:
    """The tree of that shape, whose root is an AND or an OR."""
    if isinstance(shape, int):
        return predicates[leaves[shape]]
    other = Or if kind is And else And
    return kind(tuple([_grow(part, leaves, predicates, other) for part in shape]))
