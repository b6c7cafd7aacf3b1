"""What the counts of `xroute` have to be, worked out from what stands, once nothing is under way.

Two things hold whatever the containment test says, and whatever is advertised: an entry counts what
the forest of its sender has, which is the sum of all that came in there; and nothing is counted
twice or left out on the way. Where nothing is held back by advertisements, the registrations behind
a link are those of its entries. Where the containment test is an order, as sets have it, entries
are the largest filters behind the link, and count exactly who wants them.
"""

from collections import Counter
from collections.abc import Collection
from itertools import product
from typing import TYPE_CHECKING

from tidegate.overlay.counts import Counts
from tidegate.overlay.filter import Filter
from tidegate.overlay.policy.covering import Covering

if TYPE_CHECKING:
    from tests.overlay.world import World


def check_counts(world: "World") -> None:
    links = [(one, other) for one, others in world.neighbours.items() for other in others]
    for sender, receiver in links:
        check_sender(world, sender, receiver)
        behind = world._survivors(world._side(sender, receiver))
        told = entries(world, sender, receiver)
        assert sum(counts.all for counts in told.values()) <= len(behind)
        if not world.advertisements:
            assert sum(counts.all for counts in told.values()) == len(behind)
            if is_order(set(behind)):
                check_exact(told, behind)


def entries(world: "World", sender: str, receiver: str) -> dict[Filter, Counts]:
    """What the receiver knows of the sender's side."""
    table = world.brokers[receiver].routing.wanted
    found = {f: table.counts((sender, own)) for own, f in table.of(sender).items()}
    assert len(found) == len(table.of(sender)), "a filter has two entries"
    return found


def check_sender(world: "World", sender: str, receiver: str) -> None:
    """The receiver counts what the sender's forest has, and that what came in at the sender."""
    routing = world.brokers[sender].routing
    policy = routing.links[receiver].wanted
    table = world.brokers[receiver].routing.wanted
    known = {own: table.counts((sender, own)) for own in table.of(sender)}
    assert known == policy.counts
    stage = policy.stages[-1]
    assert isinstance(stage, Covering)
    found: dict[int, Counts] = {}
    numbers = policy._sources._numbers
    for source, number in numbers.items():
        assert source[0] != receiver, "a link counts what came from it"
        top, counts = number, routing.wanted.counts(source)
        assert not routing.links[source[0]].client or counts == Counts()
        while (parent := stage._forest.parent(top)) is not None:
            top = parent
        alone = counts if top == number else Counts(0, counts.all)
        found[top] = found.get(top, Counts(0, 0)) + alone
    assert found == known
    assert all(counts.own >= 1 and counts.behind >= 0 for counts in known.values())


def is_order(filters: Collection[Filter]) -> bool:
    """Whether `covers` misses nothing that follows, and only equals cover both ways."""
    pairs = {(f, g) for f, g in product(filters, repeat=2) if f.covers(g)}
    above: dict[Filter, list[Filter]] = {}
    for f, g in pairs:
        above.setdefault(f, []).append(g)
    return all(
        (f == g or (g, f) not in pairs) and all((f, h) in pairs for h in above[g]) for f, g in pairs
    )


def check_exact(told: dict[Filter, Counts], behind: list[Filter]) -> None:
    wanting = Counter(behind)
    largest = {f for f in wanting if not any(g != f and g.covers(f) for g in wanting)}
    assert set(told) == largest
    assert {f: counts.own for f, counts in told.items()} == {f: wanting[f] for f in largest}
