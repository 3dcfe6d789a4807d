"""schedopt: optimization models for cluster scheduling, and heuristics measured against them.

The verbs of the command line are functions of the same names here: `load`, `solve`, `evaluate`,
`bench`, `summary`, `check`, `generate`, `plot` and `reproduce`. They are imported when they are
first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from instances.errors import InputError
    from instances.files import dump, load
    from schedopt.benching import bench
    from schedopt.checking import check
    from schedopt.evaluating import evaluate
    from schedopt.making import generate
    from schedopt.plotting import plot
    from schedopt.reproducing import reproduce
    from schedopt.solving import solve
    from schedopt.summarizing import summary
    from solvers.result import Result

__all__ = [
    "InputError",
    "Result",
    "bench",
    "check",
    "dump",
    "evaluate",
    "generate",
    "load",
    "plot",
    "reproduce",
    "solve",
    "summary",
]

__version__ = "0.1.0"

_HOMES = {
    "InputError": "instances.errors",
    "Result": "solvers.result",
    "bench": "schedopt.benching",
    "check": "schedopt.checking",
    "dump": "instances.files",
    "evaluate": "schedopt.evaluating",
    "generate": "schedopt.making",
    "load": "instances.files",
    "plot": "schedopt.plotting",
    "reproduce": "schedopt.reproducing",
    "solve": "schedopt.solving",
    "summary": "schedopt.summarizing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'schedopt' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
