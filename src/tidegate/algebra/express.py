"""How is a value set written as a condition?

Merging computes with value sets; a filter is made of predicates. `express` finds a short condition
on one attribute that allows exactly the values of a set, `enclosing` the narrowest range that
allows at least them. Both use nothing but the predicates the set came from and their constants: a
union of `x < 5` and `x = 5` is `x <= 5`, of `x < 5` and `x > 5` is `x != 5`.

Proposals are made from short to long, and each is checked by computing its value set again: what
`express` returns is equal to what was asked for, or it returns nothing. A set that unions and
intersections of the given predicates can make is always found, unless conditions on text (suffix,
contains, general LIKE) hide it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from tidegate.errors import FilterTypeError
from tidegate.filters.admission import admit
from tidegate.filters.canonical import Constraint, canonical_form
from tidegate.filters.expression import (
    TEXT_OPERATORS,
    Mode,
    Node,
    Operand,
    Operator,
    Predicate,
    Truth,
    conjunction,
    disjunction,
    predicates,
)
from tidegate.filters.meaning import ABSENT, allowed, universe
from tidegate.filters.schema import Schema
from tidegate.filters.values import family
from tidegate.filters.valueset import ValueSet

_Known: TypeAlias = tuple[Predicate, ValueSet]

_LOWER: Final = (Operator.GREATER, Operator.AT_LEAST)
_UPPER: Final = (Operator.LESS, Operator.AT_MOST)
_PARTS_LOOKED_THROUGH: Final = 16  # of an AND or OR, for superfluous ones


def express(
    attribute: str, target: ValueSet, candidates: Iterable[Predicate], schema: Schema | None
) -> Node | None:
    """A condition that allows exactly the target's values, or None if none was found.

    >>> from tidegate.filters.filter import parse
    >>> given = list(predicates(parse("x < 5 OR x = 5 OR x IN (7, 9)").tree))
    >>> target = allowed(given[0], None).union(allowed(given[1], None))
    >>> str(express("x", target, given, None))
    'x <= 5'
    >>> str(express("x", target.union(allowed(given[2], None)), given, None))
    'x <= 5 OR x IN (7, 9)'
    """
    if universe(attribute, schema).within(target):
        return Truth(True)
    if target.is_empty():
        return Truth(False)
    pool = _Pool(attribute, candidates, schema)
    goal = Constraint(attribute, target)
    for attempt in (pool.singles, pool.short, pool.long):
        found = [node for node in attempt(target) if canonical_form(node, schema) == goal]
        if found:
            return min(found, key=constants)
    return None


def enclosing(
    attribute: str, sets: Sequence[ValueSet], candidates: Iterable[Predicate], schema: Schema | None
) -> Node | None:
    """The narrowest range with ends among the candidates' constants that covers all the sets.

    It may be open at one end; open at both, it is IS NOT NULL. None if only TRUE covers them.
    """
    pool = _Pool(attribute, candidates, schema)
    around = [(p, s) for p, s in pool.derived if all(each.within(s) for each in sets)]
    ends = [_tightest([k for k in around if k[0].operator in side]) for side in (_LOWER, _UPPER)]
    parts: list[Node] = [end[0] for end in ends if end is not None]
    if not parts:
        parts = [p for p, _ in around if p.operator is Operator.NULL]
    return conjunction(parts) if parts else None


def union_of(sets: Sequence[ValueSet]) -> ValueSet | None:
    """What is in at least one of the sets, or None where conditions on text leave no such set."""
    if len(sets) == 1:
        return sets[0]
    middle = len(sets) // 2
    one, other = union_of(sets[:middle]), union_of(sets[middle:])
    return None if one is None or other is None else one.union(other)


def constants(node: Node) -> int:
    """How much there is to compare with in a condition: its size.

    >>> from tidegate.filters.filter import parse
    >>> constants(parse("a IN (1, 2, 3) AND b IS NULL AND c LIKE 'x%'").tree)
    5
    """
    return sum(
        len(p.constants) if p.operator is Operator.IN else 1 for p in predicates(node)
    ) + isinstance(node, Truth)


class _Pool:
    """The predicates at hand: those given, and comparisons with their constants."""

    def __init__(
        self, attribute: str, candidates: Iterable[Predicate], schema: Schema | None
    ) -> None:
        self.attribute = attribute
        self.schema = schema
        given = {str(p): p for p in candidates if p.attribute == attribute}
        self.given = [(p, allowed(p, schema)) for p in given.values()]
        values = {
            (type(c), str(c)): c
            for p in given.values()
            if p.operator not in TEXT_OPERATORS
            for c in p.constants
            if c is not None
        }
        self.values = list(self._known(Operator.EQUAL, ((c,) for c in values.values())))
        self.derived = [
            *self._known(Operator.NULL, [()]),
            *self._known(Operator.NULL, [()], Mode.FALSE),
            *(
                k
                for side in (*_LOWER, *_UPPER)
                for k in self._known(side, ((c,) for c in values.values()))
            ),
        ]
        self.all = [*self.given, *self.derived, *self.values]

    def singles(self, target: ValueSet) -> Iterator[Node]:
        """Predicates that say it alone."""
        for predicate, own in self.all:
            if own == target:
                yield predicate
                return
        without = [k for k in self.values if _apart(k[1], target)]
        if len(without) == 1:
            yield from (p for p, _ in self._listed(without, Mode.FALSE))

    def short(self, target: ValueSet) -> Iterator[Node]:
        """One AND, one list, or one OR of predicates."""
        yield conjunction(self._around(target))
        inside = [k for k in self.values if k[1].within(target)]
        yield from (p for p, _ in self._listed(inside))
        lists = [k for k in self.given if not _is_value(k[0])]
        for ranges in (lists, [*lists, *self.derived]):
            parts = _extreme([k for k in ranges if k[1].within(target)], widest=True)
            parts += self._listed([k for k in inside if not _among(k, parts)])
            needed = _needed(parts, target, union_of)
            needed.sort(key=lambda k: k[0].operator is Operator.IN)
            yield disjunction([p for p, _ in needed])

    def long(self, target: ValueSet) -> Iterator[Node]:
        """An OR of ANDs: one for each stretch of values that none before it allows."""
        terms: list[Node] = []
        most = len(self.all) + sum(len(bounds) for bounds in target.spans.values())
        left = [target]
        while left and len(terms) < most:
            rest = left.pop()
            for piece in self._stretches(rest):
                term = conjunction(self._around(piece))
                own = _meaning(term, self.attribute, self.schema)
                if own is not None and own.within(target):
                    break
            else:
                return
            terms.append(term)
            left = [out for one in (rest, *left) for out in one.minus(own)]
        yield disjunction(terms)

    def _stretches(self, values: ValueSet) -> Iterator[ValueSet]:
        """Some of the values that one AND may describe: long stretches first, then up to a cut."""
        if values.absent:
            yield ABSENT
            return
        line, bounds = next(iter(values.spans.items()))
        yield ValueSet(False, {line: bounds[:2]}, values.texts)
        cuts = {cut for _, own in self.all for cut in own.spans.get(line, ())}
        first = min((cut for cut in cuts if bounds[0] < cut < bounds[1]), default=bounds[1])
        yield ValueSet(False, {line: (bounds[0], first)}, values.texts)

    def _around(self, target: ValueSet) -> list[Node]:
        """The predicates whose AND is the narrowest that covers the target."""
        covering = [k for k in (*self.given, *self.derived, *self.values) if target.within(k[1])]
        parts = _extreme(covering, widest=False)
        held = [
            k
            for k in self.values
            if _apart(k[1], target) and all(k[1].meets(own) is not False for _, own in parts)
        ]
        parts += [k for k in self._listed(held, Mode.FALSE) if target.within(k[1])]
        return [p for p, _ in _needed(parts, target, _intersection)]

    def _listed(self, values: Sequence[_Known], mode: Mode = Mode.TRUE) -> list[_Known]:
        """One predicate for the values of each family: `=`, `!=`, `IN` or `NOT IN`."""
        families: dict[str, list[Operand]] = {}
        for known, _ in values:
            constant = known.constants[0]
            families.setdefault(family(constant), []).append(constant)  # type: ignore[arg-type]
        return [
            known
            for operands in families.values()
            for known in self._known(
                Operator.EQUAL if len(operands) == 1 else Operator.IN, [tuple(operands)], mode
            )
        ]

    def _known(
        self,
        operator: Operator,
        lists: Iterable[tuple[Operand, ...]],
        mode: Mode = Mode.TRUE,
    ) -> Iterator[_Known]:
        """Predicates on the attribute with the values they allow, where the language has them."""
        for operands in lists:
            made = Predicate(self.attribute, operator, operands, mode)
            try:
                made = Predicate(self.attribute, operator, admit(made, self.schema), mode)
            except FilterTypeError:
                continue
            yield made, allowed(made, self.schema)


def _is_value(predicate: Predicate) -> bool:
    return predicate.operator is Operator.EQUAL and predicate.mode is Mode.TRUE


def _apart(value: ValueSet, target: ValueSet) -> bool:
    """Whether a value is not in the set; that it is shows faster."""
    return not value.within(target) and value.meets(target) is False


def _among(known: _Known, others: Iterable[_Known]) -> bool:
    return any(known[1].within(own) for _, own in others)


def _tightest(known: Iterable[_Known]) -> _Known | None:
    """The narrowest of predicates each of which is inside the next or the other way round."""
    best: _Known | None = None
    for each in known:
        if best is None or each[1].within(best[1]):
            best = each
    return best


def _extreme(known: Iterable[_Known], *, widest: bool) -> list[_Known]:
    """Those of the predicates that no other one makes superfluous."""
    kept: list[_Known] = []
    for new in known:
        if widest:
            if _among(new, kept):
                continue
            kept = [old for old in kept if not old[1].within(new[1])]
        else:
            if any(old[1].within(new[1]) for old in kept):
                continue
            kept = [old for old in kept if not new[1].within(old[1])]
        kept.append(new)
    return kept


def _intersection(sets: Sequence[ValueSet]) -> ValueSet:
    whole = sets[0]
    for each in sets[1:]:
        whole = whole & each
    return whole


def _needed(
    parts: list[_Known],
    target: ValueSet,
    combine: Callable[[Sequence[ValueSet]], ValueSet | None],
) -> list[_Known]:
    """The parts without those that can be left out, if all together make the target."""
    if len(parts) > _PARTS_LOOKED_THROUGH:
        return parts
    for part in reversed(parts):
        fewer = [other for other in parts if other is not part]
        if fewer and combine([own for _, own in fewer]) == target:
            parts = fewer
    return parts


def _meaning(node: Node, attribute: str, schema: Schema | None) -> ValueSet | None:
    form = canonical_form(node, schema)
    if form is True:
        return universe(attribute, schema)
    return form.allowed if isinstance(form, Constraint) else None
