"""Kernels: functions over arrays that run compiled by numba, or as plain Python if they are small.

Importing numba takes half a second, and compiling a kernel for the first time takes several.
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

__all__ = ["COMPILES", "compiled", "kernel", "specialized"]

F = TypeVar("F", bound=Callable[..., Any])
COMPILES = installed("numba")
"""Whether numba is installed; without it every call runs as Python."""
MOST_WITHOUT_NUMBA = 200_000
"""Most numbers that a kernel accepts without numba; Python would need minutes for more."""


def kernel(
    *, python_up_to: float = -1, size: Callable[..., float] | None = None
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
            if COMPILES and (size or _count_numbers)(*args) > python_up_to:
                return _call_compiled(function, args)
            if not COMPILES and (count := _count_numbers(*args)) > MOST_WITHOUT_NUMBA:
                expected = f"{count:,} numbers (at most {MOST_WITHOUT_NUMBA:,} in Python)"
                raise missing("numba", expected)
            with np.errstate(all="ignore"):
                return function(*args)

        vars(run)["py_func"] = function
        return cast(F, run)

    return decorate


def _count_numbers(*args: Any) -> int:
    """Return the total size of the arrays among the arguments, also inside tuples."""
    parts = (
        _count_numbers(*one) if isinstance(one, tuple) else getattr(one, "size", 0) for one in args
    )
    return sum(parts)


def _plain(function: Any) -> Any:
    return vars(function).get("py_func", function)


def specialized(function: Callable[..., Any], name: str = "", **parts: Any) -> Any:
    """Return a copy of a function, under another name, with other values of some globals.

    numba compiles these values, functions or numbers, into the copy.
    """
    plain = _plain(function)
    name, known = name or plain.__name__, {**plain.__globals__, **parts}
    copy = FunctionType(plain.__code__, known, name, plain.__defaults__, plain.__closure__)
    copy.__qualname__, copy.__module__ = name, plain.__module__
    return copy


_lock = threading.RLock()


def compiled(function: Callable[..., Any]) -> Any:
    """Return the function as numba compiles it, with all functions that it calls."""
    with _lock, compiling.counted():  # time limits do not count importing numba
        return _with_parts(_plain(function))[0]


@cache
def _with_parts(function: Any) -> tuple[Any, Path]:
    """Return a function for numba, and the folder of its compiled code.

    The folder is named by all source files and constants that the function uses, of which numba
    sees only the function's own file.
    """
    import numba
    from platformdirs import user_cache_path

    called, digest = {}, hashlib.sha256(Path(function.__code__.co_filename).read_bytes())
    for name in sorted(_names_in(function.__code__) & function.__globals__.keys()):
        value = function.__globals__[name]
        if isinstance(value, FunctionType):
            called[name], folder = _with_parts(_plain(value))
            digest.update(folder.name.encode())
        elif isinstance(value, int | float | tuple):
            digest.update(f"{name}={value!r}".encode())
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(chosen) if chosen else user_cache_path("schedopt", appauthor=False)
    folder /= digest.hexdigest()[:16]
    own = specialized(function, **called)
    options: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        return numba.njit(cache=True, **options)(own), folder
    except RuntimeError:  # the folder cannot be written
        return numba.njit(**options)(own), folder
    finally:
        config.CACHE_DIR = before


def _names_in(code: CodeType) -> set[str]:
    """Return the names that the code of a function uses, also inside other functions."""
    inner = (_names_in(part) for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*inner)


def _call_compiled(function: Any, args: tuple[Any, ...]) -> Any:
    """Call a compiled function; time limits do not count compiling it."""
    own = compiled(function)
    if not own.signatures:
        import numba

        with compiling.counted():
            if not any(_with_parts(function)[1].rglob("*.nbi")):
                compiling.note_compiling()
            own.compile(tuple(map(numba.typeof, args)))
    return own(*args)
