"""Which single filter can stand for several?

A **merger** of filters covers all of them; it is *perfect* if it adds nothing. A box is a perfect
merger of boxes exactly if it is their hull (for each attribute the union of the value sets) and
they cover it, so one subtraction decides.

Imperfect mergers follow the rules of Li, Hou, Jacobsen, "A Unified Approach to Routing, Covering
and Merging in Publish/Subscribe Systems based on Modified Binary Decision Diagrams" (ICDCS 2005,
section 5): its Table 1 for filters that differ in one attribute (`price > 150`, `price = 145`,
`price = 148` make `price >= 145`), and leaving out one or two differing predicates. What a merger
costs is its **imperfect degree**: which part of what it lets through no member wants (Definition
1), counting only what is advertised where advertisements are given (Definition 2). The **IMT** is
that times the merger's probability. Both are measures under a stated distribution: without one
there are no imperfect mergers. Which of many filters to merge is the question of `groups`.

Invariant: a merger covers each of its members.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tidegate.algebra.distribution import (
    Distribution,
    check_schema,
    disjoint,
    measure_boxes,
    measure_disjoint,
    outside,
    probability,
)
from tidegate.algebra.express import constants, enclosing, express, union_of
from tidegate.algebra.normal import Box, boxes
from tidegate.algebra.relate import covers, entangled, shared_schema, universe_of
from tidegate.algebra.subtract import DEFAULT_BUDGET, Budget, Universe, inside
from tidegate.errors import MeasureError
from tidegate.filters.canonical import Constraint, Form, canonical_form
from tidegate.filters.expression import And, Node, conjunction, conjuncts, predicates
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet

MOST_DROPPED = 2
"""How many predicates each member may lose in a merger that leaves out what differs."""


@dataclass(frozen=True, slots=True)
class Merger:
    """A filter that stands for its members, and what that costs.

    `degree` is the imperfect degree (0 if nothing is added), `probability` how likely an event is
    to match the merger (None if no distribution says), `imt` the product of the two.
    """

    filter: Filter
    members: tuple[Filter, ...]
    degree: float
    probability: float | None
    imt: float


def perfect_merger(filters: Iterable[Filter], budget: Budget = DEFAULT_BUDGET) -> Filter | None:
    """The one box, or the one of the filters, that matches what the filters match together.

    It is found wherever it exists, unless conditions on text hide it or the budget runs out.

    >>> from tidegate.filters.filter import parse
    >>> print(perfect_merger([parse("a = 1 AND price < 100"), parse("a = 1 AND price < 150")]))
    a = 1 AND price < 150
    >>> print(perfect_merger([parse("a = 1 AND price < 5"), parse("a = 1 AND price = 5")]))
    a = 1 AND price <= 5
    >>> perfect_merger([parse("a = 1 AND b < 2"), parse("a = 2 AND b < 3")]) is None
    True
    """
    members = _together(filters)
    for f in members:
        if all(covers(f, g) for g in members):
            return f
    union = _union(members)
    schema = members[0].schema
    whole = None if union is None else _hull(union)
    if union is None or whole is None:
        return None
    # Boxes that differ in one attribute alone leave nothing of their hull uncovered.
    if len(_differing(union)) > 1 and not inside(whole, union, universe_of(schema), budget):
        return None
    return _written(whole, members)


def imperfect_mergers(
    filters: Iterable[Filter],
    distribution: Distribution | None,
    advertisements: Iterable[Filter] | None = None,
) -> list[Merger]:
    """The mergers that the rules for imperfect merging make of the filters, with what they cost.

    `MeasureError` without a distribution, and if there are such but it can measure none of them.

    >>> from tidegate.filters.filter import parse
    >>> from tidegate import Attribute, Schema
    >>> from tidegate.algebra.distribution import Uniform
    >>> schema = Schema({"price": Attribute("bigint", low=101, high=200)})
    >>> members = [parse(f"price {rest}", schema) for rest in ("> 150", "= 145", "= 147", "= 148")]
    >>> [merger] = imperfect_mergers(members, Uniform(schema))
    >>> print(merger.filter, merger.probability, round(merger.degree, 6), round(merger.imt, 6))
    price >= 145 0.56 0.053571 0.03
    """
    members = _together(filters)
    require(distribution)
    known = None if advertisements is None else list(advertisements)
    mergers: list[Merger] = []
    refusal: MeasureError | None = None
    for candidate in imperfect_candidates(members):
        try:
            mergers.append(assess(candidate, members, distribution, known))
        except MeasureError as error:
            refusal = error
    if refusal is not None and not mergers:
        raise refusal
    return mergers


def best_merger(
    filters: Iterable[Filter],
    distribution: Distribution | None = None,
    imt: float = 0.0,
    advertisements: Iterable[Filter] | None = None,
    *,
    concise: bool = False,
) -> Merger | None:
    """A perfect merger if there is one, else the imperfect one with the smallest IMT up to `imt`.

    A perfect merger may hold a longer list or more ranges than any member had. `concise` refuses
    mergers with more constants than the longest member, so that a merger is never a burden.
    An `imt` above 0 without a distribution is a `MeasureError`.

    >>> from tidegate.filters.filter import parse
    >>> members = [parse("price > 150"), parse("price = 145")]
    >>> print(best_merger(members).filter)
    price > 150 OR price = 145
    >>> best_merger(members, concise=True) is None
    True
    """
    members = _together(filters)
    if imt > 0:
        require(distribution)
    longest = max(constants(member.tree) for member in members)

    def fits(f: Filter) -> bool:
        return not concise or constants(f.tree) <= longest

    perfect = perfect_merger(members)
    if perfect is not None and fits(perfect):
        return assess_perfect(perfect, members, distribution)
    if distribution is None:
        return None
    found = [m for m in imperfect_mergers(members, distribution, advertisements) if fits(m.filter)]
    best = min(found, key=lambda m: (m.imt, constants(m.filter.tree)), default=None)
    return best if best is not None and best.imt <= imt else None


def imperfect_candidates(members: Sequence[Filter]) -> Iterator[Filter]:
    """The filters that the rules for imperfect merging make, each of which covers all members."""
    found: dict[Form, Filter] = {}
    for made in (_widened(members), _shared(members)):
        if made is not None and made.form is not True:
            found.setdefault(made.form, made)
    yield from found.values()


def assess(
    merger: Filter,
    members: Sequence[Filter],
    distribution: Distribution | None,
    advertisements: Iterable[Filter] | None = None,
    budget: Budget = DEFAULT_BUDGET,
) -> Merger:
    """What a filter that covers the members costs as their merger.

    `MeasureError` if it adds something and nothing says how likely that is.
    """
    announced = None if advertisements is None else list(advertisements)
    for f in (*members, *(announced or ())):
        shared_schema(merger, f)
    universe = universe_of(merger.schema)
    own, union = boxes(merger), _union(members)
    advertised = None if announced is None else _union(announced)
    if own is None or union is None or (announced is not None and advertised is None):
        raise MeasureError("a filter with so many alternatives has no normal form to be measured")
    added = _difference(own, union, universe, budget)
    if added is None:
        raise MeasureError("cutting the merger into disjoint boxes took more pieces than allowed")
    if not added:
        return assess_perfect(merger, members, distribution)
    require(distribution)
    assert distribution is not None
    check_schema(merger, distribution)
    kinds = {f.attributes: f for f in (merger, *members, *(announced or ()))}.values()
    if any(entangled(f, g) for f in kinds for g in kinds):
        raise MeasureError("a field and the struct it lies in are not independent")
    wanted: Sequence[Box] = own
    if advertised is not None:
        added, wanted = _both(added, advertised), _both(own, advertised)
    mass = measure_boxes(own, distribution, universe, budget)
    # What was added is disjoint already, unless advertisements that overlap were put across it.
    extra = (
        measure_disjoint(added, distribution)
        if advertised is None
        else measure_boxes(added, distribution, universe, budget)
    )
    base = mass if advertised is None else measure_boxes(wanted, distribution, universe, budget)
    if mass is None or extra is None or base is None:
        raise MeasureError(f"the distribution has no measure for {merger}")
    degree = min(1.0, extra / base) if extra else 0.0
    return Merger(merger, tuple(members), degree, mass, mass * degree)


def assess_perfect(
    merger: Filter, members: Sequence[Filter], distribution: Distribution | None
) -> Merger:
    """A merger that is known to add nothing."""
    mass = None if distribution is None else probability(merger, distribution)
    return Merger(merger, tuple(members), 0.0, mass, 0.0)


def require(distribution: Distribution | None) -> None:
    """Raise `MeasureError` where imperfect merging is asked for without a distribution."""
    if distribution is None:
        raise MeasureError(
            "imperfect mergers are weighed by a distribution: give Uniform(schema) or a Histogram"
        )


def _together(filters: Iterable[Filter]) -> list[Filter]:
    members = list(filters)
    if not members:
        raise ValueError("there is nothing to merge: give at least one filter")
    for member in members:
        shared_schema(members[0], member)
    return members


def _union(filters: Sequence[Filter]) -> list[Box] | None:
    union: list[Box] = []
    for f in filters:
        own = boxes(f)
        if own is None:
            return None
        union += own
    return union


def _differing(union: Sequence[Box]) -> list[str]:
    """The attributes in which the boxes are not all the same."""
    first = union[0].sets
    names = dict.fromkeys(name for box in union for name in box.sets)
    return [name for name in names if any(box.sets.get(name) != first.get(name) for box in union)]


def _hull(union: Sequence[Box]) -> Box | None:
    """The smallest box around all boxes, or None if there is none that says just that."""
    sets: dict[str, ValueSet] = {}
    for attribute in union[0].sets:
        own = [box.sets.get(attribute) for box in union]
        present = [each for each in dict.fromkeys(own) if each is not None]
        if None in own:
            continue
        joined = union_of(present)
        if joined is None:
            return None
        sets[attribute] = joined
    return Box(sets)


def _written(
    box: Box, members: Sequence[Filter], changed: dict[str, Node] | None = None
) -> Filter | None:
    """The box as a filter, said with the members' constants; `changed` is said already."""
    schema = members[0].schema
    given = list({str(p): p for member in members for p in predicates(member.tree)}.values())
    said = _said(members[0])
    parts: list[Node] = []
    for attribute in dict.fromkeys(p.attribute for p in given):
        part = said.get(attribute)
        if attribute in box.sets:
            goal = Constraint(attribute, box.sets[attribute])
            if part is None or canonical_form(part, schema) != goal:
                part = express(attribute, goal.allowed, given, schema)
            if part is None:
                return None
            parts.append(part)
        elif changed is not None and attribute in changed:
            parts.append(changed[attribute])
    return _conjoined(parts, schema)


def _said(f: Filter) -> dict[str, Node]:
    """What a filter's AND says about single attributes, as it is written there."""
    said: dict[str, list[Node]] = {}
    for part in conjuncts(f.tree):
        names = {p.attribute for p in predicates(part)}
        if len(names) == 1:
            said.setdefault(names.pop(), []).append(part)
    return {attribute: conjunction(parts) for attribute, parts in said.items()}


def _conjoined(parts: list[Node], schema: Schema | None) -> Filter:
    node = conjunction(parts)
    if isinstance(node, And):
        node = conjunction(
            [part for part in node.parts if canonical_form(part, schema) is not True]
        )
    return Filter.of(node, schema)


def _widened(members: Sequence[Filter]) -> Filter | None:
    """Table 1: where boxes differ in one attribute, the narrowest range around them all."""
    found = [boxes(member) for member in members]
    singles = [own[0] for own in found if own is not None and len(own) == 1]
    if len(singles) < len(members) or len({frozenset(box.sets) for box in singles}) > 1:
        return None
    differing = _differing(singles)
    if len(differing) != 1:
        return None
    [attribute] = differing
    given = [p for member in members for p in predicates(member.tree)]
    around = enclosing(
        attribute, [box.sets[attribute] for box in singles], given, members[0].schema
    )
    if around is None:
        return None
    rest = Box({name: allowed for name, allowed in singles[0].sets.items() if name != attribute})
    return _written(rest, members, {attribute: around})


def _shared(members: Sequence[Filter]) -> Filter | None:
    """What is left when the one or two predicates in which each member differs are left out."""
    forms = [_forms(member) for member in members]
    common = set.intersection(*(set(parts) for parts in forms))
    for parts in forms:
        dropped = [
            p for form, part in parts.items() if form not in common for p in predicates(part)
        ]
        if len(dropped) > MOST_DROPPED:
            return None
    kept = [part for form, part in forms[0].items() if form in common]
    return _conjoined(kept, members[0].schema) if kept else None


def _forms(f: Filter) -> dict[Form, Node]:
    """The parts of the filter's AND, by what they say."""
    return {canonical_form(part, f.schema): part for part in conjuncts(f.tree)}


def _difference(
    own: Sequence[Box], union: Sequence[Box], universe: Universe, budget: Budget
) -> list[Box] | None:
    """What is in one of the first boxes and in none of the others, in disjoint boxes."""
    pieces = disjoint(own, universe, budget)
    rest: list[Box] = []
    for piece in pieces or ():
        more = outside(piece, union, universe, budget)
        if more is None:
            return None
        rest += more
    return None if pieces is None else rest


def _both(one: Sequence[Box], other: Sequence[Box]) -> list[Box]:
    met = [box & each for box in one for each in other]
    return list(dict.fromkeys(box for box in met if box is not None))
