"""Where compiled kernels are kept: under a digest of all that they are compiled from."""

import hashlib
import os
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["cache_folder", "digest"]

OURS = "schedopt"
Names = dict[str, Any]


def cache_folder(function: Any) -> Path:
    """Return the folder for the compiled kernels of a function's module."""
    from platformdirs import user_cache_path

    chosen = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(chosen) if chosen else user_cache_path(OURS, appauthor=False)
    name = f"{Path(function.__code__.co_filename).stem}-{digest(function.__globals__)}"
    return folder / "kernels" / name


_DIGESTS: dict[int, tuple[Names, str]] = {}
"""For the globals of each module with kernels (kept, so that their `id` stays theirs), a digest."""


def digest(names: Names) -> str:
    """Return a digest of all that kernels with these globals are compiled from."""
    if id(names) not in _DIGESTS:
        reached: dict[int, Names] = {}
        _collect_globals(names, reached)
        sums = hashlib.sha256()
        for own in sorted(reached.values(), key=lambda own: str(own.get("__file__"))):
            constants = {
                name: value.tolist() if isinstance(value, np.ndarray) else value
                for name, value in own.items()
                if name.isupper() and isinstance(value, int | float | np.ndarray)
            }
            sums.update(own["__name__"].encode())  # which numba imports as it loads a kernel
            sums.update(_source_text(own["__file__"]))
            sums.update(repr(sorted(constants.items())).encode())
        _DIGESTS[id(names)] = names, sums.hexdigest()[:20]
    return _DIGESTS[id(names)][1]


def _collect_globals(names: Names, reached: dict[int, Names]) -> None:
    """Collect these globals, and those of all kernels and modules of ours among them."""
    if id(names) in reached:
        return
    reached[id(names)] = names
    for value in tuple(names.values()):
        if isinstance(function := getattr(value, "py_func", None), FunctionType):
            _collect_globals(function.__globals__, reached)
        elif isinstance(value, ModuleType) and value.__name__.partition(".")[0] == OURS:
            _collect_globals(vars(value), reached)


@cache
def _source_text(file: str) -> bytes:
    return Path(file).read_bytes()
