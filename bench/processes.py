"""Which processes work for an executor, and how much memory do they share?

Linux tells for each process, page by page, what nobody else has (`/proc/PID/smaps`). Workers are
found by what they have mapped, because a step after the matcher's may run in a worker of its own.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True)
class Memory:
    """What a process has, in bytes."""

    pid: int
    private: int  # nobody else has it
    mapped: int  # of the files in question, in memory
    alone: int  # of these, what nobody else has mapped


def executor() -> int:
    """The Java process that this Python worker works for: the parent of the one that forks it."""
    stat = Path(f"/proc/{os.getppid()}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def cpu_seconds(roots: Iterable[int]) -> float:
    """What processes, those they have started, and those of these that have ended have used."""
    used = {pid: sum(map(int, fields[11:15])) for pid, fields in _tree(roots).items()}
    return sum(used.values()) / os.sysconf("SC_CLK_TCK")


def shared_memory(roots: Iterable[int]) -> int:
    """The bytes that processes and those they have started take together, each counted once."""
    found = 0
    for pid in _tree(roots):
        with suppress(OSError):  # it has just ended
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            found += _bytes(lines, "Pss:")
    return found


class Seen:
    """The most that was seen, in bytes."""

    most = 0


@contextmanager
def watched(root: int) -> Iterator[Seen]:
    """Look every second at the memory of a process and those it has started."""
    found, enough = Seen(), threading.Event()

    def look() -> None:
        while not enough.wait(1):
            found.most = max(found.most, shared_memory([root]))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        enough.set()
        thread.join()


def private_memory(title: str, bases: Path) -> Figure:
    """What a worker that has mapped these bases has for itself, as a figure."""
    size = sum(path.stat().st_size for path in bases.iterdir())
    workers = [worker for worker in mapping(f"{bases}/") if worker.pid != os.getpid()]
    alone = max(worker.alone for worker in workers)
    return Figure(
        f"{title}, private memory of a worker",
        max(worker.private for worker in workers) / 2**20,
        None,
        None,
        "MB",
        note=f"{len(workers)} workers have mapped the index and its names, "
        f"{size / 2**20:,.0f} MB; at most {alone / 2**20:.1f} MB of that are one worker's own",
    )


def _tree(roots: Iterable[int]) -> dict[int, list[str]]:
    """Processes and those they have started, with what `stat` says of each after its name."""
    known = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            known[int(place.name)] = (place / "stat").read_text().rpartition(")")[2].split()
    found, new = set[int](), set(roots)
    while new:
        found |= new
        new = {pid for pid, fields in known.items() if int(fields[1]) in new}
    return {pid: known[pid] for pid in found if pid in known}


def mapping(start: str) -> list[Memory]:
    """The processes that have mapped files whose paths start so."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended, or is somebody else's
            if start in (place / "maps").read_text():
                own = [lines for name, lines in _mappings(place) if name.startswith(start)]
                everything = (place / "smaps_rollup").read_text().splitlines()
                found.append(
                    Memory(
                        int(place.name),
                        _bytes(everything, "Private_"),
                        sum(_bytes(lines, "Rss:") for lines in own),
                        sum(_bytes(lines, "Private_") for lines in own),
                    )
                )
    return found


def _mappings(place: Path) -> Iterator[tuple[str, list[str]]]:
    """The mappings of a process: what is mapped, and what is told about it."""
    name, lines = "", list[str]()
    for line in (place / "smaps").read_text().splitlines():
        words = line.split(maxsplit=5)
        if words[0].endswith(":"):
            lines.append(line)
            continue
        yield name, lines
        name, lines = words[5] if len(words) == 6 else "", []
    yield name, lines


def _bytes(lines: Iterable[str], start: str) -> int:
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(start))
