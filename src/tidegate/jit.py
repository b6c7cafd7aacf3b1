"""How are kernels compiled?

A **kernel** is a function over plain arrays that Numba compiles to machine code, keeps on disk for
the next process, and runs without the interpreter's lock.

Numba counts references to arrays, also when one kernel calls another, and cannot always see that
nothing comes of it: in an inner loop, counting took ten times as long as the work. A kernel here
therefore counts none. It neither makes arrays nor returns any; those it is given stay alive because
its caller holds them. What has to make arrays is `allocating`, and leaves the loops to kernels.
Code in C calls none but a `callback`; what it would take to call the others is left out, which was
an eighth of the time to compile them.

What is on disk is Numba's cache but for four things, because many processes start at once, and
because kernels contain what they call.

- Machine code has names that no other process gives. Numba numbers the functions of a process, from
  1 on, and names their code by these numbers: code that two processes have kept could have the same
  name for different parts, a sort for one and a ranking for the other, and a process that loads
  both would take one of them for the other, and crash. Here, numbers start anywhere.
- A file is named by what it was compiled for, not by a number that another process may take at the
  same time for something else.
- Who finds nothing there locks the kernel while it compiles it; who comes meanwhile waits, and
  finds it. So the workers of a new machine, which all start at once, share the work.
- All of it is out of date when any source is that it may have been made of, not only the one that
  the kernel is in: those of its folder of the house, however deep, and of the folders whose kernels
  all may call.
"""

import hashlib
import itertools
import os
import secrets
import time
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar

import numba
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import IndexDataCacheFile
from numba.core.ccallback import CFunc

FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))

Function = TypeVar("Function", bound=Callable[..., Any])

_fcntl: Final[Any] = import_module("fcntl") if find_spec("fcntl") else None  # not on Windows
_njit: Final[Any] = numba.njit  # whose types do not know `_nrt`
_callback: Final[Any] = CFunc
_SHARED: Final = tuple(Path(__file__).parent / name for name in ("algebra", "engine"))
_PATIENCE: Final = 120.0  # seconds that somebody else may take to compile a kernel
_TURN: Final = 0.02  # seconds between two looks
_OPTIONS: Final = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def kernel(function: Function) -> Function:
    """Compile a function that makes no arrays."""
    compiled: Function = _kept(_njit(**_OPTIONS, _nrt=False)(function))
    return compiled


def brief(function: Function) -> Function:
    """The same, but the interpreter's lock is kept: for what takes a microsecond, again and again.

    Whoever gives the lock away for so short a time may wait five milliseconds to get it back.
    """
    compiled: Function = _kept(_njit(**{**_OPTIONS, "nogil": False}, _nrt=False)(function))
    return compiled


def inlined(function: Function) -> Function:
    """The same, and put it into its callers, where arguments may turn out constant."""
    compiled: Function = _kept(_njit(**_OPTIONS, _nrt=False, forceinline=True)(function))
    return compiled


def allocating(function: Function) -> Function:
    """Compile a function that makes arrays."""
    compiled: Function = _kept(_njit(**_OPTIONS, _nrt=True)(function))
    return compiled


def callback(signature: Any) -> Callable[[Function], Any]:
    """Compile a function that code in C calls: at its `address`, and without the interpreter."""

    def compiled(function: Function) -> Any:
        made: Any = _callback(
            function,
            (signature.args, signature.return_type),
            {},
            {"error_model": "numpy", "_nrt": False},
        )
        made.enable_caching()
        made.py_func = function
        _kept(made).compile()
        return made

    return compiled


class KernelFile(IndexDataCacheFile):
    """Where the machine code of a function is kept, for each kind of arguments."""

    _lock: int | None = None  # held while this process compiles the function

    def load(self, key: Any) -> Any:
        """What was compiled for a key; None if nothing was, and nobody else is compiling it."""
        found = super().load(key)  # type: ignore[no-untyped-call]
        if found is None and self._take_lock():
            found = super().load(key)  # type: ignore[no-untyped-call]
            if found is not None:
                self._give_lock_back()
        return found

    def _take_lock(self) -> bool:
        """Whether somebody else may have compiled it since; the lock is held then, if it could be.

        Nobody waits for ever: not for a process that hangs, nor where nothing can be locked.
        """
        if _fcntl is None or self._lock is not None:
            return False
        try:
            os.makedirs(self._cache_path, exist_ok=True)
            lock = os.open(f"{self._index_path}.lock", os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return False
        late = time.monotonic() + _PATIENCE
        while time.monotonic() < late:
            try:
                _fcntl.flock(lock, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_TURN)
            except OSError:
                break
            else:
                self._lock = lock
                return True
        os.close(lock)
        return True

    def _give_lock_back(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def save(self, key: Any, data: Any) -> None:
        """Keep what was compiled for a key, say where it is, and let others have it."""
        try:
            self._save(key, data)
        finally:
            self._give_lock_back()

    def _save(self, key: Any, data: Any) -> None:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        name = self._index_name.replace(".nbi", f".{digest}.nbc")
        self._save_data(name, data)  # type: ignore[no-untyped-call]
        overloads = self._load_index()  # type: ignore[no-untyped-call]
        overloads[key] = name
        self._save_index(overloads)  # type: ignore[no-untyped-call]


def _kept(compiled: Any) -> Any:
    """A compiled function whose machine code is kept in our way."""
    cache = getattr(compiled, "_cache", None)
    file = getattr(cache, "_cache_file", None)
    if isinstance(file, IndexDataCacheFile):  # there is none where nothing can be written
        file.__class__ = KernelFile
        own = _folder(Path(compiled.py_func.__code__.co_filename))
        stamps = [_stamp(folder) for folder in dict.fromkeys((own, *_SHARED))]
        file._source_stamp = (file._source_stamp, *stamps)
    return compiled


def _folder(source: Path) -> Path:
    """The folder of the house that a source is in: the one just below the outermost package."""
    folder = source.parent
    while (folder.parent.parent / "__init__.py").exists():
        folder = folder.parent
    return folder


@lru_cache(maxsize=16)
def _stamp(folder: Path) -> str:
    """A text that changes with every source in a folder and in those below it."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        told = path.stat()
        name = path.relative_to(folder).as_posix()
        found.update(f"{name} {told.st_mtime_ns} {told.st_size}\n".encode())
    return found.hexdigest()
