"""Which numbers of a policy are shown, and how?

A column belongs to one of the six parameters, and says how its numbers are written. The table on a
terminal, the table of the page and its figure show the same ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tidegate.lab.comparison.measures import Measures
from tidegate.lab.comparison.probes import CLASSES

APPLICABILITY: Final = "applicability"
MEMORY: Final = "memory"
NETWORK: Final = "network load"
COMPUTATION: Final = "computation"
EXPRESSIVENESS: Final = "expressiveness"
DEREGISTRATION: Final = "deregistration"

TELLS: Final = {
    APPLICABILITY: "The share of plain forwarding's table entries that are not there, as they are.",
    MEMORY: "What is in all routing tables, of what neighbours have told: associations (predicates "
    "in entries), and bytes.",
    NETWORK: "Events from broker to broker for each notification, and their bytes.",
    COMPUTATION: "Work for an event, in units (brokers that match it, entries they find), and CPU "
    "time of all brokers together.",
    EXPRESSIVENESS: "The share of each class of filters that it does anything with, on probes that "
    "it is made for.",
    DEREGISTRATION: "Messages, bytes and CPU time for a cancellation, with all that follows.",
}
"""The six parameters, and what is measured."""


@dataclass(frozen=True, slots=True)
class Column:
    """Some number of each policy; None where it has none."""

    parameter: str
    name: str
    value: Callable[[Measures], float | None]
    written: Callable[[float], str]

    def text(self, measures: Measures) -> str:
        """The number as it is shown."""
        value = self.value(measures)
        return "-" if value is None else self.written(value)


def share(number: float) -> str:
    """A share, in percent.

    >>> share(0.25), share(0.0004), share(1.0)
    ('25%', '0.04%', '100%')
    """
    percent = 100 * number
    if percent in (0, 100) or percent >= 9.95:
        return f"{percent:.0f}%"
    return f"{percent:.1f}%" if percent >= 0.095 else f"{percent:.2g}%"


def amount(number: float) -> str:
    """A number with three digits that matter.

    >>> amount(0.5107), amount(12.345), amount(835_268), amount(0)
    ('0.511', '12.3', '835,268', '0')
    """
    if number == 0:
        return "0"
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}" if number >= 0.001 else f"{number:.1g}"


_SHORT: Final = {"conjunctions": "conj."}


def _class(name: str) -> Callable[[Measures], float | None]:
    return lambda m: None if m.expressiveness is None else m.expressiveness[name]


COLUMNS: Final = (
    Column(APPLICABILITY, "changed", lambda m: m.applicability, share),
    Column(MEMORY, "assoc.", lambda m: m.associations, amount),
    Column(MEMORY, "kB", lambda m: m.bytes / 1e3, amount),
    Column(NETWORK, "events", lambda m: m.events, amount),
    Column(NETWORK, "bytes", lambda m: m.event_bytes, amount),
    Column(COMPUTATION, "units", lambda m: m.work, amount),
    Column(COMPUTATION, "µs", lambda m: m.event_cpu * 1e6, amount),
    *(Column(EXPRESSIVENESS, _SHORT.get(name, name), _class(name), share) for name in CLASSES),
    Column(DEREGISTRATION, "messages", lambda m: m.deregistration.messages, amount),
    Column(DEREGISTRATION, "bytes", lambda m: m.deregistration.bytes, amount),
    Column(DEREGISTRATION, "ms", lambda m: m.deregistration.cpu * 1e3, amount),
)


def of(parameter: str) -> list[Column]:
    """The columns of a parameter."""
    return [column for column in COLUMNS if column.parameter == parameter]
