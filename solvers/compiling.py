"""Kernels: functions over arrays that run compiled by numba or as plain Python.

Large calls run compiled; small calls run as Python, since importing numba takes half a second, and
compiling a kernel for the first time takes several. Without numba every call runs as Python.
"""

import hashlib
import os
import threading
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from schedopt.instances.extras import installed, missing
from schedopt.solvers.clock import compiling
from schedopt.solvers.stopping import defer_signals

__all__ = ["COMPILES", "compiled", "count_numbers", "kernel", "specialized"]

F = TypeVar("F", bound=Callable[..., Any])
COMPILES = installed("numba")
"""Whether numba is installed."""
MOST_WITHOUT_NUMBA = 200_000
"""Most numbers that a kernel accepts without numba; Python would need minutes for more."""


def kernel(
    *,
    python_up_to: float = -1,
    size: Callable[..., float] | None = None,
) -> Callable[[F], F]:
    """Return a decorator for a kernel that is called from Python.

    Parameters
    ----------
    python_up_to : float
        The largest size of a call that runs as plain Python; none by default.
    size : callable, optional
        Returns the size of a call from its arguments; by default the total size of their arrays.
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def run(*args: Any) -> Any:
            if _thread.runs_python:  # called by a kernel that runs as Python
                return function(*args)
            if COMPILES and (size or count_numbers)(*args) > python_up_to:
                return compiled(function)(*args)
            count = 0 if COMPILES else count_numbers(*args)
            if count > MOST_WITHOUT_NUMBA:
                expected = f"{count:,} numbers (at most {MOST_WITHOUT_NUMBA:,} in Python)"
                raise missing("numba", expected)
            with np.errstate(all="ignore"), defer_signals():
                _thread.runs_python = True
                try:
                    return function(*args)
                finally:
                    _thread.runs_python = False

        vars(run)["py_func"] = function
        return cast(F, run)

    return decorate


class _Thread(threading.local):
    """Whether a kernel runs as Python in this thread."""

    runs_python = False


_thread = _Thread()


def count_numbers(*args: Any) -> int:
    """Return the total size of the arrays among the arguments, also inside tuples."""
    count = 0
    for value in args:
        if isinstance(value, tuple):
            count += count_numbers(*value)
        elif isinstance(value, np.ndarray | np.record):
            count += value.size
    return count


def specialized(function: Callable[..., Any], name: str = "", **parts: Any) -> Any:
    """Return a copy of a function, under another name, with other values of some globals.

    numba compiles these values, functions or numbers, into the copy.
    """
    plain = _plain(function)
    copy = FunctionType(
        plain.__code__,
        {**plain.__globals__, **parts},
        name or plain.__name__,
        plain.__defaults__,
        plain.__closure__,
    )
    copy.__qualname__, copy.__module__ = name or plain.__qualname__, plain.__module__
    return copy


_lock = threading.RLock()


def compiled(function: Callable[..., Any]) -> Any:
    """Return the function as compiled by numba, with all functions that it calls."""
    compiling.start()  # time limits do not count importing numba
    try:
        with _lock:
            return _compiled(_plain(function))
    finally:
        compiling.stop()


@cache
def _compiled(function: Any) -> Any:
    import numba

    _stop_clock_while_compiling()
    called = {
        name: compiled(value)
        for name, value in _globals_of(function).items()
        if isinstance(value, FunctionType)
    }
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(_folder(function))
    options: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        return numba.njit(cache=True, **options)(specialized(function, **called))
    except RuntimeError:  # the cache folder cannot be written
        return numba.njit(**options)(specialized(function, **called))
    finally:
        config.CACHE_DIR = before


def _globals_of(function: Any) -> dict[str, Any]:
    """Return the globals that a function uses, by name."""
    codes = [function.__code__]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    names = {name for code in codes for name in code.co_names if name in function.__globals__}
    return {name: function.__globals__[name] for name in sorted(names)}


def _folder(function: Any) -> Path:
    """Return the folder for the compiled code of a function, in numba's cache or the user's.

    It depends on all source files and constants, of which numba sees only the function's own file.
    """
    from platformdirs import user_cache_path

    digest, functions = hashlib.sha256(), [function]
    for each in functions:
        digest.update(Path(each.__code__.co_filename).read_bytes())
        for name, value in _globals_of(each).items():
            if isinstance(value, FunctionType):
                functions += [plain for plain in [_plain(value)] if plain not in functions]
            elif isinstance(value, int | float | tuple):
                digest.update(f"{name}={value!r}".encode())
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(chosen) if chosen else user_cache_path("schedopt", appauthor=False)
    return folder / digest.hexdigest()[:16]


def _plain(function: Any) -> Any:
    return vars(function).get("py_func", function)


@cache
def _stop_clock_while_compiling() -> None:
    """Stop the clock of time limits while numba compiles or loads; report what is not cached."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            compiling.start()
            if event.kind == "numba:compile":
                compiling.note_compiling()

        def on_end(self, event: object) -> None:
            compiling.stop()

    for kind in ("numba:compiler_lock", "numba:compile"):
        event.register(kind, Listener())
