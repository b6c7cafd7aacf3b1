"""Which of a broker's links lead towards publishers, and what goes from one link to another?

In a plain overlay, a tree, nobody has to know: what came on one link goes on to every other one.
Two schemes against failures need to know more.

**Parents** (*Crash/Failover* of Chand, "Large scale diffusion of information in Publish/Subscribe
systems" (2005), section 6.1.3): the tree has a root, and a broker knows its parent and, in order,
the backups that it may turn to when its parent fails: see `failover`.

**Paths** (*Redundant Paths*, section 6.1.4): for each broker at which events are published (a
*root*), a broker knows the links that lead there, one or several, and those that lead away. What is
wanted goes up on all ways to a root, and events of its publishers come down on all of them; whoever
hears an event again drops it. Links to one root are one link in this: nothing goes from one of them
to the other. So whatever single way is left is enough: n ways survive n - 1 failures.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from tidegate.errors import TidegateError

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Parents:
    """A parent, none for the root, and brokers to turn to when it fails, in order."""

    parent: str | None = None
    backups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.parent is None and self.backups:
            raise TidegateError("the root has no parent that could fail: it needs no backups")
        named = self.known
        if len(set(named)) < len(named):
            raise TidegateError(f"parent and backups are named once each, not as in {named}")

    @property
    def known(self) -> tuple[str, ...]:
        """All brokers that may be above, in the order in which they are asked."""
        return self.backups if self.parent is None else (self.parent, *self.backups)


@dataclass(frozen=True, slots=True)
class Paths:
    """For each root, by its name, the links that lead towards it, and those that lead away.

    At the root itself, none leads towards it.
    """

    up: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    down: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def passes(self, origin: str | None, goal: str) -> bool:
        """Whether what is wanted behind one link is told to another one: up, on the way to a root.

        Where it is from a client, there is no origin.

        >>> paths = Paths({"r": ("a", "b")}, {"r": ("c",)})
        >>> paths.passes("c", "a"), paths.passes("a", "b"), paths.passes("a", "c")
        (True, False, False)
        """
        return any(
            goal in above and (origin is None or origin in self.down.get(root, ()))
            for root, above in self.up.items()
        )

    def offers(self, origin: str | None, goal: str) -> bool:
        """Whether what is advertised behind one link is told to another one: down."""
        if origin is not None:
            return self.passes(goal, origin)
        return any(goal in self.down.get(root, ()) for root in self.roots)

    @property
    def roots(self) -> list[str]:
        """The roots that have no way up from here: the broker itself, if it is one."""
        return [root for root, above in self.up.items() if not above]

    def carries(self, publisher: str, origin: str, goal: str) -> bool:
        """Whether events of a publisher go on from one link to another: away from its root."""
        return goal in self.down.get(root_of(publisher), ())

    def expects(self, publisher: str, origin: str) -> bool:
        """Whether events of a publisher come from a link."""
        return origin in self.up.get(root_of(publisher), ())


class Tree:
    """No circles anywhere: everything goes from each link to every other one."""

    def passes(self, origin: str | None, goal: str) -> bool:
        """Whether what is wanted behind one link is told to another one."""
        return origin != goal

    def offers(self, origin: str | None, goal: str) -> bool:
        """Whether what is advertised behind one link is told to another one."""
        return origin != goal

    def carries(self, publisher: str, origin: str, goal: str) -> bool:
        """Whether events of a publisher go on from one link to another."""
        return origin != goal

    def expects(self, publisher: str, origin: str) -> bool:
        """Whether events of a publisher come from a link."""
        return True


class Passage(Protocol):
    """What goes from one link of a broker to another one; a client is no origin."""

    def passes(self, origin: str | None, goal: str, /) -> bool:
        """Whether what is wanted behind one link is told to another one."""

    def offers(self, origin: str | None, goal: str, /) -> bool:
        """Whether what is advertised behind one link is told to another one."""

    def carries(self, publisher: str, origin: str, goal: str, /) -> bool:
        """Whether events of a publisher go on from one link to another."""

    def expects(self, publisher: str, origin: str, /) -> bool:
        """Whether events of a publisher come from a link."""


def root_of(publisher: str) -> str:
    """The broker of a publisher, by its name.

    >>> root_of("b0/ann")
    'b0'
    """
    return publisher.partition("/")[0]


def check_paths(up: Mapping[str, Mapping[str, Iterable[str]]]) -> None:
    """Refuse paths, for each broker and root the links up, on which anything would go in circles.

    Two things have to be without circles: the ways from each root, for events; and the ways of what
    is wanted, which goes on from one link to another if that is up to some root.
    """
    roots = sorted({root for ways in up.values() for root in ways})
    for root in roots:
        if up.get(root, {}).get(root):
            raise TidegateError(f"{root} is a root: no way leads from it to itself")
        _acyclic({name: list(ways.get(root, ())) for name, ways in up.items()}, f"ways to {root}")
    onward: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name, ways in up.items():
        for root, above in ways.items():
            for goal in above:
                steps = [(goal, over) for over in up.get(goal, {}).get(root, ())]
                onward.setdefault((name, goal), []).extend(steps)
    _acyclic(onward, "ways of what is wanted, to one root and then to another,")


def _acyclic(onward: Mapping[T, Iterable[T]], what: str) -> None:
    """Refuse a graph in which one gets back to where one was."""
    done: set[T] = set()
    for start in onward:
        trail = [(start, list(onward[start]))] if start not in done else []
        on_trail = {start}
        while trail:
            here, left = trail[-1]
            following = left.pop() if left else None
            if following is None:
                trail.pop()
                on_trail.discard(here)
                done.add(here)
            elif following in on_trail:
                raise TidegateError(f"the {what} form a circle at {following}")
            elif following not in done:
                trail.append((following, list(onward.get(following, ()))))
                on_trail.add(following)
