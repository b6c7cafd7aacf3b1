"""How much of what clients register is news to a broker?

Of the registrations that come in on a link, some are **duplicate**: their filter is known from that
link, and nothing but counts changes. Some are **supplementary**: known, but from other links only.
The others are **new**. A cancellation is **partial** where other registrations of the filter stay
on the link, and **total** where its entry goes. (Chand, "Large scale diffusion of information in
Publish/Subscribe systems" (2005), section 4.2.5: only new and supplementary registrations, and
total cancellations, need questions about who covers whom.)

Links to clients are one link here, as at a *consumer node* of the thesis. A neighbour's change is
one registration if more registrations stand behind the link after it than before, and one
cancellation if fewer do; what it names on the way, as filters lose the one that stood for them, is
neither.
"""

from dataclasses import dataclass

from tidegate.overlay.asked import Asked
from tidegate.overlay.counts import ONCE
from tidegate.overlay.filter import Filter
from tidegate.overlay.table import Table
from tidegate.overlay.work import Tally


@dataclass(slots=True)
class _Holders:
    """How many entries have a filter."""

    clients: int = 0
    neighbours: int = 0


class Registrations:
    """Which filters a broker knows from whom, and what it has noticed of registrations."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._holders: dict[Filter, _Holders] = {}

    def follow(self, origin: str, asked: Asked, table: Table, *, client: bool) -> None:
        """Take in a change that the table has not followed yet."""
        if client:
            self._of_client(asked, table.of(origin))
        else:
            self._of_neighbour(origin, asked, table)
        for own, f in asked.update.items():
            self._hold(table[origin, own], client=client, by=-1)
            self._hold(f, client=client)
        if not client:
            for f in asked.add.values():
                self._hold(f, client=False)
            for own in asked.remove:
                self._hold(table[origin, own], client=False, by=-1)

    def known(self, f: Filter, *, client: bool) -> None:
        """Know an entry that is in the table already."""
        self._hold(f, client=client)

    def _of_client(self, asked: Asked, before: dict[int, Filter]) -> None:
        for f in asked.add.values():
            held = self._holders.get(f)
            if held is None:
                self._tally.new += 1
            elif held.clients:
                self._tally.duplicate += 1
            else:
                self._tally.supplementary += 1
            self._hold(f, client=True)
        for own in asked.remove:
            self._hold(before[own], client=True, by=-1)
            held = self._holders.get(before[own])
            if held is not None and held.clients:
                self._tally.partial += 1
            else:
                self._tally.total += 1

    def _of_neighbour(self, origin: str, asked: Asked, table: Table) -> None:
        more = _more(origin, asked, table)
        if more < 0:
            if asked.remove:
                self._tally.total += 1
            else:
                self._tally.partial += 1
        elif more > 0:
            if any(f not in self._holders for f in asked.add.values()):
                self._tally.new += 1
            elif asked.add:
                self._tally.supplementary += 1
            else:
                self._tally.duplicate += 1

    def _hold(self, f: Filter, *, client: bool, by: int = 1) -> None:
        held = self._holders.setdefault(f, _Holders())
        if client:
            held.clients += by
        else:
            held.neighbours += by
        if not (held.clients or held.neighbours):
            del self._holders[f]


def _more(origin: str, asked: Asked, table: Table) -> int:
    """How many more registrations stand behind a link after a change than before."""
    before = table.of(origin)
    found = sum(asked.counts.get(own, ONCE).all for own in asked.add)
    found -= sum(table.counts((origin, own)).all for own in asked.remove)
    for own, counts in asked.counts.items():
        if own in before:
            found += counts.all - table.counts((origin, own)).all
    return found
