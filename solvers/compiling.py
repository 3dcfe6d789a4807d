"""How kernels are compiled: once for all copies of the same sources, and never on a solver's time.

numba keeps compiled code beside a module and compiles anew when that file changes; it does not
notice a change in a kernel that another file's kernels call. Here the code is kept in the user's
cache folder (or `NUMBA_CACHE_DIR`), under a digest of the module and of every kernel and constant
that it takes from others: it is never out of date, and another clone finds it. Nor is a kernel
compiled once more, with all that it calls, for each constant that another hands it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Self, TypeVar, cast, overload

import numba
import numpy as np
from numba.core import caching, config, event
from numba.core.dispatcher import Dispatcher
from numba.core.types import unliteral
from numba.misc.appdirs import AppDirs

from schedopt.solvers.clock import compiling

__all__ = ["compiled", "digest", "folder", "njit"]

F = TypeVar("F", bound=Callable[..., object])
OURS = "schedopt"
Names = dict[str, Any]
_njit: Any = numba.njit

DAY = 24 * 60 * 60.0
KEPT = 30 * DAY
"""Seconds for which unused kernels are kept."""

NOTED = DAY
"""Seconds after which it is noted again that kernels are used."""

_NAME = re.compile(r"\w+-[0-9a-f]{20}")
"""What a folder of a module's kernels is called: other folders are not touched."""


@overload
def njit(function: F, /) -> F: ...
@overload
def njit(**options: object) -> Callable[[F], F]: ...
def njit(function: F | None = None, /, **options: object) -> F | Callable[[F], F]:
    """Compile a kernel: `numba.njit`, which would make a version for each constant handed to it."""
    if function is None:
        return partial(njit, **options)
    kernel = _njit(**options)(function)
    template = kernel.get_call_template

    def of_any(args: Iterable[object], names: Mapping[str, object]) -> object:
        return template(
            tuple(map(unliteral, args)), {name: unliteral(of) for name, of in names.items()}
        )

    kernel.get_call_template = of_any
    return cast(F, kernel)


def compiled(function: F, *, nogil: bool = False) -> F:
    """Compile a loop without reference counts, which would take most of its time.

    It must make no array of its own, nor a view of one: memory would never be freed. Where it is
    long, ``nogil`` lets other threads go on meanwhile.
    """
    made = njit(cache=True, nogil=nogil, _nrt=False, error_model="numpy")
    return made(function)


def folder() -> Path:
    """Return the folder that compiled code is kept in."""
    chosen: str = getattr(config, "CACHE_DIR", "")  # as numba reads it from the environment
    return Path(chosen or AppDirs("schedopt", appauthor=False).user_cache_dir)


class _Shared(caching._CacheLocator):
    """Where numba keeps a kernel of ours; other packages' functions stay where numba has them."""

    def __init__(self, function: FunctionType, file: str) -> None:
        name = f"{Path(file).stem}-{digest(function.__globals__)}"
        self._path = folder() / "kernels" / name
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(self._path)

    def get_source_stamp(self) -> str:
        return ""  # the folder's name tells the sources apart

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> Self | None:
        """Return a locator; None where the function is not ours, or nothing can be written."""
        if function.__module__.partition(".")[0] != OURS or not Path(file).exists():
            return None
        locator = cls(function, file)
        try:
            used(locator._path)
        except OSError:
            return None
        return locator if os.access(locator._path, os.W_OK) else None


def used(path: Path) -> None:
    """Make sure that the folder of a module's kernels is there, and note that it is used.

    Where it is new, so is the release, or the kernel: then those that nobody uses are removed.
    """
    try:
        if time.time() - path.stat().st_mtime > NOTED:
            os.utime(path)
    except FileNotFoundError:
        path.mkdir(parents=True, exist_ok=True)
        _prune(path.parent)


@cache
def _prune(home: Path) -> None:
    """Remove kernels of earlier releases, once in a process.

    A process that runs one at this moment is not disturbed: numba compiles again what is missing,
    and makes the folder again before it writes to it.
    """
    oldest = time.time() - KEPT
    for path in home.iterdir():
        with suppress(OSError):
            if _NAME.fullmatch(path.name) and path.stat().st_mtime < oldest:
                shutil.rmtree(path, ignore_errors=True)


class _Watch(event.Listener):
    """Holds the clock of time limits while numba compiles, loads or stores."""

    def on_start(self, event: object) -> None:
        compiling.start()

    def on_end(self, event: object) -> None:
        compiling.stop()


_DIGESTS: dict[int, tuple[Names, str]] = {}
"""For the globals of each module with kernels (kept, so that their `id` stays theirs), a digest."""


def digest(names: Names) -> str:
    """Return a digest of all that kernels with these globals are compiled from."""
    known = _DIGESTS.get(id(names))
    if known is None:
        reached: dict[int, Names] = {}
        _reach(names, reached)
        hashed = hashlib.sha256()
        for own in sorted(reached.values(), key=lambda own: str(own.get("__file__"))):
            hashed.update(_text(own["__file__"]))
            hashed.update(repr(sorted(_constants(own).items())).encode())
        known = _DIGESTS[id(names)] = names, hashed.hexdigest()[:20]
    return known[1]


def _reach(names: Names, reached: dict[int, Names]) -> None:
    """Collect these globals, and those of all kernels and modules of ours among them."""
    if id(names) in reached:
        return
    reached[id(names)] = names
    for value in tuple(names.values()):
        if isinstance(value, Dispatcher):
            _reach(value.py_func.__globals__, reached)
        elif isinstance(value, ModuleType) and value.__name__.partition(".")[0] == OURS:
            _reach(vars(value), reached)


def _constants(names: Names) -> dict[str, object]:
    """Return the numbers that stand in capitals, which the compiler takes as they are."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in names.items()
        if name.isupper() and isinstance(value, int | float | np.ndarray)
    }


@cache
def _text(file: str) -> bytes:
    return Path(file).read_bytes()


caching.FunctionCache._impl_class._locator_classes.insert(0, _Shared)
event.register("numba:compiler_lock", _Watch())
