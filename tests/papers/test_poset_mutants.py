"""The checks of the poset catch what they are there for: each mutant is a mistake easy to make.

Each is run through the same histories as the poset itself, until something is noticed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random
from typing import Any

import pytest

from tests.papers.agreement import agree
from tests.papers.poset_checks import flaws, misplaced, plain_event, plain_filter
from tidegate.filters.filter import Filter
from tidegate.papers.poset import diagram, node, outline, search
from tidegate.papers.poset.diagram import Diagram
from tidegate.papers.poset.node import Node, Sieve
from tidegate.papers.poset.poset import Poset
from tidegate.papers.poset.search import Place

HISTORIES = 10
Mutation = Callable[[pytest.MonkeyPatch], None]


def noticed(make: Callable[[], Poset] = Poset) -> str:
    """The first thing that is wrong in some histories; nothing if there is none."""
    for seed in range(HISTORIES):
        poset = make()

        def look(poset: Poset = poset) -> None:
            assert flaws(poset) == []
            assert misplaced(poset) == []

        try:
            agree(
                poset,
                None,
                seed,
                50,
                exact=True,
                draw=plain_filter,
                event=plain_event,
                after=look,
            )
        except (AssertionError, KeyError, RuntimeError) as error:
            return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.slow
def test_nothing_is_noticed_of_the_poset_itself() -> None:
    assert noticed() == ""


@pytest.mark.slow
def test_nothing_is_noticed_of_the_poset_with_sieves(monkeypatch: pytest.MonkeyPatch) -> None:
    with_sieves(monkeypatch)
    assert noticed() == ""


def with_sieves(patch: pytest.MonkeyPatch) -> None:
    """Two children are many."""
    patch.setattr(node, "MANY", 1)
    patch.setattr(diagram, "MANY", 1)


# -- links


def loses_links_at_deletion(patch: pytest.MonkeyPatch) -> None:
    """What hung under a node that goes becomes a root."""
    patch.setattr(Diagram, "_bridge", lambda self, child, parents: None)


def bridges_to_one_parent_only(patch: pytest.MonkeyPatch) -> None:
    bridge = Diagram._bridge
    patch.setattr(
        Diagram, "_bridge", lambda self, child, parents: bridge(self, child, list(parents)[:1])
    )


def bridges_where_there_is_a_way(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(diagram, "ancestors", lambda child: set(child.above))


def keeps_the_direct_link(patch: pytest.MonkeyPatch) -> None:
    """A node that comes between two others does not part them."""
    patch.setattr(Diagram, "_step_between", lambda self, above, below: None)


def does_not_rewire_the_covered(patch: pytest.MonkeyPatch) -> None:
    """A new node is linked to what is above it, and to nothing below."""
    find = search.find
    patch.setattr(search, "find", lambda d, new: find(d, new)._replace(below=[]))


def looks_for_the_covered_among_the_roots_only(patch: pytest.MonkeyPatch) -> None:
    """What the paper seems to say: where nothing covers a filter, it may cover roots."""
    covered = search.covered

    def among_roots(d: Diagram, new: Node, start: Node, old: Any = None, **how: Any) -> list[Node]:
        found = covered(d, new, start, old, **how)
        return found if start is not d.top else [each for each in found if not each.above]

    patch.setattr(search, "covered", among_roots)


def links_all_that_cover(patch: pytest.MonkeyPatch) -> None:
    covering = search.covering
    patch.setattr(
        search, "covering", lambda *asked, **how: dict.fromkeys(covering(*asked, **how), True)
    )


def leaves_roots_among_the_roots(patch: pytest.MonkeyPatch) -> None:
    settle = Diagram._settle
    patch.setattr(Diagram, "_settle", lambda self, each: None if each.above else settle(self, each))


# -- updates


def keeps_stale_links(patch: pytest.MonkeyPatch) -> None:
    """The filter of a node changes, and its links do not."""
    patch.setattr(search, "find_again", lambda d, old, new: Place(list(old.above), list(old.below)))


def checks_its_own_links_only(patch: pytest.MonkeyPatch) -> None:
    """Links that hold no more are dropped; who else covers it, or is covered, is not asked."""

    def find_again(d: Diagram, old: Node, new: Node) -> Place:
        above = [each for each in old.above if d.covers(each, new)]
        below = [each for each in old.below if d.covers(new, each)]
        return Place(above, below)

    patch.setattr(search, "find_again", find_again)


def takes_a_narrower_filter_for_a_wider_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(search, "_still_covering", lambda d, old, new: list(old.above))


def does_not_look_through_the_old_node(patch: pytest.MonkeyPatch) -> None:
    covering = search.covering
    patch.setattr(
        search, "covering", lambda d, new, old=None, narrower=False: covering(d, new, old)
    )


def leaves_the_outline_as_it_was(patch: pytest.MonkeyPatch) -> None:
    """With sieves: the row of a node whose filter has changed still has its old limits."""
    with_sieves(patch)
    put = Sieve.put
    patch.setattr(Sieve, "put", lambda self, each: None if each in self._rows else put(self, each))


def forgets_that_others_hang_below(patch: pytest.MonkeyPatch) -> None:
    with_sieves(patch)
    patch.setattr(Diagram, "_mark", lambda self, each: None)


# -- equal filters


def keeps_equal_filters_apart(patch: pytest.MonkeyPatch) -> None:
    find = search.find
    patch.setattr(search, "find", lambda d, new: find(d, new)._replace(equal=None))


class ForgetsTheOthers(Poset):
    """A node goes with the first of its filters."""

    def _take(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            home = self._homes.get(number)
            if home is not None:
                home.numbers = {number: None}
            super()._take([number])


# -- questions


class LooksBelowOneParentOnly(Poset):
    """A node with two parents is never asked."""

    def match(self, event: Mapping[str, Any], /) -> list[int]:
        found: list[int] = []
        stack = list(self._diagram.top.below)
        while stack:
            each = stack.pop()
            if each.filter.matches(event):
                found.extend(each.numbers)
                stack.extend(child for child in each.below if len(child.above) == 1)
        return found


class AsksTwice(Poset):
    """A node with two parents is asked for each of them."""

    def match(self, event: Mapping[str, Any], /) -> list[int]:
        found: list[int] = []
        stack = list(self._diagram.top.below)
        while stack:
            each = stack.pop()
            if each.filter.matches(event):
                found.extend(each.numbers)
                stack.extend(each.below)
        return found


class SaysOnlyWhatIsDirectlyBelow(Poset):
    """`contained` stops at the first that is covered."""

    def contained(self, f: Filter, /) -> list[int]:
        below = search.covered(self._diagram, Node(f), self._diagram.top)
        return [number for each in below for number in each.numbers] + list(self._empty)


def stops_at_what_does_not_cover_and_below(patch: pytest.MonkeyPatch) -> None:
    """`overlapping` looks at the roots, and below those that it covers."""

    def overlapping(d: Diagram, new: Node) -> Iterator[Node]:
        stack = list(d.top.below)
        while stack:
            each = stack.pop()
            if d.overlaps(each, new):
                yield each
                if d.covers(new, each):
                    stack.extend(each.below)

    patch.setattr(search, "overlapping", overlapping)


@pytest.mark.parametrize(
    "mutation",
    [
        loses_links_at_deletion,
        bridges_to_one_parent_only,
        bridges_where_there_is_a_way,
        keeps_the_direct_link,
        does_not_rewire_the_covered,
        looks_for_the_covered_among_the_roots_only,
        links_all_that_cover,
        leaves_roots_among_the_roots,
        keeps_stale_links,
        checks_its_own_links_only,
        takes_a_narrower_filter_for_a_wider_one,
        does_not_look_through_the_old_node,
        leaves_the_outline_as_it_was,
        forgets_that_others_hang_below,
        keeps_equal_filters_apart,
        stops_at_what_does_not_cover_and_below,
    ],
)
def test_a_mistake_is_noticed(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation(monkeypatch)
    assert noticed() != ""


@pytest.mark.parametrize(
    "mutant",
    [ForgetsTheOthers, LooksBelowOneParentOnly, AsksTwice, SaysOnlyWhatIsDirectlyBelow],
)
def test_a_mutant_is_noticed(mutant: type[Poset]) -> None:
    assert noticed(mutant) != ""


def test_an_outline_that_is_too_narrow_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def narrow(f: Filter) -> Any:
        known = outline.outline(f)
        limits = {
            number: (low, max(low, high - 2**56)) for number, (low, high) in known.limits.items()
        }
        return known._replace(limits=limits)

    monkeypatch.setattr(node, "outline", narrow)
    assert noticed() != ""


def test_an_answer_beyond_the_covers_is_noticed() -> None:
    """A check that would accept anything would accept this as well."""

    class ClaimsEverything(Poset):
        def containing(self, f: Filter, /) -> list[int]:
            return list(self._filters)

    assert "containing" in noticed(ClaimsEverything)


def test_histories_meet_every_case() -> None:
    """The histories have nodes with two parents, shared nodes and chains."""
    rng = Random(1)
    poset = Poset()
    for number in range(60):
        poset.add(number, plain_filter(rng))
    assert any(len(each.above) > 1 for each in poset.nodes)
    assert any(len(each.numbers) > 1 for each in poset.nodes)
    assert any(each.above and each.below for each in poset.nodes)
