"""A process for which files cannot get larger than some bytes, as on a disk that is full.

`python full_disk.py STORE BYTES WHAT` tries, with this limit, to

- `change`: commit many changes to a store;
- `compact`: compact it;
- `compile`: write a base of its newest version.

It prints what it is told, and ends with 1 if that is an error of Tidegate.
"""

import resource
import sys

import numpy as np
import pyarrow as pa

import tidegate as tg
from tests.pipeline.streams import write_base
from tidegate.pipeline import Store


def change(store: Store) -> None:
    count = 50_000
    table = pa.table({"id": [f"new-{k}" for k in range(count)], "low": np.arange(count) / 7})
    store.add_many(table, filter="price > :low")


def main() -> None:
    path, size, what = sys.argv[1:]
    store = Store.open(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))
    try:
        if what == "change":
            change(store)
        elif what == "compact":
            store.compact()
        else:
            write_base(store)
    except tg.TidegateError as error:
        print(f"refused: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
