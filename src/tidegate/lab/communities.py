"""Who is next to whom among tens of thousands of peers, by similarity, and where do events go?

The graph of `peers.neighbourhood.by_proximity`, for experiments of the size of Chand (2005), in
section 9.1.3: how near filters are is counted for those that differ, in a product of two matrices
(which documents each matches), and events go through the graph in arrays, a step at a time. Tests
hold both against the slow and obvious.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from tidegate.overlay.filter import Event
from tidegate.peers.relations import Relations

Floats = NDArray[np.float32]
_BLOCK = 512  # filters whose proximities are worked out together


class Nearness:
    """How near filters are, counted over documents: f_s of all that differ."""

    def __init__(self, relations: Relations, documents: Sequence[Event]) -> None:
        self._relations = relations
        matches = np.zeros((len(relations), len(documents)), dtype=np.float32)
        for number, document in enumerate(documents):
            matches[relations.matching(document), number] = 1
        self._matches = matches
        self._totals = matches.sum(axis=1)

    def rows(self, first: int, last: int) -> Floats:
        """How near each of some filters is to all."""
        both = self._matches[first:last] @ self._matches.T
        own, other = self._totals[first:last, None], self._totals[None, :]
        forth = np.divide(both, own, out=np.zeros_like(both), where=own > 0)
        back = np.divide(both, other, out=np.zeros_like(both), where=other > 0)
        # of a filter that no document matches, only what covers it is known
        for row in range(first, last):
            if not self._totals[row]:
                certain = [row, *self._relations.containing[row]]
                forth[row - first, certain] = 1
            silent = [each for each in self._relations.contained[row] if not self._totals[each]]
            back[row - first, silent] = 1
            if not self._totals[row]:
                back[row - first, row] = 1
        return np.asarray((forth + back) / 2, dtype=np.float32)


@dataclass(frozen=True)
class Communities:
    """A graph of peers: the number of each one's filter, and links, both ways, with their sort."""

    relations: Relations
    filters: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    random: NDArray[np.bool_]

    @property
    def degrees(self) -> NDArray[np.int64]:
        """How many neighbours each peer has."""
        return np.bincount(self.starts, minlength=len(self.filters))

    def route(self, publisher: int, event: Event, rho: float, draw: np.random.Generator) -> "Way":
        """Who gets an event that a peer publishes."""
        matches = np.zeros(len(self.relations), dtype=bool)
        matches[self.relations.matching(event)] = True
        wants = matches[self.filters]
        taken = ~self.random | (draw.random(len(self.random)) < rho)
        reached = np.zeros(len(self.filters), dtype=bool)
        passing = np.zeros(len(self.filters), dtype=bool)
        passing[publisher] = reached[publisher] = True
        messages = 0
        while passing.any():
            used = taken & passing[self.starts]
            messages += int(used.sum())
            heard = np.zeros(len(self.filters), dtype=bool)
            heard[self.ends[used]] = True
            new = heard & ~reached
            reached |= new
            passing = new & wants
        return Way(
            int(wants.sum()), int((reached & ~wants).sum()), int((wants & ~reached).sum()), messages
        )


@dataclass(frozen=True, slots=True)
class Way:
    """What became of an event: how many want it, got it in vain, missed it; messages."""

    wanted: int
    in_vain: int
    missed: int
    messages: int


def communities(
    relations: Relations, filters: Sequence[int], nearness: Nearness, near: int, draw: Random
) -> Communities:
    """Each peer linked to so many that are nearest, of equally near ones those with fewest links
    so far, and to one other that is drawn.
    """
    numbers = np.array(filters, dtype=np.int64)
    members = [
        np.flatnonzero(numbers == number).astype(np.int32) for number in range(len(relations))
    ]
    ranking = _Ranking(nearness, members, near)
    links: dict[tuple[int, int], bool] = {}
    degrees = np.zeros(len(filters), dtype=np.int64)
    drawn: list[tuple[int, int]] = []
    for peer, number in enumerate(filters):
        chosen: list[int] = []
        for level in ranking.levels(number):
            chosen += _fewest(level[level != peer], degrees, near - len(chosen))
            if len(chosen) >= near:
                break
        for other in chosen:
            link = min(peer, other), max(peer, other)
            if link not in links:
                links[link] = False
                degrees[peer] += 1
                degrees[other] += 1
        drawn.append((peer, _another(peer, chosen, len(filters), draw)))
    for peer, other in drawn:
        if other >= 0:
            links.setdefault((min(peer, other), max(peer, other)), True)
    ends = np.array(list(links), dtype=np.int64).reshape(-1, 2)
    random = np.fromiter(links.values(), dtype=bool, count=len(links))
    return Communities(
        relations,
        numbers,
        np.concatenate([ends[:, 0], ends[:, 1]]),
        np.concatenate([ends[:, 1], ends[:, 0]]),
        np.concatenate([random, random]),
    )


def _fewest(peers: NDArray[np.int32], degrees: NDArray[np.int64], wanted: int) -> list[int]:
    """So many of these peers with fewest links, of equals those that come first."""
    keys = degrees[peers] * len(degrees) + peers
    if wanted < len(keys):
        keys = np.partition(keys, wanted - 1)[:wanted]
    keys.sort()
    found: list[int] = (keys % len(degrees)).tolist()
    return found


def _another(peer: int, chosen: Sequence[int], peers: int, draw: Random) -> int:
    """Somebody else at random; -1 if there is nobody."""
    if peers - 1 <= len(chosen):
        return -1
    while True:
        other = draw.randrange(peers)
        if other != peer and other not in chosen:
            return other


class _Ranking:
    """Of each filter, the peers by how near theirs are, as far as some may be chosen there."""

    def __init__(self, nearness: Nearness, members: Sequence[NDArray[np.int32]], near: int) -> None:
        self._nearness, self._members, self._near = nearness, members, near
        self._sizes = np.array([len(each) for each in members])
        self._levels: dict[int, list[NDArray[np.int32]]] = {}

    def levels(self, number: int) -> list[NDArray[np.int32]]:
        """The peers whose filters are nearest, those that are equally near together."""
        if number not in self._levels:
            first = number - number % _BLOCK
            last = min(first + _BLOCK, len(self._members))
            rows = self._nearness.rows(first, last)
            for each in range(first, last):
                self._levels[each] = self._ranked(rows[each - first])
        return self._levels[number]

    def _ranked(self, row: Floats) -> list[NDArray[np.int32]]:
        order = np.argsort(-row, kind="stable")
        ends = np.flatnonzero(np.diff(row[order], append=-1.0)) + 1
        # one of them may be the peer itself
        enough = np.searchsorted(self._sizes[order].cumsum()[ends - 1], self._near + 1) + 1
        starts = np.concatenate([[0], ends])
        return [
            np.concatenate([self._members[each] for each in order[start:end]])
            for start, end in zip(starts[:enough], ends[:enough], strict=False)
        ]
