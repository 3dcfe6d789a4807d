"""The solvers, by name: what each takes, and where it is."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from schedopt.formulations.protocol import Formulation
    from schedopt.solvers.mip import Engine
    from schedopt.solvers.result import Limits, Result


class Adapter(Protocol):
    """The function of a solver: it solves a formulation that the solver takes."""

    def __call__(
        self, formulation: Formulation, limits: Limits, *, hint: Any | None = None
    ) -> Result:
        """Return the result, not yet checked; ``hint`` is a solution record to start from."""
        ...


@dataclass(frozen=True)
class Solver:
    """A solver.

    Attributes
    ----------
    takes : str
        What it takes, in words.
    engine : str
        The modelling language that it takes: a formulation's ``engine``.
    home : str
        The module that has it.
    adapter : str
        What of that module solves any formulation of the language: a function, or ``ENGINES`` of
        mixed-integer programs; empty where the solver is for one kind of model alone, whose
        problem calls it.
    comes_with : tuple of str
        One of these must be there, programs on the path or packages of Python; none: it is part
        of every installation.
    """

    takes: str
    engine: str
    home: str
    adapter: str = ""
    comes_with: tuple[str, ...] = ()

    @property
    def general(self) -> bool:
        """Whether it solves any formulation of its language."""
        return bool(self.adapter)

    @property
    def available(self) -> bool:
        """Whether it is on this machine."""
        found = (shutil.which(name) or find_spec(name) for name in self.comes_with)
        return not self.comes_with or any(found)


LINEAR = "linear models in Pyomo, with any side constraints"

SOLVERS: dict[str, Solver] = {
    "highs": Solver(LINEAR, "pyomo", "schedopt.solvers.mip.highs", "ENGINES"),
    "cp-sat": Solver(
        "schedules and partitions, exactly, with any side constraints",
        "cp-sat",
        "schedopt.solvers.cpsat",
        "solve",
    ),
    "epochs": Solver(
        "epochs and rectangles: bin completion and multipliers, or filling, then CP-SAT",
        "items",  # not a model in CP-SAT: its problem alone calls it
        "schedopt.solvers.epoch",
    ),
    "queues": Solver(
        "thresholds by enumeration, optimal policies by policy iteration",
        "numeric",
        "schedopt.solvers.msfq",
    ),
    "server-prices": Solver(
        "logs: bounds over all schedules, by prices of servers over time",
        "server-prices",
        "schedopt.solvers.msfq.log_bound",
    ),
    "core": Solver(
        "selections without side constraints: an exact knapsack algorithm",
        "pyomo",
        "schedopt.solvers.dssp.selection.knapsack",
    ),
    "shares": Solver(
        "selections with caps and floors of disjoint groups: prices, then near-best parts",
        "pyomo",
        "schedopt.solvers.dssp.selection.shares",
    ),
    "prices": Solver(
        "allocations without side constraints: the dual, over all orders",
        "cvxpy",
        "schedopt.solvers.hesrpt",
    ),
    "clarabel": Solver(
        "allocations, as convex programs, with any side constraints",
        "cvxpy",
        "schedopt.solvers.clarabel",
        "adapt",
    ),
    "scip": Solver(LINEAR, "pyomo", "schedopt.solvers.mip.scip", "ENGINES", ("pyscipopt",)),
    "cbc": Solver(LINEAR, "pyomo", "schedopt.solvers.mip.external", "ENGINES", ("cbc",)),
    "cplex": Solver(LINEAR, "pyomo", "schedopt.solvers.mip.external", "ENGINES", ("cplex",)),
    "glpk": Solver(LINEAR, "pyomo", "schedopt.solvers.mip.external", "ENGINES", ("glpsol",)),
    "gurobi": Solver(
        LINEAR, "pyomo", "schedopt.solvers.mip.external", "ENGINES", ("gurobi_cl", "gurobipy")
    ),
    "xpress": Solver(
        LINEAR, "pyomo", "schedopt.solvers.mip.external", "ENGINES", ("optimizer", "xpress")
    ),
}
"""The solvers; of one language the first with an adapter is its default."""


def suited(engine: str) -> list[str]:
    """Return the names of the solvers that take a modelling language, those for all of it first."""
    found = [name for name, solver in SOLVERS.items() if solver.engine == engine]
    return sorted(found, key=lambda name: not SOLVERS[name].general)


def engine_of(name: str) -> Engine:
    """Import a solver of mixed-integer programs, and return it."""
    engine: Engine = import_module(SOLVERS[name].home).ENGINES[name]
    return engine


def adapter_of(name: str) -> Adapter:
    """Import a solver, and return the function that solves whatever formulation it takes."""
    solver = SOLVERS[name]
    if solver.engine == "pyomo":
        from schedopt.solvers import mip

        return partial(mip.solve, engine_of(name))
    adapter: Adapter = getattr(import_module(solver.home), solver.adapter)
    return adapter
