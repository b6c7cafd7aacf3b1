"""What does a client have to know about filters with parameters?

As brokers know filters (`filter`), clients know **templates**: of any kind of filters that has
parameters. All that is made of a template by `bind` and `around` has one shape, so that one may
take the place of the other by an update.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from tidegate.overlay.filter import Filter


class Template(Protocol):
    """A filter with parameters. `TidegateError` for a value that it cannot have."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Their names."""

    def bind(self, values: Mapping[str, Any], /) -> Filter:
        """The filter with a value for each parameter."""

    def around(self, now: Mapping[str, Any], others: Sequence[Mapping[str, Any]], /) -> Filter:
        """A filter that covers the one bound to the values of now, and those bound to others as
        far as the shape allows.
        """

    def ranged(self, names: Collection[str], /) -> "Template":
        """One that means the same, and of which `around` finds more for these parameters."""

    def without(self, names: Collection[str], /) -> "Template":
        """One that covers it for all values of these parameters, and does not have them."""


@runtime_checkable
class Language(Protocol):
    """Reads templates."""

    def template(self, text: str, /) -> Template:
        """The template that a text says; `TidegateError` if it says none."""
