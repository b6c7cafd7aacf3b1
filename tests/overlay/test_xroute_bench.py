"""The benchmark of tables that count, on a small scale."""

import pytest

from bench import xroute, xroute_failures
from tidegate.lab.experiments.xroute_overlay import Consumers, Overlay, fits_the_thesis
from tidegate.overlay.upstream import Parents


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("/a/b/c", True),
        ("//b/c", True),
        ("/a//c", True),
        ("/a/*/c", True),
        ("/a[b/c]/d/e", True),
        ("/a/b", False),
        ("//b", False),
        ("/a/b/*", False),
        ("/a[b]/c/d", False),
        ("/a[b/*]/c/d", False),
        ("/a/b/c[d/*]", False),
    ],
)
def test_patterns_end_in_a_name_that_is_deep_enough(text: str, fits: bool) -> None:
    assert fits_the_thesis(text) == fits


def test_a_small_run_counts_everyone_and_forwards_what_covering_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it asserts itself is in `messages`."""
    monkeypatch.setattr(xroute, "MESSAGES", 40)
    changes, size = xroute.messages()
    assert changes.baseline is not None
    assert changes.ours > changes.baseline > 0 < size.ours


def test_the_network_is_as_before_when_what_was_registered_is_cancelled() -> None:
    overlay, consumers = Overlay("xroute"), Consumers(seed=5)
    for _ in range(30):
        overlay.register(*consumers.draw())
    before, counted = overlay.tables(), overlay.counted()
    kind, own, _ = overlay.register_timed(0, consumers.draw()[1])
    assert kind in ("duplicate", "supplementary", "new")
    assert (overlay.counted(), counted) == (31, 30)
    overlay.cancel(0, own)
    assert (overlay.tables(), overlay.counted()) == (before, counted)


def test_failures_on_a_small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xroute_failures, "POPULATIONS", (20,))
    monkeypatch.setattr(xroute_failures, "CRASHES", (5,))
    monkeypatch.setattr(
        xroute_failures, "PRINTED", dict.fromkeys((("b2", 5, 20), ("b19", 5, 20)), 1.0)
    )
    monkeypatch.setattr(xroute_failures, "RECORDS", 3)
    found = list(xroute_failures.run(Consumers(seed=6)))
    assert len(found) == 5
    assert all(figure.ours > 0 for figure in found)
    assert found[-1].baseline is not None


def test_the_tree_is_like_that_of_the_thesis() -> None:
    shape = xroute_failures.tree(xroute_failures.BACKUPS[1])
    delays = [edge.delay or 0 for edge in shape.edges if (edge.first, edge.second) != ("b3", "b8")]
    mean = sum(delays) / len(delays)
    deviation = (sum((x - mean) ** 2 for x in delays) / len(delays)) ** 0.5
    assert (round(mean, 4), round(deviation, 4)) == (0.0541, 0.0282)
    assert (max(delays), min(delays)) == (0.12367, 0.00847)
    inner = {above.parent for above in shape.upstream.values() if isinstance(above, Parents)}
    assert len(shape.names) == 22
    assert len(set(shape.names) - inner) == 12
