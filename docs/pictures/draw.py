"""Draw all pictures of the documentation: `python -m docs.pictures.draw [FOLDER]`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from docs.pictures import (
    broker_step,
    counting_example,
    house,
    index_arrays,
    mbd_example,
    micro_batch,
    negative_example,
    poset_example,
)

PICTURES: Final[dict[str, Callable[[], str]]] = {
    "house.svg": house.draw,
    "index_arrays.svg": index_arrays.draw,
    "micro_batch.svg": micro_batch.draw,
    "broker_step.svg": broker_step.draw,
    "counting_example.svg": counting_example.draw,
    "mbd_example.svg": mbd_example.draw,
    "negative_example.svg": negative_example.draw,
    "poset_example.svg": poset_example.draw,
}


def main(folder: Path) -> None:
    """Write every picture into a folder."""
    for name, draw in PICTURES.items():
        (folder / name).write_text(draw(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
