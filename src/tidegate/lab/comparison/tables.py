"""What stands in the routing tables of a network?

Only entries that came from neighbours count: those of clients are the same under every policy. What
counts is what events are compared with; a broker that prunes its own table keeps what it was told
beside that, which is part of its `state`.

An **association** is a predicate in an entry, as Bittner and Hinze count memory ("Subscription Tree
Pruning: A Structure-Independent Routing Optimization for General-Purpose Publish/Subscribe
Systems", 2006), or a step or a comparison of a pattern; bytes are those of the entries as brokers
send them.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tidegate.documents.prune import parts
from tidegate.filters.expression import predicates
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.filter import Filter
from tidegate.overlay.pattern_filter import PatternFilter
from tidegate.simulate.network import Network

Entries: TypeAlias = Mapping[tuple[str, str], Counter[Filter]]
"""How often which filter stands at which broker, by the neighbour it came from."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What the tables of all brokers take."""

    entries: int
    associations: int
    bytes: int
    state: int  # bytes of all that brokers know, as they would write it down


def entries(network: Network) -> Entries:
    """The entries of all tables."""
    return {
        (name, link): Counter(table.matched_by((link, own)) for own in table.of(link))
        for name, node in network.nodes.items()
        for table in (node.broker.routing.wanted,)
        for link in node.outgoing
    }


def memory(network: Network) -> Memory:
    """What they take."""
    found = [f for own in entries(network).values() for f in own.elements()]
    return Memory(
        len(found),
        sum(map(_associations, found)),
        sum(_bytes(network.kind.plain(f)) for f in found),
        sum(_bytes(node.broker.snapshot()) for node in network.nodes.values()),
    )


def changed(plain: Entries, other: Entries) -> float:
    """The share of the entries of plain forwarding that are not there, as they are, in others.

    >>> plain = {("b0", "b1"): Counter(["price < 5", "price < 5", "price < 9", "price < 7"])}
    >>> changed(plain, {("b0", "b1"): Counter(["price < 9"])})
    0.75
    """
    before = sum(own.total() for own in plain.values())
    kept = sum((own & other[place]).total() for place, own in plain.items())
    return 1 - kept / before if before else 0.0


def _associations(f: Filter) -> int:
    if isinstance(f, PatternFilter):
        return parts(f.xpath)
    assert isinstance(f, AttributeFilter)
    return sum(1 for _ in predicates(f.filter.tree))


def _bytes(plain: object) -> int:
    return len(json.dumps(plain, separators=(",", ":")))
