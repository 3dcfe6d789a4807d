"""Engines: ways to the optimum of a formulation, which the portfolio tries in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from typing_extensions import TypeVar

from schedopt.instances.extras import installed
from schedopt.solvers.result import Limits, Result

Model_contra = TypeVar("Model_contra", contravariant=True, default=Any)
Start = Callable[[], Any | None]
"""Returns a warm start, or None if there is none."""
Certificate = dict[str, Any]


class NoCertificateError(Exception):
    """A bound has no certificate; the message says why."""


class LargeCertificateError(NoCertificateError):
    """A certificate would be too large or take too long to make."""


@dataclass(frozen=True)
class EngineTask:
    """What an engine is given beside the formulation.

    Attributes
    ----------
    limits : Limits
        When to stop. The time limit is the time that is left.
    heuristic : callable
        Returns a solution of a quick policy that keeps all side constraints, or None.
    incumbent, bound : object or None
        The best solution of the previous engines, and the bound that they have proved.
    fixed : object
        What the previous engine has proved of every better solution, such as pairs of jobs whose
        order is fixed.
    name : str
        The name of the engine.
    alone : bool
        Whether no other engine follows: it was asked for by name, or verifies another.
    confirming : bool
        Whether it verifies the result of another engine, and so must not start from it.
    """

    limits: Limits
    heuristic: Start = lambda: None
    incumbent: Any | None = None
    bound: Fraction | float | None = None
    fixed: Any = None
    name: str = ""
    alone: bool = False
    confirming: bool = False


@dataclass(frozen=True)
class Partial:
    """A result that the next engine continues from.

    Attributes
    ----------
    result : Result
    bound : Fraction or float, optional
        The bound of the result without rounding.
    fixed : object
        See `EngineTask`.
    """

    result: Result
    bound: Fraction | float | None = None
    fixed: Any = None


class Engine(Protocol[Model_contra]):
    """A way to the optimum of a formulation; engines are subclasses.

    Attributes
    ----------
    name : str
        The name for ``--solver``.
    description : str
        Which models it accepts, and which of them it solves by default.
    proves : str
        What it proves.
    certificate : str
        The kinds of certificate of its bounds; empty if there are none.
    confirmed_by : str
        The name of the engine that verifies its results; empty if there is none.
    needs : str
        The package that must be installed; empty if none.
    old_names : tuple of str
        Names of earlier versions, which ``--solver`` still accepts.
    """

    name: str
    description: str
    proves: str
    certificate: str = ""
    confirmed_by: str = ""
    needs: str = ""
    old_names: ClassVar[tuple[str, ...]] = ()

    @property
    def available(self) -> bool:
        """Whether the package that it needs is installed."""
        return not self.needs or installed(self.needs)

    def accepts(self, model: Model_contra) -> bool:
        """Return True if the engine can solve the formulation."""
        return True

    def worth_trying(self, model: Model_contra, limits: Limits) -> bool:
        """Return True if the engine is tried without being asked for by name."""
        return True

    def solve(self, model: Model_contra, task: EngineTask) -> Result | Partial:
        """Solve a formulation; heavy libraries are imported here.

        Returns
        -------
        Result or Partial
            Not yet checked. After a `Partial` the portfolio tries the next engine.
        """


class DeclaredInCpsat(Engine):
    """CP-SAT on the declared model, with the user's changes."""

    name = "model"
    description = "any model, as declared in CP-SAT, with native changes"
    needs = "ortools"

    def __init__(self, proves: str, confirmed_by: str = "") -> None:
        self.proves, self.confirmed_by = proves, confirmed_by

    def solve(self, model: Any, task: EngineTask) -> Result:
        """Solve the native model with CP-SAT."""
        from schedopt.solvers import cpsat

        return cpsat.solve(model, task.limits)
