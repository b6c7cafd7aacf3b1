"""Subscriptions whose redundancy is known.

Alert rules on a stock exchange, as in `trade`, but each in a **plot** of its own: a symbol and a
band of prices, with gaps between the bands, so that rules of different plots neither overlap nor
touch. What is in a plot is planted there:

- a rule alone, which nothing makes redundant;
- **duplicates**: a rule, and others that say the same in other words;
- **covered**: a rule, and narrower ones;
- **subsumed**: two rules that overlap crosswise, and one that lies in their union and in neither;
- **mergeable**: a rule cut into pieces that touch;
- **never**: a rule that contradicts itself.

A few rules that match everything lie in no plot.

Invariant: a subscription is of a kind if and only if `Redundant.kinds` says so of its row.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.filters.schema import Schema

KINDS: Final = ("alone", "duplicate", "covered", "subsumed", "mergeable", "never", "always")
SYMBOLS: Final = 2_000
SKEW: Final = 1.1  # the exponent of Zipf's law for the symbols
SHARES: Final = {"duplicate": 0.15, "covered": 0.2, "subsumed": 0.05, "mergeable": 0.1}
"""Of the plots, those with such a group; 2% are never, and the rest is alone."""

_NEVER: Final = 0.02
_BAND: Final = 10.0  # prices between the starts of two bands
_WIDE: Final = 6.0  # of them, those that rules may ask for
_ALWAYS: Final = (
    "price IS NULL OR price IS NOT NULL",
    "TRUE",
    "NOT (venue IS NULL) OR venue IS NULL",
)
SCHEMA: Final = Schema(
    {"symbol": "string", "price": "double", "volume": "bigint", "venue": "string", "note": "string"}
)


@dataclass(frozen=True)
class Redundant:
    """Subscriptions as columns `id`, `filter` and parameters, and of each row the kind it is."""

    table: pa.Table
    kinds: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.kinds)

    def planted(self) -> dict[str, int]:
        """How many there are of each kind; of duplicates, those beyond the first."""
        return {kind: int((self.kinds == kind).sum()) for kind in KINDS}


def redundant(count: int, seed: int, *, literal: bool = False) -> Redundant:
    """About so many subscriptions, at least; `literal` ones have constants in their texts.

    >>> rules = redundant(1_000, seed=1)
    >>> sum(rules.planted().values()) == len(rules) >= 1_000
    True
    """
    random = np.random.default_rng(seed)
    bands = np.zeros(SYMBOLS, np.int64)
    upto = np.cumsum(np.arange(1, SYMBOLS + 1, dtype=np.float64) ** -SKEW)
    rules: list[tuple[str, dict[str, object]]] = []
    kinds: list[str] = []
    for text in _ALWAYS:
        rules.append((text, {}))
        kinds.append("always")
    while len(rules) < count:
        draws = random.random((4_096, 8))
        symbols = np.searchsorted(upto, draws[:, 0] * upto[-1], side="right").tolist()
        for symbol, draw in zip(symbols, draws.tolist(), strict=True):
            symbol = min(symbol, SYMBOLS - 1)
            plot = _Plot(f"S{symbol:04}", float(bands[symbol]) * _BAND, *draw[2:])
            bands[symbol] += 1
            for kind, text, values in plot.rules(_kind(draw[1])):
                rules.append((text, values))
                kinds.append(kind)
            if len(rules) >= count:
                break
    return Redundant(_table(rules, literal), np.array(kinds))


def _kind(draw: float) -> str:
    for kind, share in {**SHARES, "never": _NEVER}.items():
        if draw < share:
            return kind
        draw -= share
    return "alone"


_Rule = tuple[str, str, dict[str, object]]


@dataclass(frozen=True)
class _Plot:
    """A symbol, a band of prices from `low` on, and numbers at random between 0 and 1."""

    symbol: str
    low: float
    width: float
    start: float
    form: float
    volume: float
    venue: float
    many: float

    def rules(self, kind: str) -> Iterator[_Rule]:
        first, last = self._prices()
        head = "symbol = :symbol AND "
        tail, own = self._options()
        whole = {"symbol": self.symbol, "low": first, "high": last, **own}
        between = "price BETWEEN :low AND :high"
        if kind == "never":
            yield kind, head + "price > :high AND price < :low" + tail, whole
            return
        if kind == "subsumed":
            yield from self._crossing(head, tail, own, first, last)
            return
        if kind == "mergeable":
            yield from self._pieces(head, tail, own, first, last)
            return
        yield "alone", head + between + tail, whole
        for i in range(1 + int(self.many * 3)) if kind != "alone" else ():
            if kind == "duplicate":
                said = (
                    f"price >= :low AND price <= :high AND symbol = :symbol{tail}",
                    f"{between} AND symbol IN (:symbol){tail}",
                    f"NOT (price < :low OR price > :high) AND symbol = :symbol{tail}",
                )
                yield kind, said[i % len(said)], whole
            else:
                step = (last - first) / 10
                narrow = {**whole, "low": first + step * (i + 1), "high": last - step * (i % 2)}
                more = " AND volume > 100" if i % 2 else ""
                yield kind, head + between + tail + more, narrow

    def _crossing(
        self, head: str, tail: str, own: dict[str, object], first: float, last: float
    ) -> Iterator[_Rule]:
        """Two boxes of prices and volumes across each other, and one in their union."""
        step = (last - first) / 10
        text = f"{head}price BETWEEN :low AND :high AND volume BETWEEN :least AND :most{tail}"
        for kind, places, volumes in (
            ("alone", (0, 6), (0, 1_000)),
            ("alone", (4, 10), (100, 900)),
            ("subsumed", (2, 8), (200, 800)),
        ):
            low, high = (first + step * place for place in places)
            values = {"low": low, "high": high, "least": volumes[0], "most": volumes[1]}
            yield kind, text, {"symbol": self.symbol, **own, **values}

    def _pieces(
        self, head: str, tail: str, own: dict[str, object], first: float, last: float
    ) -> Iterator[_Rule]:
        """A range of prices in pieces: each starts where the one before it ends."""
        pieces = 2 + int(self.many * 3)
        ends = [first + (last - first) * i / pieces for i in range(pieces + 1)]
        for i, (low, high) in enumerate(itertools.pairwise(ends)):
            text = f"{head}price >= :low AND price {'<=' if i == pieces - 1 else '<'} :high{tail}"
            yield "mergeable", text, {"symbol": self.symbol, "low": low, "high": high, **own}

    def _prices(self) -> tuple[float, float]:
        width = 1 + self.width * (_WIDE - 1)
        first = self.low + self.start * (_WIDE - width)
        return round(first, 2), round(first + width, 2)

    def _options(self) -> tuple[str, dict[str, object]]:
        """What a rule asks for beside its symbol and its prices."""
        if self.form < 0.5:
            return "", {}
        if self.form < 0.7:
            return " AND venue = :venue", {"venue": f"V{int(self.venue * 10)}"}
        if self.form < 0.8:
            return f" AND venue IN ('V{int(self.venue * 5)}', 'V{5 + int(self.venue * 5)}')", {}
        if self.form < 0.95:
            return " AND venue <> :venue AND note IS NOT NULL", {
                "venue": f"V{int(self.venue * 10)}"
            }
        return " AND note LIKE '%halt%'", {}


def _table(rules: list[tuple[str, dict[str, object]]], literal: bool) -> pa.Table:
    names = dict(_PARAMETERS.items())
    columns = {name: [values.get(name) for _, values in rules] for name in names}
    texts = [text for text, _ in rules]
    ids = [f"rule-{i:07}" for i in range(len(rules))]
    if not literal:
        typed = {name: pa.array(columns[name], kind) for name, kind in names.items()}
        return pa.table({"id": ids, "filter": texts, **typed})
    written = [_literal(text, values) for text, values in rules]
    return pa.table({"id": ids, "filter": written})


_PARAMETERS: Final = {
    "symbol": pa.string(),
    "low": pa.float64(),
    "high": pa.float64(),
    "least": pa.int64(),
    "most": pa.int64(),
    "venue": pa.string(),
}


def _literal(text: str, values: dict[str, object]) -> str:
    for name, value in values.items():
        spelled = f"'{value}'" if isinstance(value, str) else f"{value!r}"
        if isinstance(value, float):
            spelled += "D"
        text = text.replace(f":{name}", spelled)
    return text
