"""A process that changes a store, for tests of several at once and of ones that are killed.

`python writer.py STORE MODE NAME COUNT`, where MODE is what it does:

- `race`: commits of its own, and ids that others want too; prints the version of each commit;
- `fill`: commits of five rows each, as long as it lives; prints the number of each when it is done;
- `half`, `before`, `after`: the same, but it kills itself in the third commit: with half of the
  file written, before the log is told, or after.

It says `ready` when it has loaded everything, and begins when a line comes in.
"""

import os
import random
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pyarrow as pa

from tidegate.errors import SubscriptionError
from tidegate.pipeline.store import change_files, delta_log
from tidegate.pipeline.store.store import Store

Attempt = Callable[[], int]


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def race(store: Store, name: str, count: int) -> None:
    choice = random.Random(name)
    for number in range(count):
        values = {"p": number}
        own: Attempt = partial(store.add, f"{name}-{number}", "x < :p", parameters=values)
        contested: list[Attempt] = [
            partial(store.add, "shared", "x < :p", subscriber=name, parameters=values),
            partial(store.update, "shared", **values),
            partial(store.remove, "shared"),
        ]
        for attempt in (own, choice.choice(contested)):
            with suppress(SubscriptionError):  # somebody was faster
                print(attempt(), flush=True)


def fill(store: Store, name: str, count: int) -> None:
    for number in range(count):
        ids = [f"{name}-{number}-{place}" for place in range(5)]
        store.add_many(pa.table({"id": ids, "p": range(5)}), filter="x < :p")
        print(number, flush=True)


def die(mode: str) -> None:
    """From the third commit on, die at a certain moment of it."""
    commits = 0
    append = delta_log.ChangeLog.append
    write = change_files.write_rows

    def write_half(*arguments: object) -> change_files.ChangeFile:
        file = write(*arguments)  # type: ignore[arg-type]
        if commits == 2:
            os.truncate(f"{arguments[1]}/{file.name}", file.size // 2)
            kill()
        return file

    def append_and_die(*arguments: object) -> bool:
        nonlocal commits
        commits += 1
        if mode == "before" and commits == 3:
            kill()
        done = append(*arguments)  # type: ignore[arg-type]
        if mode == "after" and commits == 3:
            kill()
        return done

    delta_log.ChangeLog.append = append_and_die  # type: ignore[assignment,method-assign]
    if mode == "half":
        setattr(delta_log, "write_rows", write_half)  # noqa: B010  (where the log looks for it)


def main() -> None:
    path, mode, name, count = sys.argv[1:]
    store = Store.open(path)
    print("ready", flush=True)
    sys.stdin.readline()
    if mode == "race":
        race(store, name, int(count))
        return
    if mode != "fill":
        die(mode)
    fill(store, name, int(count))


if __name__ == "__main__":
    main()
