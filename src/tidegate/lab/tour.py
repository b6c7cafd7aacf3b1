"""A tour of the language for people who see it for the first time."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.rule import Rule
from rich.table import Table

import tidegate as tg

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
    "lower(symbol) = 'ibm'",
    "price IN ()",
    "price < 10 < 20",
    "symbol = 'IBM",
)


def tour(out: Console) -> None:
    """Print the tour."""
    out.print(Rule("1. What a filter says"))
    out.print("A filter is a condition in SQL's words. It is read once and means what it means in")
    out.print("Spark SQL's WHERE, NULLs included.\n")
    for meaning, text in _SENTENCES:
        out.print(f"  [dim]{meaning}:[/]")
        out.print(f"    {escape(str(tg.parse(text)))}")

    out.print(Rule("2. Why an event passes or not"))
    out.print(f"The event: {escape(str(_EVENT))}\n")
    for text in (_SENTENCES[0][1], _SENTENCES[1][1], "currency <> 'USD'"):
        out.print(f"  [bold]{escape(text)}[/]")
        explanation = str(tg.parse(text).explain(_EVENT))
        out.print("\n".join("    " + escape(line) for line in explanation.splitlines()))

    out.print(Rule("3. How filters relate"))
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

    out.print(Rule("4. A parameter moves, the filter stays"))
    alert = tg.parse("symbol = 'IBM' AND price < :limit")
    for limit in (110.0, 100.0):
        passes = "passes" if alert.bind(limit=limit).matches(_EVENT) else "does not pass"
        out.print(f"  with limit = {limit}: the event {passes}")

    out.print(Rule("5. What is refused, and what to write instead"))
    for text in _REFUSED:
        try:
            tg.parse(text)
        except tg.TidegateError as error:
            out.print("\n".join("  " + escape(line) for line in str(error).splitlines()) + "\n")
    out.print("Everything about the language: docs/language.md")
