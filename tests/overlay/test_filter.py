"""Every kind of filters is what a broker needs, and is handled here as a broker handles it: through
the Protocols alone, so mypy refuses a kind that lacks something.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import pytest

from tests.overlay.words import WordKind, Words
from tidegate.errors import TidegateError
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.filter import Event, Filter, FilterIndex, Kind
from tidegate.overlay.scan import ScanIndex


class Sample(NamedTuple):
    """A kind, and what a test needs of it."""

    kind: Kind
    wide: Filter  # covers the narrow one
    narrow: Filter
    apart: Filter  # overlaps neither, of the shape of the narrow one
    rest: Filter  # covers the wide one together with the narrow one
    event: Event  # matches wide and narrow


ATTRIBUTES: Final = Attributes()


def words(text: str) -> Words:
    return Words(frozenset(text))


SAMPLES: Final = (
    Sample(WordKind(), words("abc"), words("a"), words("h"), words("bc"), {"word": "a"}),
    Sample(
        ATTRIBUTES,
        ATTRIBUTES.parse("price < 9"),
        ATTRIBUTES.parse("price BETWEEN 3 AND 5"),
        ATTRIBUTES.parse("price BETWEEN 20 AND 30"),
        ATTRIBUTES.parse("price < 3 OR price > 5 AND price < 9"),
        {"price": 4},
    ),
)
EVERY_KIND: Final = pytest.mark.parametrize("own", SAMPLES, ids=lambda own: own.kind.name)


@EVERY_KIND
def test_filters_of_a_kind_relate(own: Sample) -> None:
    assert own.wide.covers(own.narrow)
    assert not own.narrow.covers(own.wide)
    assert own.wide.overlaps(own.narrow)
    assert not own.wide.overlaps(own.apart)
    assert own.wide.matches(own.event)
    assert not own.apart.matches(own.event)


@EVERY_KIND
def test_a_filter_that_was_written_and_read_is_the_same(own: Sample) -> None:
    for f in (own.wide, own.narrow, own.apart, own.rest):
        again = own.kind.read(own.kind.plain(f))
        assert (again, hash(again), again.size, again.shape) == (f, hash(f), f.size, f.shape)
    assert own.kind.reshaped(own.narrow, own.apart.values) == own.apart
    with pytest.raises(TidegateError):
        own.kind.reshaped(own.narrow, None)
    with pytest.raises(TidegateError):
        own.kind.read(None)


@EVERY_KIND
@pytest.mark.parametrize("scan", [False, True], ids=["its own index", "scan"])
def test_an_index_answers_all_four_questions(own: Sample, scan: bool) -> None:
    index: FilterIndex = ScanIndex() if scan else own.kind.index()
    index.add(1, own.wide)
    index.add(2, own.apart)
    index.add(3, own.apart)
    index.update(3, own.narrow)
    assert sorted(index.match(own.event)) == [1, 3]
    assert sorted(index.containing(own.narrow)) == [1, 3]
    assert sorted(index.contained(own.wide)) == [1, 3]
    assert index.overlapping(own.apart) == [2]
    index.remove(1)
    assert index.containing(own.narrow) == [3]


@EVERY_KIND
def test_a_union_subsumes_what_none_covers_alone(own: Sample) -> None:
    union = own.kind.union()
    union.add(1, own.narrow)
    assert not union.subsumes(own.wide)
    union.add(2, own.rest)
    assert union.subsumes(own.wide)
    union.remove(1)
    assert not union.subsumes(own.wide)


@EVERY_KIND
def test_a_merger_covers_its_members_and_costs_what_was_allowed(own: Sample) -> None:
    filters = {1: own.wide, 2: own.narrow, 3: own.apart}
    found = own.kind.mergers(filters, 0.0, None)
    assert [merger.members for merger in found] == [(1, 2)]
    for merger in found:
        members = [filters[number] for number in merger.members]
        assert all(merger.filter.covers(f) for f in members)
        assert merger.imt == own.kind.cost(merger.filter, members, None) == 0.0


@EVERY_KIND
def test_a_kind_takes_its_own_filters_and_events_only(own: Sample) -> None:
    others = [other for other in SAMPLES if other is not own]
    assert own.kind.filter_refusal(own.wide) is None
    assert own.kind.event_refusal(own.event) is None
    for stranger in (None, *(other.wide for other in others)):
        assert own.kind.filter_refusal(stranger) is not None
    assert own.kind.event_refusal(None) is not None


def test_a_filter_of_another_kind_is_no_filter_on_attributes() -> None:
    own, stranger = ATTRIBUTES.parse("price < 9"), words("a")
    index, union = ATTRIBUTES.index(), ATTRIBUTES.union()
    questions: Iterable[Callable[[Filter], object]] = (
        *(own.covers, own.overlaps, union.subsumes, ATTRIBUTES.plain),
        *(index.containing, index.contained, index.overlapping),
    )
    for ask in questions:
        with pytest.raises(TypeError, match="<a> is not a filter on attributes"):
            ask(stranger)
