"""How kernels become machine code: once for all copies of the sources, never on a solver's time.

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
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CellType, FunctionType, ModuleType
from typing import Any, Self

import numba
import numpy as np
from numba.core import caching, config, event
from numba.core.types import unliteral
from numba.misc.appdirs import AppDirs

from schedopt.solvers.clock import compiling
from schedopt.solvers.compiling import Kernel

__all__ = ["digest", "dispatcher", "folder"]

OURS = "schedopt"
Names = dict[str, Any]

DAY = 24 * 60 * 60.0
KEPT = 30 * DAY
"""Seconds for which kernels are kept that nobody uses."""

NOTED = DAY
"""Seconds after which it is noted again that kernels are used."""

_NAME = re.compile(r"\w+-[0-9a-f]{20}")
"""What a folder of a module's kernels is called: other folders are not touched."""


_TWINS: dict[int, tuple[Names, Names]] = {}
"""For the globals of kernels, by their `id`, these and a copy with what numba dispatches."""

_DISPATCHED: dict[Kernel, Any] = {}


def dispatcher(kernel: Kernel) -> Any:
    """Return a kernel as numba dispatches it.

    numba would make a version of it for each constant that another kernel hands it: not here.
    """
    made = _DISPATCHED.get(kernel)
    if made is None:
        function = kernel.py_func
        names, new = _names_of(function.__globals__)
        cells = tuple(CellType(_seen(of.cell_contents)) for of in function.__closure__ or ())
        twin = FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, cells
        )
        twin.__qualname__, twin.__module__ = function.__qualname__, function.__module__
        made = _DISPATCHED[kernel] = _of_any_constant(numba.njit(**kernel.options)(twin))
        if new:
            names.update({name: _seen(of) for name, of in function.__globals__.items()})
    return made


def _names_of(names: Names) -> tuple[Names, bool]:
    """Return the globals that numba is to see, and whether they are yet to be filled."""
    known = _TWINS.get(id(names))
    if known is None:
        _TWINS[id(names)] = names, {}
    return _TWINS[id(names)][1], known is None


def _seen(of: Any) -> Any:
    return dispatcher(of) if isinstance(of, Kernel) else of


def _of_any_constant(made: Any) -> Any:
    template = getattr(made, "get_call_template", None)
    if template is None:  # NUMBA_DISABLE_JIT
        return made

    def of_any(args: Iterable[object], names: Mapping[str, object]) -> object:
        return template(
            tuple(map(unliteral, args)), {name: unliteral(of) for name, of in names.items()}
        )

    made.get_call_template = of_any
    return made


def folder() -> Path:
    """Return the folder that compiled code is kept in."""
    chosen: str = getattr(config, "CACHE_DIR", "")  # as numba reads it from the environment
    return Path(chosen or AppDirs("schedopt", appauthor=False).user_cache_dir)


class _Shared(caching._CacheLocator):
    """Where numba keeps a kernel of ours; other packages' functions stay where numba has them."""

    def __init__(self, function: FunctionType, file: str) -> None:
        names = next(own for own, twin in _TWINS.values() if twin is function.__globals__)
        name = f"{Path(file).stem}-{digest(names)}"
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
        found = cls(function, file)
        try:
            used(found._path)
        except OSError:
            return None
        return found if os.access(found._path, os.W_OK) else None


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

    Whoever runs one at this moment does not notice: numba takes a file that is gone for one that
    never was, and makes the folder again before it writes to it.
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
        found = hashlib.sha256()
        for own in sorted(reached.values(), key=lambda own: str(own.get("__file__"))):
            found.update(_text(own["__file__"]))
            found.update(repr(sorted(_constants(own).items())).encode())
        known = _DIGESTS[id(names)] = names, found.hexdigest()[:20]
    return known[1]


def _reach(names: Names, reached: dict[int, Names]) -> None:
    """Collect these globals, and those of all kernels and modules of ours among them."""
    if id(names) in reached:
        return
    reached[id(names)] = names
    for value in tuple(names.values()):
        if isinstance(value, Kernel):
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
