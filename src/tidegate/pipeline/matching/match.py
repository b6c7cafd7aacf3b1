"""Who wants these events, in Spark?

`match` turns a DataFrame of events into one of notifications, batch or streaming. Every worker has
a matcher of its own (`matcher`), of the version that this run uses: of a batch DataFrame the one
that is newest when `match` is called, of a streaming one what the micro-batch has pinned (`pins`).

Events are matched where they are, by `mapInArrow`, if all subscriptions are in one shard. If they
are in several, each event is sent to the shards that may have somebody for it, or for lists and
counts to one of them (`routing`), and matched there. Nothing is ever broadcast.

Only what Spark Connect has, too, is used.
"""

import os
import tempfile
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidegate.errors import SchemaError, TidegateError
from tidegate.pipeline.bases import catalog, compile_job
from tidegate.pipeline.events.letter_case import differing
from tidegate.pipeline.kinds.kind import Kind
from tidegate.pipeline.kinds.kinds import kind_of
from tidegate.pipeline.matching.notifications import ALWAYS, FORMS, Form
from tidegate.pipeline.matching.routing import SHARD, SLOT
from tidegate.pipeline.matching.run import Run, Wanted
from tidegate.pipeline.matching.tasks import AtShard, InPlace, Route
from tidegate.pipeline.shards import MOST_SHARDS
from tidegate.pipeline.store.language import ATTRIBUTES, XML
from tidegate.pipeline.store.objects import is_remote
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def match(
    events: "DataFrame",
    subscriptions: "Store | str | os.PathLike[str] | DataFrame",
    *,
    document: str | None = None,
    output: Form = "pairs",
    columns: Sequence[str] | None = None,
    version: int | None = None,
    corrupt: str | None = "_corrupt_record",
    scratch: str | None = None,
    shards: int | None = None,
    shuffle: bool | None = None,
) -> "DataFrame":
    """Notifications: who wants which of the events.

    `subscriptions` are a store, the path of one, or a DataFrame with columns `id`, `filter`, and
    perhaps `subscriber` and parameters. Are they patterns for XML documents, `document` is the
    column of the events that has these. `columns` are those of the events that come out (all but
    the document, unless some are chosen), beside those of the form of `output`: `"pairs"`,
    `"lists"` or `"counts"`. A `version` of the store is matched if one is given; otherwise the
    newest one, which a stream looks up for every micro-batch. Events with something in the column
    `corrupt` are malformed, and so are those that violate the store's schema, or whose document
    cannot be read: they come out with `error`.

    A DataFrame of subscriptions is put into a store in the folder or at the address `scratch`,
    which all executors must see; without a cluster, in a temporary folder.

    The store is compiled to so many `shards`, or as its size calls for. Where there are several,
    events are sent to those that may have somebody for them, unless `shuffle` is False: then every
    worker matches with all shards.
    """
    require_count(shards)
    chosen = require_columns(events, columns, output, document)  # before anything is compiled
    store = _store(subscriptions, scratch, document)
    kind = kind_of(store, events, document)
    streaming = events.isStreaming
    if version is None and not streaming:
        version = store.version()
    latest = store.version() if version is None else version
    base = compile_job.ensure_base(store, events.sparkSession, kind, latest, count=shards)
    kind.warn(events, base.reasons)
    if streaming and version is None:
        _keep_compiled(store, events, kind, shards)
    if shuffle is None:
        shuffle = len(base.shards) > 1
    wanted = Wanted(
        store=store.path,
        kind=kind,
        output=output,
        columns=chosen,
        corrupt=corrupt,
        shards=shards,
    )
    run = Run(
        wanted=wanted,
        version=version,
        base=None if streaming else base.name,
        sent_to=len(base.shards) if shuffle else 0,
    )
    return plan(events, run)


def plan(events: "DataFrame", run: Run) -> "DataFrame":
    """The notifications of a run, as a DataFrame that has not been evaluated yet."""
    wanted = run.wanted
    prepared = wanted.kind.prepared(events, wanted.columns, wanted.corrupt)
    names = tuple(prepared.columns)
    # `mapInArrow` does not find columns with dots or backquotes in their names
    plain = prepared.toDF(*[f"c{i}" for i in range(len(names))])
    schema = _notification_schema(events, wanted)
    if not run.sent_to:
        return plain.mapInArrow(InPlace(run, names), schema)
    return _plan_shuffled(plain, names, run, schema)


def _plan_shuffled(
    plain: "DataFrame", names: tuple[str, ...], run: Run, schema: "StructType"
) -> "DataFrame":
    """Events are sent to the shards that they visit, and matched there."""
    from pyspark.sql.types import IntegerType, StructType

    said = plain.sparkSession.conf.get("spark.sql.shuffle.partitions")
    partitions = max(int(said or 1), run.sent_to)
    rows = StructType(list(plain.schema.fields))  # `add` changes what it is called on
    rows = rows.add(SHARD, IntegerType()).add(SLOT, IntegerType())
    sent = plain.mapInArrow(Route(run, names, partitions), rows)
    sent = sent.repartitionById(partitions, SLOT)
    if run.wanted.output == "pairs":
        return sent.mapInArrow(AtShard(run, names), schema)
    return sent.drop(SHARD, SLOT).mapInArrow(InPlace(run, names), schema)


_keeping: dict[tuple[str, str, int | None], compile_job.KeepCompiled] = {}


def _keep_compiled(store: Store, events: "DataFrame", kind: Kind, shards: int | None) -> None:
    """One thread for what is compiled alike makes new bases as long as its session is used."""
    key, spark = (store.path, catalog.fingerprint(kind), shards), events.sparkSession
    known = _keeping.get(key)
    if known is not None and known.spark is spark:
        return
    if known is not None:
        known.end()  # that session may have been stopped
    _keeping[key] = compile_job.KeepCompiled(store, spark, kind, shards=shards)


def _store(given: Any, scratch: str | None, document: str | None) -> Store:
    if isinstance(given, Store):
        return given
    if isinstance(given, str | os.PathLike):
        return Store.open(given)
    if not hasattr(given, "mapInArrow"):
        raise TidegateError(
            f"subscriptions are a store, its path or a DataFrame, not a {type(given).__name__}"
        )
    if scratch is None and not given.sparkSession.conf.get("spark.master").startswith("local"):
        raise TidegateError(
            "on a cluster, a DataFrame of subscriptions needs a place that all machines see: say "
            "scratch=, or keep them in a store"
        )
    if scratch is not None and is_remote(scratch):
        folder = f"{scratch.rstrip('/')}/tidegate-{uuid.uuid4().hex}"
    else:
        folder = tempfile.mkdtemp(prefix="tidegate-", dir=scratch)
    store = Store.create(f"{folder}/subscriptions", kind=ATTRIBUTES if document is None else XML)
    table = given.toArrow()
    if len(table):
        store.add_many(table)
    return store


def require_count(shards: int | None) -> None:
    """Refuse what is not a number of shards."""
    if shards is not None and not 1 <= shards <= MOST_SHARDS:
        raise TidegateError(f"there are 1 to {MOST_SHARDS:,} shards, not {shards}")


def require_columns(
    events: "DataFrame",
    columns: Sequence[str] | None,
    output: str,
    document: str | None = None,
) -> tuple[str, ...]:
    """The columns of events that come out; what cannot come out is refused."""
    if output not in FORMS:
        raise TidegateError(f"the output is one of {', '.join(FORMS)}, not {output!r}")
    others = [name for name in events.columns if name != document]
    chosen = tuple(others if columns is None else columns)
    for name in chosen:
        if name not in events.columns:
            alike = differing([name], events.columns)
            hint = f"; there is {alike[name]!r}, and case counts" if alike else ""
            raise SchemaError(
                f"the events have no column {name!r}{hint}; they have {', '.join(events.columns)}"
            )
        if chosen.count(name) > 1:
            said = "is there" if columns is None else "was chosen"
            raise SchemaError(f"the column {name!r} {said} more than once")
    added = {name for name, _, _ in (*FORMS[output], *ALWAYS)}
    twice = sorted(added.intersection(chosen))
    if twice:
        raise SchemaError(
            f"notifications have a column {twice[0]!r} of their own: rename that of the events, "
            "or choose columns without it"
        )
    return chosen


def _notification_schema(events: "DataFrame", wanted: Wanted) -> "StructType":
    """The columns of events that come out, and those of the form of output."""
    from pyspark.sql.types import ArrayType, DataType, LongType, StringType, StructType

    types: dict[str, DataType] = {
        "string": StringType(),
        "bigint": LongType(),
        "array<string>": ArrayType(StringType()),
    }
    schema = StructType([events.schema[name] for name in wanted.columns])
    for name, kind, _ in (*FORMS[wanted.output], *ALWAYS):
        schema = schema.add(name, types[kind])
    return schema
