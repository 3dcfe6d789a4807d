"""Kernels in numba: the clock of limits stands still while it compiles, and code is kept.

numba keeps compiled code beside a module and compiles anew when that file changes; it does not
notice a change in a kernel that another file's kernels call. Here the code is kept in the user's
cache folder (or `NUMBA_CACHE_DIR`) under a digest of all that it is compiled from: it is never out
of date, and another clone finds it.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, Self

import numba
from numba.core import caching, event
from numba.core.types import unliteral

from schedopt.solvers.clock import compiling
from schedopt.solvers.kernel_store import OURS, cache_folder

INSIDE = {"cache": False, "no_cpython_wrapper": True}
"""Options of numba for a kernel that other kernels alone call: it is kept as part of them."""


def dispatcher(function: FunctionType, options: Mapping[str, Any], inside: bool = False) -> Any:
    """Return a kernel as numba dispatches it: to Python, or (``inside``) to other kernels alone.

    numba would make a version of it for each constant that another kernel hands it: not here.
    """
    all_options = {**options, "no_cfunc_wrapper": True, **(INSIDE if inside else {})}
    compiled = numba.njit(**all_options)(function)
    template = getattr(compiled, "get_call_template", None)
    if template is not None:  # None under NUMBA_DISABLE_JIT

        def of_any_constant(args: Iterable[object], names: Mapping[str, object]) -> object:
            types = {name: unliteral(of) for name, of in names.items()}
            return template(tuple(map(unliteral, args)), types)

        compiled.get_call_template = of_any_constant
    return compiled


class _KernelLocator(caching._CacheLocator):
    """Where numba keeps a kernel of ours; other packages' functions stay where numba has them."""

    def __init__(self, function: FunctionType) -> None:
        self._path = cache_folder(function)
        self._line = function.__code__.co_firstlineno
        self._py_file = function.__code__.co_filename  # numba tells what it could not store

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
        found = cls(function)
        try:
            found._path.mkdir(parents=True, exist_ok=True)
        except OSError:
            return None
        return found if os.access(found._path, os.W_OK) else None


class _ClockPause(event.Listener):
    """Holds the clock of time limits while numba compiles, loads or stores."""

    def on_start(self, event: object) -> None:
        compiling.start()

    def on_end(self, event: object) -> None:
        compiling.stop()


class _CompilingNotice(event.Listener):
    """Says that something is compiled, which is not in the cache."""

    def on_start(self, event: object) -> None:
        compiling.note_compiling()

    def on_end(self, event: object) -> None:
        pass


_locators: list[Any] = caching.FunctionCache._impl_class._locator_classes
_locators.insert(0, _KernelLocator)
event.register("numba:compiler_lock", _ClockPause())
event.register("numba:compile", _CompilingNotice())
