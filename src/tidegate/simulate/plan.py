"""Who is linked to whom, where a scenario names every broker?

Each broker has a table. In a tree with a root, it names its `parent` and, in order, `backups`.
Where several paths lead to a publisher, it names those above it instead: `paths`, a list where
there is one root, or a table with a list for each. Who names nobody is a root. `delay` is that of
the link to the parent, in seconds, and `delays` those of the links to backups and along paths, by
name.
"""

from collections.abc import Mapping

from tidegate.errors import ScenarioError, TidegateError
from tidegate.simulate.section import Section
from tidegate.simulate.topology import Edge, Topology, with_parents, with_paths


def given(brokers: Section) -> Topology:
    """The overlay that a table describes."""
    tables = {name: brokers.section(name) for name in brokers.keys}
    if not tables:
        raise ScenarioError(f"{brokers.where} names no broker")
    redundant = [name for name, table in tables.items() if "paths" in table]
    try:
        found = _paths(tables) if redundant else _tree(tables)
    except TidegateError as error:
        raise ScenarioError(f"{brokers.where}: {error}") from None
    for table in tables.values():
        table.close()
    return found


def _tree(tables: Mapping[str, Section]) -> Topology:
    parents = {name: table.text("parent", None) for name, table in tables.items()}
    roots = [name for name, parent in parents.items() if parent is None]
    if len(roots) != 1:
        raise TidegateError(f"one broker has no parent, the root, not {len(roots)}")
    edges = tuple(
        Edge(parent, name, tables[name].number("delay", None, least=0))
        for name, parent in parents.items()
        if parent is not None
    )
    backups = {name: table.texts("backups", []) for name, table in tables.items()}
    spare = tuple(
        Edge(other, name, delay)
        for name, table in tables.items()
        for other, delay in _delays(table).items()
    )
    return with_parents(Topology(tuple(tables), edges, spare=spare), roots[0], backups)


def _paths(tables: Mapping[str, Section]) -> Topology:
    roots = [name for name, table in tables.items() if "paths" not in table]
    up: dict[str, dict[str, list[str]]] = {name: {name: []} for name in roots}
    delays: dict[frozenset[str], float] = {}
    for name, table in tables.items():
        if name in up:
            continue
        if isinstance(table.value("paths"), list):
            if len(roots) != 1:
                table.refuse("paths", f"a list for each of the roots, {', '.join(roots)},")
            up[name] = {roots[0]: table.texts("paths")}
        else:
            ways = table.section("paths")
            up[name] = {root: ways.texts(root) for root in ways.keys}
        delays |= {frozenset((name, other)): delay for other, delay in _delays(table).items()}
    return with_paths(up, delays)


def _delays(table: Section) -> dict[str, float]:
    delays = table.section("delays")
    return {other: delays.number(other, least=0) for other in delays.keys}
