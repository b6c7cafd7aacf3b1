"""How far it has come is said on a terminal, and where there is none."""

import io
import time

import pytest
from rich.console import Console

from tidegate.pipeline.progress import steps
from tidegate.pipeline.progress.steps import Step, Steps, Watch, shown


@pytest.mark.parametrize("terminal", [True, False])
def test_the_step_its_share_and_the_steps_left_are_shown(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "EVERY", 0.01)
    written = io.StringIO()
    console = Console(file=written, force_terminal=terminal, width=100, highlight=False)
    line = Steps(lambda: (1, 4), Watch())
    with shown(line, console):
        line.tell(Step("reading [all]", 2, 8))
        for _ in range(500):
            if "reading" in written.getvalue():
                break
            time.sleep(0.01)
    assert "step 2 of 8, reading [all]: 25%, 1 of 4 tasks; 6 steps left" in written.getvalue()


def test_the_last_step_is_called_so() -> None:
    line = Steps(lambda: (0, 0), Watch())
    assert str(line).startswith("preparing")
    line.tell(Step("summing up", 8, 8))
    assert str(line).startswith("step 8 of 8, summing up: preparing; the last step")
