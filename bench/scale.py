"""What happens when subscriptions do not fit one index, nor events one machine?

How well subscriptions are split (`scale_split`), how costs grow up to ten million of them
(`scale_growth`), how long it takes to find what is redundant in a million planted ones and in half
a million of many shapes (`scale_analysis`), and what several executors gain and share
(`scale_cluster`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import scale_analysis, scale_cluster, scale_growth, scale_split

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.figure import Figure


def run() -> Iterator[Figure]:
    """All of them, one after the other."""
    yield from scale_split.figures()
    yield from scale_growth.figures()
    yield from scale_analysis.figures()
    yield from scale_analysis.mixed_figures()
    yield from scale_cluster.figures()
