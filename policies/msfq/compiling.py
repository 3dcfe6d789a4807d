"""How the simulators are compiled: once for each rule, which is a constant in the code."""

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from schedopt.solvers.compiling import compiled, njit

_njit: Any = njit
NATURAL = 2**63 - 1
"""A mask that tells the compiler that an index is not negative, which saves three instructions for
each access."""


def inline(function: Any, **parts: Any) -> Any:
    """Return a function that is inlined into its callers, with the plain functions it calls.

    ``parts`` stand in place of some that it calls.
    """
    if hasattr(function, "py_func"):
        return function
    namespace = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    called = {
        name: inline(of)
        for name, of in namespace.items()
        if isinstance(of, FunctionType) and of is not function and name not in parts
    }
    own = FunctionType(
        function.__code__,
        {**function.__globals__, **called, **parts},
        function.__name__,
        function.__defaults__,
    )
    return _njit(_nrt=False, error_model="numpy", forceinline=True)(own)


def specialize(
    template: Callable[..., Any], name: str, parts: Mapping[str, Any], *, nogil: bool = False
) -> Any:
    """Compile a function anew with other globals, which are constants to the compiler.

    ``parts`` are the globals by name: compiled functions, numbers. Compiled code is kept on disk
    under ``name``, which must differ wherever the parts of one module do. With ``nogil`` other
    threads go on while it runs.
    """
    if not isinstance(template, FunctionType):
        raise TypeError(f"{name} is to be made of a function that is not compiled")
    own = FunctionType(template.__code__, {**template.__globals__, **parts}, name)
    own.__qualname__, own.__module__ = name, template.__module__
    return compiled(own, nogil=nogil)
