"""What does a version say?

The state at a version, whole or of some ids, and the changes between two versions: which files have
them is for the log to say, what they add up to for `fold`.
"""

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.pipeline.store.change_files import SCHEMA, ChangeFile, Reader
from tidegate.pipeline.store.delta_log import ChangeLog, Snapshot, replaces
from tidegate.pipeline.store.fold import fold, in_order


def state(reader: Reader, snapshot: Snapshot) -> pa.Table:
    """All subscriptions of a version, as `fold` has them."""
    return fold(_joined([reader.read(file) for file in snapshot.files]))


def state_of(reader: Reader, snapshot: Snapshot, ids: pa.Array) -> pa.Table:
    """The subscriptions with these ids, as far as there are any."""
    if not snapshot.files:
        return SCHEMA.empty_table()
    wanted = pc.unique(ids.drop_null())
    ordered = sorted(wanted.to_pylist())
    files = [file for file in snapshot.files if file.may_have(ordered)]
    return fold(_joined([reader.find(file, ordered, wanted) for file in files]))


def changes(log: ChangeLog, reader: Reader, after: int, upto: int) -> pa.Table:
    """The changes of versions after one and up to another, in order.

    Whoever follows a store asks for each of them once, and for thousands as time goes by.
    """
    files = log.added(after, upto)
    if files is None:
        files = [file for file in change_files(log, after, upto) if file.last > after]
    files = [file for file in files if not replaces(file.name)]
    rows = _joined([reader.read(file, once=True) for file in files])
    return rows.take(pa.array(in_order(rows)))


def change_files(log: ChangeLog, after: int, upto: int) -> list[ChangeFile]:
    """The files with the changes of these versions, and perhaps with earlier ones.

    Where a version has the state in place of changes, these are in the version it is the state of.
    """
    snapshot = log.at(upto)
    files = list(snapshot.files)
    while snapshot.reaches > after:
        snapshot = log.at(snapshot.reaches)
        files += snapshot.files
    return [file for file in files if not replaces(file.name)]


def _joined(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables([SCHEMA.empty_table(), *tables]).combine_chunks()
