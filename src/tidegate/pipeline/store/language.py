"""What does a store have to know of the filters in it?

A store holds filters of one **kind**: on attributes, or on XML documents. To the store they are
texts with parameters; what their language is like, a `Language` says: whether a text is one of its
filters, which parameters it has, and whether values fit these. What is done with them later, when
they are compiled and matched, is said by their kind (`kinds`).
"""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from tidegate.errors import SubscriptionError
from tidegate.pipeline.store.literals import Literals, Rows
from tidegate.pipeline.store.refusals import Refusals

ATTRIBUTES: Final = "attributes"
"""The kind of filters on attributes; that of a store that does not name one."""
XML: Final = "xml"
"""The kind of filters on XML documents."""


class Parsed(Protocol):
    """A filter that was read."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""


class Language(Protocol):
    """What filters of one kind are written in. Immutable."""

    @property
    def name(self) -> str:
        """That of the kind."""

    @property
    def sign(self) -> str:
        """What a parameter begins with."""

    def settings(self) -> dict[str, str]:
        """What a store says of it."""

    def read(self, text: str) -> Parsed:
        """The filter that a text is; `FilterError` if it is none."""

    def write(self, filter: Any) -> str:
        """A filter, or the text of one, as the store keeps it."""

    def refuse_unfit(
        self, filter: Any, columns: Mapping[str, Literals], rows: Rows, refusals: Refusals
    ) -> None:
        """Refuse rows whose values, a column for each parameter, do not fit the filter."""


def plain_text(filter: Any) -> str:
    """The text of a filter, if it has a place in Arrow."""
    if isinstance(filter, str) and not is_whole(filter):
        raise SubscriptionError("a filter is a text of whole characters, without half a pair")
    return str(filter)


def is_whole(text: str) -> bool:
    """Whether a text has no half characters, which have no place in Arrow."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
