"""How are boxes placed above what they import?

Each box stands a layer above the highest of those that its arrows lead to; one whose arrows lead
nowhere stands just below the lowest that asks for it. An arrow across several layers passes each of
them at a place of its own, so that it runs between boxes and not through them. Within a layer,
boxes are brought near to those they are tied to (the method of Sugiyama, Tagawa and Toda, 1981, in
its simplest form). The same graph always comes out the same.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Graph: TypeAlias = Mapping[str, set[str]]
Point: TypeAlias = tuple[float, float]

_GAP: Final = 16.0  # between neighbours
_LANE: Final = 14.0  # that a passing arrow takes
_ROUNDS: Final = 24


@dataclass(frozen=True)
class Placed:
    """Where boxes and arrows are; `place` has the middle of a box's upper edge."""

    width: float
    height: float
    place: dict[str, Point]
    arrows: list[list[Point]]


def reduced(graph: Graph) -> dict[str, set[str]]:
    """The graph without arrows whose ends other arrows join.

    >>> reduced({"c": {"a", "b"}, "b": {"a"}, "a": set()})
    {'c': {'b'}, 'b': {'a'}, 'a': set()}
    """
    return {
        node: {goal for goal in goals if not any(goal in _reached(graph, via) for via in goals)}
        for node, goals in graph.items()
    }


def _reached(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        new = graph[todo.pop()] - found
        found |= new
        todo += new
    return found


def place(
    graph: Graph, order: Sequence[str], sizes: Mapping[str, tuple[float, float]], between: float
) -> Placed:
    """Place boxes of these sizes, with so much room between two layers.

    Where nothing else decides, boxes stand in their order.
    """
    level = _levels(graph, order)
    rows: list[list[str]] = [[] for _ in range(max(level.values()) + 1)]
    for node in order:
        rows[level[node]].append(node)
    chains: list[list[str]] = []
    for node in order:
        for goal in sorted(graph[node], key=order.index):
            passed = [f"{node}>{goal}@{i}" for i in range(level[node] - 1, level[goal], -1)]
            for i, lane in zip(range(level[node] - 1, level[goal], -1), passed, strict=True):
                rows[i].append(lane)
            chains.append([node, *passed, goal])
    widths = {node: sizes[node][0] if node in sizes else _LANE for row in rows for node in row}
    near: dict[str, list[str]] = {node: [] for row in rows for node in row}
    for chain in chains:
        for one, other in itertools.pairwise(chain):
            near[one].append(other)
            near[other].append(one)
    x = _columns(rows, near, widths)
    left = min(x[node] - widths[node] / 2 for node in x)
    x = {node: at - left for node, at in x.items()}
    tall = [max(sizes[n][1] if n in sizes else 0.0 for n in row) for row in rows]
    top = [sum(tall[i + 1 :]) + between * (len(rows) - 1 - i) for i in range(len(rows))]
    arrows = []
    for chain in chains:
        first = chain[0]
        points = [(x[first], top[level[first]] + sizes[first][1])]
        if sizes[first][1] < tall[level[first]]:
            points.append((x[first], top[level[first]] + tall[level[first]]))
        for i, lane in zip(range(level[first] - 1, 0, -1), chain[1:-1], strict=False):
            points += [(x[lane], top[i]), (x[lane], top[i] + tall[i])]
        points.append((x[chain[-1]], top[level[chain[-1]]]))
        arrows.append(points)
    return Placed(
        max(x[node] + widths[node] / 2 for node in x),
        top[0] + tall[0],
        {node: (x[node], top[level[node]]) for node in order},
        arrows,
    )


def _levels(graph: Graph, order: Sequence[str]) -> dict[str, int]:
    level: dict[str, int] = {}
    for node in order:  # what is imported comes before who imports it
        level[node] = 1 + max((level[goal] for goal in graph[node]), default=-1)
    for node in order:
        asking = [level[other] for other in order if node in graph[other]]
        if not graph[node] and asking:
            level[node] = min(asking) - 1
    return level


def _columns(
    rows: list[list[str]], near: Mapping[str, list[str]], widths: Mapping[str, float]
) -> dict[str, float]:
    """The middle of each box: near to its neighbours above and below, none upon another."""
    x: dict[str, float] = {}
    for row in rows:
        _spread(row, dict.fromkeys(row, 0.0), widths, x)
    for turn in range(_ROUNDS):
        for row in rows if turn % 2 else reversed(rows):
            wished = {
                node: sum(x[other] for other in near[node]) / len(near[node])
                if near[node]
                else x[node]
                for node in row
            }
            if turn < _ROUNDS // 2:
                row.sort(key=wished.__getitem__)
            _spread(row, wished, widths, x)
    return x


def _spread(
    row: list[str], wished: Mapping[str, float], widths: Mapping[str, float], x: dict[str, float]
) -> None:
    """Place a row in its order, each as near to where it should be as the others let it."""
    groups: list[tuple[float, list[str]]] = []  # where the first of each begins
    for node in row:
        group = (wished[node] - widths[node] / 2, [node])
        while groups and groups[-1][0] + _length(groups[-1][1], widths) + _GAP > group[0]:
            before = groups.pop()
            members = [*before[1], *group[1]]
            group = (_start(members, wished, widths), members)
        groups.append(group)
    for start, members in groups:
        at = start
        for node in members:
            x[node] = at + widths[node] / 2
            at += widths[node] + _GAP


def _length(members: Sequence[str], widths: Mapping[str, float]) -> float:
    return sum(widths[node] for node in members) + _GAP * (len(members) - 1)


def _start(
    members: Sequence[str], wished: Mapping[str, float], widths: Mapping[str, float]
) -> float:
    """Where boxes side by side begin, so that they are moved least, all together."""
    offset, off = 0.0, 0.0
    for node in members:
        off += wished[node] - widths[node] / 2 - offset
        offset += widths[node] + _GAP
    return off / len(members)
