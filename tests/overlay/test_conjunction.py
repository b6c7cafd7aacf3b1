"""A conjunction matches what both filters match, and nothing else; its shape is theirs."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import generate
from tidegate.errors import FilterError
from tidegate.filters.expression import MAX_DEPTH
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.conjunction import both

KIND = Attributes()


@given(st.integers(0, 2**32))
def test_it_matches_what_both_match(seed: int) -> None:
    rng = Random(seed)
    filters = [KIND.parse(str(each)) for each in generate.filters(rng, 6, typed=False)]
    filters += [KIND.parse("TRUE"), KIND.parse("FALSE")]
    events = generate.events(rng, 12)
    index = KIND.index()
    for i, f in enumerate(filters):
        for j, g in enumerate(filters):
            joined = both(f, g)
            assert KIND.read(KIND.plain(joined)) == joined
            index.add(len(filters) * i + j, joined)
            for event in events:
                assert joined.matches(event) == (f.matches(event) and g.matches(event))
    for event in events:
        right = [i for i, f in enumerate(filters) if f.matches(event)]
        owed = {len(filters) * i + j for i in right for j in right}
        assert set(index.match(event)) == owed


@given(st.integers(-5, 5), st.integers(-5, 5))
def test_one_shape_stays_one(first: int, other: int) -> None:
    right = KIND.parse("price < 3 AND (side = 'buy' OR price >= 0)")
    for text in ("price < :x", "price < :x OR side = 'buy'", "price < :x AND price < 3"):
        one, two = (both(KIND.parse(text, x=x), right) for x in (first, other))
        assert one.shape == two.shape
        assert KIND.reshaped(one, two.values) == two


def test_what_no_text_could_say_is_refused() -> None:
    deep = "price < 3"
    for i in range(MAX_DEPTH):
        deep = f"({deep}) OR side = 'x' AND price > {i}" if i % 2 else f"({deep}) AND price > {i}"
    assert both(KIND.parse(deep), KIND.parse("TRUE")).matches({"price": 2, "side": "x"}) is False
    tree = KIND.plain(KIND.parse("a = 1"))
    for i in range(MAX_DEPTH + 1):
        tree = ["OR", ["AND", tree, KIND.plain(KIND.parse(f"b = {i}"))], tree]
        if i > 3:
            tree = ["OR", tree[1], KIND.plain(KIND.parse(f"c = {i}"))]
    with pytest.raises(FilterError, match="nested too deep"):
        both(KIND.read(tree), KIND.parse("d = 1"))
