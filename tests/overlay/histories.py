"""What may happen in a network: overlays, actions of clients and delays, made up by hypothesis.

Filters come in families of one shape, so that a subscription can be updated within its own. Beside
families of ranges and lists on few attributes, where much is covered, overlaps and merges, there
are filters at random over the whole language and, without a schema, filters on one attribute that
has values of all families.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property, partial
from random import Random
from typing import Any

from hypothesis import strategies as st

import tidegate as tg
from tests import families as mixed
from tests import generate
from tests.overlay.words import WORDS, WordKind, Words
from tests.overlay.world import Make, World
from tidegate.algebra.histogram import Histogram
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Event, Filter, Kind
from tidegate.overlay.patterns import Patterns
from tidegate.overlay.policy import Choice
from tidegate.overlay.several import Several

Action = tuple[str, int, int, int]

CHOICES = {
    "simple": Choice("simple"),
    "identity": Choice("identity"),
    "covering": Choice("covering"),
    "xroute": Choice("xroute"),
    "subsumption": Choice("subsumption", period=2, rate=4),
    "merging": Choice("merging", size=1, period=2),
    "imperfect merging": Choice("merging", imt=0.2, rate=2),
    "flood": Choice("flood"),
}
PRUNING = {
    "simple, pruned before": Choice("simple", prune="before", share=0.5, period=1),
    "identity, pruned after": Choice("identity", prune="after", share=0.7, period=2),
    "covering, pruned before": Choice("covering", prune="before", period=2),
    "covering, pruned after": Choice("covering", prune="after", changes="better", period=1),
    "covering, pruned as agreed": Choice("covering", prune="after", agreed=True, period=1),
    "subsumption, pruned before and after": Choice(
        "subsumption", prune="both", share=1.0, changes="within", tolerance=0.1, period=2, rate=4
    ),
    "merging, pruned before and after": Choice("merging", prune="both", size=1, period=2),
    "merging by pruning": Choice("merging", by="pruning", imt=0.3, size=1, period=1),
    "replacement": Choice("replacement", share=0.8, period=1),
    "replacement, pruned before and after": Choice("replacement", prune="both", period=1),
}
"""Policies that learn from events, and compositions of them with the others."""


@dataclass(frozen=True)
class Pool:
    """What histories are made of: a kind, filters in families of one shape, and events."""

    kind: Kind
    families: Sequence[Sequence[Filter]]
    events: Sequence[Event]

    def filter(self, family: int, member: int) -> Filter:
        chosen = self.families[family % len(self.families)]
        return chosen[member % len(chosen)]

    def family_of(self, f: Filter) -> Sequence[Filter]:
        """The filters that a filter can be updated to; another one may equal it by chance."""
        return self._families[f, f.shape]

    @cached_property
    def _families(self) -> dict[tuple[Filter, object], Sequence[Filter]]:
        return {(f, f.shape): family for family in self.families for f in family}

    @cached_property
    def _matching(self) -> dict[Filter, list[Event]]:
        every = [f for family in self.families for f in family]
        return {f: [e for e in self.events if f.matches(e)] for f in every}

    def wanted_by(self, f: Filter, pick: int) -> Event:
        """An event that matches a filter, if one does."""
        among = self._matching[f] or self.events
        return among[pick % len(among)]


def words(seed: int = 1) -> Pool:
    rng = Random(seed)
    families: list[list[Filter]] = []
    for size in (1, 2, 3, 5):
        runs = [WORDS[i : i + size] for i in range(len(WORDS) - size + 1)]
        drawn = ["".join(rng.sample(WORDS, size)) for _ in range(4)]
        families.append(list(dict.fromkeys(Words(frozenset(w)) for w in runs + drawn)))
    return Pool(WordKind(), families, [{"word": word} for word in WORDS])


TEMPLATES = [
    "volume < :n",
    "volume >= :n",
    "volume BETWEEN :n AND :m",
    "volume BETWEEN :n AND :m AND flag",
    "volume > :n AND price < :p",
    "volume <= :n OR price > :p",
    "price <= :p AND flag",
    "symbol = :s",
    "symbol = :s AND volume <= :n",
    "symbol >= :s AND NOT (volume = :n)",
    "startswith(symbol, :s) AND volume < :n",
    "contains(symbol, :s)",
    "trade.price > :p",
    "volume IS NULL OR volume < :n",
]
VALUES: dict[str, list[Any]] = {
    "n": [-1, 0, 1, 2, 5, 32768],
    "m": [0, 1, 4, 32768, 2**24],
    "p": [-1.0, 0.0, 0.5, 1.0, 100.0],
    "s": ["a", "ab", "b", "日"],
}
ALWAYS = ["volume IS NULL OR volume IS NOT NULL", "volume >= 0", "price > 0.0D", "symbol > 'a'"]


MIXED = [
    "any = :o OR any = :f",
    "any = :f OR any = :g OR any IS NULL",
    "any >= :f OR any = :o OR any = TRUE",
    "any < :o OR any = :f",
    "(any < :f OR any > :o) AND any IS NOT NULL",
]
"""Templates on an attribute that has values of all families."""


def attributes(seed: int = 7, *, typed: bool = False) -> Pool:
    rng = Random(seed)
    schema = tg.Schema(generate.TYPES) if typed else None
    events = generate.events(rng, 120)
    values = VALUES
    if not typed:
        present = [v for v in mixed.VALUES if v is not None and not isinstance(v, bytes)]
        others = [v for v in present if not isinstance(v, int | float | Decimal)]
        few = [math.nan, math.inf, 0.5, 0.1, Decimal("0.5"), 2**53 + 1, 2.0**53]
        values = VALUES | {"o": others, "f": few, "g": few}
        events = [event | {"any": rng.choice([None, *present])} for event in events]
    kind = Attributes(schema, Histogram.from_events(events, schema))
    families = []
    for text in TEMPLATES if typed else [*TEMPLATES, *MIXED]:
        names = tg.parse(text, schema).parameters
        drawn = [{name: rng.choice(values[name]) for name in names} for _ in range(9)]
        made = [kind.parse(text, **given) for given in drawn]
        families.append(list(dict.fromkeys(f for f in made if f.shape == made[0].shape)))
    families += [[kind.parse(text)] for text in ALWAYS]
    families += [[kind.parse(str(c))] for c in generate.filters(rng, 14, typed)]
    if not typed:
        drawn_mixed = [mixed.on_one_attribute(rng, "any") for _ in range(8)]
        families += [[kind.parse(text)] for text in drawn_mixed]
    return Pool(kind, families, events)


XPATHS = [
    "//quote[price < $n]",
    "/trade[quote/price >= $n]",
    "//quote[@symbol = $s]",
    "/trade/quote[@symbol = $s][price < $n]",
    "//quote[price = $n or @symbol = $s]",
    "//price[. > $n][. <= $m]",
    "/*/quote[position() = $k]",
    "/*/quote[price > $n][position() = $k]",
    "/trade[note[contains(., $s)]]//price",
    "/trade/*[@symbol != $s] | /news[@level > $n]",
]
"""Templates on documents."""
ALWAYS_XPATHS = ["/", "/trade", "//quote", "/*//price", "//*/price", "/news", "/trade[quote][note]"]
ALWAYS_XPATHS += ["/trade/quote[2]", "/trade/*", "//quote/@symbol", "/news[.//text()]"]


def patterns(seed: int = 3) -> Pool:
    """Patterns on small documents about trades and news."""
    rng, kind = Random(seed), Patterns()
    values: dict[str, list[Any]] = {
        "n": [0, 1, 2, 5, 8],
        "m": [2, 5, 9],
        "s": ["a", "ab", "b"],
        "k": [1, 2, 3],
    }
    families: list[list[Filter]] = []
    for text in XPATHS:
        names = tg.parse_xpath(text).parameters
        drawn = [{name: rng.choice(values[name]) for name in names} for _ in range(8)]
        families.append(list(dict.fromkeys(kind.parse(text, **given) for given in drawn)))
    families += [[kind.parse(text)] for text in ALWAYS_XPATHS]
    families.append([kind.parse("/trade[quote][note]", ordered=True)])
    return Pool(kind, families, [trade_document(rng) for _ in range(16)])


def trade_document(rng: Random) -> str:
    def quote() -> str:
        symbol = rng.choice(("", ' symbol="a"', ' symbol="ab"', ' symbol="b"'))
        price = f"<price>{rng.randint(0, 9)}</price>" if rng.random() < 0.8 else ""
        return f"<quote{symbol}>{price}</quote>"

    if rng.random() < 0.25:
        return f'<news level="{rng.randint(0, 9)}">{rng.choice(("", "x", quote()))}</news>'
    parts = [quote() for _ in range(rng.randint(0, 3))]
    if rng.random() < 0.4:
        parts.insert(rng.randint(0, len(parts)), f"<note>{rng.choice(('a', 'b', 'abc'))}</note>")
    return f"<trade>{''.join(parts)}</trade>"


def several(seed: int = 5) -> Pool:
    """Sets of words and patterns in one network."""
    one, other = words(seed), patterns(seed)
    kind = Several(one.kind, other.kind)
    families: list[list[Filter]] = [
        [kind.filter(f) for f in family] for family in (*one.families, *other.families)
    ]
    return Pool(kind, families, [*one.events, *other.events[:10]])


POOLS: dict[str, Callable[[int], Pool]] = {
    "words": words,
    "attributes": attributes,
    "typed attributes": partial(attributes, typed=True),
    "patterns": patterns,
    "several": several,
}


def examples(kind: str, count: int) -> int:
    """How many histories are tried: fewer where documents are looked at one by one."""
    return max(4, count // 5) if kind in ("patterns", "several") else count


@cache
def pool(kind: str, seed: int = 7) -> Pool:
    """One of the pools of a kind, made once."""
    return POOLS[kind](seed)


NUMBER = st.integers(0, 60)
WHAT = st.sampled_from(
    [
        *(["subscribe"] * 5 + ["move"] * 3 + ["publish"] * 2 + ["cancel"] * 3 + ["update"] * 3),
        *(["probe"] * 4),
        *(["advertise"] * 2 + ["unadvertise", "advertise and publish", "tick", "settle"]),
    ]
)
ACTIONS = st.lists(st.tuples(WHAT, NUMBER, NUMBER, NUMBER), min_size=30, max_size=70)
PARENTS = st.lists(st.integers(0, 5), max_size=4).map(
    lambda drawn: [parent % (i + 1) for i, parent in enumerate(drawn)]
)


def ticking(actions: list[Action]) -> list[Action]:
    """The same with a tick of all brokers after every third action."""
    found: list[Action] = []
    for place, action in enumerate(actions):
        found += [action, ("tick", 0, 0, 0)] if place % 3 == 2 else [action]
    return found


def act(world: World, pool: Pool, action: Action) -> None:
    """Let one thing happen. What cannot happen, as there is nobody to do it, does not."""
    what, a, b, c = action
    client = world.clients[a % len(world.clients)]
    standing = world.standing()
    offers = [offer for offer in world.offers if not offer.withdrawn]
    event = pool.events[(b * 61 + c) % len(pool.events)]
    if what == "subscribe":
        world.subscribe(client, pool.filter(b, c))
    elif what == "move":
        for _ in range(1 + b % 4):
            world.move(a)
    elif what == "probe":
        for _ in range(1 + b % 6):
            arrived = world.move(a)
            if arrived is not None and standing:
                wanted = standing[c % len(standing)].versions[-1]
                world.publish(f"{arrived}.0", pool.wanted_by(wanted, b))
    elif what == "publish":
        world.publish(client, event)
    elif what == "cancel" and standing:
        world.cancel(standing[a % len(standing)])
    elif what == "update" and standing:
        subscription = standing[a % len(standing)]
        family = pool.family_of(subscription.versions[-1])
        world.update(subscription, family[c % len(family)])
    elif what == "advertise" and world.advertisements:
        world.advertise(client, pool.filter(b, c))
    elif what == "unadvertise" and offers:
        world.unadvertise(offers[a % len(offers)])
    elif what == "advertise and publish" and world.advertisements:
        f = pool.filter(b, c)
        world.advertise(client, f)
        world.publish(client, pool.wanted_by(f, a))
        world.publish(client, pool.wanted_by(f, a + 1))
    elif what == "tick":
        for name in list(world.brokers):
            if not (a + b) % 3 or name == world.home[client]:
                world.tick(name)
    elif what == "settle":
        world.settle()


def run(
    pool: Pool,
    choice: Choice,
    parents: list[int],
    actions: list[Action],
    *,
    advertisements: bool,
    make: Make = Broker,
) -> World:
    """A world after a history, quiet, and checked; then emptied, and checked again."""
    world = World(pool.kind, choice, parents, advertisements=advertisements, make=make)
    if advertisements:
        world.advertise(world.clients[0], pool.filter(9, 0))
    for action in actions:
        act(world, pool, action)
    finish(world, pool)
    return world


def finish(world: World, pool: Pool) -> None:
    world.settle()
    world.check_quiet(pool.events, exact=not world.choice.widens)
    for subscription in world.standing():
        world.cancel(subscription)
    world.settle()
    world.check_empty()
