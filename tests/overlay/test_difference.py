"""Steps are put together as if each had been followed, and at the cost of what is in them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.overlay.attributes import Attributes
from tidegate.overlay.client import Client
from tidegate.overlay.counts import Counts
from tidegate.overlay.difference import Difference
from tidegate.overlay.messages import Change

Held = dict[int, Any]


def followed(held: Held, step: Difference) -> Held:
    """What is held after a step."""
    left = {number: f for number, f in held.items() if number not in step.remove}
    return {**left, **step.add, **step.update}


@given(st.data())
def test_steps_together_do_what_they_do_one_by_one(data: st.DataObject) -> None:
    start: Held = dict.fromkeys(data.draw(st.sets(st.integers(0, 5))), "before")
    held, together, folded = start, Difference(), Difference()
    for step in range(data.draw(st.integers(0, 6))):
        known = st.sampled_from(sorted(held))
        remove = data.draw(st.lists(known, unique=True)) if held else []
        update = data.draw(st.sets(known)) - set(remove) if held else set()
        add = data.draw(st.sets(st.integers(0, 5))) - held.keys()
        counts = dict.fromkeys(update | add, Counts(step + 1, 0))
        name: Any = f"{step}"
        new = Difference(dict.fromkeys(add, name), dict.fromkeys(update, name), remove, counts)
        held = followed(held, new)
        folded = folded.then(new)
        together.extend(new)
    assert followed(start, together) == held
    assert together == folded
    assert not together.add.keys() & start.keys()
    assert together.update.keys() <= start.keys()
    assert set(together.remove) == start.keys() - held.keys()
    assert together.counts.keys() <= held.keys()


def test_many_subscriptions_together_are_put_together_once(monkeypatch: pytest.MonkeyPatch) -> None:
    handled = 0
    plain = Difference.extend

    def extend(self: Difference, later: Difference) -> None:
        nonlocal handled
        handled += len(later.add)
        plain(self, later)

    def then(self: Difference, later: Difference) -> Difference:
        raise AssertionError("all that is there already is copied for each of them")

    monkeypatch.setattr(Difference, "extend", extend)
    monkeypatch.setattr(Difference, "then", then)

    class Wire:
        def send(self, message: object) -> None:
            sent.append(message)

    sent: list[Any] = []
    client = Client("ann", Wire(), Attributes())
    with client.together():
        owns = [client.subscribe("price < :x", x=i) for i in range(100)]
    (told,) = sent
    assert isinstance(told, Change)
    assert [entry.id for entry in told.add] == sorted(client._conversation.wanted)
    assert (len(owns), handled) == (100, 100)
