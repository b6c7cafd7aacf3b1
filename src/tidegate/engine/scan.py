"""Which filters does an event meet, found the slow and obvious way?

`ScanIndex` has the interface of `Index` and keeps a dictionary of subscriptions: every event is
put to every filter with `Filter.matches`. The tests hold `Index` against it, and it against Spark.
It shares nothing with the fast structures but the reading of subscriptions.

Invariant: whatever raises leaves the index as it was. One thread at a time.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.events.batch import Batch
from tidegate.engine.subscriptions.subscription import Id, Subscription, read_id, subscribe
from tidegate.engine.subscriptions.table_columns import read_ids
from tidegate.engine.subscriptions.table_reader import read_changes, read_table
from tidegate.errors import IndexFileError, ParameterError, SubscriptionError, TidegateError
from tidegate.filters.attribute import Attribute
from tidegate.filters.evaluate import Explanation, Verdict, value_of, verdict
from tidegate.filters.expression import Predicate, predicates
from tidegate.filters.filter import Filter
from tidegate.filters.lines import Line, value_at
from tidegate.filters.literals import decode, spell
from tidegate.filters.schema import Schema
from tidegate.filters.types import Type, read_type
from tidegate.filters.values import Constant

_FORMAT: Final = b"tidegate scan"
_VERSION: Final = b"1"


class ScanIndex:
    """Subscriptions, and which of them an event meets.

    >>> index = ScanIndex()
    >>> index.add("alice", "symbol = 'IBM' AND price < :limit", limit=10.0)
    >>> index.match({"symbol": "IBM", "price": 9.5})
    ['alice']
    >>> index.update("alice", limit=8.0)
    >>> index.match({"symbol": "IBM", "price": 9.5})
    []
    """

    def __init__(self, schema: Schema | None = None) -> None:
        self.schema = schema
        self._subscriptions: dict[Id, Subscription] = {}
        self._incomparable: dict[str, int] = {}
        self._read_only = False

    def __len__(self) -> int:
        return len(self._subscriptions)

    def __contains__(self, id: object) -> bool:
        try:
            return read_id(id) in self._subscriptions
        except SubscriptionError:
            return False

    def get(self, id: Id) -> Subscription:
        """The subscription of that id."""
        found = self._subscriptions.get(read_id(id))
        if found is None:
            raise SubscriptionError(f"there is no subscription {id!r}")
        return found

    def add(self, id: Id, filter: str | Filter, /, **parameters: Any) -> None:
        """Add a subscription."""
        self._add([subscribe(id, filter, parameters, self.schema)])

    def add_many(
        self, table: pa.Table | pa.RecordBatch, /, filter: str | Filter | None = None
    ) -> None:
        """Add the subscriptions of a table, all or none; see `subscription.read_table`."""
        blocks, singles = read_table(table, filter, self.schema)
        rows = [block.subscription(row) for block in blocks for row in range(len(block))]
        self._add(rows + singles)

    def _add(self, subscriptions: list[Subscription]) -> None:
        self._require_writable()
        kinds = {type(id) for id in list(self._subscriptions)[:1]}
        for subscription in subscriptions:
            if subscription.id in self._subscriptions:
                raise SubscriptionError(f"there is a subscription {subscription.id!r} already")
            kinds.add(type(subscription.id))
        if len(kinds) > 1:
            raise SubscriptionError("the ids of an index are all strings or all integers")
        self._subscriptions.update((s.id, s) for s in subscriptions)

    def update(self, id: Id, /, **parameters: Any) -> None:
        """Change parameters of a subscription, all of them at once."""
        self._require_writable()
        changed = self._changed(self.get(id), parameters)
        self._subscriptions[changed.id] = changed

    def update_many(self, table: pa.Table | pa.RecordBatch, /) -> None:
        """Change the parameters that a table has columns for, of the ids it has, all or none."""
        self._require_writable()
        ids, columns = read_changes(table)
        changed = []
        for row, old in enumerate([self.get(id) for id in ids.to_pylist()]):
            cells = {name: column[row].as_py() for name, column in columns.items()}
            given = {n: v for n, v in cells.items() if n in old.parameters or v is not None}
            changed.append(self._changed(old, given))
        self._subscriptions.update((s.id, s) for s in changed)

    def _changed(self, old: Subscription, parameters: Mapping[str, Any]) -> Subscription:
        unknown = sorted(parameters.keys() - old.parameters.keys())
        if unknown:
            raise ParameterError(f"the filter of {old.id!r} has no parameter :{unknown[0]}")
        return subscribe(old.id, old.filter, {**old.parameters, **parameters}, self.schema)

    def remove(self, id: Id, /) -> None:
        """Remove a subscription."""
        self._require_writable()
        del self._subscriptions[self.get(id).id]

    def remove_many(self, ids: Iterable[Id] | pa.Array, /) -> None:
        """Remove subscriptions, all or none."""
        self._require_writable()
        leaving = [self.get(id).id for id in read_ids(ids).to_pylist()]
        for id in leaving:
            del self._subscriptions[id]

    def _require_writable(self) -> None:
        if self._read_only:
            raise TidegateError("the index was opened to be read only")

    def match(self, event: Mapping[str, Any]) -> list[Id]:
        """The ids of the subscriptions that want the event."""
        if not isinstance(event, Mapping):
            raise TidegateError(f"an event is a mapping of attributes, not a {type(event)}")
        return self._matches([event])[0]

    def match_batch(self, batch: Any) -> pa.Table:
        """The pairs of an event's row and the id of a subscription that wants it."""
        matches = self._matches(self._events(batch))
        ids = list(self._subscriptions)
        place = {id: place for place, id in enumerate(ids)}
        rows = [row for row, found in enumerate(matches) for _ in found]
        places = [place[id] for found in matches for id in found]
        kind = pa.int64() if ids and isinstance(ids[0], int) else pa.string()
        subscriptions = pa.DictionaryArray.from_arrays(
            pa.array(places, pa.int32()), pa.array(ids, kind)
        )
        return pa.table({"event": pa.array(rows, pa.int32()), "subscription": subscriptions})

    def count_batch(self, batch: Any) -> NDArray[np.int64]:
        """For each event, how many subscriptions want it."""
        return np.array([len(ids) for ids in self._matches(self._events(batch))], np.int64)

    def explain(self, id: Id, event: Mapping[str, Any]) -> Explanation:
        """Why the subscription wants the event, or does not."""
        return self.get(id).bound.explain(event)

    @property
    def incomparable(self) -> dict[str, int]:
        """Per attribute, how many of its values so far all its predicates found incomparable."""
        return dict(self._incomparable)

    def describe(self) -> str:
        """How many subscriptions there are."""
        return f"{len(self)} subscriptions, all of them scanned"

    def flush(self) -> None:
        """Nothing is ever left to do."""

    def _matches(self, events: Sequence[Mapping[str, Any]]) -> list[list[Id]]:
        bound = {id: subscription.bound for id, subscription in self._subscriptions.items()}
        self._count_incomparable(events, bound.values())
        return [[id for id, f in bound.items() if f.matches(event)] for event in events]

    def _count_incomparable(
        self, events: Sequence[Mapping[str, Any]], filters: Iterable[Filter]
    ) -> None:
        asked: dict[str, set[Predicate]] = {}
        for filter in filters:
            for predicate in predicates(filter.tree):
                asked.setdefault(predicate.attribute, set()).add(predicate)
        for attribute, them in asked.items():
            values = [value_of(event, attribute, self.schema) for event in events]
            number = sum(
                all(verdict(p, value, self.schema) is Verdict.INCOMPARABLE for p in them)
                for value in values
                if value is not None
            )
            if number:
                self._incomparable[attribute] = self._incomparable.get(attribute, 0) + number

    def _events(self, batch: Any) -> Sequence[Mapping[str, Any]]:
        """A batch as mappings, with the attributes that are asked for."""
        asked = {a for s in self._subscriptions.values() for a in s.filter.attributes}
        return Batch(batch, self.schema).mappings(sorted(asked))

    def save(self, path: str | os.PathLike[str], /) -> None:
        """Write the index to a file."""
        rows = [
            {
                "id": json.dumps(s.id),
                "filter": str(s.filter),
                "parameters": json.dumps({name: spell(c) for name, c in s.parameters.items()}),
            }
            for s in self._subscriptions.values()
        ]
        about = {_FORMAT: _VERSION, b"schema": json.dumps(_spelled_schema(self.schema)).encode()}
        kind = pa.schema([(name, pa.string()) for name in ("id", "filter", "parameters")])
        table = pa.Table.from_pylist(rows, schema=kind.with_metadata(about))
        with pa.OSFile(os.fspath(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table)

    @classmethod
    def open(cls, path: str | os.PathLike[str], /, *, read_only: bool = False) -> "ScanIndex":
        """The index that was saved in a file; opened `read_only`, it refuses to change."""
        name = os.fspath(path)
        try:
            with pa.OSFile(name, "rb") as file:
                table = pa.ipc.open_file(file).read_all()
            table.validate(full=True)
            index = cls._read(table)
        except FileNotFoundError:
            raise IndexFileError(f"there is no file {name}") from None
        except (OSError, ValueError, LookupError, TypeError, TidegateError) as error:
            raise IndexFileError(f"{name} is damaged, or no index file: {error}") from None
        index._read_only = read_only
        return index

    @classmethod
    def _read(cls, table: pa.Table) -> "ScanIndex":
        about = table.schema.metadata or {}
        if about.get(_FORMAT) != _VERSION:
            raise ValueError("it does not say that it is one of this version")
        index = cls(_read_schema(json.loads(about[b"schema"])))
        for row in table.to_pylist():
            spelled = json.loads(row["parameters"])
            parameters = {name: decode(text) for name, text in spelled.items()}
            index.add(json.loads(row["id"]), row["filter"], **parameters)
        return index


def _spelled_schema(schema: Schema | None) -> Any:
    """A schema as JSON has it."""
    if schema is None:
        return None
    attributes = {}
    for name in schema:
        own = schema[name]
        entry = {"type": own.type.name, "nullable": own.nullable, "refusal": own.type.refusal}
        attributes[name] = entry | {"domain": _spelled_domain(own)}
    return {"checked": schema.checked, "attributes": attributes}


def _read_schema(spelled: Any) -> Schema | None:
    if spelled is None:
        return None
    attributes = {}
    for name, entry in spelled["attributes"].items():
        refused = Type(entry["type"], "refused", refusal=entry["refusal"])
        own = read_type(entry["type"]) if refused.refusal is None else refused
        domain = {key: _decoded(value) for key, value in entry["domain"].items()}
        attributes[name] = Attribute(own, nullable=entry["nullable"], **domain)
    return Schema(attributes, checked=spelled["checked"])


def _decoded(spelled: Any) -> Any:
    return [decode(text) for text in spelled] if isinstance(spelled, list) else decode(spelled)


def _spelled_domain(own: Attribute) -> dict[str, Any]:
    """The arguments that give an attribute its domain."""
    if own.domain is None or own.type.line is None:
        return {}
    line = own.type.line
    bounds: Any = own.domain.spans[line.name]
    if len(bounds) > 2:
        pairs = zip(bounds[::2], bounds[1::2], strict=True)
        members = [key for first, after in pairs for key in _keys(line, first, after)]
        return {"values": [spell(value_at(line, key)) for key in members]}
    first, after = bounds
    high = {} if after == line.high else {"high": spell(_last(line, after))}
    if high and first == line.low:
        return high
    return {"low": spell(value_at(line, first)), **high}


def _keys(line: Line, first: Any, after: Any) -> list[Any]:
    return [first] if line.name == "string" else list(range(first, after))


def _last(line: Line, after: Any) -> Constant:
    return value_at(line, after[:-1] if line.name == "string" else after - 1)
