"""Who has subscribed to what, at which version?

A `Store` is a folder, or an address in an object store, with an append-only log of changes, kept by
Delta Lake: subscriptions are added, updated and removed, each commit is atomic and has a version of
its own, and old versions can be read until they are vacuumed. A change costs in proportion to
itself: an update of a parameter is a small row, and ids are looked up in the few row groups that
can have them.

A commit is made for exactly one version: the changes are validated against version v and written
as v + 1. If somebody else has made v + 1 meanwhile, they are validated once more against that.

Contract: any number of processes and threads may read and write one store at the same time. A
version, once there, never changes. Whatever raises an error has changed nothing.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidegate.documents.xpath import XPath
from tidegate.errors import SubscriptionError, TidegateError
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.filters.values import Constant
from tidegate.pipeline.store import change_tables
from tidegate.pipeline.store.attribute_language import AttributeLanguage
from tidegate.pipeline.store.change_files import Reader, numbered
from tidegate.pipeline.store.delta_log import (
    ATTEMPTS,
    ChangeLog,
    Commit,
    Snapshot,
    changes_name,
    pause,
    too_many,
)
from tidegate.pipeline.store.fold import STATE
from tidegate.pipeline.store.language import ATTRIBUTES
from tidegate.pipeline.store.languages import new_language, stored_language
from tidegate.pipeline.store.literals import read_constant
from tidegate.pipeline.store.proposal import ADD, REMOVE, UPDATE, Proposal
from tidegate.pipeline.store.upkeep import compact, vacuum
from tidegate.pipeline.store.validation import Verdict, validate
from tidegate.pipeline.store.versions import changes, state, state_of


@dataclass(frozen=True, slots=True)
class StoredSubscription:
    """A subscription at a version: `version` is that of its last change."""

    id: str
    subscriber: str
    filter: str
    parameters: Mapping[str, Constant]
    version: int


class Store:
    """Subscriptions and all changes to them, in a folder; see the module's docstring.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = Store.create(f"{folder}/subscriptions")
    ...     _ = store.add("alice", "price < :limit", parameters={"limit": 10.0})
    ...     _ = store.update("alice", limit=8.0)
    ...     store.get("alice", version=1).parameters, store.get("alice").parameters
    ({'limit': 10.0}, {'limit': 8.0})
    """

    def __init__(self, path: str, log: ChangeLog) -> None:
        self.path = path
        self.language = stored_language(log.settings, log.place)
        self._log = log
        self._reader = Reader(log.files, log.folder)

    @classmethod
    def create(
        cls,
        path: "str | os.PathLike[str]",
        schema: Schema | None = None,
        *,
        kind: str = ATTRIBUTES,
        namespaces: Mapping[str, str] | None = None,
    ) -> "Store":
        """A new store; with a schema of the events, filters are checked against it.

        Of the kind "xml", it has XPath patterns for documents; `namespaces` gives the URIs of the
        prefixes in them.
        """
        language = new_language(kind, schema, namespaces)
        place = _place(path)
        return cls(place, ChangeLog.create(f"{place}/changes", language.settings()))

    @classmethod
    def open(cls, path: "str | os.PathLike[str]") -> "Store":
        """The store that is there."""
        place = _place(path)
        return cls(place, ChangeLog.open(f"{place}/changes"))

    @staticmethod
    def exists(path: "str | os.PathLike[str]") -> bool:
        """Whether there is a store, be it damaged."""
        return ChangeLog.exists(f"{_place(path)}/changes")

    @property
    def kind(self) -> str:
        """What its filters are on: "attributes", or "xml", which are documents."""
        return self.language.name

    @property
    def schema(self) -> Schema | None:
        """The schema of the events, if it has one."""
        language = self.language
        return language.schema if isinstance(language, AttributeLanguage) else None

    def require_attributes(self, what: str) -> None:
        """Refuse to do to patterns for documents what can be done to filters on attributes only."""
        if self.kind != ATTRIBUTES:
            raise TidegateError(
                f"{what} is for filters on attributes, and the store {self.path} has patterns for "
                "documents"
            )

    def version(self) -> int:
        """The newest version."""
        return self._log.version()

    def add(
        self,
        id: str,
        filter: str | Filter | XPath,
        *,
        subscriber: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> int:
        """Add a subscription; the version that has it."""
        return self._commit_one(
            change_tables.one(
                ADD,
                id,
                self.language,
                filter=filter,
                subscriber=subscriber,
                parameters=parameters,
            )
        )

    def update(self, id: str, /, **parameters: Any) -> int:
        """Change parameters of a subscription; the others keep their values."""
        return self._commit_one(change_tables.one(UPDATE, id, self.language, parameters=parameters))

    def remove(self, id: str) -> int:
        """Remove a subscription."""
        return self._commit_one(change_tables.one(REMOVE, id, self.language))

    def change(self, table: pa.Table | pa.RecordBatch, *, message: str | None = None) -> int:
        """Changes of every kind, all or none: `change`, `id`, `subscriber`, `filter`, `parameters`.

        One id may be changed several times; what counts is the order of the rows. Parameters are
        maps from names to literals such as `10.0D`, as `changes` gives them.
        """
        return self._commit_all(change_tables.changes(table, self.language), message)

    def add_many(
        self,
        table: pa.Table | pa.RecordBatch,
        *,
        filter: str | Filter | XPath | None = None,
        message: str | None = None,
    ) -> int:
        """Add all subscriptions of a table, or none; columns as in `Index.add_many`."""
        return self._commit_all(change_tables.adds(table, filter, self.language), message)

    def update_many(self, table: pa.Table | pa.RecordBatch, *, message: str | None = None) -> int:
        """Change parameters of all subscriptions of a table, or none; as `Index.update_many`."""
        return self._commit_all(change_tables.updates(table, self.language), message)

    def remove_many(
        self, ids: Iterable[str] | pa.Array | pa.ChunkedArray, *, message: str | None = None
    ) -> int:
        """Remove all these subscriptions, or none."""
        return self._commit_all(change_tables.removals(ids, self.language), message)

    def load(
        self, proposal: Proposal, *, strict: bool = False, message: str | None = None
    ) -> tuple[int, Verdict]:
        """Commit what can be of a proposal, and say what that is and what was refused.

        If `strict`, all of it or nothing.
        """
        return self._commit(
            proposal, message, lambda verdict: not (strict and len(verdict.refusals))
        )

    def get(self, id: str, version: int | None = None) -> StoredSubscription:
        """One subscription; `SubscriptionError` if there is none of that id."""
        snapshot = self._snapshot(version)
        wanted = pa.array([change_tables.read_id(id)], pa.string())
        found = state_of(self._reader, snapshot, wanted)
        if not len(found):
            raise SubscriptionError(f"there is no subscription {id!r}")
        row = found.to_pylist()[0]
        parameters = {name: read_constant(text) for name, text in row["parameters"]}
        return StoredSubscription(
            row["id"], row["subscriber"], row["filter"], parameters, row["version"]
        )

    def subscriptions(self, version: int | None = None) -> pa.Table:
        """All subscriptions: `id`, `subscriber`, `filter`, `parameters`, sorted by id."""
        return state(self._reader, self._snapshot(version)).select(STATE)

    def changes(self, after: int, upto: int) -> pa.Table:
        """The changes of versions after `after` and up to `upto`, in order, as they were made."""
        return changes(self._log, self._reader, after, upto)

    def files(self, version: int | None = None) -> list[str]:
        """The Parquet files of a version, in the order of their names."""
        return [self._log.location(file.name) for file in self._snapshot(version).files]

    def most(self, version: int) -> int:
        """How many subscriptions a version can have at most, by the rows of its files."""
        return sum(file.rows for file in self._log.at(version).files)

    def only_added(self, version: int) -> bool:
        """Whether no row of a version's files is about the same subscription as another one."""
        since = self._log.at(version).reaches
        return not any(
            commit.updated or commit.removed
            for commit in self._log.commits(self.version() - since)
            if commit.version <= version
        )

    def rows(self, version: int, file: int) -> pa.Table:
        """The changes in one of the files of a version, by its place in the list of `files`."""
        return self._reader.read(self._log.at(version).files[file])

    def history(self, limit: int | None = None) -> list[Commit]:
        """What each version changed, the newest first."""
        return self._log.commits(limit)

    def compact(self) -> int:
        """Replace the log by the state it leads to; the version that has it.

        Nothing changes for readers but the time it takes them. Old versions stay until `vacuum`.
        """
        return compact(self._log, self._reader)

    def vacuum(self, keep: Iterable[int] = ()) -> list[str]:
        """Remove files that neither the newest version needs nor those to keep; which they were.

        The changes since the oldest version that is kept can still be read as well.
        """
        return vacuum(self._log, keep)

    def _snapshot(self, version: int | None) -> Snapshot:
        return self._log.latest() if version is None else self._log.at(version)

    def _commit_one(self, proposal: Proposal) -> int:
        def all_of_it(verdict: Verdict) -> bool:
            for _, error in verdict.refusals.sorted():
                raise error
            return True

        return self._commit(proposal, None, all_of_it)[0]

    def _commit_all(self, proposal: Proposal, message: str | None) -> int:
        def all_of_it(verdict: Verdict) -> bool:
            for row, error in verdict.refusals.sorted():
                error.add_note(f"in row {row}, subscription {proposal.ids[row].as_py()!r}")
                raise error
            return True

        return self._commit(proposal, message, all_of_it)[0]

    def _commit(
        self, proposal: Proposal, message: str | None, may: Callable[[Verdict], bool]
    ) -> tuple[int, Verdict]:
        """Validate and write until nobody was faster."""
        for attempt in range(ATTEMPTS):
            before = self._log.latest()
            state = state_of(self._reader, before, proposal.ids)
            verdict = validate(proposal, state, self.language)
            if not may(verdict) or not len(verdict.rows):
                return before.version, verdict
            version = before.version + 1
            rows = numbered(verdict.rows, version)
            file = self._log.write(changes_name(version), rows)
            if self._log.append(before, file, _counts(rows, message)):
                return version, verdict
            self._log.discard(file.name)
            pause(attempt)
        raise too_many()


def _place(path: "str | os.PathLike[str]") -> str:
    """An address, or a path that means the same wherever a process goes."""
    place = os.fspath(path)
    return place.rstrip("/") if "://" in place else os.path.abspath(place)


def _counts(rows: pa.Table, message: str | None) -> dict[str, Any]:
    """What a commit says about itself."""
    counts = {each["values"]: each["counts"] for each in rows["change"].value_counts().to_pylist()}
    words = {"added": "add", "updated": "update", "removed": "remove"}
    said = {name: counts.get(change, 0) for name, change in words.items()}
    return said if message is None else {**said, "message": message}
