"""Makes the standard library work in a component, where the interpreter is a snapshot taken
when the component was built and WASI is not there.

What the interpreter would ask WASI for ends the instance without a word. So the clocks
(`time`, `datetime`) and generators (`random`, `secrets`, `uuid`) ask the host instead, and
what a plugin has not got (files, threads, sleep) raises. `prepare` comes before any other
import of the build, since modules bind what they import; `seal` after the last one, since
imports read files. Natively this module is not used.
"""

# It replaces what type checkers take for fixed.
# mypy: disable-error-code="assignment,attr-defined,import-not-found,method-assign,misc"

from __future__ import annotations

import os
import posix
import sys
import time
import types
from collections.abc import Callable
from typing import Any, NoReturn

from ._backend import host

_sealed = False
_real_time_ns = time.time_ns
_real_urandom = os.urandom
_latest = 0

_NO_FILES = (PermissionError, "a plugin has no files")
_NO_NETWORK = (PermissionError, "a plugin has no network: wharf_sdk.cluster is its way to the cluster")
_NO_THREADS = (RuntimeError, "a plugin has one thread: other keys are handled in other instances")
#: What the interpreter announces by these events it would ask WASI for. `open` stands for every
#: file, also those that C code opens.
_REFUSED: dict[str, tuple[Any, ...]] = {
    "open": _NO_FILES,
    "socket.__new__": _NO_NETWORK,
    "socket.getaddrinfo": _NO_NETWORK,
    "socket.gethostbyaddr": _NO_NETWORK,
    "socket.gethostbyname": _NO_NETWORK,
    "socket.getnameinfo": _NO_NETWORK,
    "subprocess.Popen": (PermissionError, "a plugin starts no processes"),
    "time.sleep": (RuntimeError, "a plugin cannot sleep: the host calls again after Outcome.requeue_after(…)"),
    "_thread.start_new_thread": _NO_THREADS,
    "_thread.start_joinable_thread": _NO_THREADS,
}
#: What `posix` would ask WASI for without such an event.
_FILE_FUNCTIONS = (
    "access chdir chmod close closerange dup fdatasync fpathconf fstat fsync ftruncate isatty link listdir lseek lstat "
    "mkdir open pathconf posix_fadvise pread pwrite read readinto readlink remove rename replace rmdir scandir stat "
    "symlink truncate unlink utime write"
).split()
#: Codecs and other modules that the standard library imports when first used.
_LATE_MODULES = (
    "_strptime annotationlib ast decimal difflib encodings.ascii encodings.cp1252 encodings.idna encodings.latin_1 "
    "encodings.utf_16 encodings.utf_32 linecache random secrets traceback uuid"
).split()


def prepare() -> None:
    """Replaces the clocks and generators. Until `seal` they are the real ones."""
    _replace_clocks()
    _replace_datetime()
    os.urandom = posix.urandom = _urandom
    import random

    seed = random.Random.seed

    def seed_from_host(self: random.Random, a: Any = None, version: int = 2) -> None:
        # None would ask the operating system past `os.urandom`.
        seed(self, int.from_bytes(_urandom(32), "little") if a is None else a, version)

    random.Random.seed = seed_from_host
    random.seed = random._inst.seed


def seal() -> None:
    """Ends the build: from now on there is the host, and nothing else."""
    global _sealed
    import gc
    import importlib
    import io
    import linecache

    for name in _LATE_MODULES:
        importlib.import_module(name)
    for module in list(sys.modules.values()):
        _keep_source(linecache, getattr(module, "__file__", None))
    sys.meta_path[2:] = [_NoFinder]
    for name in _FILE_FUNCTIONS:
        if hasattr(posix, name):
            setattr(posix, name, _no_files)
            setattr(os, name, _no_files)
    sys.stdin = io.StringIO()
    sys.addaudithook(_audit)
    gc.collect()
    # What the snapshot holds stays: nobody need look through it again.
    gc.freeze()
    _sealed = True


def begin_instance() -> None:
    """The first call of an instance: the snapshot's generator would give the same numbers in
    every instance.
    """
    sys.modules["random"].seed()


def _now_ns() -> int:
    return host().now_ns() if _sealed else _real_time_ns()


def _monotonic_ns() -> int:
    """The host has one clock, which an operator may set back."""
    global _latest
    _latest = max(_latest, _now_ns())
    return _latest


def _urandom(size: int, /) -> bytes:
    if not _sealed:
        return _real_urandom(size)
    if size < 0:
        raise ValueError("negative argument not allowed")
    parts = []
    while size > 0:
        part = host().random(min(size, 65_536))
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _replace_clocks() -> None:
    def seconds(clock: Callable[[], int]) -> Callable[[], float]:
        return lambda: clock() / 1e9

    for name in ("time", "monotonic", "perf_counter", "process_time"):
        clock = _now_ns if name == "time" else _monotonic_ns
        setattr(time, name, seconds(clock))
        setattr(time, f"{name}_ns", lambda clock=clock: clock())
    time.clock_gettime_ns = lambda clk_id, /: _now_ns() if clk_id == time.CLOCK_REALTIME else _monotonic_ns()
    time.clock_gettime = lambda clk_id, /: time.clock_gettime_ns(clk_id) / 1e9
    time.clock_getres = lambda clk_id, /: 1e-3
    time.get_clock_info = lambda name, /: types.SimpleNamespace(
        implementation="wharf:plugin/system", monotonic=name != "time", adjustable=name == "time", resolution=1e-3
    )

    # Without a time these mean now.
    gmtime, localtime, ctime = time.gmtime, time.localtime, time.ctime
    asctime, strftime = time.asctime, time.strftime
    time.gmtime = lambda secs=None, /: gmtime(time.time() if secs is None else secs)
    time.localtime = lambda secs=None, /: localtime(time.time() if secs is None else secs)
    time.ctime = lambda secs=None, /: ctime(time.time() if secs is None else secs)
    time.asctime = lambda t=None, /: asctime(time.localtime() if t is None else t)
    time.strftime = lambda format, t=None, /: strftime(format, time.localtime() if t is None else t)


def _replace_datetime() -> None:
    """`datetime.now` and its like read the clock in C. The class is immutable to Python; its
    dictionary is not, and nobody has looked them up yet, so that no cache knows them.
    """
    import _datetime
    import gc

    def now(cls: Any, tz: Any = None) -> Any:
        return cls.fromtimestamp(time.time(), tz)

    def utcnow(cls: Any) -> Any:
        return cls.fromtimestamp(time.time(), _datetime.timezone.utc).replace(tzinfo=None)

    def today(cls: Any) -> Any:
        return cls.fromtimestamp(time.time())

    (members,) = gc.get_referents(_datetime.datetime.__dict__)
    members.update(now=classmethod(now), utcnow=classmethod(utcnow), today=classmethod(today))
    (members,) = gc.get_referents(_datetime.date.__dict__)
    members["today"] = classmethod(today)


def _keep_source(linecache: Any, file: str | None) -> None:
    """Keeps the lines of a plugin's module for tracebacks; the standard library's are many."""
    if file is not None and file.endswith(".py") and not file.startswith("/python/"):
        lines = linecache.getlines(file)
        # Without a time nobody asks whether the file has changed.
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)


class _NoFinder:
    """Stands behind the finders of built-in and frozen modules, where that of files was."""

    @staticmethod
    def find_spec(name: str, _path: Any = None, _target: Any = None) -> NoReturn:
        why = "modules are taken in when it is built, so import it at the top of a file"
        raise ModuleNotFoundError(f"No module named {name!r} in the component: {why}", name=name)


def _audit(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in _REFUSED:
        _refuse(*_REFUSED[event])


def _no_files(*_arguments: Any, **_names: Any) -> NoReturn:
    _refuse(*_NO_FILES)


def _refuse(error: type[Exception], *arguments: Any) -> NoReturn:
    raise error(*arguments)
