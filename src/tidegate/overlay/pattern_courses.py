"""How are many patterns pruned to their end?

Each by itself, one part after the other, by what costs least on documents that were seen
(`documents.prune`). What is left out seems to cost less than it does if it is looked up in the
documents that said what to leave out. So as soon as there are many, every second one says what to
leave out, and how much of all documents that costs, and the others say how many match then.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.prune import MOST_PARTS, Pruning, best_pruning, parts
from tidegate.documents.sample import DocumentSample
from tidegate.documents.xpath import XPath
from tidegate.overlay.filter import Filter
from tidegate.overlay.pattern_filter import PatternFilter, expression_of

_WORTH_PARTING: Final = 64  # documents that are worth parting
_REMEMBERED: Final = 2**16  # expressions whose best pruning is

_Key: TypeAlias = tuple[object, ...]


class SeenDocuments:
    """Documents that were seen, and how expressions are pruned by them.

    >>> from tidegate.documents.xpath import parse_xpath
    >>> seen = SeenDocuments(["<a><b>1</b><c/></a>", "<a><b>2</b><c/></a>", "<a><c/></a>"])
    >>> [str(each.xpath) for each in seen.course(parse_xpath("/a[b = 1][c]"))]
    ['/a[b = 1]', '/a[b]', '/a']
    """

    def __init__(self, documents: Sequence[bytes | str]) -> None:
        self.sample: Final = DocumentSample(documents)
        every = (1 << len(documents)) - 1
        second = sum(1 << place for place in range(1, len(documents), 2))
        parted = len(documents) >= _WORTH_PARTING
        self.asked: Final = every ^ second if parted else every
        """Those that say what to leave out."""
        self.counted: Final = second if parted else every
        """Those that say how many match."""
        self._best: dict[_Key, Pruning | None] = {}

    def course(self, xpath: XPath) -> list[Pruning]:
        """All prunings of an expression, one after the other."""
        found: list[Pruning] = []
        if len(self.sample) and parts(xpath) <= MOST_PARTS:
            best = self.best(xpath)
            while best is not None:
                found.append(best)
                best = self.best(best.xpath)
        return found

    def best(self, xpath: XPath) -> Pruning | None:
        """The pruning that costs least."""
        key = xpath.expression, xpath.ordered, *xpath.namespaces.items()
        if key not in self._best:
            if len(self._best) >= _REMEMBERED:
                self._best.clear()
            self._best[key] = best_pruning(xpath, self.sample, self.asked)
        return self._best[key]

    def met(self, xpath: XPath) -> int:
        """The documents that match."""
        return self.sample.met(xpath.expression, ordered=xpath.ordered)

    def share(self, documents: int) -> float:
        """How large a share some are of those that say what to leave out."""
        return (documents & self.asked).bit_count() / max(1, self.asked.bit_count())


class PatternCourses:
    """`Courses` of patterns; none is pruned where no documents were seen."""

    def __init__(self, seen: SeenDocuments, filters: Sequence[Filter]) -> None:
        self._seen = seen
        self._own = [expression_of(f) for f in filters]

    @cached_property
    def _courses(self) -> list[list[Pruning]]:
        return [self._seen.course(xpath) for xpath in self._own]

    @property
    def sample(self) -> int:
        """How many documents there are to match."""
        return self._seen.counted.bit_count()

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many prunings each filter has."""
        return np.array([len(course) for course in self._courses], np.int64)

    @cached_property
    def degradations(self) -> NDArray[np.float64]:
        """What they cost, those of one filter behind those of another."""
        found = []
        for xpath, course in zip(self._own, self._courses, strict=True):
            before = self._seen.met(xpath) if course else 0
            for each in course:
                found.append(self._seen.share(each.met & ~before))
                before = each.met
        return np.array(found, np.float64)

    def pruned(self, place: int, steps: int, /) -> PatternFilter:
        """The filter at a place after so many of its prunings."""
        return PatternFilter(self._courses[place][steps - 1].xpath if steps else self._own[place])

    def matched(self, order: NDArray[np.int64], /) -> list[int]:
        """How many documents match, before and after each pruning of places in order."""
        found = 0
        for xpath in self._own:
            found |= self._seen.met(xpath)
        curve = [(found & self._seen.counted).bit_count()]
        steps = [0] * len(self._own)
        for place in order.tolist():
            found |= self._courses[place][steps[place]].met
            steps[place] += 1
            curve.append((found & self._seen.counted).bit_count())
        return curve
