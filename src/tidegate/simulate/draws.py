"""Which value does something have, this time?

Values of events' attributes and of filters' parameters are drawn at random, as a table of the
scenario says:

- `{ choice = ["buy", "sell"] }`: one of these; `{ name = "S", count = 100 }`: one of S0 to S99.
  Both may have a `skew`: the exponent of Zipf's law, by which the first is the most frequent;
- `{ integer = [1, 10] }`: a whole number, ends included;
- `{ uniform = [0, 1] }`, `{ normal = [100, 5] }` (mean and deviation): a number, rounded to
  `decimals`;
- any of the numbers with `above = "low"`: so much above the value of `low`, drawn before it;
- anything else than a table: always that.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from itertools import accumulate
from random import Random
from typing import Any, TypeAlias

from tidegate.simulate.section import Section

Draw: TypeAlias = Callable[[Random, Mapping[str, Any]], Any]
"""Draws a value, given those drawn before it."""

_FORMS = ("choice", "name", "integer", "uniform", "normal")


def read_draws(section: Section) -> dict[str, Draw]:
    """What a table says about each of its keys."""
    return {key: _read(section, key) for key in section.keys}


def draw_all(draws: Mapping[str, Draw], random: Random) -> dict[str, Any]:
    """A value for each name, in order."""
    found: dict[str, Any] = {}
    for name, draw in draws.items():
        found[name] = draw(random, found)
    return found


def _read(section: Section, key: str) -> Draw:
    if not isinstance(section.value(key), dict):
        constant = section.value(key)
        return lambda random, known: constant
    own = section.section(key)
    forms = [form for form in _FORMS if form in own]
    if len(forms) != 1:
        section.refuse(key, "a table with one of " + ", ".join(_FORMS))
    draw = _FORM[forms[0]](own)
    own.close()
    return draw


def _choice(own: Section) -> Draw:
    values = own.value("choice")
    if not isinstance(values, list) or not values:
        own.refuse("choice", "a list of values")
    return _one_of(values, own.number("skew", 0.0, least=0))


def _name(own: Section) -> Draw:
    stem = own.text("name")
    values = [f"{stem}{i}" for i in range(own.integer("count", least=1))]
    return _one_of(values, own.number("skew", 0.0, least=0))


def _one_of(values: list[Any], skew: float) -> Draw:
    upto = list(accumulate((rank + 1) ** -skew for rank in range(len(values))))
    last = len(values) - 1
    return lambda random, known: values[min(bisect_right(upto, random.random() * upto[-1]), last)]


def _integer(own: Section) -> Draw:
    low, high = own.range("integer")
    if not (type(low) is type(high) is int and low <= high):
        own.refuse("integer", "two whole numbers, the lower one first,")
    return _above(own, lambda random: random.randint(int(low), int(high)))


def _uniform(own: Section) -> Draw:
    low, high = own.range("uniform")
    decimals = own.integer("decimals", 2, least=0)
    return _above(own, lambda random: round(random.uniform(low, high), decimals), decimals)


def _normal(own: Section) -> Draw:
    mean, deviation = own.range("normal")
    decimals = own.integer("decimals", 2, least=0)
    return _above(own, lambda random: round(random.gauss(mean, deviation), decimals), decimals)


def _above(own: Section, draw: Callable[[Random], float], decimals: int | None = None) -> Draw:
    below = own.text("above", None)
    if below is None:
        return lambda random, known: draw(random)

    def drawn(random: Random, known: Mapping[str, Any]) -> Any:
        if below not in known:
            own.refuse("above", "a name that stands before it")
        return round(known[below] + draw(random), decimals)

    return drawn


_FORM: dict[str, Callable[[Section], Draw]] = {
    "choice": _choice,
    "name": _name,
    "integer": _integer,
    "uniform": _uniform,
    "normal": _normal,
}
