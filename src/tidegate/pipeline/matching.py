"""Who wants these events, in Spark?

`match` turns a DataFrame of events into one of notifications, batch or streaming. Events are
matched where they are, by `mapInArrow`; nothing is shuffled or broadcast. Every worker has a
matcher of its own (`matcher`), of the version that this run uses: of a batch DataFrame the one that
is newest when `match` is called, of a streaming one what the micro-batch has pinned (`pins`).

Only what Spark Connect has, too, is used.
"""

import os
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from tidegate.errors import SchemaError, TidegateError
from tidegate.filters.schema import Schema
from tidegate.pipeline import bases, compiling, pins
from tidegate.pipeline.malformed import ERROR, checked
from tidegate.pipeline.matcher import matcher
from tidegate.pipeline.notifications import ALWAYS, FORMS, Form, Notifier
from tidegate.pipeline.objects import is_remote
from tidegate.pipeline.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_QUERY: Final = "sql.streaming.queryId"
_BATCH: Final = "streaming.sql.batchId"

Batches = Iterator[pa.RecordBatch]


def match(
    events: "DataFrame",
    subscriptions: "Store | str | os.PathLike[str] | DataFrame",
    *,
    output: Form = "pairs",
    columns: Sequence[str] | None = None,
    version: int | None = None,
    corrupt: str | None = "_corrupt_record",
    scratch: str | None = None,
) -> "DataFrame":
    """Notifications: who wants which of the events.

    `subscriptions` are a store, the path of one, or a DataFrame with columns `id`, `filter`, and
    perhaps `subscriber` and parameters. `columns` are those of the events that come out (all of
    them, unless some are chosen), beside those of the form of `output`: `"pairs"`, `"lists"` or
    `"counts"`. A `version` of the store is matched if one is given; otherwise the newest one, which
    a stream looks up for every micro-batch. Events with something in the column `corrupt` are
    malformed, and so are those that violate the store's schema: they come out with `error`.

    A DataFrame of subscriptions is put into a store in the folder or at the address `scratch`,
    which all executors must see; on one machine, in a temporary folder.
    """
    store = _store(subscriptions, scratch)
    schema = store.schema or schema_of(events)
    streaming = events.isStreaming
    if version is None and not streaming:
        version = store.version()
    compiling.ensure_base(
        store, events.sparkSession, schema, store.version() if version is None else version
    )
    if streaming and version is None:
        _keep_compiled(store, events, schema)
    return matched(events, store, schema, version, output, columns, corrupt)


def matched(
    events: "DataFrame",
    store: Store,
    schema: Schema,
    version: int | None,
    output: Form,
    columns: Sequence[str] | None,
    corrupt: str | None,
) -> "DataFrame":
    """What `match` gives, by a base that is there already."""
    prepared = checked(events, store.schema, corrupt)
    chosen = list(events.columns if columns is None else columns)
    _require_columns(events, chosen, output)
    run = _Run(
        store.path,
        bases.fingerprint(schema),
        version,
        output,
        tuple(chosen),
        tuple(prepared.columns),
    )
    # `mapInArrow` does not find columns with dots or backquotes in their names
    plain = prepared.toDF(*[f"c{i}" for i in range(len(prepared.columns))])
    return plain.mapInArrow(run, _output_schema(events, chosen, output))


@dataclass(frozen=True, slots=True)
class _Run:
    """What a task does."""

    store: str
    events: str
    version: int | None
    output: Form
    columns: tuple[str, ...]  # of the events that come out
    names: tuple[str, ...]  # of all columns that come in

    def __call__(self, batches: Batches) -> Batches:
        version = self._pinned() if self.version is None else self.version
        notifier = Notifier(
            matcher(self.store, self.events, version), self.output, self.columns, ERROR
        )
        for batch in batches:
            yield from notifier.notify(batch.rename_columns(list(self.names)))

    def _pinned(self) -> int:
        from pyspark import TaskContext

        context = TaskContext.get()
        query = context and context.getLocalProperty(_QUERY)
        batch = context and context.getLocalProperty(_BATCH)
        if not query or not batch:
            raise TidegateError(
                "Spark does not say which micro-batch this is: use tidegate.pipeline.match_stream"
            )
        known = pins.known(self.store, query, int(batch))
        if known is not None:
            return known
        return pins.pin(self.store, query, int(batch), Store.open(self.store).version())


_keeping: dict[tuple[str, str], compiling.KeepCompiled] = {}


def _keep_compiled(store: Store, events: "DataFrame", schema: Schema) -> None:
    """One thread for each store and schema compiles new bases as long as its session is used."""
    key, spark = (store.path, bases.fingerprint(schema)), events.sparkSession
    known = _keeping.get(key)
    if known is not None and known.spark is spark:
        return
    if known is not None:
        known.end()  # that session may have been stopped
    _keeping[key] = compiling.KeepCompiled(store, spark, schema)


def _store(given: Any, scratch: str | None) -> Store:
    if isinstance(given, Store):
        return given
    if isinstance(given, str | os.PathLike):
        return Store.open(given)
    if not hasattr(given, "mapInArrow"):
        raise TidegateError(
            f"subscriptions are a store, its path or a DataFrame, not a {type(given).__name__}"
        )
    if scratch is not None and is_remote(scratch):
        folder = f"{scratch.rstrip('/')}/tidegate-{uuid.uuid4().hex}"
    else:
        folder = tempfile.mkdtemp(prefix="tidegate-", dir=scratch)
    store = Store.create(f"{folder}/subscriptions")
    table = given.toArrow()
    if len(table):
        store.add_many(table)
    return store


def schema_of(events: "DataFrame") -> Schema:
    """The schema of events, by the types of their columns."""
    return Schema(events.schema)


def _require_columns(events: "DataFrame", chosen: list[str], output: str) -> None:
    if output not in FORMS:
        raise TidegateError(f"the output is one of {', '.join(FORMS)}, not {output!r}")
    for name in chosen:
        if name not in events.columns:
            raise SchemaError(f"the events have no column {name!r}")
    added = {name for name, _, _ in (*FORMS[output], *ALWAYS)}
    twice = sorted(added.intersection(chosen))
    if twice:
        raise SchemaError(
            f"notifications have a column {twice[0]!r} of their own: rename that of the events, "
            "or choose columns without it"
        )


def _output_schema(events: "DataFrame", chosen: list[str], output: Form) -> Any:
    from pyspark.sql.types import ArrayType, DataType, LongType, StringType, StructType

    types: dict[str, DataType] = {
        "string": StringType(),
        "bigint": LongType(),
        "array<string>": ArrayType(StringType()),
    }
    schema = StructType([events.schema[name] for name in chosen])
    for name, kind, _ in (*FORMS[output], *ALWAYS):
        schema = schema.add(name, types[kind])
    return schema
