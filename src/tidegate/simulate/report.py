"""How are counters shown to people?

Tables for the terminal: the whole network, its brokers, its links. Of many brokers or links, those
with the largest tables and the most traffic.
"""

from collections.abc import Iterable
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidegate.overlay.work import ENDS, NEWS
from tidegate.simulate.counters import BrokerCounters, LaneCounters, Result

_ROWS_SHOWN: Final = 32  # rows


def report(result: Result, out: Console) -> None:
    """Print a result."""
    seed = "" if result.seed is None else f", seed {result.seed}"
    out.print(f"[bold]{escape(result.name)}[/]{seed}, policy {result.policy['name']}")
    if not result.reproducible:
        out.print("[yellow]costs were measured: this run cannot be reproduced[/]")
    for part in (_summary, _kinds, _brokers, _registrations, _deliveries, _lanes):
        table = part(result)
        if table is not None:
            out.print(table)


def _summary(result: Result) -> Table:
    totals, delay = result.totals, result.totals["delay"]
    table = Table(show_header=False, box=None, pad_edge=False)
    rows: list[tuple[str, str]] = [
        ("time", f"{result.time:.3f} s"),
        ("brokers, clients", f"{totals['brokers']:,}, {totals['clients']:,}"),
        ("subscriptions", f"{totals['subscriptions']:,}"),
        ("table entries", f"{totals['entries']:,}, and {totals['passive']:,} passive"),
        ("events", f"{totals['published']:,} published, {totals['unpublished']:,} could not be"),
        ("notifications", f"{totals['notifications']:,} in {totals['deliveries']:,} deliveries"),
        (
            "delay",
            f"{_ms(delay['mean'])} (mean), {_ms(delay['p95'])} (95%), {_ms(delay['max'])} (all)",
        ),
        ("events in vain", f"{totals['vain']:,} of {totals['messages']['publish']:,} forwarded"),
        ("dropped by full queues", f"{totals['saturated']:,}"),
        ("messages lost on links", f"{totals['lost']:,}"),
    ]
    slowest = max(result.brokers, key=lambda broker: broker.recovery)
    if slowest.recovery:
        told = f"{_ms(slowest.recovery)} at most, of {escape(slowest.name)}"
        rows.append(("recovery after crashes", told))
    if totals["missed"] is None:
        rows.append(("missed, duplicated", "not checked"))
    else:
        rows.append(
            (
                "missed",
                f"{totals['missed']:,} of {totals['owed']:,} owed; {totals['early']:,} early",
            )
        )
        rows.append(("duplicated", f"{totals['duplicated']:,}"))
    for name, value in rows:
        table.add_row(f"[bold]{name}[/]", value)
    return table


def _kinds(result: Result) -> Table:
    totals = result.totals
    table = _table("messages between brokers", "kind", "messages", "bytes")
    for kind, messages in totals["messages"].items():
        if messages:
            table.add_row(kind, f"{messages:,}", f"{totals['bytes'][kind]:,}")
    return table


def _brokers(result: Result) -> Table:
    brokers = _largest(result)
    table = _table(
        _title("brokers", len(brokers), len(result.brokers), "the largest tables"),
        *("broker", "clients", "entries", "passive", "forwarded", "handled", "busy", "queue"),
    )
    for x in brokers:
        busy = f"{x.busy / result.time:.1%}" if result.time else "-"
        counts = _counts((x.clients, x.entries, x.passive, x.forwarded, x.handled))
        table.add_row(escape(x.name), *counts, busy, *_counts([x.queue]))
    return table


def _registrations(result: Result) -> Table | None:
    """How much of what clients registered was news, where that was counted."""
    brokers = _largest(result)
    if not any(x.tally[kind] for x in result.brokers for kind in (*NEWS, *ENDS)):
        return None
    table = _table(
        _title("registrations", len(brokers), len(result.brokers), "the largest tables"),
        *("broker", "duplicate", "supplementary", "new", "cancelled", "totally", "questions"),
    )
    for x in brokers:
        cancelled = sum(x.tally[kind] for kind in ENDS)
        known = [x.tally[kind] for kind in NEWS]
        counts = _counts((*known, cancelled, x.tally["total"], x.work["questions"]))
        table.add_row(escape(x.name), *counts)
    return table


def _deliveries(result: Result) -> Table:
    brokers = _largest(result)
    table = _table(
        _title("events", len(brokers), len(result.brokers), "the largest tables"),
        *("broker", "published", "delivered", "delay", "dropped", "in vain", "missed", "early"),
        "twice",
    )
    for x in brokers:
        counts = _counts((x.saturated, x.vain, x.missed, x.early, x.duplicated))
        delay = _ms(x.delay) if x.deliveries else "-"
        table.add_row(escape(x.name), *_counts((x.published, x.deliveries)), delay, *counts)
    return table


def _largest(result: Result) -> list[BrokerCounters]:
    return sorted(result.brokers, key=lambda x: -x.entries)[:_ROWS_SHOWN]


def _lanes(result: Result) -> Table:
    lanes = sorted(result.lanes, key=lambda x: -sum(x.bytes.values()))[:_ROWS_SHOWN]
    table = _table(
        _title("links, each direction", len(lanes), len(result.lanes), "the most bytes"),
        *("from", "to", "messages", "bytes", "changes", "events", "in vain", "lost"),
    )
    for x in lanes:
        counts = _counts(_traffic(x))
        table.add_row(escape(x.start), escape(x.end), *counts)
    return table


def _traffic(x: LaneCounters) -> tuple[int, ...]:
    kinds = x.messages
    return (
        sum(kinds.values()),
        sum(x.bytes.values()),
        kinds["change"],
        kinds["publish"],
        x.vain,
        x.lost,
    )


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for i, name in enumerate(columns):
        words = name in ("broker", "from", "to", "kind")
        table.add_column(name, justify="left" if words and i < 2 else "right", no_wrap=True)
    return table


def _title(what: str, shown: int, count: int, chosen: str) -> str:
    return what if shown == count else f"{what}: {shown} of {count:,}, {chosen}"


def _counts(numbers: Iterable[Any]) -> list[str]:
    return ["-" if number is None else f"{number:,}" for number in numbers]


def _ms(seconds: float) -> str:
    return f"{seconds * 1_000:.1f} ms"
