"""Is there a Java that can run Spark?

Spark runs in a Java process of its own. Without one, or with one that is too old, Spark's scripts
end in messages about something else, so it is found out first: the Java that Spark's scripts would
take is asked for its version.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tidegate.errors import TidegateError

OLDEST: Final = 17
"""The oldest version of Java that Spark 4 runs on."""

_SECONDS: Final = 60
_VERSION: Final = re.compile(r'version "(?:1\.)?([0-9]+)')
_ADVICE: Final = f"""\
Spark needs Java {OLDEST} or newer. Install it, then try again:
  Debian, Ubuntu  apt-get install openjdk-17-jre-headless
  macOS           brew install openjdk@17
If it is installed already, name its folder: export JAVA_HOME=/path/to/java"""


def require_java() -> int:
    """The version of the Java that Spark will run on; an error that says what to do if it can't."""
    program = _program()
    said = _asked(program)
    found = _VERSION.search(said)
    if found is None:
        first = next((line.strip() for line in said.splitlines() if line.strip()), "nothing")
        raise _unfit(f"{program} does not tell its version; it said: {first}")
    version = int(found[1])
    if version < OLDEST:
        raise _unfit(f"{program} is Java {version}, which is too old")
    return version


def _program() -> str:
    """The program that Spark's scripts start."""
    home = os.environ.get("JAVA_HOME")
    if home:
        inside = Path(home) / "bin" / "java"
        if shutil.which(inside) is None:
            raise _unfit(f"JAVA_HOME is {home}, but there is no program {inside}")
        return str(inside)
    found = shutil.which("java")
    if found is None:
        raise _unfit("there is no Java: no program java on the PATH, and JAVA_HOME is not set")
    return found


def _asked(program: str) -> str:
    try:
        run = subprocess.run(
            [program, "-version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unfit(f"{program} cannot be run: {error}") from None
    return run.stderr + run.stdout


def _unfit(found: str) -> TidegateError:
    return TidegateError(f"{found}\n{_ADVICE}")
