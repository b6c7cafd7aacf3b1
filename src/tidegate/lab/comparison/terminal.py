"""How is a comparison shown on a terminal?

One table, a row for each policy. Where it is too wide, it is cut between parameters into several,
one below the other.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidegate.lab.comparison.columns import COLUMNS, TELLS, Column
from tidegate.lab.comparison.measures import Comparison

_BETWEEN: Final = 2  # columns of characters


def show(found: Comparison, out: Console) -> None:
    """Print it."""
    out.print(
        f"[bold]{escape(found.name)}[/]: {found.brokers:,} brokers, {found.subscriptions:,} "
        f"subscriptions, {found.published:,} events, {found.cancellations:,} cancellations, "
        f"seed {found.seed}"
    )
    for columns in _fitting(found, out.width):
        out.print(_table(found, columns))
    for each in found.losers:
        lost = each.losses
        out.print(
            f"[bold red]{escape(each.policy)} is wrong:[/] {lost.missed:,} notifications missed, "
            f"{lost.duplicated:,} duplicated, {lost.unwanted:,} that nobody asked for"
        )


def _fitting(found: Comparison, width: int) -> Iterator[list[Column]]:
    """The columns, in as few groups of whole parameters as fit."""
    names = max(len(each.policy) for each in found.policies)
    group: list[Column] = []
    for parameter in TELLS:
        more = [column for column in COLUMNS if column.parameter == parameter]
        wide = names + sum(_width(found, each) + _BETWEEN for each in (*group, *more))
        if group and wide > width:
            yield group
            group = []
        group = [*group, *more]
    yield group


def _width(found: Comparison, column: Column) -> int:
    texts = [column.text(each) for each in found.policies]
    return max(len(_head(column)[0]), len(column.name), *map(len, texts))


def _head(column: Column) -> tuple[str, str]:
    """The lines above a column: its parameter stands above the first one only."""
    first = next(each for each in COLUMNS if each.parameter == column.parameter)
    return column.parameter if column is first else "", column.name


def _table(found: Comparison, columns: Sequence[Column]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0))
    table.add_column("\npolicy", no_wrap=True)
    for column in columns:
        table.add_column("\n".join(_head(column)), justify="right", no_wrap=True)
    for each in found.policies:
        style = "bold red" if each.losses else None
        table.add_row(escape(each.policy), *(column.text(each) for column in columns), style=style)
    return table
