"""A broker that lives for long does not grow: whatever came and went, what is left is what counts.

Two brokers and their clients, in which everything is replaced again and again by filters with
attributes, constants and texts of their own.
"""

from collections.abc import Iterator

import pytest

from tests.overlay.histories import CHOICES
from tests.overlay.world import World
from tests.reach import assert_flat, reached
from tidegate.algebra import groups, union
from tidegate.algebra.histogram import Histogram
from tidegate.engine.boxes import box_store, integer_boxes, space
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.messages import Advertise, Change, Deliver, Entry, Publish

EACH = 9
ROUNDS = 50


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept beside what is needed is little, so that few filters show what grows."""
    monkeypatch.setattr(integer_boxes, "_TAIL", 8)
    monkeypatch.setattr(space, "_CHURN", 16)
    monkeypatch.setattr(box_store, "_IDLE", 16)
    monkeypatch.setattr(union, "_STALE", 16)
    monkeypatch.setattr(groups, "_MOST_TRIED", 64)


class ShortWorld(World):
    """A world that keeps no record of what has happened in it."""

    def replace(self, kind: Attributes, number: int) -> None:
        """Another set of subscriptions and advertisements, updates, refusals and events."""
        for client in ("b0.0", "b1.0"):
            entries = tuple(Entry(number * EACH + i, f) for i, f in another(kind, number))
            gone = tuple(range((number - 1) * EACH, number * EACH)) if number else ()
            changed = Entry(number * EACH, kind.parse(f"v{100 + number} = 2 OR t = 'no {number}'"))
            if self.advertisements:
                self._tell(client, Advertise(self._seq(client), add=entries[:3], remove=gone[:3]))
                self._tell(client, Advertise(self._seq(client), update=(changed,)))
            self._tell(client, Change(self._seq(client), add=entries, remove=gone))
            self._tell(client, Change(self._seq(client), update=(changed,)))
            self._tell(client, Change(self._seq(client), remove=(10**9 + number,)))  # refused
            self.settle()
            self.numbers[client] += 1
            event = {f"v{100 + number}": number % 7, "x": 10_000 + number}
            self._tell(client, Publish(self.numbers[client], event))
            self.settle()
        for name in self.brokers:
            self.tick(name)
        self.settle()
        self.effects.clear()
        self.refusals.clear()

    def _delivered(self, broker: str, effect: Deliver) -> None:
        """The contract is checked elsewhere."""


def another(kind: Attributes, number: int) -> Iterator[tuple[int, AttributeFilter]]:
    """Filters that no other round has; some cover others, some can be merged."""
    for i in range(EACH):
        own = 10_000 + number * EACH + i
        text = (
            f"v{100 + number} = 1 OR t = 'text {number}'",
            f"x BETWEEN {own} AND {own + 4} AND s = 'text {number}'",
            f"v{100 + number} > {own} AND t LIKE '{own}%x'",
        )[i % 3 if i else 0]
        yield i, kind.parse(text)


@pytest.mark.slow
@pytest.mark.parametrize("policy", CHOICES)
@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
def test_brokers_in_which_everything_is_replaced_do_not_grow(
    policy: str, advertisements: bool
) -> None:
    events = [{"x": 10_000 + i, "s": f"text {i}"} for i in range(50)]
    distribution = Histogram.from_events(events, None)
    kind = Attributes(None, distribution)
    world = ShortWorld(kind, CHOICES[policy], [0], advertisements=advertisements)

    def measure() -> int:
        return reached(*world.brokers.values(), kind, without=(distribution,))

    assert_flat(ROUNDS, lambda number: world.replace(kind, number), measure)
    for broker in world.brokers.values():
        assert len(broker.routing.wanted) <= 2 * EACH
        for link in broker.routing.links.values():
            assert not link.stream.unacknowledged
