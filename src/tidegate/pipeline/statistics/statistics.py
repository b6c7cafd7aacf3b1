"""What do events look like, and how many of them does a predicate let through?

`gather` counts past events in one Spark job: for each attribute the NULLs, the values, those of
types that no filter compares; how many events meet each of the predicates that the store's
subscriptions use most; and a uniform sample, which keeps what the attributes have to do with each
other. What it finds is added to what was found before, and kept beside the subscriptions with the
version that it was counted for (`objects`).

`Statistics` are a distribution (`algebra.distribution`), by which filters are measured, merged and
pruned. Heavy values have the weight that was counted; the others are spread over ranges that have
about equally many of the sample, so that a range of an attribute's values is off by 2 in a hundred
of the events at most (Dvoretzky, Kiefer and Wolfowitz, with 20,000 in the sample, in all but one of
a million cases), and by what is not evenly spread inside of two ranges.

Contract: statistics, once there, never change, and each has a number. Whoever adds to number n
creates number n + 1, which succeeds only once; all others add to that instead. So nothing that was
gathered is lost, however many do so at a time. Only what Spark Connect has, too, is used.
"""

import os
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tidegate.algebra.histogram import Histogram
from tidegate.errors import MeasureError, StoreError, TidegateError
from tidegate.filters.expression import Predicate
from tidegate.filters.meaning import allowed
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet
from tidegate.pipeline.events.letter_case import warn_of_case
from tidegate.pipeline.statistics.counting import Counts
from tidegate.pipeline.statistics.gather_job import counted
from tidegate.pipeline.statistics.spread import entries
from tidegate.pipeline.statistics.value_counts import AttributeCounts
from tidegate.pipeline.store.delta_log import ATTEMPTS, pause
from tidegate.pipeline.store.objects import Objects, beside
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STATISTICS_KEPT: Final = 3  # statistics of a store
_SUFFIX: Final = ".counts"


@dataclass(frozen=True)
class Statistics:
    """What is known about events: a distribution, and a sample."""

    number: int
    version: int  # of the store, whose predicates were counted last
    moment: float  # when that was, in seconds since 1970
    schema: Schema | None
    counts: Counts = field(repr=False)

    @property
    def events(self) -> int:
        """How many were counted, without malformed ones."""
        return self.counts.events

    @property
    def malformed(self) -> int:
        """How many events were malformed."""
        return self.counts.malformed

    @property
    def attributes(self) -> dict[str, AttributeCounts]:
        """What was counted of each attribute."""
        return self.counts.attributes

    @property
    def sample(self) -> pa.Table:
        """Events drawn at random, each with the same probability: their columns as they came."""
        return self.counts.sample.table

    def probability(self, attribute: str, allowed: ValueSet) -> float | None:
        """How likely the attribute's value is in the set; None if the attribute is not known."""
        return self._histogram.probability(attribute, allowed)

    def selectivity(self, predicate: Predicate) -> float:
        """The share of events that meet a predicate: counted, if it was, or else estimated."""
        met, tried = self.counts.predicates.get(str(predicate), (0, 0))
        if tried:
            return met / tried
        found = self.probability(predicate.attribute, allowed(predicate, self.schema))
        if found is None:
            raise MeasureError(f"nothing says how many events meet {predicate}")
        return found

    def under(self, schema: Schema) -> "Statistics":
        """The same for filters that are read under another schema.

        Values that do not have an attribute's type there count as values of another family.
        """
        return replace(self, schema=schema)

    @cached_property
    def _histogram(self) -> Histogram:
        known = {
            name: own
            for name, own in self.attributes.items()
            if own.total and (self.schema is None or name in self.schema)
        }
        return Histogram(entries(known, self.sample, self.schema), self.schema)


def gather(
    events: "DataFrame",
    subscriptions: "Store | str | os.PathLike[str]",
    *,
    predicates: int = 10_000,
    sample: int = 20_000,
    corrupt: str | None = "_corrupt_record",
    anew: bool = False,
    seed: int | None = None,
) -> Statistics:
    """Count past events, and add that to the store's statistics, or begin `anew`.

    The events that meet a predicate are counted for so many predicates, those that the
    subscriptions use most; for the others statistics give estimates. Events with something in the
    column `corrupt`, or that violate the store's schema, are malformed, as for `match`.
    """
    if events.isStreaming:
        raise TidegateError(
            "statistics are gathered from events that are there, not from a stream: read them "
            "with spark.read, or gather in foreachBatch"
        )
    if sample < 1 or predicates < 0:
        raise TidegateError("a sample has an event or more, and predicates are not negative")
    store = subscriptions if isinstance(subscriptions, Store) else Store.open(subscriptions)
    store.require_attributes("gathering statistics")
    version = store.version()
    warn_of_case(events, store.schema)
    counts = counted(events, store, version, predicates, sample, corrupt, seed)
    return _add(store, version, counts, anew)


def latest(subscriptions: "Store | str | os.PathLike[str]") -> Statistics | None:
    """The newest statistics of a store; None if there are none."""
    store = subscriptions if isinstance(subscriptions, Store) else Store.open(subscriptions)
    place = _kept(store)
    while numbers := _numbers(place):
        found = _read(place, numbers[-1], store.schema)
        if found is not None:
            return found
    return None


def _add(store: Store, version: int, counts: Counts, anew: bool) -> Statistics:
    """Add counts to the newest ones there are, until nobody was faster."""
    place = _kept(store)
    own = counts.to_bytes()
    for attempt in range(ATTEMPTS):
        numbers = _numbers(place)
        last = numbers[-1] if numbers else 0
        adding = bool(numbers) and not anew
        before = _read(place, last, store.schema) if adding else None
        if adding and before is None:  # removed as others came
            continue
        merged, _ = Counts.from_bytes(own)
        if before is not None:
            merged.merge(before.counts)
            version = max(version, before.version)
        made = Statistics(last + 1, version, time.time(), store.schema, merged)
        said = {"number": made.number, "version": made.version, "moment": made.moment}
        if place.create(_name(made.number), merged.to_bytes(said)):
            for number in numbers[: 1 - _STATISTICS_KEPT]:
                place.delete(_name(number))
            return made
        pause(attempt)
    raise StoreError(
        f"others have added to the statistics {place.where('')} all the time; try again later"
    )


def _kept(store: Store) -> Objects:
    return beside(store.path, "statistics")


def _name(number: int) -> str:
    return f"{number:020d}{_SUFFIX}"


def _numbers(place: Objects) -> list[int]:
    """The numbers of the statistics that are there, in order."""
    stems = [each.name.removesuffix(_SUFFIX) for each in place.list() if
             each.name.endswith(_SUFFIX)]  # fmt: skip
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def _read(place: Objects, number: int, schema: Schema | None) -> Statistics | None:
    """Statistics by their number; None if they have just been removed."""
    content = place.get(_name(number))
    if content is None:
        return None
    try:
        counts, said = Counts.from_bytes(content)
        return Statistics(
            int(said["number"]), int(said["version"]), float(said["moment"]), schema, counts
        )
    except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise StoreError(
            f"the statistics {place.where(_name(number))} are damaged: {error}; remove them"
        ) from None
