"""The interface of every formulation, in whatever modelling language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeVar

from schedopt.instances.constraints import Constraint
from schedopt.instances.decimals import Floats, Whole
from schedopt.instances.options import Option

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar

Variable: TypeAlias = Any
"""A native variable or constraint: what it is depends on the modelling language."""

Hints = Iterable[tuple[Variable, float]]
"""A value for each native variable that a known solution gives one."""

Value = Callable[[Variable], float]
"""The value that an answer gives a native variable."""

Side = dict[str, list[Variable]]
"""The native constraints behind each side constraint, by name."""

Settings = dict[str, Any]
"""The options in force, as result documents show them."""

Sense = Literal["maximize", "minimize"]
"""Whether an objective is minimized or maximized."""


S_co = TypeVar("S_co", covariant=True, default=Any)
"""The problem's solution record, such as `instances.dssp.Selected`."""


class Formulation(Protocol[S_co]):
    """An instance written as a native model, with side constraints, ready to be solved.

    A formulation makes no solver call, prints nothing and opens no file.

    Attributes
    ----------
    problem, name, engine, sense : str
        The problem; the formulation's own name; the modelling language, which says which solvers
        can take it (``pyomo``, ``cp-sat``, ``cvxpy``, ``numeric``); ``maximize`` or ``minimize``.
    known_options : mapping
        The options that its constructor takes. Those that another formulation takes in its place
        stand in ``elsewhere``, where there are any, each with what is expected instead.
    instance : Instance
        What it was built from.
    seconds : float
        How long building took.
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
        """The native model; it may be built when it is first asked for."""

    @property
    def changed(self) -> bool:
        """Whether the user has changed the native model, which then alone defines the problem."""

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed its objective: then no bound holds for the instance."""

    @property
    def options(self) -> Settings:
        """The options in force."""

    @property
    def added(self) -> Sequence[Constraint]:
        """The side constraints beyond the instance's."""

    def add(self, *constraints: Constraint) -> Self:
        """Add side constraints, and return the formulation itself."""

    def side_constraints(self) -> Side:
        """Return the native constraints behind each side constraint, by name.

        Native constraints that the user added are there too, under their own names: together
        these are what an infeasible model can be infeasible for.
        """

    def hint(self, solution: Any) -> Hints:
        """Yield a value for each native variable that a known solution gives one."""

    def decode(self, value: Value) -> S_co:
        """Turn a solver's values, by native variable, into the problem's solution record."""


class CpSatFormulation(Formulation[S_co], Protocol[S_co]):
    """A formulation in CP-SAT with switchable side constraints: see `cp_sat.WholeModel`."""

    @property
    def model(self) -> CpModel:
        """The native model."""

    @property
    def asked(self) -> Mapping[str, IntVar]:
        """For each side constraint, the literal that enforces it."""

    @property
    def reward_scale(self) -> float:
        """The model's objective is in units of 1/reward_scale."""

    @property
    def loss(self) -> int:
        """How many of these units rounding may cost the objective."""

    @property
    def exact(self) -> bool:
        """Whether the model says what the instance says."""

    @property
    def inexact(self) -> str:
        """The note on an answer where it does not."""


class FormulationType(Protocol):
    """The class of a formulation: what is known before there is an instance."""

    problem: str
    name: str
    engine: str
    sense: Sense
    known_options: Mapping[str, Option]

    def __call__(self, instance: Any, **options: Any) -> Formulation:
        """Build the formulation of an instance."""


class Knapsack(NamedTuple):
    """A formulation that is a plain 0-1 knapsack over some jobs of the instance, n of them.

    ``room`` is the largest total demand that fits, in the unit of ``demands``.
    """

    rewards: Floats
    demands: Whole
    room: int
    positions: NDArray[np.intp]
