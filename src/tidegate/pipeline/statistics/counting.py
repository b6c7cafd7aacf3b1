"""What is counted of events, and how are counts put together?

A task counts its events in one pass (`Counting`): the values of every attribute (`value_counts`),
the events that meet each of some predicates (`predicate_counts`), and a sample (`event_sample`).
What it found are `Counts`, which can be merged, in any order: those of tasks with each other, those
of a run with what was counted before.

Malformed events, which no subscription matches, are counted as such and for nothing else.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.engine.events.arrow_keys import Stretch
from tidegate.engine.events.batch import Batch
from tidegate.filters.expression import attribute_path
from tidegate.filters.lines import OTHER_LINE, STRING
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet
from tidegate.pipeline.events.malformed import ERROR, violations
from tidegate.pipeline.statistics.event_sample import Sample
from tidegate.pipeline.statistics.predicate_counts import PredicateCounts
from tidegate.pipeline.statistics.value_counts import LISTED, AttributeCounts

PREDICATES: Final = 20_000
"""Predicates whose counts are kept: those of the last run first."""

_MAGIC: Final = b"tidegate-counts 1"


@dataclass(slots=True)
class Counts:
    """What was found in some events."""

    sample: Sample
    events: int = 0
    malformed: int = 0  # which are not among the events
    attributes: dict[str, AttributeCounts] = field(default_factory=dict)
    # of each predicate, by its text: the events that met it, and those that it was tried on
    predicates: dict[str, tuple[int, int]] = field(default_factory=dict)

    def merge(self, other: "Counts") -> None:
        """Count what another one has counted, be it of other attributes and predicates."""
        for name in {**self.attributes, **other.attributes}:
            # an attribute that events do not have is absent in them
            own = self.attributes.setdefault(name, AttributeCounts(absent=self.events))
            own.merge(other.attributes.get(name, AttributeCounts(absent=other.events)))
        self.events += other.events
        self.malformed += other.malformed
        self.sample.merge(other.sample)
        for text, (met, tried) in other.predicates.items():
            before = self.predicates.get(text, (0, 0))
            self.predicates[text] = (before[0] + met, before[1] + tried)
        for text in list(self.predicates)[PREDICATES:]:
            del self.predicates[text]

    def to_bytes(self, said: Mapping[str, Any] | None = None) -> bytes:
        """All of it, and what else there is to say, with a checksum."""
        spelled = {
            "said": said or {},
            "events": self.events,
            "malformed": self.malformed,
            "attributes": {name: own.spelled() for name, own in self.attributes.items()},
            "predicates": {text: list(pair) for text, pair in self.predicates.items()},
        }
        text = json.dumps(spelled).encode()
        body = text + self.sample.to_bytes()
        head = b"%s %08x %d\n" % (_MAGIC, zlib.crc32(body), len(text))
        return head + body

    @classmethod
    def from_bytes(cls, content: bytes) -> "tuple[Counts, dict[str, Any]]":
        """What was written so; ValueError if it is damaged."""
        head, _, body = content.partition(b"\n")
        if not head.startswith(_MAGIC + b" "):
            raise ValueError("it does not begin as it should")
        checksum, length = head[len(_MAGIC) + 1 :].split(b" ")
        if zlib.crc32(body) != int(checksum, 16):
            raise ValueError("its checksum is wrong")
        spelled = json.loads(body[: int(length)])
        counts = cls(
            Sample.from_bytes(body[int(length) :]),
            spelled["events"],
            spelled["malformed"],
            {name: AttributeCounts.read(own) for name, own in spelled["attributes"].items()},
            {text: (met, tried) for text, (met, tried) in spelled["predicates"].items()},
        )
        return counts, spelled["said"]


def counted_attributes(schema: Schema) -> list[str]:
    """The attributes that filters can ask for, structs included."""
    return [name for name in schema if schema[name].type.refusal is None]


class Counting:
    """Counts events of a schema, batch by batch."""

    def __init__(
        self,
        schema: Schema,
        predicates: Sequence[tuple[str, str, ValueSet]],  # the text, the attribute, what it allows
        random: np.random.Generator,
        sample: int,
        listed: int = LISTED,
    ) -> None:
        self._schema = schema
        self._random = random
        self._listed = listed
        self._predicates = predicates
        # columns of which a filter can say more than whether there is a value
        self._drawn = {attribute_path(name)[0] for name in schema if schema[name].type.line}
        names = counted_attributes(schema)
        sets: dict[str, dict[str, ValueSet]] = {name: {} for name in names}
        for text, name, own in predicates:
            sets[name][text] = own
        self._texts = {name: list(own) for name, own in sets.items()}
        self._met = {name: PredicateCounts(list(own.values())) for name, own in sets.items()}
        self._found = Counts(Sample(sample), attributes={name: AttributeCounts() for name in names})

    def add(self, events: pa.RecordBatch) -> None:
        """Count events, but for those with something in the column of errors."""
        right = events.column(ERROR).is_null()
        if self._schema.checked:
            right = pc.and_(right, violations(events, self._schema).is_null())
        good = events.filter(right)
        self._found.malformed += len(events) - len(good)
        if not len(good):
            return
        self._found.events += len(good)
        drawn = [name for name in good.schema.names if name in self._drawn]
        if drawn:  # a batch without columns has no rows
            self._found.sample.add(good.select(drawn), self._random)
        batch = Batch(good, self._schema)
        for name, own in self._found.attributes.items():
            column = batch.column(name)
            own.absent += len(column.absent)
            met = self._met[name]
            met.add_absent(len(column.absent))
            for stretch in column.stretches:
                keys, counts = _counted(stretch)
                met.add(stretch.line.name, keys, counts)
                if stretch.line.name == OTHER_LINE.name:
                    own.other += len(stretch.rows)
                else:
                    own.on(stretch.line, self._listed).add(keys, counts)

    def finish(self) -> Counts:
        """What was found."""
        found = self._found
        met = {
            text: count
            for name, own in self._met.items()
            for text, count in zip(self._texts[name], own.found(), strict=True)
        }
        found.predicates = {text: (met[text], found.events) for text, _, _ in self._predicates}
        return found


def _counted(stretch: Stretch) -> tuple[NDArray[Any] | list[str], NDArray[np.int64]]:
    """The different keys of a stretch, in order, and how often each occurs."""
    if stretch.line.name == STRING.name:  # a line that came with a task is another object
        often = np.bincount(stretch.keys, minlength=len(stretch.texts))
        there = sorted(np.flatnonzero(often).tolist(), key=stretch.texts.__getitem__)
        return [stretch.texts[place] for place in there], often[there].astype(np.int64)
    keys, counts = np.unique(stretch.keys, return_counts=True)
    return keys, counts.astype(np.int64)
