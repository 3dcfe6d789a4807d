"""How the simulators are compiled: without reference counts, which would take most of the time.

What is compiled so must make no array of its own, nor a view of one: memory would never be freed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])
_njit: Any = njit


def compiled(function: F) -> F:
    """Compile a function of the simulators."""
    return _njit(cache=True, _nrt=False, error_model="numpy")(function)  # type: ignore[no-any-return]
