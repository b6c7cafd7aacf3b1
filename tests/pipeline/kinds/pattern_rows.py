"""Patterns in a store that change, documents in batches, and what lxml says of them."""

import random
from collections import Counter
from typing import Any, cast

import pyarrow as pa
from lxml import etree

from tests.documents.generate import ATTRIBUTES, NAMES, NAMESPACES, OPERATORS, Writer, document
from tidegate.filters.literals import decode
from tidegate.pipeline import Store
from tidegate.pipeline.events.malformed import ERROR

IN_ORDER = {
    "ordered: //a[b][c]": "//a[b/following-sibling::c]",
    "ordered: /*[*][b][@k]": "/*[@k][*/following-sibling::b]",
    "ordered: //*[@m = $value][a][text()]": "//*[@m = $value][a/following-sibling::text()]",
}
"""Patterns whose branches come in order, and how XPath says so."""
BROKEN = ("<a", "", "no document", "<a>&nbsp;</a>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>")


def batch(choice: random.Random, size: int = 40) -> pa.RecordBatch:
    """Documents, some of which cannot be read; the source could not read the first event."""
    bodies: list[str | None] = [
        document(choice) if choice.random() < 0.9 else choice.choice([*BROKEN, None])
        for _ in range(size)
    ]
    return pa.RecordBatch.from_pydict(
        {
            "row": range(size),
            "body": pa.array(bodies, pa.string()),
            ERROR: pa.array(["torn"] + [None] * (size - 1), pa.string()),
        }
    )


def change(choice: random.Random, store: Store, there: set[str]) -> None:
    """Add, move or remove a pattern."""
    id = f"s{choice.randrange(60)}"
    value: Any = choice.choice([1, 2.5, -3, "x", "1", None, "y x"])
    if id in there and choice.random() < 0.4:
        store.remove(id)
        there.remove(id)
    elif id in there:
        if "$value" in store.get(id).filter:
            store.update(id, value=value)
    else:
        name, attribute = choice.choice(NAMES), choice.choice(ATTRIBUTES)
        text = choice.choice(
            [
                Writer(choice).expression(),
                f"//{name}[@{attribute} {choice.choice(OPERATORS)} $value]",
                f"//{name}[. = $value] | /*/@{attribute}[. = $value]",
                choice.choice(list(IN_ORDER)),
            ]
        )
        values = {"value": value} if "$" in text else {}
        store.add(id, text, subscriber=choice.choice(["ü", id]), parameters=values)
        there.add(id)


def wanted(store: Store, version: int, events: pa.RecordBatch) -> Counter[tuple[int, str]]:
    """Who wants which of the events, by lxml, one by one; `row` says which one."""
    found: Counter[tuple[int, str]] = Counter()
    trees = dict(_trees(events))
    for row in store.subscriptions(version).to_pylist():
        values = {name: decode(text) for name, text in row["parameters"]}
        if None in values.values():  # a comparison with it never holds; here, all are on it
            continue
        text = IN_ORDER.get(row["filter"], row["filter"])
        ask = etree.XPath(f"boolean({text})", namespaces=NAMESPACES)
        given = {
            name: v if isinstance(v, str) else float(cast(float, v)) for name, v in values.items()
        }
        found.update((number, row["id"]) for number, tree in trees.items() if ask(tree, **given))
    return found


def unreadable(events: pa.RecordBatch) -> set[int]:
    """The rows that come out as malformed."""
    return set(events["row"].to_pylist()) - {row for row, _ in _trees(events)}


def _trees(events: pa.RecordBatch) -> Any:
    errors = events[ERROR] if ERROR in events.schema.names else pa.nulls(len(events))
    for row, body, error in zip(events["row"].to_pylist(), events["body"].to_pylist(),
                                errors.to_pylist(), strict=True):  # fmt: skip
        if error is None and body is not None and body not in BROKEN:
            yield row, etree.fromstring(body)
