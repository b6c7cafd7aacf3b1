"""The command `tidegate compare`: which policy takes what, on the same network and workload?"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import Progress

import tidegate as tg
from tidegate.commands.files import check_writable, write
from tidegate.commands.options import refusals
from tidegate.console import err, out

if TYPE_CHECKING:
    from tidegate.lab.comparison.measures import Comparison


def compare(
    scenarios: Annotated[
        list[Path],
        typer.Argument(metavar="SCENARIO.toml…", help="Networks and what happens to them."),
    ],
    page: Annotated[
        Path | None,
        typer.Option("--out", metavar="PAGE.html", help="Write a page with table and figure."),
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(metavar="NAME,…", help="Compare only these, with plain forwarding."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
    seed: Annotated[int | None, typer.Option(help="Draw at random from another seed.")] = None,
) -> None:
    """Compare policies by six parameters: what each saves, and what it costs."""
    from tidegate.lab.comparison import measures, trial  # load the engine
    from tidegate.lab.comparison.contestants import chosen
    from tidegate.lab.comparison.page import page as draw
    from tidegate.lab.comparison.terminal import show
    from tidegate.lab.workloads.sources import SOURCES
    from tidegate.simulate.scenario import load

    with refusals():
        names = None if policies is None else [name.strip() for name in policies.split(",")]
        contestants = chosen(names)
        check_writable(page)
        makers = [partial(load, path, seed, SOURCES) for path in scenarios]
        for make in makers:
            trial.refuse_unfit(make())  # all of them before the first takes its time
        found: list[Comparison] = []
        for make in makers:
            with _progress(make().name) as tell:
                found.append(measures.compare(make, contestants, tell))
            if not json:
                show(found[-1], out)
        if json:
            typer.echo(measures.to_json(found), nl=False)
        if page is not None:
            write(page, draw(found), err)
        losers = {each.policy for one in found for each in one.losers}
        if losers:
            raise tg.TidegateError(f"deliveries are wrong by {', '.join(sorted(losers))}")


@contextmanager
def _progress(name: str) -> Iterator[Callable[[str, float], None]]:
    """Show which policy's turn it is: as a bar, or as lines where nobody watches a terminal."""
    if not err.is_terminal:
        yield _Lines(name).tell
        return
    with Progress(console=err, transient=True) as shown:
        task = shown.add_task(escape(name), total=1.0)

        def tell(policy: str, share: float) -> None:
            said = f"{escape(name)}: {escape(policy)}"
            shown.update(task, description=said, completed=share)

        yield tell


class _Lines:
    """One line for each policy."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._policy = ""

    def tell(self, policy: str, share: float) -> None:
        """Whose turn it is, and the share of all that is done."""
        if policy != self._policy:
            self._policy = policy
            err.print(f"{escape(self._name)}, {share:.0%} done: {escape(policy)}")
