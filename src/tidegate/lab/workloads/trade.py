"""What do alert rules on a stock exchange look like?

A workload to match, drawn from a seed: rules that name a symbol and a narrow range of prices. It
gives the rules as columns of constants for a few texts with parameters, trades as an Arrow table,
and both again as plain arrays of numbers in the narrowest type, as `lab.workloads.matching` does.

Invariant: rule i wants trade j if and only if `lows[i] <= points[j] <= highs[i]` on every attribute
of `Trade.ranges`. Prices are whole cents there, and doubles in the tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.filters.schema import Schema
from tidegate.lab.workloads.matching import Integers, Points, Ranges

SYMBOLS: Final = 5_000
SKEW: Final = 1.1  # the exponent of Zipf's law for the symbols
VENUES: Final = tuple(f"V{i}" for i in range(10))
SIDES: Final = ("buy", "sell")
OPTIONS: Final = {"volume": 0.3, "venue": 0.3, "side": 0.2}  # how many of the rules ask for it
SPREAD: Final = 0.05  # of the prices, and of what the rules watch for, about a symbol's own price
WIDTH: Final = 0.0143  # the widest range of prices, as a share of the price; the mean is half of it


@dataclass(frozen=True)
class Trade:
    """Alert rules: a symbol, a range of prices in cents, and what `asks` says row by row.

    Symbols, venues and sides are numbers; where a rule does not ask for one, it is arbitrary.
    """

    schema: Schema
    centres: NDArray[np.int64]  # of each symbol, in cents
    symbols: NDArray[np.uint16]
    lows: NDArray[np.uint16]
    highs: NDArray[np.uint16]
    asks: Mapping[str, NDArray[np.bool_]]  # one for each of `OPTIONS`
    volumes: NDArray[np.int32]
    venues: NDArray[np.uint8]
    sides: NDArray[np.uint8]
    seed: int

    def __len__(self) -> int:
        return len(self.symbols)

    def table(self) -> pa.Table:
        """The subscriptions as `add_many` reads them: one of eight texts, and its parameters."""
        form = sum(asked.astype(np.int8) << k for k, asked in enumerate(self.asks.values()))
        ids = pa.array(np.arange(len(self))).cast(pa.string())
        columns = {
            "id": pc.binary_join_element_wise("rule", ids, "-"),
            "filter": pa.DictionaryArray.from_arrays(pa.array(form), _rules()),
            "symbol": _symbols().take(pa.array(self.symbols)),
            "low": pa.array(self.lows / 100),
            "high": pa.array(self.highs / 100),
            "volume": pa.array(self.volumes.astype(np.int64), mask=~self.asks["volume"]),
            "venue": pa.array(VENUES).take(pa.array(self.venues, mask=~self.asks["venue"])),
            "side": pa.array(SIDES).take(pa.array(self.sides, mask=~self.asks["side"])),
        }
        return pa.table(columns)

    def events(self, count: int, seed: int = 0) -> pa.Table:
        """Trades: the symbols by Zipf's law too, prices about the symbol's own."""
        random = np.random.default_rng([self.seed, 1, seed])
        symbols = _zipf(random, count)
        return pa.table(
            {
                "symbol": _symbols().take(pa.array(symbols)),
                "price": pa.array(_prices(random, self.centres[symbols]) / 100),
                "volume": pa.array(_volumes(random, count)),
                "venue": pa.array(VENUES).take(pa.array(random.integers(0, len(VENUES), count))),
                "side": pa.array(SIDES).take(pa.array(random.integers(0, len(SIDES), count))),
            }
        )

    @property
    def ranges(self) -> Ranges:
        """The ends of every rule: prices in cents, texts as numbers."""
        return {
            "symbol": (self.symbols, self.symbols),
            "price": (self.lows, self.highs),
            "volume": (
                np.where(self.asks["volume"], self.volumes + 1, 0).astype(np.int32),
                np.full(len(self), np.iinfo(np.int32).max, np.int32),
            ),
            "venue": self._either("venue", self.venues),
            "side": self._either("side", self.sides),
        }

    def _either(
        self, name: str, codes: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        asked = self.asks[name]
        zero, last = np.uint8(0), np.uint8(255)
        return np.where(asked, codes, zero), np.where(asked, codes, last)

    def points(self, events: pa.Table) -> Points:
        """The values of events, in the types of the ranges."""
        return {
            "symbol": _codes(events["symbol"], _symbols(), np.uint16),
            "price": np.rint(events["price"].to_numpy() * 100).astype(np.uint16),
            "volume": events["volume"].to_numpy().astype(np.int32),
            "venue": _codes(events["venue"], pa.array(VENUES), np.uint8),
            "side": _codes(events["side"], pa.array(SIDES), np.uint8),
        }


def trade(count: int, seed: int, part: int = 0) -> Trade:
    """Alert rules on 5,000 symbols, popular by Zipf's law with exponent 1.1.

    A rule names a symbol and a range of prices, at most 1.43% of the symbol's own price wide, about
    a price that it watches for. 30% ask for more than a volume, 30% for a venue, 20% for a side,
    independently. Prices of events and those watched for are normal about the symbol's own with a
    deviation of 5%, in whole cents. About 0.084% of the subscriptions match an event: 840 of a
    million. Each `part` has other rules on the same symbols.

    >>> workload = trade(1_000, seed=1)
    >>> workload.table().column_names
    ['id', 'filter', 'symbol', 'low', 'high', 'volume', 'venue', 'side']
    """
    random = np.random.default_rng(seed)
    own = np.clip(100 * np.exp(random.normal(np.log(80), 0.6, SYMBOLS)), 1_000, 45_000)
    centres = own.astype(np.int64)
    random = np.random.default_rng([seed, part]) if part else random
    symbols = _zipf(random, count)
    watched = _prices(random, centres[symbols])
    reach = (watched * random.random(count) * WIDTH / 2).astype(np.int64)
    asks = {name: random.random(count) < share for name, share in OPTIONS.items()}
    return Trade(
        Schema(
            {
                "symbol": "string",
                "price": "double",
                "volume": "bigint",
                "venue": "string",
                "side": "string",
            }
        ),
        centres,
        symbols.astype(np.uint16),
        (watched - reach).astype(np.uint16),
        (watched + reach).astype(np.uint16),
        asks,
        _volumes(random, count).astype(np.int32),
        random.integers(0, len(VENUES), count, np.uint8),
        random.integers(0, len(SIDES), count, np.uint8),
        seed,
    )


def narrowed(workload: Trade, times: int) -> Trade:
    """The same rules with ranges of prices so many times narrower, so that fewer match an event."""
    middle = (workload.lows.astype(np.int64) + workload.highs) // 2
    reach = (workload.highs.astype(np.int64) - workload.lows) // (2 * times)
    return replace(
        workload,
        lows=(middle - reach).astype(np.uint16),
        highs=(middle + reach).astype(np.uint16),
    )


def _zipf(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Numbers of symbols: number k with a probability proportional to (k + 1) ** -SKEW."""
    upto = np.cumsum(np.arange(1, SYMBOLS + 1, dtype=np.float64) ** -SKEW)
    draws = random.random(count) * upto[-1]
    found: NDArray[np.int64] = np.searchsorted(upto, draws, side="right")
    return np.minimum(found, SYMBOLS - 1, out=found)


def _prices(random: np.random.Generator, centres: NDArray[np.int64]) -> NDArray[np.int64]:
    """Prices in cents about the centres; all of them are below 65,536."""
    moved = 1 + SPREAD * random.normal(size=len(centres))
    cents: NDArray[np.int64] = np.clip(centres * moved, 1, 60_000).astype(np.int64)
    return cents


def _volumes(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Volumes of many sizes, from 1 to 1,000,000."""
    lots: NDArray[np.int64] = np.exp(random.random(count) * np.log(1e6)).astype(np.int64)
    return lots


def _symbols() -> pa.Array:
    return pa.array([f"S{k:04}" for k in range(SYMBOLS)])


def _rules() -> pa.Array:
    """The eight texts; bit k of a text's number says whether it asks for option k."""
    ends = ("volume > :volume", "venue = :venue", "side = :side")
    texts = []
    for form in range(8):
        parts = ["symbol = :symbol", "price BETWEEN :low AND :high"]
        parts += [end for k, end in enumerate(ends) if form >> k & 1]
        texts.append(" AND ".join(parts))
    return pa.array(texts)


def _codes(
    texts: pa.ChunkedArray, known: pa.Array, kind: type[np.unsignedinteger[Any]]
) -> Integers:
    found: Integers = pc.index_in(texts, known).to_numpy().astype(kind)
    return found
