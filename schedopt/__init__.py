"""schedopt: optimization models for cluster scheduling, and heuristics measured against them.

The verbs of the command line are functions of this package. Each problem is a module, such as
`schedopt.dssp`, with its instances, formulations and solution records. Side constraints, such as
`schedopt.FairShare`, are here too. Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; at run time see `__getattr__`
    from schedopt.analysis.statistics import summary
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
    from schedopt.instances.extras import MissingExtraError
    from schedopt.instances.files import dump, example
    from schedopt.problems import dssp, epoch, hesrpt, msfq
    from schedopt.solvers.result import Result
    from schedopt.verbs.bench import bench
    from schedopt.verbs.carry import carry
    from schedopt.verbs.check import check
    from schedopt.verbs.evaluate import evaluate
    from schedopt.verbs.explain import explain, list_policies
    from schedopt.verbs.generate import convert, generate, new
    from schedopt.verbs.load import load
    from schedopt.verbs.plan import plan
    from schedopt.verbs.plan_table import plan_table
    from schedopt.verbs.plot import plot
    from schedopt.verbs.ready import Ready, ready
    from schedopt.verbs.replan import Replanned, replan
    from schedopt.verbs.report_night import report_night
    from schedopt.verbs.reproduce import reproduce
    from schedopt.verbs.script import script
    from schedopt.verbs.solve import solve
    from schedopt.verbs.starts import check_starts, start_times
    from schedopt.verbs.whatif import whatif

__version__ = "0.2.0"

__all__ = [
    "Apart",
    "AtLeast",
    "AtMost",
    "Constraint",
    "FairShare",
    "Forbid",
    "Imply",
    "InputError",
    "MissingExtraError",
    "Ready",
    "Replanned",
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
    "check_starts",
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
    "plan_table",
    "plot",
    "ready",
    "replan",
    "report_night",
    "reproduce",
    "script",
    "solve",
    "start_times",
    "summary",
    "whatif",
]

_MODULES = {
    "InputError": "schedopt.instances.errors",
    "MissingExtraError": "schedopt.instances.extras",
    "Ready": "schedopt.verbs.ready",
    "Replanned": "schedopt.verbs.replan",
    "Result": "schedopt.solvers.result",
    "check_starts": "schedopt.verbs.starts",
    "convert": "schedopt.verbs.generate",
    "dump": "schedopt.instances.files",
    "example": "schedopt.instances.files",
    "list_policies": "schedopt.verbs.explain",
    "new": "schedopt.verbs.generate",
    "start_times": "schedopt.verbs.starts",
    "summary": "schedopt.analysis.statistics",
}
"""Modules of names that are neither side constraints nor verbs with a module of their own."""


if not TYPE_CHECKING:  # or every name would have a type

    def __getattr__(name: str) -> Any:
        """Import a name when it is first used: all of them would take half a second.

        Problems of plug-ins and kinds of side constraint that are not listed are found too.
        """
        from schedopt.instances import constraints, files

        if not name.startswith("_") and name in files.PROBLEMS:
            return import_module(files.module_path("problems", name))
        if name in __all__ and (name.islower() or name in _MODULES):
            home = _MODULES.get(name, f"schedopt.verbs.{name}")
            return getattr(import_module(home), name)
        kind = getattr(constraints, name, None)
        if isinstance(kind, type) and issubclass(kind, constraints.Constraint):
            return kind
        raise AttributeError(f"module 'schedopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
