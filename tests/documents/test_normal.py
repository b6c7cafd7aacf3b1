"""Expressions that say the same have one normal form, and one that is brought into it stays."""

import pickle
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.documents.generate import NAMESPACES, Writer, document
from tidegate.documents.evaluate import matches
from tidegate.documents.meaning import pattern_of
from tidegate.documents.normal import MAX_ALTERNATIVES, _Simplifier
from tidegate.documents.pattern import EVERYTHING, Pattern, spell
from tidegate.documents.tree import read
from tidegate.documents.xpath import of_shape, parse_xpath
from tidegate.errors import FilterError, FilterTypeError, ParameterError

SAME = [
    ("/*//a", "//*/a"),
    ("/a[*/b]", "/a/*/b"),
    ("/a/*//*/b", "/a//*/*/b"),
    ("/a//*", "/a/*"),
    ("/a//*//*", "/a/*/*"),
    ("/*", "/"),
    ("//*", "/"),
    ("/*/*", "/*[*]"),
    ("/a[b][b/c]", "/a/b/c"),
    ("/a[b/c][b]", "/a[b[c]]"),
    ("/a[.//b][b]", "/a/b"),
    ("/a[b][c]", "/a[c]/b"),
    ("/a[b and c]", "/a[c][b]"),
    ("/a[@k > 1][@k > 2]", "/a[2 < @k]"),
    ("/a[@k >= 1 and @k <= 1]", "/a[@k = 1]"),
    ("/a[@k = '1'][@k > 0]", "/a[@k = '1']"),
    ("/a[@k][@k != 'x']", "/a[@k != 'x']"),
    ("/a[starts-with(@k, 'ab')][contains(@k, 'b')]", "/a[starts-with(@k, 'ab')]"),
    ("/a[starts-with(@k, '')]", "/a"),
    ("/a[b or c]", "/a/b | /a/c"),
    ("/a[b or b/c]", "/a/b"),
    ("/a | /a/b", "/a"),
    ("/a[(b or c) and d]", "/a[d][c] | /a[d]/b"),
    ("/a/b[1]", "/a/b"),
    ("/a/b[last()]", "/a/b"),
    ("/a/b[last()][1]", "/a/b"),
    ("/a/b[position() <= 1]", "/a/b[1]"),
    ("/a[starts-with(b, 'x')]", "/a/b[1][starts-with(., 'x')]"),
    ("/a[contains(b/c, 'x')]", "/a/b[c][1]/c[1][contains(., 'x')]"),
    ("/a/b[position() = 2.0]", "/a/b[2]"),
    ("/a/b[position() < 3][2]", "/a/b[position() < 3][position() = 2]"),
    ("//@k", "//*/@k"),
    ("/a//@k", "/a[.//@k]"),
    ("/a[. != 'x'][. != 'x']", "/a[. != 'x']"),
    ("/a[.]", "/a"),
    ("/a/@k[1]", "/a/@k[last()]"),
    ("/a/b[1.5] | /c", "/c"),
    ("/a[b < 'x'] | /c", "/c"),
    ("/a[b != 'x' or 'y' > b]", "/a[b != 'x']"),
    ("/a[@k < 3]", "/a[@k <= 2.9999999999999996]"),
    ("/a[-0 = b]", "/a[b = 0]"),
]
DIFFERENT = [
    ("/a[b/c][b/d]", "/a/b[c]/d"),
    ("/a[text() = 'x'][text() = 'y']", "/a[text() = 'y']"),
    ("/a[b > 1][b > 2]", "/a[b > 1]"),
    ("/a[@k = 1]", "/a[@k = '1']"),
    ("/a//b", "/a/b"),
    ("/a/*/b", "/a//b"),
    ("/a/b[2]", "/a/b"),
    ("/a[b][c]/b[2]", "/a/b[2]"),
    ("/a[b[@k][2]]", "/a[b[2][@k]]"),
    ("/a/b[1][@k]", "/a/b[@k]"),
    ("/a[. = 'x']", "/a[text() = 'x']"),
    ("//a[b or position() = 2]", "//a"),
    ("//a", "//*/a"),
    ("/a", "/"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_these_say_the_same(one: str, other: str) -> None:
    first, second = parse_xpath(one), parse_xpath(other)
    assert first == second, (first.patterns, second.patterns)
    assert hash(first) == hash(second)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_these_do_not(one: str, other: str) -> None:
    assert parse_xpath(one) != parse_xpath(other)


@pytest.mark.parametrize(
    "text",
    [
        "/a[@k = 1][@k = 2]",
        "/a[@k > 2][@k < 1]",
        "/@k",
        "/text()",
        "/a/text()[b]",
        "/a/b[0]",
        "/a/b[position() > last()]",
        "/a[b < 'x']",
        "/a[@k = '1'][@k = 'x'] | /b[@k < 1 and @k > 1]",
        "/a/@k[2]",
    ],
)
def test_what_nothing_matches_is_an_empty_union(text: str) -> None:
    f = parse_xpath(text)
    assert f.patterns == ()
    assert not f.matches("<a k='1'><b/></a>")
    assert not f.overlaps(parse_xpath("/"))
    assert parse_xpath("/z").covers(f)


def test_what_everything_matches() -> None:
    assert parse_xpath("/").patterns == (EVERYTHING,)
    assert parse_xpath("/ | /a").patterns == (EVERYTHING,)
    assert parse_xpath("/").covers(parse_xpath("//b[2]"))


@given(st.integers(0, 2**32))
def test_a_normal_form_stays_as_it_is(seed: int) -> None:
    random = Random(seed)
    for _ in range(20):
        ordered = random.random() < 0.3
        text = Writer(random).expression()
        f = parse_xpath(text, namespaces=NAMESPACES, ordered=ordered)
        for pattern in f.patterns:
            simplify = _Simplifier(ordered=pattern.ordered)
            assert simplify.node(pattern.root) == pattern.root, spell(pattern.root)
        again = parse_xpath(str(f), namespaces=NAMESPACES, ordered=ordered)
        assert again == f
        assert again.shape == f.shape
        assert of_shape(f.shape, f.values) == f
        assert pickle.loads(pickle.dumps(f)) == f


def test_too_many_alternatives_stay_choices_and_still_mean_the_same() -> None:
    conditions = "".join(f"[@k{n} or b{n}/c]" for n in range(8))
    many = parse_xpath(f"/a{conditions}")
    assert MAX_ALTERNATIVES < 2**8
    (pattern,) = many.patterns
    assert pattern.has_choices
    assert many.matches("<a " + " ".join(f'k{n}=""' for n in range(8)) + "/>")
    assert many.matches("<a>" + "".join(f"<b{n}><c/></b{n}>" for n in range(8)) + "</a>")
    assert not many.matches("<a>" + "".join(f"<b{n}><c/></b{n}>" for n in range(7)) + "</a>")
    assert parse_xpath("/a").covers(many)
    assert many.covers(parse_xpath("/a" + "".join(f"[@k{n}]" for n in range(8))))
    assert not many.covers(parse_xpath("/a"))
    assert many == parse_xpath("/a" + "".join(f"[b{n}/c or @k{n}]" for n in reversed(range(8))))


def test_a_union_of_too_many_paths_stays_one() -> None:
    f = parse_xpath(" | ".join(f"/a{n}" for n in range(200)))
    assert len(f.patterns) == 1
    assert f.matches("<a17/>")
    assert not f.matches("<b/>")


@given(st.integers(0, 2**32))
def test_choices_that_are_kept_mean_what_they_mean_multiplied_out(seed: int) -> None:
    random = Random(seed)
    roots = [read(document(random)) for _ in range(10)]
    text = Writer(random).expression()
    f = parse_xpath(text, namespaces=NAMESPACES)
    raw = pattern_of(f.expression)
    kept = None if raw is None else _Simplifier(ordered=False).node(raw)
    for root in roots:
        plain = kept is not None and matches(Pattern(kept), root)
        assert plain == f.matches(root)


def test_parameters_are_bound() -> None:
    f = parse_xpath("//quote[@symbol = $symbol][price < $limit]/bid[position() = $n]")
    assert f.parameters == ("symbol", "limit", "n")
    assert str(f.bind(limit=2)) == "//quote[@symbol = $symbol][price < 2]/bid[position() = $n]"
    bound = f.bind(symbol="IBM", limit=2, n=1)
    assert bound == parse_xpath("//quote[@symbol = 'IBM'][price < 2]/bid")
    assert f.bind(symbol="IBM", limit=None, n=1).patterns == ()
    assert f != bound
    assert f == parse_xpath(str(f))
    with pytest.raises(ParameterError, match="unbound parameters"):
        f.matches("<a/>")
    with pytest.raises(ParameterError, match=r"no parameter \$x; it has \$symbol"):
        f.bind(x=1)
    with pytest.raises(FilterTypeError, match="is a position"):
        f.bind(n="two")
    with pytest.raises(FilterTypeError, match="cannot be True"):
        f.bind(symbol=True)
    with pytest.raises(FilterTypeError, match="no document has the character"):
        f.bind(symbol="a\0")


def test_odd_constants_survive_being_written_down() -> None:
    f = parse_xpath("/a[b = $x][c < $y][d != $z][contains(e, $w)]")
    bound = f.bind(x="both ' and \"", y=float("inf"), z=10**400, w=0.1)
    assert of_shape(bound.shape, bound.values) == bound
    assert pickle.loads(pickle.dumps(bound)) == bound
    with pytest.raises(FilterError, match="constants"):
        bound.with_values(["1"])
    with pytest.raises(FilterError, match="not a constant"):
        bound.with_values(["1", "2", "x", "4"])


def test_namespaces_are_what_counts_and_not_their_prefixes() -> None:
    one = parse_xpath("/p:a/@q:b", namespaces={"p": "urn:1", "q": "urn:2"})
    other = parse_xpath("/x:a/@p:b", namespaces={"x": "urn:1", "p": "urn:2"})
    assert one == other
    assert one.shape == other.shape
    assert str(other) == "/x:a/@p:b"
    assert one.matches('<a xmlns="urn:1" xmlns:z="urn:2" z:b=""/>')
    assert not one.matches('<a xmlns="urn:1" b=""/>')
    assert parse_xpath("/a/@xml:lang").matches('<a xml:lang="en"/>')


def test_a_subscription_in_order_that_has_none_is_one_without() -> None:
    assert parse_xpath("/*//a[@k][@m]", ordered=True) == parse_xpath("//*/a[@m]/@k")
    assert parse_xpath("/a[b][c]", ordered=True) != parse_xpath("/a[b][c]")
    assert parse_xpath("/a[b][c]", ordered=True) != parse_xpath("/a[c][b]", ordered=True)
    assert parse_xpath("/a[b][b]", ordered=True) != parse_xpath("/a[b]", ordered=True)
    assert parse_xpath("/a[b][c]").covers(parse_xpath("/a[b][x][c]", ordered=True))
    assert parse_xpath("/a[b][c]", ordered=True).covers(parse_xpath("/a[b][x][c]", ordered=True))
    assert not parse_xpath("/a[b][c]", ordered=True).covers(parse_xpath("/a[b][c]"))
