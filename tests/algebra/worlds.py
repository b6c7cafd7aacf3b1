"""The worlds that relations are tried in, and how conditions are drawn from them.

Constants come from small fixed pools, so that conditions meet, touch and miss each other often;
a *family* of conditions starts from a few and goes on by narrowing, widening, negating and
rewriting what it has.
"""

import datetime as dt
import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any, Final

from tests.algebra.enumeration import (
    DOMAINS,
    NAMES,
    Condition,
    World,
    asked,
    beside,
    both,
    either,
    negation,
)
from tidegate import Attribute, Schema
from tidegate.filters.literals import spell
from tidegate.filters.values import Constant

P: Final = 2**53
NAN: Final = float("nan")
INFINITY: Final = float("inf")
LARGE: Final = (P - 1, P, P + 1, float(P - 1), float(P), float(P + 2))
LARGE_DECIMALS: Final = (Decimal(P - 1), Decimal(P), Decimal(P + 1))
COMPARISONS: Final = ("=", "<", "<=", ">", ">=", "!=", "<=>", "IS DISTINCT FROM")
QUESTIONS: Final = ("IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE")
FIRST_DAY: Final = dt.date(2024, 2, 29)
NOON: Final = dt.datetime(2024, 2, 29, 12)
MIDNIGHT: Final = dt.datetime(2024, 3, 1)


@dataclass(frozen=True)
class Pool:
    """The constants an attribute is compared with, by kind; the prefixes asked for; conditions on
    text, `#` standing for the attribute."""

    constants: tuple[tuple[Constant, ...], ...]
    prefixes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """A world, and its predicates by attribute and by the kind of constant they have."""

    world: World
    kinds: Mapping[str, Sequence[Sequence[Condition]]] = field(repr=False)


def setting(
    pools: Mapping[str, Pool], schema: Schema | None = None, more: Iterable[Any] = ()
) -> Setting:
    """The world whose predicates the pools give; `more` are values beyond those at constants."""
    texts = {name: _by_kind(name, pool) for name, pool in pools.items()}
    constants = {
        name: [c for kind in pool.constants for c in kind] + list(pool.prefixes)
        for name, pool in pools.items()
    }
    further = list(more)
    world = World(
        {name: [*dict.fromkeys(text for kind in texts[name] for text in kind)] for name in NAMES},
        {name: [*beside(constants[name]), *further] for name in NAMES},
        schema,
    )
    kinds = {
        name: [[world.leaves[text] for text in kind] for kind in texts[name]] for name in NAMES
    }
    return Setting(world, kinds)


def _by_kind(name: str, pool: Pool) -> list[list[str]]:
    """The predicates by kind; the last kind are those about NULL."""
    kinds = [_comparisons(name, kind, pool) for kind in pool.constants]
    if pool.texts:
        kinds.append([text.replace("#", name) for text in pool.texts])
    ends = ("IS NULL", "IS NOT NULL", "<=> NULL", "= NULL", "< NULL", "IN (NULL)")
    kinds.append([f"{name} {end}" for end in (*ends, "NOT IN (NULL, NULL)")])
    return kinds


def _comparisons(name: str, kind: tuple[Constant, ...], pool: Pool) -> list[str]:
    """Comparisons with constants of one kind, lists of them, and prefixes."""
    spelled = [spell(constant) for constant in kind]
    texts = [f"{name} {operator} {text}" for text in spelled for operator in COMPARISONS]
    rng = random.Random(f"{name}{spelled}")
    for length in (1, 2, 2, 3, 3, 4):
        members = [rng.choice(spelled) for _ in range(length)]
        for place in (None, rng.randrange(length)):
            if place is not None:
                members[place] = "NULL"
            texts.append(f"{name} IN ({', '.join(members)})")
            texts.append(f"{name} NOT IN ({', '.join(members)})")
    if isinstance(kind[0], str):
        for prefix in pool.prefixes:
            texts += [f"startswith({name}, {spell(prefix)})", f"{name} LIKE {spell(prefix)}"]
            texts += [f"{name} {no}LIKE {spell(prefix + '%')}" for no in ("", "NOT ")]
    if isinstance(kind[0], bool):
        texts += [name, f"NOT {name}", f"{name} IS TRUE", f"{name} IS NOT FALSE"]
    return list(dict.fromkeys(texts))


@cache
def plain() -> Setting:
    """No schema: families side by side, 2^53 and its neighbours in all kinds of numbers."""
    return setting(
        {
            "x": Pool(((*LARGE, *LARGE_DECIMALS), ("a", "b"), (FIRST_DAY,))),
            "y": Pool(
                (("", "a", "ab", "ac", "b"), (0, 1.5), (NOON,)), ("a", "ab", "\ud7ff", "\U0010ffff")
            ),
            "z": Pool(
                (
                    (True, False),
                    (1, 2, 1.5, Decimal("1.5"), NAN, INFINITY),
                    (FIRST_DAY, dt.date(2024, 3, 1)),
                    (NOON, MIDNIGHT),
                )
            ),
        }
    )


@cache
def fractions() -> Setting:
    """No schema: constants with more digits than a bigint's comparison keeps, doubles nearby."""
    tiny = Decimal("1.000000000000000000001")
    return setting(
        {
            "x": Pool(((0, 1, 1.0, tiny, 0.1, Decimal("0.1"), -1.5),)),
            "y": Pool(((2**63 - 1, -(2**63), 1e19, 2.0**63, Decimal(2**63), -INFINITY),)),
            "z": Pool(((0.0, -0.0, 5e-324, Decimal("0.5"), NAN),)),
        }
    )


LIMITED: Final[dict[str, dict[str, dict[str, Any]]]] = {
    "integers": {
        "x": {"type": "bigint", "low": P - 2, "high": P + 3, "nullable": False},
        "y": {"type": "int", "low": 0, "high": 3, "nullable": False},
        "z": {"type": "double", "low": 0.0},
    },
    "fractions": {
        "x": {"type": "float", "high": 1.5, "nullable": False},
        "y": {"type": "decimal(4,2)", "low": Decimal("0.5"), "high": Decimal("1.5")},
        "z": {"type": "decimal(30,20)", "nullable": False},
    },
    "moments": {
        "x": {"type": "date", "low": FIRST_DAY, "high": dt.date(2024, 3, 2), "nullable": False},
        "y": {"type": "timestamp", "low": NOON},
        "z": {"type": "string", "values": ("a", "ab", "abc", "c"), "nullable": False},
    },
    "words": {
        "x": {"type": "string", "low": "a", "high": "b"},
        "y": {"type": "boolean", "nullable": False},
        "z": {"type": "tinyint", "values": (1, 2, 3)},
    },
}
"""Schemas by name: the arguments of their attributes."""

TYPED_POOLS: Final[dict[str, dict[str, Pool]]] = {
    "integers": {
        "x": Pool(((P - 1, P, P + 1, float(P), Decimal(P), P + 0.0, Decimal("0.5")),)),
        "y": Pool(((0, 1, 2, 3, 1.5, Decimal("2.5"), 2**40),)),
        "z": Pool(((0, 1.5, P, P + 1, Decimal(P + 1), NAN, INFINITY),)),
    },
    "fractions": {
        "x": Pool(((0, 1.5, 0.1, P + 1, Decimal("0.1"), NAN),)),
        "y": Pool(((0, 1, 1.5, 0.1, Decimal("0.125"), Decimal("1.50"), 1000),)),
        "z": Pool(((0, 1, 2**40, 0.1, Decimal("0.1"), Decimal("1.00000000000000000001")),)),
    },
    "moments": {
        "x": Pool(((FIRST_DAY, dt.date(2024, 3, 1), NOON, MIDNIGHT),)),
        "y": Pool(((FIRST_DAY, dt.date(2024, 3, 1), NOON, MIDNIGHT),)),
        "z": Pool((("", "a", "ab", "b"),), ("a", "ab")),
    },
    "words": {
        "x": Pool((("", "a", "ab", "b"),), ("a", "ab", "b")),
        "y": Pool(((True, False),)),
        "z": Pool(((0, 1, 2, 3, 127, 128, 1.5),)),
    },
}


@cache
def typed(name: str, *, checked: bool, limited: bool) -> Setting:
    """A schema of that name; `limited` gives it nullability and domains."""
    limits: dict[str, dict[str, Any]] = {}
    attributes = {}
    for attribute, arguments in LIMITED[name].items():
        limits[attribute] = {k: v for k, v in arguments.items() if limited and k != "type"}
        attributes[attribute] = Attribute(arguments["type"], **limits[attribute])
    schema = Schema(attributes, checked=checked)
    DOMAINS.declare(schema, limits)
    ends = [given.get(end) for given in limits.values() for end in ("low", "high")]
    members = [value for given in limits.values() for value in given.get("values", ())]
    return setting(TYPED_POOLS[name], schema, [*beside(ends), *members])


TEXTS: Final = (
    *(f"{name}(#, '{text}')" for name in ("endswith", "contains") for text in ("a", "b", "ab")),
    *(f"# LIKE '{p}'" for p in ("%a%b", "a%b", "_", "_%", "__", "a_", "%a_", "_b%", "ab_%")),
    *(f"# NOT LIKE '{p}'" for p in ("%b%a", "%bb", "a%a", "_a")),
    "endswith(#, '')",
    "contains(#, NULL)",
)


@cache
def texts(*, checked: bool = False) -> Setting:
    """Conditions on text that are no ranges, over all short strings of three letters."""
    words = [
        "".join(letters)
        for length in range(6)
        for letters in itertools.product("abc", repeat=length)
    ]
    pools = {
        "x": Pool((("a", "ab", "b"),), ("a",), TEXTS),
        "y": Pool((("a", "b"),), (), TEXTS[:3]),
        "z": Pool(((1, 2),)),
    }
    if not checked:
        return setting(pools, None, words)
    limits: dict[str, dict[str, Any]] = {
        "x": {"low": "a", "high": "ac", "nullable": False},
        "y": {"values": ("a", "ab", "ba"), "nullable": False},
        "z": {"low": 0, "high": 3},
    }
    types = zip(NAMES, ("string", "string", "bigint"), strict=True)
    schema = Schema({name: Attribute(own, **limits[name]) for name, own in types}, checked=True)
    DOMAINS.declare(schema, limits)
    return setting(pools, schema, words)


@cache
def numbered() -> Setting:
    """Twenty integers on each attribute: room for filters of many boxes."""
    schema = Schema(dict.fromkeys(NAMES, "bigint"))
    return setting({name: Pool((tuple(range(20)),)) for name in NAMES}, schema)


def between(rng: random.Random, place: Setting, kind: Sequence[Condition]) -> Condition | None:
    """A BETWEEN whose ends are constants of the kind, in any order."""
    lows = [leaf for leaf in kind if " >= " in leaf.text]
    if not lows:
        return None
    name, _, low = rng.choice(lows).text.partition(" >= ")
    high = rng.choice(lows).text.partition(" >= ")[2]
    leaves = place.world.leaves
    return both(
        leaves[f"{name} >= {low}"], leaves[f"{name} <= {high}"], f"{name} BETWEEN {low} AND {high}"
    )


def simple(rng: random.Random, place: Setting, focus: Mapping[str, int]) -> Condition:
    """A condition on one attribute, mostly about constants of the kind in focus."""
    name = rng.choice(NAMES)
    kinds = place.kinds[name]
    kind = kinds[focus[name] if rng.random() < 0.85 else rng.randrange(len(kinds))]
    chance = rng.random()
    leaf = rng.choice(kind)
    if chance < 0.6:
        return leaf
    if chance < 0.7:
        return negation(leaf)
    if chance < 0.85:
        return asked(leaf, rng.choice(QUESTIONS))
    return between(rng, place, kind) or leaf


def family(rng: random.Random, place: Setting, size: int, most: int = 9) -> list[Condition]:
    """Conditions that have to do with each other, of at most so many predicates each."""
    focus = {name: rng.randrange(max(1, len(place.kinds[name]) - 1)) for name in NAMES}
    found = [simple(rng, place, focus) for _ in range(4)]
    while len(found) < size:
        one, other = rng.choice(found), rng.choice(found)
        fresh = simple(rng, place, focus)
        made = rng.choice(
            (
                lambda a, b, _: both(a, b),
                lambda a, b, _: either(a, b),
                lambda a, _, c: both(a, c),
                lambda a, _, c: either(a, c),
                lambda a, _, __: negation(a),
                lambda a, _, __: asked(a, rng.choice(QUESTIONS)),
                lambda a, _, c: either(both(a, c), both(a, asked(c, "IS NOT TRUE"))),
                lambda a, b, c: both(either(a, b), either(b, c)),
                lambda a, b, _: negation(both(negation(a), negation(b))),
                lambda _, __, c: c,
            )
        )(one, other, fresh)
        if made.size <= most:
            found.append(made)
    return found


def many_boxes(rng: random.Random, place: Setting, count: int) -> Condition:
    """OR of so many small boxes in the numbered world."""

    def side(name: str) -> Condition:
        low = rng.randrange(18)
        high = low + rng.randrange(3)
        leaves = place.world.leaves
        return both(leaves[f"{name} >= {low}"], leaves[f"{name} <= {high}"])

    return gathered(either, [gathered(both, [side(name) for name in NAMES]) for _ in range(count)])


def many_products(rng: random.Random, place: Setting, count: int) -> Condition:
    """AND of so many ORs in the numbered world, each of three predicates."""
    leaves = place.world.leaves

    def clause() -> Condition:
        values = [rng.randrange(20) for _ in NAMES]
        return gathered(
            either,
            [leaves[f"{name} != {value}"] for name, value in zip(NAMES, values, strict=True)],
        )

    return gathered(both, [clause() for _ in range(count)])


def gathered(
    combine: Callable[[Condition, Condition], Condition], parts: Sequence[Condition]
) -> Condition:
    """All parts combined, in pairs, so that the text does not nest deeply."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return combine(gathered(combine, parts[:middle]), gathered(combine, parts[middle:]))


def partition(rng: random.Random, place: Setting, whole: Condition) -> list[Condition]:
    """What should make up the whole when put together, cut by up to four conditions."""
    focus = dict.fromkeys(NAMES, 0)
    parts = [whole]
    for _ in range(rng.randint(1, 4)):
        part = parts.pop(rng.randrange(len(parts)))
        by = simple(rng, place, focus)
        parts += [both(part, by), both(part, asked(by, rng.choice(("IS NOT TRUE", "IS FALSE"))))]
    return parts


def prefixes_as_ranges() -> list[tuple[Condition, Condition]]:
    """In the plain world: prefixes, and the ranges that say the same."""
    leaves = plain().world.leaves
    return [
        (
            leaves[f"startswith(y, '{prefix}')"],
            both(leaves[f"y >= '{prefix}'"], leaves[f"y < '{following}'"]),
        )
        for prefix, following in (("a", "b"), ("ab", "ac"))
    ]


def hidden_contradictions() -> list[Condition]:
    """In the world of texts: conditions that nothing meets, though no two parts contradict."""
    leaves = texts().world.leaves
    return [
        both(
            both(leaves["x LIKE 'a_'"], leaves["contains(x, 'b')"]),
            negation(leaves["x LIKE 'a%b'"]),
        ),
        both(leaves["x LIKE '_'"], leaves["contains(x, 'ab')"]),
        both(leaves["x LIKE '__'"], leaves["x LIKE 'ab_%'"]),
    ]


def conjunction(rng: random.Random, place: Setting, focus: Mapping[str, int]) -> Condition:
    """AND of up to five conditions that have one attribute each."""
    made = simple(rng, place, focus)
    for _ in range(rng.randrange(5)):
        made = both(made, simple(rng, place, focus))
    return made
