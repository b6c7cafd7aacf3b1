"""The command `tidegate network`: every broker of a scenario, as a process."""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tidegate.commands.options import refusals
from tidegate.console import out
from tidegate.errors import TidegateError

_MAIN = "from tidegate.cli import main; main()"


def network(
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO.toml", help="A network, as for simulate.")
    ],
    port: Annotated[
        int, typer.Option(help="The port of the first broker; the others have the next ones.")
    ] = 7400,
    storage: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where brokers write down what they know.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Stop after so long; else when it is interrupted.")
    ] = None,
) -> None:
    """Start every broker of a scenario as a process of its own, on this machine.

    The overlay, the kind of filters, the policy, whether there are advertisements and whether
    events are kept are the scenario's; clients, events and faults are not: they come from
    `tidegate publish` and `tidegate subscribe`.
    """
    from tidegate.lab.workloads.sources import SOURCES  # load the engine
    from tidegate.simulate.scenario import load

    with refusals():
        planned = load(scenario, None, SOURCES)
        if planned.topology.upstream:
            raise TidegateError(
                f"{scenario}: brokers with parents or paths are described by a file each"
            )
        if planned.settings.keep_events and storage is None:
            raise TidegateError(f"{scenario}: events are kept in a storage: give --storage")
        names = list(planned.topology.names)
        ports = {name: port + place for place, name in enumerate(names)}
        for name in names:
            _check_free(ports[name])
        like = ["--policy", planned.policy.name, "--kind", planned.kind.name]
        commands = {name: _command(name, ports, like, storage) for name in names}
        for edge in planned.topology.edges:
            commands[edge.first] += ["--neighbour", f"{edge.second}={_at(ports[edge.second])}"]
        if planned.settings.advertisements:
            for command in commands.values():
                command.append("--advertisements")
        if planned.settings.keep_events:
            for command in commands.values():
                command.append("--keep-events")
        _run(commands, ports, seconds)


def _command(name: str, ports: dict[str, int], like: list[str], storage: Path | None) -> list[str]:
    command = [sys.executable, "-c", _MAIN, "broker", "--name", name]
    command += ["--listen", _at(ports[name]), *like]
    return command if storage is None else [*command, "--storage", str(storage / name)]


def _at(port: int) -> str:
    return f"127.0.0.1:{port}"


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise TidegateError(f"the port {port} cannot be used: {error.strerror}") from None


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _run(commands: dict[str, list[str]], ports: dict[str, int], seconds: float | None) -> None:
    """Let processes run until one of them ends, it is time, or somebody interrupts.

    Time counts from when all of them listen.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    running: dict[str, subprocess.Popen[bytes]] = {}
    end: float | None = None
    ready = False
    try:
        for name, command in commands.items():
            running[name] = subprocess.Popen(command)
        while end is None or time.monotonic() < end:
            for name, process in running.items():
                if process.poll() is not None:
                    raise TidegateError(f"the broker {name} has ended")
            if not ready and all(map(_listens, ports.values())):
                ready = True
                end = None if seconds is None else time.monotonic() + seconds
            time.sleep(0.1)
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
        for process in running.values():
            process.send_signal(signal.SIGTERM)
        for process in running.values():
            process.wait()
    out.print(f"stopped {escape(', '.join(running))}")
