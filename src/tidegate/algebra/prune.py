"""How can a Boolean filter be made simpler by leaving parts out?

A **pruning** removes one part of an AND, wherever in the tree that AND stands. Negations stand in
the predicates, so every operator above it is AND or OR, and what widens a part widens the whole: a
pruning never loses an event. A part of an OR is never removed by itself, as that would narrow the
filter. This is *subscription tree pruning* of Bittner, Hinze, "Subscription Tree Pruning: A
Structure-Independent Routing Optimization for General-Purpose Publish/Subscribe Systems" (OTM
2006): among the prunings, the one whose estimated selectivity degrades least is taken, again and
again. Pruning the disjunction of several filters makes an imperfect merger of them (section 4.5).

Invariant: every filter returned here covers the one it was made from.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

from tidegate.algebra.relate import shared_schema
from tidegate.algebra.selectivity import (
    OfPredicate,
    Selectivities,
    Selectivity,
    degradation,
    estimate,
    selectivities,
)
from tidegate.filters.expression import (
    And,
    Node,
    Predicate,
    Truth,
    conjunction,
    conjuncts,
    disjunction,
    predicates,
)
from tidegate.filters.filter import Filter


@dataclass(frozen=True, slots=True)
class Pruning:
    """A filter with parts left out, and how much less selective it is estimated to be."""

    filter: Filter
    degradation: float


def prunings(f: Filter, *, allow_true: bool = False) -> list[Filter]:
    """Every filter that leaving out one part of one AND makes.

    The filter TRUE is among them only if `allow_true` says so; a filter that is no AND can be
    pruned to it as a whole.

    >>> from tidegate.filters.filter import parse
    >>> for pruned in prunings(parse("a = 1 AND (b = 2 OR c = 3 AND d = 4)")):
    ...     print(pruned)
    b = 2 OR (c = 3 AND d = 4)
    a = 1
    a = 1 AND (b = 2 OR d = 4)
    a = 1 AND (b = 2 OR c = 3)
    """
    found: dict[str, Node] = {}
    for tree in _without_one(f.tree):
        found.setdefault(str(tree), tree)
    if not isinstance(f.tree, And | Truth):
        found["TRUE"] = Truth(True)
    if not allow_true:
        found.pop("TRUE", None)
    return [Filter.of(tree, f.schema) for tree in found.values()]


def best_pruning(
    f: Filter, of_predicate: OfPredicate, *, allow_true: bool = False
) -> Pruning | None:
    """The pruning that degrades the selectivity least; of equals, the one with fewest predicates.

    >>> from tidegate.filters.filter import parse
    >>> best = best_pruning(parse("a = 1 AND b = 2"), {"a = 1": 0.25, "b = 2": 0.75})
    >>> print(best.filter, best.degradation)
    a = 1 0.25
    """
    shares = selectivities(of_predicate)
    return _best(f, estimate(f, shares), shares, allow_true=allow_true)


def prune(
    f: Filter,
    of_predicate: OfPredicate,
    steps: int | None = None,
    limit: float | None = None,
    *,
    allow_true: bool = False,
) -> Pruning:
    """Take the best pruning again and again.

    It ends after so many `steps`, before the degradation from the first filter to the last would
    exceed the `limit`, or when nothing can be pruned. What became superfluous beside another part
    of an OR is dropped on the way: that changes no meaning.

    >>> from tidegate.filters.filter import parse
    >>> f = parse("a = 1 AND b = 2 AND c = 3")
    >>> print(prune(f, {"a = 1": 0.1, "b = 2": 0.75, "c = 3": 0.5}, limit=0.25).filter)
    a = 1
    """
    shares = selectivities(of_predicate)
    first = estimate(f, shares)
    done = Pruning(f, 0.0)
    left = inf if steps is None else steps
    while left > 0:
        following = _best(done.filter, estimate(done.filter, shares), shares, allow_true=allow_true)
        if following is None:
            break
        tidied = Filter.of(_absorbed(following.filter.tree), f.schema)
        total = degradation(first, estimate(tidied, shares))
        if limit is not None and total > limit:
            break
        done = Pruning(tidied, total)
        left -= 1
    return done


def merge_by_pruning(
    filters: Iterable[Filter], of_predicate: OfPredicate, steps: int | None = None
) -> Pruning:
    """An imperfect merger of any Boolean filters: their disjunction, pruned so many times.

    >>> from tidegate.filters.filter import parse
    >>> members = [parse("a = 1 AND b = 2"), parse("a = 1 AND c = 3")]
    >>> print(merge_by_pruning(members, {"a = 1": 0.1, "b = 2": 0.5, "c = 3": 0.75}, 1).filter)
    a = 1
    """
    members = list(filters)
    if not members:
        raise ValueError("there is nothing to merge: give at least one filter")
    for member in members:
        shared_schema(members[0], member)
    whole = _absorbed(disjunction([member.tree for member in members]))
    return prune(Filter.of(whole, members[0].schema), of_predicate, steps)


def _best(
    f: Filter, before: Selectivity, shares: Selectivities, *, allow_true: bool
) -> Pruning | None:
    rated = [
        Pruning(pruned, degradation(before, estimate(pruned, shares)))
        for pruned in prunings(f, allow_true=allow_true)
    ]
    return min(rated, key=lambda p: (p.degradation, _size(p.filter.tree)), default=None)


def _size(node: Node) -> int:
    return sum(1 for _ in predicates(node))


def _without_one(node: Node) -> Iterator[Node]:
    """The trees in which one part of one AND is left out."""
    if isinstance(node, Predicate | Truth):
        return
    if isinstance(node, And):
        for i in range(len(node.parts)):
            yield conjunction([*node.parts[:i], *node.parts[i + 1 :]])
    joined = conjunction if isinstance(node, And) else disjunction
    for i, part in enumerate(node.parts):
        for changed in _without_one(part):
            yield joined([*node.parts[:i], changed, *node.parts[i + 1 :]])


def _absorbed(node: Node) -> Node:
    """The tree without the parts of an OR that imply another part (`a OR (a AND b)` is `a`)."""
    if isinstance(node, Predicate | Truth):
        return node
    parts = [_absorbed(part) for part in node.parts]
    if isinstance(node, And):
        return conjunction(list({str(part): part for part in parts}.values()))
    kept: list[tuple[frozenset[str], Node]] = []
    for part in parts:
        needs = frozenset(map(str, conjuncts(part)))
        if any(other <= needs for other, _ in kept):
            continue
        kept = [(other, each) for other, each in kept if not needs <= other]
        kept.append((needs, part))
    return disjunction([part for _, part in kept])
