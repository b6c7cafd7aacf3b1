"""What the commands that reach brokers say of what they cannot do: one line, and exit code 2."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from tests.network.live import ANY
from tests.network.test_live import KIND
from tidegate.cli import app
from tidegate.commands import network
from tidegate.commands.broker import _tell
from tidegate.commands.status import show
from tidegate.console import err, out
from tidegate.errors import TidegateError
from tidegate.network.server import Server
from tidegate.overlay.broker import Broker


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A broker, in a thread of its own."""
    started, found = threading.Event(), list[Server]()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        server = Server(Broker("a", KIND), ANY)
        await server.start()
        found.append(server)
        started.set()
        await server.run()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    started.wait()
    yield str(found[0].address)
    loop.call_soon_threadsafe(found[0].stop)
    thread.join()
    loop.close()


def tidegate(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(app, list(arguments), input=given)


def refused(result: Result, why: str) -> None:
    assert result.exit_code == 2
    said = " ".join(result.output.split())
    assert why in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("latin.jsonl", b'{"a": "\xe9"}\n', "latin.jsonl cannot be read: 'utf-8' codec"),
        ("bad.parquet", b"nonsense", "bad.parquet cannot be read: Parquet magic bytes"),
        ("a.jsonl", b"[" * 100_000, "line 1 is not JSON: maximum recursion depth"),
        ("a.jsonl", b'{"a": 5}\n{"a": [1]}\n', "this list cannot be a value of an event"),
        ("a.jsonl", b'{"a": 5}\n7\n', "line 2 is no event"),
        ("nowhere", None, "nowhere cannot be read: No such file"),
    ],
)
def test_files_that_cannot_be_published(
    name: str, data: bytes | None, why: str, address: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    refused(tidegate("publish", address, str(path)), why)


def test_a_parquet_file_is_published(address: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, None], "s": [{"x": 1}, None]}), tmp_path / "a.parquet")
    said = tidegate("publish", address, str(tmp_path / "a.parquet"))
    assert (said.exit_code, said.output) == (0, "published 2 events\n")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["x < 1", "--count", "0"], "greater than or equal to 1"),
        (["//a", "--namespace", "q=urn:q"], "--namespace is for patterns on documents"),
        (["x <"], "this is not a condition of the language"),
        (["x < :x"], "unbound parameters: :x"),
        (["x < :x", "--set", "x=1", "--set", "y=1"], "the filter has no parameter :y"),
        (["x < 1", "--name", "a"], "a is the name of this broker"),
    ],
)
def test_what_cannot_be_subscribed_to(arguments: list[str], why: str, address: str) -> None:
    refused(tidegate("subscribe", address, *arguments), why)


def test_where_no_broker_can_be() -> None:
    for command in (["status"], ["publish"], ["subscribe", "x < 1"]):
        refused(tidegate(command[0], "..:1", *command[1:]), "'..:1' is no address")
    broker = "broker", "--name", "a", "--anywhere", "--listen"
    refused(tidegate(*broker, "..:1"), "'..:1' is no address")


def test_status_names_neighbours_that_are_missing(address: str) -> None:
    link = {"name": "b", "client": False, "up": False, "entries": 1, "forwarded": 0}
    found = {"broker": "a", "policy": "covering", "entries": 1, "links": [link], "counted": {}}
    with out.capture() as said:
        show({**found, "missing": ["b", "c"]})
    rows = [line.split("│")[1:4] for line in said.get().splitlines() if "broker " in line][1:]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["b", "broker", "down"],
        ["c", "broker", "missing"],
    ]
    with err.capture() as told:
        _tell("b", "127.0.0.1:1 cannot be reached: [nobody]")
    assert told.get() == "b: 127.0.0.1:1 cannot be reached: [nobody]\n"


# -- processes of a scenario


def test_brokers_of_a_scenario_end_with_it() -> None:
    """Whoever is told to stop tells them; one that ends by itself ends all."""
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    ended = [sys.executable, "-c", "pass"]
    started: list[subprocess.Popen[bytes]] = []
    usual: Any = subprocess.Popen

    def noted(command: list[str]) -> subprocess.Popen[bytes]:
        started.append(usual(command))
        return started[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", noted)
        before = signal.getsignal(signal.SIGTERM)

        def stop() -> None:
            while len(started) < 2:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGTERM)

        thread = threading.Thread(target=stop)
        thread.start()
        with out.capture() as said:
            network._run({"a": sleep, "b": sleep}, {}, None)
        thread.join()
        assert said.get() == "stopped a, b\n"
        with pytest.raises(TidegateError, match="the broker b has ended"):
            network._run({"a": sleep, "b": ended}, {}, None)
        assert signal.getsignal(signal.SIGTERM) == before
    assert [each.returncode for each in started] == [-signal.SIGTERM] * 3 + [0]
