"""In which order do a diagram's levels follow each other?

Subscriptions share nodes from the bottom of a diagram upwards, so what they have in common should
be at the bottom. The order is one of attributes; the predicates of an attribute stand together, in
the order in which they came. Li, Hou and Jacobsen (2005, section 3.2) name three criteria, which
are three orders here:

- `FREQUENCY`: attributes that most filters ask for are at the bottom, and of those that as many
  ask for, the more concentrated ones;
- `CONCENTRATION`: attributes whose predicates lie in a narrow range, and so are often the same: the
  chance that two filters that ask for the attribute ask it the same question;
- `TOGETHER`: the most frequent attribute at the bottom, and on each one that which most often
  occurs together with it.

Beside them, `APPEARANCE` takes attributes as they come, `RANDOM` shuffles them by a seed, and a
list of names is an order that somebody knows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from random import Random
from typing import TypeAlias


class Criterion(Enum):
    """By what attributes are ordered."""

    FREQUENCY = "frequency"
    CONCENTRATION = "concentration"
    TOGETHER = "together"
    APPEARANCE = "appearance"
    RANDOM = "random"


Order: TypeAlias = Criterion | Sequence[str]
"""A criterion, or the attributes from the bottom up; those that are not named stand above."""


class Statistics:
    """What the filters of a table ask for: kept up while they come and go."""

    def __init__(self) -> None:
        self._sets: Counter[tuple[str, ...]] = Counter()  # of attributes: how many filters have it

    def add(self, attributes: tuple[str, ...]) -> None:
        """Count a filter on these attributes."""
        self._sets[attributes] += 1

    def remove(self, attributes: tuple[str, ...]) -> None:
        """Forget a filter on these attributes."""
        self._sets[attributes] -= 1
        if not self._sets[attributes]:
            del self._sets[attributes]

    def frequencies(self) -> Counter[str]:
        """How many filters ask for each attribute."""
        found: Counter[str] = Counter()
        for attributes, count in self._sets.items():
            for attribute in attributes:
                found[attribute] += count
        return found

    def pairs(self) -> Counter[tuple[str, str]]:
        """How many filters ask for both of two attributes, named in either order."""
        found: Counter[tuple[str, str]] = Counter()
        for attributes, count in self._sets.items():
            for one in attributes:
                for other in attributes:
                    found[one, other] += count
        return found


def concentration(uses: Iterable[int]) -> float:
    """The chance that two uses, drawn at random, are of the same predicate.

    >>> concentration([5, 5]), concentration([10])
    (0.5, 1.0)
    """
    counts = list(uses)
    whole = sum(counts)
    return sum(count * count for count in counts) / (whole * whole) if whole else 0.0


def ranked(
    order: Order,
    known: Sequence[str],
    statistics: Statistics,
    uses: Callable[[str], Iterable[int]],
    seed: int,
) -> list[str]:
    """The attributes from the bottom up.

    `known` are all there are, as they appeared; `uses` gives those of an attribute's predicates.
    """
    if not isinstance(order, Criterion):
        named = list(dict.fromkeys(order))
        return [*named, *(name for name in known if name not in set(named))]
    if order is Criterion.APPEARANCE:
        return list(known)
    if order is Criterion.RANDOM:
        shuffled = sorted(known)
        Random(seed).shuffle(shuffled)
        return shuffled
    shares = {name: concentration(uses(name)) for name in known}
    if order is Criterion.CONCENTRATION:
        return sorted(known, key=lambda name: (-shares[name], name))
    frequencies = statistics.frequencies()
    by_frequency = sorted(known, key=lambda name: (-frequencies[name], -shares[name], name))
    if order is Criterion.FREQUENCY or not by_frequency:
        return by_frequency
    return _together(by_frequency, statistics)


def _together(by_frequency: list[str], statistics: Statistics) -> list[str]:
    pairs = statistics.pairs()
    chosen = by_frequency[:1]
    left = by_frequency[1:]
    while left:
        last = chosen[-1]
        best = max(left, key=lambda name: pairs[last, name])
        chosen.append(best)
        left.remove(best)
    return chosen
