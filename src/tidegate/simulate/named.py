"""Workloads by name: templates of filters and events, as a scenario would describe them.

- `trade`: alert rules on a stock exchange, as in the benchmarks: a symbol and a narrow range of
  prices about where it trades, some with a volume, a venue or a side;
- `quotes`: the daily stock quotes that PADRES (Fidler, Jacobsen, Li, Mankovski: "The PADRES
  Distributed Publish/Subscribe System", FIW 2005) is shown with: a class, a symbol, and a bound of
  a price or of the volume. Names of symbols and prices are ours.
"""

from typing import Any, Final

_SYMBOL: Final = {"name": "S", "count": 50, "skew": 1.1}
_PRICE: Final = {"normal": [100, 5]}
_BAND: Final = {
    "symbol": _SYMBOL,
    "low": _PRICE,
    "high": {"uniform": [0.1, 1.43], "above": "low"},
}
_VOLUME: Final = {"integer": [1, 1_000_000]}
_VENUE: Final = {"choice": [f"V{i}" for i in range(10)]}
_SIDE: Final = {"choice": ["buy", "sell"]}
_RULE: Final = "symbol = :symbol AND price BETWEEN :low AND :high"
_QUOTE: Final = "class = 'STOCK' AND symbol = :symbol"

NAMED: Final[dict[str, dict[str, Any]]] = {
    "trade": {
        "filters": [
            {"text": _RULE, "weight": 4.0, "parameters": _BAND, "moves": ["low", "high"]},
            {
                "text": f"{_RULE} AND volume > :volume",
                "weight": 3.0,
                "parameters": {**_BAND, "volume": _VOLUME},
                "moves": ["low", "high"],
            },
            {
                "text": f"{_RULE} AND venue = :venue",
                "weight": 2.0,
                "parameters": {**_BAND, "venue": _VENUE},
                "moves": ["low", "high"],
            },
            {
                "text": f"{_RULE} AND side = :side",
                "weight": 1.0,
                "parameters": {**_BAND, "side": _SIDE},
                "moves": ["low", "high"],
            },
        ],
        "events": {
            "symbol": _SYMBOL,
            "price": _PRICE,
            "volume": _VOLUME,
            "venue": _VENUE,
            "side": _SIDE,
        },
    },
    "quotes": {
        "filters": [
            {"text": _QUOTE, "parameters": {"symbol": _SYMBOL}},
            {
                "text": f"{_QUOTE} AND low < :low",
                "weight": 2.0,
                "parameters": {"symbol": _SYMBOL, "low": _PRICE},
                "moves": ["low"],
            },
            {
                "text": f"{_QUOTE} AND high > :high AND volume > :volume",
                "weight": 2.0,
                "parameters": {"symbol": _SYMBOL, "high": _PRICE, "volume": _VOLUME},
                "moves": ["high", "volume"],
            },
        ],
        "events": {
            "class": "STOCK",
            "symbol": _SYMBOL,
            "low": _PRICE,
            "open": {"uniform": [0, 2], "above": "low"},
            "close": {"uniform": [0, 2], "above": "low"},
            "high": {"uniform": [2, 4], "above": "low"},
            "volume": _VOLUME,
        },
    },
}
