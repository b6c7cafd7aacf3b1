"""Another kind of filters, to show that brokers and policies know none in particular.

A filter is a set of words, and an event one word; all questions are about sets.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from tests.overlay.stepwise import Pruning, StepwiseCourses
from tidegate.errors import FilterError
from tidegate.overlay.attribute_events import AttributeEvents
from tidegate.overlay.filter import Event, Filter, Merger, Plain
from tidegate.overlay.scan import ScanIndex

WORDS: Final = "abcdefgh"


@dataclass(frozen=True, slots=True)
class Words:
    """A filter: one of the words."""

    words: frozenset[str]

    @property
    def size(self) -> int:
        return len(self.words)

    @property
    def shape(self) -> int:
        return len(self.words)

    @property
    def values(self) -> list[str]:
        return sorted(self.words)

    def matches(self, event: Event, /) -> bool:
        return event["word"] in self.words

    def covers(self, other: Filter, /) -> bool:
        return self.words >= _words(other)

    def overlaps(self, other: Filter, /) -> bool:
        return not self.words.isdisjoint(_words(other))

    def __repr__(self) -> str:
        return f"<{''.join(sorted(self.words))}>"


class WordUnion:
    """Sets of words, and what they are together."""

    def __init__(self) -> None:
        self._filters: dict[int, Filter] = {}

    def add(self, number: int, f: Filter, /) -> None:
        self._filters[number] = f

    def remove(self, number: int, /) -> None:
        del self._filters[number]

    def subsumes(self, f: Filter, /) -> bool:
        return _words(f) <= _together(self._filters.values())

    def state(self) -> None:
        return None

    def restore(self, filters: Mapping[int, Filter], state: Plain, /) -> None:
        self._filters.update(filters)


class WordPruner:
    """Counts words. A set becomes simpler by one more word: the one that came least often."""

    def __init__(self) -> None:
        self.counted = 0
        self.learned: dict[str, int] | None = None
        self._counts = dict.fromkeys(WORDS, 0)

    @property
    def knows(self) -> bool:
        return self.learned is not None

    def count(self, event: Event, /) -> None:
        self._counts[event["word"]] += 1
        self.counted += 1

    def summary(self) -> dict[str, int]:
        return dict(self._counts)

    def learn(self, summary: Plain, /) -> None:
        self.learned = dict(summary)
        self.counted = 0

    @property
    def sample(self) -> int:
        """Words that came; each of them is one event."""
        return sum(count > 0 for count in (self.learned or {}).values())

    def best(self, f: Filter, /) -> Pruning | None:
        others = sorted(set(WORDS) - _words(f))
        if self.learned is None or len(others) < 2:
            return None
        word = min(others, key=self.learned.__getitem__)
        return Pruning(Words(_words(f) | {word}), self._share(word))

    def met(self, f: Filter, /) -> int:
        """A bit for each word that came."""
        assert self.learned is not None
        came = [word for word, count in self.learned.items() if count]
        return sum(1 << i for i, word in enumerate(came) if word in _words(f))

    def courses(self, filters: Sequence[Filter], /) -> StepwiseCourses:
        return StepwiseCourses(self, filters)

    def replaced(self, filters: Mapping[int, Filter], share: float, /) -> dict[int, Filter]:
        """Of two neighbours in the alphabet that occur, the first wants the second as well."""
        together = _together(filters.values())
        pairs = [(a, b) for a, b in pairwise(WORDS) if a in together and b in together]
        wanted = {number: _words(f) for number, f in filters.items()}
        for a, b in pairs[: round(share * len(pairs))]:
            wanted = {n: words | {b} if a in words else words for n, words in wanted.items()}
        return {n: Words(words) for n, words in wanted.items() if words != _words(filters[n])}

    def mergers(
        self, filters: Mapping[int, Filter], imt: float, advertised: Sequence[Filter] | None, /
    ) -> list[Merger]:
        """Sets that begin with the same word, as one."""
        groups: dict[str, list[int]] = {}
        for number, f in filters.items():
            groups.setdefault(min(_words(f)), []).append(number)
        return [
            Merger(Words(_together(filters[n] for n in numbers)), tuple(numbers), 0.0)
            for numbers in groups.values()
            if self.knows and len(numbers) > 1
        ]

    def cost(
        self, merger: Filter, members: Iterable[Filter], advertised: Sequence[Filter] | None, /
    ) -> float:
        return sum(map(self._share, _words(merger) - _together(members)))

    def state(self) -> Plain:
        return [self.counted, self._counts]

    def restore(self, state: Plain, /) -> None:
        self.counted, counts = state
        self._counts = dict(counts)

    def _share(self, word: str) -> float:
        known = self.learned or dict.fromkeys(WORDS, 1)
        return known[word] / max(1, sum(known.values()))


class WordKind(AttributeEvents):
    """The kind; all words are equally likely."""

    name: Final = "words"

    def keeping(self, index: str | None, union: str | None) -> "WordKind":
        assert index is None, "words are asked one by one"
        assert union is None
        return self

    def index(self) -> ScanIndex:
        return ScanIndex()

    def union(self) -> WordUnion:
        return WordUnion()

    def mergers(
        self, filters: Mapping[int, Filter], imt: float, advertised: Sequence[Filter] | None
    ) -> list[Merger]:
        """Runs of the alphabet from a set's first to its last word, where two of them meet."""
        found: list[tuple[Filter, tuple[int, ...]]] = []
        for number, f in filters.items():
            for place, (merger, members) in enumerate(found):
                both = [filters[n] for n in members] + [f]
                run = _run(_words(merger) | _words(f))
                if merger.overlaps(f) and self.cost(run, both, advertised) <= imt:
                    found[place] = run, (*members, number)
                    break
            else:
                found.append((f, (number,)))
        return [
            Merger(f, members, self.cost(f, [filters[n] for n in members], advertised))
            for f, members in found
            if len(members) > 1
        ]

    def cost(
        self, merger: Filter, members: Iterable[Filter], advertised: Sequence[Filter] | None
    ) -> float:
        extra = _words(merger) - _together(members)
        if advertised is not None:
            extra &= _together(advertised)
        return len(extra) / len(WORDS)

    def pruner(self) -> WordPruner:
        return WordPruner()

    def plain(self, f: Filter) -> str:
        return "".join(sorted(_words(f)))

    def read(self, plain: Plain) -> Words:
        if not isinstance(plain, str) or set(plain) - set(WORDS):
            raise FilterError(f"{plain!r} is no set of words")
        return Words(frozenset(plain))

    def reshaped(self, f: Filter, values: Plain) -> Words:
        if not isinstance(values, list) or len(set(values)) != f.shape:
            raise FilterError(f"{values!r} are other words than there were")
        return self.read("".join(values))

    def reshaped_many(self, f: Filter, values: Sequence[Plain]) -> list[Words]:
        return [self.reshaped(f, each) for each in values]

    def filter_refusal(self, f: object) -> str | None:
        return None if isinstance(f, Words) else "it is not a set of words"

    def takes_all(self, events: Sequence[Event]) -> bool:
        return False

    def event_refusal(self, event: object) -> str | None:
        word = isinstance(event, Mapping) and event.get("word") in tuple(WORDS)
        return None if word else "an event is one word"


def _words(f: Filter) -> frozenset[str]:
    assert isinstance(f, Words)
    return f.words


def _together(filters: Iterable[Filter]) -> frozenset[str]:
    return frozenset().union(*map(_words, filters))


def _run(words: frozenset[str]) -> Words:
    first, last = WORDS.index(min(words)), WORDS.index(max(words))
    return Words(frozenset(WORDS[first : last + 1]))
