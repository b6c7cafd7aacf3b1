"""What do the structures of the papers miss, where their rules are incomplete?

Matching is exact everywhere. Of covers, a structure may miss some, and of overlaps, it may claim
some that are none: decision diagrams and counting look at predicates one by one, and a poset finds
only what can be reached by links. Three workloads: set A, with one predicate for an attribute;
Boolean trees with several; and ORs of a few conjunctions in which most predicates are about one
text. A quarter of the filters came in the place of earlier ones. Baseline: what the algebra finds
filter by filter (`papers.scan`). A filter that contradicts itself is covered by
all others; how many of those that are missed are of this sort is said in the note.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import tidegate as tg
from bench.figure import Figure
from tidegate.algebra.normal import boxes
from tidegate.lab.workloads import padres
from tidegate.lab.workloads.matching import trees
from tidegate.papers.counting.counting_table import CountingTable
from tidegate.papers.mbd.mbd import MBD
from tidegate.papers.poset.poset import Poset
from tidegate.papers.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tidegate.filters.filter import Filter
    from tidegate.filters.schema import Schema

    Structure = MBD | CountingTable | Poset

FILTERS = 300
SIMPLE = 4_000  # of set A, in which covers are rare
ASKED = 60
STRUCTURES: dict[str, Callable[[Schema | None], Structure]] = {
    "diagrams": MBD,
    "counting": CountingTable,
    "poset": Poset,
}
RULES = {
    "diagrams": "the paper compares predicate by predicate",
    "counting": "the paper has no covering",
    "poset": "the paper takes covering as given",
}


def figures() -> Iterator[Figure]:
    """Each structure on each workload."""
    for work, filters in drawn().items():
        kept, asked = filters[:-ASKED], filters[-ASKED:]
        for name, make in STRUCTURES.items():
            structure, scan = make(filters[0].schema), Scan()
            fill(structure, kept)
            fill(scan, kept)
            yield told(name, work, len(scan), compared(structure, scan, asked))


def fill(structure: Structure | Scan, filters: list[Filter]) -> None:
    """Add most of the filters, and put the others in the place of some of them."""
    most = 3 * len(filters) // 4
    for number, f in enumerate(filters[:most]):
        structure.add(number, f)
    rest = filters[most:]
    for number, f in zip(Random(1).sample(range(most), len(rest)), rest, strict=True):
        structure.update(number, f)


def drawn() -> dict[str, list[Filter]]:
    """The filters of each workload: those that are kept, and then those that are asked about."""
    rng = Random(1)
    count = FILTERS + ASKED
    return {
        "set A": list(padres.set_a(SIMPLE + ASKED).filters()),
        "Boolean trees": list(trees(count, seed=1).filters()),
        "texts": [text_filter(rng) for _ in range(count)],
    }


def compared(structure: Structure, scan: Scan, asked: list[Filter]) -> Counter[str]:
    """How many answers were owed, missed and claimed."""
    counts: Counter[str] = Counter()
    for f in asked:
        for question in ("containing", "contained", "overlapping"):
            owed = set(getattr(scan, question)(f))
            found = set(getattr(structure, question)(f))
            counts[question] += len(owed)
            if question == "overlapping":
                assert owed <= found, str(f)
                counts["claimed"] += len(found - owed)
                continue
            assert found <= owed, (question, str(f))
            counts[f"{question}, missed"] += len(owed - found)
            if question == "contained":
                missed = (boxes(scan.filters[number]) for number in owed - found)
                counts["contradictions"] += sum(own == () for own in missed)
    return counts


def told(name: str, work: str, size: int, counts: Counter[str]) -> Figure:
    """The share of covers that were missed."""
    owed = counts["containing"] + counts["contained"]
    missed = counts["containing, missed"] + counts["contained, missed"]
    each = ", ".join(
        f"{counts[f'{question}, missed']:,} of {counts[question]:,} {question}"
        for question in ("containing", "contained")
    )
    return Figure(
        f"{name}, {work}: covers missed",
        100 * missed / max(1, owed),
        None,
        None,
        "%",
        note=f"{each} ({counts['contradictions']:,} contradict themselves); overlaps claimed: "
        f"{counts['claimed']:,} beside {counts['overlapping']:,}; {ASKED} questions to "
        f"{size:,} filters; {RULES[name]}",
        aim="none" if work == "set A" else "",
        met=work != "set A" or missed == 0,
    )


def text_filter(rng: Random) -> Filter:
    """One or two conjunctions of conditions on a text, and sometimes on a number."""

    def part() -> str:
        a, b = rng.choice(("a", "b", "ab", "x", "ba")), rng.choice("abx")
        return rng.choice(
            (
                *(f"s LIKE '%{a}%'", f"s LIKE '{a}%{b}'", f"s LIKE '_{a}%'", f"s LIKE '%{a}_'"),
                *(f"endswith(s, '{a}')", f"NOT contains(s, '{a}')", f"s LIKE '%{a}%{b}%'"),
                *(f"s < '{a}'", f"s >= '{a}'", f"s IN ('{a}', '{b}', 'z')", f"s <> '{a}'"),
                *(f"startswith(s, '{a}')", f"x < {rng.randrange(9)}", f"x > {rng.randrange(9)}"),
            )
        )

    terms = [
        " AND ".join(part() for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(1, 2))
    ]
    return tg.parse(" OR ".join(f"({term})" for term in terms))
