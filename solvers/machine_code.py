"""How kernels become machine code: never on a solver's time, and kept by `kernel_store`."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, Self

import numba
from numba.core import caching, event
from numba.core.types import unliteral

from schedopt.solvers.clock import compiling
from schedopt.solvers.kernel_store import OURS, Names, Source, home, used

__all__ = ["dispatcher"]

_TWINS: dict[int, tuple[Names, Names]] = {}
"""For the globals of kernels, by their `id`, these and a copy with what numba dispatches."""

_DISPATCHED: dict[Source, Any] = {}


def dispatcher(kernel: Source) -> Any:
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
    return dispatcher(of) if isinstance(of, Source) else of


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


class _Shared(caching._CacheLocator):
    """Where numba keeps a kernel of ours; other packages' functions stay where numba has them."""

    def __init__(self, function: FunctionType) -> None:
        names = next(own for own, twin in _TWINS.values() if twin is function.__globals__)
        self._path = home(function, names)
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
        found = cls(function)
        try:
            used(found._path)
        except OSError:
            return None
        return found if os.access(found._path, os.W_OK) else None


class _Watch(event.Listener):
    """Holds the clock of time limits while numba compiles, loads or stores."""

    def on_start(self, event: object) -> None:
        compiling.start()

    def on_end(self, event: object) -> None:
        compiling.stop()


_locators: list[Any] = caching.FunctionCache._impl_class._locator_classes
_locators.insert(0, _Shared)
event.register("numba:compiler_lock", _Watch())
