"""How is Spark started?

With the settings under which a filter means what Spark SQL's `WHERE` means (ANSI on, time zone UTC,
case-sensitive names), with workers of the same Python as this one, and quietly: what Spark, Java
and the workers have to say goes into a log file, not between the lines of a program. If Spark does
not start, the error has the end of that file.

A session that is there already is used, not replaced.
"""

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidegate.errors import TidegateError
from tidegate.pipeline.spark.java import require_java

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import DataFrame as DataFrame  # for those who may name Spark's types only
    from pyspark.sql import SparkSession as SparkSession

MEANING: Final = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
}
"""The settings under which a filter means what Spark says it means."""

_QUIET: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_HERE: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_LOOPBACK: Final = re.compile(r"local|spark://(?:localhost|127\.)")
LOGGING: Final = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""
"""How Java logs: warnings and worse, to standard error."""

_OURS: Final = re.compile(
    r"^(?:\w+\.)*tidegate\.errors\.\w+: (.*?)(?=\n\s*\n|\n\s*at |\n?\Z)", re.MULTILINE | re.DOTALL
)
_TRACE: Final = re.compile(r"\s+(at |\.\.\. \d+ more)")
_LAST: Final = 8  # lines of a log that an error shows


def start(
    master: str = "local[*]", app: str = "tidegate", **options: str | int | bool
) -> "SparkSession":
    """A Spark session with the settings of the first law; the one that is there, if there is one.

    `options` are settings of Spark: `start("local[2]", **{"spark.driver.memory": "4g"})`. Of a
    session that is there already, only those that can change while it runs are set.
    """
    chosen = {name: _spelled(value) for name, value in options.items()}
    running = active()
    if running is not None:
        for name, value in {**MEANING, **chosen}.items():
            if name in MEANING or running.conf.isModifiable(name):
                running.conf.set(name, value)
        return running
    require_java()
    return _started(master, app, chosen)


def active() -> "SparkSession | None":
    """The session that is running, if one is."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


@contextmanager
def session(
    master: str = "local[*]", app: str = "tidegate", **options: str | int | bool
) -> Iterator["SparkSession"]:
    """A session for a block, stopped after it unless it was there before."""
    before = active()
    running = start(master, app, **options)
    try:
        yield running
    finally:
        if before is None:
            with suppress(Exception):  # its Java may be gone already
                running.stop()


def _started(master: str, app: str, options: dict[str, str]) -> "SparkSession":
    local = master.startswith("local")
    if local:
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    else:  # the same Python may be at another place there
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if _LOOPBACK.match(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    _hush()
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    folder = Path(tempfile.mkdtemp(prefix="tidegate-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    conf = _conf(SparkConf(), master, app, folder, options)
    log = folder / "spark.log"
    try:
        gateway = SparkContext._gateway  # of a session that was stopped: its Java still runs
        if gateway is None:
            with log.open("wb") as chatter:
                quiet = {"stdout": chatter, "stderr": chatter}
                gateway = launch_gateway(conf, quiet)  # type: ignore[no-untyped-call]
        SparkContext(conf=conf, gateway=gateway)
        return SparkSession.builder.getOrCreate()
    except (PySparkException, Py4JError, OSError, RuntimeError, ValueError) as error:
        raise TidegateError(_failed(error, log)) from None


def _hush() -> None:
    """Keep what Spark's Python part says twice, or to its own developers, off the terminal."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    logging.getLogger("SQLQueryContextLogger").disabled = True  # errors, which are raised as well


def _conf(
    conf: "SparkConf", master: str, app: str, folder: Path, options: dict[str, str]
) -> "SparkConf":
    """All settings; those that somebody has chosen win."""
    local = master.startswith("local")
    rules = folder / "log4j2.properties"
    rules.write_text(LOGGING)
    java = f"-Dlog4j2.configurationFile=file:{rules} {options.get(_JAVA_OPTIONS, '')}".strip()
    settings = {**MEANING, **_QUIET, "spark.sql.warehouse.dir": str(folder / "warehouse")}
    if _LOOPBACK.match(master):
        settings |= _HERE
    if local:
        settings |= {"spark.driver.memory": "2g", "spark.local.dir": str(folder / "local")}
        settings["spark.sql.shuffle.partitions"] = str(max(2, os.cpu_count() or 2))
    settings |= {**options, _JAVA_OPTIONS: java}
    conf.setMaster(master).setAppName(app)
    for name, value in settings.items():
        conf.set(name, value)
    return conf


_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"


def _spelled(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _failed(error: Exception, log: Path) -> str:
    try:
        said = log.read_text(errors="replace")
    except OSError:
        said = ""
    return f"Spark did not start: {reason(error)}{last_lines(said)}"


def last_lines(said: str) -> str:
    """The end of what Java has logged, without traces; each line indented, on a line of its own."""
    told = [line for line in said.splitlines() if line.strip() and not _TRACE.match(line)]
    return "".join(f"\n  {line}" for line in told[-_LAST:])


def reason(error: BaseException) -> str:
    """What an error of Spark's is about, without the traces of Java and of the workers' Python.

    If one of our own errors is behind it, it is that one's message.
    """
    text = str(error).strip() or type(error).__name__
    ours = _OURS.findall(text)
    if ours:
        return str(ours[-1]).strip()
    lines = text.splitlines()
    java = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    first = java[0].partition("Exception: ")[2] or java[0] if java else lines[0]
    return first.partition(" SQLSTATE:")[0]


@contextmanager
def failures() -> Iterator[None]:
    """Make errors of Spark errors of ours, in as few words as they allow."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise TidegateError(reason(error)) from None
