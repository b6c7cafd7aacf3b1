"""XSearch says of many patterns at once what the pairwise test says one by one."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.documents.generate import NAMESPACES, Writer
from tidegate.documents.containment import covers
from tidegate.documents.pattern import Pattern
from tidegate.documents.xpath import parse_xpath
from tidegate.lab.workloads.dtds import made_up
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource
from tidegate.papers.xsearch import contained, containing
from tidegate.papers.xsearch.factorization import FactorizationTree, TreeNode
from tidegate.papers.xsearch.xsearch import XSearch


def pool(random: Random) -> list[Pattern]:
    """Patterns that have something to do with each other."""
    if random.random() < 0.3:
        choices = PatternChoices(deepest=5, ellipsis=0.3, wildcard=0.3, branching=0.4)
        source = PatternSource(made_up(random, 5), choices, random.randint(0, 99))
        return [each for _ in range(60) for each in parse_xpath(source.draw().text).patterns]
    if random.random() < 0.3:
        return [starry(random) for _ in range(60)]
    values = random.random() < 0.7
    found: list[Pattern] = []
    for _ in range(60):
        text = Writer(random, values=values).expression()
        f = parse_xpath(text, namespaces=NAMESPACES, ordered=random.random() < 0.1)
        found += f.patterns
    return found


def starry(random: Random) -> Pattern:
    """`*` with branches below each other, or the long ways whose elements they may lie on."""

    def way() -> str:
        ends = "".join(f"[{end}]" for end in "xyz" if random.random() < 0.6)
        return "/*" * random.randint(1, 4) + "/p" + ends

    def star(depth: int) -> str:
        inner = [f".//p/{random.choice('xyz')}", f".//{random.choice('px')}", ".//p"]
        return "*" + "".join(
            f"[{star(depth - 1) if depth and random.random() < 0.6 else random.choice(inner)}]"
            for _ in range(random.randint(1, 2))
        )

    if random.random() < 0.5:
        return one(f"/a/{star(2)}")
    return one(f"/a[.{way()}]{way()}" if random.random() < 0.4 else f"/a{way()}")


@given(st.integers(0, 2**32))
def test_both_modes_are_the_pairwise_test_after_any_history(seed: int) -> None:
    random = Random(seed)
    patterns = pool(random)
    search, there = XSearch(), dict[int, Pattern]()
    for step in range(100):
        if there and random.random() < 0.45:
            number = random.choice(list(there))
            search.remove(number)
            del there[number]
        else:
            there[step] = random.choice(patterns)
            search.add(step, there[step])
        if step % 10 == 9:
            asked = random.choice(patterns)
            assert search.containing(asked) == {n for n, p in there.items() if covers(p, asked)}
            assert search.contained(asked) == {n for n, p in there.items() if covers(asked, p)}
    for number in there:
        search.remove(number)
    assert search.tree.size == 0
    assert search.tree.root.ends


def one(text: str) -> Pattern:
    (pattern,) = parse_xpath(text).patterns
    return pattern


THESIS = ("//a", "/a/b[c]", "/a/b/c", "/a[*/c]/b/d", "/a//c", "/a[b/c][b/d]", "/a")


@pytest.mark.parametrize("text", [*THESIS, "/a/b[c][d]", "/*", "/a//*", "//*/*"])
def test_small_trees(text: str) -> None:
    search = XSearch()
    for number, each in enumerate(THESIS):
        search.add(number, one(each))
    found = {THESIS[number] for number in search.containing(one(text))}
    assert found == {each for each in THESIS if covers(one(each), one(text))}
    found = {THESIS[number] for number in search.contained(one(text))}
    assert found == {each for each in THESIS if covers(one(text), one(each))}


STARS = "/a/*[*[.//p/y][.//p/z]][.//p/w]"


@pytest.mark.parametrize(
    ("texts", "covered"),
    [
        ([f"/a{'/*' * levels}/p[y][z][w]" for levels in (3, 4, 5)], {0, 1, 2}),
        (["/a/*/*/*/p/q", "/a[*/*/*/p[y][z]]/*/*/*/*/p/w", "/a/*/*/*/*/p[y][z]"], set()),
    ],
)
def test_stars_with_branches_below_each_other_lie_on_what_distances_pass_over(
    texts: list[str], covered: set[int]
) -> None:
    search = XSearch()
    for number, text in enumerate(texts):
        search.add(number, one(text))
    assert search.contained(one(STARS)) == covered
    assert covered == {n for n, text in enumerate(texts) if covers(one(STARS), one(text))}


def test_patterns_share_what_they_have_in_common() -> None:
    tree = FactorizationTree()
    for number, text in enumerate(("/a/b[c]/d", "/a/b/d", "/a/b/e", "/a[b/c]/b/d", "/a/b/d")):
        tree.add(number, one(text).root)
    nodes = [(node.label, node.sub) for node in walk(tree.root)]
    assert ("b", {0, 1, 2, 3, 4}) in nodes
    assert ("e", {2}) in nodes
    assert tree.size == len(nodes) - 1


def walk(node: TreeNode) -> list[TreeNode]:
    return [node, *(each for child in node.below() for each in walk(child))]


def test_a_number_is_given_once() -> None:
    search = XSearch()
    search.add(1, one("/a"))
    with pytest.raises(KeyError):
        search.add(1, one("/b"))
    with pytest.raises(KeyError):
        search.remove(2)


def test_a_long_search_is_short_with_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    search = XSearch()
    search.add(1, one("//a//a//a//a//a"))
    calls = count_calls(monkeypatch, containing.Containing, "_worked_out")
    assert search.containing(one("/a" * 31)) == {1}
    assert calls[0] <= 5 * 31 + 1


def test_so_is_one_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    search = XSearch()
    search.add(1, one("/a" * 31))
    calls = count_calls(monkeypatch, contained.Contained, "_meeting")
    assert search.contained(one("//a[b]//a//a//a//a")) == set()
    assert search.contained(one("//a//a[a]//a//a//a")) == {1}
    assert calls[0] <= 2 * (6 * 31 + 1)


def count_calls(monkeypatch: pytest.MonkeyPatch, kind: type, name: str) -> list[int]:
    """How many pairs of nodes are worked out from now on."""
    calls = [0]
    plain: Callable[..., object] = getattr(kind, name)

    def counted(*arguments: object) -> object:
        calls[0] += 1
        return plain(*arguments)

    monkeypatch.setattr(kind, name, counted)
    return calls
