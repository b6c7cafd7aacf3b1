"""Who should be next to whom?

In an overlay by similarity (Chand, 2005, section 7.4.2) each peer has as neighbours the n peers
whose filters are nearest to its own, r others at random, and those who chose it. Near ones make
that an event spreads among those who want it; random ones join communities that have nothing in
common.

This is the answer of somebody who knows all peers. A link is *random* if neither end chose the
other for being near.
"""

from collections.abc import Mapping
from random import Random
from typing import TypeAlias

from tidegate.errors import TidegateError
from tidegate.overlay.filter import Filter
from tidegate.peers.proximity import Proximity

Links: TypeAlias = dict[tuple[str, str], bool]
"""The links between peers, each once, names in order; whether they are random."""


def by_proximity(
    peers: Mapping[str, Filter], proximity: Proximity, near: int, random: int, draw: Random
) -> Links:
    """Link each peer to so many that are near, and so many others that are drawn.

    Of peers that are equally near, those are chosen that fewest have chosen so far.

    >>> from tidegate.overlay.attributes import Attributes
    >>> from tidegate.peers.history import History
    >>> kind = Attributes()
    >>> history = History(kind)
    >>> for price in range(10):
    ...     history.add({"price": price})
    >>> limits = {"ann": 2, "bob": 3, "cid": 8, "dan": 9}
    >>> peers = {name: kind.parse(f"price < {limit}") for name, limit in limits.items()}
    >>> by_proximity(peers, Proximity(history), 1, 0, Random(1))
    {('ann', 'bob'): False, ('cid', 'dan'): False}
    """
    if near < 0 or random < 0:
        raise TidegateError(f"a peer has 0 or more neighbours, not {min(near, random)}")
    links: Links = {}
    degrees = dict.fromkeys(peers, 0)
    others_drawn: list[tuple[str, str]] = []
    for name, f in peers.items():
        others = {other: g for other, g in peers.items() if other != name}
        chosen = [each.name for each in proximity.nearest(f, others, near, degrees)]
        for other in chosen:
            link = _link(name, other)
            if link not in links:
                links[link] = False
                degrees[name] += 1
                degrees[other] += 1
        rest = sorted(others.keys() - set(chosen))
        drawn = draw.sample(rest, min(random, len(rest)))
        others_drawn += [_link(name, other) for other in drawn]
    for link in others_drawn:
        links.setdefault(link, True)
    return links


def _link(name: str, other: str) -> tuple[str, str]:
    return (name, other) if name < other else (other, name)
