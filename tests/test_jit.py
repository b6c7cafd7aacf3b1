"""Machine code on disk is that of the arguments and the sources it is taken for."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from numba.core.caching import IndexDataCacheFile

import tidegate as tg
from tidegate import jit
from tidegate.jit import KernelFile

pytestmark = pytest.mark.slow

SOURCES = {
    "callee.py": "from tidegate.jit import inlined\n"
    "@inlined\ndef amount(x):\n    return {amount}\n",
    "caller.py": "from tidegate.jit import kernel\nfrom callee import amount\n"
    "@kernel\ndef total(x):\n    return x + amount(x)\n",
}


def two_at_once(kind: Any, folder: Path) -> dict[str, Any]:
    """Two processes, neither of which has seen the other's entry, keep what they compiled."""
    one, other = (kind(str(folder), "f", "stamp") for _ in range(2))
    save_data = one._save_data

    def interrupted(name: str, data: Any) -> None:
        other._load_index = dict
        other.save("for floats", "code for floats")
        save_data(name, data)

    one._save_data = interrupted
    one.save("for integers", "code for integers")
    later = kind(str(folder), "f", "stamp")
    return {key: later.load(key) for key in ("for integers", "for floats")}


def test_processes_that_compile_at_once_do_not_take_each_others_code(tmp_path: Path) -> None:
    found = two_at_once(KernelFile, tmp_path)
    assert all(code in (None, f"code {key}") for key, code in found.items())
    assert any(found.values())


def test_numbered_files_would_be_mixed_up(tmp_path: Path) -> None:
    found = two_at_once(IndexDataCacheFile, tmp_path)
    assert found["for floats"] == "code for integers"


def total(folder: Path, cache: Path, caller: str = "caller") -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), *sys.path])
    program = f"from {caller} import total; print(total(1))"
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


def test_a_kernel_is_compiled_anew_when_what_it_calls_has_changed(tmp_path: Path) -> None:
    folder, cache = tmp_path / "sources", tmp_path / "cache"
    folder.mkdir()
    for amount in ("10", "20"):
        for name, text in SOURCES.items():
            source = folder / name
            text = text.replace("{amount}", amount)
            if not source.exists() or source.read_text() != text:
                source.write_text(text)
        assert total(folder, cache) == str(1 + int(amount))
        assert total(folder, cache) == str(1 + int(amount))  # what was kept


@pytest.mark.parametrize(
    ("callee", "caller"),
    [
        ("house/engine/low/callee.py", "house/engine/high/caller.py"),
        ("house/engine/low/callee.py", "house/engine/caller.py"),
        ("house/engine/callee.py", "house/engine/low/deep/caller.py"),
    ],
)
def test_a_kernel_is_compiled_anew_when_what_it_calls_in_another_folder_has_changed(
    tmp_path: Path, callee: str, caller: str
) -> None:
    """The kernel and what it calls are in two rooms of one folder of a house."""
    module = callee.removesuffix(".py").replace("/", ".")
    texts = {
        callee: SOURCES["callee.py"],
        caller: SOURCES["caller.py"].replace("from callee", f"from {module}"),
    }
    for amount in ("10", "20"):
        for name, text in texts.items():
            source = tmp_path / name
            source.parent.mkdir(parents=True, exist_ok=True)
            for folder in source.relative_to(tmp_path).parents[:-1]:
                (tmp_path / folder / "__init__.py").touch()
            text = text.replace("{amount}", amount)
            if not source.exists() or source.read_text() != text:
                source.write_text(text)
        for _ in range(2):
            found = total(tmp_path, tmp_path / "cache", caller[:-3].replace("/", "."))
            assert found == str(1 + int(amount))


AT_ONCE = """
import sys, time
from caller import total
time.sleep(max(0.0, float(sys.argv[1]) - time.time()))
assert total(1) == 11
print(sum(total.stats.cache_misses.values()))
"""


def at_once(folder: Path, count: int) -> list[int]:
    """How often each of some processes that start at once has compiled the same kernel."""
    for name, text in SOURCES.items():
        (folder / name).write_text(text.replace("{amount}", "10"))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), *sys.path])
    command = [sys.executable, "-c", AT_ONCE, str(time.time() + 3)]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    return [int(process.communicate(timeout=120)[0]) for process in running]


def test_processes_that_start_at_once_compile_a_kernel_once(tmp_path: Path) -> None:
    assert sorted(at_once(tmp_path, 3)) == [0, 0, 1]


def kernel_file(folder: Path) -> Any:
    kind: Any = KernelFile
    return kind(str(folder), "f", "stamp")


def test_a_lock_that_is_never_given_back_holds_nobody_up_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "_PATIENCE", 0.1)
    held, waiting = (kernel_file(tmp_path) for _ in range(2))
    assert held.load("key") is None
    assert waiting.load("key") is None
    waiting.save("key", "code")
    assert kernel_file(tmp_path).load("key") == "code"
    held.save("key", "code")


def test_what_another_process_has_compiled_meanwhile_is_taken(tmp_path: Path) -> None:
    compiling, waiting = (kernel_file(tmp_path) for _ in range(2))
    assert compiling.load("key") is None
    with ThreadPoolExecutor() as pool:
        other = pool.submit(waiting.load, "key")
        time.sleep(0.1)
        assert not other.done()
        compiling.save("key", "code")
        assert other.result(60) == "code"
    assert waiting._lock is None


@pytest.mark.parametrize("folder", ["algebra", "engine", "pipeline"])
def test_all_kernels_of_a_folder_share_one_stamp_however_deep_they_are(folder: str) -> None:
    house = Path(tg.__file__).parent
    for source in (house / folder).rglob("*.py"):
        assert jit._folder(source) == house / folder


@pytest.mark.parametrize("switch", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_kernels_work_as_plain_functions_and_with_checks(
    tmp_path: Path, switch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(switch, "1")
    for name, text in SOURCES.items():
        (tmp_path / name).write_text(text.replace("{amount}", "5"))
    assert total(tmp_path, tmp_path / "cache") == "6"


@pytest.mark.parametrize(
    ("kernel", "given"),
    [
        (
            "tidegate.engine.primitives.sorted_search.count_before",
            "np.arange(8), *np.zeros((3, 1), int)",
        ),
        ("tidegate.algebra.kernels._length", "1, 5"),
    ],
)
def test_no_two_processes_give_machine_code_the_same_name(
    kernel: str, given: str, tmp_path: Path
) -> None:
    """Else what they keep on disk is mixed up by a process that loads both."""
    module, name = kernel.rsplit(".", 1)
    program = (
        f"import numpy as np, {module}\n"
        f"kernel = {kernel}\n"
        f"kernel({given})\n"
        "(compiled,) = kernel.overloads.values()\n"
        "print(compiled.fndesc.mangled_name)\n"
    )
    names = []
    for cache in ("one", "other"):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / cache)}
        run = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        names.append(run.stdout)
    assert all(name in each for each in names)
    assert names[0] != names[1]
