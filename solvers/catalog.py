"""The solvers, by name: what each takes, and where it is."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from formulations.protocol import Formulation
    from solvers.result import Limits, Result


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
        The function of that module that solves any formulation of the language; empty where the
        solver is for one kind of model alone, whose problem calls it.
    """

    takes: str
    engine: str
    home: str
    adapter: str = ""

    def load(self) -> Adapter:
        """Import the solver, and return its adapter."""
        adapter: Adapter = getattr(import_module(self.home), self.adapter)
        return adapter


SOLVERS: dict[str, Solver] = {
    "highs": Solver(
        "linear models in Pyomo, with any side constraints", "pyomo", "solvers.highs", "solve"
    ),
    "cp-sat": Solver(
        "schedules and partitions, exactly, with any side constraints",
        "cp-sat",
        "solvers.cpsat",
        "solve",
    ),
    "epochs": Solver(
        "partitions into epochs: bin completion and multipliers, then CP-SAT",
        "items",  # not a model in CP-SAT: its problem alone calls it
        "solvers.epochs",
    ),
    "queues": Solver(
        "thresholds by enumeration, optimal policies by value iteration",
        "numeric",
        "solvers.queues",
    ),
    "core": Solver(
        "selections without side constraints: an exact knapsack algorithm",
        "pyomo",
        "solvers.knapsack",
    ),
    "prices": Solver(
        "allocations without side constraints: the dual, over all orders", "cvxpy", "solvers.orders"
    ),
    "clarabel": Solver(
        "allocations, as convex programs, with any side constraints",
        "cvxpy",
        "solvers.clarabel",
        "adapt",
    ),
}
"""The solvers; of one language the first with an adapter is its default."""


def suited(engine: str) -> list[str]:
    """Return the names of the solvers that take a modelling language, those for all of it first."""
    found = [name for name, solver in SOLVERS.items() if solver.engine == engine]
    return sorted(found, key=lambda name: not SOLVERS[name].adapter)
