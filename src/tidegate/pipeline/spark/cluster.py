"""How is a cluster tried out on one machine?

`cluster` starts what a standalone cluster of Spark's has: a master, and workers that start an
executor each for whoever connects, all of them processes of their own on the loopback interface.
Workers live as on machines of their own: each has another working directory, another home, another
folder for temporary files, so that what works here does not work by accident.

They are one group of processes with a **keeper**, a shell that waits for its standard input to end.
That happens when they are stopped and also when this process is killed, so none outlives it.
"""

import os
import re
import signal
import site
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidegate.errors import TidegateError
from tidegate.pipeline.spark.java import require_java
from tidegate.pipeline.spark.session import LOGGING, last_lines

HOST: Final = "127.0.0.1"
"""Where the cluster can be reached: on this machine only."""

_SECONDS: Final = 120  # for a master or a worker to start
_GRACE: Final = 5  # seconds for them to stop
_LOGGING: Final = f"""\
{LOGGING}logger.deploy.name = org.apache.spark.deploy
logger.deploy.level = info
"""
_JAVA: Final = (  # they have little to do, and had better start fast
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-Dspark.master.rest.enabled=false -Dspark.port.maxRetries=0"
)
_KEEPER: Final = f"""
trap '' TERM INT HUP
cat > /dev/null
kill -TERM 0
sleep {_GRACE}
rm -rf "$1"
kill -KILL 0
"""
_STARTED: Final = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED: Final = re.compile(r"Successfully registered with master (spark://\S+)")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that runs."""

    master: str
    memory: int  # of an executor, in GB
    daemons: tuple["subprocess.Popen[bytes]", ...]

    def environment(self) -> dict[str, str]:
        """What a driver on this machine needs in its environment, beside what it has."""
        return {"SPARK_LOCAL_IP": HOST, "SPARK_EXECUTOR_MEMORY": f"{self.memory}g"}

    def command(self, words: Sequence[str]) -> list[str]:
        """A command with the master's address for `{master}`."""
        return [word.replace("{master}", self.master) for word in words]

    def is_whole(self) -> bool:
        """Whether the master and all workers still run."""
        return all(daemon.poll() is None for daemon in self.daemons)


@contextmanager
def cluster(
    executors: int = 2, cores: int = 1, memory: int = 1, port: int = 0
) -> Iterator[Cluster]:
    """A standalone cluster for a block, ready for drivers.

    Whoever connects gets so many executors, each with so many cores and GB of memory, unless Spark
    is told otherwise. The master listens at the port, or at one that is free.

        with cluster(executors=2) as running, session(running.master) as spark:
            ...
    """
    require_java()
    _require_free(port)
    with tempfile.TemporaryDirectory(
        prefix="tidegate-cluster-", ignore_cleanup_errors=True
    ) as folder:
        daemons = _Daemons(Path(folder))
        try:
            daemons.start("master", "master.Master", "--port", str(port))
            master = daemons.heard("master", _STARTED)
            size = ["--cores", str(cores), "--memory", f"{memory}g"]
            workers = [f"worker-{number}" for number in range(executors)]
            for name in workers:
                work = ["--work-dir", str(daemons.folder / name / "work")]
                daemons.start(name, "worker.Worker", *size, *work, master)
            for name in workers:
                daemons.heard(name, _REGISTERED)
            yield Cluster(master, memory, tuple(daemons.running.values()))
        finally:
            daemons.stop()


class _Daemons:
    """The processes of a cluster, in one group with their keeper."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        (folder / "log4j2.properties").write_text(_LOGGING)
        self._keeper = subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "sh", str(folder)], stdin=subprocess.PIPE, process_group=0
        )
        assert self._keeper.stdin is not None
        self._held = self._keeper.stdin  # as long as this is open, the keeper waits

    def start(self, name: str, what: str, *arguments: str) -> None:
        """Start a daemon in a folder of its own."""
        from pyspark.find_spark_home import _find_spark_home

        program = Path(_find_spark_home()) / "bin" / "spark-class"
        place = self.folder / name
        for each in ("home", "tmp", "local", "work"):
            (place / each).mkdir(parents=True)
        where = ["--host", HOST, "--webui-port", "0"]
        if "--port" not in arguments:
            where += ["--port", "0"]
        with (place / "log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                [str(program), f"org.apache.spark.deploy.{what}", *where, *arguments],
                cwd=place,
                env=self._environment(place),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=self._keeper.pid,
            )

    def _environment(self, place: Path) -> dict[str, str]:
        """Nothing that only this process would find."""
        rules = self.folder / "log4j2.properties"
        own = {
            "SPARK_DAEMON_JAVA_OPTS": f"-Dlog4j2.configurationFile=file:{rules} {_JAVA}",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_DIRS": str(place / "local"),
            "SPARK_LOCAL_IP": HOST,
            "HOME": str(place / "home"),
            "TMPDIR": str(place / "tmp"),
            "PYTHONUSERBASE": site.getuserbase(),  # or Python would look for it in that home
        }
        inherited = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
        paths = inherited.get("PYTHONPATH")
        if paths:
            own["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, paths.split(os.pathsep)))
        return {**inherited, **own}

    def heard(self, name: str, wanted: re.Pattern[str]) -> str:
        """What a daemon has said, once it has."""
        log, daemon = self.folder / name / "log", self.running[name]
        deadline = time.monotonic() + _SECONDS
        while True:
            ended = daemon.poll() is not None or time.monotonic() > deadline
            said = log.read_text(errors="replace")
            found = wanted.search(said)
            if found is not None:
                return found[1]
            if ended:
                raise TidegateError(f"Spark's {name} did not start:{last_lines(said)}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End all of them, and what they have started."""
        os.killpg(self._keeper.pid, signal.SIGTERM)  # which the keeper does not heed
        for daemon in self.running.values():
            with suppress(subprocess.TimeoutExpired):
                daemon.wait(_GRACE)
        os.killpg(self._keeper.pid, signal.SIGKILL)
        for process in (*self.running.values(), self._keeper):
            process.wait()
        self._held.close()


def _require_free(port: int) -> None:
    """Refuse a port at which somebody else listens."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise TidegateError(
                f"the cluster's master cannot listen at {HOST}:{port}: {error.strerror}; "
                "name another port, or none for one that is free"
            ) from None
