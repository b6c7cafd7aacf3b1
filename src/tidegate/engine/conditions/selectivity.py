"""How many values meet a condition? A guess, from the conditions alone."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.conditions.numbered import Conditions

_FEWEST_CONDITIONS_GUESSED: Final = 4_096  # conditions, of a segment that will be merged soon


def selectivity(conditions: Conditions) -> NDArray[np.float64]:
    """A guess, for each condition, at how many values meet it, to try rare ones first.

    Of few conditions, it is only asked whether they allow single values.
    """
    if len(conditions) < _FEWEST_CONDITIONS_GUESSED:
        return np.array([-1.0 if each.values else 0.0 for each in conditions])
    return shares(conditions)


def shares(conditions: Conditions) -> NDArray[np.float64]:
    """A guess, for each condition, at the share of all values that meet it.

    The ends of all conditions on a line are taken for quantiles of its values.
    """
    cuts: dict[tuple[str, str], set[Any]] = {}
    for condition in conditions:
        for name, bounds in condition.allowed.spans.items():
            cuts.setdefault((condition.attribute, name), set()).update(bounds)
    places = {
        key: {cut: place for place, cut in enumerate(sorted(found))} for key, found in cuts.items()
    }
    guesses = np.empty(len(conditions), np.float64)
    for number, condition in enumerate(conditions):
        guess = 0.0
        for name, bounds in condition.allowed.spans.items():
            place = places[condition.attribute, name]
            width = sum(place[bounds[i + 1]] - place[bounds[i]] for i in range(0, len(bounds), 2))
            guess = max(guess, width / max(len(place) - 1, 1))
        guesses[number] = guess * 0.5 if condition.allowed.texts else guess
    return guesses
