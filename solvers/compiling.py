"""Kernels: functions over arrays that run compiled by numba or as plain Python.

Large calls run compiled; small calls run as Python, since importing numba takes half a second, and
compiling a kernel for the first time takes several. Without numba every call runs as Python.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from functools import cache, wraps
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from schedopt.instances.extras import installed, missing
from schedopt.solvers.clock import compiling
from schedopt.solvers.stopping import defer_signals

__all__ = ["COMPILES", "compiled", "count_numbers", "kernel", "makes_no_arrays", "specialized"]

F = TypeVar("F", bound=Callable[..., Any])
COMPILES = installed("numba")
"""Whether numba is installed."""
MOST_WITHOUT_NUMBA = 200_000
"""Most numbers that a kernel accepts without numba; Python would need minutes for more."""


def kernel(
    *,
    python_up_to: float = -1,
    size: Callable[..., float] | None = None,
    makes_arrays: bool = True,
) -> Callable[[F], F]:
    """Return a decorator for a kernel that is called from Python.

    Parameters
    ----------
    python_up_to : float
        The largest size of a call that runs as plain Python; none by default.
    size : callable, optional
        Returns the size of a call from its arguments; by default the total size of their arrays.
    makes_arrays : bool
        Whether the function creates arrays: see `makes_no_arrays`.
    """

    def decorate(function: F) -> F:
        if not makes_arrays:
            makes_no_arrays(function)

        @wraps(function)
        def run(*args: Any) -> Any:
            if _thread.runs_python:  # called by a kernel that runs as Python
                return function(*args)
            if not _runs_as_python((size or count_numbers)(*args), python_up_to):
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


def _runs_as_python(size: float, most: float) -> bool:
    return size <= most or not COMPILES


def makes_no_arrays(function: F) -> F:
    """Mark a function that creates no arrays, so that numba does not count references.

    Reference counting would take most of the time of a loop that calls the function.
    """
    vars(function)["_nrt"] = False
    return function


def count_numbers(*args: Any) -> int:
    """Return the total size of the arrays among the arguments, also inside tuples."""
    count = 0
    for value in args:
        if isinstance(value, tuple):
            count += count_numbers(*value)
        elif isinstance(value, np.ndarray | np.record):
            count += value.size
    return count


def specialized(function: Callable[..., Any], name: str, **parts: Any) -> Any:
    """Return a copy of a function under another name, with other values of some globals.

    numba compiles these values, functions or numbers, into the copy.
    """
    template = vars(function).get("py_func", function)
    copy = FunctionType(template.__code__, {**template.__globals__, **parts}, name)
    copy.__qualname__, copy.__module__ = name, template.__module__
    vars(copy).update(vars(template))
    return copy


_lock = threading.RLock()


@cache
def compiled(function: Callable[..., Any]) -> Any:
    """Return the function as compiled by numba, with all functions that it calls."""
    compiling.start()  # time limits do not count importing numba
    try:
        with _lock:
            return _compiled(vars(function).get("py_func", function))
    finally:
        compiling.stop()


def _compiled(function: Any) -> Any:
    import numba

    from schedopt.solvers.compiling_clock import stop_clock_while_compiling

    stop_clock_while_compiling()
    sources = {function.__code__.co_filename}
    constants = []
    for name, value in _named(function, {}):
        if isinstance(value, FunctionType):
            _register(value)
            sources.add(_plain(value).__code__.co_filename)
        elif isinstance(value, int | float | tuple):
            constants.append(f"{name}={value!r}")
    # numba notices a change of the kernel's own file, but not of files of functions it calls.
    digest = hashlib.sha256("".join(sorted(constants)).encode())
    for file in sorted(sources):
        digest.update(_contents(file))
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(_folder(digest.hexdigest()[:16]))
    try:
        return numba.njit(cache=True, nogil=True, **_options(function))(function)
    except RuntimeError:  # the cache folder cannot be written
        return numba.njit(nogil=True, **_options(function))(function)
    finally:
        config.CACHE_DIR = before


def _plain(function: Any) -> Any:
    return vars(function).get("py_func", function)


def _options(function: Any) -> dict[str, Any]:
    options = {"error_model": "numpy", "no_cfunc_wrapper": True}
    return options if vars(function).get("_nrt", True) else {**options, "_nrt": False}


def _named(function: Any, seen: dict[int, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the globals that a function uses, directly or through other functions."""
    codes = [function.__code__]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        for name in code.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, FunctionType) and id(value) not in seen:
                seen[id(value)] = value
                yield from _named(_plain(value), seen)
            yield name, value


@cache
def _register(function: Any) -> None:
    """Let numba compile a function when kernels call it."""
    from numba.extending import overload

    plain = _plain(function)
    options: Any = _options(plain)

    @overload(function, jit_options=options, strict=False)
    def implementation(*args: Any, **named: Any) -> Any:
        return plain


@cache
def _contents(file: str) -> bytes:
    return Path(file).read_bytes()


def _folder(digest: str) -> Path:
    """Return the folder for compiled code: numba's if it is set, else the user's cache."""
    from platformdirs import user_cache_path

    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return (Path(chosen) if chosen else user_cache_path("schedopt", appauthor=False)) / digest
