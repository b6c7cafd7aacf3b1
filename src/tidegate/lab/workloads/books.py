"""Which books are on auction?

Events of ten integer attributes, as Bittner and Hinze publish them in "Subscription Tree Pruning: A
Structure-Independent Routing Optimization for General-Purpose Publish/Subscribe Systems" (2006).
They follow what its authors counted on eBay, which the paper does not print (they did so in "Event
Distributions in Online Book Auctions", 2006, whose figures we did not have). Ours follow the
`Market`: every figure of it is a choice of ours, with its reason beside it.

Attributes are integers, since the paper's prototype compares nothing else. A title, an author, a
category and a format are numbers without meaning, the popular ones first. A special attribute is 0
(none), 1 (first edition), 2 (signed) or 3 (both); conditions are ordered, 0 is the worst. A price
is in cents; `ending` says in how many hours the auction ends.

Invariant: a title has the same author and category in all events of a market with the same seed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Columns: TypeAlias = Mapping[str, NDArray[np.int32]]

ATTRIBUTES: Final = (
    "title",
    "author",
    "category",
    "format",
    "special",
    "condition",
    "price",
    "buy_now",
    "bids",
    "ending",
)


@dataclass(frozen=True)
class Market:
    """How often which values occur."""

    titles: int = 20_000
    """So many that most titles are wanted by few: 200,000 subscriptions are ten for each."""

    title_skew: float = 0.87
    """Zipf's exponent of titles: a long tail. The ten most offered are 16% of the offers."""

    authors: int = 5_000
    """Four titles each on average."""

    author_skew: float = 0.6
    """Zipf's exponent of the authors of titles: half of the authors have at most two or three."""

    categories: int = 20
    """About as many kinds of fiction as a seller chooses from."""

    category_skew: float = 0.8
    """Zipf's exponent of the categories of titles: the largest has a fifth of them."""

    formats: tuple[float, ...] = (0.6, 0.33, 0.05, 0.02)
    """Paperback, hardcover, audio book, other."""

    specials: tuple[float, ...] = (0.88, 0.08, 0.03, 0.01)
    """None, first edition, signed, both."""

    conditions: tuple[float, ...] = (0.05, 0.2, 0.3, 0.2, 0.25)
    """Acceptable, good, very good, like new, new."""

    median_price: float = 600.0
    """Of a book that is not special, in cents; prices are log-normal, as prices of one kind are."""

    price_spread: float = 0.9
    """The deviation of the logarithm: two thirds lie between 244 and 1,476 cents."""

    premium: float = 3.0
    """A special book costs so many times as much, so price and speciality are not independent."""

    buy_now: float = 0.3
    """The share of offers at a fixed price, which get no bids."""

    unbid: float = 0.55
    """The share of auctions without a bid; after each bid, it is as likely to be the last one."""

    duration: int = 168
    """Hours that an auction lasts: a week. Events are spread evenly over them."""


class Books:
    """The books of a market: which title has which author and category.

    >>> books = Books(Market(), seed=1)
    >>> offered = books.offers(np.random.default_rng(2), 1_000)
    >>> tuple(offered) == ATTRIBUTES
    True
    """

    def __init__(self, market: Market, seed: int) -> None:
        self.market: Final = market
        random = np.random.default_rng([seed, 0])
        self._authors = _zipf(random, market.titles, market.authors, market.author_skew)
        self._categories = _zipf(random, market.titles, market.categories, market.category_skew)

    def offers(self, random: np.random.Generator, count: int) -> Columns:
        """Events, as columns of integers."""
        market = self.market
        title = _zipf(random, count, market.titles, market.title_skew)
        special = random.choice(len(market.specials), count, p=market.specials)
        price = market.median_price * np.exp(random.normal(0, market.price_spread, count))
        price = np.clip(np.where(special > 0, price * market.premium, price), 1, 1_000_000)
        buy_now = random.random(count) < market.buy_now
        bids = np.where(buy_now, 0, random.geometric(market.unbid, count) - 1)
        columns = {
            "title": title,
            "author": self._authors[title],
            "category": self._categories[title],
            "format": random.choice(len(market.formats), count, p=market.formats),
            "special": special,
            "condition": random.choice(len(market.conditions), count, p=market.conditions),
            "price": price,
            "buy_now": buy_now,
            "bids": bids,
            "ending": random.integers(0, market.duration, count),
        }
        return {name: column.astype(np.int32) for name, column in columns.items()}


def _zipf(
    random: np.random.Generator, count: int, values: int, exponent: float
) -> NDArray[np.int64]:
    """Numbers below `values`: number k with a probability proportional to (k + 1) ** -exponent."""
    upto = np.cumsum(np.arange(1, values + 1, dtype=np.float64) ** -exponent)
    found: NDArray[np.int64] = np.searchsorted(upto, random.random(count) * upto[-1], side="right")
    return np.minimum(found, values - 1, out=found)
