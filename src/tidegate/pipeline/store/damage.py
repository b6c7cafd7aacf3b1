"""Which file of a Delta log is damaged?

Delta Lake says that a log cannot be read, but not always because of which file. Here the entries of
a log are read once more, one by one, until one is found that is no list of actions or is missing.
"""

import json
import re
from typing import Final

import pyarrow.fs as pafs

_ENTRY: Final = re.compile(r"(\d{20})\.json")


def damaged_entry(files: pafs.FileSystem, folder: str) -> str | None:
    """The first entry that is to blame, and why, in words; None if all of them can be read."""
    log = f"{folder}/_delta_log"
    found = [each.base_name for each in files.get_file_info(pafs.FileSelector(log))]
    entries = sorted(name for name in found if _ENTRY.fullmatch(name))
    for expected, name in enumerate(entries):
        if int(name.partition(".")[0]) != expected:
            return f"{log}/{expected:020d}.json is missing"
        with files.open_input_stream(f"{log}/{name}") as stream:
            wrong = _wrong(stream.read())
        if wrong is not None:
            return f"{log}/{name} is damaged: {wrong}"
    return None


def _wrong(entry: bytes) -> str | None:
    """What is wrong with an entry, which has a JSON object on each line."""
    lines = entry.splitlines()
    if not lines:
        return "it is empty"
    for number, line in enumerate(lines, 1):
        try:
            action = json.loads(line)
        except ValueError as error:
            return f"line {number} is not JSON ({error})"
        if not isinstance(action, dict) or not all(isinstance(x, dict) for x in action.values()):
            return f"line {number} is no action"
    return None
