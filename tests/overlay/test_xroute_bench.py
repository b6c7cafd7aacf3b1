"""The benchmark of tables that count, on a small scale."""

import pytest

from bench import xroute
from bench.xroute_network import Overlay


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
    assert xroute._fits(text) == fits


def test_a_small_run_counts_everyone_and_forwards_what_covering_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it asserts itself is in `messages`."""
    monkeypatch.setattr(xroute, "MESSAGES", 40)
    changes, size = xroute.messages()
    assert changes.baseline is not None
    assert changes.ours > changes.baseline > 0 < size.ours


def test_the_network_is_as_before_when_what_was_registered_is_cancelled() -> None:
    overlay, consumers = Overlay("xroute"), xroute.Consumers(seed=5)
    for _ in range(30):
        overlay.register(*consumers.draw())
    before, counted = overlay.tables(), overlay.counted()
    kind, own, _ = overlay.register_timed(0, consumers.draw()[1])
    assert kind in ("duplicate", "supplementary", "new")
    assert (overlay.counted(), counted) == (31, 30)
    overlay.cancel(0, own)
    assert (overlay.tables(), overlay.counted()) == (before, counted)
