"""What formulations in CP-SAT share: a model, and side constraints that can be asked for or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from schedopt.formulations.protocol import Side
from schedopt.instances.constraints import Constraint

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar


class WholeModel:
    """A model in whole numbers, on which side constraints hold as long as a literal asks for them.

    A formulation states its variables, rows and objective in `model`, each side constraint under
    the literal that `literal` gives it, and calls `stated` when it has done so.

    Attributes
    ----------
    model : cp_model.CpModel
    asked : dict of str to IntVar
        For each side constraint, the literal that asks for it.
    added : list of Constraint
        Side constraints beyond the instance's.
    seconds : float
        How long building took.
    reward_scale : float
        The model's objective is in units of 1/reward_scale.
    loss : int
        How many of these units rounding may have cost the objective.
    exact : bool
        Whether the model says what the instance says; where it does not, CP-SAT's bound is none.
    inexact : str
        What an answer is worth where it does not, such as ``on a grid``.
    """

    engine: ClassVar[str] = "cp-sat"
    inexact: ClassVar[str] = ""

    reward_scale: float = 1.0
    loss: int = 0
    exact: bool = True

    def __init__(self) -> None:
        from ortools.sat.python import cp_model

        self._model = cp_model.CpModel()
        self.asked: dict[str, IntVar] = {}
        self.added: list[Constraint] = []
        self.seconds = 0.0
        self._stated = 0

    @property
    def model(self) -> CpModel:
        """The model, for constraints of one's own."""
        return self._model

    def literal(self, name: str) -> IntVar:
        """Return the literal that asks for a side constraint, which is asked for."""
        self.asked[name] = self.model.new_bool_var(f"asked[{name}]")
        self.ask(name, True)
        return self.asked[name]

    def ask(self, name: str, wanted: bool) -> None:
        """Ask for a side constraint, or do not."""
        self.model.proto.variables[self.asked[name].index].domain[:] = [int(wanted)] * 2

    def stated(self, native: int = 0) -> None:
        """Say that all constraints so far are the formulation's own, but for some of the user's."""
        self._stated = len(self.model.proto.constraints) - native

    @property
    def native(self) -> int:
        """How many native constraints the user added."""
        return len(self.model.proto.constraints) - self._stated

    @property
    def changed(self) -> bool:
        """Whether the user has changed the model."""
        return self.native > 0

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed its objective."""
        return False

    def side(self) -> Side:
        """Return the literal that asks for each side constraint, by its name."""
        found: Side = {name: [asked] for name, asked in self.asked.items()}
        return found | ({"native constraints": []} if self.native else {})
