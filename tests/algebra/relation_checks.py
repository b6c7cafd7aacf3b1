"""Do the relations say what the enumeration of all events says?

`exact` accepts nothing else, `sound` lets "not known" pass in the direction that forwards more.
Both tests and mutants call them, through the module `relate`, so that what a mutant patches is what
is checked.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.algebra.enumeration import Condition, Events
from tests.algebra.worlds import Setting
from tidegate import Filter
from tidegate.algebra import relate
from tidegate.algebra.normal import boxes
from tidegate.algebra.relate import Relation
from tidegate.algebra.subtract import DEFAULT_BUDGET, Budget


@dataclass(frozen=True, slots=True)
class Known:
    """A filter, and the events that pass it."""

    filter: Filter
    events: Events


def known(place: Setting, conditions: Sequence[Condition]) -> list[Known]:
    """The conditions as filters, with the events that pass them."""
    world = place.world
    return [Known(world.filter(c), world.passing(c)) for c in conditions]


def true_relation(f: Events, g: Events) -> Relation:
    """How two sets of events relate."""
    if f == g:
        return Relation.EQUAL
    if not g & ~f:
        return Relation.COVERS
    if not f & ~g:
        return Relation.COVERED
    return Relation.OVERLAPS if f & g else Relation.DISJOINT


def exact(f: Known, g: Known) -> Relation:
    """Check every relation of f to g; what they are to each other."""
    truth = true_relation(f.events, g.events)
    about = f"{f.filter}   |   {g.filter}"
    assert relate.relate(f.filter, g.filter) is truth, about
    assert relate.covers(f.filter, g.filter) is (truth in (Relation.EQUAL, Relation.COVERS)), about
    assert relate.overlaps(f.filter, g.filter) is bool(f.events & g.events), about
    return truth


def exact_union(g: Known, others: Sequence[Known]) -> bool:
    """Check whether g is subsumed; whether it is."""
    truth = not g.events & ~union(others)
    said = relate.subsumed(g.filter, [other.filter for other in others])
    assert said is truth, f"{g.filter}   |   {[str(other.filter) for other in others]}"
    return truth


def exact_family(
    place: Setting, conditions: Sequence[Condition], rng: random.Random
) -> Counter[str]:
    """Check all pairs of a family, and unions of one to five of it; how often each answer came."""
    members = known(place, conditions)
    assert all(boxes(member.filter) is not None for member in members)
    before = DEFAULT_BUDGET.exhausted
    answers: Counter[str] = Counter(filters=len(members))
    for f in members:
        for g in members:
            answers[str(exact(f, g))] += 1
        others = rng.sample(members, rng.randint(1, 5))
        if exact_union(f, others):
            alone = any(not f.events & ~other.events for other in others)
            answers["subsumed by one" if alone else "subsumed by the union"] += 1
        else:
            answers["not subsumed"] += 1
    assert DEFAULT_BUDGET.exhausted == before
    return answers


def sound(f: Known, g: Known) -> Relation:
    """Check that no relation of f to g is wrong; what was said.

    A filter that cannot be known to be empty may be called disjoint from another.
    """
    truth = true_relation(f.events, g.events)
    about = f"{f.filter}   |   {g.filter}   ({truth})"
    said = relate.relate(f.filter, g.filter)
    disjoint = said is Relation.DISJOINT and not f.events & g.events
    assert disjoint or said in (truth, Relation.UNKNOWN), f"{about} is said to be {said}"
    if relate.covers(f.filter, g.filter):
        assert truth in (Relation.EQUAL, Relation.COVERS), about
    if not relate.overlaps(f.filter, g.filter):
        assert not f.events & g.events, about
    return said


def sound_union(g: Known, others: Sequence[Known], budget: Budget = DEFAULT_BUDGET) -> bool:
    """Check that g is not called subsumed if it is not; what was said."""
    said = relate.subsumed(g.filter, [other.filter for other in others], budget)
    if said:
        about = f"{g.filter}   |   {[str(other.filter) for other in others]}"
        assert not g.events & ~union(others), about
    return said


def sound_family(
    place: Setting, conditions: Sequence[Condition], rng: random.Random
) -> Counter[str]:
    """Check that nothing said about a family is wrong; how often each answer came."""
    members = known(place, conditions)
    answers: Counter[str] = Counter(filters=len(members))
    for f in members:
        for g in members:
            answers[str(sound(f, g))] += 1
        answers["subsumed" if sound_union(f, rng.sample(members, 4)) else "not subsumed"] += 1
    return answers


def union(members: Sequence[Known]) -> Events:
    """The events that pass at least one."""
    events = 0
    for member in members:
        events |= member.events
    return events
