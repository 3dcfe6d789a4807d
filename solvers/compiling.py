"""Kernels: Python functions that numba compiles, once, when there is enough work for it.

A kernel of few numbers is run as the Python that it is: loading numba takes half a second, and
compiling a kernel for the first time takes many. What it returns is the same to the last bit.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property, partial, update_wrapper
from math import inf
from typing import Any, TypeVar, cast, overload

import numpy as np

from schedopt.instances.extras import installed, missing
from schedopt.solvers.kernel_store import Source, home

__all__ = ["Kernel", "compiled", "njit", "plainly", "small"]

F = TypeVar("F", bound=Callable[..., object])

LOADING = 0.5
"""Seconds of plain Python after which a kernel is loaded anyway: about what loading numba takes."""

COMPILING = 3.0
"""Seconds of plain Python after which a kernel is compiled that this machine has not compiled
yet."""

COMPILES = installed("numba")
"""Whether numba is installed, which an extra brings; without it all kernels run as Python."""

MOST_PLAIN = 200_000
"""Most numbers that a kernel takes where nothing compiles: Python would need minutes for more."""

REFUSED = ("math range error", "math domain error")
"""Messages of Python's `math` where compiled code returns infinity or NaN."""


class Kernel(Source):
    """A function that is compiled at its first call, or run as Python where there is little to do.

    ``function``: what numba can compile; ``options``: those of `numba.njit`; ``plain``: whether a
    call with these arguments is run as Python. Never by default.

    ``py_func``: the function, as numba names it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: Mapping[str, Any],
        plain: Callable[..., bool] | None = None,
    ) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self.options = options
        self.plain = plain

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run it, compiled unless it is `plain` and Python is quick enough."""
        if _python.here.runs:
            _python.look_at_the_clock()
            return self.py_func(*args, **named)
        if not COMPILES:
            return _python.without_compiler(self, args, named)
        if self.stays_python(args):
            with suppress(CompileError):
                return _python(self, args)
        return self.dispatcher(*args, **named)

    def stays_python(self, args: tuple[Any, ...]) -> bool:
        """Return whether a call is run as Python, unless that turns out to be slow."""
        return self.plain is not None and "dispatcher" not in vars(self) and self.plain(*args)

    @cached_property
    def patience(self) -> float:
        """Seconds for which this process may run kernels as Python rather than have this one."""
        return LOADING if home(self.py_func, self.py_func.__globals__).is_dir() else COMPILING

    @cached_property
    def dispatcher(self) -> Any:
        """The kernel as numba dispatches it; nothing is compiled before its first call."""
        with _blas_unseen():
            from schedopt.solvers.machine_code import dispatcher

        return dispatcher(self)


@contextmanager
def _blas_unseen() -> Iterator[None]:
    """Keep numba from loading all of scipy's linear algebra, only to tell whether it is there."""
    name = "scipy.linalg.cython_blas"
    if {name, "schedopt.solvers.machine_code"} & sys.modules.keys():
        yield
        return
    sys.modules[name] = cast("Any", None)
    try:
        yield
    finally:
        del sys.modules[name]
    vars(sys.modules["numba.np.arraymath"])["_HAVE_BLAS"] = installed("scipy")


class CompileError(Exception):
    """Raised where a kernel is to be compiled: Python takes too long, or refuses a number."""


class _Here(threading.local):
    """Whether a kernel runs as Python in this thread, and its deadline."""

    runs = False
    until = 0.0


class _Python:
    """Runs kernels as Python, with the arithmetic of compiled code, until their time is used up."""

    def __init__(self) -> None:
        self.here = _Here()
        self.spent = 0.0

    def __call__(self, kernel: Kernel, args: tuple[Any, ...]) -> Any:
        if self.spent >= kernel.patience:
            raise CompileError
        before = [(array, array.copy()) for array in _arrays(args)]
        began = time.thread_time()
        self.here.until = began + kernel.patience - self.spent
        self.here.runs = True
        try:
            return self._run(kernel, args, {})
        except BaseException as error:  # an interruption too: compiled code is not cut short
            for array, was in before:
                _fill(array, was)
            if str(error) in REFUSED:
                raise CompileError from None
            raise
        finally:
            self.here.runs = False
            self.spent += time.thread_time() - began

    def without_compiler(
        self, kernel: Kernel, args: tuple[object, ...], named: Mapping[str, object]
    ) -> object:
        """Run a kernel to its end; `InputError` where it is given too much, or refuses a number."""
        count = sum(array.size for array in _arrays(args))
        if count > MOST_PLAIN:
            raise missing("numba", f"{count:,} numbers (at most {MOST_PLAIN:,} in Python)")
        self.here.runs, self.here.until = True, inf
        try:
            return self._run(kernel, args, named)
        except (ValueError, OverflowError) as error:
            if str(error) in REFUSED:
                raise missing("numba") from None
            raise
        finally:
            self.here.runs = False

    def _run(self, kernel: Kernel, args: tuple[object, ...], named: Mapping[str, object]) -> object:
        with np.errstate(all="ignore"):
            asked = (np.float64(of) if type(of) is float else of for of in args)
            return _native(kernel.py_func(*asked, **named))

    def look_at_the_clock(self) -> None:
        """Stop a plain run that takes too long; called whenever one kernel calls another."""
        if time.thread_time() >= self.here.until:
            raise CompileError


_python = _Python()


def always() -> None:
    """Compile whatever is called from now on, small or not."""
    _python.spent = COMPILING


def plainly(kernel: Callable[..., object], *args: object) -> Any:
    """Run a kernel, and those that it calls, as Python to its end; lists do for arrays."""
    return _python.without_compiler(cast(Kernel, kernel), args, {})


def small(most: int) -> Callable[..., bool]:
    """Return a test of a call's arguments: whether their arrays have at most so many elements."""
    return lambda *args: sum(array.size for array in _arrays(args)) <= most


def _arrays(of: object) -> Iterator[Any]:
    if isinstance(of, np.ndarray | np.record):
        yield of
    elif isinstance(of, tuple):
        for part in of:
            yield from _arrays(part)


def _native(of: Any) -> Any:
    """Return what compiled code would: Python's own numbers, in tuples too."""
    if isinstance(of, np.generic) and not isinstance(of, np.record):
        return of.item()
    if isinstance(of, tuple):
        return (
            of.__class__._make(map(_native, of))
            if hasattr(of, "_make")
            else tuple(map(_native, of))
        )
    return of


def _fill(array: Any, was: Any) -> None:
    if isinstance(array, np.record):
        for name in was.dtype.names:
            array[name] = was[name]
    elif array.flags.writeable:  # what could not be written is as it was
        array[...] = was


@overload
def njit(function: F, /) -> F: ...
@overload
def njit(*, plain: Callable[..., bool] | None = None, **options: object) -> Callable[[F], F]: ...
def njit(
    function: F | None = None, /, *, plain: Callable[..., bool] | None = None, **options: object
) -> F | Callable[[F], F]:
    """Make a kernel, with the options of `numba.njit`."""
    if function is None:
        return partial(njit, plain=plain, **options)
    return cast(F, Kernel(function, options, plain))


@overload
def compiled(function: F, /, *, nogil: bool = False) -> F: ...
@overload
def compiled(
    *, nogil: bool = False, plain: Callable[..., bool] | None = None
) -> Callable[[F], F]: ...
def compiled(
    function: F | None = None, /, *, nogil: bool = False, plain: Callable[..., bool] | None = None
) -> F | Callable[[F], F]:
    """Make a kernel without reference counting, which would take most of a loop's time.

    It must make no array of its own, nor a view of one: memory would never be freed. Where it is
    long, ``nogil`` lets other threads go on meanwhile.
    """
    made = njit(plain=plain, cache=True, nogil=nogil, _nrt=False, error_model="numpy")
    return made if function is None else made(function)
