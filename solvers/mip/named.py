"""The solvers of mixed-integer programs, by name: where each is, and what it comes with."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from schedopt.instances.extras import met

if TYPE_CHECKING:
    from schedopt.solvers.mip import Engine


class Solver(NamedTuple):
    """The module whose ``ENGINES`` has a solver, and programs or packages of which it needs one."""

    home: str
    comes_with: tuple[str, ...] = ()

    @property
    def available(self) -> bool:
        """Whether it is on this machine."""
        return met(self.comes_with)


_EXTERNAL = "schedopt.solvers.mip.external"
SOLVERS = {
    "highs": Solver("schedopt.solvers.mip.highs"),
    "scip": Solver("schedopt.solvers.mip.scip", ("pyscipopt",)),
    "cbc": Solver(_EXTERNAL, ("cbc",)),
    "cplex": Solver(_EXTERNAL, ("cplex",)),
    "glpk": Solver(_EXTERNAL, ("glpsol",)),
    "gurobi": Solver(_EXTERNAL, ("gurobi_cl", "gurobipy")),
    "xpress": Solver(_EXTERNAL, ("optimizer", "xpress")),
}


def engine_of(name: str) -> Engine:
    """Import a solver of mixed-integer programs, and return it."""
    engine: Engine = import_module(SOLVERS[name].home).ENGINES[name]
    return engine
