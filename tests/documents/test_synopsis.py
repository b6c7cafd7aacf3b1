"""The synopsis: against counting paths, in any order of adding, merging, removing, compressing."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.documents.synopsis import Node, Path, Synopsis
from tidegate.documents.tree import Element, read
from tidegate.errors import DocumentError, TidegateError
from tidegate.lab.workloads.dtds import made_up, news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource


@st.composite
def documents(draw: st.DrawFn) -> str:
    def element(depth: int) -> str:
        name = draw(st.sampled_from("abcde"))
        below = draw(st.integers(0, 3)) if depth < 4 else 0
        return f"<{name}>{''.join(element(depth + 1) for _ in range(below))}</{name}>"

    return element(1)


def paths(document: str) -> set[Path]:
    """The paths of a document, each once."""
    found: set[Path] = set()

    def walk(element: Element, path: Path) -> None:
        found.add(path)
        for child in element.elements:
            walk(child, (*path, child.name))

    walk(read(document), ())
    return found


def counted(history: list[str]) -> Counter[Path]:
    return Counter(path for document in history for path in paths(document))


def synopsis(history: list[str]) -> Synopsis:
    made = Synopsis()
    for document in history:
        made.add(document)
    return made


def standing_for(made: Synopsis) -> Iterator[tuple[Node, set[Path]]]:
    """Each node with the paths it stands for."""

    def walk(node: Node, ways: set[Path]) -> Iterator[tuple[Node, set[Path]]]:
        yield node, ways
        for child in node.below:
            yield from walk(child, {(*way, name) for way in ways for name in child.names})

    yield from walk(made.root, {()})


def check(made: Synopsis, history: list[str]) -> None:
    """Each node has exactly what its paths have together, and every path of the history has one."""
    known = counted(history)
    seen: set[Path] = set()
    for node, ways in standing_for(made):
        assert node.total == sum(known[way] for way in ways)
        assert node.width == len(ways)
        assert node.total or not node.names
        assert seen.isdisjoint(ways)
        assert all(made.node(way) is node for way in ways)
        seen |= ways
    assert set(known) <= seen
    assert made.documents == len(history)


histories = st.lists(documents(), max_size=8)


@given(histories)
def test_every_path_has_as_many_documents_as_counting_says(history: list[str]) -> None:
    made = synopsis(history)
    check(made, history)
    known = counted(history)
    for path in {*known, *product("ab", repeat=3), ()}:
        assert made.frequency(path) == known[path]


@given(histories, histories)
def test_two_merge_into_that_of_both_histories(one: list[str], other: list[str]) -> None:
    merged, second = synopsis(one), synopsis(other)
    merged.merge(second)
    assert merged.plain() == synopsis(one + other).plain() == synopsis(other + one).plain()
    assert second.plain() == synopsis(other).plain()


@pytest.mark.slow
@settings(max_examples=150)
@given(histories, histories, st.data())
def test_sums_stay_exact_through_any_history(
    one: list[str], other: list[str], data: st.DataObject
) -> None:
    made, kept = synopsis(one), list(one)
    for _ in range(data.draw(st.integers(0, 6))):
        match data.draw(st.sampled_from(["add", "remove", "compress", "merge", "reread"])):
            case "add":
                document = data.draw(documents())
                made.add(document)
                kept.append(document)
            case "remove" if kept:
                made.remove(kept.pop(data.draw(st.integers(0, len(kept) - 1))))
            case "compress":
                budget = data.draw(st.integers(levels(made), max(len(made), levels(made))))
                made.compress(budget)
                assert len(made) <= budget
            case "merge":
                second = synopsis(other)
                second.compress(data.draw(st.integers(levels(second), 40)))
                made.merge(second)
                kept += other
            case _:
                made = Synopsis.read(made.plain())
        check(made, kept)
    for document in kept:
        made.remove(document)
    assert len(made) == 0


def levels(made: Synopsis) -> int:
    return max(len(next(iter(ways))) for _, ways in standing_for(made))


def test_a_synopsis_merges_with_itself() -> None:
    made = synopsis(["<a><b/></a>"])
    made.merge(made)
    check(made, ["<a><b/></a>"] * 2)


def test_the_rarest_siblings_merge_and_have_their_mean() -> None:
    history = ["<a><b/><c/><d/></a>"] * 2 + ["<a><b/><c/></a>", "<a><b><x/></b></a>"]
    made = synopsis(history)
    made.compress(4)
    assert [node.names for node in made.root.below[0].below] == [("b",), ("c", "d")]
    assert made.frequency(("a", "b")) == 4
    assert made.frequency(("a", "c")) == made.frequency(("a", "d")) == 2.5
    assert made.frequency(("a", "e")) == 0
    made.compress(3)
    assert made.frequency(("a", "b")) == 3
    assert made.frequency(("a", "c", "x")) == pytest.approx(1 / 3)


def test_a_budget_below_the_number_of_levels_is_refused() -> None:
    made = synopsis(["<a><b><c/></b></a>"])
    with pytest.raises(TidegateError, match="3 levels"):
        made.compress(2)
    made.compress(3)
    check(made, ["<a><b><c/></b></a>"])


@pytest.mark.parametrize("document", ["<a><x/></a>", "<b/>", "<a><b><b/></b></a>"])
def test_taking_out_what_was_never_there_changes_nothing(document: str) -> None:
    made = synopsis(["<a><b/></a>", "<a/>"])
    before = made.plain()
    with pytest.raises(TidegateError, match="no document"):
        made.remove(document)
    assert made.plain() == before
    with pytest.raises(TidegateError, match="no document"):
        Synopsis().remove("<a/>")


def test_taking_out_more_than_a_merged_node_has_changes_nothing() -> None:
    made = synopsis(["<a><b><x/></b></a>", "<a><c/></a>"])
    made.compress(3)
    before = made.plain()
    with pytest.raises(TidegateError, match="/a/c/x"):
        made.remove("<a><b><x/></b><c><x/></c></a>")
    assert made.plain() == before


@pytest.mark.parametrize("document", ["", "<a>", "<a/><b/>", "<a>&unheard;</a>", b"\xff\xfe"])
def test_what_is_no_document_changes_nothing(document: str | bytes) -> None:
    made = synopsis(["<a/>"])
    with pytest.raises(DocumentError):
        made.add(document)
    check(made, ["<a/>"])


def test_deep_wide_and_strange_documents() -> None:
    deep = "<a>" * 250 + "</a>" * 250
    wide = "<a>" + "".join(f"<e{number}/>" for number in range(5_000)) + "</a>"
    strange = '<ä xmlns:p="urn:p"><p:b/>text<p:b/><!-- no --></ä>'
    made = synopsis([deep, wide, strange])
    check(made, [deep, wide, strange])
    assert made.frequency(("ä", "{urn:p}b")) == 1
    made.compress(260)
    check_sums(made, [deep, wide, strange])


def check_sums(made: Synopsis, history: list[str]) -> None:
    """What `check` asks of all paths together, where merged nodes stand for too many of them."""
    nodes = [node for node, _ in walk_once(made.root)]
    assert sum(node.total for node in nodes) == sum(counted(history).values())


def walk_once(node: Node) -> Iterator[tuple[Node, int]]:
    yield node, 1
    for child in node.below:
        yield from walk_once(child)


def test_documents_of_a_type_fit_a_tenth_of_the_nodes() -> None:
    for dtd in (news(), made_up(Random(2), 40)):
        source = DocumentSource(dtd, DocumentChoices(tags=58), seed=1)
        history = [source.draw() for _ in range(40)]
        made = synopsis(history)
        assert all(made.frequency(path) == number for path, number in counted(history).items())
        budget = max(len(made) // 10, levels(made))
        made.compress(budget)
        assert len(made) <= budget
        check_sums(made, history)
