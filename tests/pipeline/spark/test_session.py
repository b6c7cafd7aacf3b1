"""How Spark is started: with which Java, with which settings, and without a word."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from tidegate.cli import app
from tidegate.errors import TidegateError
from tidegate.pipeline import Store
from tidegate.pipeline.spark import java, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def fake(folder: Path, script: str) -> Path:
    """A program `java` that does what the script says."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "java"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def saying(text: str) -> str:
    return f"cat >&2 <<'END'\n{text}\nEND"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder where programs are looked for, beside those of the shell."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    found = tmp_path / "bin"
    found.mkdir()
    cat = Path("/bin/cat") if Path("/bin/cat").exists() else Path("/usr/bin/cat")
    (found / "cat").symlink_to(cat)
    monkeypatch.setenv("PATH", str(found))
    return found


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19\nOpenJDK Runtime Environment', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\njava version "17.0.1" 2021-10-19 LTS', 17),
    ],
)
def test_a_java_that_is_new_enough_will_do(path: Path, text: str, version: int) -> None:
    fake(path, saying(text))
    assert java.require_java() == version


@pytest.mark.parametrize(
    ("script", "found"),
    [
        (saying('java version "1.8.0_392"'), "Java 8, which is too old"),
        (saying('openjdk version "11.0.22" 2024-01-16'), "Java 11, which is too old"),
        (saying('openjdk version "16.0.2" 2021-07-20'), "Java 16, which is too old"),
        (
            saying("The operation couldn't be completed. Unable to locate a Java Runtime.")
            + "\nexit 1",
            "it said: The operation couldn't be completed.",
        ),
        ("exit 1", "it said: nothing"),
    ],
)
def test_another_java_is_refused_with_what_was_found(path: Path, script: str, found: str) -> None:
    program = fake(path, script)
    with pytest.raises(TidegateError) as refused:
        java.require_java()
    assert found in str(refused.value)
    assert str(program) in str(refused.value)
    require_advice(str(refused.value))


def require_advice(text: str) -> None:
    for word in ("apt-get install openjdk-17-jre-headless", "brew install", "JAVA_HOME"):
        assert word in text


@pytest.mark.usefixtures("path")
def test_no_java_at_all_is_said() -> None:
    with pytest.raises(TidegateError, match="there is no Java") as refused:
        java.require_java()
    require_advice(str(refused.value))


def test_java_home_goes_before_the_path(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(path, saying('openjdk version "17.0.15"'))
    fake(tmp_path / "old" / "bin", saying('openjdk version "11.0.2"'))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(TidegateError, match="Java 11"):
        java.require_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(TidegateError, match=r"JAVA_HOME is .*nowhere, but there is no program"):
        java.require_java()


def test_a_program_that_cannot_be_run_is_said(path: Path) -> None:
    program = fake(path, "")
    program.write_text("#!/nowhere/at/all\n")
    with pytest.raises(TidegateError, match="cannot be run"):
        java.require_java()


def test_java_is_asked_before_spark_is_loaded(path: Path) -> None:
    fake(path, saying('openjdk version "11.0.22"'))
    program = (
        "import sys\n"
        "from tidegate.pipeline.spark.session import start\n"
        "try:\n    start()\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, 'pyspark' in sys.modules, error)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.startswith("TidegateError False ")
    assert "Java 11" in run.stdout
    assert run.stderr == ""


def test_a_command_that_needs_java_says_so_without_a_traceback(path: Path) -> None:
    fake(path, saying('openjdk version "11.0.22"'))
    said = CliRunner().invoke(app, ["demo"])
    assert said.exit_code == 2
    assert "Java 11, which is too old" in said.output
    assert "Traceback" not in said.output


def test_a_running_session_is_used_again_and_not_stopped(spark: "SparkSession") -> None:
    assert session.start("local[7]") is spark
    with session.session("local[7]") as same:
        assert same is spark
    assert spark.range(3).count() == 3
    assert spark.sparkContext.master == "local[2]"


def test_a_running_session_gets_the_settings_that_filters_rely_on(spark: "SparkSession") -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.caseSensitive", "false")
    before = spark.conf.get("spark.sql.shuffle.partitions")
    options: dict[str, Any] = {"spark.sql.shuffle.partitions": 3, "spark.ui.enabled": True}
    try:
        session.start(**options)
        assert {name: spark.conf.get(name) for name in session.MEANING} == session.MEANING
        assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
        assert spark.conf.get("spark.ui.enabled") == "false"  # not while it runs
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", str(before))
        for name, value in session.MEANING.items():
            spark.conf.set(name, value)


@pytest.mark.parametrize(
    ("master", "here"),
    [
        ("local[2]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077", True),
        ("spark://elsewhere:7077", False),
        ("yarn", False),
    ],
)
def test_a_driver_listens_where_its_executors_are(
    tmp_path: Path, spark: "SparkSession", master: str, here: bool
) -> None:
    from pyspark import SparkConf

    conf = session._conf(SparkConf(loadDefaults=False), master, "test", tmp_path, {})
    assert (conf.get("spark.driver.host") == "127.0.0.1") == here
    assert conf.contains("spark.local.dir") == master.startswith("local")


QUIETLY = """
import os, sys
from tidegate.pipeline.spark.session import MEANING, failures, session

with session("local[1]", "quiet", **{"spark.sql.shuffle.partitions": 3}) as spark:
    assert {name: spark.conf.get(name) for name in MEANING} == MEANING
    assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
    assert spark.conf.get("spark.ui.enabled") == "false"
    assert os.environ["PYSPARK_PYTHON"] == sys.executable

    def worker(batches):
        import pyarrow as pa
        sys.stderr.write("a worker's chatter\\n")
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable] * len(batch)})

    rows = spark.range(1).mapInArrow(worker, "python string").collect()
    assert rows[0].python == sys.executable
    assert len(spark.range(2).toPandas()) == 2
    try:
        with failures():
            spark.sql("SELECT 1 / 0").collect()
    except Exception as error:
        print(type(error).__name__, error)
    folder = spark.conf.get("spark.local.dir")
try:
    session("local[wrong]").__enter__()
except Exception as error:
    print(type(error).__name__, error)
print(os.path.dirname(folder))
"""


@pytest.mark.spark
def test_a_new_session_says_nothing_of_its_own_and_leaves_nothing_behind() -> None:
    environment = {**os.environ, "PYSPARK_PYTHON": "/nowhere/python"}
    run = subprocess.run(
        [sys.executable, "-c", QUIETLY], capture_output=True, text=True, env=environment
    )
    assert run.stderr == ""
    first, second, folder = run.stdout.splitlines()
    assert first.startswith("TidegateError [DIVIDE_BY_ZERO] Division by zero.")
    assert second.startswith("TidegateError Spark did not start: Could not parse Master URL")
    assert "tidegate-spark-" in folder
    assert not Path(folder).exists()


def test_what_java_says_is_shown_without_traces() -> None:
    said = "WARN one\njava.lang.Error: two\n\tat A.b(A.java:1)\n\t... 9 more\n\nERROR three\n"
    assert session.last_lines(said) == "\n  WARN one\n  java.lang.Error: two\n  ERROR three"
    assert session.last_lines("") == ""
    assert session.last_lines("\n".join(map(str, range(99)))).split() == [
        str(n) for n in range(91, 99)
    ]


@pytest.mark.spark
def test_a_command_says_nothing_that_is_not_its_own(tmp_path: Path) -> None:
    Store.create(tmp_path / "store").add("a", "price < 10")
    (tmp_path / "trades.csv").write_text("symbol,price\nIBM,9.5\n")
    program = f"from tidegate.cli import app; app({['statistics', str(tmp_path / 'store')]!r} + "
    program += f"{['--events', str(tmp_path / 'trades.csv'), '--master', 'local[1]']!r})"
    quiet = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=quiet)
    assert run.returncode == 0, run.stderr
    assert "1 event, the last counted" in run.stdout
    assert run.stderr == ""


def test_the_reason_of_an_error_is_ours_if_one_of_ours_is_behind_it() -> None:
    trace = (
        "Job aborted.\n  File worker.py, line 3\n"
        "tidegate.errors.StoreError: the pin x is damaged: say there\n"
        "  which version it was\n\n\tat org.apache.spark.Something(Some.scala:1)\n"
    )
    assert session.reason(RuntimeError(trace)) == (
        "the pin x is damaged: say there\n  which version it was"
    )
    assert session.reason(RuntimeError("[A] one. SQLSTATE: 1\ntwo")) == "[A] one."
    assert session.reason(RuntimeError()) == "RuntimeError"
