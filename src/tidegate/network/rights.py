"""What may a client see, and what may it publish? **Rights are filters.**

Whatever a client wants is registered as `filter AND see`, and what it advertises as
`filter AND publish`: so rights are routed, covered and merged as filters are, and nothing that a
client may not see is even carried to its broker for it. An event that does not match `publish` is
refused, as one is that was not advertised.

An update names constants only, those of the filter as the client told it. So what a client told is
remembered beside what was registered, as long as its connection lasts: a client that comes back
tells everything anew.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from tidegate.errors import TidegateError
from tidegate.filters.expression import Truth
from tidegate.overlay.attribute_filter import in_language
from tidegate.overlay.conjunction import both
from tidegate.overlay.filter import Event, Filter
from tidegate.overlay.messages import Advertise, Change, Entry, Told


@dataclass(frozen=True, slots=True)
class Rights:
    """What a role may see, and what it may publish."""

    see: Filter
    publish: Filter

    def of(self, told: type[Told]) -> Filter:
        """The right that messages of a type are held against."""
        return self.see if told is Change else self.publish


class Restricted:
    """One client with its rights, and what it has told as it told it."""

    def __init__(self, rights: Rights) -> None:
        self.rights: Final = rights
        self._told: Final[dict[type[Told], dict[int, Filter]]] = {Change: {}, Advertise: {}}

    def told(self, of: type[Told], own: int) -> Filter:
        """The filter that the client has told under an id; KeyError if none."""
        return self._told[of][own]

    def restrict(self, message: Told) -> Told:
        """What is registered in the place of what a client asks for; `TidegateError` if nothing."""
        right = self.rights.of(type(message))
        if message.add and _is_nothing(right):
            doing = "see" if isinstance(message, Change) else "publish"
            raise TidegateError(f"this client may {doing} nothing")
        return replace(
            message,
            add=tuple(_within(entry, right) for entry in message.add),
            update=tuple(_within(entry, right) for entry in message.update),
        )

    def remember(self, message: Told, registered: Collection[int]) -> None:
        """What was told, of what is registered now."""
        told = self._told[type(message)]
        if message.whole:
            told.clear()
        for entry in (*message.add, *message.update):
            told[entry.id] = entry.filter
        for own in (*(entry.id for entry in message.add), *message.remove):
            if own not in registered:
                told.pop(own, None)

    def may_publish(self, event: Event) -> bool:
        """Whether an event is among what may be published."""
        return self.rights.publish.matches(event)

    def exceeded(self, of: type[Told], registered: Mapping[int, Filter]) -> bool:
        """Whether anything is registered, from earlier, that may go beyond the rights of now."""
        right = self.rights.of(of)
        return not all(right.covers(f) for f in registered.values())


def _within(entry: Entry, right: Filter) -> Entry:
    return replace(entry, filter=both(entry.filter, right))


def _is_nothing(right: Filter) -> bool:
    return in_language(right).tree == Truth(False)
