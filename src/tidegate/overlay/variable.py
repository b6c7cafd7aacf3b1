"""Values that move, and the filters that follow them.

A **variable** of a client stands where a filter has a parameter: `price < :limit`. When it is set,
every subscription that refers to it has another filter from then on: the parametric subscriptions
of Jayaram, Jayalath and Eugster, "Parametric Subscriptions for Content-Based Publish/Subscribe
Networks" (Middleware 2010). The variable never leaves the client: what brokers are told are
constants, under ids that are fresh on every link (the paper's *broker variables*).

A **binding** is a template and what its parameters are: values, or variables. It says which filter
is in force, and which one to tell: the same, or, where variables are damped or predicted (`trail`),
a wider one.

Invariant: the filter that is told covers the one in force.
"""

import datetime as dt
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from tidegate.errors import FilterTypeError, TidegateError
from tidegate.filters.filter import constant
from tidegate.filters.values import Constant, family
from tidegate.overlay.filter import Filter
from tidegate.overlay.template import Template
from tidegate.overlay.trail import Trail

_RANGES: Final = (int, float, dt.date, dt.datetime)  # whose equality is a range from it to itself


class Variable:
    """A value of a client's that its subscriptions refer to; made by `Client.variable`.

    It keeps the family it began with (numbers, strings, booleans, dates or timestamps), and is
    never NULL or NaN. With `damping` or `predict`, a number is no decimal.
    """

    def __init__(
        self,
        value: Any,
        moved: "Callable[[Variable, Constant], object]",
        damping: int = 0,
        predict: int = 0,
    ) -> None:
        for name, given in (("damping", damping), ("predict", predict)):
            if type(given) is not int or given < 0:
                raise TidegateError(f"{name} is a whole number from 0 on, not {given!r}")
        self.users: Final[dict[int, None]] = {}  # the subscriptions that refer to it
        self.trail: Trail | None = None
        self._moved = moved
        self._wide = bool(damping or predict)
        self._value = self._checked(value)
        if predict and type(self._value) not in (int, float):
            raise FilterTypeError(
                f"{value!r} cannot be predicted", instead="an integer or a double, or no predict"
            )
        if self._wide:
            self.trail = Trail(self._value, damping, predict)

    @property
    def value(self) -> Constant:
        """The value that it was set to last."""
        return self._value

    def set(self, value: Any) -> None:
        """Have another value. If a subscription cannot have it, nothing changes."""
        self._moved(self, self._checked(value, self._value))

    def take(self, value: Constant) -> None:
        """Have a value that all users can have: for the client, which has asked them."""
        if self.trail is not None and value != self._value:
            self.trail.move(value)
        self._value = value

    def is_of(self, moved: "Callable[[Variable, Constant], object]") -> bool:
        """Whether it is a variable of the client that is told so of its moves."""
        return self._moved == moved

    @property
    def is_range(self) -> bool:
        """Whether an equality with it is a range, of which both ends can be moved."""
        return isinstance(self._value, _RANGES) and not isinstance(self._value, bool)

    def _checked(self, value: Any, before: Constant = None) -> Constant:
        if value is None:
            raise FilterTypeError("a variable cannot be NULL", instead="cancel the subscription")
        found = constant("value", value)
        if isinstance(found, float) and math.isnan(found):
            raise FilterTypeError("a variable cannot be NaN", instead="a number")
        if before is not None and family(found) != family(before):
            raise FilterTypeError(
                f"a variable that is {before!r}, a {family(before)}, cannot be set to {value!r}",
                instead=f"a {family(before)}, or another variable",
            )
        if self._wide and isinstance(found, Decimal):
            raise FilterTypeError(
                "a decimal cannot be damped or predicted", instead="an integer or a double"
            )
        return found

    def __repr__(self) -> str:
        return f"<Variable {self._value!r}>"


class Binding:
    """A template, and a value or a variable for each of its parameters.

    `trails` says that what is told may be wider than what is in force.
    """

    def __init__(self, template: Template, given: Mapping[str, Any]) -> None:
        self._template = template
        self._variables = {name: x for name, x in given.items() if isinstance(x, Variable)}
        self._values = {
            name: constant(name, x) for name, x in given.items() if not isinstance(x, Variable)
        }
        self.variables: Final = list(dict.fromkeys(self._variables.values()))
        self.trails: Final = any(each.trail is not None for each in self.variables)
        moving = [name for name, x in self._variables.items() if x.trail is not None and x.is_range]
        self._ranged = template.ranged(moving) if moving else template

    def filter(self, moved: Variable | None = None, to: Constant = None) -> Filter:
        """The filter with the values of now, but for one variable that is about to move."""
        return self._template.bind(self._with(moved, to))

    def around(self) -> Filter:
        """The filter to tell, by where the variables have been and seem to go."""
        others = [
            self._with(variable, value)
            for variable in self.variables
            if variable.trail is not None
            for value in variable.trail.others()
        ]
        return self._ranged.around(self._with(), others)

    def wildcard(self) -> Filter:
        """The filter without the predicates that have variables."""
        left = self._template.without(self._variables)
        return left.bind({name: self._values[name] for name in left.parameters})

    def _with(self, moved: Variable | None = None, to: Constant = None) -> dict[str, Constant]:
        moving = {name: to if x is moved else x.value for name, x in self._variables.items()}
        return self._values | moving
