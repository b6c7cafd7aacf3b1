"""What did the routing tables of PADRES hold in the experiments with decision diagrams?

Sets A and B of Li, Hou and Jacobsen, "A Unified Approach to Routing, Covering and Merging in
Publish/Subscribe Systems based on Modified Binary Decision Diagrams" (2005), section 6: 200,000
conjunctions on twenty integer attributes, of 2,000 (A) and 5,000 (B) distinct predicates, and
publications that are uniform on every attribute. About 75% of A and 45% of B are covered by others.

The paper prints neither the ranges of values, nor how many predicates a subscription has, nor how
often which operator and attribute is asked for. These are the `Choices`. Two of them, `equalities`
and `popularity`, were fitted to the two shares of covered subscriptions, and nothing was fitted to
anything else: whatever else is measured on these sets is a prediction.

Invariant: sets A and B differ in the number of distinct predicates only, and in the range of values
that follows from it.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tidegate.filters.attribute import Attribute
from tidegate.filters.expression import Operator
from tidegate.filters.schema import Schema
from tidegate.lab.workloads.matching import ATTRIBUTES, OPERATORS, Padres, Pool, draw_pool

SUBSCRIPTIONS: Final = 200_000  # of each set
FEWER: Final = 100_000  # in the experiments with imperfect merging, figures 14 and 15
SEED: Final = 6  # the first one with which all predicates occur and both shares are within a point
DISTINCT_A: Final = 2_000
DISTINCT_B: Final = 5_000


@dataclass(frozen=True)
class Choices:
    """What the paper leaves open."""

    values: int | None = None
    """How many values an attribute has. None: as few as have that many distinct predicates.

    The paper varies the number of distinct predicates by the range of values. Five operators on 20
    attributes make 2,000 predicates of about 20 values, and 5,000 of about 50.
    """

    fewest: int = 3
    """Predicates of the smallest subscriptions.

    The paper's examples have three. With two, nearly all of either set would be covered.
    """

    most: int = 5
    """Predicates of the largest ones; all sizes between are equally likely."""

    core: int = 2
    """How many attributes are more popular than the others; they are the first ones.

    The order of the attributes makes a difference in the paper, so they are not equally popular;
    its example is two that all subscriptions about one thing have, destination and price.
    """

    popularity: float = 35.0
    """How many times as popular as another attribute one of the core is; fitted.

    Of the subscriptions, 95% ask for each of the core, and 12% for each other attribute.
    """

    equalities: float = 0.935
    """The share of equalities in subscriptions; the four other operators share the rest evenly.

    Fitted. How often one range lies in another does not depend on how many values there are, how
    often two equalities are the same does: A and B differ so much only if most are equalities.
    """


def set_a(count: int = SUBSCRIPTIONS, seed: int = SEED, choices: Choices | None = None) -> Padres:
    """Set A, or so many subscriptions drawn as it is.

    >>> workload = set_a(1_000)
    >>> print(next(workload.filters()))
    a10 = 12 AND a0 = 17 AND a1 = 2
    """
    return conjunctions(count, DISTINCT_A, seed, choices or Choices())


def set_b(count: int = SUBSCRIPTIONS, seed: int = SEED, choices: Choices | None = None) -> Padres:
    """Set B, or so many subscriptions drawn as it is."""
    return conjunctions(count, DISTINCT_B, seed, choices or Choices())


def conjunctions(count: int, distinct: int, seed: int, choices: Choices, part: int = 0) -> Padres:
    """Conjunctions of predicates on distinct attributes, from a pool of so many.

    Each `part` has others of the same pool.
    """
    random = np.random.default_rng([seed, distinct])
    values = choices.values or fewest_values(distinct)
    pool = draw_pool(random, distinct, values=values, trivial=False)
    random = np.random.default_rng([seed, distinct, part]) if part else random
    sizes = random.integers(choices.fewest, choices.most, count, endpoint=True)
    asked = _attributes(random, count, choices)
    parts = _predicates(random, pool, asked, choices)
    parts[np.arange(choices.most) >= sizes[:, None]] = -1
    # Declared for measures such as the IMT; relations rely on it only where events are checked.
    own = Attribute("bigint", nullable=False, low=0, high=values - 1)
    return Padres(Schema(dict.fromkeys(ATTRIBUTES, own)), pool, parts, seed)


def fewest_values(distinct: int) -> int:
    """The smallest range of values that has so many distinct predicates on the twenty attributes.

    With n values there are n equalities, and n - 1 predicates of each other operator that hold for
    some values and not for others.

    >>> fewest_values(DISTINCT_A), fewest_values(DISTINCT_B)
    (21, 51)
    """
    others = len(OPERATORS) - 1
    return -(-(distinct // len(ATTRIBUTES) + others) // len(OPERATORS))


def _attributes(random: np.random.Generator, count: int, choices: Choices) -> NDArray[np.int64]:
    """Distinct attributes for each subscription, as many as the largest one has.

    Adding Gumbel noise to the logarithms of weights, and taking the highest sums, is drawing
    without putting back.
    """
    scores = random.gumbel(size=(count, len(ATTRIBUTES)))
    scores[:, : choices.core] += np.log(choices.popularity)
    return np.argsort(-scores, axis=1)[:, : choices.most]


def _predicates(
    random: np.random.Generator, pool: Pool, asked: NDArray[np.int64], choices: Choices
) -> NDArray[np.int32]:
    """A predicate of the pool for each attribute that is asked for, by operator and at random."""
    parts = np.empty(asked.shape, np.int32)
    draws = random.random(asked.shape)
    for k in range(len(ATTRIBUTES)):
        upto = np.cumsum(_weights(pool, k, choices))
        places = asked == k
        found = np.searchsorted(upto, draws[places] * upto[-1], side="right")
        parts[places] = k * pool.each + np.minimum(found, pool.each - 1)
    return parts


def _weights(pool: Pool, attribute: int, choices: Choices) -> NDArray[np.float64]:
    """How likely each of an attribute's predicates is."""
    own = pool.predicates[attribute * pool.each : (attribute + 1) * pool.each]
    kinds = np.array([OPERATORS.index(predicate.operator) for predicate in own])
    shares = np.full(len(OPERATORS), (1 - choices.equalities) / (len(OPERATORS) - 1))
    shares[OPERATORS.index(Operator.EQUAL)] = choices.equalities
    counts = np.bincount(kinds, minlength=len(OPERATORS))
    weights: NDArray[np.float64] = shares[kinds] / counts[kinds]
    return weights
