"""Which shard does a pattern belong to, and what covers a shard of patterns?

A document can match a pattern only if it has everything that the pattern names: the elements and
attributes, and the values they must equal. Each of these is a **feature**, and a pattern of one
node itself: `//symbol`, `//@id`, `//symbol[. = 'IBM']`. Of a pattern's features, the one that the
fewest of all patterns have stands for it, as an equality stands for a conjunction in the engine's
partitions. Patterns for which the same feature stands are in one shard, and a shard's **summary**
is the features that stand for its patterns. A document goes where it has one of these.

A feature that stands for more patterns than a shard should have is spread over several by a hash of
the id; so many as all of them, if nothing else tells patterns apart. Those that are too seldom to
be seen in the sample go where a hash of the feature says. Patterns without any, such as `/*/*`, are
all in the first shard, which every document visits then.

Invariants: the shard of a subscription depends on the plan, its id, its filter and its parameters
alone. Every document that a subscription of a shard matches, the shard's summary matches (law 2).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import ceil
from typing import Any, Final, TypeAlias
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.documents.pattern import ANY, EQUAL, ROOT, Node, Pattern, spell_constant
from tidegate.documents.xpath import XPath
from tidegate.errors import TidegateError
from tidegate.pipeline.store import load_index
from tidegate.pipeline.store.pattern_language import PatternLanguage

Shards: TypeAlias = NDArray[np.int32]
Features: TypeAlias = list[list[str]]
"""Of each alternative of a filter, its features; of each a name, `//a`, comes before its value."""

BUDGET: Final = 4_096
"""The patterns of a summary; where there were more, values are left out, then everything."""
EVERYTHING: Final = "/*"

_MIX: Final = 0x9E3779B97F4A7C15
_KNOWN: Final = 16_384  # features that a plan knows: those that most patterns have


@dataclass(frozen=True, slots=True)
class PatternPlan:
    """How patterns are split into so many shards; immutable, picklable, small."""

    count: int
    language: PatternLanguage
    often: Mapping[str, int]  # how many patterns of the sample have a feature
    places: Mapping[str, tuple[int, ...]]  # the shards of a feature that stands for many

    def shards(self, ids: pa.Array, filters: pa.Array, parameters: pa.Array) -> Shards:
        """The shards of stored subscriptions, one for each row."""
        found = np.zeros(len(ids), np.int32)
        for row, features in featured(filters, parameters, self.language):
            if features and features[0]:
                feature = self.standing(features[0])
                among = self.places.get(feature)
                if among is None:
                    found[row] = _one_of(self.count, feature)
                else:
                    found[row] = among[_one_of(len(among), ids[row].as_py())]
        return found

    def standing(self, features: list[str]) -> str:
        """The feature that stands for a pattern with these."""
        return min(features, key=lambda each: (self.often.get(each, 0), each))


def plan(
    filters: pa.Array, parameters: pa.Array, language: PatternLanguage, count: int
) -> PatternPlan:
    """A plan made from a sample of subscriptions.

    >>> from tidegate.pipeline.store.literals import PARAMETERS
    >>> filters = pa.array(["//quote[symbol = 'IBM']", "//quote[symbol = 'SAP']", "//trade"])
    >>> rows = filters, pa.array([[], [], []], PARAMETERS)
    >>> halves = plan(*rows, PatternLanguage(), 2)
    >>> sorted(summary(*rows, halves))
    ["//symbol[. = 'IBM']", "//symbol[. = 'SAP']", '//trade']
    """
    sample = [features for _, features in featured(filters, parameters, language)]
    counts: Counter[str] = Counter()
    for features in sample:
        counts.update({each for own in features for each in own})
    often = dict(counts.most_common(_KNOWN))
    draft = PatternPlan(count, language, often, {})
    weights = Counter(draft.standing(own[0]) for own in sample if own and own[0])
    return PatternPlan(count, language, often, _places(weights, count))


def _places(weights: Counter[str], count: int) -> dict[str, tuple[int, ...]]:
    """Shards for the features that stand for most: the heaviest first, where there is least."""
    mean = max(1.0, weights.total() / count)
    loads = [(0.0, shard) for shard in range(count)]
    heapify(loads)
    found: dict[str, tuple[int, ...]] = {}
    for feature, weight in weights.most_common(_KNOWN):
        parts = 1 if weight <= 1.5 * mean else min(count, ceil(weight / mean))
        own: list[int] = []
        if parts == count:
            own = list(range(count))
            loads = [(load + weight / count, shard) for load, shard in loads]
            heapify(loads)
        while len(own) < parts:
            load, shard = loads[0]
            heapreplace(loads, (load + weight / parts, shard))
            own.append(shard)
        found[feature] = tuple(sorted(set(own)))
    return found


def summary(
    filters: pa.Array, parameters: pa.Array, plan: PatternPlan, budget: int = BUDGET
) -> list[str]:
    """Patterns, one of which matches every document that a subscription of the shard matches."""
    found: set[str] = set()
    for _, alternatives in featured(filters, parameters, plan.language):
        for features in alternatives:
            if not features:
                return [EVERYTHING]
            found.add(plan.standing(features))
    if len(found) > budget:
        found = {feature.partition("[")[0] for feature in found}
    return sorted(found) if len(found) <= budget else [EVERYTHING]


def featured(
    filters: pa.Array, parameters: pa.Array, language: PatternLanguage
) -> Iterator[tuple[int, Features]]:
    """Each row with the features of its filter; none if no document matches it."""
    prefixes = {uri: prefix for prefix, uri in language.namespaces.items()}
    for said, rows, columns in load_index.alike(filters, parameters, language.read):
        if isinstance(said, TidegateError):
            yield from ((row, []) for row in rows.tolist())
        elif not columns:
            features = _features(said, prefixes)
            yield from ((row, features) for row in rows.tolist())
        else:
            for row, values in zip(rows.tolist(), pa.table(columns).to_pylist(), strict=True):
                yield row, _features(said.bind(**values), prefixes)


def _features(xpath: XPath, prefixes: Mapping[str, str]) -> Features:
    return [_of_pattern(pattern, prefixes) for pattern in xpath.patterns]


def _of_pattern(pattern: Pattern, prefixes: Mapping[str, str]) -> list[str]:
    found: dict[str, None] = {}
    stack: list[Node] = [pattern.root]
    while stack:
        node = stack.pop()
        stack += [branch.node for branch in node.branches]
        if node.label in (ROOT, ANY):
            continue
        name = f"//{_written(node.label, prefixes)}"
        found[name] = None
        for test in node.tests:
            if test.operator == EQUAL and _can_be_written(test.constant):
                found[f"{name}[. = {spell_constant(test.constant)}]"] = None
    return list(found)


def _written(label: str, prefixes: Mapping[str, str]) -> str:
    """A label with the prefix of its namespace."""
    mark, name = ("@", label[1:]) if label[0] == "@" else ("", label)
    if name[0] != "{":
        return label
    uri, _, local = name[1:].rpartition("}")
    return f"{mark}{prefixes[uri]}:{local}"


def _can_be_written(constant: Any) -> bool:
    if isinstance(constant, str):
        return not ("'" in constant and '"' in constant)
    return bool(np.isfinite(constant))


def _one_of(count: int, text: str) -> int:
    """A number below that, by a hash that is the same everywhere, unlike Python's own."""
    mixed = crc32(text.encode()) * _MIX & (1 << 64) - 1
    return (mixed >> 32) * count >> 32
