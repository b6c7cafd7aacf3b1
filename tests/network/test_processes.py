"""Brokers as processes, by their commands: one is killed, and comes back."""

import asyncio
import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import jwt
import pytest
from typer.testing import CliRunner

from tests import ROOT
from tests.network.certificates import Authority
from tidegate.cli import app
from tidegate.commands import network
from tidegate.errors import TidegateError
from tidegate.network.guard import hash_of, new_token
from tidegate.network.process import read_setup
from tidegate.network.status import status
from tidegate.network.tls import Tls
from tidegate.overlay.attributes import Attributes

pytestmark = pytest.mark.slow

SCENARIOS = ROOT / "docs" / "scenarios"
MAIN = [sys.executable, "-c", "from tidegate.cli import main; main()"]


@contextmanager
def broker(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A broker process, and where it listens."""
    command = [*MAIN, "broker", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"listens on (\S+)", line)
        assert found is not None, line
        yield process, found[1]
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stdout.close()


def tidegate(*arguments: str, given: str = "") -> str:
    """What a command prints."""
    run = subprocess.run(
        [*MAIN, *arguments], input=given, capture_output=True, text=True, timeout=60, check=True
    )
    return run.stdout


def test_a_killed_neighbour_returns_and_is_told_everything(tmp_path: Path) -> None:
    kept = "--storage", str(tmp_path / "a")
    events = tmp_path / "events.jsonl"
    events.write_text('{"price": 5}\n\n{"price": 50}\n', encoding="utf-8")
    with broker("--name", "b", "--listen", "127.0.0.1:0") as (_, b):
        linked = "--neighbour", f"b={b}"
        with broker("--name", "a", "--listen", "127.0.0.1:0", *linked, *kept) as (process, a):
            wanting = subprocess.Popen(
                [*MAIN, "subscribe", b, "price < :x", "--set", "x=10", "--count", "2"],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            _until(lambda: _entries(a) == 1)
            assert tidegate("publish", a, str(events)) == "published 2 events\n"
            process.send_signal(signal.SIGKILL)
            process.wait(30)
        with broker("--name", "a", "--listen", a, *linked, *kept):
            _until(lambda: _linked(a))
            assert _entries(a) == 1
            assert tidegate("publish", a, given='{"price": 6}\n') == "published 1 events\n"
            printed, _ = wanting.communicate(timeout=60)
            assert [json.loads(line) for line in printed.splitlines()] == [
                {"price": 5},
                {"price": 6},
            ]
            assert "policy covering" in tidegate("status", a)


def _entries(address: str) -> int:
    entries: int = asyncio.run(status(address))["entries"]
    return entries


def _linked(address: str) -> bool:
    return any(link["up"] for link in asyncio.run(status(address))["links"])


def _until(done: Callable[[], bool]) -> None:
    for _ in range(600):
        if done():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come to that")


def test_documents_by_the_command_line(tmp_path: Path) -> None:
    cheap, dear = tmp_path / "cheap.xml", tmp_path / "dear.xml"
    cheap.write_text('<quote xmlns="urn:q"><price>5</price></quote>', encoding="utf-8")
    dear.write_bytes('<quote xmlns="urn:q"><price>50</price></quote>'.encode("utf-16"))
    both = "--name", "a", "--listen", "127.0.0.1:0", "--kind", "attributes+xml"
    wanted = ["//q:quote[q:price < $x]", "--set", "x=10", "--namespace", "q=urn:q"]
    with broker(*both) as (_, a):
        asking = [wanted, ["//*[. = 50]"], ["price < 10"]]
        started = [
            subprocess.Popen(
                [*MAIN, "subscribe", a, *each, "--count", "1"],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for each in asking
        ]
        _until(lambda: _entries(a) == 3)
        assert tidegate("publish", a, str(cheap), str(dear)) == "published 2 events\n"
        assert tidegate("publish", a, given='{"price": 5}\n"<price/>"\n') == "published 2 events\n"
        told = [json.loads(process.communicate(timeout=60)[0]) for process in started]
        assert told[0] == cheap.read_text(encoding="utf-8")
        assert base64.b64decode(told[1][0]) == dear.read_bytes()
        assert told[2] == {"price": 5}


def test_commands_wait_for_a_broker_that_appears_later() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    asking = subprocess.Popen(
        [*MAIN, "status", address, "--json", "--wait", "300"], stdout=subprocess.PIPE, text=True
    )
    time.sleep(0.2)
    assert asking.poll() is None
    with broker("--name", "late", "--listen", address):
        said, _ = asking.communicate(timeout=300)
        assert asking.returncode == 0
        assert json.loads(said)["broker"] == "late"


def test_tls_by_the_command_line(tmp_path: Path) -> None:
    """A broker with certificates, clients with a token, a web token, and a certificate."""
    authority, token = Authority(tmp_path), new_token()
    own, bob = authority.tls("a"), authority.tls("bob")
    secret, file = tmp_path / "secret", tmp_path / "broker.toml"
    secret.write_bytes(b"a secret of two and thirty bytes, or more than that")
    file.write_text(
        f"""
        name = "a"
        listen = "127.0.0.1:0"
        slow = "drop"
        [tls]
        certificate = "{own.certificate}"
        key = "{own.key}"
        authority = "{own.authority}"
        [roles.reader]
        see = "price < 10"
        [roles.writer]
        publish = "TRUE"
        [clients]
        ann = {{ role = "reader", token = "{hash_of(token)}" }}
        bob = {{ role = "writer" }}
        [jwt]
        algorithms = ["HS256"]
        key = "{secret}"
        issuer = "us"
        audience = "tidegate"
        """,
        encoding="utf-8",
    )
    claims = {"sub": "cid", "role": "reader", "iss": "us", "aud": "tidegate", "exp": 2**40}
    signed = jwt.encode(claims, secret.read_bytes(), "HS256")
    trusts = "--authority", str(own.authority)
    shows = "--certificate", str(bob.certificate), "--key", str(bob.key)
    with broker("--config", str(file)) as (_, address):
        wanting = [
            subprocess.Popen(
                [*MAIN, "subscribe", address, "price > 0", "--name", name, *trusts, "--count", "1"],
                env={**os.environ, "TIDEGATE_TOKEN": said},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for name, said in (("ann", token), ("cid", signed))
        ]

        def asked() -> int:
            tls = Tls(own.authority, bob.certificate, bob.key)
            entries: int = asyncio.run(status(address, name="bob", tls=tls))["entries"]
            return entries

        _until(lambda: asked() == 2)
        events = '{"price": 50}\n{"price": 5}\n'
        said = tidegate("publish", address, "--name", "bob", *trusts, *shows, given=events)
        assert said == "published 2 events\n"
        for each in wanting:
            assert each.communicate(timeout=60)[0] == '{"price": 5}\n'
        status_of = "status", address, "--name", "bob", *trusts, *shows
        assert "broker a, policy covering" in tidegate(*status_of)
        for arguments, why in [
            (("publish", address, "--name", "bob"), "TLS is demanded here"),
            (("publish", address, "--name", "bob", *trusts), "bob is not let in"),
            (("publish", address, "--name", "bob", *shows), "need --authority: who is trusted?"),
            (("status", address, "--name", "bob", *trusts, *shows[:2]), "given together"),
            (("subscribe", address, "x > 0", "--name", "ann", "--token", token), "over TLS only"),
        ]:
            refused = CliRunner().invoke(app, list(arguments), input="")
            assert refused.exit_code == 2
            assert why in " ".join(refused.output.split())


def test_a_scenario_runs_as_processes() -> None:
    scenario = SCENARIOS / "network.toml"
    said = tidegate("network", str(scenario), "--port", "17400", "--seconds", "0.3")
    assert "broker b0 listens on 127.0.0.1:17400" in said
    assert "stopped b0, b1, b2" in said


def test_a_scenario_in_which_events_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(network, "_run", lambda commands, *_: ran.extend(commands.values()))
    arguments = ["network", str(SCENARIOS / "kept.toml"), "--storage", str(tmp_path)]
    assert CliRunner().invoke(app, [*arguments, "--port", "17500"]).exit_code == 0
    assert len(ran) == 6
    assert all("--keep-events" in each and "--storage" in each for each in ran)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["broker"], "a broker needs --listen"),
        (["broker", "--name", "a", "--listen", "0.0.0.0:0"], "--anywhere"),
        (["broker", "--name", "a", "--listen", "nowhere"], "is no address"),
        (["broker", "--name", "a", "--listen", "127.0.0.1:0", "--slow", "x"], "not 'x'"),
        (["broker", "--name", "a", "--listen", "127.0.0.1:0", "--limit", "x=1"], "no limit x"),
        (["broker", "--name", "a", "--listen", "127.0.0.1:0", "--limit", "keep"], "NAME=NUMBER"),
        (["broker", "--name", "a", "--listen", "127.0.0.1:0", "--limit", "keep=0"], "more than 0"),
        (["broker", "--name", "a", "--listen", "127.0.0.1:0", "--accept", "b"], "with TLS only"),
        (["broker", "--name", "a", "--listen", "127.0.0.1:0", "--key", "k"], "--authority"),
        (
            ["broker", "--name", "a", "--listen", "127.0.0.1:0", "--neighbour", "b"],
            "NAME=ADDRESS",
        ),
        (
            ["broker", "--name", "a", "--listen", "127.0.0.1:0", "--keep-events"],
            "events are kept in a storage",
        ),
        (["network", str(SCENARIOS / "kept.toml")], "events are kept in a storage: give --storage"),
        (["network", str(SCENARIOS / "planetlab.toml")], "are described by a file each"),
        (["status", "127.0.0.1:1", "--wait", "0"], "cannot be reached"),
        (["publish", "127.0.0.1:1", "--wait", "0"], "cannot be reached"),
        (["subscribe", "127.0.0.1:1", "price < 10", "--wait", "0"], "cannot be reached"),
    ],
)
def test_what_cannot_be_is_said_without_a_traceback(arguments: list[str], why: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert why in " ".join(result.output.split())


def test_a_file_describes_a_broker(tmp_path: Path) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(
        """
        name = "a"
        listen = "127.0.0.1:7400"
        storage = "kept"
        policy = "merging"
        advertisements = true
        slow = "wait"
        [neighbours]
        b = "127.0.0.1:7401"
        [limits]
        buffer = 1000
        credits = 500
        """,
        encoding="utf-8",
    )
    setup = read_setup(path, Attributes())
    assert (setup.name, setup.listen.port, setup.storage) == ("a", 7400, Path("kept"))
    assert setup.settings.advertisements
    assert setup.neighbours["b"].port == 7401
    assert (setup.limits.buffer, setup.limits.credits, setup.slow) == (1000, 500, "wait")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("name = 'a'", "listen is missing"),
        ("name = 5", "name cannot be 5"),
        ("nonsense = 5", "there is no key nonsense"),
        ("name = 'a'\nlisten = 'x:1'\nslow = 'x'", "a slow client is cut"),
        ("name = 'a'\nlisten = 'x:1'\n[limits]\nx = 1", "there is no limit x"),
        ("name = 'a'\nlisten = 'x:1'\n[neighbours]\nb = 1", "neighbours.b cannot be 1"),
        ("name = ", "is not TOML"),
        ("name = ''\nlisten = 'x:1'", "name cannot be ''"),
        ("name = 'a'\nlisten = 'x:1'\nstorage = ''", "storage cannot be ''"),
        ("name = 'a'\nlisten = 'x:1'\nsnapshot = 0", "snapshot is at least 1, not 0"),
        ("name = 'a'\nlisten = 'x:1'\nsnapshot = true", "snapshot cannot be True"),
        ("name = 'a'\nlisten = 'x:1'\n[tls]", "tls has certificate, key and authority"),
        ("name = 'a'\nlisten = 'x:1'\n[limits]\nevents = 0.5", "events is a whole number"),
        ("name = 'a'\nlisten = 'x:1'\n[limits]\nkeep = inf", "keep is a number of seconds"),
        ("name = 'a'\nlisten = 'x:1'\nparent = 'b'", "b may be above, and is none of"),
    ],
)
def test_a_file_that_describes_none(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TidegateError, match=why):
        read_setup(path, Attributes())
    with pytest.raises(TidegateError, match="cannot be read"):
        read_setup(tmp_path / "nowhere.toml", Attributes())
