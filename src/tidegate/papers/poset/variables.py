"""Which subscriptions does a variable move?

A subscription may have parameters, and a parameter may follow a **variable** of the subscriber's:
when that gets another value, so does the filter, and its node is found at once and moved where it
is. This is `lookup` of Jayaram, Jayalath, Eugster, *Parametric Subscriptions for Content-Based
Publish/Subscribe Networks* (2010, Fig. 6), where a variable belongs to one predicate. Here several
subscriptions may follow the same one, and all move at once.

Invariant: the filter of a subscription is its pattern with the values of its parameters, and a
parameter that follows a variable has the variable's value.
"""

from typing import Any

from tidegate.errors import ParameterError
from tidegate.filters.filter import Filter
from tidegate.papers.poset.poset import Poset


class Variables:
    """Subscriptions with parameters in a poset, and the variables that these follow.

    >>> from tidegate import parse
    >>> variables = Variables(Poset())
    >>> variables.add(1, parse("firm = 'IBM' AND price < :limit"), limit=10)
    >>> variables.add(2, parse("price < :most"), most=10)
    >>> variables.bind("last_buy", 1, "limit")
    >>> variables.bind("last_buy", 2, "most")
    >>> variables.set("last_buy", 7)
    [1, 2]
    >>> variables.poset.change.bound.value, str(variables.poset.lub())
    ('other constants', 'price < 7')
    """

    def __init__(self, poset: Poset) -> None:
        self.poset = poset
        self._patterns: dict[int, Filter] = {}
        self._values: dict[int, dict[str, Any]] = {}
        self._variables: dict[str, Any] = {}  # and their values
        self._lookup: dict[str, dict[tuple[int, str], None]] = {}
        self._followed: dict[int, dict[str, str]] = {}  # of a subscription: parameter, variable

    def __len__(self) -> int:
        return len(self._patterns)

    def add(self, number: int, f: Filter, /, **values: Any) -> None:
        """Add a subscription with the values of all its parameters."""
        self.poset.add(number, f.bind(**values))
        self._patterns[number] = f
        self._values[number] = values
        self._followed[number] = {}

    def remove(self, number: int, /) -> None:
        """Remove a subscription; a variable that nothing follows any more is forgotten."""
        self.poset.remove(number)
        del self._patterns[number], self._values[number]
        for parameter, variable in self._followed.pop(number).items():
            self._release(variable, number, parameter)

    def bind(self, variable: str, number: int, parameter: str) -> None:
        """Let a parameter of a subscription follow a variable from now on.

        A variable that is new has the parameter's value; otherwise the parameter gets its value.
        """
        if parameter not in self._patterns[number].parameters:
            raise ParameterError(f"the filter has no parameter :{parameter}")
        if variable in self._variables:
            self._change({number: {parameter: self._variables[variable]}})
        else:
            self._variables[variable] = self._values[number][parameter]
        before = self._followed[number].get(parameter)
        if before is not None and before != variable:
            self._release(before, number, parameter)
        self._followed[number][parameter] = variable
        self._lookup.setdefault(variable, {})[number, parameter] = None

    def set(self, variable: str, value: Any) -> list[int]:
        """Give a variable another value; the subscriptions that have changed.

        KeyError if nothing follows it. Where one of the filters does not take the value, an error
        is raised and nothing has changed.
        """
        asked: dict[int, dict[str, Any]] = {}
        for number, parameter in self._lookup[variable]:
            asked.setdefault(number, {})[parameter] = value
        changed = self._change(asked)
        self._variables[variable] = value
        return changed

    def value(self, variable: str) -> Any:
        """The value of a variable; KeyError if nothing follows it."""
        return self._variables[variable]

    def _change(self, asked: dict[int, dict[str, Any]]) -> list[int]:
        filters = {}
        for number, values in asked.items():
            f = self._patterns[number].bind(**{**self._values[number], **values})
            if f != self.poset.get(number):
                filters[number] = f
        self.poset.update_many(filters)
        for number, values in asked.items():
            self._values[number].update(values)
        return list(filters)

    def _release(self, variable: str, number: int, parameter: str) -> None:
        followers = self._lookup[variable]
        del followers[number, parameter]
        if not followers:
            del self._lookup[variable], self._variables[variable]
