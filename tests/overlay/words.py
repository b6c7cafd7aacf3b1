"""Another kind of filters, to show that brokers and policies know none in particular.

A filter is a set of words, and an event one word; all questions are about sets.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tidegate.errors import FilterError
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


class WordKind:
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

    def filter_refusal(self, f: object) -> str | None:
        return None if isinstance(f, Words) else "it is not a set of words"

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
