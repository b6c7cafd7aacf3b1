"""A structure of a paper beside the box store, through random histories.

Both keep the same filters under the same numbers and are asked the same questions. Matching has to
be the same. Where the paper's rule is incomplete, covers may be missed and overlaps may be claimed;
how many of them is counted, so that it can be shown.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Protocol

import tidegate as tg
from tests import families
from tests.engine.boxes.box_oracle import SCHEMAS, some_event, some_filter
from tidegate.engine.boxes.box_store import BoxStore

__all__ = ["QUESTIONS", "SCHEMAS", "Boxes", "Structure", "agree", "some_event", "some_filter"]

QUESTIONS = ("containing", "contained", "overlapping")


class Structure(Protocol):
    """What every structure of `tidegate.papers` that keeps filters can do."""

    def __len__(self) -> int: ...
    def add(self, number: int, f: tg.Filter, /) -> None: ...
    def update(self, number: int, f: tg.Filter, /) -> None: ...
    def remove(self, number: int, /) -> None: ...
    def match(self, event: Mapping[str, Any], /) -> list[int]: ...
    def containing(self, f: tg.Filter, /) -> list[int]: ...
    def contained(self, f: tg.Filter, /) -> list[int]: ...
    def overlapping(self, f: tg.Filter, /) -> list[int]: ...


class Boxes:
    """A box store under the caller's numbers."""

    def __init__(self, schema: tg.Schema | None) -> None:
        self._store = BoxStore(schema)
        self.filters: dict[int, tg.Filter] = {}
        self._handles: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.filters)

    def add(self, number: int, f: tg.Filter) -> None:
        self._handles[number] = self._store.add(f)
        self.filters[number] = f

    def update(self, number: int, f: tg.Filter) -> None:
        self.remove(number)
        self.add(number, f)

    def remove(self, number: int) -> None:
        self._store.remove(self._handles.pop(number))
        del self.filters[number]

    def match(self, event: Mapping[str, Any]) -> list[int]:
        return self._named(self._store.stab(event).tolist())

    def containing(self, f: tg.Filter) -> list[int]:
        return self._named(self._store.containing(f).tolist())

    def contained(self, f: tg.Filter) -> list[int]:
        return self._named(self._store.contained(f).tolist())

    def overlapping(self, f: tg.Filter) -> list[int]:
        return self._named(self._store.overlapping(f).tolist())

    def _named(self, handles: list[int]) -> list[int]:
        numbers = {handle: number for number, handle in self._handles.items()}
        return sorted(numbers[handle] for handle in handles)


def agree(
    structure: Structure,
    schema: tg.Schema | None,
    seed: int,
    steps: int,
    *,
    exact: bool = False,
    mixed: bool = False,
    draw: Callable[[Random], tg.Filter] | None = None,
    event: Callable[[Random], Mapping[str, Any]] | None = None,
    after: Callable[[], None] | None = None,
) -> Counter[str]:
    """Run a history; of each question, how many filters were owed, and missed or claimed.

    With `exact`, nothing may be missed. With `mixed`, values of all families meet on the same
    attributes, and there is no schema. `after` is called after every step.
    """
    rng = Random(seed)
    boxes = Boxes(schema)
    counts: Counter[str] = Counter()
    if draw is None:
        draw = families.mixed_filter if mixed else lambda rng: some_filter(rng, schema)
    if event is None:
        event = families.mixed_event if mixed else some_event
    for number in range(steps):
        _change(rng, draw, structure, boxes, number)
        if after is not None:
            after()
        assert len(structure) == len(boxes)
        happened = event(rng)
        assert sorted(structure.match(happened)) == boxes.match(happened), happened
        asked = rng.choice([draw(rng), *boxes.filters.values()])
        for question in QUESTIONS:
            _compare(question, structure, boxes, asked, counts, exact=exact)
    for number in list(boxes.filters):
        structure.remove(number)
    assert len(structure) == 0
    assert structure.match(event(rng)) == []
    return counts


def _change(
    rng: Random,
    draw: Callable[[Random], tg.Filter],
    structure: Structure,
    boxes: Boxes,
    number: int,
) -> None:
    kind = rng.random() if boxes.filters else 1.0
    if kind < 0.2:
        gone = rng.choice(list(boxes.filters))
        boxes.remove(gone)
        structure.remove(gone)
    elif kind < 0.35:
        changed, f = rng.choice(list(boxes.filters)), draw(rng)
        boxes.update(changed, f)
        structure.update(changed, f)
    else:
        f = rng.choice(list(boxes.filters.values())) if 0.35 <= kind < 0.4 else draw(rng)
        boxes.add(number, f)
        structure.add(number, f)


def _compare(
    question: str,
    structure: Structure,
    boxes: Boxes,
    asked: tg.Filter,
    counts: Counter[str],
    *,
    exact: bool,
) -> None:
    answer = getattr(structure, question)(asked)
    assert len(set(answer)) == len(answer)
    found, owed = set(answer), set(getattr(boxes, question)(asked))
    counts[question] += len(owed)
    if question == "overlapping":
        assert owed <= found, (question, str(asked))
        counts["overlapping, claimed"] += len(found - owed)
    else:
        assert found <= owed, (question, str(asked))
        counts[f"{question}, missed"] += len(owed - found)
    assert not exact or found == owed, (question, str(asked))
