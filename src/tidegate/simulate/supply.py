"""Where do the filters and events of a workload come from?

A **source** belongs to a scenario and never changes; it is opened for each run. What comes of that
is a **supply**: one filter after the other for those who subscribe, one event after the other for
those who publish. Here is the source that a scenario writes down, as `Templates` whose constants
are drawn (`draws`); others may be handed to `scenario.load` by name.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final, Protocol, TypeAlias
from xml.sax.saxutils import escape

from tidegate.errors import ScenarioError, TidegateError
from tidegate.overlay.filter import Event, Filter, Kind
from tidegate.simulate.draws import Draw, draw_all

NAME: Final = re.compile(r"\{(\w+)\}")
_QUOTE: Final = {'"': "&quot;"}


class TextKind(Kind, Protocol):
    """A kind whose filters have texts."""

    def parse(self, text: str, /, **parameters: Any) -> Filter:
        """The filter that a text says, its parameters bound; `TidegateError` if it says none."""


class Wish(Protocol):
    """What a subscriber wants, by whoever has supplied it."""

    @property
    def filter(self) -> Filter:
        """The filter to subscribe to."""


class Supply(Protocol):
    """Filters and events for one run; what is random in them is drawn from what is given."""

    def wish(self, random: Random, /) -> Wish:
        """What the next subscriber wants."""

    def moved(self, wish: Any, random: Random, /) -> Wish:
        """What a subscriber wants who changes their mind."""

    def event(self, random: Random, /) -> Event:
        """What is published next."""


class Source(Protocol):
    """What a workload draws from."""

    @property
    def kind(self) -> TextKind | None:
        """The kind of its filters; None: whatever the scenario says."""

    def open(self, kind: TextKind, /) -> Supply:
        """A supply from the beginning."""


Sources: TypeAlias = Mapping[str, Callable[[int, int], Source]]
"""Sources by name. Each is made from a seed, for so many subscriptions."""


@dataclass(frozen=True)
class Template:
    """A filter's text, and how its parameters are drawn; some of them move when it is updated."""

    text: str
    weight: float
    parameters: dict[str, Draw]
    moves: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A filter, and the template and values it was made from."""

    filter: Filter
    template: Template
    values: dict[str, Any]


@dataclass(frozen=True)
class Templates:
    """The source that is written down in a scenario: it is its own supply, having no state."""

    filters: tuple[Template, ...]
    events: dict[str, Draw]
    document: str | None = None
    """What is published, if it is a document: its text, with names in braces for what is drawn."""
    _kind: TextKind | None = None

    @property
    def kind(self) -> None:
        """Whatever the scenario says."""

    def open(self, kind: TextKind, /) -> "Templates":
        """The supply. Each text is read once, so that a wrong one is refused at once."""
        opened, random = replace(self, _kind=kind), Random(0)
        for i, template in enumerate(self.filters):
            try:
                opened._bound(template, draw_all(template.parameters, random))
            except ScenarioError:
                raise
            except TidegateError as error:
                raise ScenarioError(f"workload.filters[{i}]: {error}") from None
        return opened

    def wish(self, random: Random, /) -> Drawn:
        """A template by its weight, with constants."""
        weights = [template.weight for template in self.filters]
        [template] = random.choices(self.filters, weights)
        return self._bound(template, draw_all(template.parameters, random))

    def moved(self, wish: Drawn, random: Random, /) -> Drawn:
        """The same template; what moves is drawn anew."""
        drawn = draw_all(wish.template.parameters, random)
        moving = {name: drawn[name] for name in wish.template.moves}
        return self._bound(wish.template, {**wish.values, **moving})

    def event(self, random: Random, /) -> Event:
        """All attributes, drawn one after the other; in a document, if there is a text for it."""
        drawn = draw_all(self.events, random)
        if self.document is None:
            return drawn
        return NAME.sub(lambda found: escape(str(drawn[found[1]]), _QUOTE), self.document)

    def _bound(self, template: Template, values: dict[str, Any]) -> Drawn:
        assert self._kind is not None, "open it first"
        return Drawn(self._kind.parse(template.text, **values), template, values)
