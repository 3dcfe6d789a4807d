"""Where compiled kernels are kept: under a digest of all that they are compiled from.

numba keeps compiled code beside a module and compiles anew when that file changes; it does not
notice a change in a kernel that another file's kernels call. Here the code is kept in the user's
cache folder (or `NUMBA_CACHE_DIR`), under a digest of the module and of every kernel and constant
that it takes from others: it is never out of date, and another clone finds it.
"""

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["Source", "cache_folder", "digest", "folder", "prepare_folder"]

OURS = "schedopt"
Names = dict[str, Any]

DAY = 24 * 60 * 60.0
KEPT = 30 * DAY
"""Seconds for which kernels are kept that nobody uses."""

NOTED = DAY
"""Seconds after which it is noted again that kernels are used."""

_NAME = re.compile(r"\w+-[0-9a-f]{20}")
"""What a folder of a module's kernels is called: other folders are not touched."""


class Source:
    """A function that is to be compiled, with the options of `numba.njit`."""

    py_func: Callable[..., Any]
    options: Mapping[str, Any]


def folder() -> Path:
    """Return the folder that compiled code is kept in."""
    from platformdirs import user_cache_path

    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return Path(chosen) if chosen else user_cache_path("schedopt", appauthor=False)


def cache_folder(function: Callable[..., Any], names: Names) -> Path:
    """Return the folder for kernels of a function's module, whose globals these are."""
    return folder() / "kernels" / f"{Path(function.__code__.co_filename).stem}-{digest(names)}"


def prepare_folder(path: Path) -> None:
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
def _prune(cached: Path) -> None:
    """Remove kernels of earlier releases, once in a process.

    Whoever runs one at this moment does not notice: numba takes a file that is gone for one that
    never was, and makes the folder again before it writes to it.
    """
    oldest = time.time() - KEPT
    for path in cached.iterdir():
        with suppress(OSError):
            if _NAME.fullmatch(path.name) and path.stat().st_mtime < oldest:
                shutil.rmtree(path, ignore_errors=True)


_DIGESTS: dict[int, tuple[Names, str]] = {}
"""For the globals of each module with kernels (kept, so that their `id` stays theirs), a digest."""


def digest(names: Names) -> str:
    """Return a digest of all that kernels with these globals are compiled from."""
    known = _DIGESTS.get(id(names))
    if known is None:
        reached: dict[int, Names] = {}
        _collect_globals(names, reached)
        found = hashlib.sha256()
        for own in sorted(reached.values(), key=lambda own: str(own.get("__file__"))):
            found.update(own["__name__"].encode())  # which numba imports as it loads a kernel
            found.update(_source_text(own["__file__"]))
            found.update(repr(sorted(_constants_among(own).items())).encode())
        known = _DIGESTS[id(names)] = names, found.hexdigest()[:20]
    return known[1]


def _collect_globals(names: Names, reached: dict[int, Names]) -> None:
    """Collect these globals, and those of all kernels and modules of ours among them."""
    if id(names) in reached:
        return
    reached[id(names)] = names
    for value in tuple(names.values()):
        if isinstance(value, Source):
            _collect_globals(value.py_func.__globals__, reached)
        elif isinstance(value, ModuleType) and value.__name__.partition(".")[0] == OURS:
            _collect_globals(vars(value), reached)


def _constants_among(names: Names) -> dict[str, object]:
    """Return the numbers that stand in capitals, which the compiler takes as they are."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in names.items()
        if name.isupper() and isinstance(value, int | float | np.ndarray)
    }


@cache
def _source_text(file: str) -> bytes:
    return Path(file).read_bytes()
