"""Draw all pictures of the documentation: `python -m docs.pictures.draw [FOLDER]`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from docs.pictures import broker_step, house, index_arrays, micro_batch

PICTURES: Final[dict[str, Callable[[], str]]] = {
    "house.svg": house.draw,
    "index_arrays.svg": index_arrays.draw,
    "micro_batch.svg": micro_batch.draw,
    "broker_step.svg": broker_step.draw,
}


def main(folder: Path) -> None:
    """Write every picture into a folder."""
    for name, draw in PICTURES.items():
        (folder / name).write_text(draw(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
