"""How probable is it that a document which matches one pattern matches another?

Sim(A, B) of Chand (2005), section 8.5: B is laid over the expansion of A, as containment lays one
pattern over another, but with probabilities. Alternatives of one class **add**; of several classes
that meet a branch of B, the **greatest** counts; branches of one node of B **multiply**. Branches
that land in one class are met by one of its elements together, or are in *conflict*, at the price
of `conflict` (γ). A test of B that A implies costs nothing, one that may hold as well costs
`possible` (ε), and one that A excludes is never met; neither is what excludes something that is
met already (opposition). What A does not ask for may be in a document all the same: by a synopsis
as often as it was seen there, by a DTD alone with probability `unmatched` for each element; that is
what a branch of B has at least.

The thesis gives none of the three numbers. It writes Sim(S_i, S) for what its definition calls
Sim(S, S_i), and prints 1/2 for the 1/8 of S_7.

If B covers A, it is 1; if A cannot match any document, too. If no document matches both, 0.
"""

from dataclasses import dataclass
from math import prod
from typing import Final

from tidegate.documents.pattern import ANY, Branch, Distance, Node, Pattern, ValueTest
from tidegate.documents.values import exclude, implies
from tidegate.documents.xpath import XPath
from tidegate.errors import TidegateError
from tidegate.overlay.filter import Filter
from tidegate.overlay.pattern_filter import PatternFilter
from tidegate.peers.expansion import Bounds, Possible, expand, opposed
from tidegate.peers.guide import Guide, Path
from tidegate.peers.proximity import Measure

_CHILD: Final = Distance(1)
_REMEMBERED: Final = 200_000  # chances that are not worked out again


@dataclass(frozen=True, slots=True)
class Weights:
    """The three numbers that the thesis leaves open."""

    conflict: float = 0.5
    """γ: for two branches that are met by one thing that was asked for."""
    possible: float = 0.1
    """ε: for a test that may hold."""
    unmatched: float = 0.1
    """For an element that nothing is known of; with a synopsis, its frequency takes the place."""

    def __post_init__(self) -> None:
        if not all(0 <= each <= 1 for each in (self.conflict, self.possible, self.unmatched)):
            raise TidegateError("conflict, possible and unmatched are from 0 to 1")


class Similarity:
    """Sim and the measures made of it, for patterns on documents.

    >>> from tidegate.documents.dtd import parse_dtd
    >>> from tidegate.overlay.patterns import Patterns
    >>> guide = Guide(parse_dtd("<!ELEMENT m (cd*, dvd*)><!ELEMENT cd EMPTY><!ELEMENT dvd EMPTY>"))
    >>> any_medium, cd = (Patterns().parse(text) for text in ("/m/*", "/m/cd"))
    >>> similarity = Similarity(guide, weights=Weights(unmatched=0))
    >>> similarity.given(any_medium, cd), similarity.given(cd, any_medium)
    (0.5, 1.0)
    >>> similarity.of(any_medium, cd)
    0.75
    """

    def __init__(
        self,
        guide: Guide,
        measure: Measure = Measure.MEAN,
        weights: Weights | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.guide: Final = guide
        self.measure: Final = measure
        self.weights: Final = weights or Weights()
        self.bounds: Final = bounds or Bounds()
        self._expansions: dict[Pattern, Possible | None] = {}
        self._chances: dict[tuple[Distance, Node, Path], float] = {}

    def of(self, first: Filter, second: Filter) -> float:
        """How near the second filter is to the first, by the measure."""
        forth = self.given(first, second)
        if self.measure is Measure.GIVEN:
            return forth
        back = self.given(second, first)
        if self.measure is Measure.MEAN:
            return (forth + back) / 2
        return 0.0 if not forth or not back else 1 / (1 / forth + 1 / back - 1)

    def given(self, first: Filter, second: Filter) -> float:
        """How probable it is that a document which matches the first matches the second."""
        one, other = _expression(first), _expression(second)
        if other.covers(one):
            return 1.0
        if not other.overlaps(one) or not one.patterns:
            return 0.0
        each = [max((self._sim(a, b) for b in other.patterns), default=0.0) for a in one.patterns]
        return sum(each) / len(each)

    def _sim(self, one: Pattern, other: Pattern) -> float:
        if one not in self._expansions:
            self._expansions[one] = expand(one, self.guide, self.bounds)
        root = self._expansions[one]
        return 1.0 if root is None else self.laid(other.root, root)

    def laid(self, asked: Node, node: Possible) -> float:
        """How probable it is that an element that occurs is what a pattern's node asks for."""
        if not _fits(asked.label, node.label):
            return 0.0
        here = self._tests(asked.tests, node.tests)
        return here * self._branches(asked.branches, node) if here else 0.0

    def _tests(self, asked: tuple[ValueTest, ...], known: tuple[ValueTest, ...]) -> float:
        if asked and known and exclude(asked, known):
            return 0.0
        return prod(1.0 if implies(known, test) else self.weights.possible for test in asked)

    def _branches(self, branches: tuple[Branch, ...], node: Possible) -> float:
        """All branches together."""
        if self._exclude_each_other(branches, node.label):
            return 0.0
        met: dict[int, list[Branch]] = {}  # by the class that meets them best
        alone = 1.0
        for branch in branches:
            place = self._best(branch, branches, node)
            if place is None:
                alone *= self._unmet(branch, node)
            else:
                met.setdefault(place, []).append(branch)
        return alone * prod(
            self._in_class(node.classes[place], landed, branches, node)
            for place, landed in met.items()
        )

    def _exclude_each_other(self, branches: tuple[Branch, ...], parent: str) -> bool:
        names = [b.node.label for b in branches if b.distance == _CHILD and b.node.label != ANY]
        return any(
            opposed(parent, name, other, self.guide)
            for place, name in enumerate(names)
            for other in names[:place]
        )

    def _best(self, branch: Branch, branches: tuple[Branch, ...], node: Possible) -> int | None:
        """The class that meets a branch with the greatest probability; None if none does."""
        best, most = None, 0.0
        for place, alternatives in enumerate(node.classes):
            chance = self._met(branch, alternatives, branches, node)
            if chance > most:
                best, most = place, chance
        return best

    def _met(
        self,
        branch: Branch,
        alternatives: list[Possible],
        branches: tuple[Branch, ...],
        node: Possible,
    ) -> float:
        return sum(
            each.probability * self._reached(branch.distance, branch.node, each)
            for each in alternatives
            if self._allowed(branch, each, branches, node)
        )

    def _allowed(
        self, branch: Branch, each: Possible, branches: tuple[Branch, ...], node: Possible
    ) -> bool:
        """Whether an element does not exclude what another branch asks for by its name."""
        return not any(
            other is not branch
            and other.distance == _CHILD
            and opposed(node.label, each.label, other.node.label, self.guide)
            for other in branches
            if other.node.label != ANY and other.node.is_element
        )

    def _in_class(
        self,
        alternatives: list[Possible],
        landed: list[Branch],
        branches: tuple[Branch, ...],
        node: Possible,
    ) -> float:
        """Branches that one class meets: one element all of them, or several in conflict."""
        chances = [self._met(branch, alternatives, branches, node) for branch in landed]
        one = landed[0]
        if len(landed) == 1:
            return max(chances[0], self._unmet(one, node))
        together = sum(
            each.probability
            * prod(self._reached(branch.distance, branch.node, each) for branch in landed)
            for each in alternatives
        )
        apart = prod(chances) * self.weights.conflict ** (len(landed) - 1)
        return max(together, apart)

    def _reached(self, distance: Distance, asked: Node, node: Possible) -> float:
        """How probable it is that a branch is met at an element, or below it."""
        if distance.levels > 1:
            rest = Distance(distance.levels - 1, distance.exact)
            return self._branches((Branch(rest, asked),), node)
        here = self.laid(asked, node)
        if distance.exact or here == 1.0:
            return here
        below = max((self._below(distance, asked, each) for each in node.classes), default=0.0)
        return max(here, below)

    def _below(self, distance: Distance, asked: Node, alternatives: list[Possible]) -> float:
        return sum(each.probability * self._reached(distance, asked, each) for each in alternatives)

    def _unmet(self, branch: Branch, node: Possible) -> float:
        """How probable it is that something is there that was not asked for."""
        if branch.distance == _CHILD and self._is_excluded(branch.node.label, node):
            return 0.0
        return self._by_chance(branch.distance, branch.node, node.path)

    def _is_excluded(self, name: str, node: Possible) -> bool:
        """Whether something that is certain to be there excludes an element."""
        return any(
            len(alternatives) == 1 and opposed(node.label, alternatives[0].label, name, self.guide)
            for alternatives in node.classes
        )

    def _by_chance(self, distance: Distance, asked: Node, path: Path) -> float:
        key = distance, asked, path
        if key not in self._chances:
            if len(self._chances) > _REMEMBERED:
                self._chances.clear()
            self._chances[key] = self._worked_out(distance, asked, path)
        return self._chances[key]

    def _worked_out(self, distance: Distance, asked: Node, path: Path) -> float:
        weights, guide = self.weights, self.guide
        own = weights.possible ** len(asked.tests)
        if not asked.is_element:
            return weights.unmatched * own
        if len(path) >= self.bounds.depth:
            return 0.0
        chance = 0.0
        for name in guide.children(path):
            seen = guide.chance(path, name, weights.unmatched)
            below = (*path, name)
            if distance.levels > 1 or not distance.exact:
                rest = Distance(max(1, distance.levels - 1), distance.exact)
                if seen > self.bounds.least:
                    chance = _either(chance, seen * self._by_chance_below(rest, asked, below, seen))
            if distance.levels == 1 and _fits(asked.label, name):
                chance = max(chance, seen * own * self._all_by_chance(asked, below))
        return chance

    def _all_by_chance(self, asked: Node, path: Path) -> float:
        if self._exclude_each_other(asked.branches, path[-1]):
            return 0.0
        return prod(self._by_chance(each.distance, each.node, path) for each in asked.branches)

    def _by_chance_below(self, rest: Distance, asked: Node, path: Path, seen: float) -> float:
        # without a synopsis every element is as likely as any: one step further is enough
        if self.guide.synopsis is None and not rest.exact:
            return self._by_chance(_CHILD, asked, path)
        return self._by_chance(rest, asked, path)


def _fits(asked: str, label: str) -> bool:
    if asked == ANY:
        return label[:1] not in ("@", "") and label != "text()"
    return asked == label or (asked == "/" and label == "")


def _either(one: float, other: float) -> float:
    """One of two that have nothing to do with each other."""
    return one + (1 - one) * other


def _expression(f: Filter) -> XPath:
    if not isinstance(f, PatternFilter):
        raise TidegateError("this is about patterns on documents; for others, count over a history")
    return f.xpath
