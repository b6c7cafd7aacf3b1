"""What is an experiment?

A declaration, and nothing that runs by itself: a **grid** of points for each scale, a pure function
from one point and a seed to a **row**, the figures and tables of a paper that this reproduces, and
the paper's claims with the rule that decides each.

- A **point** names the value of every parameter. At scale *small* a whole grid takes seconds, at
  scale *paper* it is of the paper's size.
- A **row** has numbers and texts, or lists of numbers where one run is looked at several times on
  its way. Of these, `timings` are CPU times and differ from run to run; all else is counted, and
  the same on every machine.
- A **plot** says which columns are drawn against which, and which printed values stand beside them
  (`printed`).
- A **claim** is decided by a rule from the rows of one experiment: *held*, *partly* or *not*, with
  the number that decides. Where a number is printed, the rule is that number, but for a band that
  is the same everywhere: a tenth of it, or 5 points of a share.

Invariant: points of one grid differ, have the same parameters, and share no name with what the
runner writes beside them.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from tidegate.errors import LabError
from tidegate.lab.experiments.rows import Rows

Value: TypeAlias = int | float | str
Point: TypeAlias = Mapping[str, Value]
Row: TypeAlias = Mapping[str, Any]
Scale: TypeAlias = Literal["small", "paper"]
State: TypeAlias = Literal["held", "partly", "not"]

SCALES: Final[tuple[Scale, ...]] = ("small", "paper")
POINTS: Final = 0.05  # by which a share may be outside of printed bounds
HALF: Final = 0.5
BAND: Final = 0.1  # of a printed number, by which ours may fall short of it and still reach it
BESIDE: Final = frozenset(
    {"experiment", "scale", "seed", "version", "data", "machine", "seconds", "finished", "timings"}
)
"""Columns that the runner adds to every row."""


def grid(**axes: Iterable[Value]) -> tuple[dict[str, Value], ...]:
    """All combinations of the values of some parameters, the last one changing fastest.

    >>> grid(dimensions=[2, 3], k=[10])
    ({'dimensions': 2, 'k': 10}, {'dimensions': 3, 'k': 10})
    """
    lists = {name: list(values) for name, values in axes.items()}
    for name, values in lists.items():
        if not values:
            raise LabError(f"a grid needs at least one value of {name}")
    return tuple(
        dict(zip(lists, chosen, strict=True)) for chosen in itertools.product(*lists.values())
    )


@dataclass(frozen=True)
class Size:
    """The points of one scale, and the seeds with which each is repeated."""

    points: tuple[Point, ...]
    seeds: tuple[int, ...] = (1,)


@dataclass(frozen=True)
class Verdict:
    """What became of a claim, and the number that decides it, in words."""

    state: State
    number: str

    @classmethod
    def of(cls, met: Sequence[bool], number: str) -> "Verdict":
        """Held if all parts of it are, partly if some are; LookupError if there are none."""
        if not met:
            raise LookupError("there is nothing to decide by")
        return cls("held" if all(met) else "partly" if any(met) else "not", number)

    @classmethod
    def reaching(cls, pairs: Sequence[tuple[float, float]], number: str) -> "Verdict":
        """Of ratios beside printed ones: held if each of ours reaches the printed one, but for a
        tenth of it; partly if each is above 1, which is the direction of the claim; else not.

        >>> [Verdict.reaching([(ours, 4.2)], "").state for ours in (3.8, 1.5, 0.9)]
        ['held', 'partly', 'not']
        """
        if not pairs:
            raise LookupError("there is nothing to decide by")
        if all(ours >= theirs * (1 - BAND) for ours, theirs in pairs):
            return cls("held", number)
        return cls("partly" if all(ours > 1 for ours, _ in pairs) else "not", number)

    @classmethod
    def between(cls, found: Sequence[float], low: float, high: float, number: str) -> "Verdict":
        """Of shares: held if each is within printed bounds, or 5 points outside of them; partly if
        some are.
        """
        return cls.of([low - POINTS <= each <= high + POINTS for each in found], number)

    @classmethod
    def near(cls, pairs: Sequence[tuple[float, float]], number: str) -> "Verdict":
        """Of values beside printed ones: held if each is within a tenth of it; partly if each is
        within half of it, or some are within a tenth; else not.

        >>> [Verdict.near([(ours, 100)], "").state for ours in (95, 60, 160)]
        ['held', 'partly', 'not']
        """
        apart = [abs(ours - theirs) / abs(theirs) for ours, theirs in pairs]
        found = cls.of([each <= BAND for each in apart], number)
        if found.state == "not" and all(each <= HALF for each in apart):
            return cls("partly", number)
        return found


@dataclass(frozen=True)
class Claim:
    """A claim that is written down in the data file by its `name`, and the rule that decides it.

    `why` explains a difference from the paper, where one is known.
    """

    name: str
    rule: Callable[[Rows], Verdict]
    why: str = ""

    def decided(self, rows: Rows) -> Verdict | None:
        """What becomes of it; None where rows are missing that the rule needs."""
        try:
            return self.rule(rows)
        except (LookupError, ValueError, ZeroDivisionError):
            return None


@dataclass(frozen=True)
class Plot:
    """Columns against a column: a curve for each column and each value of the parameters `by`.

    `label` makes a curve's name of parameters and of `{column}`, which is the column's name, or
    what `names` calls it; printed values that have the same name are drawn beside it. Where there
    are points of several grids, only curves of at least so many places are drawn. What takes
    rows of several points, such as a ratio of two, is `made` of all rows.
    """

    title: str
    x: str
    columns: tuple[str, ...]
    x_label: str
    y_label: str
    by: tuple[str, ...] = ()
    label: str = "{column}"
    where: Mapping[str, Value] = field(default_factory=dict)
    printed: str = ""
    log_x: bool = False
    log_y: bool = False
    order: tuple[str, ...] = ()  # of the values of x, where they are names
    names: Mapping[str, str] = field(default_factory=dict)
    least: int = 1
    made: Callable[[Rows], Rows] | None = None


@dataclass(frozen=True)
class Experiment:
    """A grid for each scale, what is measured at a point, what that reproduces, and claims.

    `data` says which data of others it was drawn from, if it makes a difference what is at hand.
    """

    name: str
    document: str
    tells: str
    reproduces: tuple[str, ...]
    measure: Callable[[Point, int], Row]
    sizes: Mapping[str, Size]
    timings: frozenset[str] = frozenset()
    plots: tuple[Plot, ...] = ()
    claims: tuple[Claim, ...] = ()
    data: Callable[[], str] = str

    def size(self, scale: str) -> Size:
        """The grid of a scale, checked."""
        try:
            found = self.sizes[scale]
        except KeyError:
            known = ", ".join(self.sizes)
            raise LabError(f"{self.name} has no scale {scale!r}; there are: {known}") from None
        return checked(self.name, found)


def checked(name: str, size: Size) -> Size:
    """The same size, if its grid is possible."""
    if not size.points:
        raise LabError(f"the grid of {name} has no points")
    if not size.seeds:
        raise LabError(f"{name} is to be repeated over no seeds; name at least one")
    parameters = list(size.points[0])
    taken = sorted(set(parameters) & BESIDE)
    if taken:
        raise LabError(f"{name}: a parameter cannot be called {taken[0]}, which each row has")
    for point in size.points:
        if list(point) != parameters:
            raise LabError(
                f"{name}: the points of a grid have the same parameters, but {dict(point)} "
                f"has not: {', '.join(parameters)}"
            )
    seen: set[tuple[Value, ...]] = set()
    for point in size.points:
        if (values := tuple(point.values())) in seen:
            raise LabError(f"{name}: the point {dict(point)} is twice in the grid")
        seen.add(values)
    return size


def narrowed(name: str, size: Size, only: Mapping[str, str]) -> Size:
    """The points at which parameters have these values, as they are written.

    >>> some = narrowed("x", Size(grid(k=[10, 50], d=[2, 3])), {"k": "50"})
    >>> [dict(point) for point in some.points]
    [{'k': 50, 'd': 2}, {'k': 50, 'd': 3}]
    """
    known = list(size.points[0])
    for parameter in only:
        if parameter not in known:
            raise LabError(f"{name} has no parameter {parameter!r}; it has: {', '.join(known)}")
    left = tuple(p for p in size.points if all(str(p[k]) == v for k, v in only.items()))
    if not left:
        wanted = ", ".join(f"{k} = {v}" for k, v in only.items())
        values = "; ".join(f"{k}: {', '.join(_values(size, k))}" for k in only)
        raise LabError(f"no point of {name} has {wanted}. There are: {values}")
    return Size(left, size.seeds)


def _values(size: Size, parameter: str) -> list[str]:
    return list(dict.fromkeys(str(point[parameter]) for point in size.points))
