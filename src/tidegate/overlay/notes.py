"""What has a broker noticed that nobody writes down?

Events are not written down, nor are reports of neighbours; but what a broker prunes depends on
them. So it notes at a tick what it goes by from then on: a summary of the events that it has
counted, and the newest report of each neighbour. The tick is written down with these **notes**, and
a broker that handles it again decides as it did before. What was noticed since the last tick is
lost with a broker that crashes, as events are.

Nothing is noted that changes little: no summary before enough events have come, each time twice as
many as before, up to a limit; and no report twice.
"""

from dataclasses import astuple
from typing import Final

from tidegate.overlay.filter import Event, Plain, Pruner
from tidegate.overlay.messages import Report

_LONGEST_WAIT: Final = 64  # times as many events as for the first summary, at most


class Notes:
    """What a broker has noticed: events by the pruner, and beside that how many came from whom."""

    def __init__(self, pruner: Pruner | None, enough: int) -> None:
        self.pruner: Final = pruner
        self._enough = enough  # events that the next summary takes
        self._most = enough * _LONGEST_WAIT
        self._events: dict[str, int] = {}  # from each neighbour, since the last tick
        self._heard: dict[str, int] = {}  # the number of the newest report of each neighbour
        self._reports: dict[str, Report] = {}  # since the last tick
        self._told: dict[str, Report] = {}  # what each neighbour was told last

    def event(self, link: str, event: Event) -> None:
        """An event came from a neighbour, or from a client."""
        self._events[link] = self._events.get(link, 0) + 1
        if self.pruner is not None:
            self.pruner.count(event)

    def events(self, link: str, count: int) -> None:
        """Many came, and nobody learns from them."""
        if count:
            self._events[link] = self._events.get(link, 0) + count

    def reported(self, link: str, report: Report) -> bool:
        """A neighbour reported; whether that is news."""
        if report.number <= self._heard.get(link, 0):
            return False
        self._heard[link] = report.number
        self._reports[link] = report
        return True

    def came_up(self, link: str) -> None:
        """Begin afresh with a neighbour."""
        for known in (self._heard, self._reports, self._told):
            known.pop(link, None)

    def take(self, *, due: bool) -> Plain:
        """What is noted at a tick: a summary, if it is due, and reports; None if neither is new."""
        enough = due and self.pruner is not None and self.pruner.counted >= self._enough
        summary = self.pruner.summary() if enough and self.pruner is not None else None
        if summary is not None:
            self._enough = min(2 * self._enough, self._most)
        reports = {link: list(astuple(report)) for link, report in self._reports.items()}
        self._reports.clear()
        return [summary, reports] if reports or summary is not None else None

    def heard(self, link: str) -> int:
        """How many events came from a neighbour since the last tick."""
        return self._events.get(link, 0)

    def tell(
        self, link: str, memory: float | None, bandwidth: float | None, share: float | None
    ) -> Report | None:
        """The report to a neighbour, if it says something new."""
        told = self._told.get(link, Report(0))
        report = Report(told.number + 1, memory, bandwidth, share)
        if astuple(report)[1:] == astuple(told)[1:]:
            return None
        self._told[link] = report
        return report

    def ticked(self) -> None:
        """Count events from now on."""
        self._events.clear()

    def state(self) -> Plain:
        """All of it as plain data."""
        return [
            self._enough,
            None if self.pruner is None else self.pruner.state(),
            dict(self._events),
            dict(self._heard),
            {link: list(astuple(report)) for link, report in self._reports.items()},
            {link: list(astuple(report)) for link, report in self._told.items()},
        ]

    def restore(self, state: Plain) -> None:
        """Be as another one was."""
        self._enough, counted, events, heard, reports, told = state
        if self.pruner is not None:
            self.pruner.restore(counted)
        self._events.update(events)
        self._heard.update(heard)
        self._reports.update((link, Report(*report)) for link, report in reports.items())
        self._told.update((link, Report(*report)) for link, report in told.items())
