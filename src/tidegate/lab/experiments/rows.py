"""What did an experiment find?

The rows of one experiment, as rules and plots ask about them: chosen by parameters, averaged over
seeds, as curves.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple


class Spread(NamedTuple):
    """A value over seeds."""

    x: float | str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Rows:
    """Rows with parameters, seed, and what was measured."""

    rows: Sequence[Mapping[str, Any]]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def where(self, **parameters: Any) -> "Rows":
        """Those with these values."""
        return Rows(
            [r for r in self.rows if all(r.get(name) == v for name, v in parameters.items())]
        )

    def values(self, name: str) -> list[Any]:
        """The different values of a parameter, in rising order.

        >>> Rows([{"k": 50}, {"k": 10}, {"k": 50}]).values("k")
        [10, 50]
        """
        return sorted({row[name] for row in self.rows})

    def mean(self, column: str | Callable[[Mapping[str, Any]], float]) -> float:
        """Of a column, or of something that is made of a row; of a list, its last number.

        >>> Rows([{"n": [1, 2]}, {"n": [3, 4]}]).mean("n")
        3.0
        """
        if not self.rows:
            raise LookupError(f"there are no rows with {column}")
        read = (lambda row: row[column]) if isinstance(column, str) else column
        found = [read(row) for row in self.rows]
        return fmean(each[-1] if isinstance(each, list) else each for each in found)

    def growth(self, x: str, y: str) -> list[float]:
        """The means along a curve of at least two places, from which a growth can be told.

        >>> Rows([{"k": 10, "n": 3}, {"k": 50, "n": 4}]).growth("k", "n")
        [3.0, 4.0]
        """
        found = [each.mean for each in self.curve(x, y)]
        if len(found) == 1:
            raise LookupError(f"rows with several values of {x} are needed")
        return found

    def curve(self, x: str, y: str) -> list[Spread]:
        """One column against another, over seeds; both may be lists.

        >>> Rows([{"at": [1, 2], "n": [5, 6]}, {"at": [1, 2], "n": [7, 8]}]).curve("at", "n")[-1]
        Spread(x=2, mean=7.0, low=6, high=8)
        """
        found: dict[Any, list[float]] = {}
        for row in self.rows:
            xs, ys = row[x], row[y]
            pairs = zip(xs, ys, strict=True) if isinstance(ys, list) else [(xs, ys)]
            for place, value in pairs:
                if value is not None:
                    found.setdefault(place, []).append(value)
        return [Spread(x, fmean(ys), min(ys), max(ys)) for x, ys in sorted(found.items())]
