"""A tour for people who see Tidegate for the first time: the language, then the index.

What is printed is what the library says while the tour runs; of the index, beside what a plain scan
of all rules says.
"""

import time
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.markup import escape
from rich.rule import Rule
from rich.table import Table

import tidegate as tg

if TYPE_CHECKING:
    from tidegate.lab.workloads.trade import Trade

RULES: Final = 50_000
EVENTS: Final = 10_000

_SENTENCES: Sequence[tuple[str, str]] = (
    ("IBM, once it is cheap", "symbol = 'IBM' AND price < 100"),
    ("a big trade, or one at night", "volume >= 1000000 OR hour NOT BETWEEN 8 AND 18"),
    ("whatever is not American", "NOT (venue IN ('NYSE', 'NASDAQ') OR currency = 'USD')"),
    ("a note that mentions a recall", "contains(note, 'recall') AND severity IS NOT NULL"),
    ("a nested field, a date", "trade.settles >= DATE '2026-01-01' AND trade.side LIKE 'B%'"),
)
_EVENT = {"symbol": "IBM", "price": 101.5, "volume": 2_500_000, "currency": None}
_PAIRS: Sequence[tuple[str, str]] = (
    ("price < 100", "price < 50 AND symbol = 'IBM'"),
    ("price BETWEEN 1 AND 5", "price >= 1 AND NOT price > 5"),
    ("price < 100", "price > 90"),
    ("symbol = 'IBM'", "symbol IN ('SAP', 'ORCL')"),
    ("startswith(symbol, 'IB')", "symbol LIKE 'IBM%'"),
    ("price <> 5", "price < 5 OR price > 5"),
)
_REFUSED: Sequence[str] = (
    "bid > ask",
    "price * 2 < 10",
    "trim(symbol) = 'ibm'",
    "price IN ()",
    "price < 10 < 20",
    "symbol = 'IBM",
)


def tour(out: Console) -> None:
    """Print the tour."""
    stops = {
        "What a filter says": _filters,
        "Why an event passes or not": _explanations,
        "How filters relate": _relations,
        "A parameter moves, the filter stays": _parameters,
        "What is refused, and what to write instead": _refusals,
        "Who wants this event?": _index,
    }
    for number, (title, stop) in enumerate(stops.items(), 1):
        out.print(Rule(f"{number}. {title}"))
        stop(out)


def _filters(out: Console) -> None:
    out.print("A filter is a condition in SQL's words. It is read once and means what it means in")
    out.print("Spark SQL's WHERE, NULLs included.\n")
    for meaning, text in _SENTENCES:
        out.print(f"  [dim]{meaning}:[/]")
        out.print(f"    {escape(str(tg.parse(text)))}")


def _explanations(out: Console) -> None:
    out.print(f"The event: {escape(str(_EVENT))}\n")
    for text in (_SENTENCES[0][1], _SENTENCES[1][1], "currency <> 'USD'"):
        out.print(f"  [bold]{escape(text)}[/]")
        out.print(_indented(str(tg.parse(text).explain(_EVENT)), "    "))


def _relations(out: Console) -> None:
    table = Table("first filter", "is", "second filter", box=None, pad_edge=False)
    for first, second in _PAIRS:
        relation = tg.relate(tg.parse(first), tg.parse(second))
        word = {"covers": "wider than", "overlaps": "overlapping", "disjoint": "disjoint from"}
        table.add_row(escape(first), word.get(str(relation), str(relation)), escape(second))
    out.print(table)
    parts = ["x < 5", "x BETWEEN 5 AND 7", "x > 7"]
    schema = tg.Schema({"x": "bigint"})
    together = tg.subsumed(tg.parse("x <> 6", schema), [tg.parse(p, schema) for p in parts])
    out.print(f"\n  {' and '.join(parts)} together {'take in' if together else 'miss'} x <> 6")


def _parameters(out: Console) -> None:
    alert = tg.parse("symbol = 'IBM' AND price < :limit")
    for limit in (110.0, 100.0):
        passes = "passes" if alert.bind(limit=limit).matches(_EVENT) else "does not pass"
        out.print(f"  with limit = {limit}: the event {passes}")


def _refusals(out: Console) -> None:
    for text in _REFUSED:
        try:
            tg.parse(text)
        except tg.TidegateError as error:
            out.print(_indented(str(error)) + "\n")
    out.print("Everything about the language: docs/language.md")


def _index(out: Console) -> None:
    from tidegate.lab.workloads.trade import trade  # loads NumPy and Arrow

    workload = trade(RULES, seed=1)
    table = workload.table()
    out.print(f"An index of {RULES:,} alert rules, added as columns of constants for a few texts:")
    out.print(f"  [dim]{escape(table['filter'][0].as_py())}[/]")
    out.print("On its first run, a machine compiles the kernels; that takes half a minute or so.\n")
    index = tg.Index(workload.schema)
    index.add_many(table)
    one = workload.events(1)
    [event] = one.to_pylist()
    out.print(f"One event: {escape(str(event))}")
    wanting = sorted(map(str, index.match(event)))
    agrees = "the same" if wanting == _scan(workload, one) else "OTHERS"
    out.print(f"  {len(wanting)} rules want it; a scan of all {len(index):,} finds {agrees}")
    out.print(f"  one of them: {escape(_spelled(index, wanting[0]))}")
    _batch(out, index, workload)
    _update(out, index, wanting[0], event)
    out.print("\nHow the rules are kept:")
    out.print(_indented(str(index.describe())))
    out.print("\nEverything about the index: docs/engine.md")


def _batch(out: Console, index: "tg.Index", workload: "Trade") -> None:
    events = workload.events(EVENTS)
    index.match_batch(events)  # loads the kernels
    start = time.perf_counter()
    pairs = index.match_batch(events)
    took = time.perf_counter() - start
    out.print(f"\nA batch of {EVENTS:,} events, as an Arrow table:")
    out.print(f"  {pairs.num_rows:,} pairs of an event and a rule, in {1e3 * took:.1f} ms just now")


def _update(out: Console, index: "tg.Index", id: str, event: Mapping[str, Any]) -> None:
    low = event["price"] + 1
    index.update(id, low=low, high=low + 1)
    out.print(f"\nIts range moves: {escape(_spelled(index, id))}")
    answer = "still wants" if id in index.match(event) else "no longer wants"
    out.print(f"  {id} {answer} the event:")
    out.print(_indented(str(index.explain(id, event)), "    "))


def _scan(workload: "Trade", events: Any) -> list[str]:
    """The ids of all rules that want the one event, found without the index."""
    points = workload.points(events)
    held = [
        (lows <= points[attribute]) & (points[attribute] <= highs)
        for attribute, (lows, highs) in workload.ranges.items()
    ]
    found: list[str] = sorted(workload.table()["id"].to_numpy()[reduce(and_, held)].tolist())
    return found


def _spelled(index: "tg.Index", id: str) -> str:
    return f"{id}: {index.get(id).bound}"


def _indented(text: str, by: str = "  ") -> str:
    return "\n".join(by + escape(line) for line in text.splitlines())
