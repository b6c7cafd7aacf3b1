"""How can a pattern be made simpler by leaving parts out?

A **pruning** leaves out one part of an expression: a predicate, or a part of one that is joined by
`and`; of a comparison, the value, so that there need only be something to compare; of a path, its
last step with all that is asked there, or another step of which nothing is asked, so that what
comes behind it may be at any distance. There is no `not` in the language, so what widens a part
widens the whole, and a pruning never loses a document. A part of an `or` is never left out by
itself, nor one of the paths that `|` joins, as that would narrow the expression.

But some conditions **count** nodes (`widen`): what stands before a position, and the path in
`starts-with` and `contains`. More nodes that pass are other nodes that are second or first. So
nothing is left out there before whoever counts it has been left out.

What a pruning costs is counted, on documents that were seen (`sample`): the share of them that
match then and did not before. Among the prunings, the one that costs least is taken, again and
again, as in Bittner, Hinze, "Subscription Tree Pruning: A Structure-Independent Routing
Optimization for General-Purpose Publish/Subscribe Systems" (OTM 2006), which has it for Boolean
filters (`algebra.prune`). Pruning several expressions joined by `|` until one of their paths covers
the others makes a merger of them (section 4.5).

Invariants: every expression returned here covers the one it was made from, and there is a document
that it does not match.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tidegate.documents.sample import DocumentSample
from tidegate.documents.syntax import (
    All,
    Comparison,
    Condition,
    Exists,
    Expression,
    Path,
    Rank,
    Some,
    Step,
)
from tidegate.documents.widen import FIRST, counted, implied, may_be_empty
from tidegate.documents.xpath import XPath

MOST_PARTS: Final = 50
"""Parts of an expression that is pruned; larger ones are left as they are."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """An expression with a part left out, and the documents of a sample that match it."""

    xpath: XPath
    met: int


def prunings(xpath: XPath) -> list[XPath]:
    """Every expression that leaving out one part makes, but for one that asks for nothing.

    >>> from tidegate.documents.xpath import parse_xpath
    >>> for pruned in prunings(parse_xpath("//quote[@symbol = 'IBM']/price")):
    ...     print(pruned)
    //quote/price
    //quote[@symbol]/price
    //quote[@symbol = 'IBM']
    """
    paths = xpath.expression.paths
    return [
        xpath.saying(Expression((*paths[:place], pruned, *paths[place + 1 :])))
        for place, path in enumerate(paths)
        for pruned in _paths(path, cut=True)
    ]


def parts(xpath: XPath) -> int:
    """How many parts an expression has: each pruning leaves fewer."""
    return sum(map(_of_path, xpath.expression.paths))


def best_pruning(xpath: XPath, sample: DocumentSample, among: int) -> Pruning | None:
    """The pruning that lets fewest more of the documents `among` those of a sample match.

    Of equals, the one with fewest parts. None if every pruning may match whatever there is.

    >>> from tidegate.documents.xpath import parse_xpath
    >>> sample = DocumentSample(["<a><b>1</b></a>", "<a><b>2</b><c/></a>", "<a><c/></a>"])
    >>> best = best_pruning(parse_xpath("/a[b = 1]/c"), sample, 0b111)
    >>> print(best.xpath, f"{best.met:03b}")
    /a[b]/c 010
    """
    found: Pruning | None = None
    least = (0, 0)
    ordered = xpath.ordered
    for pruned in prunings(xpath):
        if sample.may_be_all(pruned.expression, ordered=ordered):
            continue
        met = sample.met(pruned.expression, ordered=ordered)
        rated = (met & among).bit_count(), parts(pruned)
        if found is None or rated < least:
            found, least = Pruning(pruned, met), rated
    return found


def merged(members: Sequence[XPath], sample: DocumentSample, limit: float) -> XPath | None:
    """One expression that covers all members, and is not longer than the longest of them.

    Not more than the share `limit` of the documents match it and no member. None if there is none.

    >>> from tidegate.documents.xpath import parse_xpath
    >>> members = [parse_xpath("/a[b = 1]"), parse_xpath("/a[b = 2]")]
    >>> print(merged(members, DocumentSample(["<a><b>1</b></a>", "<a/>"]), 0.0))
    /a[b]
    """
    joined = [path for each in members for path in each.expression.paths]
    prefixes = {name: uri for each in members for name, uri in each.namespaces.items()}
    ordered = members[0].ordered
    enough = max(len(str(each)) for each in members)
    every = (1 << len(sample)) - 1

    def tidied(paths: Iterable[Path]) -> XPath:
        made = [XPath(Expression((path,)), ordered=ordered) for path in paths]
        return XPath(Expression(_widest(made)), ordered=ordered, namespaces=prefixes)

    done = tidied(joined)
    first = sample.met(done.expression, ordered=ordered)
    while len(str(done)) > enough:
        following = best_pruning(done, sample, every)
        if following is None:
            return None
        if (following.met & ~first).bit_count() > limit * len(sample):
            return None
        done = tidied(following.xpath.expression.paths)
    return done


def _widest(paths: Iterable[XPath]) -> tuple[Path, ...]:
    """The paths without those that another one covers."""
    kept: list[XPath] = []
    for path in paths:
        if not any(other.covers(path) for other in kept):
            kept = [other for other in kept if not path.covers(other)]
            kept.append(path)
    return tuple(each.expression.paths[0] for each in kept)


# -- conditions in the place of others


def comparisons(xpath: XPath) -> Iterator[tuple[str, Condition]]:
    """The conditions that another one may take the place of, and the label of what they are about.

    Those are comparisons, and that there is something, where nobody counts what fulfils them.
    """
    for path in xpath.expression.paths:
        yield from _in_path(path)


def _in_path(path: Path) -> Iterator[tuple[str, Condition]]:
    for step in path.steps:
        for predicate in step.predicates[counted(step) :]:
            yield from _in_condition(step.label, predicate)


def _in_condition(label: str, condition: Condition) -> Iterator[tuple[str, Condition]]:
    match condition:
        case Exists(path):
            yield label, condition
            yield from _in_path(path)
        case Comparison(operator, path):
            yield label, condition
            if operator not in FIRST:
                yield from _in_path(path)
        case All(conditions) | Some(conditions):
            for each in conditions:
                yield from _in_condition(label, each)


def gives_way(given: Condition, asked: Condition) -> bool:
    """Whether a condition that may be replaced (`comparisons`) implies another one on its path.

    >>> one, other = Comparison("<", Path(()), 5.0), Comparison("<", Path(()), 7.0)
    >>> gives_way(one, other), gives_way(other, one)
    (True, False)
    """
    match given, asked:
        case (Comparison(operator, path), Comparison(another, other)) if path == other:
            first_only = another in FIRST and operator not in FIRST and path.steps
            return not first_only and implied(given, asked)
        case (Comparison(_, path), Exists(other)) if path == other:
            return bool(path.steps) and not may_be_empty(given)
    return False


def with_others(xpath: XPath, others: Mapping[tuple[str, Condition], Condition]) -> XPath:
    """The expression with other conditions in the place of some, which those must imply."""

    def of_path(path: Path) -> Path:
        return Path(tuple(map(of_step, path.steps)))

    def of_step(step: Step) -> Step:
        kept = counted(step)
        changed = [of_condition(step.label, each) for each in step.predicates[kept:]]
        return Step(step.deep, step.label, (*step.predicates[:kept], *changed))

    def of_condition(label: str, condition: Condition) -> Condition:
        other = others.get((label, condition))
        if other is not None:
            return other
        match condition:
            case Exists(path):
                return Exists(of_path(path))
            case Comparison(operator, path, constant) if operator not in FIRST:
                return Comparison(operator, of_path(path), constant)
            case All(conditions):
                return All(tuple(of_condition(label, each) for each in conditions))
            case Some(conditions):
                return Some(tuple(of_condition(label, each) for each in conditions))
        return condition

    return xpath.saying(Expression(tuple(map(of_path, xpath.expression.paths))))


# -- prunings, part by part


def _paths(path: Path, *, cut: bool) -> Iterator[Path]:
    """A path without one part, be it its last step only if it may be `cut`: something is left."""
    steps = path.steps
    for place, step in enumerate(steps):
        before, after = steps[:place], steps[place + 1 :]
        for changed in _steps(step):
            yield Path((*before, changed, *after))
        if after and not step.predicates:
            yield Path((*before, Step(True, after[0].label, after[0].predicates), *after[1:]))
    if cut and len(steps) > 1:
        yield Path(steps[:-1])


def _steps(step: Step) -> Iterator[Step]:
    """A step without one part."""
    kept = counted(step)
    for place in range(kept, len(step.predicates)):
        before, after = step.predicates[:place], step.predicates[place + 1 :]
        yield Step(step.deep, step.label, (*before, *after))
        for changed in _conditions(step.predicates[place]):
            yield Step(step.deep, step.label, (*before, changed, *after))


def _conditions(condition: Condition) -> Iterator[Condition]:
    """A condition without one part, but something is left of it."""
    match condition:
        case Exists(path):
            yield from map(Exists, _paths(path, cut=True))
        case Comparison(operator, path, constant):
            if path.steps and not may_be_empty(condition):
                yield Exists(path)
            if operator not in FIRST:
                for changed in _paths(path, cut=False):
                    yield Comparison(operator, changed, constant)
        case All(conditions):
            for place, part in enumerate(conditions):
                before, after = conditions[:place], conditions[place + 1 :]
                left = (*before, *after)
                yield All(left) if len(left) > 1 else left[0]
                for one in _conditions(part):
                    yield All((*before, one, *after))
        case Some(conditions):
            for place, part in enumerate(conditions):
                before, after = conditions[:place], conditions[place + 1 :]
                for one in _conditions(part):
                    inner = one.parts if isinstance(one, Some) else (one,)
                    yield Some((*before, *inner, *after))


# -- how much there is


def _of_path(path: Path) -> int:
    found = 0
    for step in path.steps:
        found += 1 + sum(map(_of_condition, step.predicates))
    return found


def _of_condition(condition: Condition) -> int:
    match condition:
        case Exists(path):
            return _of_path(path)
        case Comparison(_, path):
            return 1 + _of_path(path)
        case Rank():
            return 1
        case All(conditions) | Some(conditions):
            return sum(map(_of_condition, conditions))
