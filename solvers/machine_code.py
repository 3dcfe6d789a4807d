"""How kernels become machine code: never on a solver's time, and kept by `kernel_store`."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, Self

import numba
from numba.core import caching, codegen, event
from numba.core.environment import lookup_environment
from numba.core.registry import cpu_target
from numba.core.types import unliteral
from numba.core.types.functions import BaseFunction

from schedopt.solvers.clock import compiling
from schedopt.solvers.kernel_store import OURS, Names, Source, cache_folder, prepare_folder

__all__ = ["dispatcher"]

_TWINS: dict[int, tuple[Names, Names]] = {}
"""For the globals of kernels, by their `id`, these and a copy with what numba dispatches."""

_DISPATCHED: dict[tuple[Source, bool], Any] = {}

INSIDE = {"cache": False, "no_cpython_wrapper": True}
"""Options of numba for a kernel that is called by other kernels alone."""


def dispatcher(kernel: Source, inside: bool = False) -> Any:
    """Return a kernel as numba dispatches it: to Python, or (``inside``) to other kernels alone.

    numba would make a version of it for each constant that another kernel hands it: not here.
    """
    made = _DISPATCHED.get((kernel, inside))
    if made is None:
        function = kernel.py_func
        names, new = _names_of(function.__globals__)
        cells = tuple(
            CellType(_as_dispatched(of.cell_contents)) for of in function.__closure__ or ()
        )
        twin = FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, cells
        )
        twin.__qualname__, twin.__module__ = function.__qualname__, function.__module__
        options = {**kernel.options, "no_cfunc_wrapper": True, **(INSIDE if inside else {})}
        made = _DISPATCHED[kernel, inside] = _of_any_constant(numba.njit(**options)(twin))
        if new:
            names.update({name: _as_dispatched(of) for name, of in function.__globals__.items()})
    return made


def _names_of(names: Names) -> tuple[Names, bool]:
    """Return the globals that numba is to see, and whether they are yet to be filled."""
    known = _TWINS.get(id(names))
    if known is None:
        _TWINS[id(names)] = names, {}
    return _TWINS[id(names)][1], known is None


def _as_dispatched(of: Any) -> Any:
    """Replace a function that is to be compiled by its kernel; leave all else as it is."""
    return dispatcher(of, inside=True) if isinstance(of, Source) else of


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


_numbas: Any = codegen.JITCodeLibrary


class _Library(codegen.JITCodeLibrary):
    """Code that is optimized and made for the machine once Python asks for its address.

    numba does that for each kernel, and again for all that it calls within what calls it.
    """

    made = False
    _compiled_object: bytes | None = None
    _codegen: Any

    def _optimize_final_module(self) -> None:
        if self.made:
            _numbas._optimize_final_module(self)

    def _finalize_final_module(self) -> None:
        self._finalized = True
        self.made = self.made or self._compiled_object is not None  # from the cache
        if self.made:
            _numbas._finalize_final_module(self)
            names = (of.name for of in self._final_module.global_variables)
            found = filter(None, map(lookup_environment, names))
            for environment in found:  # of what it calls
                self._codegen.set_env(environment.env_name, environment)

    def get_pointer_to_function(self, name: str) -> int:
        _numbas._ensure_finalized(self)
        if not self.made:
            if name not in {of.name for of in _numbas.get_defined_functions(self)}:
                return 0
            self._make()
        return int(_numbas.get_pointer_to_function(self, name))

    def _get_compiled_object(self) -> bytes:
        if not self.made:
            self._make()
        return bytes(_numbas._get_compiled_object(self))

    def _make(self) -> None:
        self.made = True
        self._optimize_final_module()
        self._finalize_final_module()

    @property
    def codegen(self) -> Any:
        return self._codegen if self.made else self

    def set_env(self, name: str, environment: object) -> None:
        """Do nothing: the environment is set in the code that this is taken into."""


_operators: Any = BaseFunction
_typed: dict[tuple[object, ...], Any] = {}
_call_type = _operators.get_call_type


def _known_call_type(self: Any, context: Any, args: Any, named: Any) -> Any:
    """Return what numba makes of a call of an operator or function, which it tries out each time.

    Of a long kernel's calls one in twenty is of kinds that no kernel had before.
    """
    if named:
        return _call_type(self, context, args, named)
    key = (self, len(self.templates), *args)
    if key not in _typed:
        _typed[key] = _call_type(self, context, args, named)
    return _typed[key]


class _KernelLocator(caching._CacheLocator):
    """Where numba keeps a kernel of ours; other packages' functions stay where numba has them."""

    def __init__(self, function: FunctionType) -> None:
        names = next(own for own, twin in _TWINS.values() if twin is function.__globals__)
        self._path = cache_folder(function, names)
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
            prepare_folder(found._path)
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
        compiling.begun()

    def on_end(self, event: object) -> None:
        pass


_locators: list[Any] = caching.FunctionCache._impl_class._locator_classes
cpu_target.target_context.codegen()._library_class = _Library
_operators.get_call_type = _known_call_type
_locators.insert(0, _KernelLocator)
event.register("numba:compiler_lock", _ClockPause())
event.register("numba:compile", _CompilingNotice())
