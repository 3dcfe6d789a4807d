"""Kernels: Python functions that numba compiles, once, when there is enough work for it.

A kernel of few numbers is run as the Python that it is: loading numba takes half a second, and
compiling a kernel for the first time takes many. Which it is to be is decided before a call starts,
by the steps that it takes and those that were run so far. What it returns is the same to the last
bit.
"""

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial, update_wrapper
from math import inf, nan
from types import FunctionType
from typing import Any, TypeVar, cast, overload

import numpy as np

from schedopt.instances.extras import installed, missing
from schedopt.solvers.clock import compiling
from schedopt.solvers.kernel_store import Names, cache_folder
from schedopt.solvers.stopping import as_one_piece

__all__ = ["Kernel", "compiled", "njit", "run_as_python", "small"]

F = TypeVar("F", bound=Callable[..., object])
Steps = Callable[..., float]

LOADING, COMPILING = 500_000, 3_000_000
"""Steps that a process runs as Python before it loads a kernel, and one not compiled so far.

A step takes about a microsecond: these are the half second that loading numba takes, and a part of
what compiling does.
"""

COMPILES = installed("numba")
"""Whether numba is installed, which an extra brings; without it all kernels run as Python."""

MOST_PLAIN = 200_000
"""Most numbers that a kernel takes where nothing compiles: Python would need minutes for more."""


class Kernel:
    """A function that is compiled at its first call, or run as Python where there is little to do.

    ``py_func``: the function, as numba names it; ``options``: those of `numba.njit`; ``plain``: how
    many steps a call with these arguments takes as Python, about. By default it never is.
    """

    def __init__(
        self, function: Callable[..., Any], options: Mapping[str, Any], plain: Steps | None = None
    ) -> None:
        update_wrapper(self, function)
        self.py_func: Any = function
        self.options = options
        self.plain = plain

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run it, compiled unless it `stays_python`."""
        if _here.python:
            return self.python(*args, **named)
        if not COMPILES:
            count = sum(array.size for array in _arrays(args))
            if count > MOST_PLAIN:
                raise missing("numba", f"{count:,} numbers (at most {MOST_PLAIN:,} in Python)")
        elif not self.stays_python(args):
            return self.dispatcher(*args, **named)
        return run_as_python(self, *args, **named)

    def stays_python(self, args: tuple[Any, ...]) -> bool:
        """Decide whether a call is run as Python: while all such calls are short together."""
        if self.plain is None or "dispatcher" in vars(self):
            return False
        steps = self.plain(*args)
        after = _spent.steps + steps
        if steps > LOADING or after > COMPILING or (after > LOADING and self.on_disk):
            return False
        _spent.steps = after
        return True

    @cached_property
    def on_disk(self) -> bool:
        """Whether its code is on disk."""
        return cache_folder(self.py_func).is_dir()

    @cached_property
    def python(self) -> Callable[..., Any]:
        """The kernel as Python, with the arithmetic of compiled code."""
        of = self.py_func
        names = _NAMES.setdefault(id(of.__globals__), {})
        if not names:
            names.update(
                {name: _with_c_arithmetic(value) for name, value in of.__globals__.items()}
            )
        twin = FunctionType(of.__code__, names, of.__name__, of.__defaults__, of.__closure__)
        twin.__kwdefaults__ = of.__kwdefaults__
        return twin

    @cached_property
    def dispatcher(self) -> Any:
        """The kernel as numba dispatches it; nothing is compiled before its first call."""
        compiling.start()  # loading numba is not solving either
        try:
            from schedopt.solvers.machine_code import dispatcher
        finally:
            compiling.stop()
        return dispatcher(self.py_func, self.options)

    @cached_property
    def inside(self) -> Any:
        """The kernel as numba dispatches it to other kernels."""
        from schedopt.solvers.machine_code import dispatcher

        return dispatcher(self.py_func, self.options, inside=True)

    @property
    def _numba_type_(self) -> Any:
        """What numba takes the kernel for within another."""
        return self.inside._numba_type_

    def __reduce__(self) -> tuple[object, ...]:
        return _by_name, (self.__module__, vars(self)["__qualname__"])


def _by_name(module: str, name: str) -> Any:
    return getattr(__import__(module, fromlist=[name]), name)


class _ThreadMode(threading.local):
    """Whether a kernel runs as Python in this thread: then all that it calls do."""

    python = False


class _Spent:
    """The steps that this process has run as Python."""

    steps = 0.0


_here, _spent = _ThreadMode(), _Spent()

_NAMES: dict[int, Names] = {}
"""For the globals of kernels, by their `id`, what Python finds in their place."""

_POLES: Mapping[object, float] = {math.log: 0.0, math.log1p: -1.0}
"""Where functions of `math` are minus infinity, and Python's raise an error."""


def _with_c_arithmetic(function: Any) -> Any:
    """Return what to call for a function of `math`, which raises no error; all else as it is."""
    if getattr(function, "__module__", "") != "math":
        return function

    def called(x: float) -> float:
        try:
            return float(function(x))
        except OverflowError:
            return inf
        except ValueError:
            return -inf if x == _POLES.get(function) else nan

    return called


def run_as_python(kernel: Callable[..., object], *args: object, **named: object) -> Any:
    """Run a kernel, and those that it calls, as Python to its end; lists do for arrays."""
    asked = (np.float64(of) if type(of) is float else of for of in args)
    with np.errstate(all="ignore"), as_one_piece():
        _here.python = True
        try:
            return _native(cast(Kernel, kernel).python(*asked, **named))
        finally:
            _here.python = False


def small(most: int, each: float = 1.0) -> Steps:
    """Return the steps of a call: so many for each number of its arrays, if these are few."""

    def steps(*args: object) -> float:
        count = sum(array.size for array in _arrays(args))
        return each * count if count <= most else inf

    return steps


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
        parts = map(_native, of)
        return of.__class__._make(parts) if hasattr(of, "_make") else tuple(parts)
    return of


@overload
def njit(function: F, /) -> F: ...
@overload
def njit(*, plain: Steps | None = None, **options: object) -> Callable[[F], F]: ...
def njit(
    function: F | None = None, /, *, plain: Steps | None = None, **options: object
) -> F | Callable[[F], F]:
    """Make a kernel, with the options of `numba.njit`."""
    if function is None:
        return partial(njit, plain=plain, **options)
    return cast(F, Kernel(function, options, plain))


@overload
def compiled(function: F, /, *, nogil: bool = False) -> F: ...
@overload
def compiled(*, nogil: bool = False, plain: Steps | None = None) -> Callable[[F], F]: ...
def compiled(
    function: F | None = None, /, *, nogil: bool = False, plain: Steps | None = None
) -> F | Callable[[F], F]:
    """Make a kernel without reference counting, which would take most of a loop's time.

    It must make no array of its own, nor a view of one: memory would never be freed. Where it is
    long, ``nogil`` lets other threads go on meanwhile.
    """
    made = njit(plain=plain, cache=True, nogil=nogil, _nrt=False, error_model="numpy")
    return made if function is None else made(function)
