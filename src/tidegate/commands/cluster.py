"""The command `tidegate cluster`: a command on a cluster of several processes on this machine.

A thin layer over `cluster`. Without a command, the cluster stays until somebody stops it.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from types import FrameType
from typing import Annotated, NoReturn

import typer
from rich.markup import escape

from tidegate.commands.options import refusals
from tidegate.console import err, out, waiting
from tidegate.errors import TidegateError


def cluster(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[COMMAND]...",
            help="What to run, after --; {master} stands for the address of the master.",
        ),
    ] = None,
    executors: Annotated[int, typer.Option(min=1, help="How many executors.")] = 2,
    cores: Annotated[int, typer.Option(min=1, help="Cores of each.")] = 1,
    memory: Annotated[int, typer.Option(min=1, metavar="GB", help="Java's memory of each.")] = 1,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The master's port; a free one by default.")
    ] = 0,
) -> None:
    """Run a command on a Spark cluster of several processes on this machine, then stop it.

    tidegate cluster -- tidegate match --master {master} --subscriptions rules ...

    Executors have homes, working directories and temporary folders of their own, as on several
    machines; they have the disk in common. The exit code is that of the command. Without one, the
    cluster runs until Ctrl-C.
    """
    from tidegate.pipeline.spark.cluster import cluster as starting

    with refusals():
        if command and shutil.which(command[0]) is None:
            raise TidegateError(f"there is no program {command[0]}")
        with (
            waiting("starting the cluster") as done,
            starting(executors, cores, memory, port) as running,
        ):
            done()
            signal.signal(signal.SIGTERM, _end)
            said = f"{executors} executor{'s' * (executors > 1)} at {running.master}"
            if command:
                err.print(escape(said))
                environment = {**os.environ, **running.environment()}
                code = _ended(running.command(command), environment)
            else:
                out.print(f"{escape(said)}; Ctrl-C stops them")
                while running.is_whole():
                    time.sleep(0.5)
                raise TidegateError("a process of the cluster has ended")
    raise typer.Exit(code)


def _ended(command: list[str], environment: dict[str, str]) -> int:
    """Run a command to its end, also after Ctrl-C, which it is told of as well."""
    environment.setdefault("PYSPARK_PYTHON", sys.executable)
    with subprocess.Popen(command, env=environment) as process:
        try:
            while True:
                try:
                    code = process.wait()
                    return code if code >= 0 else 128 - code
                except KeyboardInterrupt:
                    continue
        except SystemExit:
            process.terminate()
            raise


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """Have what is open be closed."""
    raise SystemExit(128 + number)
