"""How do the structures of the papers compare with a naive scan, and with ours?

Each structure of `tidegate.papers` is measured on its own paper's work, beside the scan that the
paper compares itself with and beside the engine's structure for the same questions. What the paper
printed stands in the note: of that, counts and ratios can be compared, not the seconds of machines
twenty years ago.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import (
    papers_counting,
    papers_mbd,
    papers_missed,
    papers_negative,
    papers_poset,
    papers_workloads,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.figure import Figure

PARTS = (
    papers_workloads,
    papers_mbd,
    papers_counting,
    papers_poset,
    papers_missed,
    papers_negative,
)


def run() -> Iterator[Figure]:
    """How the work was drawn; then one structure after the other, and what they miss."""
    for part in PARTS:
        yield from part.figures()
