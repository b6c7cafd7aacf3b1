"""How does a client tell its broker that a subscription has another filter?

**parametric** updates the constants of the entry that it has there, or, if the shape is another
one, adds an entry and removes the old one in the same message. The others are what one would do
without parametric subscriptions, to compare with; Jayaram, Jayalath and Eugster, "Parametric
Subscriptions for Content-Based Publish/Subscribe Networks" (Middleware 2010), name them in sections
1.1 and 4.2:

- **cancel first**: the old entry is removed, and then a new one added; between the two, events are
  lost;
- **subscribe first**: the new one is added, and then the old one removed; the client does not hand
  on twice what comes for both;
- **cancel later**: the new one is added; the old one is removed when an event has come that the new
  one wants and the old one rejects. If the old one covers the new one there never is such an event:
  then it is removed at once (the paper is silent here, and the old one would stay for ever);
- **wildcard**: the subscription is told without its predicates on variables, once, and nothing
  after that.

Each step is a message of its own. Within one, entries are added before others are removed.
"""

from collections.abc import Callable, Mapping
from typing import Final

from tidegate.errors import TidegateError
from tidegate.overlay.difference import Difference
from tidegate.overlay.filter import Filter

STRATEGIES: Final = ("parametric", "cancel first", "subscribe first", "cancel later", "wildcard")


def check_strategy(name: str) -> str:
    """The name of a strategy; `TidegateError` for any other."""
    if name not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise TidegateError(f"there is no strategy {name!r} for updates, but {known}")
    return name


def steps(
    strategy: str, entries: Mapping[int, Filter], f: Filter, fresh: Callable[[], int]
) -> list[Difference]:
    """What to tell, step by step, so that a filter takes the place of a subscription's.

    `entries` are those that the broker has for the subscription, the newest last.

    >>> for step in steps("cancel first", {1: "a < 5"}, "a < 7", lambda: 2):
    ...     print(step.add, step.remove)
    {} [1]
    {2: 'a < 7'} []
    """
    *_, newest = entries
    if strategy == "cancel first":
        return [Difference(remove=list(entries)), Difference(add={fresh(): f})]
    if strategy == "subscribe first":
        return [Difference(add={fresh(): f}), Difference(remove=list(entries))]
    if strategy == "cancel later":
        outdated = [own for own, old in entries.items() if old.covers(f)]
        return [Difference(add={fresh(): f}, remove=outdated)]
    if entries[newest].shape == f.shape:
        return [Difference(update={newest: f})]
    return [Difference(add={fresh(): f}, remove=list(entries))]
