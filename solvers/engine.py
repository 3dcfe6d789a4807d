"""Engines, and the records that they exchange with the portfolio."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from schedopt.instances.extras import installed
from schedopt.solvers.result import Limits, Result

if TYPE_CHECKING:
    from schedopt.formulations.protocol import Formulation

Start = Callable[[], Any | None]
"""Makes a first solution; None where it has none."""
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
        When to stop; the time limit is what is left of it.
    heuristic : callable
        Returns a solution that a quick policy finds, which keeps all side constraints, or None.
    incumbent, bound : object or None
        The best solution of the engines before, and the bound that they have proven.
    hints : object
        What else the engine before handed on.
    reading : object
        What `Engine.accepts` returned.
    name : str
        The engine's own, as the table has it: one function may serve several.
    alone : bool
        Whether no engine follows: it was asked for by name, or confirms another.
    confirming : bool
        Whether it confirms another, and is to take nothing over from it.
    """

    limits: Limits
    heuristic: Start = lambda: None
    incumbent: Any | None = None
    bound: Fraction | float | None = None
    hints: Any = None
    reading: Any = True
    name: str = ""
    alone: bool = False
    confirming: bool = False


@dataclass(frozen=True)
class Partial:
    """Returned by an engine that leaves the rest to the next one in the table.

    ``bound`` is the result's without rounding; ``hints`` are for the next engine alone, such as
    what no better solution has.
    """

    result: Result
    bound: Fraction | float | None = None
    hints: Any = None


def anything(_: object) -> bool:
    """Accept every formulation."""
    return True


def unchanged(model: Formulation) -> bool:
    """Accept a formulation whose native model is as it was declared."""
    return not model.changed


def always(_: Formulation, __: Limits) -> bool:
    """Take every formulation that is accepted."""
    return True


def never(_: Formulation, __: Limits) -> bool:
    """Accept nothing unless asked for by name."""
    return False


@dataclass(frozen=True)
class Engine:
    """A way to the optimum of a formulation: a row of its table.

    Attributes
    ----------
    name : str
        As ``--solver`` takes it.
    solve : callable
        Takes the formulation and an `EngineTask`, and returns a `Result`, not yet checked, or a
        `Partial`. It imports heavy libraries when it is called.
    description : str
        Which models it accepts, and which of them it takes unasked, in a sentence.
    proves : str
        What its answer is worth.
    accepts : callable
        What the engine reads of a formulation, or True; None or False where it cannot take it.
    worth_trying : callable
        Whether it takes a formulation that it accepts without being asked by name.
    certificate : str
        The kinds of certificate that its bounds have; empty: none.
    confirmed_by : str
        The engine of the table that is the second method; empty: there is none.
    needs : str
        The package of an extra that must be installed; empty: none.
    old_names : tuple of str
        Names of earlier versions, which ``--solver`` still takes.
    """

    name: str
    solve: Callable[[Any, EngineTask], Result | Partial]
    description: str
    proves: str
    accepts: Callable[[Any], Any] = anything
    worth_trying: Callable[[Any, Limits], bool] = always
    certificate: str = ""
    confirmed_by: str = ""
    needs: str = ""
    old_names: tuple[str, ...] = ()

    @property
    def available(self) -> bool:
        """Whether what it needs is on this machine."""
        return not self.needs or installed(self.needs)
