"""The interface of formulations, whatever their modelling language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeAlias

from typing_extensions import TypeVar

from schedopt.instances.constraints import Constraint
from schedopt.instances.options import Option

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar

Variable: TypeAlias = Any
"""A native variable or constraint, of a type of the modelling language."""

Hints = Iterable[tuple[Variable, float]]
"""Native variables with their values in a known solution."""

Value = Callable[[Variable], float]
"""Returns the value of a native variable in a solver's solution."""

Side = dict[str, list[Variable]]
"""The native constraints behind each side constraint, by name."""

Settings = dict[str, Any]
"""Options and their values, as in result documents."""

Sense = Literal["maximize", "minimize"]
"""Whether an objective is minimized or maximized."""


S_co = TypeVar("S_co", covariant=True, default=Any)
"""The problem's solution record, such as `instances.dssp.Selected`."""


class Formulation(Protocol[S_co]):
    """An instance as a native model with side constraints, ready to be solved.

    A formulation makes no solver call, prints nothing and opens no file.

    Attributes
    ----------
    problem, name, engine, sense : str
        The problem; the name of the formulation; the modelling language (``pyomo``, ``cp-sat``,
        ``cvxpy``, ``numeric``); ``maximize`` or ``minimize``.
    known_options : mapping
        The options of the constructor. An optional attribute ``elsewhere`` maps options of other
        formulations to the advice of the error message.
    instance : Instance
        The instance.
    seconds : float
        The time that building took.
    """

    problem: ClassVar[str]
    name: ClassVar[str]
    engine: ClassVar[str]
    sense: ClassVar[Sense]
    known_options: ClassVar[Mapping[str, Option]]
    instance: Any
    seconds: float

    @property
    def model(self) -> Any:
        """The native model, which users can change; it may be built when it is first asked for."""

    @property
    def changed(self) -> bool:
        """Whether the user has changed the native model, which then defines the problem."""

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed the objective: bounds do not hold for the instance."""

    @property
    def options(self) -> Settings:
        """The options in force."""

    @property
    def added(self) -> Sequence[Constraint]:
        """The side constraints beyond the instance's."""

    def add(self, *constraints: Constraint) -> Self:
        """Add side constraints, and return the formulation."""

    def side_constraints(self) -> Side:
        """Return the native constraints behind each side constraint, by name.

        Native constraints of the user are included under their own names. A conflict of an
        infeasible model consists of these names.
        """

    def hint(self, solution: Any) -> Hints:
        """Yield native variables with their values in a known solution, for a warm start."""

    def decode(self, value: Value) -> S_co:
        """Return the solution record of a solver's values of the native variables."""


class CpSatFormulation(Formulation[S_co], Protocol[S_co]):
    """A formulation in CP-SAT, see `cp_sat.WholeModel`."""

    @property
    def model(self) -> CpModel:
        """The native model."""

    @property
    def literals(self) -> Mapping[str, IntVar]:
        """The literal that enforces each side constraint."""

    @property
    def reward_scale(self) -> float:
        """The units of the model's objective in a reward of 1."""

    @property
    def loss(self) -> int:
        """The units of the objective that rounding may cost."""

    @property
    def exact(self) -> bool:
        """Whether the integers of the model represent the instance exactly."""

    @property
    def inexact(self) -> str:
        """The restriction under which an inexact model is optimal."""


class FormulationType(Protocol):
    """The class of a formulation."""

    problem: str
    name: str
    engine: str
    sense: Sense
    known_options: Mapping[str, Option]

    def __call__(self, instance: Any, **options: Any) -> Formulation:
        """Build the formulation of an instance."""
