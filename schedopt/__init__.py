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
    from schedopt.analysis.summary import summary
    from schedopt.verbs.bench import bench
    from schedopt.verbs.check import check
    from schedopt.verbs.evaluate import evaluate
    from schedopt.verbs.generate import generate
    from schedopt.verbs.plot import plot
    from schedopt.verbs.reproduce import reproduce
    from schedopt.verbs.solve import solve
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
    "bench": "schedopt.verbs.bench",
    "check": "schedopt.verbs.check",
    "dump": "instances.files",
    "evaluate": "schedopt.verbs.evaluate",
    "generate": "schedopt.verbs.generate",
    "load": "instances.files",
    "plot": "schedopt.verbs.plot",
    "reproduce": "schedopt.verbs.reproduce",
    "solve": "schedopt.verbs.solve",
    "summary": "schedopt.analysis.summary",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'schedopt' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
