"""A broker process that a benchmark has started: where it listens, what it uses, how it fares."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import time
from typing import Any

from bench.processes import cpu_seconds
from tidegate.network.status import status


class Process:
    """A broker process."""

    def __init__(self, name: str, *arguments: str) -> None:
        begin = time.perf_counter()
        command = [sys.executable, "-c", "from tidegate.cli import main; main()", "broker"]
        command += ["--name", name, "--listen", "127.0.0.1:0", "--limit", "silence=600", *arguments]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found = re.search(r"listens on (\S+):(\d+)", line)
        assert found is not None, line
        self.address = found[1], int(found[2])
        self.started = time.perf_counter() - begin

    def __str__(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.end(signal.SIGTERM)

    def end(self, number: signal.Signals) -> None:
        """End it by a signal, and wait until it is gone."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def cpu(self) -> float:
        """The CPU seconds that it has used."""
        return cpu_seconds([self._process.pid])

    @property
    def status(self) -> dict[str, Any]:
        """How it fares."""
        return asyncio.run(status(str(self)))


def is_quiet(broker: Process) -> bool:
    """Whether its neighbours are there, and know what it has told them."""
    try:
        links = [link for link in broker.status["links"] if not link["client"]]
    except TimeoutError:  # it has much to read
        return False
    return bool(links) and all(link["up"] and not link["unacknowledged"] for link in links)


def until(done: Any) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 600
    while not done():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.2)
