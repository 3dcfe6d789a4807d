"""schedopt: optimization models for cluster scheduling, and heuristics measured against them.

The verbs of the command line are functions of the same names here. Each problem is a module, such
as `schedopt.dssp`, with its instances, formulations and solution records; side constraints, such as
`schedopt.FairShare`, are here. Everything is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; at run time see `__getattr__`
    from schedopt.analysis.summary import summary
    from schedopt.instances.constraints import (
        Apart,
        AtLeast,
        AtMost,
        Constraint,
        FairShare,
        Forbid,
        Imply,
        Require,
        Resource,
        ResponseTime,
        Seats,
        Shares,
        Together,
    )
    from schedopt.instances.errors import InputError
    from schedopt.instances.files import example, load
    from schedopt.problems.dssp import api as dssp
    from schedopt.problems.epoch import api as epoch
    from schedopt.problems.hesrpt import api as hesrpt
    from schedopt.problems.msfq import api as msfq
    from schedopt.solvers.result import Result
    from schedopt.verbs.bench import bench
    from schedopt.verbs.carry import carry
    from schedopt.verbs.check import check
    from schedopt.verbs.contents import list_policies
    from schedopt.verbs.convert import convert
    from schedopt.verbs.dump import dump
    from schedopt.verbs.evaluate import evaluate
    from schedopt.verbs.explain import explain
    from schedopt.verbs.generate import generate
    from schedopt.verbs.new import new
    from schedopt.verbs.plan import plan
    from schedopt.verbs.plot import plot
    from schedopt.verbs.ready import Ready, ready
    from schedopt.verbs.reproduce import reproduce
    from schedopt.verbs.solve import solve
    from schedopt.verbs.warm import warm
    from schedopt.verbs.whatif import whatif
    from schedopt.verbs.write import write

__all__ = [
    "Apart",
    "AtLeast",
    "AtMost",
    "Constraint",
    "FairShare",
    "Forbid",
    "Imply",
    "InputError",
    "Ready",
    "Require",
    "Resource",
    "ResponseTime",
    "Result",
    "Seats",
    "Shares",
    "Together",
    "bench",
    "carry",
    "check",
    "convert",
    "dssp",
    "dump",
    "epoch",
    "evaluate",
    "example",
    "explain",
    "generate",
    "hesrpt",
    "list_policies",
    "load",
    "msfq",
    "new",
    "plan",
    "plot",
    "ready",
    "reproduce",
    "solve",
    "summary",
    "warm",
    "whatif",
    "write",
]

__version__ = "0.1.0"

_HOMES = {
    **dict.fromkeys(
        ("Apart", "AtLeast", "AtMost", "Constraint", "FairShare", "Forbid", "Imply", "Require",
         "Resource", "ResponseTime", "Seats", "Shares", "Together"),
        "schedopt.instances.constraints",
    ),
    "InputError": "schedopt.instances.errors",
    "Ready": "schedopt.verbs.ready",
    "Result": "schedopt.solvers.result",
    "bench": "schedopt.verbs.bench",
    "carry": "schedopt.verbs.carry",
    "check": "schedopt.verbs.check",
    "convert": "schedopt.verbs.convert",
    "dump": "schedopt.verbs.dump",
    "evaluate": "schedopt.verbs.evaluate",
    "example": "schedopt.instances.files",
    "explain": "schedopt.verbs.explain",
    "generate": "schedopt.verbs.generate",
    "list_policies": "schedopt.verbs.contents",
    "load": "schedopt.instances.files",
    "new": "schedopt.verbs.new",
    "plan": "schedopt.verbs.plan",
    "plot": "schedopt.verbs.plot",
    "ready": "schedopt.verbs.ready",
    "reproduce": "schedopt.verbs.reproduce",
    "solve": "schedopt.verbs.solve",
    "summary": "schedopt.analysis.summary",
    "warm": "schedopt.verbs.warm",
    "whatif": "schedopt.verbs.whatif",
    "write": "schedopt.verbs.write",
}  # fmt: skip
"""Where each name lives; a problem's name stands for its ``api``."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if not name.startswith("_"):
        from schedopt.instances.files import PROBLEMS

        if name in PROBLEMS:
            return import_module(f"schedopt.problems.{name}.api")
    raise AttributeError(f"module 'schedopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
