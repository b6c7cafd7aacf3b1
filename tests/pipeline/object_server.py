"""An object store on this machine that speaks S3: moto's server, in a process of its own.

It is a process because Delta Lake holds Python's lock while it asks whether there is a table.
"""

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BUCKET = "rules"
PROCESS = Path(__file__).with_name("object_process.py")


@dataclass(frozen=True)
class ObjectServer:
    url: str
    log: Path

    def environment(self) -> dict[str, str]:
        """What a process needs to use it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }

    def downloads(self, name: str) -> int:
        """How often an object whose name has this in it was read."""
        return len(re.findall(rf"GET /\S*{name}\S* HTTP", self.log.read_text()))


@contextmanager
def serving(folder: Path) -> Iterator[ObjectServer]:
    log = folder / "log"
    command = [sys.executable, str(PROCESS), "-H", "127.0.0.1", "-p", "0"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, env=own) as run:
        try:
            server = ObjectServer(_url(log, run), log)
            new = urllib.request.Request(f"{server.url}/{BUCKET}", method="PUT")
            urllib.request.urlopen(new).close()
            yield server
        finally:
            run.terminate()


def _url(log: Path, run: "subprocess.Popen[bytes]") -> str:
    while run.poll() is None:
        found = re.search(r"Running on (http://\S+)", log.read_text())
        if found is not None:
            return found[1]
        time.sleep(0.02)
    raise AssertionError(log.read_text())
