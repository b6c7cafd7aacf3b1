"""What can be left out of patterns, by what was seen of documents?

The `Pruner` of patterns. It keeps the last few hundred documents, not more of them than a megabyte,
and none that is very large; whatever it says is counted on those that it learned last
(`pattern_courses`).
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from tidegate.documents.prune import MOST_PARTS, comparisons, gives_way, merged, parts, with_others
from tidegate.documents.syntax import Comparison, Condition, Exists, Expression, Path, Step
from tidegate.documents.xpath import XPath
from tidegate.overlay.filter import Event, Filter, Merger, Plain
from tidegate.overlay.pattern_courses import PatternCourses, SeenDocuments
from tidegate.overlay.pattern_events import event_size, plain_event, read_event
from tidegate.overlay.pattern_filter import PatternFilter, expression_of

SAMPLE: Final = 512  # documents
ROOM: Final = 2**20  # bytes that they take in messages
_LARGEST: Final = ROOM // 16
_MERGED: Final = 8  # filters in one disjunction, at most
_TRIED: Final = 32  # conditions that are tried in the place of one

_About: TypeAlias = tuple[str, Condition]
"""The label of what a condition is about, and the condition."""


class PatternPruner:
    """A `Pruner` of patterns.

    >>> from tidegate.overlay.patterns import Patterns
    >>> kind = Patterns()
    >>> pruner = kind.pruner()
    >>> for price in range(8):
    ...     symbol = "IBM" if price % 4 else "SAP"
    ...     pruner.count(f"<quote symbol='{symbol}'><price>{price}</price></quote>")
    >>> pruner.learn(pruner.summary())
    >>> courses = pruner.courses([kind.parse("/quote[@symbol = 'IBM'][price < 2]")])
    >>> for steps in range(courses.lengths[0]):
    ...     print(courses.pruned(0, steps + 1), courses.degradations[steps])
    /quote[price < 2] 0.125
    /quote 0.75
    """

    def __init__(self) -> None:
        self._recent: deque[tuple[Event, int]] = deque()  # and how large it is
        self._room = ROOM
        self.counted = 0
        self.learned: Plain = None
        self._seen = SeenDocuments([])

    # -- documents

    @property
    def knows(self) -> bool:
        """Whether it has learned anything."""
        return self.learned is not None

    def count(self, event: Event, /) -> None:
        """Count a document."""
        self.counted += 1
        self._keep(event)

    def _keep(self, event: Event) -> None:
        size = event_size(event)
        if size > _LARGEST:
            return
        self._recent.append((event, size))
        self._room -= size
        while self._room < 0 or len(self._recent) > SAMPLE:
            self._room += self._recent.popleft()[1]

    def summary(self) -> Plain:
        """The documents that are kept."""
        return [plain_event(event) for event, _ in self._recent]

    def learn(self, summary: Plain, /) -> None:
        """Go by a summary from now on."""
        self.learned = summary
        self.counted = 0
        documents = list(map(read_event, summary))
        self._seen = SeenDocuments(documents)
        if not self._recent:
            self._keep_all(documents)  # it has lost its memory

    def state(self) -> Plain:
        """What was counted since, as plain data."""
        return [self.counted, self.summary()]

    def restore(self, state: Plain, /) -> None:
        """Have counted what another one had."""
        self.counted, recent = state
        self._keep_all(map(read_event, recent))

    def _keep_all(self, documents: Iterable[Event]) -> None:
        self._recent.clear()
        self._room = ROOM
        for document in documents:
            self._keep(document)

    # -- pruning

    def courses(self, filters: Sequence[Filter], /) -> PatternCourses:
        """How these filters are pruned to their end; not at all as long as nothing is known."""
        return PatternCourses(self._seen, filters)

    # -- replacement

    def replaced(self, filters: Mapping[int, Filter], share: float, /) -> dict[int, Filter]:
        """The filters that change when a share of the conditions that can be replaced is."""
        known: dict[str, _About] = {}
        uses: dict[str, dict[int, None]] = {}
        for number, f in filters.items():
            for about in comparisons(expression_of(f)):
                text = str(XPath(_anywhere(about)))
                known.setdefault(text, about)
                uses.setdefault(text, {})[number] = None
        found = self._replacements(known, uses)
        chosen = dict(found[: round(share * len(found))])
        last = {known[old]: known[_last(new, chosen)][1] for old, new in chosen.items()}
        changed: dict[int, Filter] = {}
        for number in sorted({number for old in chosen for number in uses[old]}):
            xpath = with_others(expression_of(filters[number]), last)
            if not self._seen.sample.may_be_all(xpath.expression, ordered=xpath.ordered):
                changed[number] = PatternFilter(xpath)
        return changed

    def _replacements(
        self, known: Mapping[str, _About], uses: Mapping[str, Collection[int]]
    ) -> list[tuple[str, str]]:
        """Each condition that can be replaced, and by which, the cheapest first."""
        alike: dict[tuple[str, Path], list[tuple[float, str]]] = {}
        for text, about in known.items():
            share = self._seen.share(self._seen.sample.met(_anywhere(about)))
            alike.setdefault((about[0], _path(about[1])), []).append((share, text))
        found: list[tuple[float, str, str]] = []
        for among in alike.values():
            among.sort()
            for i, (share, old) in enumerate(among):
                for more, new in among[i + 1 : i + 1 + _TRIED]:
                    if gives_way(known[old][1], known[new][1]):
                        found.append(((more - share) * len(uses[old]), old, new))
                        break
        return [(old, new) for _, old, new in sorted(found)]

    # -- merging

    def mergers(
        self, filters: Mapping[int, Filter], imt: float, advertised: Sequence[Filter] | None, /
    ) -> list[Merger]:
        """Filters on whose path there is the same rare name, joined and pruned.

        That is worth forwarding if it is no longer than the longest filter that went into it, and
        lets no more documents pass than `imt`.
        """
        if not len(self._seen.sample):
            return []
        groups: dict[tuple[str, bool], list[int]] = {}
        for number, f in filters.items():
            xpath = expression_of(f)
            if len(xpath.expression.paths) == 1 and parts(xpath) <= MOST_PARTS:
                groups.setdefault((self._rarest(xpath), xpath.ordered), []).append(number)
        found = []
        for numbers in groups.values():
            for start in range(0, len(numbers), _MERGED):
                own = numbers[start : start + _MERGED]
                if len(own) < 2:
                    continue
                members = [filters[number] for number in own]
                merger = merged([expression_of(f) for f in members], self._seen.sample, imt)
                if merger is not None:
                    f = PatternFilter(merger)
                    found.append(Merger(f, tuple(own), self.cost(f, members, None)))
        return found

    def _rarest(self, xpath: XPath) -> str:
        labels = {step.label for path in xpath.expression.paths for step in path.steps}
        return min(labels, key=lambda label: (self._seen.sample.holding(label), label), default="")

    def cost(
        self, merger: Filter, members: Iterable[Filter], advertised: Sequence[Filter] | None, /
    ) -> float:
        """The share of the documents that match the merger and no member."""
        if not len(self._seen.sample):
            return float("inf")
        more = self._seen.met(expression_of(merger))
        for member in members:
            more &= ~self._seen.met(expression_of(member))
        return more.bit_count() / len(self._seen.sample)


def _path(condition: Condition) -> Path:
    assert isinstance(condition, Comparison | Exists)
    return condition.path


def _anywhere(about: _About) -> Expression:
    """That a condition is fulfilled somewhere in a document."""
    label, condition = about
    return Expression((Path((Step(True, label, (condition,)),)),))


def _last(new: str, chosen: Mapping[str, str]) -> str:
    """What stands in the end for a condition that others may be replaced by."""
    while new in chosen:
        new = chosen[new]
    return new
