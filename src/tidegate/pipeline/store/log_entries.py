"""Which file has one version added?

Each version has an entry in the Delta log: a file with a JSON object on each line, of which one
says which file of rows came. Delta Lake reads all entries and has the list of all files in memory,
which grows with every commit. Whoever follows a store needs no more than the entries that came
since, and has nothing to keep.

An entry that is gone, or that says anything else, is no error here: Delta Lake is asked then, and
says what is wrong.
"""

import json
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from tidegate.pipeline.store.change_files import ChangeFile


def read_entry(files: pafs.FileSystem, folder: str, version: int) -> ChangeFile | None:
    """The one file that a version has added; None if its entry cannot be read or says more."""
    try:
        with files.open_input_stream(f"{folder}/_delta_log/{version:020d}.json") as stream:
            actions = [json.loads(line) for line in stream.read().splitlines()]
        (added,) = [action["add"] for action in actions if "add" in action]
        return _change_file(added, json.loads(added["stats"]))
    except (OSError, pa.ArrowException, ValueError, TypeError, KeyError):
        return None


def _change_file(added: dict[str, Any], said: dict[str, Any]) -> ChangeFile:
    low, high = said["minValues"], said["maxValues"]
    return ChangeFile(
        str(added["path"]),
        int(added["size"]),
        int(said["numRecords"]),
        int(low["version"]),
        int(high["version"]),
        low.get("id"),
        high.get("id"),
    )
