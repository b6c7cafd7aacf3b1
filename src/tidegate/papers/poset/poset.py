"""Which filters match, cover or overlap, found by who covers whom?

Filters hang under the filters that cover them: a poset, as in Siena and in Jayaram, Jayalath,
Eugster, *Parametric Subscriptions for Content-Based Publish/Subscribe Networks* (2010, 4.2 and
4.3). An event is evaluated from the roots downward, and nothing is asked that hangs under a filter
that the event does not match. A filter whose constants move keeps its node: that is found at once
by its number (`lookup`), and moved only as far as its covers have changed (UPDATE).

Filters that say the same share a node. A filter that nothing matches is covered by everything; it
would hang under every leaf, so it is kept apart, and has no links. A filter without a normal form
is a root that covers nothing: the algebra knows nothing about it.

Invariant: a number is at one node, all filters of a node match the same events, and every node can
be reached from a root. For the links, see `diagram`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tidegate.algebra.normal import boxes
from tidegate.errors import SchemaError
from tidegate.filters.evaluate import value_of
from tidegate.filters.expression import disjunction
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.papers.limit import DEFAULT_LIMIT, warn_of_limit
from tidegate.papers.poset import search
from tidegate.papers.poset.change import Change, change
from tidegate.papers.poset.diagram import Diagram
from tidegate.papers.poset.node import Node
from tidegate.papers.scan import Scan

_NODE: Final = 1000  # bytes, about: itself, its three dictionaries, its outline
_LINK: Final = 100  # bytes, about: an entry in each of two dictionaries
_NUMBER: Final = 300  # bytes, about: an entry in each of three


class Poset:
    """Filters under the caller's numbers, ordered by covering.

    `asked` counts the filters that were evaluated on events; `change` says what the last change of
    the poset did to its least upper bound. One thread at a time.

    >>> from tidegate import parse
    >>> poset = Poset()
    >>> poset.add(1, parse("price < 10"))
    >>> poset.add(2, parse("price < 5"))
    >>> poset.match({"price": 7})
    [1]
    >>> poset.update(1, parse("price < 30"))
    >>> poset.change.bound, str(poset.lub())
    (<Bound.CONSTANTS: 'other constants'>, 'price < 30')
    >>> poset.contained(parse("price < 10"))
    [2]
    """

    def __init__(self, schema: Schema | None = None, *, limit: int = DEFAULT_LIMIT) -> None:
        self.schema: Final = schema
        self.limit: Final = limit
        self.asked = 0
        self.change: Change = change((), ())
        self._diagram = Diagram()
        self._filters: dict[int, Filter] = {}  # as they were given
        self._homes: dict[int, Node] = {}
        self._nodes: dict[Filter, Node] = {}
        self._empty: dict[int, None] = {}  # filters that nothing matches
        self._aside = Scan()
        self._gone: list[Filter] = []  # of what is aside, in this change
        self._come: list[Filter] = []
        self._warned = False

    def __len__(self) -> int:
        return len(self._filters)

    @property
    def nbytes(self) -> int:
        """The memory of nodes and links, about; that of the filters is not included."""
        own = len(self._nodes) * _NODE + self._diagram.links * _LINK
        return own + len(self._homes) * _NUMBER + self._diagram.sieve_bytes

    @property
    def aside(self) -> int:
        """How many filters are kept aside because the limit was met."""
        return len(self._aside)

    @property
    def compared(self) -> int:
        """How often the algebra was asked about two filters."""
        return self._diagram.compared

    @property
    def nodes(self) -> list[Node]:
        """All nodes but that of filters that nothing matches."""
        return list(self._nodes.values())

    @property
    def roots(self) -> list[Node]:
        """The nodes that nothing covers."""
        return list(self._diagram.top.below)

    def get(self, number: int, /) -> Filter:
        """The filter with this number; KeyError if there is none."""
        return self._filters[number]

    def lub(self) -> Filter:
        """The least upper bound: the root, or the OR of all roots and of what is kept aside."""
        found = [root.filter for root in self._diagram.top.below]
        found += self._aside.filters.values()
        if len(found) == 1:
            return found[0]
        return Filter.of(disjunction([f.tree for f in found]), self.schema)

    # -- changes

    def add(self, number: int, f: Filter, /) -> None:
        """Add a filter under a number that is free; ValueError if it is not."""
        if number in self._filters:
            raise ValueError(f"there is a filter with the number {number} already")
        self._check(f)
        self._begin()
        self._put([number], f)
        self._end()

    def remove(self, number: int, /) -> None:
        """Remove the filter with this number; KeyError if there is none."""
        _ = self._filters[number]
        self._begin()
        self._take([number])
        self._end()

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number; KeyError if there is none.

        The node stays the same, unless others are at it as well, or another one says the same.
        """
        self.update_many({number: f})

    def update_many(self, filters: Mapping[int, Filter], /) -> None:
        """The same for several; a node whose filters all become the same one stays the same."""
        together: dict[tuple[Node | None, Filter], list[int]] = {}
        for number, f in filters.items():
            _ = self._filters[number]
            self._check(f)
            together.setdefault((self._homes.get(number), f), []).append(number)
        self._begin()
        for (home, f), numbers in together.items():
            if home is None or len(home.numbers) > len(numbers) or boxes(f) == ():
                self._take(numbers)
                self._put(numbers, f)
            else:
                self._move(home, numbers, f)
        self._end()

    def _check(self, f: Filter) -> None:
        f.require_bound()
        if f.schema is not self.schema and f.schema != self.schema:
            raise SchemaError("the filter was read under another schema than the poset's")

    def _put(self, numbers: list[int], f: Filter) -> None:
        """Take in filters that say the same."""
        self._filters.update(dict.fromkeys(numbers, f))
        if boxes(f) == ():
            self._empty.update(dict.fromkeys(numbers))
            return
        home = self._nodes.get(f)
        if self.nbytes + _NODE > self.limit:
            self._put_aside(numbers, f)
            return
        if home is None:
            home = Node(f)
            above, below, equal = search.find(self._diagram, home)
            if equal is None:
                self._nodes[f] = home
                self._diagram.place(home, above, below)
            else:
                home = equal
        self._settle_in(home, numbers)

    def _settle_in(self, home: Node, numbers: Iterable[int]) -> None:
        for number in numbers:
            home.numbers[number] = None
            self._homes[number] = home

    def _put_aside(self, numbers: list[int], f: Filter) -> None:
        for number in numbers:
            self._aside.add(number, f)
            self._come.append(f)
        if not self._warned:
            self._warned = True
            warn_of_limit("the poset", self.limit, "further filters are asked one by one")

    def _take(self, numbers: Iterable[int]) -> None:
        """Take filters out."""
        for number in numbers:
            f = self._filters.pop(number)
            self._empty.pop(number, None)
            if number in self._aside:
                self._aside.remove(number)
                self._gone.append(f)
            home = self._homes.pop(number, None)
            if home is not None:
                del home.numbers[number]
                if not home.numbers:
                    del self._nodes[home.filter]
                    self._diagram.drop(home)

    def _move(self, home: Node, numbers: list[int], f: Filter) -> None:
        """Let a node, of which these are all numbers, have another filter."""
        if self._nodes.get(f) is not home:
            new = Node(f)
            place = search.Place([], [], self._nodes.get(f))
            if place.equal is None:
                place = search.find_again(self._diagram, home, new)
            if place.equal is None:
                del self._nodes[home.filter]
                self._nodes[f] = home
                self._diagram.replace(home, new, place.above, place.below)
            elif place.equal is not home:
                self._take(numbers)
                self._settle_in(place.equal, numbers)
        self._filters.update(dict.fromkeys(numbers, f))

    def _begin(self) -> None:
        self._diagram.touched.clear()
        self._gone, self._come = [], []

    def _end(self) -> None:
        gone, come = self._gone, self._come
        for node, before in self._diagram.touched.items():
            now = node.filter if node in self._diagram.top.below else None
            if now is not before:
                gone += [] if before is None else [before]
                come += [] if now is None else [now]
        self.change = change(gone, come)

    # -- questions

    def match(self, event: Mapping[str, Any], /) -> list[int]:
        """The filters that match an event.

        A node is asked if all that is directly above it matches: at most once, and never if
        something is above it that does not.
        """
        if self.schema is not None and self.schema.checked and not self._lawful(event):
            self.asked += len(self._filters)
            return [number for number, f in self._filters.items() if f.matches(event)]
        found: list[int] = []
        passed: dict[Node, int] = {}
        stack = list(self._diagram.top.below)
        while stack:
            node = stack.pop()
            self.asked += 1
            if not node.filter.matches(event):
                continue
            found.extend(node.numbers)
            for child in node.below:
                passed[child] = passed.get(child, 0) + 1
                if passed[child] == len(child.above):
                    stack.append(child)
        self.asked += len(self._aside)
        return found + self._aside.match(event)

    def _lawful(self, event: Mapping[str, Any]) -> bool:
        """Whether the event is as the schema says; if not, covers say nothing about it."""
        schema = self.schema
        assert schema is not None
        return all(
            schema.universe(name).has(value_of(event, name, schema), schema[name].lines)
            for name in schema
        )

    def containing(self, f: Filter, /) -> list[int]:
        """The filters that cover this one."""
        self._check(f)
        found = _numbers(search.covering(self._diagram, Node(f)))
        if boxes(f) == ():
            found += self._empty
        return found + self._aside.containing(f)

    def contained(self, f: Filter, /) -> list[int]:
        """The filters that this one covers."""
        self._check(f)
        found = _numbers(search.descendants(self._diagram, Node(f)))
        if boxes(f) is not None:
            found += self._empty
        return found + self._aside.contained(f)

    def overlapping(self, f: Filter, /) -> list[int]:
        """The filters that overlap this one."""
        self._check(f)
        if boxes(f) == ():
            return []
        found = _numbers(search.overlapping(self._diagram, Node(f)))
        return found + self._aside.overlapping(f)


def _numbers(nodes: Iterable[Node]) -> list[int]:
    return [number for node in nodes for number in node.numbers]
