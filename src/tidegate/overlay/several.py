"""Filters of several kinds in one network.

A kind made of others, each with a name of its own: filters on attributes and patterns on documents,
say. A filter knows its kind by name, and so does whatever is written down. Filters of two kinds
have nothing to do with each other: an event belongs to the first kind that takes it, so neither
covers the other, and they do not overlap. Each kind keeps its filters in its own index and union.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tidegate.errors import FilterError, TidegateError
from tidegate.overlay.filter import (
    Event,
    Filter,
    FilterIndex,
    FilterUnion,
    Kind,
    Merger,
    Plain,
)
from tidegate.overlay.pairs import Pairs
from tidegate.overlay.several_pruner import SeveralPruner
from tidegate.overlay.template import Language, Template


@dataclass(frozen=True, slots=True)
class KindFilter:
    """A filter of one of the kinds, by name."""

    kind: str
    filter: Filter
    owner: "Several"

    @property
    def size(self) -> int:
        """How much there is to it, the name of its kind included."""
        return len(self.kind) + self.filter.size

    @property
    def shape(self) -> object:
        """The kind, and what an update keeps there."""
        return self.kind, self.filter.shape

    @property
    def values(self) -> Plain:
        """The constants."""
        return self.filter.values

    def matches(self, event: Event, /) -> bool:
        """Whether the event is one of this kind, and passes."""
        return self.owner.kind_of(event) == self.kind and self.filter.matches(event)

    def covers(self, other: Filter, /) -> bool:
        """Whether every event that matches the other is certain to match this one."""
        assert isinstance(other, KindFilter)
        return self.kind == other.kind and self.filter.covers(other.filter)

    def overlaps(self, other: Filter, /) -> bool:
        """Whether some event may match both."""
        assert isinstance(other, KindFilter)
        return self.kind == other.kind and self.filter.overlaps(other.filter)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, KindFilter)
            and self.kind == other.kind
            and self.filter == other.filter
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.filter))

    def __str__(self) -> str:
        return f"{self.kind}: {self.filter}"


class KindTemplate:
    """A `Template` of one of the kinds."""

    def __init__(self, kind: str, template: Template, owner: "Several") -> None:
        self._kind = kind
        self._template = template
        self._owner = owner

    @property
    def parameters(self) -> tuple[str, ...]:
        """Their names."""
        return self._template.parameters

    def bind(self, values: Mapping[str, Any], /) -> KindFilter:
        """The filter with a value for each parameter."""
        return KindFilter(self._kind, self._template.bind(values), self._owner)

    def around(self, now: Mapping[str, Any], others: Sequence[Mapping[str, Any]], /) -> KindFilter:
        """A filter wide enough for the values of now, and as far as possible for others."""
        return KindFilter(self._kind, self._template.around(now, others), self._owner)

    def ranged(self, names: Collection[str], /) -> "KindTemplate":
        """One that means the same, and of which `around` finds more for these parameters."""
        return KindTemplate(self._kind, self._template.ranged(names), self._owner)

    def without(self, names: Collection[str], /) -> "KindTemplate":
        """One that covers it for all values of these parameters, and does not have them."""
        return KindTemplate(self._kind, self._template.without(names), self._owner)


class SeveralIndex:
    """A `FilterIndex`: one of each kind."""

    def __init__(self, owner: "Several") -> None:
        self._owner = owner
        self._indexes: dict[str, FilterIndex] = {
            name: kind.index() for name, kind in owner.kinds.items()
        }
        self._kinds: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._kinds)

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        known = _tagged(f)
        self._indexes[known.kind].add(number, known.filter)
        self._kinds[number] = known.kind

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number."""
        known = _tagged(f)
        if self._kinds[number] == known.kind:
            self._indexes[known.kind].update(number, known.filter)
        else:
            self.remove(number)
            self.add(number, f)

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        self._indexes[self._kinds.pop(number)].remove(number)

    def match(self, event: Event, /) -> list[int]:
        """The filters that match an event."""
        kind = self._owner.kind_of(event)
        return [] if kind is None else self._indexes[kind].match(event)

    def match_batch(self, events: Sequence[Event], /) -> list[Pairs]:
        """The filters that match each of many events: those of each kind together."""
        rows: dict[str, list[int]] = {}
        for row, event in enumerate(events):
            kind = self._owner.kind_of(event)
            if kind is not None:
                rows.setdefault(kind, []).append(row)
        found = []
        for kind, own in rows.items():
            of_batch = np.array(own, np.int32)
            for pairs in self._indexes[kind].match_batch([events[row] for row in own]):
                found.append(pairs._replace(rows=of_batch[pairs.rows]))
        return found

    def containing(self, f: Filter, /) -> list[int]:
        """The filters that cover this one."""
        known = _tagged(f)
        return self._indexes[known.kind].containing(known.filter)

    def contained(self, f: Filter, /) -> list[int]:
        """The filters that this one covers."""
        known = _tagged(f)
        return self._indexes[known.kind].contained(known.filter)

    def overlapping(self, f: Filter, /) -> list[int]:
        """The filters that overlap this one."""
        known = _tagged(f)
        return self._indexes[known.kind].overlapping(known.filter)


class SeveralUnion:
    """A `FilterUnion`: one of each kind."""

    def __init__(self, owner: "Several") -> None:
        self._unions: dict[str, FilterUnion] = {
            name: kind.union() for name, kind in owner.kinds.items()
        }
        self._kinds: dict[int, str] = {}

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        known = _tagged(f)
        self._unions[known.kind].add(number, known.filter)
        self._kinds[number] = known.kind

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        self._unions[self._kinds.pop(number)].remove(number)

    def subsumes(self, f: Filter, /) -> bool:
        """Whether every event that matches f is certain to match one of the filters."""
        known = _tagged(f)
        return self._unions[known.kind].subsumes(known.filter)

    def state(self) -> Plain:
        """What the answers of each kind depend on beside the filters that are there."""
        states = {name: union.state() for name, union in self._unions.items()}
        return None if all(state is None for state in states.values()) else states

    def restore(self, filters: Mapping[int, Filter], state: Plain, /) -> None:
        """Take in filters, and answer as another union of them did that had this state."""
        parted: dict[str, dict[int, Filter]] = {name: {} for name in self._unions}
        for number, f in filters.items():
            known = _tagged(f)
            parted[known.kind][number] = known.filter
            self._kinds[number] = known.kind
        for name, union in self._unions.items():
            union.restore(parted[name], None if state is None else state[name])


class Several:
    """The kind made of others. Of two kinds that take an event, the one that is named first has it.

    >>> from tidegate.overlay.attributes import Attributes
    >>> from tidegate.overlay.patterns import Patterns
    >>> attributes, patterns = Attributes(), Patterns()
    >>> both = Several(attributes, patterns)
    >>> f = both.parse("//quote[price < $limit]", limit=7)
    >>> f.matches("<quote><price>5</price></quote>"), f.matches({"price": 5})
    (True, False)
    >>> both.parse("price < 7") == both.filter(attributes.parse("price < 7"))
    True
    """

    def __init__(self, *kinds: Kind) -> None:
        self.kinds: Final = {kind.name: kind for kind in kinds}
        if len(self.kinds) != len(kinds):
            raise TidegateError("two kinds of filters in one network have different names")

    @property
    def name(self) -> str:
        """The names of all."""
        return "+".join(self.kinds)

    def filter(self, f: Filter) -> KindFilter:
        """A filter of one of the kinds as one of this kind; `FilterError` if no kind takes it."""
        for name, kind in self.kinds.items():
            if kind.filter_refusal(f) is None:
                return KindFilter(name, f, self)
        raise FilterError(f"none of the kinds {self.name} takes this filter: {f}")

    def parse(self, text: str, /, **parameters: Any) -> KindFilter:
        """Read a filter of one of the kinds, and bind its parameters."""
        return self.template(text).bind(parameters)

    def template(self, text: str, /) -> KindTemplate:
        """Read a filter whose parameters are bound later; the first kind that can read it does."""
        refusals: dict[str, str] = {}
        for name, kind in self.kinds.items():
            if not isinstance(kind, Language):
                refusals[name] = "there are no texts of this kind"
                continue
            try:
                return KindTemplate(name, kind.template(text), self)
            except TidegateError as error:
                refusals[name] = str(error)
        listed = "\n".join(f"{name}: {refusal}" for name, refusal in refusals.items())
        raise FilterError(f"none of the kinds {self.name} reads this filter\n{listed}")

    def kind_of(self, event: object) -> str | None:
        """The name of the kind that an event belongs to, if one takes it."""
        for name, kind in self.kinds.items():
            if kind.event_refusal(event) is None:
                return name
        return None

    def keeping(self, index: str | None, union: str | None) -> "Several":
        """The same, with the filters of those kinds in these structures that have them."""
        kept: list[Kind] = []
        refusals: list[TidegateError] = []
        for kind in self.kinds.values():
            try:
                kept.append(kind.keeping(index, union))
            except TidegateError as error:
                refusals.append(error)
                kept.append(kind)
        if len(refusals) == len(kept):
            raise refusals[0]
        return Several(*kept)

    def index(self) -> SeveralIndex:
        """An empty index."""
        return SeveralIndex(self)

    def union(self) -> SeveralUnion:
        """An empty union."""
        return SeveralUnion(self)

    def mergers(
        self, filters: Mapping[int, Filter], imt: float, advertised: Sequence[Filter] | None
    ) -> list[Merger]:
        """What each kind would merge."""
        found: list[Merger] = []
        for name, kind in self.kinds.items():
            own = {n: _tagged(f).filter for n, f in filters.items() if _tagged(f).kind == name}
            for each in kind.mergers(own, imt, _of_kind(advertised, name)) if own else ():
                found.append(Merger(KindFilter(name, each.filter, self), each.members, each.imt))
        return found

    def cost(
        self, merger: Filter, members: Iterable[Filter], advertised: Sequence[Filter] | None
    ) -> float:
        """The IMT of a filter that covers all members; infinite if it cannot be told."""
        name = _tagged(merger).kind
        own = [_tagged(f).filter for f in members if _tagged(f).kind == name]
        return self.kinds[name].cost(_tagged(merger).filter, own, _of_kind(advertised, name))

    def pruner(self) -> SeveralPruner | None:
        """Something in which each kind counts its own events, and prunes its own filters."""
        found = {name: kind.pruner() for name, kind in self.kinds.items()}
        own = {name: pruner for name, pruner in found.items() if pruner is not None}
        return SeveralPruner(self, own) if own else None

    def parted(self, f: Filter, /) -> tuple[str, Filter]:
        """The name of a filter's kind, and the filter there."""
        known = _tagged(f)
        return known.kind, known.filter

    def joined(self, name: str, f: Filter, /) -> KindFilter:
        """A filter of the kind of that name as one of this kind."""
        return KindFilter(name, f, self)

    def plain(self, f: Filter) -> Plain:
        """A filter as plain data, after the name of its kind."""
        known = _tagged(f)
        return [known.kind, self.kinds[known.kind].plain(known.filter)]

    def read(self, plain: Plain) -> KindFilter:
        """The filter that was written so."""
        match plain:
            case [str(name), inner] if name in self.kinds:
                return KindFilter(name, self.kinds[name].read(inner), self)
        raise FilterError(f"this is no filter of one of the kinds {self.name}")

    def reshaped(self, f: Filter, values: Plain) -> KindFilter:
        """The filter of the same shape with other constants."""
        known = _tagged(f)
        return KindFilter(known.kind, self.kinds[known.kind].reshaped(known.filter, values), self)

    def reshaped_many(self, f: Filter, values: Sequence[Plain]) -> list[KindFilter]:
        """The same for the constants of many."""
        known = _tagged(f)
        found = self.kinds[known.kind].reshaped_many(known.filter, values)
        return [KindFilter(known.kind, each, self) for each in found]

    def filter_refusal(self, f: object) -> str | None:
        """Why this cannot be taken as a filter, if it cannot."""
        if not isinstance(f, KindFilter) or f.kind not in self.kinds:
            return f"it is not a filter of one of the kinds {self.name}"
        return self.kinds[f.kind].filter_refusal(f.filter)

    def takes_all(self, events: Sequence[Event]) -> bool:
        """Nobody knows without a look at each."""
        return False

    def event_refusal(self, event: object) -> str | None:
        """Why no kind takes this as an event, if none does."""
        refusals = {name: kind.event_refusal(event) for name, kind in self.kinds.items()}
        if None in refusals.values():
            return None
        return "; ".join(f"{name}: {refusal}" for name, refusal in refusals.items())

    def plain_event(self, event: Event) -> Plain:
        """An event as plain data, after the name of its kind."""
        name = self.kind_of(event)
        if name is None:
            raise TidegateError(str(self.event_refusal(event)))
        return [name, self.kinds[name].plain_event(event)]

    def read_event(self, plain: Plain) -> Event:
        """The event that was written so."""
        match plain:
            case [str(name), inner] if name in self.kinds:
                event = self.kinds[name].read_event(inner)
                if self.kind_of(event) == name:
                    return event
        raise ValueError(f"this is no event of one of the kinds {self.name}")

    def event_size(self, event: Event) -> int:
        """The bytes that an event takes in a message."""
        return len(json.dumps(self.plain_event(event), separators=(",", ":")))

    def show_event(self, event: Event) -> str:
        """An event in a few words, for people."""
        name = self.kind_of(event)
        return "?" if name is None else self.kinds[name].show_event(event)


def _tagged(f: Filter) -> KindFilter:
    if not isinstance(f, KindFilter):
        raise TypeError(f"{f!r} is not a filter of one of several kinds")
    return f


def _of_kind(filters: Sequence[Filter] | None, name: str) -> list[Filter] | None:
    """The filters of one kind, if any are given at all."""
    if filters is None:
        return None
    return [_tagged(f).filter for f in filters if _tagged(f).kind == name]
