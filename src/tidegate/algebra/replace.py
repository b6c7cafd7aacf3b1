"""Which predicate may stand in for another one?

Replacing a predicate by one that **covers** it (whatever value makes the first hold makes the
second hold) widens the filter, and the first need not be indexed any more. This is *predicate
replacement* in Bittner, Hinze, "Subscription Tree Pruning: A Structure-Independent Routing
Optimization for General-Purpose Publish/Subscribe Systems" (OTM 2006, section 3.3): all occurrences
of a predicate give way to another one that is in use already, and as with pruning the replacement
that degrades the estimated selectivity least is the best. Predicates are compared by their value
sets.

Invariant: every filter returned here covers the one it was made from.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tidegate.algebra.selectivity import (
    OfPredicate,
    degradation,
    estimate,
    selectivities,
)
from tidegate.errors import FilterError
from tidegate.filters.admission import admit
from tidegate.filters.expression import Predicate, map_predicates, predicates
from tidegate.filters.filter import Filter
from tidegate.filters.meaning import allowed
from tidegate.filters.schema import Schema


@dataclass(frozen=True, slots=True)
class Replacement:
    """A filter in which `new` stands for `old`; the estimated loss of selectivity, if asked for."""

    filter: Filter
    old: Predicate
    new: Predicate
    degradation: float | None = None


def replace_predicate(f: Filter, old: Predicate, new: Predicate) -> Filter:
    """The filter with `new` in all places of `old`, which it must cover.

    >>> from tidegate.filters.filter import parse
    >>> f = parse("price < 10 AND symbol = 'IBM'")
    >>> print(replace_predicate(f, parse("price < 10").tree, parse("price < 20").tree))
    price < 20 AND symbol = 'IBM'
    >>> replace_predicate(f, parse("price < 10").tree, parse("price < 5").tree)
    Traceback (most recent call last):
    ...
    tidegate.errors.FilterError: price < 5 does not cover price < 10
      write instead: a predicate on price that holds whenever price < 10 does
    """
    if str(old) not in {str(p) for p in predicates(f.tree)}:
        raise FilterError(f"{old} does not occur in {f}", instead="a predicate of the filter")
    admitted = _admitted(new, f.schema)
    if not _covers(admitted, old, f.schema):
        raise FilterError(
            f"{new} does not cover {old}",
            instead=f"a predicate on {old.attribute} that holds whenever {old} does",
        )
    return _replaced(f, old, admitted)


def replacements(f: Filter, pool: Iterable[Predicate]) -> list[Replacement]:
    """Every replacement of a predicate of the filter by another one from the pool.

    >>> from tidegate.filters.filter import parse
    >>> pool = [parse(text).tree for text in ("price < 20", "price < 5", "symbol IS NOT NULL")]
    >>> for each in replacements(parse("price < 10 AND symbol = 'IBM'"), pool):
    ...     print(each.filter)
    price < 20 AND symbol = 'IBM'
    price < 10 AND symbol IS NOT NULL
    """
    own = {str(p): p for p in predicates(f.tree)}
    others = {str(p): _admitted(p, f.schema) for p in pool if p.attribute in f.attributes}
    return [
        Replacement(_replaced(f, old, new), old, new)
        for text, old in own.items()
        for other, new in others.items()
        if other != text and _covers(new, old, f.schema)
    ]


def best_replacement(
    f: Filter, pool: Iterable[Predicate], of_predicate: OfPredicate
) -> Replacement | None:
    """The replacement that degrades the estimated selectivity least.

    >>> from tidegate.filters.filter import parse
    >>> pool = [parse("price < 20").tree, parse("price < 30").tree]
    >>> shares = {"price < 10": 0.1, "price < 20": 0.25, "price < 30": 0.3}
    >>> print(best_replacement(parse("price < 10"), pool, shares).new)
    price < 20
    """
    shares = selectivities(of_predicate)
    before = estimate(f, shares)
    rated = [
        (degradation(before, estimate(each.filter, shares)), each) for each in replacements(f, pool)
    ]
    loss, best = min(rated, key=lambda pair: pair[0], default=(0.0, None))
    return None if best is None else replace(best, degradation=loss)


def _admitted(predicate: Predicate, schema: Schema | None) -> Predicate:
    """The predicate with its constants as they take part in filters under the schema."""
    if predicate.is_open:
        return predicate
    return replace(predicate, constants=admit(predicate, schema))


def _covers(new: Predicate, old: Predicate, schema: Schema | None) -> bool:
    """Whether it is certain that `new` holds wherever `old` does."""
    if new.attribute != old.attribute or new.is_open or old.is_open:
        return False
    return allowed(old, schema).within(allowed(new, schema)) is True


def _replaced(f: Filter, old: Predicate, new: Predicate) -> Filter:
    text = str(old)
    return Filter.of(map_predicates(f.tree, lambda p: new if str(p) == text else p), f.schema)
