"""Which filters can a policy do anything with?

Bittner and Hinze ask which classes of subscriptions an optimisation takes, and rate covering and
merging as poor, because the systems of their time knew conjunctions only. Whether that is so of a
policy is tried: it is given **probes**, a few filters of one class that stand in the relation by
which the policy saves something, and nothing else. The filters are subscribed to at one of two
brokers, and some events are published at both; the class is *handled* in a probe if what stands in
the other broker's table is not just these filters, as they are.

Classes: **conjunctions** of equalities and ranges; **lists** (IN, NOT IN and !=); **trees** of ANDs
and ORs; **texts** (LIKE, contains, endswith). In every other probe the filters are related by what
makes the class, in the others by a range of prices beside it.

Relations:

- *equal*: the same twice, differently written where the class allows it;
- *covered*: one filter covers another one;
- *subsumed*: two cover a third one, and neither does alone;
- *adjacent*: two have a union that is one filter; *near*: they would, but for a small gap;
- *implied*: a condition of one implies a condition of another, and nothing else relates the two;
- *alike*: two have a condition in common that hardly any event meets, and differ otherwise;
- *unrelated*: several that have nothing to do with each other.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

from tidegate.algebra.distribution import Uniform
from tidegate.filters.attribute import Attribute
from tidegate.filters.schema import Schema
from tidegate.lab.comparison import tables
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings
from tidegate.simulate.cost import FREE
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.topology import line

DRAWS: Final = 2  # probes of each class, relation and way
_UNRELATED: Final = 4  # filters
_EVENTS: Final = 120  # at each broker, which goes by them
_LONG: Final = 15.0  # seconds, which are as many ticks: what is done now and then has been done
_ROUNDS: Final = 2  # of that: in the second one, neighbours know of each other
_WORDS: Final = ("red", "green", "blue", "white")
_TITLES: Final = [f"the {how}{word} sea" for word in _WORDS for how in ("", "deep ", "wine-")]

SCHEMA: Final = Schema(
    {
        "symbol": Attribute("string", values=[f"S{i}" for i in range(10)]),
        "venue": Attribute("string", values=[f"V{i}" for i in range(10)]),
        "side": Attribute("string", values=["buy", "sell"]),
        "title": Attribute("string", values=_TITLES),
        "price": Attribute("double", low=0, high=1_000),
        "volume": Attribute("bigint", low=0, high=100_000),
    }
)


def ranges(attribute: str, random: Random) -> dict[str, list[str]]:
    """Ranges of an attribute in each of the relations.

    >>> ranges("x", Random(1))["covered"]
    ['x BETWEEN 268 AND 298', 'x BETWEEN 273 AND 293']
    """
    low = random.randint(200, 500)
    middle, high = low + 15, low + 30
    return {
        "equal": [f"{attribute} BETWEEN {low} AND {high}", _span(attribute, low, f"<= {high}")],
        "covered": [
            f"{attribute} BETWEEN {low} AND {high}",
            f"{attribute} BETWEEN {low + 5} AND {high - 5}",
        ],
        "subsumed": [
            f"{attribute} BETWEEN {low} AND {middle + 2}",
            f"{attribute} BETWEEN {middle - 2} AND {high}",
            f"{attribute} BETWEEN {low + 5} AND {high - 5}",
        ],
        "adjacent": [
            _span(attribute, low, f"< {middle}"),
            _span(attribute, middle, f"<= {high}"),
        ],
        "near": [
            _span(attribute, low, f"< {middle}"),
            _span(attribute, middle + 1, f"<= {high}"),
        ],
        "implied": [
            f"{attribute} < {low} AND side = 'buy'",
            f"{attribute} < {middle} AND side = 'sell'",
            f"{attribute} < {high} AND side IS NULL",
        ],
        "alike": [
            f"{attribute} < {low} AND volume = {middle}",
            f"{attribute} > {high} AND volume = {middle}",
        ],
        "unrelated": [f"{attribute} BETWEEN {low} AND {high}"],
    }


def _span(attribute: str, low: int, high: str) -> str:
    return f"{attribute} >= {low} AND {attribute} {high}"


def _conjunctions(random: Random, *, within: bool) -> dict[str, list[str]]:
    symbol, venue = random.randrange(10), random.randrange(10)
    core = f"symbol = 'S{symbol}'" if within else f"symbol = 'S{symbol}' AND venue = 'V{venue}'"
    return _beside(core, ranges("price", random))


def _lists(random: Random, *, within: bool) -> dict[str, list[str]]:
    a, b, c = (f"'V{i}'" for i in random.sample(range(10), 3))
    core = f"symbol = 'S{random.randrange(10)}' AND price BETWEEN 10 AND 11"
    if not within:
        return _beside(f"venue IN ({a}, {b}) AND symbol != 'S0'", ranges("price", random))
    return _beside(
        core,
        {
            "equal": [f"venue IN ({a}, {b})", f"venue IN ({b}, {a}, {b})"],
            "covered": [f"venue NOT IN ({a})", f"venue NOT IN ({a}, {b})"],
            "subsumed": [
                f"venue IN ({a}, {b})",
                f"venue IN ({b}, {c})",
                f"venue IN ({a}, {c})",
            ],
            "adjacent": [f"venue NOT IN ({a}, {b})", f"venue IN ({a}, {c})"],
            "near": [f"venue NOT IN ({a}, {b}, {c})", f"venue IN ({a}, {b})"],
            "implied": [
                f"venue IN ({a}, {b}) AND side = 'buy'",
                f"venue IN ({a}, {b}, {c}) AND side = 'sell'",
                "venue IS NOT NULL AND side IS NULL",
            ],
            "alike": [
                f"venue IN ({a}, {b}) AND volume = 7",
                f"venue NOT IN ({a}, {c}) AND volume = 7",
            ],
            "unrelated": [f"venue NOT IN ({a}, {b})"],
        },
    )


def _trees(random: Random, *, within: bool) -> dict[str, list[str]]:
    symbol, venue = f"symbol = 'S{random.randrange(10)}'", f"venue = 'V{random.randrange(10)}'"
    related = ranges("price", random)
    if not within:
        return _beside(f"({symbol} OR ({venue} AND side = 'buy'))", related)
    found = {
        relation: [f"({symbol} AND {text}) OR ({venue} AND {text})" for text in texts]
        for relation, texts in related.items()
    }
    alike = [f"volume = 7 AND ({one} OR {venue})" for one in (symbol, "side = 'buy'")]
    return {**found, "alike": alike}


def _texts(random: Random, *, within: bool) -> dict[str, list[str]]:
    word, other = random.sample(_WORDS, 2)
    if not within:
        return _beside(f"title LIKE '%{word} s_a'", ranges("price", random))
    wide, narrow = f"contains(title, '{word}')", f"title LIKE '%deep {word}%'"
    tail, few = f"endswith(title, '{word} sea')", "price BETWEEN 10 AND 11"
    related = ranges("price", random)["subsumed"]
    return {
        "equal": [wide, f"title LIKE '%{word}%'"],
        "covered": [wide, narrow],
        "subsumed": [
            f"{wide} AND {related[0]}",
            f"{tail} AND {related[1]}",
            f"endswith(title, 'deep {word} sea') AND {related[2]}",
        ],
        "adjacent": [
            f"{tail} AND NOT contains(title, 'deep')",
            f"{tail} AND contains(title, 'deep')",
        ],
        "near": [
            f"{tail} AND title NOT LIKE '%deep%' AND title NOT LIKE '%wine%' AND {few}",
            f"{tail} AND contains(title, 'deep') AND {few}",
        ],
        "implied": [
            f"endswith(title, 'deep {word} sea') AND side = 'buy'",
            f"{tail} AND side = 'sell'",
            f"{wide} AND side IS NULL",
        ],
        "alike": [f"{wide} AND volume = 7", f"title LIKE '%{other} s_a' AND volume = 7"],
        "unrelated": [f"{wide} AND endswith(title, 'sea') AND title NOT LIKE '%wine%'"],
    }


def _beside(core: str, related: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """A condition of the class, and another one by which the filters are related."""
    return {key: [f"{core} AND {text}" for text in texts] for key, texts in related.items()}


CLASSES: Final[Mapping[str, Callable[..., dict[str, list[str]]]]] = {
    "conjunctions": _conjunctions,
    "lists": _lists,
    "trees": _trees,
    "texts": _texts,
}


def probes(name: str, relation: str) -> list[list[str]]:
    """The probes of a class by one relation, as texts of filters.

    >>> len(probes("trees", "covered")), len(probes("trees", "covered")[0])
    (4, 2)
    """
    made = []
    times = _UNRELATED if relation == "unrelated" else 1
    for draw in range(DRAWS):
        for within in (False, True):
            random = Random(f"{name}/{draw}/{within}")
            drawn = [CLASSES[name](random, within=within)[relation] for _ in range(times)]
            made.append([text for texts in drawn for text in texts])
    return made


def handled(choice: Choice, relations: Sequence[str]) -> dict[str, float] | None:
    """The share of each class's probes in which a policy does anything; None without relations."""
    if not relations:
        return None
    found = {}
    for name in CLASSES:
        tried = [_changes(choice, texts) for each in relations for texts in probes(name, each)]
        found[name] = sum(tried) / len(tried)
    return found


def _changes(choice: Choice, texts: Sequence[str]) -> bool:
    """Whether a neighbour's table has something else than these filters, as they are."""
    kind = Attributes(SCHEMA, Uniform(SCHEMA))
    settings, setup = Settings(learn=_EVENTS), Setup(memory=0, check="off")
    network = Network(line(2), kind, choice, settings, setup, FREE)
    ann, bob = network.client("ann", "b0"), network.client("bob", "b1")
    filters = [kind.parse(text) for text in texts]
    for f in filters:
        for client in (ann, bob):  # both, as neighbours may agree on what they do
            client.subscribe(f)
    network.run()
    random = Random(1)
    for turn in range(1, _ROUNDS + 1):
        for _ in range(_EVENTS):
            for client in (ann, bob):
                client.publish(_event(random))
        network.run(_LONG * turn)
    return tables.entries(network)["b1", "b0"] != Counter(filters)


def _event(random: Random) -> dict[str, Any]:
    return {
        "symbol": f"S{random.randrange(10)}",
        "venue": f"V{random.randrange(10)}",
        "side": random.choice(("buy", "sell")),
        "title": random.choice(_TITLES),
        "price": random.uniform(0, 1_000),
        "volume": random.randint(0, 100_000),
    }
